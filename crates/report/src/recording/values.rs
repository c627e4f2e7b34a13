//! Values of attributes as texts and numbers, and texts that are kept once.

use std::borrow::Cow;
use std::sync::Arc;

use hashbrown::HashSet;
use kymo_wire::{AnyValueView, KeyValueView, Repeated, text};

use crate::limits::{MAX_INTERNED, MAX_TEXT_BYTES};

/// Texts, each once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    known: HashSet<Arc<str>>,
}

impl Texts {
    /// The text, shared with all that have the same; cut where it is too long.
    pub(super) fn keep(&mut self, text: &str) -> Arc<str> {
        let text = cut(text);
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let kept: Arc<str> = text.into();
        if self.known.len() < MAX_INTERNED {
            self.known.insert(kept.clone());
        }
        kept
    }

    /// A value as text, if there is something in it.
    pub(super) fn value(&mut self, value: &AnyValueView<'_>) -> Option<Arc<str>> {
        Some(self.keep(&as_text(value)?))
    }
}

/// A value as text, if there is something in it, that is not kept: ids are as many as tasks.
pub(super) fn as_text<'a>(value: &AnyValueView<'a>) -> Option<Cow<'a, str>> {
    Some(match value {
        AnyValueView::String([]) => return None,
        AnyValueView::String(bytes) => text(bytes),
        AnyValueView::Int(number) => number.to_string().into(),
        AnyValueView::Double(number) => number.to_string().into(),
        AnyValueView::Bool(flag) => if *flag { "true" } else { "false" }.into(),
        _ => return None,
    })
}

/// A text of bounded length.
pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}

/// A value as a number, if it is a finite one.
pub(super) fn number(value: &AnyValueView<'_>) -> Option<f64> {
    let number = match value {
        AnyValueView::Int(number) => *number as f64,
        AnyValueView::Double(number) => *number,
        AnyValueView::String(bytes) => std::str::from_utf8(bytes).ok()?.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// Whether a value says yes.
pub(super) fn is_true(value: &AnyValueView<'_>) -> bool {
    matches!(value, AnyValueView::Bool(true) | AnyValueView::String(b"true"))
}

/// Attributes that can be read; damaged ones end the list.
pub(super) fn readable<'a>(
    attributes: &Repeated<'a, KeyValueView<'a>>,
) -> impl Iterator<Item = (&'a [u8], AnyValueView<'a>)> {
    attributes.iter().map_while(Result::ok).map(|attribute| (attribute.key, attribute.value))
}

/// A moment that is known: 0 says that it is not.
pub(super) fn moment(nanos: u64) -> Option<u64> {
    (nanos > 0).then_some(nanos)
}

/// An id of 8 bytes, unless it is missing or all zeros.
pub(super) fn span_id(bytes: &[u8]) -> Option<[u8; 8]> {
    bytes.try_into().ok().filter(|id| *id != [0; 8])
}

/// An id of 16 bytes, unless it is missing or all zeros.
pub(super) fn trace_id(bytes: &[u8]) -> Option<[u8; 16]> {
    bytes.try_into().ok().filter(|id| *id != [0; 16])
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |four: u8| char::from(DIGITS[usize::from(four & 15)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once_and_cut_between_characters() {
        let mut texts = Texts::default();
        let (one, other) = (texts.keep("a"), texts.keep("a"));
        assert!(Arc::ptr_eq(&one, &other));
        let long = "ä".repeat(MAX_TEXT_BYTES);
        assert_eq!(texts.keep(&long).len(), MAX_TEXT_BYTES);
        assert_eq!(cut(&format!("x{long}")).len(), MAX_TEXT_BYTES - 1);
        assert_eq!(texts.value(&AnyValueView::String(b"")), None);
        assert_eq!(texts.value(&AnyValueView::Int(3)).as_deref(), Some("3"));
    }

    #[test]
    fn numbers_are_finite() {
        assert_eq!(number(&AnyValueView::Double(f64::INFINITY)), None);
        assert_eq!(number(&AnyValueView::String(b" 2.5 ")), Some(2.5));
        assert_eq!(number(&AnyValueView::String(b"NaN")), None);
        assert_eq!(number(&AnyValueView::Bool(true)), None);
        assert_eq!(hex(&[0, 0xab]), "00ab");
    }
}
