//! Values of attributes as JSON, with their types, and as text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kymo_wire::limits::MAX_NESTING;
use kymo_wire::{AnyValueView, array_values, kvlist_entries, text};
use serde_json::{Map, Number, Value};

use crate::columns::cut;
use crate::limits::DETAIL_VALUE_MAX_BYTES;

/// The largest whole number that JavaScript holds exactly.
const MAX_EXACT: u64 = 1 << 53;

/// The name of a value's type.
pub(crate) fn type_name(value: &AnyValueView<'_>) -> &'static str {
    match value {
        AnyValueView::Empty => "empty",
        AnyValueView::String(_) => "string",
        AnyValueView::Bool(_) => "bool",
        AnyValueView::Int(_) => "int",
        AnyValueView::Double(_) => "double",
        AnyValueView::Array(_) => "array",
        AnyValueView::KvList(_) => "map",
        AnyValueView::Bytes(_) => "bytes",
        AnyValueView::StringIndex(_) => "index",
    }
}

/// A value as JSON. Whole numbers that JavaScript would round and numbers that JSON has no way to
/// write are text, bytes are base64.
pub(crate) fn json_of(value: &AnyValueView<'_>) -> Value {
    nested(value, 0)
}

fn nested(value: &AnyValueView<'_>, depth: u32) -> Value {
    match value {
        AnyValueView::Empty => Value::Null,
        AnyValueView::String(bytes) => Value::from(cut(bytes, DETAIL_VALUE_MAX_BYTES)),
        AnyValueView::Bool(flag) => Value::Bool(*flag),
        AnyValueView::Int(number) => integer(*number),
        AnyValueView::Double(number) => double(*number),
        AnyValueView::Bytes(bytes) => {
            Value::from(STANDARD.encode(&bytes[..bytes.len().min(DETAIL_VALUE_MAX_BYTES)]))
        }
        AnyValueView::StringIndex(index) => Value::from(*index),
        // What was admitted is not that deep.
        AnyValueView::Array(_) | AnyValueView::KvList(_) if depth > MAX_NESTING => Value::Null,
        AnyValueView::Array(raw) => {
            let values = array_values(raw).map_while(Result::ok);
            Value::Array(values.map(|value| nested(&value, depth + 1)).collect())
        }
        AnyValueView::KvList(raw) => {
            let entries = kvlist_entries(raw).map_while(Result::ok);
            let entry = |item: kymo_wire::KeyValueView<'_>| {
                (text(item.key).into_owned(), nested(&item.value, depth + 1))
            };
            Value::Object(entries.map(entry).collect::<Map<_, _>>())
        }
    }
}

/// A whole number as JSON: as text, if JavaScript would round it.
pub fn integer(number: i64) -> Value {
    match number.unsigned_abs() {
        ..=MAX_EXACT => Value::from(number),
        _ => Value::from(number.to_string()),
    }
}

/// A number as JSON: where that has no way to write it, the text that JavaScript has for it.
pub fn double(number: f64) -> Value {
    let text = match number {
        _ if number.is_nan() => "NaN",
        _ if number > 0.0 => "Infinity",
        _ => "-Infinity",
    };
    Number::from_f64(number).map_or_else(|| Value::from(text), Value::Number)
}

/// A value as text: that of a text itself, of others their JSON.
pub(crate) fn text_of<'a>(value: &AnyValueView<'a>) -> std::borrow::Cow<'a, str> {
    match value {
        AnyValueView::String(bytes) => text(bytes),
        AnyValueView::Empty => "".into(),
        other => match json_of(other) {
            Value::String(text) => text.into(),
            other => other.to_string().into(),
        },
    }
}

/// Bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use kymo_wire::encode::Writer;
    use serde_json::json;

    #[test]
    fn types_stay_and_what_javascript_cannot_hold_is_text() {
        for (value, expected) in [
            (AnyValueView::Int(0), json!(0)),
            (AnyValueView::Int(1 << 53), json!(9007199254740992_i64)),
            (AnyValueView::Int(i64::MIN), json!("-9223372036854775808")),
            (AnyValueView::Double(0.5), json!(0.5)),
            (AnyValueView::Double(f64::NAN), json!("NaN")),
            (AnyValueView::Double(f64::INFINITY), json!("Infinity")),
            (AnyValueView::Double(f64::NEG_INFINITY), json!("-Infinity")),
            (AnyValueView::Bool(false), json!(false)),
            (AnyValueView::String(b""), json!("")),
            (AnyValueView::Bytes(b"\xff"), json!("/w==")),
            (AnyValueView::Empty, json!(null)),
        ] {
            assert_eq!(json_of(&value), expected);
        }
    }

    #[test]
    fn lists_are_lists_and_nesting_has_an_end() {
        let mut writer = Writer::new();
        writer.array_element(&AnyValueView::Int(1));
        writer.array_element(&AnyValueView::String(b"a"));
        let list = writer.into_bytes();
        assert_eq!(json_of(&AnyValueView::Array(&list)), json!([1, "a"]));
        assert_eq!(text_of(&AnyValueView::Array(&list)), "[1,\"a\"]");
        let mut deep = Vec::new();
        for _ in 0..2_000 {
            let mut writer = Writer::new();
            writer.array_element(&AnyValueView::Array(&deep));
            deep = writer.into_bytes();
        }
        assert!(json_of(&AnyValueView::Array(&deep)).to_string().len() < 100);
    }
}
