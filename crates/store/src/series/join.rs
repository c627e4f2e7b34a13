//! Points of several rows of one series as one, in order of time.

use std::ops::RangeInclusive;

use hashbrown::HashSet;
use kymo_wire::encode::Writer;

use super::codec::{
    self, ExponentialHistogram, Histogram, NativeHistogram, Number, PointValues, Points, Summary,
};
use super::exemplars::{self, Exemplars};
use super::otlp;
use super::row::EncodedPoints;
use crate::error::StoreError;

/// What happens to points of equal time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EqualTimes {
    /// All are kept but exact duplicates.
    Keep,
    /// The last that arrived is kept; and only what lies in this range of times.
    LatestWins(RangeInclusive<i64>),
}

/// A row's points, decoded.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) points: Points,
    sequence: i64,
    /// For each point, unless all have `sequence`.
    sequences: Vec<i64>,
    exemplars: &'a [u8],
}

impl<'a> Part<'a> {
    /// Decodes a row's points.
    pub(crate) fn decode(encoded: &EncodedPoints<'a>) -> Result<Self, StoreError> {
        let points = codec::decode(encoded.times, encoded.values)?;
        let sequences = decode_sequences(encoded, points.len())?;
        let sequence = encoded.sequence;
        Ok(Self { points, sequence, sequences, exemplars: encoded.exemplars })
    }

    fn sequence(&self, nth: usize) -> i64 {
        self.sequences.get(nth).copied().unwrap_or(self.sequence)
    }
}

/// The sequence of each of `count` points; none if all have that of the row.
pub(crate) fn decode_sequences(
    encoded: &EncodedPoints<'_>,
    count: usize,
) -> Result<Vec<i64>, StoreError> {
    let mut sequences = Vec::new();
    if !encoded.sequences.is_empty() {
        codec::decode_times(encoded.sequences, &mut sequences)?;
        if sequences.len() != count {
            return Err(StoreError::corrupt("a row has not as many sequences as points"));
        }
    }
    Ok(sequences)
}

