//! What catalogues list, over many sources: keys, and the values of one key.
//!
//! A catalogue is walked where it lies; values that are not asked for are passed over.

use std::collections::{BTreeMap, BTreeSet};

use kymo_wire::{Reader, WireError};

use super::catalogue::{self, Scope};
use super::source::Source;
use crate::chunk::Chunk;
use crate::error::StoreError;
use crate::scan::is_damage;
use crate::schema::ValueType;

/// Keys by the scope that they belong to.
pub type Keys = BTreeSet<(Scope, String)>;

/// Values of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed {
    /// Distinct values as text, by type.
    pub values: BTreeMap<ValueType, BTreeSet<String>>,
    /// Whether there are others, which have to be looked for in rows.
    pub has_more: bool,
}

/// Tags of the fields of an entry: see [`super::catalogue`].
const SCOPE: u32 = 1 << 3;
const KEY: u32 = 2 << 3 | 2;
const VALUE_TYPE: u32 = 3 << 3;
const COMPLETE: u32 = 5 << 3;
const VALUE: u32 = 6 << 3 | 2;
/// Tags of the fields of a catalogue.
const ENTRY: u32 = 1 << 3 | 2;
const KEYS_LEFT_OUT: u32 = 2 << 3;

/// An entry, without its values.
struct Entry<'c> {
    scope: u32,
    key: &'c [u8],
    value_type: u32,
    is_complete: bool,
    message: Reader<'c>,
}

impl<'c> Entry<'c> {
    fn read(message: Reader<'c>) -> Result<Self, WireError> {
        let mut entry = Self { scope: 0, key: &[], value_type: 0, is_complete: false, message };
        let mut reader = message;
        while let Some(tag) = reader.tag()? {
            match tag {
                SCOPE => entry.scope = reader.varint()? as u32,
                KEY => entry.key = reader.bytes()?,
                VALUE_TYPE => entry.value_type = reader.varint()? as u32,
                COMPLETE => entry.is_complete = reader.varint()? != 0,
                // Values are the last field.
                VALUE => break,
                other => reader.skip(other)?,
            }
        }
        Ok(entry)
    }

    fn each_value(&self, mut each: impl FnMut(&'c [u8])) -> Result<(), WireError> {
        let mut reader = self.message;
        while let Some(tag) = reader.tag()? {
            match tag {
                VALUE => each(reader.bytes()?),
                other => reader.skip(other)?,
            }
        }
        Ok(())
    }
}

/// Calls `each` with every entry; whether there are keys that have none.
fn walk<'c>(
    catalogue: &'c [u8],
    mut each: impl FnMut(Entry<'c>) -> Result<(), WireError>,
) -> Result<bool, WireError> {
    let mut has_more = false;
    let mut reader = Reader::new(catalogue);
    while let Some(tag) = reader.tag()? {
        match tag {
            ENTRY => each(Entry::read(reader.message()?)?)?,
            KEYS_LEFT_OUT => has_more = reader.varint()? != 0,
            other => reader.skip(other)?,
        }
    }
    Ok(has_more)
}

/// The encoded catalogue of a source; `None` in place of damage, which is told.
fn catalogue_of(source: &Source) -> Result<Option<bytes::Bytes>, StoreError> {
    match source {
        Source::Chunk(chunk) => Ok(Some(of_chunk(chunk))),
        Source::Block(block) => match block.encoded_catalogue() {
            Ok(catalogue) => Ok(Some(catalogue)),
            Err(error) if is_damage(&error) => {
                tell_damage(source, &error);
                Ok(None)
            }
            Err(error) => Err(error),
        },
    }
}

/// The catalogue of rows in memory, made once.
fn of_chunk(chunk: &Chunk) -> bytes::Bytes {
    chunk.findings.catalogue.get_or_init(|| catalogue::of_chunk(chunk).into()).clone()
}

/// Damage is told, and the rest is answered.
fn tell_damage(source: &Source, error: &dyn std::fmt::Display) {
    if let Source::Block(block) = source {
        tracing::warn!(path = block.path(), %error, "a damaged catalogue is left out");
    }
}

/// All keys that the sources have, as far as catalogues list them.
pub fn keys(sources: &[Source]) -> Result<Keys, StoreError> {
    let mut keys = Keys::new();
    for source in sources {
        let Some(catalogue) = catalogue_of(source)? else { continue };
        let mut last: Option<(Scope, &[u8])> = None;
        let walked = walk(&catalogue, |entry| {
            if let Some(scope) = Scope::from_number(entry.scope)
                && last.replace((scope, entry.key)) != Some((scope, entry.key))
            {
                keys.insert((scope, String::from_utf8_lossy(entry.key).into_owned()));
            }
            Ok(())
        });
        if let Err(error) = walked {
            tell_damage(source, &error);
        }
    }
    Ok(keys)
}

/// The values that the sources have of a key, as far as catalogues list them.
pub fn values(sources: &[Source], scope: Scope, key: &str) -> Result<Listed, StoreError> {
    let mut listed = Listed::default();
    for source in sources {
        let Some(catalogue) = catalogue_of(source)? else { continue };
        let walked = walk(&catalogue, |entry| {
            if entry.key != key.as_bytes() || entry.scope != scope as u32 {
                return Ok(());
            }
            let Some(value_type) = ValueType::from_number(entry.value_type) else { return Ok(()) };
            listed.has_more |= !entry.is_complete;
            let values = listed.values.entry(value_type).or_default();
            entry.each_value(|value| {
                let value = String::from_utf8_lossy(value);
                if !values.contains(&*value) {
                    values.insert(value.into_owned());
                }
            })
        });
        match walked {
            Ok(has_more) => listed.has_more |= has_more,
            Err(error) => tell_damage(source, &error),
        }
    }
    Ok(listed)
}
