//! The columns of rows that lie near one another: of a chunk all its rows, of a
//! block a few neighbouring granules.

use std::borrow::Cow;
use std::ops::{Deref, Range};
use std::sync::Arc;

use hashbrown::HashMap;

use super::row::{self, Row};
use crate::block::read::Block;
use crate::block::source::Source;
use crate::chunk::{REST, shape_slots};
use crate::column::{Column, Dict, Lists};
use crate::error::StoreError;
use crate::pages::GRANULE_ROWS;
use crate::schema::{AttributeKey, Table};

/// Granules that are decoded at once, so that memory is bounded also when rows
/// of a whole block are asked for.
const MAX_GRANULES: usize = 4;

/// A dictionary of a chunk or of a block.
enum SourceDict<'a> {
    Chunk(&'a Dict),
    Block(Arc<Dict>),
}

impl Deref for SourceDict<'_> {
    type Target = Dict;

    fn deref(&self) -> &Dict {
        match self {
            Self::Chunk(dict) => dict,
            Self::Block(dict) => dict,
        }
    }
}

/// Columns around some rows.
pub(super) struct Window<'a> {
    source: &'a Source,
    table: &'static Table,
    /// The rows asked for, as numbers of the source.
    rows: &'a [u32],
    /// The source's row that is row 0 of the columns.
    first_row: u32,
    granules: Range<usize>,
    fields: Vec<Option<Cow<'a, Column>>>,
    attributes: HashMap<u32, (&'a AttributeKey, Cow<'a, Column>)>,
    lists: Vec<Option<Elements<'a>>>,
    origins: SourceDict<'a>,
    shapes: SourceDict<'a>,
}

/// A list column: which elements each of the rows asked for has.
struct Elements<'a> {
    ranges: Vec<Range<u32>>,
    members: Cow<'a, [Column]>,
}

/// Divides ascending rows so that those of one part are read at once.
pub(super) fn split<'a>(source: &Source, rows: &'a [u32]) -> Vec<&'a [u32]> {
    if matches!(source, Source::Chunk(_)) {
        return if rows.is_empty() { Vec::new() } else { vec![rows] };
    }
    let granule = |row: u32| row as usize / GRANULE_ROWS;
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..=rows.len() {
        let ends = at == rows.len()
            || granule(rows[at]) > granule(rows[at - 1]) + 1
            || granule(rows[at]) >= granule(rows[start]) + MAX_GRANULES;
        if ends {
            parts.push(&rows[start..at]);
            start = at;
        }
    }
    parts
}

