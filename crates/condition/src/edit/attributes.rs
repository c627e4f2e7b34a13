//! The attributes of one message, changed.
//!
//! Keys may be there several times, though OTLP forbids it: everything here acts on all of them.

use std::borrow::Cow;

use kymo_wire::encode::Writer;
use kymo_wire::{AnyValueView, KeyValueView, Reader, View, WireError};

use super::{field, value};
use crate::limits::USUAL_ATTRIBUTES;
use crate::value::usual_key;

/// Wire type of a length followed by so many bytes.
const LEN: u32 = 2;

/// The attributes of a message.
#[derive(Debug, Clone, Default)]
pub struct Attributes<'a> {
    entries: Vec<Entry<'a>>,
    is_changed: bool,
}

#[derive(Debug, Clone)]
struct Entry<'a> {
    key: Cow<'a, [u8]>,
    /// The `KeyValue` message.
    raw: Cow<'a, [u8]>,
    is_gone: bool,
}

impl<'a> Attributes<'a> {
    /// None.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Those in field `number` of a message.
    ///
    /// # Errors
    ///
    /// The message is not well-formed.
    pub fn read(message: &'a [u8], number: u32) -> Result<Self, WireError> {
        let mut entries = Vec::with_capacity(USUAL_ATTRIBUTES);
        each_field(message, |found, content, _| {
            if found == number {
                let key = match usual_key(content) {
                    Some(key) => key,
                    None => KeyValueView::parse(content)?.key,
                };
                let (key, raw) = (Cow::Borrowed(key), Cow::Borrowed(content));
                entries.push(Entry { key, raw, is_gone: false });
            }
            Ok(())
        })?;
        Ok(Self { entries, is_changed: false })
    }

    /// Those with these keys and texts, as labels are.
    #[must_use]
    pub fn of_texts<'t>(texts: impl IntoIterator<Item = (&'t [u8], &'t [u8])>) -> Self {
        let mut attributes = Self::new();
        for (key, text) in texts {
            attributes.push(key, &value::text_bytes(text));
        }
        attributes.is_changed = false;
        attributes
    }

    /// Whether something was changed.
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// Whether there is one with this key.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.entries.iter().any(|entry| !entry.is_gone && *entry.key == *key)
    }

    /// Keys and values, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], AnyValueView<'_>)> {
        self.entries.iter().filter(|entry| !entry.is_gone).map(|entry| {
            let value = KeyValueView::parse(&entry.raw).map(|view| view.value);
            (&*entry.key, value.unwrap_or_default())
        })
    }

    /// Appends one. `value` is an `AnyValue` message.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        let mut writer = Writer::with_capacity(key.len() + value.len() + 4);
        writer.bytes_field(field::KEY, key);
        writer.bytes_field(field::VALUE, value);
        let (key, raw) = (Cow::Owned(key.to_vec()), Cow::Owned(writer.into_bytes()));
        self.entries.push(Entry { key, raw, is_gone: false });
        self.is_changed = true;
    }

    /// Removes those whose keys are wanted.
    pub fn remove(&mut self, is_wanted: impl Fn(&[u8]) -> bool) {
        for entry in &mut self.entries {
            if !entry.is_gone && is_wanted(&entry.key) {
                entry.is_gone = true;
                self.is_changed = true;
            }
        }
    }

    /// Gives another key to those with the key `from`. What had the key `to` before is removed, if
    /// there is something to take its place.
    ///
    /// # Errors
    ///
    /// An attribute is not well-formed.
    pub fn rename(&mut self, from: &[u8], to: &[u8]) -> Result<(), WireError> {
        if from == to || !self.contains(from) {
            return Ok(());
        }
        self.remove(|key| key == to);
        for entry in &mut self.entries {
            if !entry.is_gone && *entry.key == *from {
                entry.raw = Cow::Owned(with_field(&entry.raw, field::KEY, to)?);
                entry.key = Cow::Owned(to.to_vec());
                self.is_changed = true;
            }
        }
        Ok(())
    }

    /// Gives other values to those whose keys are wanted: `value` is shown the `AnyValue` message and
    /// says what takes its place, if anything does.
    ///
    /// # Errors
    ///
    /// An attribute is not well-formed.
    pub fn replace(
        &mut self,
        is_wanted: impl Fn(&[u8]) -> bool,
        mut value: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>, WireError>,
    ) -> Result<(), WireError> {
        for entry in &mut self.entries {
            if entry.is_gone || !is_wanted(&entry.key) {
                continue;
            }
            let before = KeyValueView::parse(&entry.raw)?.value_raw;
            if let Some(after) = value(before)?
                && after != before
            {
                entry.raw = Cow::Owned(with_field(&entry.raw, field::VALUE, &after)?);
                self.is_changed = true;
            }
        }
        Ok(())
    }

    /// The message that they were read from, with them as they are now: each in its place, and new
    /// ones at the end.
    ///
    /// # Errors
    ///
    /// The message is not well-formed.
    pub fn write(&self, message: &[u8], number: u32) -> Result<Vec<u8>, WireError> {
        let is_new = |entry: &&Entry<'_>| matches!(entry.raw, Cow::Owned(_));
        let new = self.entries.iter().filter(is_new);
        let new_bytes: usize = new.map(|entry| entry.raw.len() + 4).sum();
        let mut out = Writer::with_capacity(message.len() + new_bytes);
        let mut entries = self.entries.iter();
        let put = |entry: &Entry<'_>, out: &mut Writer| {
            if !entry.is_gone {
                out.bytes_field(number, &entry.raw);
            }
        };
        each_field(message, |found, _, whole| {
            match (found == number).then(|| entries.next()).flatten() {
                Some(entry) => put(entry, &mut out),
                None => out.raw(whole),
            }
            Ok(())
        })?;
        entries.for_each(|entry| put(entry, &mut out));
        Ok(out.into_bytes())
    }
}

