//! Reading a block.
//!
//! Opening reads only the file's tail: Parquet footer, page indexes and our own
//! footer. Columns are read whole or by granules, index regions when they are
//! first asked for.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader,
};

use super::catalogue::Catalogue;
use super::dictionaries::DictionaryCache;
use super::filter::Filters;
use super::footer::{self, Footer, Region};
use super::text_filter::TextFilters;
use crate::column::{Column, Dict, Lists, Rows, Values};
use crate::error::StoreError;
use crate::objects::Objects;
use crate::pages::decode::{Decoded, Decoder, Dictionary, Nesting, Physical, decompress};
use crate::pages::{GRANULE_ROWS, read_varint};
use crate::schema::{AttributeKey, Signal, Table, ValueType};
use crate::tables::spans;

/// Bytes read from the end of a file that nothing is known of.
const TAIL_GUESS_BYTES: u64 = 128 << 10;
/// Places of tables among the dictionaries of leaves.
const ORIGINS: usize = usize::MAX;
const SHAPES: usize = usize::MAX - 1;

/// An attribute column of a block.
#[derive(Debug, Clone)]
pub struct Attribute {
    /// Key and type.
    pub key: AttributeKey,
    /// The Parquet leaf.
    pub leaf: usize,
    /// Rows that have it.
    pub count: usize,
    /// Whether its values are in the granule filters.
    pub filtered: bool,
}

/// An open block.
#[derive(Debug)]
pub struct Block {
    objects: Arc<dyn Objects>,
    path: String,
    size_bytes: u64,
    table: &'static Table,
    footer: Footer,
    metadata: ParquetMetaData,
    metadata_bytes: usize,
    attributes: Vec<Attribute>,
    trace_index: OnceLock<Bytes>,
    filters: OnceLock<Arc<Filters>>,
    /// In the order of the footer.
    text_filters: Vec<OnceLock<Arc<TextFilters>>>,
    dictionaries: Arc<DictionaryCache>,
    /// Its number in that cache.
    cache_number: u64,
    hidden: OnceLock<Arc<Vec<bool>>>,
}

impl Drop for Block {
    fn drop(&mut self) {
        self.dictionaries.leave(self.cache_number);
    }
}

/// What of a file's tail the commit log knows, to tell noise before parsing it.
#[derive(Debug, Clone, Copy)]
pub struct TailCheck {
    /// Bytes of the tail.
    pub bytes: u64,
    /// Their CRC32C.
    pub crc: u32,
}

impl TailCheck {
    /// For the file `bytes`, whose index regions begin at the first region.
    pub fn of(bytes: &[u8]) -> Self {
        let length = (bytes.len() as u64).min(TAIL_GUESS_BYTES);
        let tail = &bytes[bytes.len() - length as usize..];
        Self { bytes: length, crc: crc32c::crc32c(tail) }
    }
}

impl Block {
    /// Opens the file at `path`, with a cache of dictionaries of its own.
    pub fn open(
        objects: Arc<dyn Objects>,
        path: &str,
        check: Option<TailCheck>,
    ) -> Result<Self, StoreError> {
        Self::open_with(objects, path, check, Arc::default())
    }