impl<'a> Window<'a> {
    /// Reads the given fields, and attributes and lists as far as `rows` have
    /// them. `rows` are a part made by [`split`].
    pub(super) fn open(
        source: &'a Source,
        table: &'static Table,
        rows: &'a [u32],
        fields: &[usize],
    ) -> Result<Self, StoreError> {
        let (origins, shapes, own_table) = match source {
            Source::Chunk(chunk) => {
                (SourceDict::Chunk(&chunk.origins), SourceDict::Chunk(&chunk.shapes), chunk.table)
            }
            Source::Block(block) => (
                SourceDict::Block(block.origins()?),
                SourceDict::Block(block.shapes()?),
                block.table(),
            ),
        };
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
            return Err(StoreError::Query("no rows to read".into()));
        };
        if own_table.signal != table.signal || *last as usize >= source.rows() {
            return Err(StoreError::Query("rows of another table or beyond its end".into()));
        }
        let granules = match source {
            Source::Chunk(_) => 0..0,
            Source::Block(_) => *first as usize / GRANULE_ROWS..*last as usize / GRANULE_ROWS + 1,
        };
        let first_row = (granules.start * GRANULE_ROWS) as u32;
        let mut window = Self {
            source,
            table,
            rows,
            first_row,
            granules,
            fields: vec![None; table.fields.len()],
            attributes: HashMap::new(),
            lists: Vec::new(),
            origins,
            shapes,
        };
        let common = [table.common.origin, table.common.shape, table.common.rest];
        for field in fields.iter().chain(&common) {
            window.fields[*field] = window.read_field(*field)?;
        }
        window.read_attributes()?;
        for list in 0..table.lists.len() {
            let elements = window.read_list(list)?;
            window.lists.push(elements);
        }
        Ok(window)
    }

    fn read_field(&self, field: usize) -> Result<Option<Cow<'a, Column>>, StoreError> {
        let block = match self.source {
            Source::Chunk(chunk) => return Ok(chunk.fields[field].as_ref().map(Cow::Borrowed)),
            Source::Block(block) => block,
        };
        let is_rest = field == self.table.common.rest;
        if (is_rest && block.footer().rest_rows == 0) || self.known_empty(block, field) {
            return Ok(None);
        }
        Ok(Some(Cow::Owned(block.field(field, Some(self.granules.clone()))?)))
    }

    /// Whether the page index says that no row has a value.
    fn known_empty(&self, block: &Block, leaf: usize) -> bool {
        self.granules.clone().all(|granule| block.int_bounds(leaf, granule) == Some(None))
    }

    /// Reads the columns that the shapes of the rows name.
    fn read_attributes(&mut self) -> Result<(), StoreError> {
        let mut seen = Vec::new();
        for nth in 0..self.rows.len() {
            let shape = self.shape_number(nth)?;
            if !seen.contains(&shape) {
                seen.push(shape);
            }
        }
        for shape in seen {
            let slots: Vec<u32> = shape_slots(self.shapes.get(shape)).collect();
            for slot in slots {
                if slot != REST && !self.attributes.contains_key(&slot) {
                    let attribute = self.read_attribute(slot as usize)?;
                    self.attributes.insert(slot, attribute);
                }
            }
        }
        Ok(())
    }

    fn read_attribute(
        &self,
        nth: usize,
    ) -> Result<(&'a AttributeKey, Cow<'a, Column>), StoreError> {
        let missing = || StoreError::corrupt("a shape names an attribute that is not there");
        match self.source {
            Source::Chunk(chunk) => {
                let (key, column) = chunk.attributes.get(nth).ok_or_else(missing)?;
                Ok((key, Cow::Borrowed(column)))
            }
            Source::Block(block) => {
                let key = &block.attributes().get(nth).ok_or_else(missing)?.key;
                let column = block.attribute_granules(nth, Some(self.granules.clone()))?;
                Ok((key, Cow::Owned(column)))
            }
        }
    }

    fn read_list(&self, list: usize) -> Result<Option<Elements<'a>>, StoreError> {
        let block = match self.source {
            Source::Chunk(chunk) => {
                let Lists { counts, members } = &chunk.lists[list];
                let ranges = self.element_ranges(counts)?;
                return Ok(Some(Elements { ranges, members: Cow::Borrowed(members) }));
            }
            Source::Block(block) => block,
        };
        let before: usize = self.table.lists[..list].iter().map(|l| l.members.len()).sum();
        let first_leaf = self.table.fields.len() + before;
        let mut members = Vec::new();
        let mut ranges = Vec::new();
        for (nth, member) in self.table.lists[list].members.iter().enumerate() {
            let granules = Some(self.granules.clone());
            let physical = member.kind.physical();
            let nesting = member.member_nesting();
            let decoded = block.leaf(first_leaf + nth, physical, nesting, granules)?;
            if nth == 0 {
                ranges = self.element_ranges(&decoded.counts)?;
                if ranges.iter().all(Range::is_empty) {
                    return Ok(None);
                }
            }
            members.push(decoded.column);
        }
        Ok(Some(Elements { ranges, members: Cow::Owned(members) }))
    }

    /// The elements of each row asked for, given how many every row has.
    fn element_ranges(&self, counts: &[u32]) -> Result<Vec<Range<u32>>, StoreError> {
        let mut ranges = Vec::with_capacity(self.rows.len());
        let (mut before, mut next) = (0, 0);
        for nth in 0..self.rows.len() {
            let at = self.place(nth) as usize;
            let (Some(skipped), Some(count)) = (counts.get(next..at), counts.get(at)) else {
                return Err(StoreError::corrupt("a list column is too short"));
            };
            before += skipped.iter().sum::<u32>();
            ranges.push(before..before + count);
            before += count;
            next = at + 1;
        }
        Ok(ranges)
    }

    /// The place of a row in the columns.
    fn place(&self, nth: usize) -> u32 {
        self.rows[nth] - self.first_row
    }

    fn shape_number(&self, nth: usize) -> Result<u32, StoreError> {
        self.entry_number(nth, self.table.common.shape, &self.shapes)
    }

    fn entry_number(&self, nth: usize, field: usize, dict: &Dict) -> Result<u32, StoreError> {
        let number = self.row(nth).int(field).and_then(|number| u32::try_from(number).ok());
        number
            .filter(|number| (*number as usize) < dict.len())
            .ok_or_else(|| StoreError::corrupt("a row has no origin or no shape"))
    }

    /// Number and encoded form of a row's origin.
    pub(super) fn origin(&self, nth: usize) -> Result<(u32, &[u8]), StoreError> {
        let number = self.entry_number(nth, self.table.common.origin, &self.origins)?;
        Ok((number, self.origins.get(number)))
    }

    /// The slots of a row's shape.
    pub(super) fn shape(&self, nth: usize) -> Result<impl Iterator<Item = u32> + '_, StoreError> {
        Ok(shape_slots(self.shapes.get(self.shape_number(nth)?)))
    }

    /// Key and column of a slot that a shape of the rows names.
    pub(super) fn attribute(&self, slot: u32) -> Option<(&AttributeKey, &Column)> {
        self.attributes.get(&slot).map(|(key, column)| (*key, &**column))
    }

    /// A field that was read and has values.
    pub(super) fn column(&self, field: usize) -> Option<&Column> {
        self.fields[field].as_deref()
    }

    /// The place of the field `rest`.
    pub(super) fn rest_field(&self) -> usize {
        self.table.common.rest
    }

    /// Which elements of a list a row has, and the list's members.
    pub(super) fn elements(&self, list: usize, nth: usize) -> (Range<u32>, &[Column]) {
        match &self.lists[list] {
            Some(elements) => (elements.ranges[nth].clone(), &elements.members),
            None => (0..0, &[]),
        }
    }

    /// The `nth` of the rows asked for.
    pub(super) fn row(&self, nth: usize) -> Row<'_> {
        Row { window: self, nth, place: self.place(nth) }
    }

    /// The rows asked for, as numbers of the source.
    pub(super) fn rows(&self) -> &'a [u32] {
        self.rows
    }

    /// A value of any row of the source, if the window holds it.
    pub(super) fn id8_of_row(&self, field: usize, row: u32) -> Option<[u8; 8]> {
        row::id8(self.column(field)?, row.checked_sub(self.first_row)?)
    }
}
