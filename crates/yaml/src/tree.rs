//! A YAML file as a tree that knows where each key and value stands.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, MessageFormatter, Spanned, UserMessageFormatter};

use crate::limits::MAX_TEXT_BYTES;
use crate::{Problem, amounts, printable};

/// Line and column, from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u64,
    /// The column.
    pub column: u64,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// Nothing, or `~`, or `null`.
    Null,
    /// A word or number.
    Scalar(Scalar),
    /// Values in order.
    List(Vec<Item>),
    /// Keys with values, in order.
    Map(Vec<Entry>),
}

/// A value without parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scalar {
    /// A word or number as it is written, or what a quoted text says.
    pub text: String,
    /// Whether YAML takes it for a number or a truth.
    pub is_typed: bool,
}

/// A value of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// The value.
    pub node: Node,
    /// Where it stands.
    pub at: Place,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where it stands.
    pub key_at: Place,
    /// The value.
    pub node: Node,
    /// Where that stands.
    pub at: Place,
}

impl Node {
    /// A text.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Scalar(Scalar { text: text.into(), is_typed: false })
    }

    /// The words of a value without parts.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Scalar(scalar) => Some(&scalar.text),
            _ => None,
        }
    }

    /// The value of a key, if this has keys and that one is among them.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Entry> {
        match self {
            Self::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }
}

/// Reads a file; an empty one is an empty map.
///
/// # Errors
/// It is not YAML, not keys and values, or more than [`MAX_TEXT_BYTES`].
pub fn parse(text: &str) -> Result<Vec<Entry>, Problem> {
    if text.len() > MAX_TEXT_BYTES {
        let most = amounts::size_text(MAX_TEXT_BYTES as u64);
        return Err(Problem::at_or_nowhere(None, format!("expected YAML of at most {most}")));
    }
    let root: Option<Spanned<Parsed>> = serde_saphyr::from_str(text).map_err(|error| {
        Problem::at_or_nowhere(error.location().map(place), message(error.without_snippet()))
    })?;
    let Some(root) = root else { return Ok(Vec::new()) };
    let at = place(root.referenced);
    match node(root, text) {
        Node::Null => Ok(Vec::new()),
        Node::Map(entries) => Ok(entries),
        _ => {
            let message = "expected keys and values, such as `http: 127.0.0.1:3200`";
            Err(Problem::at(at, message))
        }
    }
}

fn place(location: Location) -> Place {
    Place { line: location.line(), column: location.column() }
}

/// What is wrong, without the place, which is said in front.
fn message(error: &serde_saphyr::Error) -> String {
    match error {
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("{} is there twice", printable(key))
        }
        error => printable(&UserMessageFormatter.format_message(error)),
    }
}

/// A value as the parser gives it.
enum Parsed {
    Null,
    Text(String),
    /// A word that YAML takes for a number or a truth, as written by us.
    Typed(String),
    List(Vec<Spanned<Parsed>>),
    Map(Vec<(Spanned<String>, Spanned<Parsed>)>),
}

/// The tree with the words of the file: `007` stays `007`, and `on` stays `on`.
fn node(parsed: Spanned<Parsed>, text: &str) -> Node {
    match parsed.value {
        Parsed::Null => Node::Null,
        Parsed::Text(value) => Node::text(value),
        Parsed::Typed(value) => Node::Scalar(Scalar {
            text: written(parsed.defined, text).unwrap_or(value),
            is_typed: true,
        }),
        Parsed::List(items) => {
            let items = items
                .into_iter()
                .map(|item| Item { at: place(item.referenced), node: node(item, text) });
            Node::List(items.collect())
        }
        Parsed::Map(entries) => {
            let entries = entries.into_iter().map(|(key, value)| Entry {
                key_at: place(key.referenced),
                key: key.value,
                at: place(value.referenced),
                node: node(value, text),
            });
            Node::Map(entries.collect())
        }
    }
}

/// What stands at a place of the file.
fn written(location: Location, text: &str) -> Option<String> {
    let span = location.span();
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let end = start.checked_add(usize::try_from(span.byte_len()?).ok()?)?;
    let word = text.get(start..end)?.trim();
    (!word.is_empty()).then(|| word.to_owned())
}

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParsedVisitor)
    }
}

struct ParsedVisitor;

