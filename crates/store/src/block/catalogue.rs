//! The catalogue: which attributes a block has, of which types, how often, and
//! their values as far as they are few.

use hashbrown::HashMap;
use kymo_wire::{AnyValueView, KeyValueView, kvlist_entries};
use prost::Message;
use serde::{Deserialize, Serialize};

use crate::limits::{CATALOGUE_MAX_BYTES, CATALOGUE_MAX_KEYS, CATALOGUE_MAX_VALUES};
use crate::schema::ValueType;

/// To whom an attribute belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum Scope {
    /// The row itself: span, log record or series.
    Own = 0,
    /// The resource.
    Resource = 1,
    /// The instrumentation scope.
    Scope = 2,
    /// A fixed column, such as the name.
    Field = 3,
    /// An event of a span.
    Event = 4,
    /// A link of a span.
    Link = 5,
}

impl Scope {
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        [Self::Own, Self::Resource, Self::Scope, Self::Field, Self::Event, Self::Link]
            .into_iter()
            .find(|s| *s as u32 == number)
    }
}

#[derive(Clone, PartialEq, Message)]
struct WireEntry {
    #[prost(uint32, tag = "1")]
    scope: u32,
    #[prost(bytes = "vec", tag = "2")]
    key: Vec<u8>,
    #[prost(uint32, tag = "3")]
    value_type: u32,
    #[prost(uint64, tag = "4")]
    count: u64,
    #[prost(bool, tag = "5")]
    complete: bool,
    #[prost(bytes = "vec", repeated, tag = "6")]
    values: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct WireCatalogue {
    #[prost(message, repeated, tag = "1")]
    entries: Vec<WireEntry>,
    #[prost(bool, tag = "2")]
    keys_left_out: bool,
}

/// One attribute of one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// To whom it belongs.
    pub scope: Scope,
    /// Its key.
    pub key: Vec<u8>,
    /// Its type.
    pub value_type: ValueType,
    /// Rows that have it; for resource and scope, origins that have it.
    pub count: u64,
    /// Whether `values` are all there are.
    pub complete: bool,
    /// Distinct values as text, sorted.
    pub values: Vec<Vec<u8>>,
}

/// A block's catalogue.
#[derive(Debug, Clone, Default)]
pub struct Catalogue {
    /// Sorted by scope, key and type.
    pub entries: Vec<Entry>,
    /// Whether there were more keys than are listed.
    pub keys_left_out: bool,
}

#[derive(Debug, Default)]
struct Growing {
    count: u64,
    incomplete: bool,
    bytes: usize,
    values: hashbrown::HashSet<Vec<u8>>,
}

/// Grows a [`Catalogue`].
#[derive(Debug, Default)]
pub struct CatalogueBuilder {
    entries: HashMap<(Scope, Vec<u8>, ValueType), Growing>,
    keys_left_out: bool,
}

impl CatalogueBuilder {
    fn entry(&mut self, scope: Scope, key: &[u8], value_type: ValueType) -> Option<&mut Growing> {
        let full = self.entries.len() >= CATALOGUE_MAX_KEYS;
        let entry = self.entries.entry((scope, key.to_vec(), value_type));
        match entry {
            hashbrown::hash_map::Entry::Vacant(_) if full => {
                self.keys_left_out = true;
                None
            }
            entry => Some(entry.or_default()),
        }
    }

    /// Counts rows that have an attribute.
    pub fn count(&mut self, scope: Scope, key: &[u8], value_type: ValueType, rows: u64) {
        if let Some(entry) = self.entry(scope, key, value_type) {
            entry.count += rows;
        }
    }

    /// Adds a value as text.
    pub fn value(&mut self, scope: Scope, key: &[u8], value_type: ValueType, value: &[u8]) {
        let Some(entry) = self.entry(scope, key, value_type) else { return };
        if entry.incomplete || entry.values.contains(value) {
            return;
        }
        if entry.values.len() >= CATALOGUE_MAX_VALUES
            || entry.bytes + value.len() > CATALOGUE_MAX_BYTES
        {
            entry.incomplete = true;
            return;
        }
        entry.bytes += value.len();
        entry.values.insert(value.to_vec());
    }

    /// Says that not all values were added.
    pub fn incomplete(&mut self, scope: Scope, key: &[u8], value_type: ValueType) {
        if let Some(entry) = self.entry(scope, key, value_type) {
            entry.incomplete = true;
        }
    }