    /// Opens the file at `path`; its dictionaries are kept in a cache that other
    /// blocks may share.
    pub fn open_with(
        objects: Arc<dyn Objects>,
        path: &str,
        check: Option<TailCheck>,
        dictionaries: Arc<DictionaryCache>,
    ) -> Result<Self, StoreError> {
        let wanted = check.map_or(TAIL_GUESS_BYTES, |c| c.bytes);
        let mut tail = objects.get_tail(path, wanted)?;
        if let Some(check) = check
            && (tail.bytes.len() as u64 != check.bytes || crc32c::crc32c(&tail.bytes) != check.crc)
        {
            return Err(StoreError::corrupt(format!("{path} is not what was written")));
        }
        let corrupt = |e: ParquetError| StoreError::corrupt(format!("{path}: {e}"));
        let mut reader =
            ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
        loop {
            match reader.try_parse_sized(&tail.bytes, tail.size_bytes) {
                Ok(()) => break,
                Err(ParquetError::NeedMoreData(bytes))
                    if bytes as u64 > tail.bytes.len() as u64
                        && bytes as u64 <= tail.size_bytes =>
                {
                    tail = objects.get_tail(path, bytes as u64)?;
                }
                Err(error) => return Err(corrupt(error)),
            }
        }
        let metadata = reader.finish().map_err(corrupt)?;
        let footer = read_footer(&metadata, path)?;
        let table = Signal::from_name(&footer.signal)
            .ok_or_else(|| StoreError::corrupt(format!("{path}: unknown signal")))?
            .table();
        let attributes = attributes(&footer, &metadata)
            .ok_or_else(|| StoreError::corrupt(format!("{path}: footer does not fit the file")))?;
        if !shape_fits(&metadata, table, &footer) {
            return Err(StoreError::corrupt(format!("{path}: columns do not fit the table")));
        }
        let text_filters = footer.text_filters.iter().map(|_| OnceLock::new()).collect();
        Ok(Self {
            objects,
            path: path.to_owned(),
            size_bytes: tail.size_bytes,
            table,
            footer,
            metadata_bytes: metadata.memory_size(),
            metadata,
            attributes,
            trace_index: OnceLock::new(),
            filters: OnceLock::new(),
            text_filters,
            cache_number: dictionaries.join(),
            dictionaries,
            hidden: OnceLock::new(),
        })
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.footer.rows as usize
    }

    /// Granules, which are pages of every column.
    pub fn granules(&self) -> usize {
        self.rows().div_ceil(GRANULE_ROWS)
    }

    /// Rows of a granule.
    pub fn granule_rows(&self, granule: usize) -> Range<usize> {
        let first = granule * GRANULE_ROWS;
        first..(first + GRANULE_ROWS).min(self.rows())
    }

    /// Rows that are deleted though they are still in the file; `None` if none.
    pub fn hidden(&self) -> Option<&[bool]> {
        self.hidden.get().map(|hidden| &hidden[..])
    }

    /// Hides rows from all who read this open block.
    pub(crate) fn hide(&self, hidden: Arc<Vec<bool>>) {
        self.hidden.get_or_init(|| hidden);
    }

    /// Its path below the store's root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Bytes of the file.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Its table.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// What it says of itself.
    pub fn footer(&self) -> &Footer {
        &self.footer
    }

    /// Parquet's own metadata.
    pub fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// Its attribute columns.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// The attribute column of a key and type.
    pub fn attribute_of(&self, key: &[u8], value_type: ValueType) -> Option<usize> {
        self.attributes
            .binary_search_by(|a| (&*a.key.key, a.key.value_type).cmp(&(key, value_type)))
            .ok()
    }

    /// Bytes held on the heap, nearly: metadata, and regions that were read.
    pub fn heap_bytes(&self) -> usize {
        self.metadata_bytes
            + self.trace_index.get().map_or(0, Bytes::len)
            + self.filters.get().map_or(0, |filters| filters.heap_bytes())
            + self
                .text_filters
                .iter()
                .flat_map(OnceLock::get)
                .map(|f| f.heap_bytes())
                .sum::<usize>()
            + self.hidden.get().map_or(0, |hidden| hidden.len())
    }

    fn chunk(&self, leaf: usize) -> &ColumnChunkMetaData {
        self.metadata.row_group(0).column(leaf)
    }

    /// Bytes that a column takes in the file.
    pub fn leaf_bytes(&self, leaf: usize) -> u64 {
        self.chunk(leaf).compressed_size().max(0) as u64
    }

    /// Least and greatest value of an integer column's page; `None` if unknown,
    /// `Some(None)` if the page has no value.
    pub fn int_bounds(&self, leaf: usize, granule: usize) -> Option<Option<(i64, i64)>> {
        use parquet::file::page_index::column_index::ColumnIndexMetaData;
        match self.metadata.column_index()?.first()?.get(leaf)? {
            ColumnIndexMetaData::INT64(index) => {
                Some(index.min_value(granule).copied().zip(index.max_value(granule).copied()))
            }
            _ => None,
        }
    }

