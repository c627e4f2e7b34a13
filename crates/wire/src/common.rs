//! What all signals share: attributes, resources, scopes.
//!
//! Text is handed out as bytes. Whether it is UTF-8 was settled at admission (see
//! [`inspect`](crate::inspect)); [`text`] is there for those who read bytes that were not.

use std::borrow::Cow;

use crate::proto::{Reader, WireError, WireErrorKind};
use crate::repeated::{Elements, Repeated, View};
use crate::tags::{any_value, entity_ref, key_value, list, resource, scope};

/// The bytes as text, with U+FFFD in place of what is not UTF-8.
#[must_use]
pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The value of an attribute or the body of a log record.
///
/// Arrays and key-value lists stay bytes until asked: see [`array_values`] and
/// [`kvlist_entries`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum AnyValueView<'a> {
    /// No value was given.
    #[default]
    Empty,
    /// Text, as bytes.
    String(&'a [u8]),
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// The bytes of an `ArrayValue`.
    Array(&'a [u8]),
    /// The bytes of a `KeyValueList`.
    KvList(&'a [u8]),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A place in a string table. Only profiles have such a table; elsewhere it means nothing.
    StringIndex(i32),
}

impl<'a> View<'a> for AnyValueView<'a> {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(raw);
        let mut value = Self::Empty;
        while let Some(tag) = reader.tag()? {
            value = match tag {
                any_value::STRING => Self::String(reader.bytes()?),
                any_value::BOOL => Self::Bool(reader.varint()? != 0),
                any_value::INT => Self::Int(reader.varint()? as i64),
                any_value::DOUBLE => Self::Double(reader.double()?),
                any_value::ARRAY if !matches!(value, Self::Array(_)) => {
                    Self::Array(reader.bytes()?)
                }
                any_value::KVLIST if !matches!(value, Self::KvList(_)) => {
                    Self::KvList(reader.bytes()?)
                }
                any_value::ARRAY | any_value::KVLIST => {
                    return Err(reader.error(WireErrorKind::Duplicate(tag >> 3)));
                }
                any_value::BYTES => Self::Bytes(reader.bytes()?),
                any_value::STRING_STRINDEX => Self::StringIndex(reader.varint()? as i32),
                _ => {
                    reader.skip_other(tag, any_value::KNOWN)?;
                    value
                }
            };
        }
        Ok(value)
    }
}

/// The values of an array, given the bytes in [`AnyValueView::Array`].
#[inline]
#[must_use]
pub fn array_values(raw: &[u8]) -> Elements<'_, AnyValueView<'_>> {
    Elements::uncounted(raw, list::VALUES)
}

/// The entries of a key-value list, given the bytes in [`AnyValueView::KvList`].
#[inline]
#[must_use]
pub fn kvlist_entries(raw: &[u8]) -> Elements<'_, KeyValueView<'_>> {
    Elements::uncounted(raw, list::VALUES)
}

/// An attribute.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KeyValueView<'a> {
    /// The whole `KeyValue` message.
    pub raw: &'a [u8],
    /// The name of the attribute.
    pub key: &'a [u8],
    /// A place in a string table; only profiles have one.
    pub key_strindex: i32,
    /// The value; [`AnyValueView::Empty`] also when the field was absent.
    pub value: AnyValueView<'a>,
    /// The `AnyValue` message that `value` was read from.
    pub value_raw: &'a [u8],
}

impl<'a> KeyValueView<'a> {
    /// Key and value of the form nearly all senders write: key, then value, each shorter than 128
    /// bytes, and nothing else.
    #[inline]
    fn usual_parts(raw: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let [KEY_BYTE, key_length @ ..0x80, rest @ ..] = raw else { return None };
        let (key, rest) = rest.split_at_checked(usize::from(*key_length))?;
        let [VALUE_BYTE, value_length @ ..0x80, value_raw @ ..] = rest else { return None };
        (value_raw.len() == usize::from(*value_length)).then_some((key, value_raw))
    }

    /// The key of an attribute that has the form nearly all senders write, for those who look for some
    /// and step over most: the value is not read. Of another nothing is known until it is parsed.
    #[inline]
    #[must_use]
    pub fn usual_key(raw: &'a [u8]) -> Option<&'a [u8]> {
        Self::usual_parts(raw).map(|(key, _)| key)
    }

    #[inline]
    fn parse_usual(raw: &'a [u8]) -> Option<Self> {
        let (key, value_raw) = Self::usual_parts(raw)?;
        let value = match value_raw {
            [STRING_BYTE, text_length @ ..0x80, text @ ..]
                if text.len() == usize::from(*text_length) =>
            {
                AnyValueView::String(text)
            }
            _ => AnyValueView::parse(value_raw).ok()?,
        };
        Some(Self { raw, key, key_strindex: 0, value, value_raw })
    }
}

// Tags of fields below 16 are one byte.
const KEY_BYTE: u8 = key_value::KEY as u8;
const VALUE_BYTE: u8 = key_value::VALUE as u8;
const STRING_BYTE: u8 = any_value::STRING as u8;

impl<'a> View<'a> for KeyValueView<'a> {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        if let Some(view) = Self::parse_usual(raw) {
            return Ok(view);
        }
        let mut view = Self { raw, ..Self::default() };
        let mut reader = Reader::new(raw);
        let mut value_seen = false;
        while let Some(tag) = reader.tag()? {
            match tag {
                key_value::KEY => view.key = reader.bytes()?,
                key_value::VALUE => {
                    once(&mut value_seen, &reader, tag)?;
                    view.value_raw = reader.bytes()?;
                    view.value = AnyValueView::parse(view.value_raw)?;
                }
                key_value::KEY_STRINDEX => view.key_strindex = reader.varint()? as i32,
                _ => reader.skip_other(tag, key_value::KNOWN)?,
            }
        }
        Ok(view)
    }
}

