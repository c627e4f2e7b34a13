//! Points of series as rows: by a scan of [`Elements::Points`](super::Elements).
//!
//! The rows of the table that pass are found first, and those of one series whose
//! times overlap brought together ([`rows`]). Each such group, mostly a single
//! row, is decoded, merged (of points of equal time the one that arrived last
//! counts) and cut to the range of times; its points are appended to a batch
//! ([`build`]), beside the columns of the series they belong to. A partition has
//! one group decoded at a time, and reads blocks in their own order.

mod build;
mod rows;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};

use super::build::arrow;
use super::compile::Target;
use super::packed::Slice;
use super::part::Leaf;
use super::project::BatchError;
use super::reader::Reader;
use super::work::{Readers, Work};
use super::{Prepared, ScanStats};
use crate::block::source::RowRef;
use crate::error::StoreError;
use crate::pages::GRANULE_ROWS;
use crate::series::codec::{self, Numbers, PointValues};
use crate::series::join::{EqualTimes, Part, join};
use crate::series::row::EncodedPoints;
use crate::tables::series::{field, point};
use build::PointBuilder;
pub(super) use rows::SeriesRows;

/// Groups that a partition takes at once.
const GROUPS_PER_UNIT: usize = 64;

/// Decoded points that are being appended.
#[derive(Debug)]
struct Decoded {
    points: codec::Points,
    /// Whether the values were left out, since only times are asked for.
    has_values: bool,
    next: usize,
}

/// What a partition has in hands.
#[derive(Debug)]
pub(super) struct Points {
    series: Option<Arc<SeriesRows>>,
    groups: Range<usize>,
    decoded: Option<Decoded>,
    builder: PointBuilder,
    /// A row of each series in the batch under way.
    batch_rows: Vec<RowRef>,
    ready: VecDeque<RecordBatch>,
    /// Whether more than times is asked for.
    reads_values: bool,
    time: Option<Range<i64>>,
    last_part: Option<u32>,
}

impl Points {
    pub(super) fn new(prepared: &Prepared) -> Self {
        let members: Vec<usize> = prepared
            .projection
            .columns
            .iter()
            .filter_map(|column| match column.target {
                Target::Point(member) => Some(member),
                _ => None,
            })
            .collect();
        Self {
            series: None,
            groups: 0..0,
            decoded: None,
            builder: PointBuilder::new(&members),
            batch_rows: Vec::new(),
            ready: VecDeque::new(),
            reads_values: members.iter().any(|member| *member != point::TIME),
            time: prepared.time.clone(),
            last_part: None,
        }
    }

