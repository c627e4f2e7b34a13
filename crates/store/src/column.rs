//! Columns in memory: what the head grows, what blocks are decoded into, and
//! what the block writer takes.
//!
//! A column holds the values of the rows that have one, in row order. Byte
//! strings are codes into a dictionary of their own.

use hashbrown::{DefaultHashBuilder, HashTable};
use std::hash::BuildHasher;
use std::sync::Arc;

/// Distinct byte strings by number, one after another.
#[derive(Debug, Clone, Default)]
pub struct Dict {
    /// Where each entry ends in `bytes`.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl Dict {
    /// Entry `code`; empty if there is no such entry.
    #[inline]
    pub fn get(&self, code: u32) -> &[u8] {
        let code = code as usize;
        let start = if code == 0 { 0 } else { self.ends.get(code - 1).map_or(0, |e| *e as usize) };
        let end = self.ends.get(code).map_or(start, |e| *e as usize);
        &self.bytes[start..end]
    }

    /// Appends an entry, equal to another or not, and returns its number.
    pub fn push(&mut self, value: &[u8]) -> u32 {
        let code = self.ends.len() as u32;
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len() as u32);
        code
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Bytes of all entries.
    pub fn total_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// All entries in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len() as u32).map(|code| self.get(code))
    }

    /// All entries one after another, and where each ends.
    pub(crate) fn joined(&self) -> (&[u8], &[u32]) {
        (&self.bytes, &self.ends)
    }

    /// Makes room for so many more entries of so many bytes in all.
    pub(crate) fn reserve(&mut self, entries: usize, bytes: usize) {
        self.ends.reserve(entries);
        self.bytes.reserve(bytes);
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.ends.capacity() * 4 + self.bytes.capacity()
    }
}

/// A dictionary that finds the number of an entry it already has.
#[derive(Debug, Default, Clone)]
pub struct Interner {
    dict: Dict,
    /// Number and upper hash bits of each entry.
    table: HashTable<(u32, u32)>,
    hasher: DefaultHashBuilder,
}

impl Interner {
    /// The number of `value`, which is added if it is new.
    #[inline]
    pub fn intern(&mut self, value: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(value);
        let tag = (hash >> 32) as u32;
        let dict = &self.dict;
        if let Some((code, _)) =
            self.table.find(hash, |(code, t)| *t == tag && dict.get(*code) == value)
        {
            return *code;
        }
        let code = self.dict.push(value);
        let (dict, hasher) = (&self.dict, &self.hasher);
        self.table.insert_unique(hash, (code, tag), |(code, _)| hasher.hash_one(dict.get(*code)));
        code
    }

    /// The number of `value`, which is appended without looking for it.
    #[inline]
    pub(crate) fn append(&mut self, value: &[u8]) -> u32 {
        self.dict.push(value)
    }

    /// The entries so far.
    pub fn dict(&self) -> &Dict {
        &self.dict
    }

    /// Gives up finding; the entries stay.
    pub fn into_dict(mut self) -> Dict {
        self.dict.ends.shrink_to_fit();
        self.dict.bytes.shrink_to_fit();
        self.dict
    }

    fn heap_bytes(&self) -> usize {
        self.dict.heap_bytes() + self.table.capacity() * 9
    }
}

/// Which rows have a value.
#[derive(Debug, Clone)]
pub enum Rows {
    /// All of them.
    All,
    /// These, ascending.
    Some(Vec<u32>),
}

/// Values of the rows that have one.
#[derive(Debug, Clone)]
pub enum Values {
    /// 64-bit integers, times among them.
    Int(Vec<i64>),
    /// Doubles.
    Double(Vec<f64>),
    /// Booleans.
    Bool(Vec<bool>),
    /// Eight-byte ids.
    Id8(Vec<[u8; 8]>),
    /// Sixteen-byte ids.
    Id16(Vec<[u8; 16]>),
    /// Byte strings or text; parts of one column share its dictionary.
    Bytes(Vec<u32>, Arc<Dict>),
}

impl Values {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Int(v) => v.len(),
            Values::Double(v) => v.len(),
            Values::Bool(v) => v.len(),
            Values::Id8(v) => v.len(),
            Values::Id16(v) => v.len(),
            Values::Bytes(v, _) => v.len(),
        }
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Values::Int(v) => v.capacity() * 8,
            Values::Double(v) => v.capacity() * 8,
            Values::Bool(v) => v.capacity(),
            Values::Id8(v) => v.capacity() * 8,
            Values::Id16(v) => v.capacity() * 16,
            Values::Bytes(v, dict) => v.capacity() * 4 + dict.heap_bytes(),
        }
    }
}

