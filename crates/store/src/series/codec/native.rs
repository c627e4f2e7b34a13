//! Native histograms of Prometheus: the points in memory, and their part of the values blob.
//!
//! Buckets come in runs, and which runs there are changes now and then as observations fall into
//! buckets that had none. So a bucket is known by its index, not by its place in the list: each
//! index that any point of the chunk has is a column over those points that have it. Where all
//! points have the same runs, which is the rule, that is a column over all points.
//!
//! The count is nearly always the sum of the buckets and then takes no room.

use kymo_wire::remote_write::NativeHistogram;

use super::bytes::{Reader, put_varint};
use super::columns::{Layouts, Repeated};
use super::doubles::{decode_doubles, encode_doubles};
use super::values::{
    check_items, decode_layouts, decode_presence, decode_repeated, encode_as_ints, encode_layouts,
    encode_presence,
};
use super::{CodecError, MAX_LIST_ITEMS};

const COUNTS_ARE_SUMS: u8 = 0;
const COUNTS_FOLLOW: u8 = 1;

/// Values of native histograms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NativeHistograms {
    schemas: Repeated<i32>,
    reset_hints: Repeated<u8>,
    are_integers: Repeated<bool>,
    zero_thresholds: Vec<f64>,
    zero_counts: Vec<f64>,
    counts: Vec<f64>,
    sums: Vec<f64>,
    positive: SpanBuckets,
    negative: SpanBuckets,
    custom_values: Layouts,
}

impl NativeHistograms {
    /// Appends the value of a point.
    pub fn push(&mut self, histogram: &NativeHistogram<'_>) {
        self.schemas.push(histogram.schema);
        self.reset_hints.push(histogram.reset_hint);
        self.are_integers.push(histogram.is_integer);
        self.zero_thresholds.push(histogram.zero_threshold);
        self.zero_counts.push(histogram.zero_count);
        self.counts.push(histogram.count);
        self.sums.push(histogram.sum);
        self.positive.push(histogram.positive_spans, histogram.positive);
        self.negative.push(histogram.negative_spans, histogram.negative);
        self.custom_values.push(histogram.custom_values.iter().copied());
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The items of the longest of its lists of lists.
    pub(super) fn list_items(&self) -> usize {
        let sides = [&self.positive, &self.negative];
        let buckets = sides.into_iter().map(|side| side.counts.len().max(side.span_items())).max();
        buckets.unwrap_or(0).max(self.custom_values.items())
    }

    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = NativeHistogram<'_>> + '_ {
        let mut kinds = self.schemas.iter().zip(self.reset_hints.iter());
        let mut are_integers = self.are_integers.iter();
        let mut zeros = self.zero_thresholds.iter().zip(&self.zero_counts);
        let mut positive = self.positive.iter();
        let mut negative = self.negative.iter();
        let mut custom_values = self.custom_values.iter();
        self.counts.iter().zip(&self.sums).map(move |(count, sum)| {
            let (schema, reset_hint) = kinds.next().unwrap_or_default();
            let (zero_threshold, zero_count) = zeros.next().unwrap_or((&0.0, &0.0));
            let (positive_spans, positive) = positive.next().unwrap_or_default();
            let (negative_spans, negative) = negative.next().unwrap_or_default();
            NativeHistogram {
                schema,
                reset_hint,
                is_integer: are_integers.next().unwrap_or_default(),
                zero_threshold: *zero_threshold,
                zero_count: *zero_count,
                count: *count,
                sum: *sum,
                positive_spans,
                negative_spans,
                positive,
                negative,
                custom_values: custom_values.next().unwrap_or_default(),
            }
        })
    }

    /// The count that each point has if every observation is in a bucket.
    fn in_buckets(&self) -> impl Iterator<Item = f64> + '_ {
        let sides = self.negative.iter().zip(self.positive.iter());
        self.zero_counts.iter().zip(sides).map(|(zero_count, ((_, negative), (_, positive)))| {
            negative.iter().chain(positive).fold(*zero_count, |sum, count| sum + count)
        })
    }
}

