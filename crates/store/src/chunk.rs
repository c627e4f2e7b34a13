//! Rows in memory: a chunk is a set of columns with its own dictionaries,
//! origins and shapes; a builder grows one row by row.
//!
//! A row is begun by [`ChunkBuilder::begin_row`] and its fields are pushed in any
//! order, each at most once. Attributes go to a column for each key and type; a
//! key that repeats within a row, values that are empty, and keys beyond
//! [`limits::CHUNK_MAX_ATTRIBUTES`](crate::limits) go to the field `rest` as
//! they came.

use hashbrown::{DefaultHashBuilder, HashTable};
use kymo_wire::{AnyValueView, KeyValueView};
use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use crate::column::{BytesBuilder, Column, Dict, Interner, Lists, Rows, Values};
use crate::limits::CHUNK_MAX_ATTRIBUTES;
use crate::scan::{ChunkTraces, RestKeys};
use crate::schema::{AttributeKey, Field, Kind, Table, ValueType};

/// In a shape: the attribute is the next one in `rest`.
pub const REST: u32 = u32::MAX;

/// Immutable rows.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// The table they belong to.
    pub table: &'static Table,
    /// How many.
    pub rows: usize,
    /// The fixed columns; `None` where no row has a value.
    pub fields: Vec<Option<Column>>,
    /// The list columns.
    pub lists: Vec<Lists>,
    /// The attribute columns.
    pub attributes: Vec<(AttributeKey, Column)>,
    /// Encoded origins, see [`crate::origin`].
    pub origins: Dict,
    /// Encoded shapes: numbers of attributes in little-endian 32 bits.
    pub shapes: Dict,
    pub(crate) findings: Findings,
}

/// What queries found out about a chunk, kept with it for the next one: a chunk
/// is looked at by many.
#[derive(Debug, Clone, Default)]
pub(crate) struct Findings {
    pub(crate) rest_keys: OnceLock<Arc<RestKeys>>,
    pub(crate) traces: OnceLock<Arc<ChunkTraces>>,
    pub(crate) catalogue: OnceLock<bytes::Bytes>,
}

/// The attributes that a shape names.
pub fn shape_slots(shape: &[u8]) -> impl Iterator<Item = u32> + '_ {
    shape.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

#[derive(Debug, Clone)]
struct Growing {
    rows: Vec<u32>,
    values: GrowingValues,
}

#[derive(Debug, Clone)]
enum GrowingValues {
    Int(Vec<i64>),
    Double(Vec<f64>),
    Bool(Vec<bool>),
    Id8(Vec<[u8; 8]>),
    Id16(Vec<[u8; 16]>),
    Bytes(BytesBuilder),
}

impl Growing {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Time | Kind::Int => GrowingValues::Int(Vec::new()),
            Kind::Double => GrowingValues::Double(Vec::new()),
            Kind::Bool => GrowingValues::Bool(Vec::new()),
            Kind::Id8 => GrowingValues::Id8(Vec::new()),
            Kind::Id16 => GrowingValues::Id16(Vec::new()),
            Kind::Text | Kind::Binary => GrowingValues::Bytes(BytesBuilder::default()),
        };
        Self { rows: Vec::new(), values }
    }

    /// Keeps the values of the rows before `rows`.
    fn truncate(&mut self, rows: u32) {
        // Without row numbers, every row has a value.
        let is_sparse = !self.rows.is_empty();
        self.rows.truncate(self.rows.partition_point(|row| *row < rows));
        let count = if is_sparse { self.rows.len() } else { rows as usize };
        match &mut self.values {
            GrowingValues::Int(values) => values.truncate(count),
            GrowingValues::Double(values) => values.truncate(count),
            GrowingValues::Bool(values) => values.truncate(count),
            GrowingValues::Id8(values) => values.truncate(count),
            GrowingValues::Id16(values) => values.truncate(count),
            GrowingValues::Bytes(builder) => builder.codes.truncate(count),
        }
    }

    fn finish(self, all: bool) -> Column {
        let values = match self.values {
            GrowingValues::Int(v) => Values::Int(fitted(v)),
            GrowingValues::Double(v) => Values::Double(fitted(v)),
            GrowingValues::Bool(v) => Values::Bool(fitted(v)),
            GrowingValues::Id8(v) => Values::Id8(fitted(v)),
            GrowingValues::Id16(v) => Values::Id16(fitted(v)),
            GrowingValues::Bytes(b) => {
                Values::Bytes(fitted(b.codes), Arc::new(b.interner.into_dict()))
            }
        };
        Column { rows: if all { Rows::All } else { Rows::Some(fitted(self.rows)) }, values }
    }

    fn heap_bytes(&self) -> usize {
        self.rows.capacity() * 4
            + match &self.values {
                GrowingValues::Int(v) => v.capacity() * 8,
                GrowingValues::Double(v) => v.capacity() * 8,
                GrowingValues::Bool(v) => v.capacity(),
                GrowingValues::Id8(v) => v.capacity() * 8,
                GrowingValues::Id16(v) => v.capacity() * 16,
                GrowingValues::Bytes(b) => b.heap_bytes(),
            }
    }
}