/// Changes the attributes in field `number` of a message. Nothing if they stay as they are.
///
/// # Errors
///
/// The message is not well-formed.
pub fn change_attributes(
    message: &[u8],
    number: u32,
    change: impl FnOnce(&mut Attributes<'_>) -> Result<(), WireError>,
) -> Result<Option<Vec<u8>>, WireError> {
    let mut attributes = Attributes::read(message, number)?;
    change(&mut attributes)?;
    if !attributes.is_changed() {
        return Ok(None);
    }
    attributes.write(message, number).map(Some)
}

/// Changes every sub-message in field `number` of a message. Nothing if all stay as they are.
///
/// # Errors
///
/// The message is not well-formed.
pub fn change_each(
    message: &[u8],
    number: u32,
    mut change: impl FnMut(&[u8]) -> Result<Option<Vec<u8>>, WireError>,
) -> Result<Option<Vec<u8>>, WireError> {
    let mut out: Option<Writer> = None;
    let mut copied = 0;
    each_field(message, |found, content, whole| {
        let changed = if found == number { change(content)? } else { None };
        match (changed, &mut out) {
            (Some(changed), out) => {
                let out = out.get_or_insert_with(|| {
                    let mut writer = Writer::with_capacity(message.len() + changed.len());
                    writer.raw(message.get(..copied).unwrap_or_default());
                    writer
                });
                out.bytes_field(found, &changed);
            }
            (None, Some(out)) => out.raw(whole),
            (None, None) => {}
        }
        copied += whole.len();
        Ok(())
    })?;
    Ok(out.map(Writer::into_bytes))
}

/// A message without any field of a number.
fn without_field(message: &[u8], number: u32) -> Result<Vec<u8>, WireError> {
    let mut out = Writer::with_capacity(message.len());
    each_field(message, |found, _, whole| {
        if found != number {
            out.raw(whole);
        }
        Ok(())
    })?;
    Ok(out.into_bytes())
}

/// A message with one field of a number, whatever it had of it before.
fn with_field(message: &[u8], number: u32, content: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut out = Writer::with_capacity(message.len() + content.len());
    // Keys stand before values, and readers are fastest where it is so.
    if number == field::KEY {
        out.bytes_field(number, content);
    }
    out.raw(&without_field(message, number)?);
    if number != field::KEY {
        out.bytes_field(number, content);
    }
    Ok(out.into_bytes())
}

/// Shows each field of a message: its number and its content, if that is bytes (else 0 and nothing),
/// and the whole of it.
///
/// # Errors
///
/// The message is not well-formed, or `show` says so.
pub fn each_field<'a>(
    message: &'a [u8],
    mut show: impl FnMut(u32, &'a [u8], &'a [u8]) -> Result<(), WireError>,
) -> Result<(), WireError> {
    let mut reader = Reader::new(message);
    loop {
        let before = reader.rest();
        let Some(tag) = reader.tag()? else { return Ok(()) };
        let content = match tag & 7 {
            LEN => reader.bytes()?,
            _ => {
                reader.skip(tag)?;
                // No field that is looked for has another wire type: admission refuses that.
                let whole = before.get(..before.len() - reader.rest().len()).unwrap_or_default();
                show(0, &[], whole)?;
                continue;
            }
        };
        let whole = before.get(..before.len() - reader.rest().len()).unwrap_or_default();
        show(tag >> 3, content, whole)?;
    }
}
