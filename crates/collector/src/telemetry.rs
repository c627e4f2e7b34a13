//! `service.telemetry`: what a collector tells of itself.

use crate::document::Value;
use crate::output::Output;
use crate::section::Section;

pub(crate) fn translate(mut section: Section<'_>, out: &mut Output) {
    if let Some(mut logs) = section.section("logs") {
        if let Some(level) = logs.text("level") {
            let level = level.value.to_ascii_lowercase();
            // Levels beyond error are for what ends a program.
            let level = match level.as_str() {
                "debug" | "info" | "warn" | "error" => level.as_str(),
                "dpanic" | "panic" | "fatal" => "error",
                _ => "info",
            };
            out.log.set("level", Value::text(level));
        }
        if let Some(encoding) = logs.text("encoding") {
            let format = if encoding.value == "json" { "json" } else { "human" };
            out.log.set("format", Value::text(format));
        }
        for entry in logs.take_all() {
            let what = format!("{}.{}: lines go to standard error", logs.path, entry.key);
            logs.notes.noted(entry.key_at, what);
        }
    }
    section.noted(&["metrics"], "what a server does is at /metrics of the address http");
    section.noted(&["traces", "resource"], "a server tells nothing of itself as traces");
    section.finish();
}