/// Gives back what a growing vector reserved: chunks stay until the next flush.
fn fitted<T>(mut values: Vec<T>) -> Vec<T> {
    values.shrink_to_fit();
    values
}

#[derive(Debug, Clone)]
struct GrowingAttribute {
    key: AttributeKey,
    column: Growing,
    /// The attribute that came after this one last time.
    follower: u32,
}

/// A growing list column: members without row numbers of their own.
#[derive(Debug, Clone)]
struct GrowingList {
    counts: Vec<u32>,
    elements: u32,
    members: Vec<Growing>,
}

/// Grows a [`Chunk`].
#[derive(Debug, Clone)]
pub struct ChunkBuilder {
    table: &'static Table,
    rows: u32,
    fields: Vec<Growing>,
    lists: Vec<GrowingList>,
    attributes: Vec<GrowingAttribute>,
    by_key: HashTable<u32>,
    hasher: DefaultHashBuilder,
    origins: Interner,
    shapes: Interner,
    /// The shape of the row under way.
    shape: Vec<u8>,
    rest: Vec<u8>,
}

impl ChunkBuilder {
    /// An empty builder for rows of `table`.
    pub fn new(table: &'static Table) -> Self {
        let growing = |f: &Field| Growing::new(f.kind);
        Self {
            table,
            rows: 0,
            fields: table.fields.iter().map(growing).collect(),
            lists: table
                .lists
                .iter()
                .map(|list| GrowingList {
                    counts: Vec::new(),
                    elements: 0,
                    members: list.members.iter().map(growing).collect(),
                })
                .collect(),
            attributes: Vec::new(),
            by_key: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
            origins: Interner::default(),
            shapes: Interner::default(),
            shape: Vec::new(),
            rest: Vec::new(),
        }
    }

    /// Rows so far.
    pub fn rows(&self) -> usize {
        self.rows as usize
    }

    /// Whether a row has a value in an optional field.
    pub fn has_values(&self, field: usize) -> bool {
        !self.fields[field].rows.is_empty()
    }

    /// Bytes held on the heap, nearly.
    pub fn heap_bytes(&self) -> usize {
        let lists: usize =
            self.lists.iter().flat_map(|l| &l.members).map(Growing::heap_bytes).sum();
        self.fields.iter().map(Growing::heap_bytes).sum::<usize>()
            + lists
            + self.attributes.iter().map(|a| a.column.heap_bytes() + 200).sum::<usize>()
            + self.origins.dict().total_bytes()
    }

    /// The number of an encoded origin.
    pub fn origin(&mut self, encoded: &[u8]) -> u32 {
        self.origins.intern(encoded)
    }

    /// Begins the next row, which comes from `origin`.
    #[inline]
    pub fn begin_row(&mut self, origin: u32) {
        self.rows += 1;
        for list in &mut self.lists {
            list.counts.push(0);
        }
        self.int(self.table.common.origin, i64::from(origin));
    }

    #[inline]
    fn row(&self) -> u32 {
        self.rows - 1
    }

    /// Sets an integer or time field of the row under way.
    #[inline]
    pub fn int(&mut self, field: usize, value: i64) {
        let row = self.row();
        push_int(&mut self.fields[field], self.table.fields[field].optional, row, value);
    }

    /// Sets a boolean field.
    #[inline]
    pub fn bool(&mut self, field: usize, value: bool) {
        let row = self.row();
        let growing = &mut self.fields[field];
        if self.table.fields[field].optional {
            growing.rows.push(row);
        }
        if let GrowingValues::Bool(values) = &mut growing.values {
            values.push(value);
        }
    }

    /// Sets an id field of 8 or 16 bytes; of another length it becomes zeroes.
    #[inline]
    pub fn id(&mut self, field: usize, value: &[u8]) {
        let row = self.row();
        push_id(&mut self.fields[field], self.table.fields[field].optional, row, value);
    }

    /// Sets a text or bytes field.
    #[inline]
    pub fn bytes(&mut self, field: usize, value: &[u8]) {
        let row = self.row();
        push_bytes(&mut self.fields[field], self.table.fields[field].optional, row, value);
    }

    /// Sets a text or bytes field unless `value` is empty.
    #[inline]
    pub fn bytes_if_any(&mut self, field: usize, value: &[u8]) {
        if !value.is_empty() {
            self.bytes(field, value);
        }
    }

