//! One column to pages.
//!
//! Values come dense, one for each row (or each list element), with a mark for
//! those that are there. Pages end at granule boundaries, so that granule *g*
//! of every column is its page *g*. Where several encodings fit, the first
//! granule is encoded with each of them and the smallest result decides.

use bytes::Bytes;
use parquet::basic::Encoding;
use parquet::column::page::{CompressedPage, Page, PageWriter};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use super::chunk_meta::{Bounds, ChunkMeta, PageStats, int_bounds};
use super::{GRANULE_ROWS, bits_for, delta, rle};
use crate::column::Dict;

/// Entries beyond which a dictionary costs more than it saves.
const DICTIONARY_MAX_ENTRIES: usize = 1 << 16;
/// Bits of zstd's table of places to look for matches at: a small one forgets all
/// but the last.
const NEAR_MATCHES_LOG: u32 = 10;
/// As many as the level has.
const LEVELS_OWN_LOG: u32 = 0;
/// Pages of fewer bytes are not worth trying both.
const MATCHES_MIN_BYTES: usize = 16 << 10;
/// Bytes beyond which a dictionary makes reading one page too dear.
const DICTIONARY_MAX_BYTES: usize = 1 << 20;

/// Which rows or elements have a value.
#[derive(Clone, Copy)]
pub(crate) enum Levels<'a> {
    /// Every row.
    Required,
    /// Rows marked 1.
    Optional(&'a [u8]),
    /// Every row has a list of so many elements; those marked 1 have a value.
    List { counts: &'a [u32], present: Option<&'a [u8]> },
}

