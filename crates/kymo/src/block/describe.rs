//! A block in numbers. What is printed as a table and what is printed as JSON is the same.

use std::path::Path;

use kymo_store::StoreError;
use kymo_store::block::footer::Region;
use kymo_store::block::meta::BlockMeta;
use kymo_store::block::read::Block;
use kymo_store::schema::Signal;
use parquet::basic::{Encoding, LogicalType, Type};
use parquet::file::metadata::ColumnChunkMetaData;
use serde::Serialize;

use super::Sort;
use crate::units::ratio;

/// Everything that is shown of a block.
#[derive(Debug, Serialize)]
pub(crate) struct Description {
    pub(crate) file: String,
    pub(crate) signal: &'static str,
    /// 0 flushed, 1 compacted; unknown if the file was renamed.
    pub(crate) level: Option<u32>,
    pub(crate) node: Option<String>,
    pub(crate) rows: u64,
    /// For spans.
    pub(crate) traces: Option<u64>,
    /// Rows with attributes that have no column of their own.
    pub(crate) rest_rows: u64,
    pub(crate) min_time_nanos: i64,
    pub(crate) max_time_nanos: i64,
    pub(crate) size_bytes: u64,
    pub(crate) bytes_per_row: f64,
    /// First position and the one behind the last; a compacted block has none.
    pub(crate) journal: Option<(u64, u64)>,
    pub(crate) writer: String,
    pub(crate) format_version: u32,
    pub(crate) index: Vec<IndexPart>,
    /// Parquet's own footer, page indexes and the block's footer in it.
    pub(crate) footer_bytes: u64,
    pub(crate) columns: Vec<Column>,
}

/// A region of the index.
#[derive(Debug, Serialize)]
pub(crate) struct IndexPart {
    pub(crate) name: &'static str,
    pub(crate) size_bytes: u64,
    /// When decompressed.
    pub(crate) plain_bytes: u64,
    /// What is in it, where that is not known otherwise.
    pub(crate) entries: Option<u64>,
}

/// One Parquet column.
#[derive(Debug, Serialize)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: ColumnKind,
    #[serde(rename = "type")]
    pub(crate) value_type: &'static str,
    pub(crate) encoding: &'static str,
    pub(crate) dictionary: bool,
    /// Whether its values are in the granule filters.
    pub(crate) filtered: bool,
    pub(crate) values: u64,
    pub(crate) size_bytes: u64,
    pub(crate) bytes_per_row: f64,
    /// Part of the whole file.
    pub(crate) share: f64,
}

/// Where a column comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ColumnKind {
    /// One that every block of the signal has.
    Field,
    /// A member of a list of structs.
    List,
    /// An attribute that is frequent in this block.
    Attribute,
}

impl Description {
    /// Describes an open block, after reading all of it.
    pub(crate) fn of(
        path: &Path,
        name: &str,
        block: &Block,
        sort: Sort,
    ) -> Result<Self, StoreError> {
        let footer = block.footer();
        let (level, node) = match BlockMeta::parse_name(name) {
            Some((level, node, _)) => (Some(level), Some(node.to_owned())),
            None => (None, None),
        };
        let mut columns = columns(block)?;
        match sort {
            Sort::Bytes => columns.sort_by_key(|c| std::cmp::Reverse(c.size_bytes)),
            Sort::Name => columns.sort_by(|a, b| a.name.cmp(&b.name)),
        }
        let index = index(block)?;
        let described = columns.iter().map(|c| c.size_bytes).sum::<u64>()
            + index.iter().map(|part| part.size_bytes).sum::<u64>();
        let spans = block.table().signal == Signal::Spans;
        Ok(Self {
            file: path.display().to_string(),
            signal: block.table().signal.name(),
            level,
            node,
            rows: footer.rows,
            traces: spans.then_some(footer.groups),
            rest_rows: footer.rest_rows,
            min_time_nanos: footer.min_time_nanos,
            max_time_nanos: footer.max_time_nanos,
            size_bytes: block.size_bytes(),
            bytes_per_row: ratio(block.size_bytes(), footer.rows),
            journal: (footer.journal_end > 0).then_some((footer.journal_start, footer.journal_end)),
            writer: footer.writer.clone(),
            format_version: footer.version,
            index,
            footer_bytes: block.size_bytes().saturating_sub(described),
            columns,
        })
    }
}

