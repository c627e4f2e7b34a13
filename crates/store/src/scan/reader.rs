//! Reading columns of one source and testing their rows, granule by granule.
//!
//! A narrow column that the cache has is used from there. One that it lacks is
//! read by single granules at first, since few may be wanted; when more are, it
//! is decoded whole, into the cache.

use std::sync::Arc;

use hashbrown::HashMap;
use kymo_wire::{AnyValueView, View, kvlist_entries};

use super::cache::{Kept, What};
use super::compile::{Compiled, Node, OriginValue, Target, Test};
use super::int_test::Verdict;
use super::keys::{Types, wanted};
use super::mask::Mask;
use super::origins::OriginColumn;
use super::packed::{Ints, Packed, Piece, Slice};
use super::part::{Bound, Leaf, Marks, Part, TestedColumn};
use super::value_test::{ValueTest, type_of};
use super::{ScanContext, ScanStats};
use crate::block::read::Block;
use crate::block::source::Source;
use crate::column::{Column, Rows, Values};
use crate::error::StoreError;
use crate::pages::GRANULE_ROWS;
use crate::schema::{Kind, ValueType};
use crate::tables::spans;

/// Granules of a column that are read singly before all of it is decoded.
const SINGLE_READS: u32 = 4;

/// A column, or a granule of it, ready to be looped over.
#[derive(Debug, Clone)]
pub(super) enum Loaded<'a> {
    /// All rows of a chunk.
    Chunk(&'a Column),
    /// All rows of a block.
    Whole(Arc<Packed>),
    /// One granule of a block.
    Granule(Arc<Column>),
}

impl Loaded<'_> {
    pub(super) fn piece(&self, granule: usize, rows: std::ops::Range<usize>) -> Piece<'_> {
        match self {
            Loaded::Chunk(column) => column.piece(rows),
            Loaded::Whole(packed) => packed.piece(granule, rows),
            Loaded::Granule(column) => column.piece(0..rows.len()),
        }
    }
}