/// Refuses the second occurrence of a sub-message that may occur once.
#[inline]
pub(crate) fn once(seen: &mut bool, reader: &Reader<'_>, tag: u32) -> Result<(), WireError> {
    if std::mem::replace(seen, true) {
        return Err(reader.error(WireErrorKind::Duplicate(tag >> 3)));
    }
    Ok(())
}

/// Reads a sub-message that may occur once into `slot`.
#[inline]
pub(crate) fn read_once<'a, T: View<'a>>(
    slot: &mut Option<T>,
    reader: &mut Reader<'a>,
    tag: u32,
) -> Result<(), WireError> {
    if slot.is_some() {
        return Err(reader.error(WireErrorKind::Duplicate(tag >> 3)));
    }
    *slot = Some(T::parse(reader.bytes()?)?);
    Ok(())
}

/// What produced the telemetry: a process, a pod, a host.
#[derive(Debug, Clone, Copy)]
pub struct ResourceView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// What is known about the resource.
    pub attributes: Repeated<'a, KeyValueView<'a>>,
    /// How many attributes the sender left out.
    pub dropped_attributes_count: u32,
    /// Which attributes identify which entity.
    pub entity_refs: Repeated<'a, EntityRefView<'a>>,
}

impl<'a> View<'a> for ResourceView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            attributes: Repeated::new(),
            dropped_attributes_count: 0,
            entity_refs: Repeated::new(),
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                resource::ATTRIBUTES => view.attributes.push(tail, tag, &mut reader)?,
                resource::DROPPED_ATTRIBUTES_COUNT => {
                    view.dropped_attributes_count = reader.varint()? as u32;
                }
                resource::ENTITY_REFS => view.entity_refs.push(tail, tag, &mut reader)?,
                _ => reader.skip_other(tag, resource::KNOWN)?,
            }
        }
    }
}

/// An entity that is described by some attributes of its resource.
#[derive(Debug, Clone, Copy)]
pub struct EntityRefView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// Schema of the entity.
    pub schema_url: &'a [u8],
    /// Type of the entity, for example `host`.
    pub kind: &'a [u8],
    /// Keys of the attributes that identify it.
    pub id_keys: Repeated<'a, &'a [u8]>,
    /// Keys of the attributes that describe it.
    pub description_keys: Repeated<'a, &'a [u8]>,
}

impl<'a> View<'a> for EntityRefView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            schema_url: &[],
            kind: &[],
            id_keys: Repeated::new(),
            description_keys: Repeated::new(),
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                entity_ref::SCHEMA_URL => view.schema_url = reader.bytes()?,
                entity_ref::TYPE => view.kind = reader.bytes()?,
                entity_ref::ID_KEYS => view.id_keys.push(tail, tag, &mut reader)?,
                entity_ref::DESCRIPTION_KEYS => {
                    view.description_keys.push(tail, tag, &mut reader)?;
                }
                _ => reader.skip_other(tag, entity_ref::KNOWN)?,
            }
        }
    }
}

/// The library that recorded the telemetry.
#[derive(Debug, Clone, Copy)]
pub struct ScopeView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// Name of the library.
    pub name: &'a [u8],
    /// Version of the library.
    pub version: &'a [u8],
    /// What else is known about it.
    pub attributes: Repeated<'a, KeyValueView<'a>>,
    /// How many attributes the sender left out.
    pub dropped_attributes_count: u32,
}

impl<'a> View<'a> for ScopeView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            name: &[],
            version: &[],
            attributes: Repeated::new(),
            dropped_attributes_count: 0,
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                scope::NAME => view.name = reader.bytes()?,
                scope::VERSION => view.version = reader.bytes()?,
                scope::ATTRIBUTES => view.attributes.push(tail, tag, &mut reader)?,
                scope::DROPPED_ATTRIBUTES_COUNT => {
                    view.dropped_attributes_count = reader.varint()? as u32;
                }
                _ => reader.skip_other(tag, scope::KNOWN)?,
            }
        }
    }
}
