//! Values of attributes as tags.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kymo_wire::limits::MAX_NESTING;
use kymo_wire::{AnyValueView, KeyValueView, WireError, array_values, kvlist_entries, text};

use super::model::{Integer, Tag, Value};

/// An attribute as a tag.
pub(super) fn tag<'a>(attribute: &KeyValueView<'a>) -> Result<Tag<'a>, WireError> {
    let value = match attribute.value {
        AnyValueView::Bool(value) => Value::Bool(value),
        AnyValueView::Int(value) => Value::Int64(Integer(value)),
        AnyValueView::Double(value) if value.is_finite() => Value::Float64(value),
        AnyValueView::Bytes(bytes) => Value::Binary(STANDARD.encode(bytes)),
        other => Value::String(text_of(other)?),
    };
    Ok(Tag { key: text(attribute.key), value })
}

/// A tag of our own.
pub(super) fn text_tag<'a>(key: &'static str, value: impl Into<Cow<'a, str>>) -> Tag<'a> {
    Tag { key: key.into(), value: Value::String(value.into()) }
}

/// Any value as text; arrays and maps as JSON.
pub(super) fn text_of(value: AnyValueView<'_>) -> Result<Cow<'_, str>, WireError> {
    Ok(match value {
        AnyValueView::Empty => Cow::Borrowed(""),
        AnyValueView::String(bytes) => text(bytes),
        AnyValueView::Double(value) => Cow::Owned(value.to_string()),
        AnyValueView::Bytes(bytes) => Cow::Owned(STANDARD.encode(bytes)),
        other => {
            let mut json = String::new();
            write_json(other, 0, &mut json)?;
            Cow::Owned(json)
        }
    })
}

/// Appends a value as JSON. What is nested deeper than admission lets in is left out.
fn write_json(value: AnyValueView<'_>, depth: u32, out: &mut String) -> Result<(), WireError> {
    match value {
        _ if depth > MAX_NESTING => out.push_str("null"),
        AnyValueView::Empty => out.push_str("null"),
        AnyValueView::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        AnyValueView::Int(value) => out.push_str(&value.to_string()),
        AnyValueView::Double(value) if value.is_finite() => {
            out.push_str(&serde_json::Value::from(value).to_string());
        }
        AnyValueView::Double(value) => write_text(&value.to_string(), out),
        AnyValueView::StringIndex(index) => out.push_str(&index.to_string()),
        AnyValueView::String(bytes) => write_text(&text(bytes), out),
        AnyValueView::Bytes(bytes) => write_text(&STANDARD.encode(bytes), out),
        AnyValueView::Array(raw) => {
            out.push('[');
            for (nth, item) in array_values(raw).enumerate() {
                if nth > 0 {
                    out.push(',');
                }
                write_json(item?, depth + 1, out)?;
            }
            out.push(']');
        }
        AnyValueView::KvList(raw) => {
            out.push('{');
            for (nth, entry) in kvlist_entries(raw).enumerate() {
                let entry = entry?;
                if nth > 0 {
                    out.push(',');
                }
                write_text(&text(entry.key), out);
                out.push(':');
                write_json(entry.value, depth + 1, out)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

fn write_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}
