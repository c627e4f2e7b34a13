//! Reading columns of one source, granule by granule.
//!
//! A narrow column that the cache has is used from there. One that it lacks is
//! read by single granules at first, since few may be wanted; when more are, it
//! is decoded whole, into the cache.

use std::sync::Arc;

use arrow_array::ArrayRef;
use hashbrown::HashMap;
use kymo_wire::{AnyValueView, kvlist_entries};

use super::ScanStats;
use super::build::texts_of;
use super::cache::{ColumnCache, Kept, What};
use super::compile::{OriginValue, is_derived};
use super::keys::wanted;
use super::lists::ListPiece;
use super::origins::OriginColumn;
use super::packed::{Packed, Piece, Slice};
use super::part::{Leaf, Marks, Part};
use super::value_test::{ValueTest, type_of};
use crate::block::read::Block;
use crate::block::source::Source;
use crate::chunk::Chunk;
use crate::column::{Column, Dict, Values};
use crate::error::StoreError;
use crate::limits::{SCAN_BATCH_MAX_BYTES, SCAN_WHOLE_COLUMNS_BYTES};
use crate::schema::{Kind, ValueType};

/// Granules of a column that are read singly before all of it is decoded.
const SINGLE_READS: u32 = 4;
/// A dictionary that nothing keeps is made an array if it has at most so many
/// entries for each row of the batch; else only the entries in use are.
const ENTRIES_PER_ROW: usize = 4;

/// A column, or a granule of it, ready to be looped over.
#[derive(Debug, Clone)]
pub(super) enum Loaded {
    /// A column of a chunk.
    Chunk(Arc<Chunk>, Leaf),
    /// All rows of a block.
    Whole(Arc<Packed>),
    /// One granule of a block.
    Granule(Arc<Column>),
    /// All rows of a source, derived from others.
    Derived(Arc<Column>),
}

impl Loaded {
    pub(super) fn piece(&self, granule: usize, rows: std::ops::Range<usize>) -> Piece<'_> {
        match self {
            Loaded::Chunk(chunk, leaf) => match chunk_column(chunk, *leaf) {
                Some(column) => column.piece(rows),
                None => Piece::NONE,
            },
            Loaded::Whole(packed) => packed.piece(granule, rows),
            Loaded::Granule(column) => column.piece(0..rows.len()),
            Loaded::Derived(column) => column.piece(rows),
        }
    }

    /// The dictionary of a column of texts.
    fn dict(&self) -> Option<&Arc<Dict>> {
        let column = match self {
            Loaded::Chunk(chunk, leaf) => chunk_column(chunk, *leaf)?,
            Loaded::Granule(column) | Loaded::Derived(column) => column,
            Loaded::Whole(packed) => return packed.dict(),
        };
        match &column.values {
            Values::Bytes(_, dict) => Some(dict),
            _ => None,
        }
    }
}

fn chunk_column(chunk: &Chunk, leaf: Leaf) -> Option<&Column> {
    match leaf {
        Leaf::Field(field) => chunk.fields[field].as_ref(),
        Leaf::Attribute(nth) => Some(&chunk.attributes[nth].1),
    }
}

/// What one thread remembers of a source while it reads it.
#[derive(Debug)]
pub(super) struct Reader {
    part: Arc<Part>,
    pub(super) cache: ColumnCache,
    whole: HashMap<Leaf, Arc<Packed>>,
    whole_bytes: usize,
    /// The granule of each column that was read last.
    last: HashMap<Leaf, (usize, Arc<Column>)>,
    /// The same with what is known of whole traces.
    last_derived: HashMap<Leaf, (usize, Arc<Column>)>,
    /// Ids of parents of the granule that was read last.
    pub(super) last_parents: Option<(usize, Arc<Column>)>,
    /// The list and granule whose elements were read last.
    pub(super) last_list: Option<((usize, usize), Arc<ListPiece>)>,
    single_reads: HashMap<Leaf, u32>,
    /// Values of origins that batches show.
    origins: HashMap<OriginValue, Arc<OriginColumn>>,
    /// Which entries of a dictionary pass a test.
    pub(super) marks: HashMap<(usize, Leaf), Arc<Marks>>,
    /// Tests of its own, in place of those that all threads share.
    pub(super) own_tests: HashMap<usize, Option<Arc<ValueTest>>>,
    /// Dictionaries as batches show them.
    texts: HashMap<Leaf, (Arc<Dict>, ArrayRef)>,
}

