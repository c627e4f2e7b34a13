//! `OTEL_RESOURCE_ATTRIBUTES`: `name=value,name=value`, where a comma in a value is written `%2C`.

use kymo_forward::pairs;

use crate::attributes::{Attributes, Value};

pub use pairs::unescape;

/// Reads such a text. What has no `=` is left out.
#[must_use]
pub fn parse(text: &str) -> Attributes {
    pairs::parse(text).collect()
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
