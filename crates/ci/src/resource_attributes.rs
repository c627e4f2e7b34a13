//! `OTEL_RESOURCE_ATTRIBUTES`: `name=value,name=value`, where a comma in a value is written `%2C`.

use crate::attributes::{Attributes, Value};

/// Reads such a text. What has no `=` is left out.
#[must_use]
pub fn parse(text: &str) -> Attributes {
    let pairs = text.split(',').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        (!name.is_empty()).then(|| (name.to_owned(), unescape(value)))
    });
    pairs.collect()
}

/// Writes such a text.
#[must_use]
pub fn write(attributes: &Attributes) -> String {
    let pair = |(name, value): (&str, &Value)| format!("{name}={}", escape(&value.to_string()));
    attributes.iter().map(pair).collect::<Vec<_>>().join(",")
}

/// A value as it stands in such a text. Only what would divide it is escaped: those who read it with
/// simpler means (a script that splits at commas) see the rest as it is.
#[must_use]
pub fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            ',' | '%' | '"' | '\n' | '\r' => {
                escaped.push_str(&format!("%{:02X}", character as u32))
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// A value as it was meant. What is no escape stays as it is.
#[must_use]
pub fn unescape(value: &str) -> String {
    let bytes = value.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = value.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let attributes: Attributes =
            [("a", "1, 2"), ("b", "50%2C"), ("c", "größer=ja"), ("d", "")].into_iter().collect();
        let text = write(&attributes);
        assert_eq!(text, "a=1%2C 2,b=50%252C,c=größer=ja,d=");
        assert_eq!(parse(&text), attributes);
        assert_eq!(parse(",x,=y,z=%zz,w=\"q\""), [("z", "%zz"), ("w", "q")].into_iter().collect());
    }
}