/// What one thread remembers of a source while it reads it.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    part: &'a Part<'a>,
    context: &'a ScanContext<'a>,
    whole: HashMap<Leaf, Arc<Packed>>,
    /// The granule of each column that was read last.
    last: HashMap<Leaf, (usize, Arc<Column>)>,
    /// Ids of parents of the granule that was read last.
    last_parents: Option<(usize, Arc<Column>)>,
    single_reads: HashMap<Leaf, u32>,
    /// Values of origins that batches show.
    origins: HashMap<OriginValue, Arc<OriginColumn>>,
    /// Which entries of a dictionary pass a test.
    marks: HashMap<(usize, Leaf), Arc<Marks>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(part: &'a Part<'a>, context: &'a ScanContext<'a>) -> Self {
        Self {
            part,
            context,
            whole: HashMap::new(),
            last: HashMap::new(),
            last_parents: None,
            single_reads: HashMap::new(),
            origins: HashMap::new(),
            marks: HashMap::new(),
        }
    }

    pub(super) fn part(&self) -> &'a Part<'a> {
        self.part
    }

    /// A column with at least the rows of `granule`; `None` if no row has a value.
    pub(super) fn load(
        &mut self,
        leaf: Leaf,
        granule: usize,
        stats: &mut ScanStats,
    ) -> Result<Option<Loaded<'a>>, StoreError> {
        match self.part.source {
            Source::Chunk(chunk) => Ok(match leaf {
                Leaf::Field(field) => chunk.fields[field].as_ref(),
                Leaf::Attribute(nth) => Some(&chunk.attributes[nth].1),
            }
            .map(Loaded::Chunk)),
            Source::Block(block) => self.load_block(block, leaf, granule, stats).map(Some),
        }
    }

    fn load_block(
        &mut self,
        block: &Block,
        leaf: Leaf,
        granule: usize,
        stats: &mut ScanStats,
    ) -> Result<Loaded<'a>, StoreError> {
        if let Some(whole) = self.whole.get(&leaf) {
            return Ok(Loaded::Whole(whole.clone()));
        }
        if let Some((last, column)) = self.last.get(&leaf)
            && *last == granule
        {
            return Ok(Loaded::Granule(column.clone()));
        }
        if let Some(whole) = self.whole_column(block, leaf, stats)? {
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
            if let Some(Kept::Column(packed)) =
                self.context.cache.get(block.path(), &What::Leaf(number))
            {
                stats.cache_hits += 1;
                return Ok(Some(packed));
            }
            stats.cache_misses += 1;
        }
        if *reads <= SINGLE_READS.min(block.granules() as u32 - 1) {
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
        let kept = self.context.cache.get_or_make(
            block.path(),
            &What::Leaf(number),
            estimate_bytes,
            make,
        )?;
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
        let column = OriginColumn::of(self.part.source, value, self.context.cache)?;
        self.origins.insert(value.clone(), column.clone());
        Ok(column)
    }

    /// Rows of `alive` that pass the tree.
    pub(super) fn evaluate(
        &mut self,
        compiled: &Compiled,
        node: &Node,
        granule: usize,
        alive: &Mask,
        stats: &mut ScanStats,
    ) -> Result<Mask, StoreError> {
        match self.part.verdict(compiled, node, granule) {
            Verdict::None => return Ok(Mask::NONE),
            Verdict::All => return Ok(alive.clone()),
            Verdict::Some => {}
        }
        match node {
            Node::And(parts) => {
                let mut left = alive.clone();
                for part in parts {
                    if !left.any() {
                        break;
                    }
                    left = self.evaluate(compiled, part, granule, &left, stats)?;
                }
                Ok(left)
            }
            Node::Or(parts) => {
                let (mut found, mut left) = (Mask::NONE, alive.clone());
                for part in parts {
                    if !left.any() {
                        break;
                    }
                    let passing = self.evaluate(compiled, part, granule, &left, stats)?;
                    left.and_not(&passing);
                    found.or(&passing);
                }
                Ok(found)
            }
            Node::Not(part) => {
                let passing = self.evaluate(compiled, part, granule, alive, stats)?;
                let mut left = alive.clone();
                left.and_not(&passing);
                Ok(left)
            }
            Node::Test(nth) => self.test(*nth, &compiled.tests[*nth], granule, alive, stats),
        }
    }

    fn test(
        &mut self,
        nth: usize,
        test: &Test,
        granule: usize,
        alive: &Mask,
        stats: &mut ScanStats,
    ) -> Result<Mask, StoreError> {
        let part = self.part;
        match &part.bound[nth] {
            Bound::Origins(marks) => {
                let leaf = Leaf::Field(part.table.common.origin);
                let loaded = self.load(leaf, granule, stats)?.ok_or_else(no_origins)?;
                let piece = loaded.piece(granule, part.rows(granule));
                let Slice::Int(codes) = piece.values else { return Err(no_origins()) };
                Ok(Mask::of_codes(&codes, &piece.present, alive, &marks.passing))
            }
            Bound::Parents => {
                let parents = self.parents(granule, stats)?;
                let piece = parents.piece(granule, part.rows(granule));
                Ok(test_piece(&piece, test, alive))
            }
            Bound::Columns { columns, rest, hashes } => {
                let mut found = Mask::NONE;
                for column in columns {
                    let verdict = part.column_verdict(test, column, hashes.as_deref(), granule);
                    if verdict != Verdict::None {
                        found.or(&self.test_column(nth, test, column, granule, alive, stats)?);
                    }
                }
                if part.rest_verdict(nth, granule) != Verdict::None {
                    found.or(&self.test_rest(nth, test, *rest, granule, alive, stats)?);
                }
                Ok(found)
            }
        }
    }

    fn test_column(
        &mut self,
        nth: usize,
        test: &Test,
        column: &TestedColumn,
        granule: usize,
        alive: &Mask,
        stats: &mut ScanStats,
    ) -> Result<Mask, StoreError> {
        let rows = self.part.rows(granule);
        let Some(loaded) = self.load(column.leaf, granule, stats)? else { return Ok(Mask::NONE) };
        let piece = loaded.piece(granule, rows.clone());
        if matches!(test.test, ValueTest::Exists) {
            return Ok(Mask::existing(&piece, rows.len(), alive));
        }
        let Slice::Bytes(codes, dict) = &piece.values else {
            return Ok(test_piece(&piece, test, alive));
        };
        let passes = |value: &[u8]| match column.kind {
            Kind::Text => test.test.text(value),
            _ if column.any_values => {
                AnyValueView::parse(value).is_ok_and(|value| test.test.any(&value))
            }
            _ => test.test.bytes(value),
        };
        if matches!(loaded, Loaded::Granule(_)) {
            return Ok(Mask::of_each(&piece.present, alive, |nth| {
                passes(dict.get(codes.get(nth) as u32))
            }));
        }
        let marks = match self.marks.get(&(nth, column.leaf)) {
            Some(marks) => marks.clone(),
            None => {
                let marks = Arc::new(Marks::new(dict.iter().map(passes).collect()));
                self.marks.insert((nth, column.leaf), marks.clone());
                marks
            }
        };
        Ok(marked_rows(&piece, codes, &marks, alive))
    }

    /// Tests attributes that have no column.
    fn test_rest(
        &mut self,
        nth: usize,
        test: &Test,
        types: Types,
        granule: usize,
        alive: &Mask,
        stats: &mut ScanStats,
    ) -> Result<Mask, StoreError> {
        let Target::Own { key, .. } = &test.target else { return Ok(Mask::NONE) };
        let leaf = Leaf::Field(self.part.table.common.rest);
        let Some(loaded) = self.load(leaf, granule, stats)? else { return Ok(Mask::NONE) };
        let piece = loaded.piece(granule, self.part.rows(granule));
        let Slice::Bytes(codes, dict) = &piece.values else { return Ok(Mask::NONE) };
        let passes = |list: &[u8]| {
            kvlist_entries(list).flatten().any(|attribute| {
                attribute.key == &key[..]
                    && type_of(&attribute.value).is_some_and(|found| types.has(found))
                    && test.test.any(&attribute.value)
            })
        };
        if matches!(loaded, Loaded::Granule(_)) {
            return Ok(Mask::of_each(&piece.present, alive, |nth| {
                passes(dict.get(codes.get(nth) as u32))
            }));
        }
        let marks = match self.marks.get(&(nth, leaf)) {
            Some(marks) => marks.clone(),
            None => {
                let marks = Arc::new(Marks::new(dict.iter().map(passes).collect()));
                self.marks.insert((nth, leaf), marks.clone());
                marks
            }
        };
        Ok(marked_rows(&piece, codes, &marks, alive))
    }

    /// Ids of the parents of a granule's rows, complete.
    pub(super) fn parents(
        &mut self,
        granule: usize,
        stats: &mut ScanStats,
    ) -> Result<Loaded<'a>, StoreError> {
        if let Some((last, column)) = &self.last_parents
            && *last == granule
        {
            return Ok(Loaded::Granule(column.clone()));
        }
        let stored_leaf = Leaf::Field(spans::field::PARENT_SPAN_ID);
        let Source::Block(block) = self.part.source else {
            return Ok(match self.load(stored_leaf, granule, stats)? {
                Some(loaded) => loaded,
                None => Loaded::Granule(Arc::new(no_ids())),
            });
        };
        let rows = self.part.rows(granule);
        let damaged = || StoreError::corrupt(format!("{}: ids of parents", block.path()));
        let mut parents: Vec<Option<[u8; 8]>> = vec![None; rows.len()];
        let stored = block.field(spans::field::PARENT_SPAN_ID, Some(granule..granule + 1))?;
        let stored = stored.fitting(rows.len())?;
        let Values::Id8(ids) = &stored.values else { return Err(damaged()) };
        stored.for_each_row(|row, nth| parents[row as usize] = Some(ids[nth]));
        let steps = block.field(spans::field::PARENT_ROW, Some(granule..granule + 1))?;
        let steps = steps.fitting(rows.len())?;
        let Values::Int(distances) = &steps.values else { return Err(damaged()) };
        let mut targets = Vec::with_capacity(distances.len());
        steps.for_each_row(|row, nth| {
            let target = (rows.start as i64 + i64::from(row)).wrapping_sub(distances[nth]);
            targets.push((row as usize, target));
        });
        let (Some(low), Some(high)) =
            (targets.iter().map(|t| t.1).min(), targets.iter().map(|t| t.1).max())
        else {
            return Ok(self.keep_parents(granule, &parents));
        };
        if low < 0 || high >= block.rows() as i64 {
            return Err(damaged());
        }
        let granules = low as usize / GRANULE_ROWS..high as usize / GRANULE_ROWS + 1;
        let first = (granules.start * GRANULE_ROWS) as i64;
        stats.pages_read += granules.len() + 2;
        let ids = block.field(spans::field::SPAN_ID, Some(granules))?;
        let Values::Id8(ids) = &ids.values else { return Err(damaged()) };
        for (row, target) in targets {
            parents[row] = Some(*ids.get((target - first) as usize).ok_or_else(damaged)?);
        }
        Ok(self.keep_parents(granule, &parents))
    }

    fn keep_parents(&mut self, granule: usize, parents: &[Option<[u8; 8]>]) -> Loaded<'a> {
        let rows = (0..parents.len() as u32).filter(|r| parents[*r as usize].is_some()).collect();
        let values = Values::Id8(parents.iter().copied().flatten().collect());
        let column = Arc::new(Column { rows: Rows::Some(rows), values });
        self.last_parents = Some((granule, column.clone()));
        Loaded::Granule(column)
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