/// A value for each row or element, also where none is there.
#[derive(Clone, Copy)]
pub(crate) enum Dense<'a> {
    Int(&'a [i64]),
    Double(&'a [f64]),
    Bool(&'a [u8]),
    /// Fixed length: all values one after another.
    Fixed(&'a [u8], usize),
    Bytes(&'a [u32], &'a Dict),
}

/// What is known of a column beforehand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Hint {
    /// Try what fits the type.
    Auto,
    /// Codes into a table, words of an enumeration: always a dictionary.
    Dictionary,
    /// Times and durations: deltas, without counting distinct values.
    Delta,
    /// Random, already compressed, or the same for many rows on end: plain, the
    /// rest is zstd's.
    Plain,
}

/// An encoded column chunk, ready for [`parquet`]'s row group writer.
pub(crate) struct Encoded {
    pub(crate) bytes: Bytes,
    pub(crate) close: ColumnCloseResult,
    /// Whether values are codes into a dictionary page.
    pub(crate) dictionary: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layout {
    Plain,
    Delta,
    /// Codes of this many bits.
    Codes(u8),
}

impl Layout {
    fn encoding(self) -> Encoding {
        match self {
            Layout::Plain => Encoding::PLAIN,
            Layout::Delta => Encoding::DELTA_BINARY_PACKED,
            Layout::Codes(_) => Encoding::RLE_DICTIONARY,
        }
    }
}

/// Encodes columns, one after another, with the same buffers.
pub(crate) struct Encoder {
    zstd: Compressor<'static>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    ints: Vec<i64>,
    codes: Vec<u32>,
    levels: Vec<u8>,
    repeats: Vec<u8>,
    page: Vec<u8>,
}

/// The int or byte values as codes, and the dictionary page's plain bytes.
struct Coded<'a> {
    codes: std::borrow::Cow<'a, [u32]>,
    entries: usize,
    dictionary: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new(level: i32) -> std::io::Result<Self> {
        let mut zstd = Compressor::new(level)?;
        // Noise in a file must be seen before it is taken for data.
        zstd.set_parameter(CParameter::ChecksumFlag(true))?;
        Ok(Self { zstd, scratch: Scratch::default() })
    }

    /// Compresses bytes that are not a page, with a checksum.
    pub(crate) fn compress(&mut self, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        self.zstd.compress(bytes)
    }

    pub(crate) fn encode(
        &mut self,
        descr: &ColumnDescPtr,
        rows: usize,
        levels: Levels<'_>,
        values: Dense<'_>,
        hint: Hint,
    ) -> Result<Encoded, ParquetError> {
        let granules = granules(rows, levels);
        let coded = coded(values, levels, hint);
        let layout = self.choose(&granules, levels, values, hint, coded.as_ref())?;
        if layout == Layout::Plain && matches!(values, Dense::Bytes(..)) {
            self.choose_matches(&granules, levels, values)?;
        }
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let mut chunk = ChunkMeta::new(descr.physical_type());
        if let (Layout::Codes(_), Some(coded)) = (layout, &coded) {
            let page = Page::DictionaryPage {
                buf: self.zstd.compress(&coded.dictionary)?.into(),
                num_values: coded.entries as u32,
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            let spec = pages.write_page(CompressedPage::new(page, coded.dictionary.len()))?;
            chunk.dictionary(&spec);
        }
        for granule in &granules {
            let stats =
                self.fill_page(granule, levels, values, coded.as_ref().map(|c| &*c.codes), layout);
            let page = Page::DataPage {
                buf: self.zstd.compress(&self.scratch.page)?.into(),
                num_values: stats.slots as u32,
                encoding: layout.encoding(),
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            let spec = pages.write_page(CompressedPage::new(page, self.scratch.page.len()))?;
            chunk.data_page(&spec, granule.rows.len(), stats);
        }
        self.zstd.set_parameter(CParameter::HashLog(LEVELS_OWN_LOG))?;
        let bytes = Bytes::from(sink.into_inner()?);
        let dictionary = matches!(layout, Layout::Codes(_));
        let close = chunk.close(descr, bytes.len(), rows, layout.encoding())?;
        Ok(Encoded { bytes, close, dictionary })
    }

    /// The layout that makes the first granule with values smallest.
    fn choose(
        &mut self,
        granules: &[Granule],
        levels: Levels<'_>,
        values: Dense<'_>,
        hint: Hint,
        coded: Option<&Coded<'_>>,
    ) -> Result<Layout, ParquetError> {
        let mut candidates = Vec::with_capacity(3);
        if let Some(coded) = coded {
            let exact = bits_for(coded.entries.saturating_sub(1) as u64);
            candidates.push(Layout::Codes(exact));
            // Codes on byte boundaries let zstd see repeated patterns.
            let aligned = exact.next_multiple_of(8);
            if exact > 0 && aligned != exact {
                candidates.push(Layout::Codes(aligned));
            }
        } else {
            match (values, hint) {
                (Dense::Int(_), Hint::Delta) => candidates.push(Layout::Delta),
                (Dense::Int(_), Hint::Auto | Hint::Dictionary) => {
                    candidates.extend([Layout::Delta, Layout::Plain]);
                }
                _ => candidates.push(Layout::Plain),
            }
        }
        if let [only] = candidates[..] {
            return Ok(only);
        }
        let Some(sample) = granules.iter().find(|g| has_values(g, levels)) else {
            return Ok(candidates[0]);
        };
        let mut best = (usize::MAX, candidates[0]);
        for layout in candidates {
            self.fill_page(sample, levels, values, coded.map(|c| &*c.codes), layout);
            let size = self.zstd.compress(&self.scratch.page)?.len();
            if size < best.0 {
                best = (size, layout);
            }
        }
        Ok(best.1)
    }

    /// How far back matches are looked for, for texts: where these are random but
    /// for their frame, those that are found far back are by chance, and cost more
    /// than they save.
    fn choose_matches(
        &mut self,
        granules: &[Granule],
        levels: Levels<'_>,
        values: Dense<'_>,
    ) -> Result<(), ParquetError> {
        let Some(sample) = granules.iter().find(|g| has_values(g, levels)) else { return Ok(()) };
        self.fill_page(sample, levels, values, None, Layout::Plain);
        if self.scratch.page.len() < MATCHES_MIN_BYTES {
            return Ok(());
        }
        let mut best = (usize::MAX, LEVELS_OWN_LOG);
        for log in [LEVELS_OWN_LOG, NEAR_MATCHES_LOG] {
            self.zstd.set_parameter(CParameter::HashLog(log))?;
            let size = self.zstd.compress(&self.scratch.page)?.len();
            best = best.min((size, log));
        }
        self.zstd.set_parameter(CParameter::HashLog(best.1))?;
        Ok(())
    }

    /// Writes levels and values of a granule to the scratch page, uncompressed.
    fn fill_page(
        &mut self,
        granule: &Granule,
        levels: Levels<'_>,
        values: Dense<'_>,
        codes: Option<&[u32]>,
        layout: Layout,
    ) -> PageStats {
        let scratch = &mut self.scratch;
        scratch.page.clear();
        let slots = write_levels(granule, levels, scratch);
        let present = match levels {
            Levels::Required | Levels::List { present: None, .. } => None,
            Levels::Optional(p) | Levels::List { present: Some(p), .. } => {
                Some(&p[granule.slots.clone()])
            }
        };
        let range = granule.slots.clone();
        let mut stats = PageStats { slots, present: 0, bounds: Bounds::None };
        match (values, layout) {
            (_, Layout::Codes(width)) => {
                let codes = codes.unwrap_or_default();
                gather(&codes[range.clone()], present, &mut scratch.codes);
                stats.present = scratch.codes.len();
                scratch.page.push(width);
                rle::encode(&scratch.codes, width, &mut scratch.page);
                if let Dense::Int(ints) = values {
                    gather(&ints[range], present, &mut scratch.ints);
                    stats.bounds = int_bounds(&scratch.ints);
                }
            }
            (Dense::Int(ints), _) => {
                gather(&ints[range], present, &mut scratch.ints);
                stats.present = scratch.ints.len();
                stats.bounds = int_bounds(&scratch.ints);
                if layout == Layout::Delta {
                    delta::encode(&scratch.ints, &mut scratch.page);
                } else {
                    scratch.page.extend(scratch.ints.iter().flat_map(|v| v.to_le_bytes()));
                }
            }
            (Dense::Double(doubles), _) => {
                for_present(range.len(), present, |i| {
                    let value = doubles[range.start + i];
                    scratch.page.extend_from_slice(&value.to_le_bytes());
                    stats.present += 1;
                    stats.bounds.widen_double(value);
                });
            }
            (Dense::Bool(bools), _) => {
                let (mut byte, mut bits) = (0u8, 0u32);
                for_present(range.len(), present, |i| {
                    byte |= (bools[range.start + i] & 1) << bits;
                    bits += 1;
                    stats.present += 1;
                    if bits == 8 {
                        scratch.page.push(byte);
                        (byte, bits) = (0, 0);
                    }
                });
                if bits > 0 {
                    scratch.page.push(byte);
                }
            }
            (Dense::Fixed(bytes, width), _) => for_present(range.len(), present, |i| {
                let at = (range.start + i) * width;
                scratch.page.extend_from_slice(&bytes[at..at + width]);
                stats.present += 1;
            }),
            (Dense::Bytes(codes, dict), _) => for_present(range.len(), present, |i| {
                let value = dict.get(codes[range.start + i]);
                scratch.page.extend_from_slice(&(value.len() as u32).to_le_bytes());
                scratch.page.extend_from_slice(value);
                stats.present += 1;
            }),
        }
        stats
    }
}

/// Rows of one page and the values (rows or list elements) that belong to them.
struct Granule {
    rows: std::ops::Range<usize>,
    slots: std::ops::Range<usize>,
}

fn granules(rows: usize, levels: Levels<'_>) -> Vec<Granule> {
    let mut slot = 0;
    (0..rows)
        .step_by(GRANULE_ROWS)
        .map(|first| {
            let rows = first..(first + GRANULE_ROWS).min(rows);
            let length = match levels {
                Levels::List { counts, .. } => {
                    counts[rows.clone()].iter().map(|c| *c as usize).sum()
                }
                _ => rows.len(),
            };
            slot += length;
            Granule { rows, slots: slot - length..slot }
        })
        .collect()
}

fn has_values(granule: &Granule, levels: Levels<'_>) -> bool {
    match levels {
        Levels::Required | Levels::List { present: None, .. } => !granule.slots.is_empty(),
        Levels::Optional(p) | Levels::List { present: Some(p), .. } => {
            p[granule.slots.clone()].contains(&1)
        }
    }
}

/// Appends repetition and definition levels; returns how many slots the page has.
fn write_levels(granule: &Granule, levels: Levels<'_>, scratch: &mut Scratch) -> usize {
    let page = &mut scratch.page;
    match levels {
        Levels::Required => granule.rows.len(),
        Levels::Optional(present) => {
            write_level_run(&present[granule.slots.clone()], 1, page);
            granule.rows.len()
        }
        Levels::List { counts, present } => {
            scratch.levels.clear();
            scratch.repeats.clear();
            let mut slot = granule.slots.start;
            for count in &counts[granule.rows.clone()] {
                if *count == 0 {
                    scratch.repeats.push(0);
                    scratch.levels.push(0);
                }
                for nth in 0..*count {
                    scratch.repeats.push(u8::from(nth > 0));
                    scratch.levels.push(1 + present.map_or(0, |p| p[slot]));
                    slot += 1;
                }
            }
            write_level_run(&scratch.repeats, 1, page);
            write_level_run(&scratch.levels, if present.is_some() { 2 } else { 1 }, page);
            scratch.levels.len()
        }
    }
}

fn write_level_run(levels: &[u8], width: u8, page: &mut Vec<u8>) {
    let at = page.len();
    page.extend_from_slice(&[0; 4]);
    rle::encode(levels, width, page);
    let length = (page.len() - at - 4) as u32;
    page[at..at + 4].copy_from_slice(&length.to_le_bytes());
}

#[inline]
fn for_present(count: usize, present: Option<&[u8]>, mut each: impl FnMut(usize)) {
    match present {
        None => (0..count).for_each(each),
        Some(marks) => {
            for (i, mark) in marks.iter().enumerate() {
                if *mark == 1 {
                    each(i);
                }
            }
        }
    }
}

#[inline]
fn gather<T: Copy + Default>(values: &[T], present: Option<&[u8]>, out: &mut Vec<T>) {
    out.clear();
    match present {
        None => out.extend_from_slice(values),
        Some(marks) => {
            // Written always, kept when marked: no branch to mispredict.
            out.resize(values.len(), T::default());
            let mut kept = 0;
            for (value, mark) in values.iter().zip(marks) {
                out[kept] = *value;
                kept += usize::from(*mark);
            }
            out.truncate(kept);
        }
    }
}

/// Whether a dictionary page may have so many entries and bytes.
pub(crate) fn fits_dictionary(dict: &Dict) -> bool {
    dict.len() <= DICTIONARY_MAX_ENTRIES && dict.total_bytes() <= DICTIONARY_MAX_BYTES
}

/// Values as codes, where a dictionary pays.
fn coded<'a>(values: Dense<'a>, levels: Levels<'_>, hint: Hint) -> Option<Coded<'a>> {
    match (values, hint) {
        (_, Hint::Plain | Hint::Delta) => None,
        (Dense::Bytes(_, dict), _) if dict.is_empty() => None,
        (Dense::Bytes(codes, dict), _) => {
            let small = fits_dictionary(dict) && dict.len() * 2 <= codes.len().max(64);
            if !small && hint != Hint::Dictionary {
                return None;
            }
            let mut dictionary = Vec::with_capacity(dict.total_bytes() + dict.len() * 4);
            for value in dict.iter() {
                dictionary.extend_from_slice(&(value.len() as u32).to_le_bytes());
                dictionary.extend_from_slice(value);
            }
            Some(Coded { codes: codes.into(), entries: dict.len(), dictionary })
        }
        (Dense::Int(ints), _) => {
            let present = match levels {
                Levels::Optional(p) | Levels::List { present: Some(p), .. } => Some(p),
                _ => None,
            };
            coded_ints(ints, present)
        }
        _ => None,
    }
}

fn coded_ints<'a>(ints: &[i64], present: Option<&[u8]>) -> Option<Coded<'a>> {
    let mut seen: hashbrown::HashMap<i64, u32> = hashbrown::HashMap::new();
    let mut dictionary = Vec::new();
    let mut codes = vec![0u32; ints.len()];
    let mut last = None;
    let mut count = 0usize;
    for (i, value) in ints.iter().enumerate() {
        if present.is_some_and(|p| p[i] == 0) {
            continue;
        }
        count += 1;
        if let Some((value_before, code)) = last
            && value_before == *value
        {
            codes[i] = code;
            continue;
        }
        let next = seen.len() as u32;
        let code = *seen.entry(*value).or_insert_with(|| {
            dictionary.extend_from_slice(&value.to_le_bytes());
            next
        });
        codes[i] = code;
        last = Some((*value, code));
        // More than one new value in four, or too many: not worth a dictionary.
        if seen.len() > DICTIONARY_MAX_ENTRIES || (seen.len() > 1024 && seen.len() * 4 > count) {
            return None;
        }
    }
    let entries = seen.len();
    (entries > 0).then(|| Coded { codes: codes.into(), entries, dictionary })
}
