//! The samples of one series over one chunk of time, as bytes.
//!
//! A chunk is two blobs: its times, and everything else. Whatever OTLP and Prometheus' remote-write
//! can say about a point (but exemplars, which are kept elsewhere) comes back as it was: order,
//! repeated times, the kind of each number, every bit of every double. Chunks are cheap to write (a
//! few dozen nanoseconds a sample) and cheaper to read; what is random in the data is all that takes
//! room.
//!
//! The idea is the same everywhere: find integers in the values, predict each from those before
//! it, and pack what is left with as many bits as most of it needs; the few that need more are
//! exceptions. There is no entropy coder: the pages that hold the blobs are compressed anyway.
//!
//! Decoding never panics, and allocates in proportion to [`MAX_POINTS`] and [`MAX_LIST_ITEMS`] at
//! most. There is no checksum: a changed byte is found only where it contradicts another.
//!
//! | file | what is in it |
//! |---|---|
//! | `points`, `columns` | the points in memory: cheap to append to |
//! | `values` | the values blob by type of metric |
//! | `buckets` | bucket counts of histograms |
//! | `native` | native histograms |
//! | `doubles` | a column of doubles as a column of integers |
//! | `ints`, `pack` | a column of integers; packed bits |
//! | `bytes` | varints |
//!
//! # Format
//!
//! Version 1. Numbers of more than one byte are little-endian. Below,
//!
//! - *varint* is an unsigned LEB128 of at most 10 bytes: seven bits a byte, lowest first;
//! - *signed* is a varint of the zigzag mapping (0, -1, 1, -2 are 0, 1, 2, 3);
//! - *ints(n)* and *doubles(n)* are columns of `n` values as described further down; a column of
//!   no values takes no bytes;
//! - integer arithmetic is modulo 2⁶⁴; unsigned columns are stored as their two's complement.
//!
//! ## Times blob
//!
//! | bytes | |
//! |---|---|
//! | 1 | `0x10` |
//! | varint | number of points `n`, at most 2²⁰ |
//! | ints(n) | times in nanoseconds since 1970 |
//!
//! ## Values blob
//!
//! | bytes | |
//! |---|---|
//! | 1 | `0x11` numbers, `0x12` histograms, `0x13` exponential histograms, `0x14` summaries, `0x15` native histograms |
//! | varint | number of points `n`: that of the times blob |
//! | 1 | shape: bit 0: there are start times; bit 1: they are relative; bit 2: there are flags; bits 3–4: the kind of all numbers: 0 absent, 1 integer, 2 double, 3 mixed (0 for other types) |
//! | ints(n) | flags, if there are; otherwise all are 0 |
//! | … | the values, by type |
//! | ints(n) | start times, if there are; otherwise all are 0. If relative, the time of the point before (for the first point, its own) is to be added |
//!
//! **Numbers**: if mixed, ints(n): the kind of each; then ints of those that are integers, then
//! doubles of those that are doubles.
//!
//! **Histograms**: *layouts* of bounds; *buckets*; ints(n): count less the sum of the bucket counts;
//! *optional* sum, min, max.
//!
//! **Exponential histograms**: ints(n): scale; *range* of positive buckets; *range* of negative
//! buckets; ints(n): zero count; doubles(n): zero threshold; ints(n): count less zero count and the
//! sum of all bucket counts; *optional* sum, min, max.
//!
//! **Summaries**: ints(n): count; doubles(n): sum; *layouts* of quantiles; then the values: if there
//! is exactly one layout, doubles(n) for each of its quantiles, otherwise one doubles of all values,
//! point after point.
//!
//! **Native histograms**: ints(n): schema; ints(n): reset hint; *presence*, where it says present: the
//! counts came as integers; doubles(n): zero threshold; doubles(n): zero count; *runs* of positive
//! buckets; *runs* of negative buckets; 1 byte: 0: each count is the zero count plus the negative
//! buckets plus the positive ones, added as doubles in that order, 1: doubles(n): count; doubles(n):
//! sum; *layouts* of custom values.
//!
//! with these parts:
//!
//! - *presence*: 1 byte: 0 all absent, 1 all present, 2 some; if 2, ints(n): 1 where present, else 0.
//! - *optional*: *presence*, then doubles of those that are present.
//! - *layouts*: varint: number of different lists `m`; if more than one, ints(n): which one each
//!   point has, from 0; ints(m): their lengths; doubles of all their items, list after list.
//! - *range*: *presence*; then, `p` being the number of those present, ints(p): offset; *buckets*
//!   of `p` points.
//! - *buckets*: nothing, if there are no points. Otherwise 1 byte:
//!   - 0: varint: number of buckets of every point; then for each bucket an ints over all points.
//!   - 1: ints: number of buckets of each point; then one ints of all counts, point after point.
//!   - 2: as 1, but from each count is subtracted that of the same bucket of the point before,
//!     where that has it. The same bucket is that of equal offset + position (the offset is 0 for
//!     histograms with explicit bounds).
//!
//! - *runs*: varint: number of different lists of runs `m`; if more than one, ints(n): which one each
//!   point has, from 0; ints(m): their lengths; ints of the offsets of all runs, list after list; ints
//!   of their lengths likewise. A run is of so many neighbouring buckets; its offset is the number of
//!   buckets between the run before and it, for the first run the index of its first bucket. Then for
//!   each index that a bucket of any list has, in ascending order, doubles of the counts of all points
//!   whose list has it (as often as it has it).
//!
//! The items of all lists are at most 2²² of each sort.
//!
//! ## ints(n)
//!
//! | bytes | |
//! |---|---|
//! | 1 | bits 0–1: order; bit 2: constant; bit 3: there is a divisor (not with bit 2) |
//! | by order | 0: nothing; 1: signed: first value; 2: signed: first value, signed: second less first; 3: signed: slope |
//! | signed | anchor, if constant or if there is a divisor |
//! | varint | divisor, if there is one |
//! | … | blocks of residuals, unless constant |
//!
//! The residuals, `r`, are as many as values, less the order (for order 3: as many as values):
//!
//! - order 0: `v[i] = r[i]`
//! - order 1: `v[i] = v[i-1] + r[i]`
//! - order 2: `v[i] = v[i-1] + (v[i-1] - v[i-2]) + r[i]`
//! - order 3: `v[i] = slope · i + r[i]`
//!
//! If constant, each residual is the anchor. Otherwise they come in blocks of 256, the last one with
//! what is left; if there is a divisor, `r[i] = anchor + divisor · b[i]`, `b[i]` being what the block
//! says. A block:
//!
//! | bytes | |
//! |---|---|
//! | signed | base |
//! | 1 | bits 0–6: width `w`, 0 to 64; bit 7: there are exceptions |
//! | ⌈count · w / 8⌉ | offsets of `w` bits each: offset `i` is in bits `i·w` and up of the bytes read as one little-endian number; the rest of the last byte is 0 |
//! | varint | number of exceptions, if there are; then for each: |
//! | varint | positions between the exception before (or the begin of the block) and this one |
//! | signed | a number to be added to the offset after multiplying it by 2^`w` |
//!
//! `b[i]` is base + offset.
//!
//! ## doubles(n)
//!
//! | bytes | |
//! |---|---|
//! | 1 | exponent `e`, 0 to 18, or `0xff` |
//! | varint | number of special values, if `e` is not `0xff`; then for each: |
//! | varint | positions between the special value before (or the begin of the column) and this one |
//! | 8 | its bits |
//! | ints(n) | integers `i`; anything at the positions of special values |
//!
//! With an exponent, the double is `i / 10^e`, both taken as doubles and divided as IEEE 754 has it
//! (|`i`| is less than 2⁵¹). With `0xff`, `i` stands for the bits: if it is not negative, they are
//! `i`; otherwise they are `-i` with the sign bit set (so that the least integer is -0.0).