/// Appends the values.
pub(super) fn encode(histograms: &NativeHistograms, out: &mut Vec<u8>) {
    encode_as_ints(histograms.schemas.iter().map(i64::from), out);
    encode_as_ints(histograms.reset_hints.iter().map(i64::from), out);
    encode_presence(&histograms.are_integers, out);
    encode_doubles(&histograms.zero_thresholds, out);
    encode_doubles(&histograms.zero_counts, out);
    histograms.positive.encode(out);
    histograms.negative.encode(out);
    let mut counts = histograms.counts.iter().zip(histograms.in_buckets());
    if counts.all(|(count, sum)| count.to_bits() == sum.to_bits()) {
        out.push(COUNTS_ARE_SUMS);
    } else {
        out.push(COUNTS_FOLLOW);
        encode_doubles(&histograms.counts, out);
    }
    encode_doubles(&histograms.sums, out);
    encode_layouts(&histograms.custom_values, out);
}

/// The values of `count` points.
pub(super) fn decode(
    reader: &mut Reader<'_>,
    count: usize,
) -> Result<NativeHistograms, CodecError> {
    let mut histograms = NativeHistograms {
        schemas: decode_repeated(reader, count)?,
        reset_hints: decode_repeated(reader, count)?,
        are_integers: decode_presence(reader, count)?,
        ..NativeHistograms::default()
    };
    let mut scratch = Vec::new();
    decode_doubles(reader, count, &mut scratch, &mut histograms.zero_thresholds)?;
    decode_doubles(reader, count, &mut scratch, &mut histograms.zero_counts)?;
    histograms.positive = SpanBuckets::decode(reader, count)?;
    histograms.negative = SpanBuckets::decode(reader, count)?;
    match reader.byte()? {
        COUNTS_ARE_SUMS => histograms.counts = histograms.in_buckets().collect(),
        COUNTS_FOLLOW => decode_doubles(reader, count, &mut scratch, &mut histograms.counts)?,
        _ => return Err(CodecError::Corrupt("the form of counts is unknown")),
    }
    decode_doubles(reader, count, &mut scratch, &mut histograms.sums)?;
    histograms.custom_values = decode_layouts(reader, count)?;
    Ok(histograms)
}

/// Buckets of one sign. Runs are nearly always those of the point before and kept once.
#[derive(Clone, Debug, Default, PartialEq)]
struct SpanBuckets {
    layouts: Vec<Vec<(i32, u32)>>,
    indexes: Repeated<u32>,
    /// Of all points, one after the other.
    counts: Vec<f64>,
}

/// Where the counts of points go: to the columns of their buckets.
struct Plan {
    /// For each layout the columns of its buckets.
    columns: Vec<Vec<u32>>,
    /// For each column how many values it has.
    lengths: Vec<usize>,
}

impl SpanBuckets {
    /// How many of the latest layouts a new one is compared with.
    const REMEMBERED: usize = 4;

    fn push(&mut self, spans: &[(i32, u32)], counts: &[f64]) {
        let known = self.layouts.iter().enumerate().rev().take(Self::REMEMBERED);
        let index = known.filter(|(_, layout)| *layout == spans).map(|(index, _)| index).next();
        let index = index.unwrap_or_else(|| {
            self.layouts.push(spans.to_vec());
            self.layouts.len() - 1
        });
        self.indexes.push(index as u32);
        // As many as the spans say, whatever the caller has.
        let wanted = buckets_of(spans);
        self.counts.extend(counts.iter().copied().chain(std::iter::repeat(0.0)).take(wanted));
    }

