//! Regular expressions of a dashboard that cannot be read: what they are to choose is not chosen.
//!
//! One that names a variable is known only once the variable is put in, and is not looked at. In that of a
//! variable others are put in as texts: it is looked at with a letter in their place.

use serde_json::Value;

use crate::fields::pattern;
use crate::interpolate::{Context, Held, Style, names};
use crate::model::{Panel, Variable};

/// What is said of the expressions of a panel: its mappings, overrides, fields and transformations.
pub(super) fn of_panel(panel: &Panel) -> Vec<String> {
    let mut found = Vec::new();
    let text = |of: &Value, pointer: &str| of.pointer(pointer)?.as_str().map(str::to_owned);
    let mut check = |what: &str, pattern: Option<String>, is_search: bool| {
        let wrong = pattern.and_then(|pattern| wrong(&pattern, is_search));
        found.extend(wrong.map(|why| format!("{what} is left out: {why}")));
    };
    let list = |of: &Value, pointer: &str| -> Vec<Value> {
        of.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let mut mappings = list(&panel.field_config, "/defaults/mappings");
    for rule in list(&panel.field_config, "/overrides") {
        if let Some("byRegexp") = rule.pointer("/matcher/id").and_then(Value::as_str) {
            check("an override", text(&rule, "/matcher/options"), false);
        }
        for property in list(&rule, "/properties") {
            if property.get("id").and_then(Value::as_str) == Some("mappings") {
                mappings.extend(list(&property, "/value"));
            }
        }
    }
    for mapping in mappings.iter().filter(|mapping| mapping["type"] == "regex") {
        check("a value mapping", text(mapping, "/options/pattern"), false);
    }
    let fields = text(&panel.options, "/reduceOptions/fields").filter(|text| text.starts_with('/'));
    check("the choice of fields", fields, false);
    for step in &panel.transformations {
        let id = step.get("id").and_then(Value::as_str).unwrap_or_default();
        let what = format!("the transformation `{id}`");
        let option = match id {
            "renameByRegex" => "/options/regex",
            "extractFields" if step.pointer("/options/format") == Some(&"regexp".into()) => {
                "/options/regExp"
            }
            "filterFieldsByName" => "/options/include/pattern",
            _ => "",
        };
        if !option.is_empty() {
            check(&what, text(step, option).filter(|text| !text.is_empty()), false);
        }
        if id == "filterByValue" {
            for filter in list(step, "/options/filters") {
                if filter.pointer("/config/id") == Some(&"regex".into()) {
                    check(&what, text(&filter, "/config/options/value"), true);
                }
            }
        }
    }
    found
}

/// What is said of the expression of a variable.
pub(super) fn of_variable(variable: &Variable) -> Option<String> {
    let text = variable.raw.get("regex").and_then(Value::as_str)?.trim();
    if text.is_empty() {
        return None;
    }
    let variables = names(text).into_iter().map(|name| (name, Held::one("a"))).collect();
    let filled = Context { variables, ..Context::default() }.fill(text, Style::Regex);
    let why = wrong(&filled, false)?;
    Some(format!("it has no values: {why}"))
}

fn wrong(text: &str, is_search: bool) -> Option<String> {
    if !names(text).is_empty() {
        return None;
    }
    let read = if is_search { pattern::search(text) } else { pattern::compile(text) };
    read.err()
}
