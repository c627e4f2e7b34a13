//! OTLP/JSON, written straight into a buffer.
//!
//! This is where most of the worker's time goes, so nothing is built first: no values, no strings.

use std::borrow::Cow;

use opentelemetry::{Array, KeyValue, Value};

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends a number as text, in quotes: OTLP/JSON has 64-bit numbers as strings.
pub(crate) fn quoted_number(out: &mut Vec<u8>, number: u64) {
    out.push(b'"');
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    out.push(b'"');
}

/// Appends an id in hex, in quotes.
pub(crate) fn hex(out: &mut Vec<u8>, id: &[u8]) {
    out.push(b'"');
    for byte in id {
        out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    }
    out.push(b'"');
}

/// Appends text in quotes.
pub(crate) fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    // Nearly always; and this loop has no branch, so that it runs over many bytes at once.
    let has_odd = bytes.iter().fold(false, |odd, byte| odd | is_odd(*byte));
    if !has_odd {
        out.extend_from_slice(bytes);
        out.push(b'"');
        return;
    }
    let mut written = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if !is_odd(*byte) {
            continue;
        }
        out.extend_from_slice(&bytes[written..at]);
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            control => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(control >> 4)]);
                out.push(HEX[usize::from(control & 15)]);
            }
        }
        written = at + 1;
    }
    out.extend_from_slice(&bytes[written..]);
    out.push(b'"');
}

/// Whether JSON has to escape it.
fn is_odd(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\')
}

fn double(out: &mut Vec<u8>, number: f64) {
    if number.is_nan() {
        out.extend_from_slice(b"\"NaN\"");
    } else if number.is_infinite() {
        out.extend_from_slice(if number > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
    } else {
        // Writing into memory does not fail.
        let _ = serde_json::to_writer(out, &number);
    }
}

/// An AnyValue.
pub(crate) fn value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Bool(truth) => boolean(out, *truth),
        Value::I64(number) => integer(out, *number),
        Value::F64(number) => float(out, *number),
        Value::String(content) => string(out, content.as_str()),
        Value::Array(array) => {
            out.extend_from_slice(b"{\"arrayValue\":{\"values\":[");
            let items: Cow<'_, [Value]> = items(array);
            for (nth, item) in items.iter().enumerate() {
                if nth > 0 {
                    out.push(b',');
                }
                self::value(out, item);
            }
            out.extend_from_slice(b"]}}");
        }
        // The SDK may learn of other kinds.
        other => string(out, &other.to_string()),
    }
}

fn items(array: &Array) -> Cow<'_, [Value]> {
    match array {
        Array::Bool(all) => all.iter().copied().map(Value::Bool).collect(),
        Array::I64(all) => all.iter().copied().map(Value::I64).collect(),
        Array::F64(all) => all.iter().copied().map(Value::F64).collect(),
        Array::String(all) => all.iter().cloned().map(Value::String).collect(),
        other => vec![Value::String(other.to_string().into())].into(),
    }
}

fn boolean(out: &mut Vec<u8>, truth: bool) {
    let text: &[u8] = if truth { b"{\"boolValue\":true}" } else { b"{\"boolValue\":false}" };
    out.extend_from_slice(text);
}

fn integer(out: &mut Vec<u8>, number: i64) {
    out.extend_from_slice(b"{\"intValue\":\"");
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    out.extend_from_slice(b"\"}");
}

fn float(out: &mut Vec<u8>, number: f64) {
    out.extend_from_slice(b"{\"doubleValue\":");
    double(out, number);
    out.push(b'}');
}

fn string(out: &mut Vec<u8>, string: &str) {
    out.extend_from_slice(b"{\"stringValue\":");
    text(out, string);
    out.push(b'}');
}

/// The members of a list of attributes: commas go between.
pub(crate) struct Attributes<'a> {
    out: &'a mut Vec<u8>,
    are_some: bool,
}

impl<'a> Attributes<'a> {
    /// Begins a list: `"attributes":[`.
    pub(crate) fn begin(out: &'a mut Vec<u8>) -> Self {
        out.extend_from_slice(b"\"attributes\":[");
        Self { out, are_some: false }
    }

    fn key(&mut self, key: &str) {
        self.begin_key();
        text(self.out, key);
        self.out.extend_from_slice(b",\"value\":");
    }

    /// A key that needs no escapes.
    fn own_key(&mut self, key: &'static str) {
        self.begin_key();
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\",\"value\":");
    }

    fn begin_key(&mut self) {
        let begin: &[u8] = if self.are_some { b",{\"key\":" } else { b"{\"key\":" };
        self.out.extend_from_slice(begin);
        self.are_some = true;
    }

    pub(crate) fn all(&mut self, attributes: &[KeyValue]) {
        for attribute in attributes {
            self.key(attribute.key.as_str());
            value(self.out, &attribute.value);
            self.out.push(b'}');
        }
    }

    pub(crate) fn text(&mut self, key: &'static str, content: &str) {
        self.own_key(key);
        string(self.out, content);
        self.out.push(b'}');
    }

    pub(crate) fn some_text(&mut self, key: &'static str, content: Option<&str>) {
        if let Some(content) = content {
            self.text(key, content);
        }
    }

    pub(crate) fn boolean(&mut self, key: &'static str, truth: bool) {
        self.own_key(key);
        boolean(self.out, truth);
        self.out.push(b'}');
    }

    /// Ends the list: `]`.
    pub(crate) fn end(self) {
        self.out.push(b']');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &Value) -> String {
        let mut out = Vec::new();
        super::value(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_kind_of_value_is_json() {
        assert_eq!(written(&Value::Bool(true)), r#"{"boolValue":true}"#);
        assert_eq!(written(&Value::I64(i64::MIN)), r#"{"intValue":"-9223372036854775808"}"#);
        assert_eq!(written(&Value::F64(0.1)), r#"{"doubleValue":0.1}"#);
        assert_eq!(written(&Value::F64(f64::NAN)), r#"{"doubleValue":"NaN"}"#);
        assert_eq!(written(&Value::F64(f64::NEG_INFINITY)), r#"{"doubleValue":"-Infinity"}"#);
        let array = Value::Array(Array::I64(vec![1, 2]));
        let expected = r#"{"arrayValue":{"values":[{"intValue":"1"},{"intValue":"2"}]}}"#;
        assert_eq!(written(&array), expected);
    }

    #[test]
    fn text_of_any_kind_comes_back() {
        for content in ["", "plain", "\"quoted\\", "a\nb\tc\r\u{0}\u{1f}", "é日本🎉", "\u{7f}"]
        {
            let mut out = Vec::new();
            text(&mut out, content);
            let read: String = serde_json::from_slice(&out).unwrap();
            assert_eq!(read, content);
        }
    }

    #[test]
    fn ids_and_numbers() {
        let mut out = Vec::new();
        hex(&mut out, &[0, 0x1f, 0xff]);
        quoted_number(&mut out, u64::MAX);
        assert_eq!(out, b"\"001fff\"\"18446744073709551615\"");
    }
}