    fn iter(&self) -> impl Iterator<Item = (&[(i32, u32)], &[f64])> + '_ {
        let mut rest = self.counts.as_slice();
        self.indexes.iter().map(move |index| {
            let spans = self.layouts.get(index as usize).map_or(&[][..], Vec::as_slice);
            let (counts, after) = rest.split_at_checked(buckets_of(spans)).unwrap_or((rest, &[]));
            rest = after;
            (spans, counts)
        })
    }

    fn span_items(&self) -> usize {
        self.layouts.iter().map(|spans| spans.len().max(buckets_of(spans))).sum()
    }

    fn plan(&self) -> Plan {
        let indexes: Vec<Vec<i64>> =
            self.layouts.iter().map(|spans| bucket_indexes(spans)).collect();
        let mut all: Vec<i64> = indexes.concat();
        all.sort_unstable();
        all.dedup();
        let column_of = |index: &i64| all.binary_search(index).unwrap_or_default() as u32;
        let columns: Vec<Vec<u32>> =
            indexes.iter().map(|layout| layout.iter().map(column_of).collect()).collect();
        let mut points = vec![0; self.layouts.len()];
        self.indexes.iter().for_each(|index| points[index as usize] += 1);
        let mut lengths = vec![0; all.len()];
        for (columns, points) in columns.iter().zip(points) {
            columns.iter().for_each(|column| lengths[*column as usize] += points);
        }
        Plan { columns, lengths }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.layouts.len() as u64);
        if self.layouts.len() > 1 {
            encode_as_ints(self.indexes.iter().map(i64::from), out);
        }
        encode_as_ints(self.layouts.iter().map(|spans| spans.len() as i64), out);
        let spans = || self.layouts.iter().flatten();
        encode_as_ints(spans().map(|(offset, _)| i64::from(*offset)), out);
        encode_as_ints(spans().map(|(_, length)| i64::from(*length)), out);
        let plan = self.plan();
        let mut columns: Vec<Vec<f64>> =
            plan.lengths.iter().map(|length| Vec::with_capacity(*length)).collect();
        let mut counts = self.counts.iter();
        for index in self.indexes.iter() {
            let places = &plan.columns[index as usize];
            for (place, count) in places.iter().zip(counts.by_ref().take(places.len())) {
                columns[*place as usize].push(*count);
            }
        }
        columns.iter().for_each(|column| encode_doubles(column, out));
    }

    fn decode(reader: &mut Reader<'_>, count: usize) -> Result<Self, CodecError> {
        let layout_count = reader.count(count)?;
        let indexes = match layout_count {
            0 | 1 => Repeated::of(0, count),
            _ => decode_repeated(reader, count)?,
        };
        if count > 0 && indexes.iter().any(|index: u32| index as usize >= layout_count) {
            return Err(CodecError::Corrupt("a layout is missing"));
        }
        let span_counts: Repeated<u32> = decode_repeated(reader, layout_count)?;
        let spans = span_counts.iter().map(|count| count as usize).sum();
        check_items(spans)?;
        let offsets: Repeated<i32> = decode_repeated(reader, spans)?;
        let lengths: Repeated<u32> = decode_repeated(reader, spans)?;
        let mut spans = offsets.iter().zip(lengths.iter());
        let layouts: Vec<Vec<(i32, u32)>> =
            span_counts.iter().map(|count| spans.by_ref().take(count as usize).collect()).collect();
        check_items(
            lengths.iter().fold(0, |sum: usize, length| sum.saturating_add(length as usize)),
        )?;
        let sizes: Vec<usize> = layouts.iter().map(|spans| buckets_of(spans)).collect();
        let items = indexes.iter().fold(0, |sum: usize, index| {
            sum.saturating_add(sizes.get(index as usize).copied().unwrap_or(0))
        });
        check_items(items)?;
        let mut buckets = Self { layouts, indexes, counts: Vec::with_capacity(items) };
        buckets.decode_counts(reader)?;
        Ok(buckets)
    }

    fn decode_counts(&mut self, reader: &mut Reader<'_>) -> Result<(), CodecError> {
        if self.layouts.is_empty() {
            return Ok(());
        }
        let plan = self.plan();
        let mut scratch = Vec::new();
        let mut columns = Vec::with_capacity(plan.lengths.len());
        for length in plan.lengths {
            let mut column = Vec::new();
            decode_doubles(reader, length, &mut scratch, &mut column)?;
            columns.push(column.into_iter());
        }
        for index in self.indexes.iter() {
            for place in &plan.columns[index as usize] {
                self.counts.push(columns[*place as usize].next().unwrap_or_default());
            }
        }
        Ok(())
    }
}

