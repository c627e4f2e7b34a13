//! Columns as a scan loops over them.
//!
//! A [`Packed`] column is a whole column of a block in little room: integers and
//! codes in as few bytes as their range needs, values in place of gaps with a
//! bit for each row where most rows have one, row numbers where few have. A
//! [`Piece`] is one granule of any column, wherever it lies.

use std::sync::{Arc, OnceLock};

use arrow_array::ArrayRef;
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::column::{Column, Dict, Rows, Values};
use crate::error::StoreError;
use crate::pages::GRANULE_ROWS;

/// Integers, or codes, less a base.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ints<'a> {
    U8(i64, &'a [u8]),
    U16(i64, &'a [u16]),
    U32(i64, &'a [u32]),
    I64(&'a [i64]),
}

impl Ints<'_> {
    #[inline]
    pub(super) fn get(&self, nth: usize) -> i64 {
        match self {
            Ints::U8(base, values) => base.wrapping_add(i64::from(values[nth])),
            Ints::U16(base, values) => base.wrapping_add(i64::from(values[nth])),
            Ints::U32(base, values) => base.wrapping_add(i64::from(values[nth])),
            Ints::I64(values) => values[nth],
        }
    }
}

/// Which rows of a granule have a value, and where it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Present<'a> {
    /// All; values lie by row.
    All,
    /// Those with a bit; values lie by row, with fillers between.
    Bits(&'a [u64]),
    /// These, less `first`; values lie one after another.
    Rows { rows: &'a [u32], first: u32 },
}

/// Values of one granule.
#[derive(Debug, Clone, Copy)]
pub(super) enum Slice<'a> {
    Int(Ints<'a>),
    Double(&'a [f64]),
    Bool(&'a [bool]),
    Id8(&'a [[u8; 8]]),
    Id16(&'a [[u8; 16]]),
    Bytes(Ints<'a>, &'a Dict),
}

/// One granule of a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) present: Present<'a>,
    pub(super) values: Slice<'a>,
}

impl Piece<'_> {
    /// No value in any row.
    pub(super) const NONE: Piece<'static> = Piece {
        present: Present::Rows { rows: &[], first: 0 },
        values: Slice::Int(Ints::I64(&[])),
    };

    /// Where the value of a row is, counted from the granule's first row.
    #[inline]
    pub(super) fn index_of(&self, row: u32) -> Option<usize> {
        match self.present {
            Present::All => Some(row as usize),
            Present::Bits(bits) => {
                let row = row as usize;
                (bits[row / 64] >> (row % 64) & 1 == 1).then_some(row)
            }
            Present::Rows { rows, first } => rows.binary_search(&(row + first)).ok(),
        }
    }
}

impl Column {
    /// A granule of the column, which covers rows from `first` on.
    pub(super) fn piece(&self, granule: std::ops::Range<usize>) -> Piece<'_> {
        let (present, range) = match &self.rows {
            Rows::All => (Present::All, granule),
            Rows::Some(rows) => {
                let start = rows.partition_point(|row| (*row as usize) < granule.start);
                let end = rows.partition_point(|row| (*row as usize) < granule.end);
                let first = granule.start as u32;
                (Present::Rows { rows: &rows[start..end], first }, start..end)
            }
        };
        let values = match &self.values {
            Values::Int(v) => Slice::Int(Ints::I64(&v[range])),
            Values::Double(v) => Slice::Double(&v[range]),
            Values::Bool(v) => Slice::Bool(&v[range]),
            Values::Id8(v) => Slice::Id8(&v[range]),
            Values::Id16(v) => Slice::Id16(&v[range]),
            Values::Bytes(codes, dict) => Slice::Bytes(Ints::U32(0, &codes[range]), dict),
        };
        Piece { present, values }
    }

    /// Refuses a decoded column that does not fit its number of rows.
    pub(super) fn fitting(self, rows: usize) -> Result<Self, StoreError> {
        let fits = match &self.rows {
            Rows::All => self.values.len() == rows,
            Rows::Some(present) => {
                present.len() == self.values.len()
                    && present.last().is_none_or(|last| (*last as usize) < rows)
            }
        };
        if fits { Ok(self) } else { Err(StoreError::corrupt("a column has another length")) }
    }
}

#[derive(Debug)]
enum PackedRows {
    All,
    Bits(Vec<u64>),
    /// Rows with a value, and how many lie before each granule.
    Rows(Vec<u32>, Vec<u32>),
}

#[derive(Debug)]
enum PackedInts {
    U8(i64, Vec<u8>),
    U16(i64, Vec<u16>),
    U32(i64, Vec<u32>),
    I64(Vec<i64>),
}

impl PackedInts {
    fn new(values: Vec<i64>) -> Self {
        let base = values.iter().copied().min().unwrap_or(0);
        let range = values.iter().copied().max().unwrap_or(0).wrapping_sub(base) as u64;
        let less = |value: &i64| value.wrapping_sub(base);
        match range {
            0..=0xff => Self::U8(base, values.iter().map(|v| less(v) as u8).collect()),
            0x100..=0xffff => Self::U16(base, values.iter().map(|v| less(v) as u16).collect()),
            0x1_0000..=0xffff_ffff => {
                Self::U32(base, values.iter().map(|v| less(v) as u32).collect())
            }
            _ => Self::I64(values),
        }
    }

    fn slice(&self, range: std::ops::Range<usize>) -> Ints<'_> {
        match self {
            Self::U8(base, v) => Ints::U8(*base, &v[range]),
            Self::U16(base, v) => Ints::U16(*base, &v[range]),
            Self::U32(base, v) => Ints::U32(*base, &v[range]),
            Self::I64(v) => Ints::I64(&v[range]),
        }
    }

    fn heap_bytes(&self) -> usize {
        match self {
            Self::U8(_, v) => v.capacity(),
            Self::U16(_, v) => v.capacity() * 2,
            Self::U32(_, v) => v.capacity() * 4,
            Self::I64(v) => v.capacity() * 8,
        }
    }
}

#[derive(Debug)]
enum PackedValues {
    Int(PackedInts),
    Double(Vec<f64>),
    Bool(Vec<bool>),
    Bytes(PackedInts, Arc<Dict>),
}

/// A whole column of a block, decoded.
#[derive(Debug)]
pub(super) struct Packed {
    rows: PackedRows,
    values: PackedValues,
    /// The dictionary as batches show it.
    texts: OnceLock<ArrayRef>,
    /// Codes by the hash of their entries.
    codes: OnceLock<HashTable<u32>>,
}

/// Gaps are filled where at least one row in this many has a value.
const FILL_SHARE: usize = 4;

impl Packed {
    /// Packs a column of so many rows; `None` for ids, which are not narrow.
    pub(super) fn new(column: Column, rows: usize) -> Option<Self> {
        let fill = column.values.len() * FILL_SHARE >= rows;
        let present = match column.rows {
            Rows::All => None,
            Rows::Some(present) => Some(present),
        };
        let ints = |values: Vec<i64>, filler: i64| match &present {
            Some(present) if fill => PackedInts::new(filled(values, present, rows, filler)),
            _ => PackedInts::new(values),
        };
        let values = match column.values {
            Values::Int(values) => {
                let filler = values.iter().copied().min().unwrap_or(0);
                PackedValues::Int(ints(values, filler))
            }
            Values::Bytes(codes, dict) => {
                let codes = codes.into_iter().map(i64::from).collect();
                PackedValues::Bytes(ints(codes, 0), dict)
            }
            Values::Double(values) => PackedValues::Double(match &present {
                Some(present) if fill => filled(values, present, rows, 0.0),
                _ => values,
            }),
            Values::Bool(values) => PackedValues::Bool(match &present {
                Some(present) if fill => filled(values, present, rows, false),
                _ => values,
            }),
            Values::Id8(_) | Values::Id16(_) => return None,
        };
        let rows = match present {
            None => PackedRows::All,
            Some(present) if fill => PackedRows::Bits(bits(&present, rows)),
            Some(present) => {
                let starts = (0..=rows.div_ceil(GRANULE_ROWS))
                    .map(|g| present.partition_point(|row| (*row as usize) < g * GRANULE_ROWS))
                    .map(|start| start as u32)
                    .collect();
                PackedRows::Rows(present, starts)
            }
        };
        Some(Self { rows, values, texts: OnceLock::new(), codes: OnceLock::new() })
    }

    /// The dictionary as an array, made if it was not yet: all batches share it.
    pub(super) fn texts(&self, make: impl FnOnce() -> ArrayRef) -> ArrayRef {
        self.texts.get_or_init(make).clone()
    }

    /// The dictionary of a column of byte strings.
    pub(super) fn dict(&self) -> Option<&Arc<Dict>> {
        match &self.values {
            PackedValues::Bytes(_, dict) => Some(dict),
            _ => None,
        }
    }

    /// The code of an entry of the dictionary, if it has that.
    pub(super) fn code_of(&self, entry: &[u8]) -> Option<u32> {
        let dict = self.dict()?;
        let codes = self.codes.get_or_init(|| {
            let mut codes = HashTable::with_capacity(dict.len());
            for code in 0..dict.len() as u32 {
                let hash_of = |code: &u32| xxh3_64(dict.get(*code));
                codes.insert_unique(hash_of(&code), code, hash_of);
            }
            codes
        });
        codes.find(xxh3_64(entry), |code| dict.get(*code) == entry).copied()
    }

    /// The granule with these rows.
    pub(super) fn piece(&self, granule: usize, rows: std::ops::Range<usize>) -> Piece<'_> {
        let (present, range) = match &self.rows {
            PackedRows::All => (Present::All, rows),
            PackedRows::Bits(bits) => {
                (Present::Bits(&bits[rows.start / 64..rows.end.div_ceil(64)]), rows)
            }
            PackedRows::Rows(present, starts) => {
                let range = starts[granule] as usize..starts[granule + 1] as usize;
                let first = rows.start as u32;
                (Present::Rows { rows: &present[range.clone()], first }, range)
            }
        };
        let values = match &self.values {
            PackedValues::Int(values) => Slice::Int(values.slice(range)),
            PackedValues::Double(values) => Slice::Double(&values[range]),
            PackedValues::Bool(values) => Slice::Bool(&values[range]),
            PackedValues::Bytes(codes, dict) => Slice::Bytes(codes.slice(range), dict),
        };
        Piece { present, values }
    }

    /// Bytes held on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let rows = match &self.rows {
            PackedRows::All => 0,
            PackedRows::Bits(bits) => bits.capacity() * 8,
            PackedRows::Rows(rows, starts) => (rows.capacity() + starts.capacity()) * 4,
        };
        let values = match &self.values {
            PackedValues::Int(values) => values.heap_bytes(),
            PackedValues::Double(values) => values.capacity() * 8,
            PackedValues::Bool(values) => values.capacity(),
            // The dictionary may be there a second time, as an array, and be indexed.
            PackedValues::Bytes(codes, dict) => {
                codes.heap_bytes() + 2 * dict.heap_bytes() + dict.len() * 2 * size_of::<u32>()
            }
        };
        rows + values
    }
}