/// The value of one point.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PointValue<'a> {
    Number(Number),
    Histogram(Histogram<'a>),
    ExponentialHistogram(ExponentialHistogram<'a>),
    Summary(Summary<'a>),
    NativeHistogram(NativeHistogram<'a>),
}

/// The values of points, one by one.
pub(crate) fn values(points: &Points) -> Box<dyn Iterator<Item = PointValue<'_>> + '_> {
    match &points.values {
        PointValues::Numbers(v) => Box::new(v.iter().map(PointValue::Number)),
        PointValues::Histograms(v) => Box::new(v.iter().map(PointValue::Histogram)),
        PointValues::ExponentialHistograms(v) => {
            Box::new(v.iter().map(PointValue::ExponentialHistogram))
        }
        PointValues::Summaries(v) => Box::new(v.iter().map(PointValue::Summary)),
        PointValues::NativeHistograms(v) => Box::new(v.iter().map(PointValue::NativeHistogram)),
    }
}

/// One point with all that belongs to it.
#[derive(Debug)]
struct Entry<'a> {
    time_nanos: i64,
    sequence: i64,
    start_time_nanos: i64,
    flags: u32,
    value: PointValue<'a>,
    exemplars: Vec<&'a [u8]>,
}

/// Points of several rows as one.
#[derive(Debug)]
pub(crate) struct Joined {
    pub(crate) points: Points,
    /// See [`exemplars`].
    pub(crate) exemplars: Vec<u8>,
    /// The sequence of each point.
    pub(crate) sequences: Vec<i64>,
}

/// Joins the points of rows of one series. `empty` are points of its type.
pub(crate) fn join(
    parts: &[Part<'_>],
    empty: Points,
    equal_times: &EqualTimes,
) -> Result<Joined, StoreError> {
    let mut entries = entries(parts)?;
    if let EqualTimes::LatestWins(range) = equal_times {
        entries.retain(|entry| range.contains(&entry.time_nanos));
    }
    if !entries.is_sorted_by_key(|e| (e.time_nanos, e.sequence)) {
        // Stable: points of one sequence stay in the order they were sent.
        entries.sort_by_key(|e| (e.time_nanos, e.sequence));
    }
    let mut joined = Joined { points: empty, exemplars: Vec::new(), sequences: Vec::new() };
    for same_time in entries.chunk_by(|a, b| a.time_nanos == b.time_nanos) {
        match (same_time, equal_times) {
            ([only], _) | ([.., only], EqualTimes::LatestWins(_)) => joined.push(only)?,
            (several, _) => {
                for (entry, _) in several.iter().zip(are_last(several)).filter(|(_, last)| *last) {
                    joined.push(entry)?;
                }
            }
        }
    }
    Ok(joined)
}

fn entries<'a>(parts: &'a [Part<'_>]) -> Result<Vec<Entry<'a>>, StoreError> {
    let mut entries = Vec::with_capacity(parts.iter().map(|p| p.points.len()).sum());
    for part in parts {
        let first = entries.len();
        let columns = part.points.times_nanos.iter().zip(part.points.start_times_nanos.iter());
        let columns = columns.zip(part.points.flags.iter()).zip(values(&part.points));
        for (nth, (((time, start), flags), value)) in columns.enumerate() {
            entries.push(Entry {
                time_nanos: *time,
                sequence: part.sequence(nth),
                start_time_nanos: start,
                flags,
                value,
                exemplars: Vec::new(),
            });
        }
        for exemplar in Exemplars::new(part.exemplars) {
            let (point, exemplar) = exemplar?;
            let entry = first.checked_add(point).and_then(|nth| entries.get_mut(nth));
            let entry = entry.ok_or_else(|| StoreError::corrupt("an exemplar of no point"))?;
            entry.exemplars.push(exemplar);
        }
    }
    Ok(entries)
}

/// For each of some points whether none after it is exactly the same.
fn are_last(entries: &[Entry<'_>]) -> Vec<bool> {
    let mut seen = HashSet::new();
    let mut last = vec![false; entries.len()];
    for (entry, last) in entries.iter().zip(&mut last).rev() {
        let mut writer = Writer::new();
        otlp::write_point_fields(
            &mut writer,
            [entry.time_nanos, entry.start_time_nanos],
            entry.flags,
            &entry.value,
        );
        if let PointValue::NativeHistogram(histogram) = &entry.value {
            // What of it OTLP cannot say.
            write_exactly(histogram, &mut writer);
        }
        entry.exemplars.iter().for_each(|exemplar| writer.bytes_field(1, exemplar));
        *last = seen.insert(writer.into_bytes());
    }
    last
}

/// Appends all of a histogram, so that different ones are different bytes.
fn write_exactly(histogram: &NativeHistogram<'_>, writer: &mut Writer) {
    let word = [histogram.schema as u32, histogram.reset_hint.into(), histogram.is_integer.into()];
    word.into_iter().for_each(|number| writer.raw(&number.to_le_bytes()));
    let h = histogram;
    for spans in [h.positive_spans, h.negative_spans] {
        writer.varint(spans.len() as u64);
        for (offset, length) in spans {
            writer.raw(&offset.to_le_bytes());
            writer.raw(&length.to_le_bytes());
        }
    }
    let scalars = [h.zero_threshold, h.zero_count, h.count, h.sum];
    for doubles in [&scalars[..], h.positive, h.negative, h.custom_values] {
        writer.varint(doubles.len() as u64);
        doubles.iter().for_each(|double| writer.raw(&double.to_le_bytes()));
    }
}

impl Joined {
    fn push(&mut self, entry: &Entry<'_>) -> Result<(), StoreError> {
        match (&mut self.points.values, &entry.value) {
            (PointValues::Numbers(to), PointValue::Number(value)) => to.push(*value),
            (PointValues::Histograms(to), PointValue::Histogram(value)) => to.push(value),
            (PointValues::ExponentialHistograms(to), PointValue::ExponentialHistogram(value)) => {
                to.push(value)
            }
            (PointValues::Summaries(to), PointValue::Summary(value)) => {
                let pairs = value.quantiles.iter().copied().zip(value.values.iter().copied());
                to.push(value.count, value.sum, pairs);
            }
            (PointValues::NativeHistograms(to), PointValue::NativeHistogram(value)) => {
                to.push(value);
            }
            _ => return Err(StoreError::corrupt("points of another type than their series")),
        }
        let number = self.points.len();
        self.points.push(entry.time_nanos, entry.start_time_nanos, entry.flags);
        self.sequences.push(entry.sequence);
        for exemplar in &entry.exemplars {
            exemplars::push(number, exemplar, &mut self.exemplars);
        }
        Ok(())
    }
}
