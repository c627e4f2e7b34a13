//! `name=value,name=value`, where a comma in a value is written `%2C`: how `OTEL_…_HEADERS` and
//! `OTEL_RESOURCE_ATTRIBUTES` are written.

/// Reads such a text. What has no `=` or no name is left out.
pub fn parse(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    text.split(',').filter_map(pair)
}

/// Reads one `name=value`; nothing if it has no `=` or no name.
#[must_use]
pub fn pair(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    let (name, value) = (name.trim(), value.trim().trim_matches('"'));
    (!name.is_empty()).then(|| (name.to_owned(), unescape(value)))
}

/// A value as it was meant. What is no escape stays as it is.
#[must_use]
pub fn unescape(value: &str) -> String {
    let bytes = value.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = bytes.get(at + 1..at + 3).filter(|_| byte == b'%').and_then(|digits| {
            let digit = |byte: u8| (byte as char).to_digit(16);
            u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()
        });
        plain.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_read_and_escapes_undone() {
        let read: Vec<_> = parse(",x,=y,z=%zz,w=\"q\", a = 1%2C 2,b=50%25").collect();
        let expected = [("z", "%zz"), ("w", "q"), ("a", "1, 2"), ("b", "50%")];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(unescape("%C3%BC%e"), "ü%e");
        assert_eq!(unescape("ü%"), "ü%");
        assert_eq!(unescape("100% %+5 %ff"), "100% %+5 \u{fffd}");
    }
}