    /// Decodes a leaf column: all of it, or some granules (one after another, so
    /// that row 0 is the first granule's first row).
    pub(crate) fn leaf(
        &self,
        leaf: usize,
        physical: Physical,
        nesting: Nesting,
        granules: Option<Range<usize>>,
    ) -> Result<Decoded, StoreError> {
        let chunk = self.chunk(leaf);
        let (start, length) = chunk.byte_range();
        let mut decoder = Decoder::new(physical, nesting);
        let data_start = chunk.data_page_offset().max(0) as u64;
        let Some(granules) = granules else {
            let bytes = self.objects.get_range(&self.path, start..start + length)?;
            let split = data_start.saturating_sub(start).min(length) as usize;
            if chunk.dictionary_page_offset().is_some() {
                decoder.dictionary_page(&bytes[..split]).map_err(|e| self.damaged(e))?;
            }
            decoder.data_pages(&bytes[split..]).map_err(|e| self.damaged(e))?;
            if decoder.levels() != chunk.num_values().max(0) as u64 {
                return Err(StoreError::corrupt(format!("{}: values are missing", self.path)));
            }
            return decoder.finish(self.rows()).map_err(|e| self.damaged(e));
        };
        let rows = granules.clone().map(|granule| self.granule_rows(granule).len()).sum();
        if chunk.dictionary_page_offset().is_some() {
            self.dictionary_page(leaf, start..data_start, &mut decoder)?;
        }
        let pages = self
            .metadata
            .offset_index()
            .and_then(|index| index.first()?.get(leaf))
            .and_then(|index| index.page_locations().get(granules))
            .ok_or_else(|| StoreError::corrupt(format!("{}: no page index", self.path)))?;
        if let (Some(first), Some(last)) = (pages.first(), pages.last()) {
            let end = last.offset + i64::from(last.compressed_page_size);
            let range = first.offset.max(0) as u64..end.max(0) as u64;
            let bytes = self.objects.get_range(&self.path, range)?;
            decoder.data_pages(&bytes).map_err(|e| self.damaged(e))?;
        }
        decoder.finish(rows).map_err(|e| self.damaged(e))
    }

    /// Gives the decoder of some pages of a leaf its dictionary.
    fn dictionary_page(
        &self,
        leaf: usize,
        range: Range<u64>,
        decoder: &mut Decoder,
    ) -> Result<(), StoreError> {
        if let Some(dictionary) = self.dictionaries.get(self.cache_number, leaf) {
            decoder.with_dictionary(dictionary);
            return Ok(());
        }
        let bytes = self.objects.get_range(&self.path, range)?;
        decoder.dictionary_page(&bytes).map_err(|e| self.damaged(e))?;
        if let Some(dictionary) = decoder.dictionary() {
            self.dictionaries.keep(self.cache_number, leaf, dictionary.clone());
        }
        Ok(())
    }

    fn damaged(&self, error: crate::pages::PageError) -> StoreError {
        StoreError::corrupt(format!("{}: {error}", self.path))
    }

    /// A fixed column, as it is stored.
    pub fn field(
        &self,
        field: usize,
        granules: Option<Range<usize>>,
    ) -> Result<Column, StoreError> {
        let described = &self.table.fields[field];
        let physical = described.kind.physical();
        Ok(self.leaf(field, physical, described.nesting(), granules)?.column)
    }

    /// A fixed column, as the rows were sent: parents' ids are complete.
    pub fn field_as_sent(&self, field: usize) -> Result<Column, StoreError> {
        if self.table.signal == Signal::Spans && field == spans::field::PARENT_SPAN_ID {
            return self.parents();
        }
        self.field(field, None)
    }

    /// Ids of all parents, those that are stored as row numbers too.
    fn parents(&self) -> Result<Column, StoreError> {
        let stored = self.field(spans::field::PARENT_SPAN_ID, None)?;
        let distances = self.field(spans::field::PARENT_ROW, None)?;
        let ids = self.field(spans::field::SPAN_ID, None)?;
        let (Values::Id8(stored_ids), Values::Int(steps), Values::Id8(ids)) =
            (&stored.values, &distances.values, &ids.values)
        else {
            return Err(StoreError::corrupt("ids of another type"));
        };
        let mut parents: Vec<Option<[u8; 8]>> = vec![None; self.rows()];
        stored.for_each_row(|row, i| parents[row as usize] = Some(stored_ids[i]));
        let mut outside = false;
        distances.for_each_row(|row, i| {
            match usize::try_from(i64::from(row) - steps[i]).ok().and_then(|p| ids.get(p)) {
                Some(id) => parents[row as usize] = Some(*id),
                None => outside = true,
            }
        });
        if outside {
            return Err(StoreError::corrupt(format!("{}: parent outside the block", self.path)));
        }
        let rows = (0..self.rows() as u32).filter(|r| parents[*r as usize].is_some()).collect();
        let values = parents.iter().copied().flatten().collect();
        Ok(Column { rows: Rows::Some(rows), values: Values::Id8(values) })
    }

