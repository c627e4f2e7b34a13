//! Values of attributes, as `AnyValue` messages: written, and with other text.

use std::borrow::Cow;

use kymo_wire::encode::Writer;
use kymo_wire::limits::MAX_NESTING;
use kymo_wire::{AnyValueView, View, WireError};

use super::attributes::change_each;

/// Text.
#[must_use]
pub fn text(text: &str) -> Vec<u8> {
    text_bytes(text.as_bytes())
}

/// Text that is known to be UTF-8.
pub(super) fn text_bytes(text: &[u8]) -> Vec<u8> {
    let mut writer = Writer::with_capacity(text.len() + 4);
    writer.bytes_field(1, text);
    writer.into_bytes()
}

/// True or false.
#[must_use]
pub fn boolean(value: bool) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.varint_field(2, u64::from(value));
    writer.into_bytes()
}

/// A whole number.
#[must_use]
pub fn integer(value: i64) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.varint_field(3, value as u64);
    writer.into_bytes()
}

/// A floating-point number.
#[must_use]
pub fn double(value: f64) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.double_field(4, value);
    writer.into_bytes()
}

/// A list of texts.
#[must_use]
pub fn texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.message(5, |writer| {
        for one in texts {
            writer.bytes_field(1, &text(one));
        }
    });
    writer.into_bytes()
}

/// A value with its text changed, wherever it is: in lists and maps too. Keys of maps stay. Nothing
/// if `change` gives all of it back as it is.
///
/// # Errors
///
/// The value is not well-formed.
pub fn change_text(
    raw: &[u8],
    change: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<Option<Vec<u8>>, WireError> {
    change_text_within(raw, change, MAX_NESTING)
}

fn change_text_within(
    raw: &[u8],
    change: &mut dyn FnMut(&str) -> Option<String>,
    levels_left: u32,
) -> Result<Option<Vec<u8>>, WireError> {
    // What is nested deeper was refused at admission.
    let Some(levels_left) = levels_left.checked_sub(1) else { return Ok(None) };
    match AnyValueView::parse(raw)? {
        AnyValueView::String(bytes) => {
            let before = kymo_wire::text(bytes);
            Ok(change(&before).map(|after| text(&after)))
        }
        AnyValueView::Array(_) => change_each(raw, 5, |list| {
            change_each(list, 1, |member| change_text_within(member, change, levels_left))
        }),
        AnyValueView::KvList(_) => change_each(raw, 6, |map| {
            change_each(map, 1, |entry| {
                change_each(entry, 2, |value| change_text_within(value, change, levels_left))
            })
        }),
        _ => Ok(None),
    }
}

/// A value as bytes that say what it is: text as it is, numbers and booleans as they are written,
/// bytes as they are, lists and maps in their encoding.
#[must_use]
pub fn plain_bytes<'a>(raw: &'a [u8], value: AnyValueView<'a>) -> Cow<'a, [u8]> {
    match value {
        AnyValueView::String(bytes) | AnyValueView::Bytes(bytes) => Cow::Borrowed(bytes),
        AnyValueView::Bool(value) => Cow::Owned(value.to_string().into_bytes()),
        AnyValueView::Int(value) => Cow::Owned(value.to_string().into_bytes()),
        AnyValueView::Double(value) => Cow::Owned(value.to_string().into_bytes()),
        AnyValueView::Empty
        | AnyValueView::Array(_)
        | AnyValueView::KvList(_)
        | AnyValueView::StringIndex(_) => Cow::Borrowed(raw),
    }
}