    /// Sets an integer field unless `value` is zero.
    #[inline]
    pub fn int_if_any(&mut self, field: usize, value: i64) {
        if value != 0 {
            self.int(field, value);
        }
    }

    /// Begins an element of a list of the row under way.
    #[inline]
    pub fn begin_element(&mut self, list: usize) {
        let list = &mut self.lists[list];
        list.elements += 1;
        if let Some(count) = list.counts.last_mut() {
            *count += 1;
        }
    }

    /// Sets an integer or time member of the element under way.
    pub fn element_int(&mut self, list: usize, member: usize, value: i64) {
        let optional = self.table.lists[list].members[member].optional;
        let growing = &mut self.lists[list];
        push_int(&mut growing.members[member], optional, growing.elements - 1, value);
    }

    /// Sets an id member.
    pub fn element_id(&mut self, list: usize, member: usize, value: &[u8]) {
        let optional = self.table.lists[list].members[member].optional;
        let growing = &mut self.lists[list];
        push_id(&mut growing.members[member], optional, growing.elements - 1, value);
    }

    /// Sets a text or bytes member.
    pub fn element_bytes(&mut self, list: usize, member: usize, value: &[u8]) {
        let optional = self.table.lists[list].members[member].optional;
        let growing = &mut self.lists[list];
        push_bytes(&mut growing.members[member], optional, growing.elements - 1, value);
    }

    /// Adds an attribute to the row under way.
    #[inline]
    pub fn attribute(&mut self, attribute: &KeyValueView<'_>) {
        if attribute.key_strindex != 0 {
            // A column has no room for the second form of a key.
            return self.rest_attribute(attribute.raw);
        }
        let value_type = match attribute.value {
            AnyValueView::String(_) => ValueType::String,
            AnyValueView::Bool(_) => ValueType::Bool,
            AnyValueView::Int(_) => ValueType::Int,
            AnyValueView::Double(_) => ValueType::Double,
            AnyValueView::Array(_) | AnyValueView::KvList(_) | AnyValueView::Bytes(_) => {
                ValueType::Any
            }
            AnyValueView::Empty | AnyValueView::StringIndex(_) => {
                return self.rest_attribute(attribute.raw);
            }
        };
        let Some(slot) = self.slot(attribute.key, value_type) else {
            return self.rest_attribute(attribute.raw);
        };
        let row = self.row();
        let column = &mut self.attributes[slot as usize].column;
        if column.rows.last() == Some(&row) {
            return self.rest_attribute(attribute.raw);
        }
        column.rows.push(row);
        match (&mut column.values, &attribute.value) {
            (GrowingValues::Bytes(b), AnyValueView::String(v)) => b.push(v),
            (GrowingValues::Int(values), AnyValueView::Int(v)) => values.push(*v),
            (GrowingValues::Double(values), AnyValueView::Double(v)) => values.push(*v),
            (GrowingValues::Bool(values), AnyValueView::Bool(v)) => values.push(*v),
            (GrowingValues::Bytes(b), _) => b.push(attribute.value_raw),
            // The slot was chosen by the type of the value.
            _ => {}
        }
        self.shape.extend_from_slice(&slot.to_le_bytes());
    }

    /// The column of a key and type; `None` if there are too many already.
    #[inline]
    fn slot(&mut self, key: &[u8], value_type: ValueType) -> Option<u32> {
        // Spans of one kind carry the same keys in the same order, so what came
        // after the previous attribute last time is what comes now.
        let previous = self.shape.last_chunk::<4>().map(|b| u32::from_le_bytes(*b));
        if let Some(previous) = previous.and_then(|p| self.attributes.get(p as usize)) {
            let guess = previous.follower;
            if let Some(a) = self.attributes.get(guess as usize)
                && a.key.value_type == value_type
                && *a.key.key == *key
            {
                return Some(guess);
            }
        }
        let hash = self.hasher.hash_one((key, value_type as u8));
        let attributes = &self.attributes;
        let found = self.by_key.find(hash, |slot| {
            let a = &attributes[*slot as usize].key;
            a.value_type == value_type && *a.key == *key
        });
        let slot = match found {
            Some(slot) => *slot,
            None if self.attributes.len() >= CHUNK_MAX_ATTRIBUTES => return None,
            None => self.new_slot(hash, key, value_type),
        };
        if let Some(previous) = previous.and_then(|p| self.attributes.get_mut(p as usize)) {
            previous.follower = slot;
        }
        Some(slot)
    }

