//! The processor `redaction`: values that are masked, wherever they are.

use super::drafts::Draft;
use crate::document::{Map, Value};
use crate::section::Section;

pub(super) fn translate(mut section: Section<'_>) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for pattern in section.texts("blocked_values") {
        let mut redact = Map::of("attributes", Value::texts(["*"]));
        redact.set("pattern", Value::Text(pattern.value));
        redact.set("with", Value::text("****"));
        drafts.push(Draft { condition: None, action: "redact", value: redact.into() });
    }
    if section.flag("allow_all_keys") != Some(true) {
        let what = format!("{}: attributes that are not allowed are not removed", section.path);
        section.notes.lost(section.at, what);
    }
    section.noted(&["summary"], "what was masked is not counted in attributes");
    section.lost(
        &[
            "allowed_keys",
            "ignored_keys",
            "ignored_key_patterns",
            "blocked_key_patterns",
            "allowed_values",
            "redact_all_types",
            "hash_function",
        ],
        "only blocked_values can be said, as rules that redact",
    );
    section.finish();
    drafts
}
