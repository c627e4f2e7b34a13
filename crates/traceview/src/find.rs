//! Text inside a trace: which rows have it.
//!
//! A search is words, and a span must have all of them. A word is part of its name, service, id,
//! status message, or of the key or value of an attribute of it, its resource, or its events. Letters
//! of ASCII match in either case. `key=value` is also an attribute with exactly that value; `"…"`
//! holds words together.

use std::time::Instant;

use kymo_wire::{AnyValueView, KeyValueView, Repeated, ResourceView, View, WireError};
use serde::Serialize;

use crate::attribute::{Key, Reader};
use crate::error::TraceError;
use crate::limits::{
    FIND_MAX_BYTES, FIND_MAX_ROWS, FIND_MAX_TIME, FIND_MAX_WORDS, FIND_ROWS_PER_LOOK,
};
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
    find_until(tree, query, Instant::now() + FIND_MAX_TIME)
}

fn find_until(tree: &TraceTree, query: &str, end: Instant) -> Result<FoundRows, TraceError> {
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
        if row % FIND_ROWS_PER_LOOK == 0 && Instant::now() >= end {
            let seconds = FIND_MAX_TIME.as_secs();
            let message = format!("the search took more than {seconds} s: look for fewer words");
            return Err(TraceError::Query(message));
        }
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

/// Part of some text, or what an attribute is.
struct Word<'t> {
    text: Needle,
    /// Which resources have it.
    in_resources: Vec<bool>,
    /// Whether it may be of an id.
    is_hex: bool,
    /// An attribute and its value.
    attribute: Option<(Reader<'t>, String)>,
}

impl<'t> Word<'t> {
    fn new(tree: &'t TraceTree, word: &str) -> Result<Self, TraceError> {
        let text = Needle::new(word);
        let attribute = match word.split_once('=').filter(|(key, _)| !key.is_empty()) {
            Some((key, value)) => Some((Reader::new(tree, Key::parse(key))?, value.to_owned())),
            None => None,
        };
        let mut in_resources = Vec::with_capacity(tree.resources.len());
        for resource in &tree.resources {
            let view = ResourceView::parse(tree.bytes(resource.raw))?;
            in_resources.push(are_in(view.attributes, &text)?);
        }
        let is_hex = word.len() <= 16 && word.bytes().all(|letter| letter.is_ascii_hexdigit());
        Ok(Self { text, in_resources, is_hex, attribute })
    }

    fn is_in(&self, tree: &TraceTree, row: usize) -> Result<bool, WireError> {
        let span = &tree.spans[row];
        let text = &self.text;
        if self.in_resources[span.resource as usize]
            || text.is_in(tree.name(row))
            || text.is_in(tree.bytes(span.message))
            || self.is_hex && text.is_in(hex(&span.place.span_id).as_bytes())
        {
            return Ok(true);
        }
        if let Some((reader, value)) = &self.attribute {
            let is_equal = |found: &AnyValueView<'_>| {
                text_of(found).as_bytes().eq_ignore_ascii_case(value.as_bytes())
            };
            if reader.has(row, is_equal)? {
                return Ok(true);
            }
        }
        let view = tree.view(row)?;
        if are_in(view.attributes, text)? {
            return Ok(true);
        }
        for event in view.events {
            let event = event?;
            if text.is_in(event.name) || are_in(event.attributes, text)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a key or value has a text.
fn are_in(attributes: Repeated<'_, KeyValueView<'_>>, text: &Needle) -> Result<bool, WireError> {
    for attribute in attributes {
        let attribute = attribute?;
        if text.is_in(attribute.key) || text.is_in(text_of(&attribute.value).as_bytes()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A text that is looked for, letters of ASCII in either case, in time proportional to what it is looked
/// for in, whatever both hold (Knuth, Morris and Pratt).
struct Needle {
    lower: Vec<u8>,
    /// For each letter: how many of the first letters end there again.
    again: Vec<usize>,
}

impl Needle {
    fn new(text: &str) -> Self {
        let lower = text.to_ascii_lowercase().into_bytes();
        let mut again = vec![0; lower.len()];
        let mut matched = 0;
        for (at, letter) in lower.iter().enumerate().skip(1) {
            while matched > 0 && *letter != lower[matched] {
                matched = again[matched - 1];
            }
            matched += usize::from(*letter == lower[matched]);
            again[at] = matched;
        }
        Self { lower, again }
    }

    fn is_in(&self, text: &[u8]) -> bool {
        let mut matched = 0;
        if self.lower.is_empty() {
            return true;
        }
        for letter in text {
            let letter = letter.to_ascii_lowercase();
            while matched > 0 && letter != self.lower[matched] {
                matched = self.again[matched - 1];
            }
            matched += usize::from(letter == self.lower[matched]);
            if matched == self.lower.len() {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{sent, tree};

    fn example() -> TraceTree {
        let mut spans = vec![
            sent(1, 0, "shop", "GET /cart", 1_000, 1_090),
            sent(2, 1, "shop", "auth", 1_020, 1_030),
            sent(0xabcd, 1, "db", "select a=b", 1_040, 1_050),
        ];
        spans[1].attributes = vec![
            ("http.route", AnyValueView::String(b"/Cart Items")),
            ("code", AnyValueView::Int(404)),
            ("command", AnyValueView::String(b"train --steps=12 --lr=3")),
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
            ("--steps=1", &[1]),
            ("\"steps=12 --lr=3\"", &[1]),
            ("--steps=3", &[]),
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
    fn a_part_is_found_wherever_it_begins_again() {
        for (part, text, expected) in [
            ("aab", "AAAB", true),
            ("abab", "abaBAb", true),
            ("abac", "ababac", true),
            ("aabaaa", "aabaabaaa", true),
            ("abc", "ab", false),
            ("abd", "abcabcab", false),
            ("", "", true),
            ("a", "", false),
        ] {
            assert_eq!(Needle::new(part).is_in(text.as_bytes()), expected, "{part} in {text}");
        }
        // Each of these begins everywhere, and ends nowhere.
        let long = vec![b'a'; 2 << 20];
        let before = Instant::now();
        assert!(!Needle::new(&format!("{}b", "a".repeat(2_000))).is_in(&long));
        assert!(before.elapsed().as_secs() < 5);
    }

    #[test]
    fn a_search_that_takes_too_long_is_refused() {
        let past = Instant::now();
        let error = find_until(&example(), "cart", past).unwrap_err().to_string();
        assert!(error.contains("fewer words"), "{error}");
    }

    #[test]
    fn too_many_words_and_too_long_ones_are_refused() {
        assert!(find(&example(), &"a ".repeat(17)).is_err());
        assert!(find(&example(), &"a".repeat(4_096)).is_ok());
        assert!(find(&example(), &"a".repeat(4_097)).is_err());
    }
}
