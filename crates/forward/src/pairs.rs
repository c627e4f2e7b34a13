//! `name=value,name=value`, where a comma in a value is written `%2C`: how `OTEL_…_HEADERS` and
//! `OTEL_RESOURCE_ATTRIBUTES` are written.

/// Reads such a text. What has no `=` or no name is left out.
pub fn parse(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    text.split(',').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        (!name.is_empty()).then(|| (name.to_owned(), unescape(value)))
    })
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
    fn pairs_are_read_and_escapes_undone() {
        let read: Vec<_> = parse(",x,=y,z=%zz,w=\"q\", a = 1%2C 2,b=50%25").collect();
        let expected = [("z", "%zz"), ("w", "q"), ("a", "1, 2"), ("b", "50%")];
        assert_eq!(read, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(unescape("%C3%BC%e"), "ü%e");
        assert_eq!(unescape("ü%"), "ü%");
    }
}
