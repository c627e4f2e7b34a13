//! The processors `attributes` and `resource`: what is done to attributes, one after the other.

use kymo_yaml::Node;

use super::drafts::{Draft, list, prefix, set, target};
use super::matching;
use crate::document::Value;
use crate::model::Signal;
use crate::scalars::word;
use crate::section::Section;

/// Attributes of spans, log records and data points.
pub(super) fn of_records(mut section: Section<'_>, signal: Signal) -> Vec<Draft> {
    let condition = match matching::translate(&mut section, signal) {
        Ok(condition) => condition,
        Err(matching::Unsaid) => {
            // Without its condition it would do something to records that it is not about.
            section.take_all();
            return Vec::new();
        }
    };
    let drafts = actions(section.sections("actions"), "", condition.as_ref());
    section.finish();
    drafts
}

/// Attributes of resources.
pub(super) fn of_resources(mut section: Section<'_>) -> Vec<Draft> {
    let drafts = actions(section.sections("attributes"), "resource", None);
    section.finish();
    drafts
}

/// One of the things that are done.
struct Action<'a> {
    section: Section<'a>,
    what: String,
    key: Option<String>,
    from: Option<String>,
}

fn actions(sections: Vec<Section<'_>>, scope: &str, condition: Option<&String>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let mut waiting = sections
        .into_iter()
        .map(|mut section| {
            let (what, key, from) = {
                let mut text = |key: &str| section.text(key).map(|text| text.value);
                let what = text("action").unwrap_or_default().to_ascii_lowercase();
                (what, text("key"), text("from_attribute"))
            };
            Action { section, what, key, from }
        })
        .peekable();
    while let Some(action) = waiting.next() {
        let is_rename = |next: &Action<'_>| next.what == "delete" && next.key == action.from;
        if action.from.is_some() && waiting.next_if(is_rename).is_some() {
            rename(action, scope, condition, &mut drafts);
        } else {
            one(action, scope, condition, &mut drafts);
        }
    }
    drafts
}

/// A value that is taken from an attribute, which is then deleted.
fn rename(action: Action<'_>, scope: &str, condition: Option<&String>, drafts: &mut Vec<Draft>) {
    let Action { section, what, key, from } = action;
    let (Some(to), Some(from)) = (key, from) else { return section.finish() };
    match what.as_str() {
        "upsert" => {}
        "insert" => {
            let what = format!("{}: where both are there, what is renamed stays", section.path);
            section.notes.noted(section.at, what);
        }
        _ => {
            let what =
                format!("{}: {what} from another attribute has no counterpart", section.path);
            section.notes.lost(section.at, what);
            // What follows it, and was taken with it, is still to be done.
            list(drafts, condition, "delete", &target(scope, &from));
            return section.finish();
        }
    }
    let to = Value::text(target(scope, &to));
    set(drafts, condition, "rename", &target(scope, &from), to);
    section.finish();
}

fn one(action: Action<'_>, scope: &str, condition: Option<&String>, drafts: &mut Vec<Draft>) {
    let Action { mut section, what, key, from } = action;
    let lost = |section: &Section<'_>, why: &str| {
        section.notes.lost(section.at, format!("{}: {why}", section.path));
    };
    match what.as_str() {
        "insert" | "update" | "upsert" => {
            let how = match what.as_str() {
                "insert" => "insert",
                "update" => "update",
                _ => "upsert",
            };
            section.lost(&["from_context"], "of a request's headers only the tenant is kept");
            if from.is_some() {
                lost(
                    &section,
                    "a value from another attribute can only be moved: followed by its delete",
                );
            }
            let value = value(&mut section);
            if let (Some(key), Some(value)) = (key, value) {
                set(drafts, condition, how, &target(scope, &key), value);
            }
        }
        "delete" | "hash" => {
            let how = if what == "delete" { "delete" } else { "hash" };
            if how == "hash" {
                let what = format!(
                    "{}: hashes are SHA-256 cut to 32 digits, so not the collector's",
                    section.path
                );
                section.notes.noted(section.at, what);
            }
            if let Some(key) = key {
                list(drafts, condition, how, &target(scope, &key));
            }
            if let Some(pattern) = section.text("pattern") {
                match prefix(&pattern.value) {
                    Some(prefix) => list(drafts, condition, how, &format!("{scope}.{prefix}*")),
                    None => lost(
                        &section,
                        "of patterns only beginnings, such as ^http\\..*, can be said",
                    ),
                }
            }
        }
        "extract" | "convert" => {
            section.take_all();
            lost(&section, &format!("the action {what} has no counterpart"));
        }
        _ => {
            section.take_all();
            lost(&section, "expected an action: insert, update, upsert, delete or hash");
        }
    }
    section.finish();
}

/// A value of the type that it is written in.
fn value(section: &mut Section<'_>) -> Option<Value> {
    let entry = section.take("value")?;
    let scalar = |node: &Node| match node {
        Node::Scalar(scalar) => Some(match word(scalar) {
            Some(word) => Value::Word(word),
            None => Value::Text(section.referring(&scalar.text, entry.at)),
        }),
        _ => None,
    };
    let value = match &entry.node {
        Node::List(items) => {
            let items: Option<Vec<_>> = items
                .iter()
                .map(|item| scalar(&item.node).filter(|item| matches!(item, Value::Text(_))))
                .collect();
            items.map(Value::List)
        }
        node => scalar(node),
    };
    if value.is_none() {
        let what = format!(
            "{}.value: expected a text, a number, true or false, or a list of texts",
            section.path
        );
        section.notes.lost(entry.at, what);
    }
    value
}