    /// A list column.
    pub fn list(&self, list: usize) -> Result<Lists, StoreError> {
        self.list_granules(list, None)
    }

    /// A list column, or some granules of it.
    pub fn list_granules(
        &self,
        list: usize,
        granules: Option<Range<usize>>,
    ) -> Result<Lists, StoreError> {
        let mut leaf = self.table.fields.len();
        leaf += self.table.lists[..list].iter().map(|l| l.members.len()).sum::<usize>();
        let mut lists = Lists { counts: Vec::new(), members: Vec::new() };
        for (member, field) in self.table.lists[list].members.iter().enumerate() {
            let physical = field.kind.physical();
            let decoded =
                self.leaf(leaf + member, physical, field.member_nesting(), granules.clone())?;
            if member > 0 && lists.counts != decoded.counts {
                return Err(StoreError::corrupt(format!("{}: lists do not match", self.path)));
            }
            lists.counts = decoded.counts;
            lists.members.push(decoded.column);
        }
        Ok(lists)
    }

    /// The attribute column at that place.
    pub fn attribute(&self, nth: usize) -> Result<Column, StoreError> {
        self.attribute_granules(nth, None)
    }

    /// The attribute column at that place, or some granules of it.
    pub fn attribute_granules(
        &self,
        nth: usize,
        granules: Option<Range<usize>>,
    ) -> Result<Column, StoreError> {
        let attribute = &self.attributes[nth];
        let physical = attribute.key.value_type.kind().physical();
        Ok(self.leaf(attribute.leaf, physical, Nesting::Optional, granules)?.column)
    }

    fn region(&self, region: Option<Region>) -> Result<Bytes, StoreError> {
        let Some(region) = region else { return Ok(Bytes::new()) };
        let end = region
            .offset
            .checked_add(region.length_bytes)
            .filter(|end| *end <= self.size_bytes)
            .ok_or_else(|| StoreError::corrupt(format!("{}: region outside", self.path)))?;
        let bytes = self.objects.get_range(&self.path, region.offset..end)?;
        if crc32c::crc32c(&bytes) != region.crc {
            return Err(StoreError::corrupt(format!("{}: index region is damaged", self.path)));
        }
        if region.plain_bytes == 0 {
            return Ok(bytes);
        }
        let plain = decompress(&bytes, region.plain_bytes as usize).map_err(|e| self.damaged(e))?;
        Ok(plain.into())
    }

    /// A table of byte strings. Origins of a block may be larger than all its columns: they are kept
    /// with the dictionaries, in a bounded cache, not with the block.
    fn table_of(&self, place: usize, region: Option<Region>) -> Result<Arc<Dict>, StoreError> {
        if let Some(Dictionary::Bytes(dict)) = self.dictionaries.get(self.cache_number, place) {
            return Ok(dict);
        }
        let dict = self.read_table(region)?;
        self.dictionaries.keep(self.cache_number, place, Dictionary::Bytes(dict.clone()));
        Ok(dict)
    }

    fn read_table(&self, region: Option<Region>) -> Result<Arc<Dict>, StoreError> {
        let bytes = self.region(region)?;
        let mut dict = Dict::default();
        let mut at = 0;
        while at < bytes.len() {
            let length = read_varint(&bytes, &mut at).map_err(|e| self.damaged(e))? as usize;
            let entry = at
                .checked_add(length)
                .and_then(|end| bytes.get(at..end))
                .ok_or_else(|| StoreError::corrupt(format!("{}: table cut short", self.path)))?;
            dict.push(entry);
            at += length;
        }
        Ok(Arc::new(dict))
    }

    /// Encoded origins by number.
    pub fn origins(&self) -> Result<Arc<Dict>, StoreError> {
        self.table_of(ORIGINS, self.footer.origins)
    }

