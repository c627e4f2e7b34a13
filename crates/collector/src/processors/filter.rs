//! The processor `filter`: what is left out.
//!
//! Conditions of spans, log records, metrics and data points become rules that drop. Those of span
//! events have no counterpart: rules leave out records, not parts of them.

use super::drafts::Draft;
use super::legacy;
use crate::model::Signal;
use crate::notes::shown;
use crate::ottl::{Context, said};
use crate::section::Section;

pub(super) fn translate(mut section: Section<'_>, signal: Signal) -> Vec<Draft> {
    if let Some(mode) = section.text("error_mode") {
        let what = format!(
            "{}.error_mode: a condition never fails here; of what is missing or of another type it \
             is false",
            section.path
        );
        section.notes.noted(mode.at, what);
    }
    let mut drafts = Vec::new();
    // Each signal has its own keys, and a filter for all of them says all.
    for (key, of) in [
        ("traces", Signal::Traces),
        ("spans", Signal::Traces),
        ("metrics", Signal::Metrics),
        ("logs", Signal::Logs),
    ] {
        let Some(part) = section.section(key) else { continue };
        if of != signal {
            continue;
        }
        if part.has("include") || part.has("exclude") {
            drafts.extend(legacy::translate(part, signal));
        } else {
            drafts.extend(conditions(part));
        }
    }
    for (key, contexts, of) in [
        ("trace_conditions", &["span"][..], Signal::Traces),
        ("metric_conditions", &["metric", "datapoint"], Signal::Metrics),
        ("log_conditions", &["log"], Signal::Logs),
    ] {
        let texts = section.texts(key);
        if of != signal {
            continue;
        }
        for text in texts {
            drafts.extend(one(&section, key, &text.value, text.at, contexts));
        }
    }
    section.finish();
    drafts
}

/// `span: [...]`, `log_record: [...]` and so on.
fn conditions(mut part: Section<'_>) -> Vec<Draft> {
    part.lost(&["spanevent"], "rules leave out spans, not events of them");
    let mut drafts = Vec::new();
    for key in ["resource", "span", "metric", "datapoint", "log_record"] {
        for text in part.texts(key) {
            drafts.extend(one(&part, key, &text.value, text.at, &[key]));
        }
    }
    part.finish();
    drafts
}

/// A rule for a condition, in the first of some contexts that it can be said in.
fn one(
    section: &Section<'_>,
    key: &str,
    text: &str,
    at: kymo_yaml::Place,
    contexts: &[&str],
) -> Option<Draft> {
    let contexts = contexts.iter().filter_map(|name| Context::from_name(name));
    let mut why = None;
    for context in contexts {
        match said(text, context) {
            Ok(condition) => {
                note_points(section, key, text, context, at);
                return Some(Draft::dropping(condition));
            }
            Err(error) => why = why.or(Some(error)),
        }
    }
    let why = why.map(|why| why.to_string()).unwrap_or_default();
    let what = format!("{}.{key}: {} cannot be said: {why}", section.path, shown(text));
    section.notes.lost(at, what);
    None
}

/// A metric is dropped as a whole by the collector, and point by point here.
fn note_points(
    section: &Section<'_>,
    key: &str,
    text: &str,
    context: Context,
    at: kymo_yaml::Place,
) {
    if context == Context::Metric && text.contains("OnDatapoint") {
        let what = format!(
            "{}.{key}: the points that have the attribute are dropped, not the whole metric",
            section.path
        );
        section.notes.noted(at, what);
    }
}