    fn new_slot(&mut self, hash: u64, key: &[u8], value_type: ValueType) -> u32 {
        let slot = self.attributes.len() as u32;
        self.attributes.push(GrowingAttribute {
            key: AttributeKey { key: key.into(), value_type },
            column: Growing::new(value_type.kind()),
            follower: REST,
        });
        let (attributes, hasher) = (&self.attributes, &self.hasher);
        self.by_key.insert_unique(hash, slot, |slot| {
            let key = &attributes[*slot as usize].key;
            hasher.hash_one((&*key.key, key.value_type as u8))
        });
        slot
    }

    /// Keeps an attribute as it came: `raw` is an encoded `KeyValue`.
    fn rest_attribute(&mut self, raw: &[u8]) {
        push_rest(raw, &mut self.rest);
        self.shape.extend_from_slice(&REST.to_le_bytes());
    }

    /// Ends the attributes of the row under way. Must be called for every row.
    #[inline]
    pub fn end_attributes(&mut self) {
        let shape = self.shapes.intern(&self.shape);
        self.shape.clear();
        self.int(self.table.common.shape, i64::from(shape));
        if !self.rest.is_empty() {
            let rest = std::mem::take(&mut self.rest);
            self.bytes(self.table.common.rest, &rest);
            self.rest = rest;
            self.rest.clear();
        }
    }

    /// Takes back the rows from `rows` on, of which the last may be half-written.
    pub fn truncate(&mut self, rows: usize) {
        self.rows = rows as u32;
        self.shape.clear();
        self.rest.clear();
        for growing in &mut self.fields {
            growing.truncate(self.rows);
        }
        for attribute in &mut self.attributes {
            attribute.column.truncate(self.rows);
        }
        for list in &mut self.lists {
            list.counts.truncate(rows);
            list.elements = list.counts.iter().sum();
            for member in &mut list.members {
                member.truncate(list.elements);
            }
        }
    }

    /// The rows so far, copied.
    pub fn snapshot(&self) -> Chunk {
        self.clone().finish()
    }

    /// The rows.
    pub fn finish(self) -> Chunk {
        let rows = self.rows as usize;
        let fields = self.fields.into_iter().zip(self.table.fields).map(|(growing, field)| {
            let column = growing.finish(!field.optional);
            let complete = if field.optional {
                !column.values.is_empty()
            } else {
                // A required field that is derived when a block is written.
                column.values.len() == rows
            };
            complete.then_some(column)
        });
        let lists = self.lists.into_iter().zip(self.table.lists).map(|(growing, list)| Lists {
            counts: growing.counts,
            members: (growing.members.into_iter().zip(list.members))
                .map(|(member, field)| member.finish(!field.optional))
                .collect(),
        });
        let attributes = self.attributes.into_iter().map(|attribute| {
            let all = attribute.column.rows.len() == rows;
            (attribute.key, attribute.column.finish(all))
        });
        Chunk {
            table: self.table,
            rows,
            fields: fields.collect(),
            lists: lists.collect(),
            attributes: attributes.collect(),
            origins: self.origins.into_dict(),
            shapes: self.shapes.into_dict(),
            findings: Findings::default(),
        }
    }
}

impl Chunk {
    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        let fields: usize = self.fields.iter().flatten().map(Column::heap_bytes).sum();
        let lists: usize = (self.lists.iter())
            .map(|l| {
                l.counts.capacity() * 4 + l.members.iter().map(Column::heap_bytes).sum::<usize>()
            })
            .sum();
        let attributes: usize = self.attributes.iter().map(|(_, c)| c.heap_bytes() + 64).sum();
        fields + lists + attributes + self.origins.total_bytes() + self.shapes.total_bytes()
    }
}

/// Appends an encoded `KeyValue` to an encoded `KeyValueList`.
pub(crate) fn push_rest(key_value: &[u8], list: &mut Vec<u8>) {
    const VALUES_FIELD: u8 = 1 << 3 | 2;
    list.push(VALUES_FIELD);
    crate::pages::write_varint(key_value.len() as u64, list);
    list.extend_from_slice(key_value);
}

#[inline]
fn push_int(growing: &mut Growing, optional: bool, row: u32, value: i64) {
    if optional {
        growing.rows.push(row);
    }
    if let GrowingValues::Int(values) = &mut growing.values {
        values.push(value);
    }
}

#[inline]
fn push_id(growing: &mut Growing, optional: bool, row: u32, value: &[u8]) {
    if optional {
        growing.rows.push(row);
    }
    match &mut growing.values {
        GrowingValues::Id8(values) => values.push(value.try_into().unwrap_or_default()),
        GrowingValues::Id16(values) => values.push(value.try_into().unwrap_or_default()),
        _ => {}
    }
}

#[inline]
fn push_bytes(growing: &mut Growing, optional: bool, row: u32, value: &[u8]) {
    if optional {
        growing.rows.push(row);
    }
    if let GrowingValues::Bytes(builder) = &mut growing.values {
        builder.push(value);
    }
}
