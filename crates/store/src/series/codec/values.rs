//! The values blob: what follows its tag and count, by the type of the metric.

use super::buckets::{decode_buckets, encode_buckets};
use super::bytes::{Reader, put_varint};
use super::columns::{Layouts, Lists, OptionalDoubles, Repeated};
use super::doubles::{decode_doubles, encode_doubles};
use super::ints::{decode_ints, encode_ints};
use super::points::{
    BucketRanges, ExponentialHistograms, Histograms, NumberKind, Numbers, Summaries,
};
use super::{CodecError, MAX_LIST_ITEMS};

const ABSENT: u8 = 0;
const PRESENT: u8 = 1;
const SOME_PRESENT: u8 = 2;

/// The numbers of a mixed column come as their kinds, then the integers, then the doubles.
pub(super) const MIXED: u8 = 3;

/// Two bits that say of which kind all numbers are, or [`MIXED`].
pub(super) fn kind_bits(numbers: &Numbers) -> u8 {
    numbers.kinds.constant().map_or(MIXED, |kind| kind as u8)
}

pub(super) fn encode_numbers(numbers: &Numbers, out: &mut Vec<u8>) {
    if kind_bits(numbers) == MIXED {
        encode_as_ints(numbers.kinds.iter().map(|kind| kind as i64), out);
    }
    encode_ints(&numbers.ints, out);
    encode_doubles(&numbers.doubles, out);
}

pub(super) fn decode_numbers(
    reader: &mut Reader<'_>,
    kind: u8,
    count: usize,
) -> Result<Numbers, CodecError> {
    let mut numbers = Numbers { kinds: decode_kinds(reader, kind, count)?, ..Numbers::default() };
    let of_kind = |kind| numbers.kinds.iter().filter(|k| *k == kind).count();
    let (ints, doubles) = (of_kind(NumberKind::Int), of_kind(NumberKind::Double));
    decode_ints(reader, ints, &mut numbers.ints)?;
    decode_doubles(reader, doubles, &mut Vec::new(), &mut numbers.doubles)?;
    Ok(numbers)
}

fn decode_kinds(
    reader: &mut Reader<'_>,
    kind: u8,
    count: usize,
) -> Result<Repeated<NumberKind>, CodecError> {
    let to_kind = |kind| match kind {
        0 => Ok(NumberKind::Absent),
        1 => Ok(NumberKind::Int),
        2 => Ok(NumberKind::Double),
        _ => Err(CodecError::Corrupt("a number is of an unknown kind")),
    };
    if kind != MIXED {
        return Ok(Repeated::of(to_kind(i64::from(kind))?, count));
    }
    let mut kinds = Vec::new();
    decode_ints(reader, count, &mut kinds)?;
    kinds.into_iter().map(to_kind).collect()
}

pub(super) fn encode_histograms(histograms: &Histograms, out: &mut Vec<u8>) {
    encode_layouts(&histograms.bounds, out);
    encode_buckets(&histograms.bucket_counts, None, out);
    let in_buckets = histograms.bucket_counts.iter().map(total);
    encode_beyond(&histograms.counts, in_buckets, out);
    encode_optional(&histograms.sums, out);
    encode_optional(&histograms.mins, out);
    encode_optional(&histograms.maxs, out);
}

pub(super) fn decode_histograms(
    reader: &mut Reader<'_>,
    count: usize,
) -> Result<Histograms, CodecError> {
    let bounds = decode_layouts(reader, count)?;
    let bucket_counts = decode_buckets(reader, count, None)?;
    let counts = decode_beyond(reader, count, bucket_counts.iter().map(total))?;
    Ok(Histograms {
        counts,
        sums: decode_optional(reader, count)?,
        mins: decode_optional(reader, count)?,
        maxs: decode_optional(reader, count)?,
        bucket_counts,
        bounds,
    })
}

pub(super) fn encode_exponential(histograms: &ExponentialHistograms, out: &mut Vec<u8>) {
    encode_as_ints(histograms.scales.iter().map(i64::from), out);
    encode_ranges(&histograms.positive, out);
    encode_ranges(&histograms.negative, out);
    encode_unsigned(&histograms.zero_counts, out);
    encode_doubles(&histograms.zero_thresholds, out);
    encode_beyond(&histograms.counts, in_ranges(histograms).into_iter(), out);
    encode_optional(&histograms.sums, out);
    encode_optional(&histograms.mins, out);
    encode_optional(&histograms.maxs, out);
}