mod buckets;
mod bytes;
mod columns;
mod doubles;
mod ints;
mod native;
mod pack;
mod points;
#[cfg(test)]
mod tests;
mod values;

pub use columns::{Layouts, Lists, OptionalDoubles, Repeated};
pub use kymo_wire::remote_write::NativeHistogram;
pub use native::NativeHistograms;
pub use points::{
    Buckets, ExponentialHistogram, ExponentialHistograms, Histogram, Histograms, Number,
    NumberKind, Numbers, PointValues, Points, Summaries, Summary,
};

use bytes::{Reader, put_varint};

/// The most points of a chunk. Bounds what a few corrupt bytes can make a reader allocate.
pub const MAX_POINTS: usize = 1 << 20;

/// The most items of all lists of a chunk (bucket counts, quantiles), for the same reason.
pub const MAX_LIST_ITEMS: usize = 1 << 22;

/// The value that Prometheus writes where a series ends: a NaN with a payload of its own.
pub const STALE_NAN: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

/// The bit of a point's flags that says that it has no value.
pub(crate) const NO_RECORDED_VALUE: u32 = 1;

const TIMES: u8 = 0x10;
const NUMBERS: u8 = 0x11;
const HISTOGRAMS: u8 = 0x12;
const EXPONENTIAL_HISTOGRAMS: u8 = 0x13;
const SUMMARIES: u8 = 0x14;
const NATIVE_HISTOGRAMS: u8 = 0x15;