fn index(block: &Block) -> Result<Vec<IndexPart>, StoreError> {
    let footer = block.footer();
    let traces = footer.trace_index.map(|_| footer.groups);
    let part = |name, region: Option<Region>, entries| {
        let region = region.unwrap_or_default();
        let plain_bytes =
            if region.plain_bytes == 0 { region.length_bytes } else { region.plain_bytes };
        IndexPart { name, size_bytes: region.length_bytes, plain_bytes, entries }
    };
    Ok(vec![
        part("origins", footer.origins, Some(block.origins()?.len() as u64)),
        part("shapes", footer.shapes, Some(block.shapes()?.len() as u64)),
        part("trace index", footer.trace_index, traces),
        part("filters", footer.filters, footer.filters.map(|_| block.granules() as u64)),
        part("catalogue", footer.catalogue, Some(block.catalogue()?.entries.len() as u64)),
    ])
}

/// The columns in the order of the file: fields, lists, attributes. Each is decoded, which counts
/// its values and finds damage.
fn columns(block: &Block) -> Result<Vec<Column>, StoreError> {
    let mut columns = Vec::new();
    let table = block.table();
    for (nth, field) in table.fields.iter().enumerate() {
        let values = block.field(nth, None)?.values.len();
        columns.push(column(block, columns.len(), field.name, ColumnKind::Field, values));
    }
    for (nth, list) in table.lists.iter().enumerate() {
        let decoded = block.list(nth)?;
        for (member, decoded) in list.members.iter().zip(&decoded.members) {
            let name = format!("{}.{}", list.name, member.name);
            let values = decoded.values.len();
            columns.push(column(block, columns.len(), &name, ColumnKind::List, values));
        }
    }
    for (nth, attribute) in block.attributes().iter().enumerate() {
        let name = chunk(block, attribute.leaf).column_descr().name().to_owned();
        let values = block.attribute(nth)?.values.len();
        let mut column = column(block, attribute.leaf, &name, ColumnKind::Attribute, values);
        column.filtered = attribute.filtered;
        columns.push(column);
    }
    Ok(columns)
}

fn chunk(block: &Block, leaf: usize) -> &ColumnChunkMetaData {
    block.metadata().row_group(0).column(leaf)
}

fn column(block: &Block, leaf: usize, name: &str, kind: ColumnKind, values: usize) -> Column {
    let chunk = chunk(block, leaf);
    let size_bytes = block.leaf_bytes(leaf);
    Column {
        name: name.to_owned(),
        kind,
        value_type: value_type(chunk),
        encoding: encoding(chunk),
        dictionary: chunk.dictionary_page_offset().is_some(),
        filtered: false,
        values: values as u64,
        size_bytes,
        bytes_per_row: ratio(size_bytes, block.rows() as u64),
        share: ratio(size_bytes, block.size_bytes()),
    }
}

fn value_type(chunk: &ColumnChunkMetaData) -> &'static str {
    let described = chunk.column_descr();
    match (chunk.column_type(), described.logical_type_ref()) {
        (Type::INT64, Some(LogicalType::Timestamp(_))) => "time",
        (Type::INT64, _) => "int",
        (Type::DOUBLE, _) => "double",
        (Type::BOOLEAN, _) => "bool",
        (Type::BYTE_ARRAY, Some(LogicalType::String)) => "text",
        (Type::FIXED_LEN_BYTE_ARRAY, _) if described.type_length() == 16 => "16 bytes",
        (Type::FIXED_LEN_BYTE_ARRAY, _) => "8 bytes",
        _ => "bytes",
    }
}

/// The encoding of the values; levels are always RLE.
fn encoding(chunk: &ColumnChunkMetaData) -> &'static str {
    let has = |encoding| chunk.encodings().any(|e| e == encoding);
    if has(Encoding::RLE_DICTIONARY) {
        "dictionary"
    } else if has(Encoding::DELTA_BINARY_PACKED) {
        "delta"
    } else {
        "plain"
    }
}
