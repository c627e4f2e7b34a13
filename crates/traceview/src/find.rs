//! Text inside a trace: which rows have it.
//!
//! A search is words, and a span must have all of them. A word is part of its name, service, id,
//! status message, or of the key or value of an attribute of it, its resource, or its events. Letters
//! of ASCII match in either case. `key=value` is an attribute with exactly that value; `"…"` holds
//! words together.

use kymo_wire::{KeyValueView, Repeated, ResourceView, View, WireError};
use serde::Serialize;

use crate::attribute::{Key, Reader};
use crate::error::TraceError;
use crate::limits::{FIND_MAX_BYTES, FIND_MAX_ROWS, FIND_MAX_WORDS};
use crate::tree::TraceTree;
use crate::value::{hex, text_of};

/// What was found.
#[derive(Debug, Serialize)]
pub struct FoundRows {
    /// See [`TraceTree::revision`].
    pub revision: String,
    /// The first rows that match, in order.
    pub rows: Vec<usize>,
    /// How many match.
    pub total: usize,
    /// Whether some are not in `rows`.
    pub truncated: bool,
}

/// Finds rows.
pub fn find(tree: &TraceTree, query: &str) -> Result<FoundRows, TraceError> {
    if query.len() > FIND_MAX_BYTES {
        let message = format!("more than {FIND_MAX_BYTES} bytes are too much to look for");
        return Err(TraceError::Query(message));
    }
    let words = words_of(query);
    if words.len() > FIND_MAX_WORDS {
        let message = format!("more than {FIND_MAX_WORDS} words are too many for one search");
        return Err(TraceError::Query(message));
    }
    let words = words.iter().map(|word| Word::new(tree, word)).collect::<Result<Vec<_>, _>>()?;
    let mut found =
        FoundRows { revision: tree.revision(), rows: Vec::new(), total: 0, truncated: false };
    if words.is_empty() {
        return Ok(found);
    }
    for row in 0..tree.len() {
        let mut has_all = true;
        for word in &words {
            if !word.is_in(tree, row)? {
                has_all = false;
                break;
            }
        }
        if has_all {
            found.total += 1;
            if found.rows.len() < FIND_MAX_ROWS {
                found.rows.push(row);
            }
        }
    }
    found.truncated = found.total > found.rows.len();
    Ok(found)
}

/// Words, split at spaces that are in no quotes. Quotes are left out.
fn words_of(query: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    for letter in query.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            letter if letter.is_whitespace() && !is_quoted => {
                words.push(std::mem::take(&mut word));
            }
            letter => word.push(letter),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

enum Word<'t> {
    /// Part of some text; which resources have it is known already, and whether it may be of an id.
    Text { text: Vec<u8>, in_resources: Vec<bool>, is_hex: bool },
    /// An attribute has this value.
    Attribute { reader: Reader<'t>, value: String, text: Vec<u8> },
}

impl<'t> Word<'t> {
    fn new(tree: &'t TraceTree, word: &str) -> Result<Self, TraceError> {
        let text = word.to_ascii_lowercase().into_bytes();
        if let Some((key, value)) = word.split_once('=').filter(|(key, _)| !key.is_empty()) {
            let reader = Reader::new(tree, Key::parse(key))?;
            return Ok(Self::Attribute { reader, value: value.to_owned(), text });
        }
        let mut in_resources = Vec::with_capacity(tree.resources.len());
        for resource in &tree.resources {
            let view = ResourceView::parse(tree.bytes(resource.raw))?;
            in_resources.push(are_in(view.attributes, &text)?);
        }
        let is_hex = text.len() <= 16 && text.iter().all(u8::is_ascii_hexdigit);
        Ok(Self::Text { text, in_resources, is_hex })
    }

    fn is_in(&self, tree: &TraceTree, row: usize) -> Result<bool, WireError> {
        let span = &tree.spans[row];
        match self {
            Self::Attribute { reader, value, text } => {
                let is_equal = reader.has(row, |found| {
                    text_of(found).as_bytes().eq_ignore_ascii_case(value.as_bytes())
                })?;
                // A name may have an equals sign, too.
                Ok(is_equal || contains(tree.name(row), text))
            }
            Self::Text { text, in_resources, is_hex } => {
                if in_resources[span.resource as usize]
                    || contains(tree.name(row), text)
                    || contains(tree.bytes(span.message), text)
                    || *is_hex && contains(hex(&span.place.span_id).as_bytes(), text)
                {
                    return Ok(true);
                }
                let view = tree.view(row)?;
                if are_in(view.attributes, text)? {
                    return Ok(true);
                }
                for event in view.events {
                    let event = event?;
                    if contains(event.name, text) || are_in(event.attributes, text)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// Whether a key or value has a text.
fn are_in(attributes: Repeated<'_, KeyValueView<'_>>, text: &[u8]) -> Result<bool, WireError> {
    for attribute in attributes {
        let attribute = attribute?;
        if contains(attribute.key, text) || contains(text_of(&attribute.value).as_bytes(), text) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a text has another, which is in lower case, letters of ASCII in either case.
fn contains(text: &[u8], lower: &[u8]) -> bool {
    let Some(first) = lower.first() else { return true };
    let Some(last_start) = text.len().checked_sub(lower.len()) else { return false };
    (0..=last_start).any(|at| {
        text[at].eq_ignore_ascii_case(first)
            && text[at..at + lower.len()].eq_ignore_ascii_case(lower)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{sent, tree};
    use kymo_wire::AnyValueView;

    fn example() -> TraceTree {
        let mut spans = vec![
            sent(1, 0, "shop", "GET /cart", 1_000, 1_090),
            sent(2, 1, "shop", "auth", 1_020, 1_030),
            sent(0xabcd, 1, "db", "select a=b", 1_040, 1_050),
        ];
        spans[1].attributes = vec![
            ("http.route", AnyValueView::String(b"/Cart Items")),
            ("code", AnyValueView::Int(404)),
        ];
        spans[1].is_error = true;
        spans[2].events = vec![(1_045, "retry")];
        tree(&spans)
    }

    #[test]
    fn words_are_found_wherever_they_are() {
        let tree = example();
        for (query, expected) in [
            ("cart", &[0, 1][..]),
            ("CART", &[0, 1]),
            ("shop", &[0, 1]),
            ("shop auth", &[1]),
            ("abcd", &[2]),
            ("broke", &[1]),
            ("http.route", &[1]),
            ("404", &[1]),
            ("retry", &[2]),
            ("node1", &[0, 1, 2]),
            ("\"cart items\"", &[1]),
            ("code=404", &[1]),
            ("span.code=404", &[1]),
            ("code=40", &[]),
            ("http.route=\"/cart items\"", &[1]),
            ("resource.service.name=db", &[2]),
            ("a=b", &[2]),
            ("event.n=3", &[2]),
            ("event.n=4", &[]),
            ("nothing", &[]),
            ("", &[]),
            ("  \"\" ", &[]),
        ] {
            assert_eq!(find(&tree, query).unwrap().rows, expected, "{query}");
        }
    }

    #[test]
    fn too_many_words_and_too_long_ones_are_refused() {
        assert!(find(&example(), &"a ".repeat(17)).is_err());
        assert!(find(&example(), &"a".repeat(4_096)).is_ok());
        assert!(find(&example(), &"a".repeat(4_097)).is_err());
    }
}
