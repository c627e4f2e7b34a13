//! Pages to one column.
//!
//! Reads what [`super::encode`] writes. Bytes come from files that may have been
//! cut or overwritten: every length is checked, sizes are bounded before memory
//! is taken, and the zstd frame's checksum guards the content. It does not guard
//! page headers, so the caller says how many rows there must be.

use std::cell::RefCell;
use std::sync::Arc;

use zstd::bulk::Decompressor;

use super::header::{self, DATA_PAGE, DICTIONARY_PAGE, PageHeader};
use super::{PageError, delta, rle};
use crate::column::{Column, Dict, Rows, Values};

/// A page never holds more: a flush ends long before.
const MAX_PAGE_BYTES: usize = 1 << 30;

const PLAIN: i32 = 0;
const DELTA_BINARY_PACKED: i32 = 5;
const RLE_DICTIONARY: i32 = 8;

/// How the values of a leaf column are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Physical {
    Int,
    Double,
    Bool,
    Id8,
    Id16,
    Bytes,
}

/// Which rows or elements of a leaf column have a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nesting {
    Required,
    Optional,
    List { optional: bool },
}

/// A leaf column being put together from its pages.
#[derive(Debug)]
pub(crate) struct Decoder {
    physical: Physical,
    nesting: Nesting,
    dictionary: Option<Dictionary>,
    /// Rows (or elements) so far.
    slots: u32,
    /// What page headers count: rows, or elements and empty lists.
    levels: u64,
    present: Vec<u32>,
    counts: Vec<u32>,
    values: Values,
    codes: Vec<u32>,
}

/// The entries of a dictionary page.
#[derive(Debug, Clone)]
pub(crate) enum Dictionary {
    Ints(Arc<Vec<i64>>),
    Bytes(Arc<Dict>),
}

impl Dictionary {
    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Ints(ints) => ints.capacity() * 8,
            Self::Bytes(dict) => dict.heap_bytes(),
        }
    }
}

/// A decoded leaf column; `counts` are the elements of each row of a list.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) column: Column,
    pub(crate) counts: Vec<u32>,
}