const HAS_START_TIMES: u8 = 0b0_0001;
const START_AFTER_PREVIOUS: u8 = 0b0_0010;
const HAS_FLAGS: u8 = 0b0_0100;
const KIND_SHIFT: u32 = 3;

/// Why a chunk cannot be encoded or decoded.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The bytes end before the chunk does.
    #[error("the chunk is cut off")]
    Truncated,
    /// The bytes are not what an encoder writes.
    #[error("the chunk is corrupt: {0}")]
    Corrupt(&'static str),
    /// The first byte is not one that this reader knows, or not of the kind asked for.
    #[error(
        "the chunk has tag {0:#04x}, which is not known here; a later version may have written it"
    )]
    Tag(u8),
    /// The chunk has more of something than a chunk may have.
    #[error("the chunk has {count} items where at most {limit} can be; split it")]
    Limit {
        /// How many there are, or are said to be.
        count: u64,
        /// How many there may be.
        limit: usize,
    },
    /// The columns of the points, or times and values, are not equally long.
    #[error("the chunk has {times} times but {values} values")]
    Unequal {
        /// How many times there are.
        times: usize,
        /// How many values, start times or flags there are.
        values: usize,
    },
}

/// Appends the times blob of a chunk to `out`.
pub fn encode_times(times_nanos: &[i64], out: &mut Vec<u8>) -> Result<(), CodecError> {
    check_limit(times_nanos.len(), MAX_POINTS)?;
    out.push(TIMES);
    put_varint(out, times_nanos.len() as u64);
    ints::encode_steps(times_nanos, out);
    Ok(())
}

/// Appends the times of a chunk to `times_nanos`.
pub fn decode_times(blob: &[u8], times_nanos: &mut Vec<i64>) -> Result<(), CodecError> {
    let mut reader = Reader::new(blob);
    match reader.byte()? {
        TIMES => {}
        tag => return Err(CodecError::Tag(tag)),
    }
    let count = reader.count(MAX_POINTS)?;
    ints::decode_ints(&mut reader, count, times_nanos)?;
    reader.end()
}

