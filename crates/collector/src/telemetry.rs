//! `service.telemetry`: what a collector tells of itself.

use crate::document::Value;
use crate::output::Output;
use crate::references::refers;
use crate::section::Section;

pub(crate) fn translate(mut section: Section<'_>, out: &mut Output) {
    if let Some(mut logs) = section.section("logs") {
        if let Some(level) = logs.text("level") {
            let lower = level.value.to_ascii_lowercase();
            // Levels beyond error are for what ends a program.
            let known = match lower.as_str() {
                "debug" | "info" | "warn" | "error" => Some(lower.as_str()),
                "dpanic" | "panic" | "fatal" => Some("error"),
                _ if refers(&level.value) => Some(level.value.as_str()),
                _ => None,
            };
            if known.is_none() {
                let what = format!("{}.level: there is no such level; it is info", logs.path);
                logs.notes.lost(level.at, what);
            }
            out.log.set("level", Value::text(known.unwrap_or("info")));
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
