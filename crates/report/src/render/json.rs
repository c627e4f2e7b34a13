//! Figures for programs.
//!
//! One object; members are only ever added, and a change of meaning raises `version`. They are
//! listed in `docs/sessions/report.md`.

use serde::Serialize;

use crate::analysis::{Analysis, Comparison};

/// The version of the document.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    kymo: &'static str,
    version: u32,
    sessions: &'a [Analysis],
    comparison: Option<&'a Comparison>,
}

/// Sessions as one JSON object that ends with a line break.
#[must_use]
pub fn render(sessions: &[Analysis], comparison: Option<&Comparison>) -> String {
    let document = Document { kymo: "report", version: VERSION, sessions, comparison };
    // Maps have texts as keys and numbers are written or null: nothing here can fail.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}
