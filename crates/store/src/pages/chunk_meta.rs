//! What the Parquet footer and page indexes say of a column chunk.

use parquet::basic::{BoundaryOrder, Compression, Encoding, Type, ZstdLevel};
use parquet::column::page::PageWriteSpec;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ColumnIndexBuilder, OffsetIndexBuilder};
use parquet::file::statistics::Statistics;
use parquet::schema::types::ColumnDescPtr;

/// What a page holds, for the indexes.
pub(super) struct PageStats {
    /// Values and gaps.
    pub(super) slots: usize,
    pub(super) present: usize,
    pub(super) bounds: Bounds,
}

/// Least and greatest value of a page.
#[derive(Clone, Copy)]
pub(super) enum Bounds {
    None,
    Int(i64, i64),
    Double(f64, f64),
    /// There was a NaN: nothing can be said.
    Unknown,
}

impl Bounds {
    pub(super) fn widen_double(&mut self, value: f64) {
        *self = match *self {
            _ if value.is_nan() => Bounds::Unknown,
            Bounds::None => Bounds::Double(value, value),
            Bounds::Double(low, high) => Bounds::Double(low.min(value), high.max(value)),
            other => other,
        };
    }
}

pub(super) fn int_bounds(values: &[i64]) -> Bounds {
    match (values.iter().min(), values.iter().max()) {
        (Some(low), Some(high)) => Bounds::Int(*low, *high),
        _ => Bounds::None,
    }
}

/// Collects what the Parquet footer says of a column chunk.
pub(super) struct ChunkMeta {
    physical: Type,
    dictionary_bytes: Option<i64>,
    uncompressed: i64,
    slots: i64,
    nulls: i64,
    offsets: OffsetIndexBuilder,
    index: Option<ColumnIndexBuilder>,
    bounds: Vec<Bounds>,
    first_data_page: Option<i64>,
}

impl ChunkMeta {
    pub(super) fn new(physical: Type) -> Self {
        let indexed = matches!(physical, Type::INT64 | Type::DOUBLE);
        Self {
            physical,
            dictionary_bytes: None,
            uncompressed: 0,
            slots: 0,
            nulls: 0,
            offsets: OffsetIndexBuilder::new(),
            index: indexed.then(|| ColumnIndexBuilder::new(physical)),
            bounds: Vec::new(),
            first_data_page: None,
        }
    }

    pub(super) fn dictionary(&mut self, spec: &PageWriteSpec) {
        self.dictionary_bytes = Some(spec.bytes_written as i64);
        self.uncompressed += spec.uncompressed_size as i64;
    }

    pub(super) fn data_page(&mut self, spec: &PageWriteSpec, rows: usize, stats: PageStats) {
        self.first_data_page.get_or_insert(spec.offset as i64);
        self.uncompressed += spec.uncompressed_size as i64;
        self.slots += stats.slots as i64;
        let nulls = (stats.slots - stats.present) as i64;
        self.nulls += nulls;
        self.offsets.append_offset_and_size(spec.offset as i64, spec.bytes_written as i32);
        self.offsets.append_row_count(rows as i64);
        if let Some(index) = &mut self.index {
            let (low, high) = match stats.bounds {
                Bounds::Int(low, high) => (low.to_le_bytes(), high.to_le_bytes()),
                Bounds::Double(low, high) => (low.to_le_bytes(), high.to_le_bytes()),
                Bounds::None => ([0; 8], [0; 8]),
                Bounds::Unknown => {
                    index.to_invalid();
                    ([0; 8], [0; 8])
                }
            };
            index.append(stats.present == 0, low.to_vec(), high.to_vec(), nulls);
        }
        self.bounds.push(stats.bounds);
    }

    fn statistics(&self) -> Option<Statistics> {
        let nulls = Some(self.nulls as u64);
        let mut ints: Option<(i64, i64)> = None;
        let mut doubles: Option<(f64, f64)> = None;
        for bounds in &self.bounds {
            match *bounds {
                Bounds::None => {}
                Bounds::Unknown => return None,
                Bounds::Int(low, high) => {
                    let (l, h) = ints.unwrap_or((low, high));
                    ints = Some((l.min(low), h.max(high)));
                }
                Bounds::Double(low, high) => {
                    let (l, h) = doubles.unwrap_or((low, high));
                    doubles = Some((l.min(low), h.max(high)));
                }
            }
        }
        match self.physical {
            Type::INT64 => {
                Some(Statistics::int64(ints.map(|b| b.0), ints.map(|b| b.1), None, nulls, false))
            }
            Type::DOUBLE => {
                let (low, high) = (doubles.map(|b| b.0), doubles.map(|b| b.1));
                Some(Statistics::double(low, high, None, nulls, false))
            }
            _ => None,
        }
    }

    /// The metadata of the finished chunk.
    pub(super) fn close(
        self,
        descr: &ColumnDescPtr,
        bytes: usize,
        rows: usize,
        values_encoding: Encoding,
    ) -> Result<ColumnCloseResult, ParquetError> {
        let mut encodings = vec![Encoding::RLE];
        if self.dictionary_bytes.is_some() {
            encodings.push(Encoding::PLAIN);
        }
        encodings.push(values_encoding);
        let mut metadata = ColumnChunkMetaData::builder(descr.clone())
            .set_encodings(encodings)
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_num_values(self.slots)
            .set_total_compressed_size(bytes as i64)
            .set_total_uncompressed_size(self.uncompressed)
            .set_dictionary_page_offset(self.dictionary_bytes.map(|_| 0))
            .set_data_page_offset(self.first_data_page.unwrap_or(0));
        if let Some(statistics) = self.statistics() {
            metadata = metadata.set_statistics(statistics);
        }
        let column_index = match self.index {
            Some(mut index) if index.valid() => {
                index.set_boundary_order(BoundaryOrder::UNORDERED);
                Some(index.build()?)
            }
            _ => None,
        };
        Ok(ColumnCloseResult {
            bytes_written: bytes as u64,
            rows_written: rows as u64,
            metadata: metadata.build()?,
            bloom_filter: None,
            column_index,
            offset_index: Some(self.offsets.build()),
        })
    }
}