pub(super) fn decode_exponential(
    reader: &mut Reader<'_>,
    count: usize,
) -> Result<ExponentialHistograms, CodecError> {
    let mut histograms = ExponentialHistograms {
        scales: decode_repeated(reader, count)?,
        positive: decode_ranges(reader, count)?,
        negative: decode_ranges(reader, count)?,
        zero_counts: decode_unsigned(reader, count)?,
        ..ExponentialHistograms::default()
    };
    decode_doubles(reader, count, &mut Vec::new(), &mut histograms.zero_thresholds)?;
    histograms.counts = decode_beyond(reader, count, in_ranges(&histograms).into_iter())?;
    histograms.sums = decode_optional(reader, count)?;
    histograms.mins = decode_optional(reader, count)?;
    histograms.maxs = decode_optional(reader, count)?;
    Ok(histograms)
}

pub(super) fn encode_summaries(summaries: &Summaries, out: &mut Vec<u8>) {
    encode_unsigned(&summaries.counts, out);
    encode_doubles(&summaries.sums, out);
    encode_layouts(&summaries.quantiles, out);
    match summaries.quantiles.layouts.as_slice() {
        [layout] => {
            for position in 0..layout.len() {
                let column: Vec<f64> =
                    summaries.values.iter().skip(position).step_by(layout.len()).copied().collect();
                encode_doubles(&column, out);
            }
        }
        _ => encode_doubles(&summaries.values, out),
    }
}

pub(super) fn decode_summaries(
    reader: &mut Reader<'_>,
    count: usize,
) -> Result<Summaries, CodecError> {
    let mut summaries =
        Summaries { counts: decode_unsigned(reader, count)?, ..Summaries::default() };
    let mut scratch = Vec::new();
    decode_doubles(reader, count, &mut scratch, &mut summaries.sums)?;
    summaries.quantiles = decode_layouts(reader, count)?;
    let items = summaries.quantiles.iter().map(<[f64]>::len).sum();
    check_items(items)?;
    match summaries.quantiles.layouts.as_slice() {
        [layout] => {
            summaries.values.resize(items, 0.0);
            let mut column = Vec::new();
            for position in 0..layout.len() {
                column.clear();
                decode_doubles(reader, count, &mut scratch, &mut column)?;
                let slots = summaries.values.iter_mut().skip(position).step_by(layout.len());
                slots.zip(&column).for_each(|(slot, value)| *slot = *value);
            }
        }
        _ => decode_doubles(reader, items, &mut scratch, &mut summaries.values)?,
    }
    Ok(summaries)
}

pub(super) fn check_items(count: usize) -> Result<(), CodecError> {
    if count <= MAX_LIST_ITEMS {
        return Ok(());
    }
    Err(CodecError::Limit { count: count as u64, limit: MAX_LIST_ITEMS })
}

/// Integers of whatever type, by way of `i64`.
pub(super) fn encode_as_ints(values: impl Iterator<Item = i64>, out: &mut Vec<u8>) {
    encode_ints(&values.collect::<Vec<_>>(), out);
}

pub(super) fn decode_repeated<T: TryFrom<i64> + Copy + PartialEq + Default>(
    reader: &mut Reader<'_>,
    count: usize,
) -> Result<Repeated<T>, CodecError> {
    let mut values = Vec::new();
    decode_ints(reader, count, &mut values)?;
    let narrow =
        |value| T::try_from(value).map_err(|_| CodecError::Corrupt("a number is too large"));
    values.into_iter().map(narrow).collect()
}

pub(super) fn encode_unsigned(values: &[u64], out: &mut Vec<u8>) {
    encode_as_ints(values.iter().map(|value| *value as i64), out);
}

pub(super) fn decode_unsigned(
    reader: &mut Reader<'_>,
    count: usize,
) -> Result<Vec<u64>, CodecError> {
    let mut values = Vec::new();
    decode_ints(reader, count, &mut values)?;
    Ok(values.into_iter().map(|value| value as u64).collect())
}

fn total(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.wrapping_add(*count))
}

/// For each point the observations that its buckets account for.
fn in_ranges(histograms: &ExponentialHistograms) -> Vec<u64> {
    let mut totals = histograms.zero_counts.clone();
    for ranges in [&histograms.positive, &histograms.negative] {
        let present = totals.iter_mut().zip(ranges.present.iter()).filter(|(_, present)| *present);
        for ((sum, _), counts) in present.zip(ranges.counts.iter()) {
            *sum = sum.wrapping_add(total(counts));
        }
    }
    totals
}

