//! The exporters `debug` and `logging`: the console.

use super::add;
use crate::Translator;
use crate::document::{Map, Value};
use crate::model::Signal;
use crate::section::Section;

pub(super) fn translate(
    mut section: Section<'_>,
    name: &str,
    signals: Vec<Signal>,
    translator: &mut Translator<'_>,
) {
    let mut settings = Map::default();
    let level = section.text("loglevel").map(|level| level.value);
    if matches!(level.as_deref(), Some("warn" | "error")) {
        let comment = "at this level the collector's exporter wrote nothing";
        settings.set_with("enabled", Value::word(false), comment);
        let what =
            format!("{}.loglevel: it wrote nothing, so the destination is off", section.path);
        section.notes.noted(section.at, what);
    }
    let verbosity = section.text("verbosity").map(|verbosity| verbosity.value);
    let is_detailed = verbosity.as_deref() == Some("detailed") || level.as_deref() == Some("debug");
    settings.set("protocol", Value::text("console"));
    settings.set("format", Value::text(if is_detailed { "json" } else { "summary" }));
    section.noted(&["sampling_initial", "sampling_thereafter"], "every request is shown");
    section.noted(&["use_internal_logger", "output_paths"], "it is written to standard output");
    section.noted(&["sending_queue"], "what is shown comes from the journal");
    add(section, name, signals, settings, translator);
}