impl<'de> Visitor<'de> for ParsedVisitor {
    type Value = Parsed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, a list, or keys and values")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Parsed, E> {
        Ok(Parsed::Null)
    }

    fn visit_none<E: de::Error>(self) -> Result<Parsed, E> {
        Ok(Parsed::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Parsed, E> {
        Ok(Parsed::Typed(value.to_string()))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Parsed, E> {
        Ok(Parsed::Typed(value.to_string()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Parsed, E> {
        Ok(Parsed::Typed(value.to_string()))
    }

    fn visit_i128<E: de::Error>(self, value: i128) -> Result<Parsed, E> {
        Ok(Parsed::Typed(value.to_string()))
    }

    fn visit_u128<E: de::Error>(self, value: u128) -> Result<Parsed, E> {
        Ok(Parsed::Typed(value.to_string()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Parsed, E> {
        Ok(Parsed::Typed(value.to_string()))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Parsed, E> {
        Ok(Parsed::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Parsed, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Parsed::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Parsed, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Parsed::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_know_their_places() {
        let entries =
            parse("# a comment\nhttp: 127.0.0.1:3200\nstore:\n  flush_after: 10m\n").unwrap();
        assert_eq!(entries[0].key, "http");
        assert_eq!(entries[0].node, Node::text("127.0.0.1:3200"));
        assert_eq!(entries[0].key_at, Place { line: 2, column: 1 });
        assert_eq!(entries[0].at, Place { line: 2, column: 7 });
        let Node::Map(inner) = &entries[1].node else { panic!("{entries:?}") };
        assert_eq!(inner[0].key_at, Place { line: 4, column: 3 });
        assert_eq!(inner[0].at, Place { line: 4, column: 16 });
    }

    #[test]
    fn values_of_every_type_keep_their_text() {
        let entries = parse("a: 12\nb: true\nc: ~\nd: [x, 2]\ne: \"7\"\nf: {}\n").unwrap();
        let nodes: Vec<_> = entries.into_iter().map(|entry| entry.node).collect();
        let typed = |text: &str| Node::Scalar(Scalar { text: text.to_owned(), is_typed: true });
        let Node::List(list) = &nodes[3] else { panic!("{nodes:?}") };
        assert_eq!((&list[0].node, &list[1].node), (&Node::text("x"), &typed("2")));
        assert_eq!(list[1].at, Place { line: 4, column: 8 });
        assert_eq!(nodes[..3], [typed("12"), typed("true"), Node::Null]);
        assert_eq!(nodes[4..], [Node::text("7"), Node::Map(Vec::new())]);
    }

    #[test]
    fn words_that_look_like_numbers_or_truths_stay_as_they_are_written() {
        let words = ["007", "on", "1.10", "True", "0x1F", "1_000", "+1", "-3", "1e3"];
        for word in words {
            let text = format!("ü: x\na: {{b: {word}, c: [{word}]}}  # {word}\nd: {word}\n");
            let entries = parse(&text).unwrap();
            let Node::Map(inner) = &entries[1].node else { panic!("{entries:?}") };
            assert_eq!(inner[0].node.as_text(), Some(word));
            let Node::List(list) = &inner[1].node else { panic!("{inner:?}") };
            assert_eq!(list[0].node.as_text(), Some(word));
            assert_eq!(entries[2].node.as_text(), Some(word));
        }
        let entries = parse("a: &x 007\nb: *x\n").unwrap();
        assert_eq!(entries[1].node.as_text(), Some("007"), "where it is referred to as well");
    }

    #[test]
    fn what_is_not_a_map_is_refused_and_nothing_is_nothing() {
        assert!(parse("").unwrap().is_empty());
        assert!(parse("# only a comment\n").unwrap().is_empty());
        assert!(parse("- a\n- b\n").unwrap_err().message.contains("expected keys"));
        let twice = parse("a: 1\na: 2\n").unwrap_err();
        assert_eq!((twice.at.unwrap().line, twice.message.as_str()), (2, "a is there twice"));
        let torn = parse("a: [1, 2\nb: 3\n").unwrap_err();
        assert!(torn.at.is_some() && !torn.message.is_empty() && !torn.message.contains('\n'));
    }

    #[test]
    fn a_mark_of_the_byte_order_changes_nothing() {
        let entries = parse("\u{feff}a: 007\nb: {c: 1.10}\n").unwrap();
        assert_eq!(entries[0].node.as_text(), Some("007"));
        assert_eq!(entries[1].node.get("c").unwrap().node.as_text(), Some("1.10"));
    }

    #[test]
    fn what_would_grow_without_end_is_refused() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for nth in 1..12 {
            let before = format!("*a{}, ", nth - 1).repeat(9);
            bomb.push_str(&format!("a{nth}: &a{nth} [{before}]\n"));
        }
        assert!(parse(&bomb).is_err());
        let deep = format!("a: {}1{}", "[".repeat(5000), "]".repeat(5000));
        assert!(parse(&deep).is_err());
        let indented: String =
            (0..5000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        assert!(parse(&indented).is_err());
        let large = format!("a: {}\n", "x".repeat(MAX_TEXT_BYTES));
        assert!(parse(&large).unwrap_err().message.contains("at most 8MiB"));
    }

    #[test]
    fn tabs_and_loose_ends_are_told_with_their_place() {
        for text in ["a:\n\tb: 1\n", "a: 'x\n", "a: *b\n", "a: {b: 1\n", "a: b: c\n", "a: \u{7}\n"]
        {
            let problem = parse(text).unwrap_err();
            assert!(problem.at.is_some_and(|at| at.line >= 1 && at.column >= 1), "{text:?}");
            assert!(!problem.message.contains(['\n', '\u{7}']), "{problem}");
        }
    }
}
