//! JSON as protobuf's own mapping writes it, straight into bytes.
//!
//! Names in lower camel case, 64-bit integers as text, what is zero left out: what strict clients
//! of Tempo and Jaeger read. An answer of twenty thousand spans must be written in a few
//! milliseconds, so there is no tree of values in between.

use std::io::Write as _;

/// The bytes of a document as it grows.
#[derive(Debug, Default)]
pub(crate) struct Json {
    out: Vec<u8>,
}

impl Json {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self { out: Vec::with_capacity(bytes) }
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.out
    }

    /// Bytes that are JSON already.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// Where the next byte will be.
    pub(crate) fn place(&self) -> usize {
        self.out.len()
    }

    /// What was written from a place on, once more.
    pub(crate) fn again(&mut self, written: std::ops::Range<usize>) {
        self.out.extend_from_within(written);
    }

    /// A comma, unless the list or object has just begun.
    pub(crate) fn comma(&mut self) {
        if !matches!(self.out.last(), Some(b'[' | b'{' | b':') | None) {
            self.out.push(b',');
        }
    }

    /// The name of a field, with what is needed before and after it. Names need no escapes.
    pub(crate) fn name(&mut self, name: &str) {
        self.comma();
        self.out.push(b'"');
        self.raw(name.as_bytes());
        self.raw(b"\":");
    }

    /// Fields between braces.
    pub(crate) fn object(&mut self, fields: impl FnOnce(&mut Self)) {
        self.out.push(b'{');
        fields(self);
        self.out.push(b'}');
    }

    /// A value for each item, between brackets.
    pub(crate) fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.out.push(b'[');
        for item in items {
            self.comma();
            write(self, item);
        }
        self.out.push(b']');
    }

    /// A text.
    pub(crate) fn text(&mut self, text: &str) {
        self.out.push(b'"');
        escape(text.as_bytes(), &mut self.out);
        self.out.push(b'"');
    }

    /// A field with a text, if it is not empty.
    pub(crate) fn text_field(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.name(name);
            self.text(text);
        }
    }

    /// What prints itself without quotes and control characters, as text.
    pub(crate) fn display(&mut self, value: impl std::fmt::Display) {
        self.out.push(b'"');
        // Writing to memory cannot fail.
        let _ = write!(self.out, "{value}");
        self.out.push(b'"');
    }

    /// Bytes in hexadecimal, as text; leading zeros may be left out.
    pub(crate) fn hex(&mut self, bytes: &[u8], keeps_zeros: bool) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        self.out.push(b'"');
        let start = self.out.len();
        for byte in bytes {
            for digit in [byte >> 4, byte & 15] {
                if digit != 0 || keeps_zeros || self.out.len() > start {
                    self.out.push(DIGITS[usize::from(digit)]);
                }
            }
        }
        self.out.push(b'"');
    }

    /// A number of at most 32 bits.
    pub(crate) fn number(&mut self, value: u64) {
        digits(value, &mut self.out);
    }

    /// A field with a number of at most 32 bits, if it is not zero.
    pub(crate) fn number_field(&mut self, name: &str, value: u64) {
        if value != 0 {
            self.name(name);
            self.number(value.min(u64::from(u32::MAX)));
        }
    }

    /// An integer of 64 bits, as text.
    pub(crate) fn integer(&mut self, value: i64) {
        self.out.push(b'"');
        if value < 0 {
            self.out.push(b'-');
        }
        digits(value.unsigned_abs(), &mut self.out);
        self.out.push(b'"');
    }

    /// A field with an integer of 64 bits, if it is not zero.
    pub(crate) fn integer_field(&mut self, name: &str, value: i64) {
        if value != 0 {
            self.name(name);
            self.integer(value);
        }
    }

    pub(crate) fn boolean(&mut self, value: bool) {
        self.raw(if value { b"true" } else { b"false" });
    }

    /// A double; what is no number is text.
    pub(crate) fn double(&mut self, value: f64) {
        if value.is_nan() {
            self.raw(b"\"NaN\"");
        } else if value.is_infinite() {
            self.raw(if value > 0.0 { b"\"Infinity\"" } else { b"\"-Infinity\"" });
        } else if value == value.trunc() && value.abs() < 1e15 {
            if value < 0.0 {
                self.out.push(b'-');
            }
            digits(value.abs() as u64, &mut self.out);
        } else {
            // Neither a finite number nor memory can fail.
            let _ = serde_json::to_writer(&mut self.out, &value);
        }
    }

    /// A field with a double, if it is not zero.
    pub(crate) fn double_field(&mut self, name: &str, value: f64) {
        if value != 0.0 {
            self.name(name);
            self.double(value);
        }
    }
}

