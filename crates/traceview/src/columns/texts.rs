//! Tables of texts: each once, none too long, and not too much in all.

use std::borrow::Cow;

use hashbrown::HashMap;
use kymo_wire::text;

/// What stands where something was cut.
const ELLIPSIS: &str = "…";

/// A table that is being filled.
pub(crate) struct Texts<'a> {
    known: HashMap<&'a [u8], u32>,
    texts: Vec<Cow<'a, str>>,
    max_bytes_each: usize,
    left_bytes: usize,
    /// The last entry of a table that is full.
    rest: Option<u32>,
}

impl<'a> Texts<'a> {
    pub(crate) fn new(max_bytes_each: usize, max_bytes: usize) -> Self {
        let (known, texts) = (HashMap::new(), Vec::new());
        Self { known, texts, max_bytes_each, left_bytes: max_bytes, rest: None }
    }

    /// The place of a text.
    pub(crate) fn code(&mut self, bytes: &'a [u8]) -> u32 {
        if let Some(known) = self.known.get(bytes) {
            return *known;
        }
        if let Some(rest) = self.rest {
            return rest;
        }
        let shown = cut(bytes, self.max_bytes_each);
        let code = self.texts.len() as u32;
        match self.left_bytes.checked_sub(shown.len()) {
            Some(left) => {
                self.left_bytes = left;
                self.texts.push(shown);
                self.known.insert(bytes, code);
            }
            None => {
                self.texts.push(ELLIPSIS.into());
                self.rest = Some(code);
            }
        }
        code
    }

    /// Whether some were left out.
    pub(crate) fn is_full(&self) -> bool {
        self.rest.is_some()
    }

    pub(crate) fn into_texts(self) -> Vec<Cow<'a, str>> {
        self.texts
    }
}

/// Text of at most some bytes, cut between two letters.
pub(crate) fn cut(bytes: &[u8], max_bytes: usize) -> Cow<'_, str> {
    let shown = text(bytes);
    if shown.len() <= max_bytes {
        return shown;
    }
    let end = shown.floor_char_boundary(max_bytes - ELLIPSIS.len());
    Cow::Owned(format!("{}{ELLIPSIS}", &shown[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_there_once_and_cut_between_two_letters() {
        let mut texts = Texts::new(8, 100);
        assert_eq!([texts.code(b"a"), texts.code(b"b"), texts.code(b"a")], [0, 1, 0]);
        let long = "ääääää".as_bytes();
        assert_eq!(texts.code(long), 2);
        assert_eq!(texts.into_texts(), ["a", "b", "ää…"]);
    }

    #[test]
    fn what_a_full_table_has_no_room_for_has_its_last_entry() {
        let mut texts = Texts::new(8, 5);
        let codes = [b"abc", b"def", b"ghi", b"abc"].map(|text| texts.code(text));
        assert_eq!(codes, [0, 1, 1, 0]);
        assert!(texts.is_full());
        assert_eq!(texts.into_texts(), ["abc", "…"]);
    }
}