/// Appends the values blob of a chunk to `out`: everything but the times.
pub fn encode_values(points: &Points, out: &mut Vec<u8>) -> Result<(), CodecError> {
    check(points)?;
    let (tag, kind) = match &points.values {
        PointValues::Numbers(numbers) => (NUMBERS, values::kind_bits(numbers)),
        PointValues::Histograms(_) => (HISTOGRAMS, 0),
        PointValues::ExponentialHistograms(_) => (EXPONENTIAL_HISTOGRAMS, 0),
        PointValues::Summaries(_) => (SUMMARIES, 0),
        PointValues::NativeHistograms(_) => (NATIVE_HISTOGRAMS, 0),
    };
    let (start_shape, start_column) = start_times(points);
    let has_flags = points.flags.iter().any(|flags| flags != 0);
    let flags_shape = if has_flags { HAS_FLAGS } else { 0 };
    out.push(tag);
    put_varint(out, points.len() as u64);
    out.push(start_shape | flags_shape | kind << KIND_SHIFT);
    if has_flags {
        values::encode_as_ints(points.flags.iter().map(i64::from), out);
    }
    match &points.values {
        PointValues::Numbers(numbers) => values::encode_numbers(numbers, out),
        PointValues::Histograms(histograms) => values::encode_histograms(histograms, out),
        PointValues::ExponentialHistograms(histograms) => {
            values::encode_exponential(histograms, out);
        }
        PointValues::Summaries(summaries) => values::encode_summaries(summaries, out),
        PointValues::NativeHistograms(histograms) => native::encode(histograms, out),
    }
    out.extend_from_slice(&start_column);
    Ok(())
}

/// Decodes a chunk whole.
pub fn decode(times_blob: &[u8], values_blob: &[u8]) -> Result<Points, CodecError> {
    let mut times_nanos = Vec::new();
    decode_times(times_blob, &mut times_nanos)?;
    decode_values(values_blob, times_nanos)
}

/// Decodes the values of a chunk, and joins them with its times.
pub fn decode_values(blob: &[u8], times_nanos: Vec<i64>) -> Result<Points, CodecError> {
    let mut reader = Reader::new(blob);
    let head = Head::read(&mut reader, times_nanos.len())?;
    let count = head.count;
    let values = match head.tag {
        NUMBERS => PointValues::Numbers(values::decode_numbers(&mut reader, head.kind, count)?),
        HISTOGRAMS => {
            let histograms = values::decode_histograms(&mut reader, count)?;
            PointValues::Histograms(Box::new(histograms))
        }
        EXPONENTIAL_HISTOGRAMS => {
            let histograms = values::decode_exponential(&mut reader, count)?;
            PointValues::ExponentialHistograms(Box::new(histograms))
        }
        SUMMARIES => PointValues::Summaries(values::decode_summaries(&mut reader, count)?),
        NATIVE_HISTOGRAMS => {
            PointValues::NativeHistograms(Box::new(native::decode(&mut reader, count)?))
        }
        tag => return Err(CodecError::Tag(tag)),
    };
    let start_times_nanos = head.read_start_times(&mut reader, &times_nanos)?;
    reader.end()?;
    Ok(Points { times_nanos, start_times_nanos, flags: head.flags, values })
}

/// Appends times and values of a chunk of numbers, as doubles, and nothing else: what most queries
/// need. A point without a value, or flagged to have none, reads as [`STALE_NAN`].
///
/// After an error, the columns may hold part of the chunk.
pub fn decode_numbers_f64(
    times_blob: &[u8],
    values_blob: &[u8],
    times_nanos: &mut Vec<i64>,
    doubles: &mut Vec<f64>,
) -> Result<(), CodecError> {
    let (times_before, doubles_before) = (times_nanos.len(), doubles.len());
    decode_times(times_blob, times_nanos)?;
    let mut reader = Reader::new(values_blob);
    let head = Head::read(&mut reader, times_nanos.len() - times_before)?;
    if head.tag != NUMBERS {
        return Err(CodecError::Tag(head.tag));
    }
    let mut scratch = Vec::new();
    if head.kind == NumberKind::Double as u8 {
        doubles::decode_doubles(&mut reader, head.count, &mut scratch, doubles)?;
    } else if head.kind == NumberKind::Int as u8 {
        ints::decode_ints(&mut reader, head.count, &mut scratch)?;
        doubles.extend(scratch.iter().map(|int| *int as f64));
    } else {
        let numbers = values::decode_numbers(&mut reader, head.kind, head.count)?;
        doubles.extend(numbers.iter().map(|number| match number {
            Number::Absent => STALE_NAN,
            Number::Int(int) => int as f64,
            Number::Double(double) => double,
        }));
    }
    if head.flags.constant() != Some(0) {
        for (double, flags) in doubles[doubles_before..].iter_mut().zip(head.flags.iter()) {
            if flags & NO_RECORDED_VALUE != 0 {
                *double = STALE_NAN;
            }
        }
    }
    Ok(())
}

