//! Parameters of a link, and links of ours.

use crate::limits::{MAX_LINK_BYTES, MAX_LINK_PARAMETERS};

/// What follows the question mark, decoded.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads them as forms write them. What is malformed stands for itself.
    pub(super) fn parse(query: &str) -> Self {
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).take(MAX_LINK_PARAMETERS);
        let read = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        });
        Self(read.collect())
    }

    /// The first value of a name that is not empty.
    pub(super) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).find(|value| !value.is_empty())
    }

    /// All values of a name.
    pub(super) fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |(found, _)| *found == name).map(|(_, value)| value)
    }

    /// All names with their values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// A link to a page of ours.
pub(super) struct Link(String);

impl Link {
    /// To a page, whose path is known or has been checked.
    pub(super) fn to(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    /// With a parameter.
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self.0.push(if self.0.contains('?') { '&' } else { '?' });
        encode(&mut self.0, name);
        self.0.push('=');
        encode(&mut self.0, value);
        self
    }

    /// With a parameter, if there is a value.
    pub(super) fn with_some(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// The link, unless it is longer than links may be: half of a query is another query.
    pub(super) fn finish(self) -> Option<String> {
        (self.0.len() <= MAX_LINK_BYTES).then_some(self.0)
    }
}

/// Adds a text of which only what means nothing in a link stays as it is.
fn encode(to: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            to.push(char::from(byte));
        } else {
            to.push_str(&format!("%{byte:02X}"));
        }
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match (byte, hex_pair(after)) {
            (b'+', _) => bytes.push(b' '),
            (b'%', Some((decoded, after))) => {
                bytes.push(decoded);
                rest = after;
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex_pair(bytes: &[u8]) -> Option<(u8, &[u8])> {
    let (pair, rest) = bytes.split_at_checked(2)?;
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let value = digit(pair.first()?)? * 16 + digit(pair.last()?)?;
    Some((u8::try_from(value).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_what_is_malformed_stays() {
        let read = Parameters::parse("a=1+2&b=%7B%22x%22%7D&a=%C3%A9&c&d=%zz%4&&e=%");
        let read: Vec<_> = read.iter().collect();
        let expected =
            [("a", "1 2"), ("b", "{\"x\"}"), ("a", "é"), ("c", ""), ("d", "%zz%4"), ("e", "%")];
        assert_eq!(read, expected);
    }

    #[test]
    fn what_is_encoded_is_decoded_to_the_same() {
        let text = "{ a = \"é&?#/\\%+\" }\n";
        let link = Link::to("/x").with("q", text).with("w", "").finish().unwrap();
        let (path, query) = link.split_once('?').unwrap();
        let read = Parameters::parse(query);
        assert_eq!((path, read.first("q"), read.first("w")), ("/x", Some(text), None));
        assert!(link.is_ascii());
    }
}