thread_local! {
    static ZSTD: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Decompresses one zstd frame of known length.
pub(crate) fn decompress(bytes: &[u8], length: usize) -> Result<Vec<u8>, PageError> {
    if length > MAX_PAGE_BYTES {
        return Err(PageError("page larger than any that is written"));
    }
    ZSTD.with_borrow_mut(|slot| {
        if slot.is_none() {
            *slot = Decompressor::new().ok();
        }
        let zstd = slot.as_mut().ok_or(PageError("no memory to decompress"))?;
        let plain = zstd
            .decompress(bytes, length)
            .map_err(|_| PageError("checksum or compression is wrong"))?;
        if plain.len() == length { Ok(plain) } else { Err(PageError("page has another length")) }
    })
}

/// Splits the page at the start of `bytes` into header and decompressed body,
/// and tells how many bytes it took.
fn open(bytes: &[u8]) -> Result<(PageHeader, Vec<u8>, usize), PageError> {
    let header = header::parse(bytes)?;
    let end = header.header_bytes.saturating_add(header.compressed_bytes);
    let body = bytes.get(header.header_bytes..end).ok_or(PageError("page cut short"))?;
    Ok((header, decompress(body, header.uncompressed_bytes)?, end))
}

impl Decoder {
    pub(crate) fn new(physical: Physical, nesting: Nesting) -> Self {
        let values = match physical {
            Physical::Int => Values::Int(Vec::new()),
            Physical::Double => Values::Double(Vec::new()),
            Physical::Bool => Values::Bool(Vec::new()),
            Physical::Id8 => Values::Id8(Vec::new()),
            Physical::Id16 => Values::Id16(Vec::new()),
            Physical::Bytes => Values::Bytes(Vec::new(), Arc::default()),
        };
        Self {
            physical,
            nesting,
            dictionary: None,
            slots: 0,
            levels: 0,
            present: Vec::new(),
            counts: Vec::new(),
            values,
            codes: Vec::new(),
        }
    }

    /// Takes the dictionary page; it comes before any data page.
    pub(crate) fn dictionary_page(&mut self, bytes: &[u8]) -> Result<(), PageError> {
        let (header, body, _) = open(bytes)?;
        if header.kind != DICTIONARY_PAGE || header.encoding != PLAIN {
            return Err(PageError("dictionary page expected"));
        }
        let dictionary = match self.physical {
            Physical::Int => {
                let mut ints = Vec::new();
                plain_ints(&body, header.values, &mut ints)?;
                Dictionary::Ints(Arc::new(ints))
            }
            Physical::Bytes => {
                let mut dict = Dict::default();
                plain_bytes(&body, header.values, &mut dict)?;
                Dictionary::Bytes(Arc::new(dict))
            }
            _ => return Err(PageError("dictionary of a type that has none")),
        };
        self.with_dictionary(dictionary);
        Ok(())
    }

    /// Takes a dictionary that was decoded before; it comes before any data page.
    pub(crate) fn with_dictionary(&mut self, dictionary: Dictionary) {
        if let (Values::Bytes(_, slot), Dictionary::Bytes(dict)) = (&mut self.values, &dictionary) {
            *slot = Arc::clone(dict);
        }
        self.dictionary = Some(dictionary);
    }

    /// The dictionary, to be used for other pages of the column.
    pub(crate) fn dictionary(&self) -> Option<&Dictionary> {
        self.dictionary.as_ref()
    }

    /// Appends all the data pages that `bytes` holds one after another.
    pub(crate) fn data_pages(&mut self, mut bytes: &[u8]) -> Result<(), PageError> {
        while !bytes.is_empty() {
            let taken = self.data_page(bytes)?;
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Appends the data page at the start of `bytes` and tells its length.
    pub(crate) fn data_page(&mut self, bytes: &[u8]) -> Result<usize, PageError> {
        let (header, body, taken) = open(bytes)?;
        if header.kind != DATA_PAGE {
            return Err(PageError("data page expected"));
        }
        let mut body = &body[..];
        let present = self.read_levels(&mut body, header.values)?;
        self.page_values(body, header.encoding, present)?;
        Ok(taken)
    }

    /// Reads the levels; returns how many values follow.
    fn read_levels(&mut self, body: &mut &[u8], slots: usize) -> Result<usize, PageError> {
        if slots > MAX_PAGE_BYTES {
            return Err(PageError("more values than a page can hold"));
        }
        self.levels += slots as u64;
        match self.nesting {
            Nesting::Required => {
                self.slots += slots as u32;
                Ok(slots)
            }
            Nesting::Optional => {
                level_run(body, 1, slots, &mut self.codes)?;
                let before = self.present.len();
                // Written always, kept when marked: no branch to mispredict.
                self.present.resize(before + self.codes.len(), 0);
                let mut kept = before;
                for (slot, level) in (self.slots..).zip(&self.codes) {
                    self.present[kept] = slot;
                    kept += usize::from(*level == 1);
                }
                self.present.truncate(kept);
                self.slots += slots as u32;
                Ok(kept - before)
            }
            Nesting::List { optional } => {
                let mut repeats = Vec::new();
                level_run(body, 1, slots, &mut repeats)?;
                level_run(body, if optional { 2 } else { 1 }, slots, &mut self.codes)?;
                let mut values = 0;
                for (repeat, level) in repeats.iter().zip(&self.codes) {
                    if *repeat == 0 {
                        self.counts.push(0);
                    }
                    if *level == 0 {
                        continue;
                    }
                    let count = self.counts.last_mut().ok_or(PageError("element without list"))?;
                    *count += 1;
                    if !optional || *level == 2 {
                        self.present.push(self.slots);
                        values += 1;
                    }
                    self.slots += 1;
                }
                Ok(values)
            }
        }
    }

    fn page_values(&mut self, body: &[u8], encoding: i32, count: usize) -> Result<(), PageError> {
        if encoding == RLE_DICTIONARY {
            return self.coded_values(body, count);
        }
        match (&mut self.values, encoding) {
            (Values::Int(out), PLAIN) => plain_ints(body, count, out)?,
            (Values::Int(out), DELTA_BINARY_PACKED) => delta::decode(body, count, out)?,
            (Values::Double(out), PLAIN) => {
                let body = exactly(body, count, 8)?;
                out.extend(
                    body.chunks_exact(8).map(|b| f64::from_bits(u64::from_le_bytes(fixed(b)))),
                );
            }
            (Values::Bool(out), PLAIN) => {
                let body = exactly(body, count.div_ceil(8), 1)?;
                out.extend((0..count).map(|i| body[i / 8] >> (i % 8) & 1 == 1));
            }
            (Values::Id8(out), PLAIN) => {
                out.extend(exactly(body, count, 8)?.chunks_exact(8).map(fixed::<8>));
            }
            (Values::Id16(out), PLAIN) => {
                out.extend(exactly(body, count, 16)?.chunks_exact(16).map(fixed::<16>));
            }
            (Values::Bytes(codes, dict), PLAIN) => {
                let dict = Arc::make_mut(dict);
                let first = dict.len() as u32;
                plain_bytes(body, count, dict)?;
                codes.extend(first..dict.len() as u32);
            }
            _ => return Err(PageError("encoding that is never written")),
        }
        Ok(())
    }

    fn coded_values(&mut self, body: &[u8], count: usize) -> Result<(), PageError> {
        let width = *body.first().ok_or(PageError("codes cut short"))?;
        match (&mut self.values, &self.dictionary) {
            (Values::Int(out), Some(Dictionary::Ints(ints))) => {
                self.codes.clear();
                rle::decode(&body[1..], width, count, &mut self.codes)?;
                out.reserve(count);
                for code in &self.codes {
                    let value = ints.get(*code as usize).ok_or(PageError("code without entry"))?;
                    out.push(*value);
                }
            }
            (Values::Bytes(codes, dict), Some(Dictionary::Bytes(_))) => {
                let first = codes.len();
                rle::decode(&body[1..], width, count, codes)?;
                if codes[first..].iter().any(|code| *code as usize >= dict.len()) {
                    return Err(PageError("code without entry"));
                }
            }
            _ => return Err(PageError("codes without dictionary")),
        }
        Ok(())
    }

    /// Rows, or elements and empty lists, so far.
    pub(crate) fn levels(&self) -> u64 {
        self.levels
    }

    /// The column of all pages taken so far, which must be that of so many rows.
    /// Row 0 is the first page's first.
    pub(crate) fn finish(self, rows: usize) -> Result<Decoded, PageError> {
        let found = match self.nesting {
            Nesting::List { .. } => self.counts.len(),
            _ => self.slots as usize,
        };
        if found != rows {
            return Err(PageError("column of another number of rows"));
        }
        let all = match self.nesting {
            Nesting::Required => true,
            _ => self.present.len() == self.slots as usize,
        };
        let rows = if all { Rows::All } else { Rows::Some(self.present) };
        Ok(Decoded { column: Column { rows, values: self.values }, counts: self.counts })
    }
}

fn level_run(
    body: &mut &[u8],
    width: u8,
    count: usize,
    out: &mut Vec<u32>,
) -> Result<(), PageError> {
    let (length, rest) = body.split_at_checked(4).ok_or(PageError("levels cut short"))?;
    let length = u32::from_le_bytes(fixed(length)) as usize;
    let (levels, rest) = rest.split_at_checked(length).ok_or(PageError("levels cut short"))?;
    out.clear();
    rle::decode(levels, width, count, out)?;
    *body = rest;
    Ok(())
}

/// The first `N` bytes; callers have checked that they are there.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[..N]);
    out
}

fn exactly(body: &[u8], count: usize, width: usize) -> Result<&[u8], PageError> {
    let length = count.checked_mul(width).ok_or(PageError("too many values"))?;
    if body.len() == length { Ok(body) } else { Err(PageError("values cut short")) }
}

fn plain_ints(body: &[u8], count: usize, out: &mut Vec<i64>) -> Result<(), PageError> {
    let body = exactly(body, count, 8)?;
    out.extend(body.chunks_exact(8).map(|b| i64::from_le_bytes(fixed(b))));
    Ok(())
}

fn plain_bytes(mut body: &[u8], count: usize, dict: &mut Dict) -> Result<(), PageError> {
    let lengths = count.checked_mul(4).filter(|bytes| *bytes <= body.len());
    let lengths = lengths.ok_or(PageError("text cut short"))?;
    dict.reserve(count, body.len() - lengths);
    for _ in 0..count {
        let (length, rest) = body.split_at_checked(4).ok_or(PageError("text cut short"))?;
        let length = u32::from_le_bytes(fixed(length)) as usize;
        let (value, rest) = rest.split_at_checked(length).ok_or(PageError("text cut short"))?;
        dict.push(value);
        body = rest;
    }
    Ok(())
}