/// What every values blob begins with.
struct Head {
    tag: u8,
    count: usize,
    shape: u8,
    kind: u8,
    flags: Repeated<u32>,
}

impl Head {
    fn read(reader: &mut Reader<'_>, times: usize) -> Result<Self, CodecError> {
        let tag = reader.byte()?;
        if !(NUMBERS..=NATIVE_HISTOGRAMS).contains(&tag) {
            return Err(CodecError::Tag(tag));
        }
        let count = reader.count(MAX_POINTS)?;
        if count != times {
            return Err(CodecError::Unequal { times, values: count });
        }
        let shape = reader.byte()?;
        let kind = shape >> KIND_SHIFT;
        if kind > values::MIXED {
            return Err(CodecError::Corrupt("the shape of the chunk is unknown"));
        }
        let flags = match shape & HAS_FLAGS {
            0 => Repeated::of(0, count),
            _ => values::decode_repeated(reader, count)?,
        };
        Ok(Self { tag, count, shape, kind, flags })
    }

    fn read_start_times(
        &self,
        reader: &mut Reader<'_>,
        times_nanos: &[i64],
    ) -> Result<Repeated<i64>, CodecError> {
        if self.shape & HAS_START_TIMES == 0 {
            return Ok(Repeated::of(0, self.count));
        }
        let mut column = Vec::new();
        ints::decode_ints(reader, self.count, &mut column)?;
        if self.shape & START_AFTER_PREVIOUS != 0 {
            for (start, previous) in column.iter_mut().zip(previous_times(times_nanos)) {
                *start = start.wrapping_add(previous);
            }
        }
        Ok(column.into_iter().collect())
    }
}

/// For each point the time of the point before; for the first its own.
fn previous_times(times_nanos: &[i64]) -> impl Iterator<Item = i64> + '_ {
    times_nanos.first().into_iter().chain(times_nanos).copied()
}

/// The column of start times, and how it is to be read: as it is, or, where that is shorter, as the
/// distance from the previous time, which is none for sums of delta temporality.
fn start_times(points: &Points) -> (u8, Vec<u8>) {
    let mut plain = Vec::new();
    match points.start_times_nanos.constant() {
        Some(0) => return (0, plain),
        Some(_) => {
            values::encode_as_ints(points.start_times_nanos.iter(), &mut plain);
            return (HAS_START_TIMES, plain);
        }
        None => values::encode_as_ints(points.start_times_nanos.iter(), &mut plain),
    }
    let distances = points.start_times_nanos.iter().zip(previous_times(&points.times_nanos));
    let mut relative = Vec::new();
    values::encode_as_ints(distances.map(|(start, time)| start.wrapping_sub(time)), &mut relative);
    if relative.len() < plain.len() {
        (HAS_START_TIMES | START_AFTER_PREVIOUS, relative)
    } else {
        (HAS_START_TIMES, plain)
    }
}

fn check(points: &Points) -> Result<(), CodecError> {
    let times = points.len();
    check_limit(times, MAX_POINTS)?;
    let (values, items) = match &points.values {
        PointValues::Numbers(numbers) => (numbers.len(), 0),
        PointValues::Histograms(histograms) => (histograms.len(), histograms.list_items()),
        PointValues::ExponentialHistograms(histograms) => {
            (histograms.len(), histograms.list_items())
        }
        PointValues::Summaries(summaries) => (summaries.len(), summaries.list_items()),
        PointValues::NativeHistograms(histograms) => (histograms.len(), histograms.list_items()),
    };
    check_limit(items, MAX_LIST_ITEMS)?;
    for values in [values, points.start_times_nanos.len(), points.flags.len()] {
        if values != times {
            return Err(CodecError::Unequal { times, values });
        }
    }
    Ok(())
}

fn check_limit(count: usize, limit: usize) -> Result<(), CodecError> {
    if count <= limit { Ok(()) } else { Err(CodecError::Limit { count: count as u64, limit }) }
}
