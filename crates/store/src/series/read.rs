//! Rows of series that were found by an index, read: what describes them, and their
//! points.

use super::columns::{SeriesColumns, granule_runs};
use super::data::SeriesChunk;
use super::row::Description;
use crate::block::source::Source;
use crate::error::StoreError;
use crate::tables::series::field;

/// Fields that describe a series.
const DESCRIBING: [usize; 9] = [
    field::IDENTITY,
    field::NAME,
    field::UNIT,
    field::DESCRIPTION,
    field::TYPE,
    field::TEMPORALITY,
    field::MONOTONIC,
    field::METADATA,
    field::ORIGIN,
];

/// Fields that hold points.
const POINTS: [usize; 7] = [
    field::MIN_TIME,
    field::MAX_TIME,
    field::COUNT,
    field::TIMES,
    field::VALUES,
    field::SEQUENCE,
    field::SEQUENCES,
];

/// Calls `visit` with what describes the series of each of some rows, which are
/// ascending.
pub fn describe_rows(
    source: &Source,
    rows: &[u32],
    visit: &mut dyn FnMut(u32, &Description<'_>),
) -> Result<(), StoreError> {
    let mut labels = Vec::new();
    for run in granule_runs(rows) {
        let columns = SeriesColumns::read_fields(source, run, &DESCRIBING, true)?;
        for row in run {
            labels.clear();
            columns.labels(*row, &mut labels)?;
            let description = Description {
                identity: columns.identity(*row)?,
                origin: columns.origin(*row)?,
                kind: columns.kind(*row)?,
                name: columns.name(*row)?,
                unit: columns.unit(*row),
                description: columns.description(*row),
                metadata: columns.metadata(*row),
                labels: &labels,
            };
            visit(*row, &description);
        }
    }
    Ok(())
}

/// Calls `visit` with the points of each of some rows, which are ascending; without
/// exemplars, unless these are asked for.
pub fn read_points(
    source: &Source,
    rows: &[u32],
    with_exemplars: bool,
    visit: &mut dyn FnMut(u32, SeriesChunk) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut fields = POINTS.to_vec();
    if with_exemplars {
        fields.push(field::EXEMPLARS);
    }
    for run in granule_runs(rows) {
        let columns = SeriesColumns::read_fields(source, run, &fields, false)?;
        for row in run {
            visit(*row, SeriesChunk::new(&columns.points(*row)?))?;
        }
    }
    Ok(())
}