/// Counts as what they exceed the observations in buckets by: nothing, as a rule.
fn encode_beyond(counts: &[u64], in_buckets: impl Iterator<Item = u64>, out: &mut Vec<u8>) {
    encode_as_ints(counts.iter().zip(in_buckets).map(|(c, sum)| c.wrapping_sub(sum) as i64), out);
}

fn decode_beyond(
    reader: &mut Reader<'_>,
    count: usize,
    in_buckets: impl Iterator<Item = u64>,
) -> Result<Vec<u64>, CodecError> {
    let mut counts = decode_unsigned(reader, count)?;
    for (count, sum) in counts.iter_mut().zip(in_buckets) {
        *count = count.wrapping_add(sum);
    }
    Ok(counts)
}

pub(super) fn encode_presence(present: &Repeated<bool>, out: &mut Vec<u8>) {
    match present.constant() {
        Some(true) => out.push(PRESENT),
        Some(false) => out.push(ABSENT),
        None => {
            out.push(SOME_PRESENT);
            encode_as_ints(present.iter().map(i64::from), out);
        }
    }
}

pub(super) fn decode_presence(
    reader: &mut Reader<'_>,
    count: usize,
) -> Result<Repeated<bool>, CodecError> {
    match reader.byte()? {
        ABSENT => Ok(Repeated::of(false, count)),
        PRESENT => Ok(Repeated::of(true, count)),
        SOME_PRESENT => {
            let bits: Repeated<u8> = decode_repeated(reader, count)?;
            Ok(bits.iter().map(|bit| bit != 0).collect())
        }
        _ => Err(CodecError::Corrupt("a column's presence is unknown")),
    }
}

fn encode_optional(column: &OptionalDoubles, out: &mut Vec<u8>) {
    encode_presence(&column.present, out);
    encode_doubles(&column.values, out);
}

fn decode_optional(reader: &mut Reader<'_>, count: usize) -> Result<OptionalDoubles, CodecError> {
    let present = decode_presence(reader, count)?;
    let mut values = Vec::new();
    let value_count = present.iter().filter(|present| *present).count();
    decode_doubles(reader, value_count, &mut Vec::new(), &mut values)?;
    Ok(OptionalDoubles { present, values })
}

pub(super) fn encode_layouts(column: &Layouts, out: &mut Vec<u8>) {
    put_varint(out, column.layouts.len() as u64);
    if column.layouts.len() > 1 {
        encode_as_ints(column.indexes.iter().map(i64::from), out);
    }
    encode_as_ints(column.layouts.iter().map(|layout| layout.len() as i64), out);
    encode_doubles(&column.layouts.concat(), out);
}

pub(super) fn decode_layouts(reader: &mut Reader<'_>, count: usize) -> Result<Layouts, CodecError> {
    let layout_count = reader.count(count)?;
    let indexes = match layout_count {
        0 | 1 => Repeated::of(0, count),
        _ => decode_repeated(reader, count)?,
    };
    if count > 0 && indexes.iter().any(|index| index as usize >= layout_count) {
        return Err(CodecError::Corrupt("a layout is missing"));
    }
    let lengths: Repeated<u32> = decode_repeated(reader, layout_count)?;
    let items = lengths.iter().map(|length| length as usize).sum();
    check_items(items)?;
    let mut flat = Vec::new();
    decode_doubles(reader, items, &mut Vec::new(), &mut flat)?;
    let lists = Lists { lengths, items: flat };
    Ok(Layouts { layouts: lists.iter().map(<[f64]>::to_vec).collect(), indexes })
}

fn encode_ranges(ranges: &BucketRanges, out: &mut Vec<u8>) {
    encode_presence(&ranges.present, out);
    encode_as_ints(ranges.offsets.iter().map(i64::from), out);
    encode_buckets(&ranges.counts, Some(&ranges.offsets), out);
}

fn decode_ranges(reader: &mut Reader<'_>, count: usize) -> Result<BucketRanges, CodecError> {
    let present = decode_presence(reader, count)?;
    let range_count = present.iter().filter(|present| *present).count();
    let offsets = decode_repeated(reader, range_count)?;
    let counts = decode_buckets(reader, range_count, Some(&offsets))?;
    Ok(BucketRanges { present, offsets, counts })
}
