//! A look into JSON text without making values of it.
//!
//! Values that are passed over are skipped by their brackets and quotes, without recursion: text
//! that is nested as deep as it likes costs time in its length and no stack. What is found is
//! checked to be JSON; what is not JSON holds nothing.

use serde::de::IgnoredAny;

/// A step into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step<'a> {
    /// Into an object.
    Key(&'a str),
    /// Into an array, from 0; from -1 backwards.
    Place(i64),
}

/// The text of the value at the end of a path; `None` if there is none. Of a key that is there
/// twice it is the first.
pub(super) fn find<'j>(json: &'j str, path: &[Step<'_>]) -> Option<&'j str> {
    let mut found = json.trim_matches(is_space);
    for step in path {
        found = match step {
            Step::Key(key) => members(found)?.find(|member| is_key(member.key, key))?.value,
            Step::Place(place @ 0..) => items(found)?.nth(usize::try_from(*place).ok()?)?,
            Step::Place(from_end) => {
                let count = items(found)?.count();
                let place = count.checked_sub(usize::try_from(from_end.unsigned_abs()).ok()?)?;
                items(found)?.nth(place)?
            }
        };
    }
    is_json(found).then_some(found)
}

/// How many members or items a value has; `None` if it is neither object nor array.
pub(super) fn length(json: &str) -> Option<usize> {
    members(json).map(Iterator::count).or_else(|| items(json).map(Iterator::count))
}

/// The keys of an object, in its order; `None` if it is none.
pub(super) fn keys(json: &str) -> Option<Vec<String>> {
    members(json)?.map(|member| unquoted(member.key)).collect()
}

/// The text that a JSON string stands for; `None` if it is no string.
pub(super) fn unquoted(json: &str) -> Option<String> {
    if !json.starts_with('"') {
        return None;
    }
    match json.contains('\\') {
        false => json.get(1..json.len().checked_sub(1)?).map(str::to_owned),
        true => serde_json::from_str(json).ok(),
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}

fn is_key(quoted: &str, key: &str) -> bool {
    match quoted.contains('\\') {
        false => quoted.get(1..quoted.len() - 1) == Some(key),
        true => unquoted(quoted).is_some_and(|known| known == key),
    }
}

/// A member of an object.
struct Member<'j> {
    /// In its quotes.
    key: &'j str,
    value: &'j str,
}

/// The members of an object, as far as they can be told; `None` if it is none.
fn members(json: &str) -> Option<impl Iterator<Item = Member<'_>>> {
    let mut cursor = Cursor::into(json, b'{')?;
    Some(std::iter::from_fn(move || {
        let key = cursor.value(b'}')?;
        if !key.starts_with('"') || cursor.peek()? != b':' {
            return None;
        }
        cursor.at += 1;
        let value = cursor.value(b'}')?;
        cursor.comma();
        Some(Member { key, value })
    }))
}

/// The items of an array, as far as they can be told; `None` if it is none.
fn items(json: &str) -> Option<impl Iterator<Item = &str>> {
    let mut cursor = Cursor::into(json, b'[')?;
    Some(std::iter::from_fn(move || {
        let item = cursor.value(b']')?;
        cursor.comma();
        Some(item)
    }))
}

/// A place in the inside of an object or array.
struct Cursor<'j> {
    text: &'j str,
    at: usize,
}

impl<'j> Cursor<'j> {
    fn into(json: &'j str, bracket: u8) -> Option<Self> {
        (json.as_bytes().first() == Some(&bracket)).then_some(Self { text: json, at: 1 })
    }

    /// The next byte that is no space.
    fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if !is_space(byte as char) {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Passes over a comma; what stands where one should ends it all.
    fn comma(&mut self) {
        match self.peek() {
            Some(b',') => self.at += 1,
            _ => self.at = self.text.len(),
        }
    }

    /// Passes over a value; `None` at the end, or where there is none.
    fn value(&mut self, end: u8) -> Option<&'j str> {
        let first = self.peek().filter(|byte| *byte != end)?;
        let begin = self.at;
        match first {
            b'"' => self.string()?,
            b'{' | b'[' => self.nested()?,
            b',' | b':' | b'}' | b']' => return None,
            _ => self.word(),
        }
        self.text.get(begin..self.at)
    }

    fn string(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        self.at += 1;
        loop {
            match bytes.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }

    fn nested(&mut self) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.text.as_bytes().get(self.at)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// A number, or a word such as `true`.
    fn word(&mut self) {
        let is_end = |byte: &u8| {
            matches!(byte, b',' | b':' | b'}' | b']' | b'{' | b'[' | b'"')
                || is_space(*byte as char)
        };
        let left = &self.text.as_bytes()[self.at..];
        self.at += left.iter().position(is_end).unwrap_or(left.len());
    }
}

#[cfg(test)]
mod tests {
    use super::Step::{Key, Place};
    use super::*;

    const TEXT: &str =
        r#" {"a": {"b": [1, "x", {"c": null}], "d\"e": true}, "a": 2, "é": -1.5e3, "": {}} "#;

    #[test]
    fn paths_lead_to_values() {
        for (path, expected) in [
            (vec![Key("a"), Key("b"), Place(0)], Some("1")),
            (vec![Key("a"), Key("b"), Place(-1), Key("c")], Some("null")),
            (vec![Key("a"), Key("b"), Place(-3)], Some("1")),
            (vec![Key("a"), Key("b"), Place(-4)], None),
            (vec![Key("a"), Key("b"), Place(3)], None),
            (vec![Key("a"), Key("d\"e")], Some("true")),
            (vec![Key("é")], Some("-1.5e3")),
            (vec![Key("")], Some("{}")),
            (vec![Key("b")], None),
            (vec![Key("a"), Place(0)], None),
            (vec![Place(0)], None),
        ] {
            assert_eq!(find(TEXT, &path), expected, "{path:?}");
        }
        assert_eq!(find(TEXT, &[]), Some(TEXT.trim()));
        assert_eq!(length(TEXT.trim()), Some(4));
        assert_eq!(keys(TEXT.trim()).unwrap(), ["a", "a", "é", ""]);
    }

    #[test]
    fn what_is_not_json_holds_nothing_and_hurts_nobody() {
        for text in [
            "",
            " ",
            "card refused: 51",
            "{",
            "[",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":}",
            "{\"a\" 1}",
            "{a: 1}",
            "{\"a\": 01}",
            "{\"a\": tru}",
            "{\"a\": [1}",
            "{\"a\": \"x}",
            "{\"a\": \"\\",
            "{\"b\": 1 \"a\": 2}",
            "{,\"a\":1}",
            "{\"a\": \"\\ud800\"}x",
            "{\"a\": {]}",
        ] {
            assert_eq!(find(text, &[Key("a"), Key("b")]), None, "{text}");
            let _ = (find(text, &[Place(0)]), length(text), keys(text));
            if text != "{\"a\": \"\\ud800\"}x" {
                assert_eq!(find(text, &[Key("a")]), None, "{text}");
            }
        }
        // Each cut of a text that is right.
        for (end, _) in TEXT.char_indices() {
            let _ = find(&TEXT[..end], &[Key("a"), Key("b"), Place(-1), Key("c")]);
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep =
            format!("{{\"x\": {}{}, \"a\": 7}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(find(&deep, &[Key("a")]), Some("7"));
        assert_eq!(find(&deep, &[Key("x")]).map(str::len), Some(2_000_000));
        assert_eq!(length(&deep), Some(2));
    }
}