/// Buckets in the runs; no more than a chunk may have.
fn buckets_of(spans: &[(i32, u32)]) -> usize {
    let buckets: u64 = spans.iter().map(|(_, length)| u64::from(*length)).sum();
    usize::try_from(buckets).unwrap_or(usize::MAX).min(MAX_LIST_ITEMS + 1)
}

/// The index of each bucket.
fn bucket_indexes(spans: &[(i32, u32)]) -> Vec<i64> {
    let mut indexes = Vec::with_capacity(buckets_of(spans));
    let mut next = 0;
    for (offset, length) in spans {
        next += i64::from(*offset);
        indexes.extend(next..next + i64::from(*length));
        next += i64::from(*length);
    }
    indexes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram<'a>(spans: &'a [(i32, u32)], counts: &'a [f64]) -> NativeHistogram<'a> {
        NativeHistogram {
            schema: 2,
            reset_hint: 0,
            is_integer: true,
            zero_threshold: 1e-128,
            zero_count: 1.0,
            count: 1.0 + counts.iter().sum::<f64>(),
            sum: 0.5,
            positive_spans: spans,
            negative_spans: &[],
            positive: counts,
            negative: &[],
            custom_values: &[],
        }
    }

    fn round_trip(points: &[NativeHistogram<'_>]) -> Vec<u8> {
        let mut histograms = NativeHistograms::default();
        points.iter().for_each(|point| histograms.push(point));
        let mut bytes = Vec::new();
        encode(&histograms, &mut bytes);
        let mut reader = Reader::new(&bytes);
        let back = decode(&mut reader, points.len()).unwrap();
        reader.end().unwrap();
        assert_eq!(back.len(), points.len());
        for (point, back) in points.iter().zip(back.iter()) {
            assert!(point.is_same(&back), "{point:?}\n{back:?}");
        }
        bytes
    }

    #[test]
    fn every_bit_of_a_histogram_comes_back() {
        let plain = histogram(&[(-3, 2), (4, 1)], &[3.0, 0.0, 7.0]);
        let stale = f64::from_bits(0x7ff0_0000_0000_0002);
        round_trip(&[]);
        round_trip(&[plain]);
        round_trip(&[
            plain,
            NativeHistogram { sum: stale, count: 0.0, ..histogram(&[], &[]) },
            NativeHistogram { reset_hint: 3, is_integer: false, zero_count: -0.0, ..plain },
            NativeHistogram { negative_spans: &[(i32::MAX, 1)], negative: &[0.25], ..plain },
            NativeHistogram { schema: -53, custom_values: &[1.0, 2.5], ..plain },
            NativeHistogram { count: 1e300, ..plain },
            histogram(&[(-3, 0), (0, 2)], &[1.0, f64::NAN]),
            // No sender makes such spans, and nothing may break.
            histogram(&[(i32::MIN, 1), (i32::MIN, 1), (-1, 1)], &[1.0, 2.0, 3.0]),
        ]);
    }

    #[test]
    fn buckets_that_appear_do_not_disturb_those_that_are_there() {
        let mut lists = Vec::new();
        for point in 0..240u32 {
            let buckets = 10 + point / 24;
            let counts: Vec<f64> = (0..buckets).map(|b| f64::from(point * (b + 1))).collect();
            lists.push((vec![(-2, buckets)], counts));
        }
        let points: Vec<_> = lists.iter().map(|(s, c)| histogram(s, c)).collect();
        let size = round_trip(&points).len();
        assert!(size < 1000, "{size} bytes for counts that grow steadily");
    }

    #[test]
    fn damaged_bytes_are_refused_or_read_but_never_panic() {
        let bytes = round_trip(&[
            histogram(&[(-3, 2), (4, 1)], &[3.0, 0.0, 7.0]),
            histogram(&[(-3, 4)], &[3.0, 0.0, 7.0, 1.0]),
        ]);
        for place in 0..bytes.len() {
            for value in 0..=255 {
                let mut changed = bytes.clone();
                changed[place] = value;
                if let Ok(read) = decode(&mut Reader::new(&changed), 2) {
                    assert_eq!(read.iter().count(), 2);
                }
            }
            assert!(decode(&mut Reader::new(&bytes[..place]), 2).is_err());
        }
    }
}