    /// Encoded shapes by number.
    pub fn shapes(&self) -> Result<Arc<Dict>, StoreError> {
        self.table_of(SHAPES, self.footer.shapes)
    }

    /// The trace index.
    pub fn trace_index(&self) -> Result<Bytes, StoreError> {
        once(&self.trace_index, || self.region(self.footer.trace_index))
    }

    /// The granule filters.
    pub fn filters(&self) -> Result<Arc<Filters>, StoreError> {
        once(&self.filters, || {
            let bytes = self.region(self.footer.filters)?;
            if bytes.is_empty() {
                return Ok(Arc::new(Filters::default()));
            }
            let filters = Filters::parse(&bytes)
                .ok_or_else(|| StoreError::corrupt(format!("{}: filters", self.path)))?;
            Ok(Arc::new(filters))
        })
    }

    /// The text filters of a leaf column; `None` if it has none.
    pub(crate) fn text_filters(&self, leaf: usize) -> Result<Option<Arc<TextFilters>>, StoreError> {
        let found = self.footer.text_filters.iter().zip(&self.text_filters);
        let Some((described, cell)) = found.into_iter().find(|(f, _)| f.leaf as usize == leaf)
        else {
            return Ok(None);
        };
        let filters = once(cell, || {
            TextFilters::parse(self.region(described.region)?)
                .map(Arc::new)
                .ok_or_else(|| StoreError::corrupt(format!("{}: text filters", self.path)))
        })?;
        Ok(Some(filters))
    }

    /// The catalogue, read anew each time: few ask twice.
    pub fn catalogue(&self) -> Result<Catalogue, StoreError> {
        Catalogue::decode(&self.encoded_catalogue()?)
            .ok_or_else(|| StoreError::corrupt(format!("{}: catalogue", self.path)))
    }

    pub(crate) fn encoded_catalogue(&self) -> Result<Bytes, StoreError> {
        self.region(self.footer.catalogue)
    }
}

/// The value of `cell`, made if it is not there; two may make it at once.
fn once<T: Clone>(
    cell: &OnceLock<T>,
    make: impl FnOnce() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    if let Some(value) = cell.get() {
        return Ok(value.clone());
    }
    let value = make()?;
    Ok(cell.get_or_init(|| value).clone())
}

fn read_footer(metadata: &ParquetMetaData, path: &str) -> Result<Footer, StoreError> {
    let text = metadata
        .file_metadata()
        .key_value_metadata()
        .and_then(|pairs| pairs.iter().find(|p| p.key == footer::KEY)?.value.as_deref())
        .ok_or_else(|| StoreError::corrupt(format!("{path} is not a block of kymo")))?;
    let footer = Footer::from_text(text)
        .ok_or_else(|| StoreError::corrupt(format!("{path}: footer cannot be read")))?;
    if footer.least_reader > footer::VERSION {
        return Err(StoreError::Newer {
            what: path.to_owned(),
            found: footer.least_reader,
            known: footer::VERSION,
        });
    }
    Ok(footer)
}

fn attributes(footer: &Footer, metadata: &ParquetMetaData) -> Option<Vec<Attribute>> {
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    let attributes: Option<Vec<Attribute>> = footer
        .attributes
        .iter()
        .map(|a| {
            let value_type = ValueType::from_number(a.value_type)?;
            ((a.leaf as usize) < leaves).then(|| Attribute {
                key: AttributeKey { key: a.key.clone().into(), value_type },
                leaf: a.leaf as usize,
                count: a.count as usize,
                filtered: a.filtered,
            })
        })
        .collect();
    attributes.filter(|a| a.is_sorted_by(|x, y| x.key < y.key))
}

fn shape_fits(metadata: &ParquetMetaData, table: &Table, footer: &Footer) -> bool {
    let fixed = table.fields.len() + table.lists.iter().map(|l| l.members.len()).sum::<usize>();
    metadata.num_row_groups() == 1
        && metadata.row_group(0).num_rows() == footer.rows as i64
        && footer.rows < u64::from(u32::MAX)
        && metadata.file_metadata().schema_descr().num_columns() >= fixed
        && metadata.row_group(0).columns().len()
            == metadata.file_metadata().schema_descr().num_columns()
}