/// Decimal digits of two places at once.
fn digits(mut value: u64, out: &mut Vec<u8>) {
    let mut buffer = [0; 20];
    let mut at = buffer.len();
    while value >= 100 {
        let pair = (value % 100) as u8;
        value /= 100;
        at -= 2;
        buffer[at] = b'0' + pair / 10;
        buffer[at + 1] = b'0' + pair % 10;
    }
    if value >= 10 {
        at -= 1;
        buffer[at] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    at -= 1;
    buffer[at] = b'0' + value as u8;
    out.extend_from_slice(&buffer[at..]);
}

/// Whether one of eight bytes cannot stand in a text as it is. May say yes for others too, behind
/// one for which that is so.
fn needs_escape(eight: u64) -> bool {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    let has_zero = |x: u64| x.wrapping_sub(ONES) & !x & HIGHS;
    let below_space = eight.wrapping_sub(ONES * 0x20) & !eight & HIGHS;
    let quotes = has_zero(eight ^ (ONES * u64::from(b'"')));
    let backslashes = has_zero(eight ^ (ONES * u64::from(b'\\')));
    below_space | quotes | backslashes != 0
}

/// Appends a text with escapes where they are needed: seldom, so eight bytes are looked at at once.
fn escape(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len());
    let (chunks, rest) = text.as_chunks::<8>();
    for chunk in chunks {
        if needs_escape(u64::from_ne_bytes(*chunk)) {
            escape_each(chunk, out);
        } else {
            out.extend_from_slice(chunk);
        }
    }
    escape_each(rest, out);
}

fn escape_each(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[
                    DIGITS[usize::from(byte >> 4)],
                    DIGITS[usize::from(byte & 15)],
                ]);
            }
            _ => out.push(*byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn written(write: impl FnOnce(&mut Json)) -> Value {
        let mut json = Json::default();
        write(&mut json);
        serde_json::from_slice(&json.into_bytes()).unwrap()
    }

    #[test]
    fn every_text_comes_back() {
        let all: String = (0..0x250).filter_map(char::from_u32).collect();
        let mut texts = vec![all.clone(), "日本語 \u{1f980} \"q\" \\".to_owned()];
        for length in 0..20 {
            for special in ['"', '\\', '\n', '\u{1}', '\u{1f}', 'é', '\u{7f}'] {
                for at in 0..=length {
                    let mut text = "x".repeat(length);
                    text.insert(at, special);
                    texts.push(text);
                }
            }
        }
        for text in texts {
            assert_eq!(written(|json| json.text(&text)), Value::String(text));
        }
    }

    #[test]
    fn every_number_comes_back() {
        for value in [0, 1, 9, 10, 99, 100, 101, 12_345, u64::MAX, 1 << 32, 999, 1_000] {
            assert_eq!(written(|json| json.number(value)), Value::from(value));
        }
        for value in [0, -1, i64::MIN, i64::MAX, -100] {
            assert_eq!(written(|json| json.integer(value)), Value::from(value.to_string()));
        }
        for value in [0.0, -0.5, 1e300, 5e-324, 0.1, 3.0, -7.0, 1e15, 123_456_789.25] {
            assert_eq!(written(|json| json.double(value)).as_f64(), Some(value));
        }
        assert_eq!(written(|json| json.double(f64::NAN)), "NaN");
        assert_eq!(written(|json| json.double(f64::NEG_INFINITY)), "-Infinity");
    }

    #[test]
    fn zeros_are_left_out_and_commas_fall_where_they_belong() {
        let document = written(|json| {
            json.object(|json| {
                json.text_field("empty", "");
                json.number_field("zero", 0);
                json.integer_field("a", 7);
                json.double_field("none", 0.0);
                json.name("list");
                json.list([1, 2], |json, n| json.object(|json| json.number_field("n", n)));
                json.name("flag");
                json.boolean(true);
                json.name("nothing");
                json.list([0; 0], Json::number);
            });
        });
        let expected = serde_json::json!({"a": "7", "list": [{"n": 1}, {"n": 2}], "flag": true, "nothing": []});
        assert_eq!(document, expected);
    }

    #[test]
    fn ids_may_lose_their_leading_zeros() {
        let id = [0, 0, 0x0a, 0, 0xff];
        assert_eq!(written(|json| json.hex(&id, true)), "00000a00ff");
        assert_eq!(written(|json| json.hex(&id, false)), "a00ff");
        assert_eq!(written(|json| json.hex(&[0; 4], false)), "");
    }
}