fn no_ids() -> Column {
    Column { rows: Rows::Some(Vec::new()), values: Values::Id8(Vec::new()) }
}

fn no_origins() -> StoreError {
    StoreError::corrupt("rows without origins")
}

/// Bytes that a column takes when decoded; `None` if it is not worth keeping.
fn narrow_bytes(block: &Block, leaf: usize, kind: Kind) -> Option<usize> {
    let chunk = block.metadata().row_group(0).column(leaf);
    match kind {
        Kind::Id8 | Kind::Id16 => None,
        Kind::Time | Kind::Int | Kind::Double => Some(block.rows() * 8),
        Kind::Bool => Some(block.rows()),
        Kind::Text | Kind::Binary => {
            chunk.dictionary_page_offset()?;
            Some(block.rows() * 4 + chunk.uncompressed_size().max(0) as usize)
        }
    }
}

/// Tests values that are not byte strings.
fn test_piece(piece: &Piece<'_>, test: &Test, alive: &Mask) -> Mask {
    match piece.values {
        Slice::Int(ints) => Mask::of_ints(&ints, &piece.present, alive, &test.ints),
        Slice::Double(values) => {
            Mask::of(values, &piece.present, alive, |value| test.test.double(value))
        }
        Slice::Bool(values) => {
            Mask::of(values, &piece.present, alive, |value| test.test.bool(value))
        }
        Slice::Id8(ids) => Mask::of(ids, &piece.present, alive, |id| test.test.bytes(&id)),
        Slice::Id16(ids) => Mask::of(ids, &piece.present, alive, |id| test.test.bytes(&id)),
        Slice::Bytes(..) => Mask::NONE,
    }
}

fn marked_rows(piece: &Piece<'_>, codes: &Ints<'_>, marks: &Marks, alive: &Mask) -> Mask {
    match marks.verdict {
        Verdict::None => Mask::NONE,
        _ => Mask::of_codes(codes, &piece.present, alive, &marks.passing),
    }
}