    /// Counts and adds an attribute as it was sent.
    pub fn attribute(&mut self, scope: Scope, attribute: &KeyValueView<'_>) {
        let key = attribute.key;
        let (value_type, text) = match attribute.value {
            AnyValueView::String(value) => (ValueType::String, value.to_vec()),
            AnyValueView::Bool(value) => (ValueType::Bool, value.to_string().into_bytes()),
            AnyValueView::Int(value) => (ValueType::Int, value.to_string().into_bytes()),
            AnyValueView::Double(value) => (ValueType::Double, value.to_string().into_bytes()),
            AnyValueView::Empty => return,
            _ => {
                self.count(scope, key, ValueType::Any, 1);
                return self.incomplete(scope, key, ValueType::Any);
            }
        };
        self.count(scope, key, value_type, 1);
        self.value(scope, key, value_type, &text);
    }

    /// The encoded catalogue.
    pub fn finish(self) -> Vec<u8> {
        let mut entries: Vec<_> = self.entries.into_iter().collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let entries = entries.into_iter().map(|((scope, key, value_type), growing)| {
            let mut values: Vec<Vec<u8>> = growing.values.into_iter().collect();
            values.sort();
            WireEntry {
                scope: scope as u32,
                key,
                value_type: value_type as u32,
                count: growing.count,
                complete: !growing.incomplete,
                values,
            }
        });
        WireCatalogue { entries: entries.collect(), keys_left_out: self.keys_left_out }
            .encode_to_vec()
    }
}

impl Catalogue {
    /// From the encoded form; `None` if it is none.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let wire = WireCatalogue::decode(bytes).ok()?;
        let entries = wire.entries.into_iter().filter_map(|e| {
            Some(Entry {
                scope: Scope::from_number(e.scope)?,
                key: e.key,
                value_type: ValueType::from_number(e.value_type)?,
                count: e.count,
                complete: e.complete,
                values: e.values,
            })
        });
        Some(Self { entries: entries.collect(), keys_left_out: wire.keys_left_out })
    }
}

/// The encoded catalogue of rows in memory.
pub(crate) fn of_chunk(chunk: &crate::chunk::Chunk) -> Vec<u8> {
    use crate::column::Values;
    use crate::origin::Origin;
    let mut builder = CatalogueBuilder::default();
    for encoded in chunk.origins.iter() {
        let origin = Origin::decode(encoded);
        for attribute in origin.resource_attributes().iter().flat_map(|a| a.iter()).flatten() {
            builder.attribute(Scope::Resource, &attribute);
        }
        for attribute in origin.scope_view().iter().flat_map(|s| s.attributes.iter()).flatten() {
            builder.attribute(Scope::Scope, &attribute);
        }
    }
    for (key, column) in &chunk.attributes {
        let value_type = key.value_type;
        builder.count(Scope::Own, &key.key, value_type, column.values.len() as u64);
        let mut add = |text: &[u8]| builder.value(Scope::Own, &key.key, value_type, text);
        match &column.values {
            Values::Bytes(_, dict) if value_type == ValueType::String => dict.iter().for_each(add),
            Values::Int(values) => values.iter().for_each(|v| add(v.to_string().as_bytes())),
            Values::Bool(values) => values.iter().for_each(|v| add(v.to_string().as_bytes())),
            _ => builder.incomplete(Scope::Own, &key.key, value_type),
        }
    }
    for (field, column) in chunk.table.fields.iter().zip(&chunk.fields) {
        if let Some(Values::Bytes(_, dict)) = column.as_ref().map(|c| &c.values)
            && field.kind == crate::schema::Kind::Text
        {
            for value in dict.iter() {
                builder.value(Scope::Field, field.name.as_bytes(), ValueType::String, value);
            }
        }
    }
    for (described, list) in chunk.table.lists.iter().zip(&chunk.lists) {
        let scope = if described.name == "links" { Scope::Link } else { Scope::Event };
        for (member, column) in described.members.iter().zip(&list.members) {
            let Values::Bytes(_, dict) = &column.values else { continue };
            match member.name {
                "name" => {
                    let key = format!("{}.{}", described.name, member.name);
                    for value in dict.iter() {
                        builder.value(Scope::Field, key.as_bytes(), ValueType::String, value);
                    }
                }
                "attributes" => {
                    for attribute in dict.iter().flat_map(|list| kvlist_entries(list).flatten()) {
                        builder.attribute(scope, &attribute);
                    }
                }
                _ => {}
            }
        }
    }
    builder.finish()
}