impl Reader {
    pub(super) fn new(part: Arc<Part>, cache: ColumnCache) -> Self {
        Self {
            part,
            cache,
            whole: HashMap::new(),
            whole_bytes: 0,
            last: HashMap::new(),
            last_derived: HashMap::new(),
            last_parents: None,
            last_list: None,
            single_reads: HashMap::new(),
            origins: HashMap::new(),
            marks: HashMap::new(),
            own_tests: HashMap::new(),
            texts: HashMap::new(),
        }
    }

    /// Bytes of whole columns that it keeps from being forgotten.
    pub(super) fn held_bytes(&self) -> usize {
        self.whole_bytes
    }

    pub(super) fn part(&self) -> Arc<Part> {
        self.part.clone()
    }

    /// A column with at least the rows of `granule`; `None` if no row has a value.
    pub(super) fn load(
        &mut self,
        leaf: Leaf,
        granule: usize,
        stats: &mut ScanStats,
    ) -> Result<Option<Loaded>, StoreError> {
        if let Some(derived) = self.load_derived(leaf, granule, stats)? {
            return Ok(Some(derived));
        }
        let part = self.part();
        match &part.source {
            Source::Chunk(chunk) => {
                let is_there = chunk_column(chunk, leaf).is_some();
                Ok(is_there.then(|| Loaded::Chunk(chunk.clone(), leaf)))
            }
            Source::Block(block) => self.load_block(block, leaf, granule, stats).map(Some),
        }
    }

    /// A column that is derived from whole traces, where what the source itself
    /// has of it is not all.
    fn load_derived(
        &mut self,
        leaf: Leaf,
        granule: usize,
        stats: &mut ScanStats,
    ) -> Result<Option<Loaded>, StoreError> {
        let part = self.part();
        let (Leaf::Field(field), Some(traces)) = (leaf, &part.traces) else { return Ok(None) };
        if !is_derived(part.table.signal, field) || !traces.touches(part.rows(granule)) {
            return Ok(None);
        }
        let block = match &part.source {
            Source::Chunk(_) => return Ok(traces.column(field).map(Loaded::Derived)),
            Source::Block(block) => block,
        };
        if let Some((last, column)) = self.last_derived.get(&leaf)
            && *last == granule
        {
            return Ok(Some(Loaded::Granule(column.clone())));
        }
        let stored = self.load_block(block, leaf, granule, stats)?;
        let rows = part.rows(granule);
        let column = Arc::new(traces.patch(field, &stored.piece(granule, rows.clone()), rows)?);
        self.last_derived.insert(leaf, (granule, column.clone()));
        Ok(Some(Loaded::Granule(column)))
    }

    /// The dictionary of a column that was loaded, as an array; with `more` as its
    /// last entry. `None` if it is too large for a batch of so many rows.
    pub(super) fn texts(
        &mut self,
        leaf: Leaf,
        loaded: &Loaded,
        rows: usize,
        more: Option<&str>,
    ) -> Option<ArrayRef> {
        let dict = loaded.dict()?;
        if let Loaded::Whole(packed) = loaded {
            return Some(packed.texts(|| texts_of(dict, more)));
        }
        if let Some((known, texts)) = self.texts.get(&leaf)
            && Arc::ptr_eq(known, dict)
        {
            return Some(texts.clone());
        }
        if dict.len() > rows * ENTRIES_PER_ROW || dict.total_bytes() > SCAN_BATCH_MAX_BYTES {
            return None;
        }
        let texts = texts_of(dict, more);
        self.texts.insert(leaf, (dict.clone(), texts.clone()));
        Some(texts)
    }

    fn load_block(
        &mut self,
        block: &Block,
        leaf: Leaf,
        granule: usize,
        stats: &mut ScanStats,
    ) -> Result<Loaded, StoreError> {
        if let Some(whole) = self.whole.get(&leaf) {
            return Ok(Loaded::Whole(whole.clone()));
        }
        if let Some((last, column)) = self.last.get(&leaf)
            && *last == granule
        {
            return Ok(Loaded::Granule(column.clone()));
        }
        if let Some(whole) = self.whole_column(block, leaf, stats)? {
            self.whole_bytes += whole.heap_bytes();
            self.whole.insert(leaf, whole.clone());
            return Ok(Loaded::Whole(whole));
        }
        let granules = Some(granule..granule + 1);
        let column = match leaf {
            Leaf::Field(field) => block.field(field, granules)?,
            Leaf::Attribute(nth) => block.attribute_granules(nth, granules)?,
        };
        stats.pages_read += 1;
        let column = Arc::new(column.fitting(self.part.rows(granule).len())?);
        self.last.insert(leaf, (granule, column.clone()));
        Ok(Loaded::Granule(column))
    }

