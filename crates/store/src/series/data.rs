//! A series that a query found, and its points.

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::codec::{self, Points};
use super::identity::MetricKind;
use super::join::{EqualTimes, Part, decode_sequences, join};
use super::registry::empty_points;
use super::row::{EncodedPoints, time_bounds};
use crate::error::StoreError;

/// A series with the chunks of time that a query asked for.
#[derive(Debug, Clone)]
pub struct SeriesData {
    /// The identity.
    pub identity: [u8; 16],
    /// The metric's name as sent.
    pub name: Arc<[u8]>,
    /// The metric's unit.
    pub unit: Arc<[u8]>,
    /// The metric's description, that of the last row that has one.
    pub description: Arc<[u8]>,
    /// The metric's metadata, likewise: an encoded `KeyValueList`.
    pub metadata: Arc<[u8]>,
    /// Type, temporality, and whether it is monotonic.
    pub kind: MetricKind,
    /// The encoded origin, see [`crate::origin::Origin::decode`].
    pub origin: Arc<[u8]>,
    /// The points' attributes as sent: an encoded `KeyValueList`.
    pub labels: Box<[u8]>,
    /// Rows with points in the range asked for, by their first time.
    pub chunks: Vec<SeriesChunk>,
    /// The times asked for, in nanoseconds since 1970.
    pub range_nanos: RangeInclusive<i64>,
}

/// One row of a series.
#[derive(Debug, Clone)]
pub struct SeriesChunk {
    /// Least time of a point.
    pub min_time_nanos: i64,
    /// Greatest time of a point.
    pub max_time_nanos: i64,
    /// Number of points.
    pub count: usize,
    /// Grows with arrival.
    pub sequence: i64,
    /// The blob of times, see [`super::codec`].
    pub times: Box<[u8]>,
    /// The blob of values.
    pub values: Box<[u8]>,
    /// The exemplars, see [`super::exemplars`].
    pub exemplars: Box<[u8]>,
    /// Sequences of the points, where they differ.
    pub sequences: Box<[u8]>,
}

impl SeriesChunk {
    pub(crate) fn new(encoded: &EncodedPoints<'_>) -> Self {
        Self {
            min_time_nanos: encoded.min_time_nanos,
            max_time_nanos: encoded.max_time_nanos,
            count: encoded.count,
            sequence: encoded.sequence,
            times: encoded.times.into(),
            values: encoded.values.into(),
            exemplars: encoded.exemplars.into(),
            sequences: encoded.sequences.into(),
        }
    }

    fn encoded(&self) -> EncodedPoints<'_> {
        EncodedPoints {
            min_time_nanos: self.min_time_nanos,
            max_time_nanos: self.max_time_nanos,
            count: self.count,
            times: &self.times,
            values: &self.values,
            exemplars: &self.exemplars,
            sequence: self.sequence,
            sequences: &self.sequences,
        }
    }

    /// A row of points, which must not be none.
    pub fn of_points(points: &Points, sequence: i64) -> Result<Self, StoreError> {
        let (mut times, mut values) = (Vec::new(), Vec::new());
        codec::encode_times(&points.times_nanos, &mut times)?;
        codec::encode_values(points, &mut values)?;
        let (min_time_nanos, max_time_nanos) = time_bounds(&points.times_nanos);
        Ok(Self {
            min_time_nanos,
            max_time_nanos,
            count: points.len(),
            sequence,
            times: times.into(),
            values: values.into(),
            exemplars: Box::default(),
            sequences: Box::default(),
        })
    }

    /// All points of the row, as they were appended.
    pub fn points(&self) -> Result<Points, StoreError> {
        Ok(codec::decode(&self.times, &self.values)?)
    }

    /// The points of the row by time; of several with equal time, the one that
    /// arrived last.
    pub fn points_in_order(&self) -> Result<Points, StoreError> {
        let points = self.points()?;
        if points.times_nanos.is_sorted_by(|a, b| a < b) {
            return Ok(points);
        }
        in_order(std::slice::from_ref(self))
    }
}

/// The points of rows of one series by time; of several with equal time, the one
/// that arrived last.
pub fn in_order(chunks: &[SeriesChunk]) -> Result<Points, StoreError> {
    let parts: Vec<Part<'_>> =
        chunks.iter().map(|chunk| Part::decode(&chunk.encoded())).collect::<Result<_, _>>()?;
    let Some(first) = parts.first() else {
        return Err(StoreError::State("there are no rows to put in order".into()));
    };
    let empty = Points::new(first.points.values.empty());
    Ok(join(&parts, empty, &EqualTimes::LatestWins(i64::MIN..=i64::MAX))?.points)
}

impl SeriesData {
    /// The points in the range asked for, by time; of several with equal time,
    /// the one that arrived last.
    pub fn points(&self) -> Result<Points, StoreError> {
        let parts: Vec<Part<'_>> =
            self.chunks.iter().map(|c| Part::decode(&c.encoded())).collect::<Result<_, _>>()?;
        if let [only] = &parts[..]
            && self.is_final(&only.points.times_nanos)
        {
            return Ok(only.points.clone());
        }
        let empty = empty_points(self.kind.metric_type);
        let latest = EqualTimes::LatestWins(self.range_nanos.clone());
        Ok(join(&parts, empty, &latest)?.points)
    }

    /// Whether nothing has to be left out or put in order.
    fn is_final(&self, times_nanos: &[i64]) -> bool {
        let ends = [times_nanos.first(), times_nanos.last()];
        ends.into_iter().flatten().all(|time| self.range_nanos.contains(time))
            && times_nanos.is_sorted_by(|a, b| a < b)
    }

    /// Times and values of a gauge, sum or samples in the range asked for, as doubles, by
    /// time; of several with equal time, the one that arrived last. Points
    /// without a value are [`codec::STALE_NAN`].
    pub fn numbers_f64(&self) -> Result<(Vec<i64>, Vec<f64>), StoreError> {
        let count = self.chunks.iter().map(|c| c.count.min(codec::MAX_POINTS)).sum();
        let (mut times, mut doubles) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for chunk in &self.chunks {
            codec::decode_numbers_f64(&chunk.times, &chunk.values, &mut times, &mut doubles)?;
        }
        if !times.is_sorted_by(|a, b| a < b) {
            (times, doubles) = self.in_order(&times, &doubles)?;
        }
        let end = times.partition_point(|time| time <= self.range_nanos.end());
        times.truncate(end);
        doubles.truncate(end);
        let start = times.partition_point(|time| time < self.range_nanos.start());
        times.drain(..start);
        doubles.drain(..start);
        Ok((times, doubles))
    }

    /// Points of all chunks by time, the latest of each time.
    fn in_order(&self, times: &[i64], doubles: &[f64]) -> Result<(Vec<i64>, Vec<f64>), StoreError> {
        let mut sequences = Vec::with_capacity(times.len());
        for chunk in &self.chunks {
            let of_points = decode_sequences(&chunk.encoded(), chunk.count)?;
            if of_points.is_empty() {
                sequences.resize(sequences.len() + chunk.count, chunk.sequence);
            } else {
                sequences.extend(of_points);
            }
        }
        if sequences.len() != times.len() {
            return Err(StoreError::corrupt("a row has not as many points as it says"));
        }
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by_key(|nth| (times[*nth], sequences[*nth]));
        let latest = order.chunk_by(|a, b| times[*a] == times[*b]).filter_map(<[usize]>::last);
        Ok(latest.map(|nth| (times[*nth], doubles[*nth])).unzip())
    }
}
