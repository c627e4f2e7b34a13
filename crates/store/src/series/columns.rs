//! Rows of series, read: the columns of a source, and a row's parts.
//!
//! Of a chunk the columns are there; of a block the granules are read that hold
//! the rows asked for.

use std::borrow::Cow;
use std::ops::Range;

use super::identity::{MetricKind, MetricType, TEMPORALITIES};
use super::labels::Labels;
use super::row::EncodedPoints;
use crate::block::attributes::bytes_at;
use crate::block::source::Source;
use crate::column::{Column, Dict, Values};
use crate::error::StoreError;
use crate::pages::GRANULE_ROWS;
use crate::tables::series::field;
use crate::tables::spans::number_of;

/// Which rows of a source are wanted, and where they begin in the columns read.
#[derive(Debug, Clone)]
pub(crate) struct Extent {
    granules: Option<Range<usize>>,
    first_row: u32,
}

impl Extent {
    /// All rows that lie in the granules of `rows`, which are ascending.
    pub(crate) fn of(source: &Source, rows: &[u32]) -> Self {
        match (source, rows.first(), rows.last()) {
            (Source::Block(_), Some(first), Some(last)) => {
                let first = *first as usize / GRANULE_ROWS;
                let end = *last as usize / GRANULE_ROWS + 1;
                let first_row = (first * GRANULE_ROWS) as u32;
                Self { granules: Some(first..end), first_row }
            }
            _ => Self { granules: None, first_row: 0 },
        }
    }

    /// The row's place in the columns that were read.
    #[inline]
    pub(crate) fn place(&self, row: u32) -> u32 {
        row.wrapping_sub(self.first_row)
    }

    /// A fixed column of that extent.
    pub(crate) fn field<'s>(
        &self,
        source: &'s Source,
        field: usize,
    ) -> Result<Option<Cow<'s, Column>>, StoreError> {
        match (source, &self.granules) {
            (Source::Block(block), Some(granules)) => {
                Ok(Some(Cow::Owned(block.field(field, Some(granules.clone()))?)))
            }
            _ => source.field(field),
        }
    }

    /// An attribute column of that extent.
    pub(crate) fn attribute<'s>(
        &self,
        source: &'s Source,
        nth: usize,
    ) -> Result<Cow<'s, Column>, StoreError> {
        match (source, &self.granules) {
            (Source::Block(block), Some(granules)) => {
                Ok(Cow::Owned(block.attribute_granules(nth, Some(granules.clone()))?))
            }
            _ => source.attribute(nth),
        }
    }
}

/// Divides ascending rows so that each part lies in neighbouring granules.
pub(crate) fn granule_runs(rows: &[u32]) -> impl Iterator<Item = &[u32]> {
    rows.chunk_by(|a, b| *b as usize / GRANULE_ROWS - *a as usize / GRANULE_ROWS <= 1)
}

/// The columns that rows of series are made of.
#[derive(Debug)]
pub(crate) struct SeriesColumns<'s> {
    extent: Extent,
    fields: Vec<Option<Cow<'s, Column>>>,
    origins: Cow<'s, Dict>,
    /// Of rows whose attributes are asked for.
    labels: Option<Labels<'s>>,
}

/// Fields that rows are made of.
const FIELDS: [usize; 17] = [
    field::IDENTITY,
    field::NAME,
    field::UNIT,
    field::DESCRIPTION,
    field::TYPE,
    field::TEMPORALITY,
    field::MONOTONIC,
    field::METADATA,
    field::MIN_TIME,
    field::MAX_TIME,
    field::COUNT,
    field::TIMES,
    field::VALUES,
    field::EXEMPLARS,
    field::SEQUENCE,
    field::SEQUENCES,
    field::ORIGIN,
];

impl<'s> SeriesColumns<'s> {
    /// Reads what `rows` need, which are ascending.
    pub(crate) fn read(source: &'s Source, rows: &[u32]) -> Result<Self, StoreError> {
        Self::read_fields(source, rows, &FIELDS, true)
    }

    /// Reads some fields of `rows`, and their attributes if asked for.
    pub(crate) fn read_fields(
        source: &'s Source,
        rows: &[u32],
        wanted: &[usize],
        with_labels: bool,
    ) -> Result<Self, StoreError> {
        let extent = Extent::of(source, rows);
        let mut fields: Vec<Option<Cow<'s, Column>>> =
            (0..source_fields(source)).map(|_| None).collect();
        for field in wanted {
            fields[*field] = extent.field(source, *field)?;
        }
        let labels = with_labels.then(|| Labels::read(source, &extent, rows)).transpose()?;
        Ok(Self { fields, origins: source.origins()?, labels, extent })
    }