    /// The whole column, if it is narrow, and cached or wanted often enough.
    fn whole_column(
        &mut self,
        block: &Block,
        leaf: Leaf,
        stats: &mut ScanStats,
    ) -> Result<Option<Arc<Packed>>, StoreError> {
        let (number, kind) = match leaf {
            Leaf::Field(field) => (field, self.part.table.fields[field].kind),
            Leaf::Attribute(nth) => {
                let attribute = &block.attributes()[nth];
                (attribute.leaf, attribute.key.value_type.kind())
            }
        };
        let Some(estimate_bytes) = narrow_bytes(block, number, kind) else { return Ok(None) };
        let reads = self.single_reads.entry(leaf).or_default();
        *reads += 1;
        if *reads == 1 {
            if let Some(Kept::Column(packed)) = self.cache.get(block.path(), &What::Leaf(number)) {
                stats.cache_hits += 1;
                return Ok(Some(packed));
            }
            stats.cache_misses += 1;
        }
        let is_read_often = *reads > SINGLE_READS.min(block.granules() as u32 - 1);
        if !is_read_often || self.whole_bytes >= SCAN_WHOLE_COLUMNS_BYTES {
            return Ok(None);
        }
        let make = || {
            let column = match leaf {
                Leaf::Field(field) => block.field(field, None)?,
                Leaf::Attribute(nth) => block.attribute(nth)?,
            };
            stats.pages_read += block.granules();
            Packed::new(column.fitting(block.rows())?, block.rows())
                .map(|packed| {
                    let bytes = packed.heap_bytes();
                    (Kept::Column(Arc::new(packed)), bytes)
                })
                .ok_or_else(|| StoreError::corrupt("a column has another type"))
        };
        let kept =
            self.cache.get_or_make(block.path(), &What::Leaf(number), estimate_bytes, make)?;
        Ok(match kept {
            Some(Kept::Column(packed)) => Some(packed),
            _ => None,
        })
    }

    /// A value of each origin.
    pub(super) fn origin_column(
        &mut self,
        value: &OriginValue,
    ) -> Result<Arc<OriginColumn>, StoreError> {
        if let Some(column) = self.origins.get(value) {
            return Ok(column.clone());
        }
        let column = OriginColumn::of(&self.part.source, value, &self.cache)?;
        self.origins.insert(value.clone(), column.clone());
        Ok(column)
    }

    /// Calls `each` with every value that the row has in `rest` under `key`.
    pub(super) fn each_in_rest<'d>(
        piece: &Piece<'d>,
        row: u32,
        key: &[u8],
        value_type: Option<ValueType>,
        mut each: impl FnMut(ValueType, AnyValueView<'d>),
    ) {
        let (Some(nth), Slice::Bytes(codes, dict)) = (piece.index_of(row), piece.values) else {
            return;
        };
        for attribute in kvlist_entries(dict.get(codes.get(nth) as u32)).flatten() {
            if attribute.key == key
                && wanted(&attribute.value, value_type)
                && let Some(found) = type_of(&attribute.value)
            {
                each(found, attribute.value);
            }
        }
    }
}

/// Bytes that a column takes when decoded; `None` if it is not worth keeping.
fn narrow_bytes(block: &Block, leaf: usize, kind: Kind) -> Option<usize> {
    let chunk = block.metadata().row_group(0).column(leaf);
    match kind {
        Kind::Id8 | Kind::Id16 => None,
        Kind::Time | Kind::Int | Kind::Double => Some(block.rows() * 8),
        Kind::Bool => Some(block.rows()),
        Kind::Text | Kind::Binary => {
            let bytes = chunk.uncompressed_size().max(0) as usize;
            // Values without a dictionary are long or all different, but there may
            // be hardly any.
            let is_narrow = chunk.dictionary_page_offset().is_some() || bytes < block.rows();
            is_narrow.then_some(block.rows() * 4 + bytes)
        }
    }
}