fn filled<T: Copy>(values: Vec<T>, present: &[u32], rows: usize, filler: T) -> Vec<T> {
    let mut out = vec![filler; rows];
    for (row, value) in present.iter().zip(values) {
        out[*row as usize] = value;
    }
    out
}

fn bits(present: &[u32], rows: usize) -> Vec<u64> {
    let mut bits = vec![0u64; rows.div_ceil(64)];
    for row in present {
        bits[*row as usize / 64] |= 1 << (row % 64);
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packed_column_gives_back_its_values() {
        let rows = 3 * GRANULE_ROWS + 100;
        for every in [1u32, 2, 3, 50] {
            let present: Vec<u32> =
                (0..rows as u32).filter(|row| row.is_multiple_of(every)).collect();
            for spread in [1i64, 300, 70_000, 1 << 40] {
                let value = |row: u32| i64::from(row % 97) * spread - 5;
                let values = present.iter().map(|row| value(*row)).collect();
                let column =
                    Column { rows: Rows::Some(present.clone()), values: Values::Int(values) };
                let packed = Packed::new(column.fitting(rows).unwrap(), rows).unwrap();
                for granule in 0..4 {
                    let range = granule * GRANULE_ROWS..((granule + 1) * GRANULE_ROWS).min(rows);
                    let piece = packed.piece(granule, range.clone());
                    let Slice::Int(ints) = piece.values else { panic!("integers expected") };
                    for row in range.clone() {
                        let found = piece.index_of((row - range.start) as u32);
                        let expected =
                            (row as u32).is_multiple_of(every).then(|| value(row as u32));
                        assert_eq!(found.map(|nth| ints.get(nth)), expected, "row {row}");
                    }
                }
            }
        }
    }
}
