//! Attributes as JSON text, for readers who know nothing of protobuf.
//!
//! Attributes come in the order they were sent, a key that was sent twice comes
//! twice: most readers of JSON then take the last. Integers are numbers, bytes
//! become base64 text, what has no value is `null`, and doubles that JSON has no
//! number for become the texts `NaN`, `Infinity` and `-Infinity`. What was sent
//! is kept elsewhere, without loss.

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
        AnyValueView::Double(value) => write_double(*value, out),
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

/// Appends what prints as JSON: integers.
pub(crate) fn write_display(value: impl std::fmt::Display, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "{value}");
}

/// Appends a double: a number if JSON has one for it.
pub(crate) fn write_double(value: f64, out: &mut String) {
    match value {
        v if v.is_nan() => out.push_str("\"NaN\""),
        f64::INFINITY => out.push_str("\"Infinity\""),
        f64::NEG_INFINITY => out.push_str("\"-Infinity\""),
        // Writing to a string cannot fail. `{:?}` keeps the point of a whole double.
        v => {
            let _ = write!(out, "{v:?}");
        }
    }
}

/// Appends a quoted text.
pub(crate) fn write_text(value: &str, out: &mut String) {
    out.push('"');
    // Runs that need no escape, which are nearly all, are copied at once.
    let mut from = 0;
    for (at, byte) in value.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&value[from..at]);
        from = at + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            other => {
                let _ = write!(out, "\\u{other:04x}");
            }
        }
    }
    out.push_str(&value[from..]);
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(value: AnyValueView<'_>) -> String {
        let mut out = String::new();
        write_value(&value, &mut out);
        out
    }

    #[test]
    fn every_value_has_a_json_form() {
        assert_eq!(json(AnyValueView::Empty), "null");
        assert_eq!(json(AnyValueView::Int(i64::MIN)), "-9223372036854775808");
        assert_eq!(json(AnyValueView::Double(2.0)), "2.0");
        assert_eq!(json(AnyValueView::Double(f64::NAN)), r#""NaN""#);
        assert_eq!(json(AnyValueView::Double(f64::INFINITY)), r#""Infinity""#);
        assert_eq!(json(AnyValueView::Double(f64::NEG_INFINITY)), r#""-Infinity""#);
        assert_eq!(json(AnyValueView::Bytes(b"hi")), r#""aGk=""#);
        assert_eq!(json(AnyValueView::Array(&[0x0a, 2, 0x18, 7])), "[7]");
    }

    #[test]
    fn a_text_reads_back_as_it_was() {
        for text in ["", "plain", "a\"b\\c\nd\re\tf\u{1}\u{7f}", "ü日\u{10ffff}\"", "\\"] {
            let mut out = String::new();
            write_text(text, &mut out);
            assert_eq!(serde_json::from_str::<String>(&out).unwrap(), text, "{out}");
        }
    }
}