    fn optional_bytes(&self, field: usize, row: u32) -> &[u8] {
        let column = self.fields[field].as_deref();
        column.and_then(|c| bytes_at(c, self.extent.place(row))).unwrap_or_default()
    }

    fn bytes(&self, field: usize, row: u32) -> Result<&[u8], StoreError> {
        let column = self.fields[field].as_deref();
        column.and_then(|c| bytes_at(c, self.extent.place(row))).ok_or_else(missing)
    }

    fn int(&self, field: usize, row: u32) -> Result<i64, StoreError> {
        let column = self.fields[field].as_deref().ok_or_else(missing)?;
        int_at(column, self.extent.place(row)).ok_or_else(missing)
    }

    /// The identity of the row's series.
    pub(crate) fn identity(&self, row: u32) -> Result<[u8; 16], StoreError> {
        let column = self.fields[field::IDENTITY].as_deref().ok_or_else(missing)?;
        match &column.values {
            Values::Id16(ids) => {
                let place = column.index_of(self.extent.place(row));
                place.and_then(|i| ids.get(i)).copied().ok_or_else(missing)
            }
            _ => Err(missing()),
        }
    }

    /// Type, temporality and whether the series is monotonic.
    pub(crate) fn kind(&self, row: u32) -> Result<MetricKind, StoreError> {
        let metric_type = MetricType::from_name(self.bytes(field::TYPE, row)?)
            .ok_or_else(|| StoreError::corrupt("a series has an unknown type"))?;
        let place = self.extent.place(row);
        let temporality = self.fields[field::TEMPORALITY].as_deref();
        let temporality = temporality.and_then(|column| bytes_at(column, place));
        let monotonic = self.fields[field::MONOTONIC].as_deref().and_then(|column| {
            let nth = column.index_of(place)?;
            match &column.values {
                Values::Bool(values) => values.get(nth).copied(),
                _ => None,
            }
        });
        Ok(MetricKind {
            metric_type,
            temporality: temporality.map(|word| number_of(word, &TEMPORALITIES)),
            monotonic,
        })
    }

    /// The metric's name as sent.
    pub(crate) fn name(&self, row: u32) -> Result<&[u8], StoreError> {
        self.bytes(field::NAME, row)
    }

    /// The metric's unit.
    pub(crate) fn unit(&self, row: u32) -> &[u8] {
        self.optional_bytes(field::UNIT, row)
    }

    /// The metric's description.
    pub(crate) fn description(&self, row: u32) -> &[u8] {
        self.optional_bytes(field::DESCRIPTION, row)
    }

    /// The metric's metadata: an encoded `KeyValueList`.
    pub(crate) fn metadata(&self, row: u32) -> &[u8] {
        self.optional_bytes(field::METADATA, row)
    }

    /// The encoded origin.
    pub(crate) fn origin(&self, row: u32) -> Result<&[u8], StoreError> {
        let code = self.int(field::ORIGIN, row)?;
        let code = u32::try_from(code).ok().filter(|c| (*c as usize) < self.origins.len());
        Ok(self.origins.get(code.ok_or_else(missing)?))
    }

    /// Appends the row's attributes as an encoded `KeyValueList`.
    pub(crate) fn labels(&self, row: u32, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let labels = self.labels.as_ref().ok_or_else(missing)?;
        labels.encode(self.extent.place(row), out)
    }

    /// Number of the row's points.
    pub(crate) fn count(&self, row: u32) -> Result<usize, StoreError> {
        usize::try_from(self.int(field::COUNT, row)?).map_err(|_| missing())
    }

    /// The row's points.
    pub(crate) fn points(&self, row: u32) -> Result<EncodedPoints<'_>, StoreError> {
        Ok(EncodedPoints {
            min_time_nanos: self.int(field::MIN_TIME, row)?,
            max_time_nanos: self.int(field::MAX_TIME, row)?,
            count: self.count(row)?,
            times: self.bytes(field::TIMES, row)?,
            values: self.bytes(field::VALUES, row)?,
            exemplars: self.optional_bytes(field::EXEMPLARS, row),
            sequence: self.int(field::SEQUENCE, row)?,
            sequences: self.optional_bytes(field::SEQUENCES, row),
        })
    }
}

fn source_fields(source: &Source) -> usize {
    match source {
        Source::Chunk(chunk) => chunk.fields.len(),
        Source::Block(block) => block.table().fields.len(),
    }
}

/// The integer that a row has in a column.
pub(crate) fn int_at(column: &Column, row: u32) -> Option<i64> {
    let nth = column.index_of(row)?;
    match &column.values {
        Values::Int(values) => values.get(nth).copied(),
        _ => None,
    }
}

fn missing() -> StoreError {
    StoreError::corrupt("a row of series lacks a value that every row has")
}