    /// The next batch.
    pub(super) fn next(
        &mut self,
        work: &Work,
        readers: &mut Readers,
        stats: &mut ScanStats,
    ) -> Result<Option<RecordBatch>, StoreError> {
        let series = match &self.series {
            Some(series) => series.clone(),
            None => self.series.insert(SeriesRows::of(work, readers, stats)?).clone(),
        };
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            if let Some(decoded) = &mut self.decoded {
                let (points, time) = (&decoded.points, self.time.as_ref());
                let number = self.batch_rows.len() as u32 - 1;
                let end =
                    self.builder.append(points, decoded.next, decoded.has_values, time, number);
                decoded.next = end;
                if end == points.len() {
                    self.decoded = None;
                }
                if self.builder.is_full() {
                    self.flush(work, readers, stats)?;
                }
                continue;
            }
            if self.groups.is_empty() {
                let units = series.groups().div_ceil(GROUPS_PER_UNIT);
                let Some(unit) = work.take(units) else {
                    self.flush(work, readers, stats)?;
                    return Ok(self.ready.pop_front());
                };
                let first = unit * GROUPS_PER_UNIT;
                self.groups = first..(first + GROUPS_PER_UNIT).min(series.groups());
                continue;
            }
            work.prepared.check_cancelled()?;
            let group = series.group(self.groups.start);
            self.groups.start += 1;
            self.open(group, work, readers, stats)?;
        }
    }

    /// Decodes the points of a group.
    fn open(
        &mut self,
        group: &[RowRef],
        work: &Work,
        readers: &mut Readers,
        stats: &mut ScanStats,
    ) -> Result<(), StoreError> {
        let part = group[0].source;
        if self.last_part.replace(part) != Some(part) {
            // Groups come block by block: what was kept of others is not needed.
            readers.forget_all_but(part as usize);
        }
        if let ([place], false) = (group, self.reads_values) {
            let mut times = Vec::new();
            let read = Row::read(readers.of(part as usize), place.row, false, stats)
                .and_then(|row| Ok(codec::decode_times(&row.times, &mut times)?));
            if let Err(error) = read {
                return work.prepared.tolerate(part, error);
            }
            if times.is_sorted_by(|a, b| a < b) {
                let mut points = codec::Points::new(PointValues::Numbers(Numbers::default()));
                points.times_nanos = times;
                return self.begin(*place, points, false);
            }
        }
        let mut rows: Vec<(RowRef, Row)> = Vec::with_capacity(group.len());
        for place in group.iter().filter(|place| !work.prepared.is_damaged(place.source)) {
            match Row::read(readers.of(place.source as usize), place.row, true, stats) {
                Ok(row) => rows.push((*place, row)),
                Err(error) => work.prepared.tolerate(place.source, error)?,
            }
        }
        if let [(place, row)] = &rows[..] {
            match codec::decode(&row.times, &row.values) {
                Ok(points) if points.times_nanos.is_sorted_by(|a, b| a < b) => {
                    return self.begin(*place, points, true);
                }
                Ok(_) => {}
                Err(error) => return work.prepared.tolerate(place.source, error.into()),
            }
        }
        match (rows.first(), self.merge(&rows, work)?) {
            (Some((place, _)), Some(points)) => self.begin(*place, points, true),
            _ => Ok(()),
        }
    }

    fn begin(
        &mut self,
        place: RowRef,
        points: codec::Points,
        has_values: bool,
    ) -> Result<(), StoreError> {
        self.batch_rows.push(place);
        self.decoded = Some(Decoded { points, has_values, next: 0 });
        Ok(())
    }

    /// Points of several rows, or of one that has them out of order.
    fn merge(
        &self,
        rows: &[(RowRef, Row)],
        work: &Work,
    ) -> Result<Option<codec::Points>, StoreError> {
        let mut parts = Vec::with_capacity(rows.len());
        for (place, row) in rows.iter().filter(|(p, _)| !work.prepared.is_damaged(p.source)) {
            match Part::decode(&row.encoded()) {
                Ok(part) => parts.push(part),
                Err(error) => work.prepared.tolerate(place.source, error)?,
            }
        }
        let Some(first) = parts.first() else { return Ok(None) };
        let empty = codec::Points::new(first.points.values.empty());
        let range = match &self.time {
            None => i64::MIN..=i64::MAX,
            // One that is empty has no rows.
            Some(time) => time.start..=time.end.saturating_sub(1),
        };
        match join(&parts, empty, &EqualTimes::LatestWins(range)) {
            Ok(joined) => Ok(Some(joined.points)),
            Err(error) => work.prepared.tolerate(rows[0].0.source, error).map(|()| None),
        }
    }

    /// Makes a batch of the points so far.
    fn flush(
        &mut self,
        work: &Work,
        readers: &mut Readers,
        stats: &mut ScanStats,
    ) -> Result<(), StoreError> {
        // The series under way goes on in the next batch.
        let next_rows = match (&self.decoded, self.batch_rows.last()) {
            (Some(_), Some(row)) => vec![*row],
            _ => Vec::new(),
        };
        let mut rows = std::mem::replace(&mut self.batch_rows, next_rows);
        let mut built = self.builder.finish()?;
        let of_series = loop {
            if built.series.is_empty() {
                return Ok(());
            }
            match work.prepared.projection.arrays(&rows, readers, stats) {
                Ok(arrays) => break arrays,
                // Each series of a batch shows its texts once.
                Err(BatchError::TooLarge) => {
                    return Err(StoreError::Query(
                        "labels of series are too large to be shown with their points".to_owned(),
                    ));
                }
                Err(BatchError::Part(part, error)) => work.prepared.tolerate(part, error)?,
            }
            let is_kept: Vec<bool> =
                rows.iter().map(|row| !work.prepared.is_damaged(row.source)).collect();
            built.retain(&is_kept)?;
            rows.retain(|row| !work.prepared.is_damaged(row.source));
        };
        let count = built.series.len();
        let numbers = UInt32Array::from(built.series);
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(of_series.len());
        let mut members = built.members.into_iter();
        for column in of_series {
            let array = match column {
                Some(column) => arrow_select::take::take(&column, &numbers, None).map_err(arrow)?,
                None => members.next().ok_or_else(|| {
                    StoreError::Query("a scan of points lacks a column".to_owned())
                })?,
            };
            arrays.push(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let schema = work.prepared.projection.schema.clone();
        let batch = RecordBatch::try_new_with_options(schema, arrays, &options).map_err(arrow)?;
        self.ready.push_back(batch);
        Ok(())
    }
}

/// What a row of series has of its points.
#[derive(Debug)]
struct Row {
    min_time_nanos: i64,
    max_time_nanos: i64,
    count: usize,
    sequence: i64,
    times: Vec<u8>,
    values: Vec<u8>,
    sequences: Vec<u8>,
}

impl Row {
    fn read(
        reader: &mut Reader,
        row: u32,
        with_values: bool,
        stats: &mut ScanStats,
    ) -> Result<Self, StoreError> {
        let (part, granule) = (reader.part(), row as usize / GRANULE_ROWS);
        let rows = part.rows(granule);
        let place = (row as usize - rows.start) as u32;
        let missing = || StoreError::corrupt("a row of series lacks a value that every row has");
        let mut int = |field: usize| {
            let loaded = reader.load(Leaf::Field(field), granule, stats)?.ok_or_else(missing)?;
            let piece = loaded.piece(granule, rows.clone());
            match (piece.index_of(place), piece.values) {
                (Some(nth), Slice::Int(values)) => Ok::<i64, StoreError>(values.get(nth)),
                _ => Err(missing()),
            }
        };
        let (min_time_nanos, max_time_nanos) = (int(field::MIN_TIME)?, int(field::MAX_TIME)?);
        let (count, sequence) = (int(field::COUNT)?, int(field::SEQUENCE)?);
        let mut bytes = |field: usize| {
            let Some(loaded) = reader.load(Leaf::Field(field), granule, stats)? else {
                return Ok::<Option<Vec<u8>>, StoreError>(None);
            };
            let piece = loaded.piece(granule, rows.clone());
            Ok(match (piece.index_of(place), piece.values) {
                (Some(nth), Slice::Bytes(codes, dict)) => {
                    Some(dict.get(codes.get(nth) as u32).to_vec())
                }
                _ => None,
            })
        };
        let times = bytes(field::TIMES)?.ok_or_else(missing)?;
        let (mut values, mut sequences) = (Vec::new(), Vec::new());
        if with_values {
            values = bytes(field::VALUES)?.ok_or_else(missing)?;
            sequences = bytes(field::SEQUENCES)?.unwrap_or_default();
        }
        let count = usize::try_from(count).map_err(|_| missing())?;
        Ok(Self { min_time_nanos, max_time_nanos, count, sequence, times, values, sequences })
    }

    fn encoded(&self) -> EncodedPoints<'_> {
        EncodedPoints {
            min_time_nanos: self.min_time_nanos,
            max_time_nanos: self.max_time_nanos,
            count: self.count,
            times: &self.times,
            values: &self.values,
            exemplars: &[],
            sequence: self.sequence,
            sequences: &self.sequences,
        }
    }
}
