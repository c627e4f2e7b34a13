//! Attributes as JSON text, for readers who know nothing of protobuf.
//!
//! Not a loss-free form: bytes become base64 text, NaN and infinities text. What
//! was sent is kept elsewhere.

use std::fmt::Write;

use base64::prelude::{BASE64_STANDARD, Engine};
use kymo_wire::{AnyValueView, KeyValueView, WireError, array_values, kvlist_entries, text};

/// Appends an object of the attributes.
pub(crate) fn write_attributes<'a>(
    attributes: impl Iterator<Item = Result<KeyValueView<'a>, WireError>>,
    out: &mut String,
) {
    out.push('{');
    for (nth, attribute) in attributes.flatten().enumerate() {
        if nth > 0 {
            out.push(',');
        }
        write_text(&text(attribute.key), out);
        out.push(':');
        write_value(&attribute.value, out);
    }
    out.push('}');
}

/// Appends one value. Nesting is bounded by what was admitted.
pub(crate) fn write_value(value: &AnyValueView<'_>, out: &mut String) {
    match value {
        AnyValueView::Empty => out.push_str("null"),
        AnyValueView::String(value) => write_text(&text(value), out),
        AnyValueView::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        AnyValueView::Int(value) => write_display(value, out),
        AnyValueView::Double(value) if value.is_finite() => write_debug(value, out),
        AnyValueView::Double(value) => write_text(&value.to_string(), out),
        AnyValueView::Array(raw) => {
            out.push('[');
            for (nth, element) in array_values(raw).flatten().enumerate() {
                if nth > 0 {
                    out.push(',');
                }
                write_value(&element, out);
            }
            out.push(']');
        }
        AnyValueView::KvList(raw) => write_attributes(kvlist_entries(raw), out),
        AnyValueView::Bytes(bytes) => {
            out.push('"');
            BASE64_STANDARD.encode_string(bytes, out);
            out.push('"');
        }
        AnyValueView::StringIndex(index) => write_display(index, out),
    }
}

fn write_display(value: impl std::fmt::Display, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}

fn write_debug(value: impl std::fmt::Debug, out: &mut String) {
    // Writing to a string cannot fail. `{:?}` keeps the point of a whole double.
    let _ = write!(out, "{value:?}");
}

/// Appends a quoted text.
pub(crate) fn write_text(value: &str, out: &mut String) {
    out.push('"');
    for c in value.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