/// A column of a chunk or of a decoded block.
#[derive(Debug, Clone)]
pub struct Column {
    /// Which rows have a value.
    pub rows: Rows,
    /// Their values, in row order.
    pub values: Values,
}

impl Column {
    /// Calls `each` with the row and the index of every value.
    #[inline]
    pub fn for_each_row(&self, mut each: impl FnMut(u32, usize)) {
        match &self.rows {
            Rows::All => (0..self.values.len()).for_each(|i| each(i as u32, i)),
            Rows::Some(rows) => rows.iter().enumerate().for_each(|(i, row)| each(*row, i)),
        }
    }

    /// The index of `row`'s value.
    #[inline]
    pub fn index_of(&self, row: u32) -> Option<usize> {
        match &self.rows {
            Rows::All => ((row as usize) < self.values.len()).then_some(row as usize),
            Rows::Some(rows) => rows.binary_search(&row).ok(),
        }
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        let rows = match &self.rows {
            Rows::All => 0,
            Rows::Some(rows) => rows.capacity() * 4,
        };
        rows + self.values.heap_bytes()
    }
}

/// Lists of structs: how many each row has, and a column for each member over
/// all elements.
#[derive(Debug, Clone)]
pub struct Lists {
    /// Elements of each row.
    pub counts: Vec<u32>,
    /// Members, over the elements of all rows one after another.
    pub members: Vec<Column>,
}

/// Values after which a growing column looks whether they repeat, each time.
const REPEATS_CHECK: usize = 4096;
/// Values of ten that must be new for the rest to be taken as new too.
const MOSTLY_NEW: usize = 9;

/// A growing column of byte strings. If hardly any repeats, which is so for
/// most texts of log records, further ones are not looked for.
#[derive(Debug, Clone, Default)]
pub struct BytesBuilder {
    pub(crate) codes: Vec<u32>,
    pub(crate) interner: Interner,
    repeats_seldom: bool,
}

impl BytesBuilder {
    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: &[u8]) {
        let code = match self.repeats_seldom {
            true => self.interner.append(value),
            false => self.interner.intern(value),
        };
        self.codes.push(code);
        if self.codes.len().is_multiple_of(REPEATS_CHECK) && !self.repeats_seldom {
            self.check_repeats();
        }
    }

    #[cold]
    fn check_repeats(&mut self) {
        if self.interner.dict.len() * 10 > self.codes.len() * MOSTLY_NEW {
            self.repeats_seldom = true;
            self.interner.table = HashTable::new();
        }
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.codes.capacity() * 4 + self.interner.heap_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interned_value_keeps_its_number() {
        let mut interner = Interner::default();
        let codes: Vec<u32> =
            (0..10_000).map(|i| interner.intern(format!("v{}", i % 1000).as_bytes())).collect();
        assert_eq!(interner.dict().len(), 1000);
        for (i, code) in codes.iter().enumerate() {
            assert_eq!(interner.dict().get(*code), format!("v{}", i % 1000).as_bytes());
        }
    }

    #[test]
    fn values_that_hardly_repeat_are_not_looked_for_any_more() {
        for (distinct, entries) in [(1000, 1000), (50_000, 10_000)] {
            let mut builder = BytesBuilder::default();
            let value = |i: usize| format!("v{}", i * 7919 % distinct);
            (0..9_000).for_each(|i| builder.push(value(i).as_bytes()));
            (0..1_000).for_each(|i| builder.push(value(i).as_bytes()));
            assert_eq!(builder.interner.dict().len(), entries);
            for (i, code) in builder.codes.iter().enumerate() {
                assert_eq!(builder.interner.dict().get(*code), value(i % 9_000).as_bytes());
            }
        }
    }

    #[test]
    fn a_dictionary_gives_an_empty_entry_for_a_number_it_lacks() {
        let mut dict = Dict::default();
        assert_eq!(dict.get(0), b"");
        dict.push(b"a");
        assert_eq!(dict.get(0), b"a");
        assert_eq!(dict.get(9), b"");
    }
}
