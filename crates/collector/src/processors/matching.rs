//! `include` and `exclude`: which records a processor is about, in the way from before OTTL.
//!
//! Every property that is given has to match: one of the names, one of the services, all of the
//! attributes.

use kymo_yaml::{Entry, Node};

use crate::model::Signal;
use crate::pattern;
use crate::references::translated;
use crate::scalars::word;
use crate::section::{Section, Taken};
use crate::traceql::{all_of, any_of, attribute, check, not, quoted};

/// That a condition could not be said, which was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unsaid;

/// The condition of what is included and not excluded; none if everything is.
pub(super) fn translate(
    section: &mut Section<'_>,
    signal: Signal,
) -> Result<Option<String>, Unsaid> {
    let include = section.section("include").map(|include| properties(include, signal));
    let exclude = section.section("exclude").map(|exclude| properties(exclude, signal));
    let mut conditions = Vec::new();
    if let Some(include) = include {
        conditions.push(include?);
    }
    if let Some(exclude) = exclude {
        conditions.push(not(&exclude?));
    }
    Ok(all_of(&conditions))
}

/// How texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Match {
    Strict,
    Regexp,
}

impl Match {
    pub(super) fn take(section: &mut Section<'_>) -> Result<Self, Unsaid> {
        let found = section.text("match_type");
        // How patterns are cached says nothing of what they match.
        section.take("regexp");
        match found.as_ref().map(|found| found.value.as_str()) {
            Some("strict") => Ok(Self::Strict),
            Some("regexp") => Ok(Self::Regexp),
            _ => {
                let at = found.map_or(section.at, |found| found.at);
                let what = format!("{}.match_type: strict and regexp can be said", section.path);
                section.notes.lost(at, what);
                Err(Unsaid)
            }
        }
    }

    /// One of some texts.
    pub(super) fn any(self, field: &str, texts: &[Taken<String>]) -> Option<String> {
        let conditions: Vec<_> = texts.iter().map(|text| self.text(field, &text.value)).collect();
        any_of(&conditions)
    }

    fn text(self, field: &str, text: &str) -> String {
        match self {
            Self::Strict => format!("{field} = {}", quoted(text)),
            Self::Regexp => format!("{field} =~ {}", quoted(&pattern::whole(text))),
        }
    }

    /// An attribute with a value, or any value.
    fn attribute(self, field: &str, value: Option<&Entry>) -> Option<String> {
        let Some(value) = value else { return Some(format!("{field} != nil")) };
        match &value.node {
            Node::Scalar(scalar) => match word(scalar).filter(|_| self == Self::Strict) {
                Some(word) => Some(format!("{field} = {word}")),
                None => Some(self.text(field, &translated(&scalar.text).text)),
            },
            Node::Null => Some(format!("{field} != nil")),
            Node::List(_) | Node::Map(_) => None,
        }
    }
}

/// All that is asked of records.
pub(super) fn properties(mut section: Section<'_>, signal: Signal) -> Result<String, Unsaid> {
    let how = Match::take(&mut section)?;
    let mut conditions = Vec::new();
    conditions.extend(how.any("resource.service.name", &section.texts("services")));
    let names = match signal {
        Signal::Traces => section.texts("span_names"),
        Signal::Metrics => section.texts("metric_names"),
        Signal::Logs => Vec::new(),
    };
    conditions.extend(how.any("name", &names));
    if signal == Signal::Traces {
        let kinds = section.texts("span_kinds");
        let kinds: Vec<_> = kinds
            .iter()
            .map(|kind| {
                let kind = kind.value.trim_start_matches("SPAN_KIND_").to_ascii_lowercase();
                format!("kind = {kind}")
            })
            .collect();
        conditions.extend(any_of(&kinds));
    }
    let own = if signal == Signal::Traces { "span" } else { "" };
    for (keys, scope) in [
        (["attributes", "record_attributes"], own),
        (["resources", "resource_attributes"], "resource"),
    ] {
        for key in keys {
            conditions.extend(attributes(&mut section, key, scope, how)?);
        }
    }
    for mut library in section.sections("libraries") {
        let mut of_library = Vec::new();
        for (key, field) in
            [("name", "instrumentation:name"), ("version", "instrumentation:version")]
        {
            if let Some(text) = library.text(key) {
                of_library.push(how.text(field, &text.value));
            }
        }
        library.finish();
        conditions.extend(all_of(&of_library));
    }
    let before = section.is_empty();
    let (path, at, notes) = (section.path.clone(), section.at, section.notes);
    section.finish();
    // With a property left out, more would match than is meant.
    if !before {
        return Err(Unsaid);
    }
    let Some(condition) = all_of(&conditions) else {
        notes.lost(at, format!("{path}: expected something to match"));
        return Err(Unsaid);
    };
    match check(&condition) {
        Ok(()) => Ok(condition),
        Err(why) => {
            notes.lost(at, format!("{path}: {why}"));
            Err(Unsaid)
        }
    }
}

/// `[{key: a, value: b}]`: each has to match.
pub(super) fn attributes(
    section: &mut Section<'_>,
    key: &str,
    scope: &str,
    how: Match,
) -> Result<Vec<String>, Unsaid> {
    let mut conditions = Vec::new();
    for mut item in section.sections(key) {
        let Some(name) = item.text("key") else {
            item.notes.lost(item.at, format!("{}: expected a key", item.path));
            return Err(Unsaid);
        };
        let value = item.take("value");
        let field = attribute(scope, &name.value);
        let Some(condition) = how.attribute(&field, value) else {
            item.notes.lost(item.at, format!("{}.value: expected one value", item.path));
            return Err(Unsaid);
        };
        conditions.push(condition);
        item.finish();
    }
    Ok(conditions)
}
