//! Rows of one series joined, for compaction.
//!
//! Flushes of a head leave short rows; here neighbours become rows of up to
//! [`SERIES_JOINED_MAX_POINTS`] points, decoded and encoded anew. Rows that have
//! nothing to be joined with are copied as they are.
//!
//! No point is lost but exact duplicates. Which of two points of equal time
//! came later stays known: a joined row keeps the sequence of each point where
//! those differ.

use super::codec;
use super::columns::SeriesColumns;
use super::join::{EqualTimes, Part, join};
use super::registry::empty_points;
use super::row::{Description, EncodedPoints, push_row, time_bounds};
use crate::block::source::{RowRef, Source};
use crate::chunk::{Chunk, ChunkBuilder};
use crate::error::StoreError;
use crate::limits::SERIES_JOINED_MAX_POINTS;
use crate::tables::series::TABLE;

/// Joins `rows`, which are in the order of [`crate::tables::order`], and gives
/// them in that order.
///
/// All of them are in memory at once: pass some ten thousand at a time, and do
/// not divide the rows of one series if it can be helped.
pub fn merge(sources: &[Source], rows: &[RowRef]) -> Result<Chunk, StoreError> {
    let mut wanted: Vec<Vec<u32>> = vec![Vec::new(); sources.len()];
    for row in rows {
        wanted[row.source as usize].push(row.row);
    }
    let mut columns = Vec::with_capacity(sources.len());
    for (source, wanted) in sources.iter().zip(&mut wanted) {
        wanted.sort_unstable();
        let is_used = !wanted.is_empty();
        columns.push(is_used.then(|| SeriesColumns::read(source, wanted)).transpose()?);
    }
    let merge = Merge { columns };
    let mut builder = ChunkBuilder::new(&TABLE);
    let mut group: Vec<RowRef> = Vec::new();
    let mut group_points = 0;
    let mut group_identity = [0; 16];
    for row in rows {
        let columns = merge.columns_of(*row)?;
        let (identity, count) = (columns.identity(row.row)?, columns.count(row.row)?);
        let fits = identity == group_identity && group_points + count <= SERIES_JOINED_MAX_POINTS;
        if !fits {
            merge.write_group(&group, &mut builder)?;
            group.clear();
            group_points = 0;
            group_identity = identity;
        }
        group.push(*row);
        group_points += count;
    }
    merge.write_group(&group, &mut builder)?;
    Ok(builder.finish())
}

struct Merge<'s> {
    /// Of each source that rows are taken from.
    columns: Vec<Option<SeriesColumns<'s>>>,
}

impl<'s> Merge<'s> {
    fn columns_of(&self, row: RowRef) -> Result<&SeriesColumns<'s>, StoreError> {
        let columns = self.columns.get(row.source as usize).and_then(Option::as_ref);
        columns.ok_or_else(|| StoreError::State("a row of a source that was not given".into()))
    }

    fn write_group(&self, group: &[RowRef], builder: &mut ChunkBuilder) -> Result<(), StoreError> {
        let mut rows = Vec::with_capacity(group.len());
        for row in group {
            rows.push((*row, self.columns_of(*row)?.points(row.row)?));
        }
        // What describes the series is taken from the row that came last.
        let Some((latest, only)) = rows.iter().max_by_key(|(_, points)| points.sequence) else {
            return Ok(());
        };
        let columns = self.columns_of(*latest)?;
        // A row may have been written before anything was said about its metric.
        let (mut told, mut told_metadata) =
            (columns.description(latest.row), columns.metadata(latest.row));
        if told.is_empty() || told_metadata.is_empty() {
            let mut by_arrival: Vec<_> = rows.iter().collect();
            by_arrival.sort_by_key(|(_, points)| std::cmp::Reverse(points.sequence));
            for (row, _) in by_arrival {
                let columns = self.columns_of(*row)?;
                let or = |text, other| if <[u8]>::is_empty(text) { other } else { text };
                told = or(told, columns.description(row.row));
                told_metadata = or(told_metadata, columns.metadata(row.row));
            }
        }
        let mut labels = Vec::new();
        columns.labels(latest.row, &mut labels)?;
        let description = Description {
            identity: columns.identity(latest.row)?,
            origin: columns.origin(latest.row)?,
            kind: columns.kind(latest.row)?,
            name: columns.name(latest.row)?,
            unit: columns.unit(latest.row),
            description: told,
            metadata: told_metadata,
            labels: &labels,
        };
        if rows.len() == 1 {
            return push_row(builder, &description, only);
        }
        write_joined(builder, &description, rows.iter().map(|(_, points)| points))
    }
}

fn write_joined<'a>(
    builder: &mut ChunkBuilder,
    description: &Description<'_>,
    rows: impl Iterator<Item = &'a EncodedPoints<'a>>,
) -> Result<(), StoreError> {
    let parts: Vec<Part<'_>> = rows.map(Part::decode).collect::<Result<_, _>>()?;
    let empty = empty_points(description.kind.metric_type);
    let joined = join(&parts, empty, &EqualTimes::Keep)?;
    let (mut times, mut values, mut sequences) = (Vec::new(), Vec::new(), Vec::new());
    codec::encode_times(&joined.points.times_nanos, &mut times)?;
    codec::encode_values(&joined.points, &mut values)?;
    let (least_sequence, sequence) = time_bounds(&joined.sequences);
    if least_sequence != sequence {
        codec::encode_times(&joined.sequences, &mut sequences)?;
    }
    let (min_time_nanos, max_time_nanos) = time_bounds(&joined.points.times_nanos);
    let points = EncodedPoints {
        min_time_nanos,
        max_time_nanos,
        count: joined.points.len(),
        times: &times,
        values: &values,
        exemplars: &joined.exemplars,
        sequence,
        sequences: &sequences,
    };
    push_row(builder, description, &points)
}
