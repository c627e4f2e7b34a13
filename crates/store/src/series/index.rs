//! What it takes to find series in a source, without reading what describes them.
//!
//! For each row its metric, identity and times: some 40 bytes, worth keeping from
//! one query to the next. Who asks tests metrics first, of which there are few, and
//! then knows series by their identity.

use hashbrown::HashMap;

use super::columns::int_at;
use super::identity::{MetricKind, MetricType, TEMPORALITIES};
use crate::block::attributes::bytes_at;
use crate::block::source::Source;
use crate::column::{Column, Values};
use crate::error::StoreError;
use crate::tables::series::field;
use crate::tables::spans::number_of;

/// A metric of a source.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct IndexedMetric {
    /// Its name as sent.
    pub name: Box<[u8]>,
    /// Its unit.
    pub unit: Box<[u8]>,
    /// Type, temporality, and whether it is monotonic.
    pub kind: MetricKind,
}

/// A row of a source.
#[derive(Debug, Clone, Copy)]
pub struct IndexedRow {
    /// The identity of its series.
    pub identity: [u8; 16],
    /// Which of the source's metrics it belongs to.
    pub metric: u32,
    /// How many points it has.
    pub count: u32,
    /// Least time of a point.
    pub min_time_nanos: i64,
    /// Greatest time of a point.
    pub max_time_nanos: i64,
}

/// Metrics and rows of a source.
#[derive(Debug, Default)]
pub struct SeriesIndex {
    /// The metrics, each once.
    pub metrics: Vec<IndexedMetric>,
    /// The rows, by number.
    pub rows: Vec<IndexedRow>,
}

/// Codes of what makes a metric; absent ones are [`NONE`].
type MetricCodes = [u32; 5];
const NONE: u32 = u32::MAX;

impl SeriesIndex {
    /// Reads the index of a source.
    pub fn read(source: &Source) -> Result<Self, StoreError> {
        let required = |field| source.field(field)?.ok_or_else(missing);
        let (identities, names) = (required(field::IDENTITY)?, required(field::NAME)?);
        let (starts, ends) = (required(field::MIN_TIME)?, required(field::MAX_TIME)?);
        let (types, counts) = (required(field::TYPE)?, required(field::COUNT)?);
        let units = source.field(field::UNIT)?;
        let temporalities = source.field(field::TEMPORALITY)?;
        let monotonic = source.field(field::MONOTONIC)?;
        let Values::Id16(identity_of) = &identities.values else { return Err(missing()) };
        let mut index = Self::default();
        let mut known: HashMap<MetricCodes, u32> = HashMap::new();
        for row in 0..source.rows() as u32 {
            let is_monotonic = monotonic.as_deref().and_then(|column| bool_at(column, row));
            let codes = [
                code_at(Some(&names), row),
                code_at(units.as_deref(), row),
                code_at(Some(&types), row),
                code_at(temporalities.as_deref(), row),
                is_monotonic.map_or(NONE, u32::from),
            ];
            let metric = match known.get(&codes) {
                Some(metric) => *metric,
                None => {
                    let text = |column: Option<&Column>| {
                        column.and_then(|c| bytes_at(c, row)).unwrap_or_default().into()
                    };
                    let metric_type = bytes_at(&types, row).and_then(MetricType::from_name);
                    let temporality = temporalities.as_deref().and_then(|c| bytes_at(c, row));
                    index.metrics.push(IndexedMetric {
                        name: text(Some(&names)),
                        unit: text(units.as_deref()),
                        kind: MetricKind {
                            metric_type: metric_type.ok_or_else(missing)?,
                            temporality: temporality.map(|word| number_of(word, &TEMPORALITIES)),
                            monotonic: is_monotonic,
                        },
                    });
                    known.insert(codes, index.metrics.len() as u32 - 1);
                    index.metrics.len() as u32 - 1
                }
            };
            let identity = identities.index_of(row).and_then(|nth| identity_of.get(nth));
            index.rows.push(IndexedRow {
                identity: *identity.ok_or_else(missing)?,
                metric,
                count: int_at(&counts, row)
                    .and_then(|count| u32::try_from(count).ok())
                    .unwrap_or(0),
                min_time_nanos: int_at(&starts, row).ok_or_else(missing)?,
                max_time_nanos: int_at(&ends, row).ok_or_else(missing)?,
            });
        }
        Ok(index)
    }

    /// Bytes held on the heap, nearly.
    pub fn heap_bytes(&self) -> usize {
        let texts = self.metrics.iter().map(|metric| metric.name.len() + metric.unit.len());
        self.rows.capacity() * size_of::<IndexedRow>()
            + self.metrics.capacity() * size_of::<IndexedMetric>()
            + texts.sum::<usize>()
    }
}

fn code_at(column: Option<&Column>, row: u32) -> u32 {
    let Some(column) = column else { return NONE };
    match (&column.values, column.index_of(row)) {
        (Values::Bytes(codes, _), Some(nth)) => codes.get(nth).copied().unwrap_or(NONE),
        _ => NONE,
    }
}

fn bool_at(column: &Column, row: u32) -> Option<bool> {
    match (&column.values, column.index_of(row)) {
        (Values::Bool(values), Some(nth)) => values.get(nth).copied(),
        _ => None,
    }
}

fn missing() -> StoreError {
    StoreError::corrupt("a row of series lacks a value that every row has")
}
