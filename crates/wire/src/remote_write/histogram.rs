//! Native histograms: the message of remote-write, and what it means.
//!
//! A message has its counts in one of two forms: integers, each as the difference to the bucket
//! before, or doubles as they are. [`HistogramView::resolve`] makes one of both,
//! [`NativeHistogram`], with absolute counts as doubles (integers up to 2⁵³ are exact in them), and
//! refuses what Prometheus refuses: spans that do not fit the buckets, negative counts, a count that
//! is not that of the buckets, custom bounds that do not grow.
//!
//! A schema finer than Prometheus keeps (9 to 52) is brought to the finest that it keeps, as
//! Prometheus does.

use thiserror::Error;

use crate::limits::MAX_POINT_ITEMS;
use crate::numbers::{Double, Number, Numbers};
use crate::proto::{Reader, VARINT, WireError, unzigzag};
use crate::repeated::{Repeated, View};
use crate::tags::{bucket_span, native_histogram};

/// The coarsest exponential schema.
pub const MIN_SCHEMA: i32 = -4;
/// The finest exponential schema that is kept.
pub const MAX_SCHEMA: i32 = 8;
/// The finest exponential schema that can be reduced to one that is kept.
const MAX_REDUCIBLE_SCHEMA: i32 = 52;
/// The schema whose bounds are given one by one.
pub const CUSTOM_SCHEMA: i32 = -53;

/// A signed integer of variable length, zigzag-mapped.
#[derive(Debug, Clone, Copy)]
pub struct Zigzag;

impl Number for Zigzag {
    type Value = i64;
    const WIRE_TYPE: u32 = VARINT;

    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<i64, WireError> {
        let value = reader.varint()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }
}

/// A count in the form it was sent in.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Count {
    /// None, which is zero.
    #[default]
    Absent,
    /// An integer.
    Int(u64),
    /// A double.
    Float(f64),
}

impl Count {
    fn as_f64(self) -> f64 {
        match self {
            Self::Absent => 0.0,
            Self::Int(count) => count as f64,
            Self::Float(count) => count,
        }
    }

    fn as_u64(self) -> u64 {
        match self {
            Self::Int(count) => count,
            _ => 0,
        }
    }
}

/// The message of a native histogram, the same in both versions but for the start time.
#[derive(Debug, Clone, Copy)]
pub struct HistogramView<'a> {
    /// How many observations there were. A double makes it a histogram of doubles.
    pub count: Count,
    /// Their sum.
    pub sum: f64,
    /// Which bounds the buckets have.
    pub schema: i32,
    /// Half the width of the bucket around zero.
    pub zero_threshold: f64,
    /// Observations in that bucket.
    pub zero_count: Count,
    /// Runs of buckets below zero.
    pub negative_spans: Repeated<'a, SpanView>,
    /// Their counts, if integers.
    pub negative_deltas: Numbers<'a, Zigzag>,
    /// Their counts, if doubles.
    pub negative_counts: Numbers<'a, Double>,
    /// Runs of buckets above zero.
    pub positive_spans: Repeated<'a, SpanView>,
    /// Their counts, if integers.
    pub positive_deltas: Numbers<'a, Zigzag>,
    /// Their counts, if doubles.
    pub positive_counts: Numbers<'a, Double>,
    /// What the sender knows about a reset before it: 0 nothing, 1 there was one, 2 there was none,
    /// 3 it is a gauge.
    pub reset_hint: u64,
    /// When, in milliseconds since 1970.
    pub time_millis: i64,
    /// Upper bounds of the buckets but the last, for the custom schema.
    pub custom_values: Numbers<'a, Double>,
    /// Since when it accumulates, in milliseconds since 1970; 0 if that is not said.
    pub start_time_millis: i64,
}

impl<'a> View<'a> for HistogramView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        use native_histogram as field;
        let mut view = Self {
            count: Count::Absent,
            sum: 0.0,
            schema: 0,
            zero_threshold: 0.0,
            zero_count: Count::Absent,
            negative_spans: Repeated::new(),
            negative_deltas: Numbers::new(),
            negative_counts: Numbers::new(),
            positive_spans: Repeated::new(),
            positive_deltas: Numbers::new(),
            positive_counts: Numbers::new(),
            reset_hint: 0,
            time_millis: 0,
            custom_values: Numbers::new(),
            start_time_millis: 0,
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                field::COUNT_INT => view.count = Count::Int(reader.varint()?),
                field::COUNT_FLOAT => view.count = Count::Float(reader.double()?),
                field::SUM => view.sum = reader.double()?,
                field::SCHEMA => view.schema = unzigzag(reader.varint()?),
                field::ZERO_THRESHOLD => view.zero_threshold = reader.double()?,
                field::ZERO_COUNT_INT => view.zero_count = Count::Int(reader.varint()?),
                field::ZERO_COUNT_FLOAT => view.zero_count = Count::Float(reader.double()?),
                field::NEGATIVE_SPANS => view.negative_spans.push(tail, tag, &mut reader)?,
                field::NEGATIVE_DELTAS | field::NEGATIVE_DELTAS_PACKED => {
                    view.negative_deltas.push(tail, tag, &mut reader)?;
                }
                field::NEGATIVE_COUNTS | field::NEGATIVE_COUNTS_PACKED => {
                    view.negative_counts.push(tail, tag, &mut reader)?;
                }
                field::POSITIVE_SPANS => view.positive_spans.push(tail, tag, &mut reader)?,
                field::POSITIVE_DELTAS | field::POSITIVE_DELTAS_PACKED => {
                    view.positive_deltas.push(tail, tag, &mut reader)?;
                }
                field::POSITIVE_COUNTS | field::POSITIVE_COUNTS_PACKED => {
                    view.positive_counts.push(tail, tag, &mut reader)?;
                }
                field::RESET_HINT => view.reset_hint = reader.varint()?,
                field::TIME => view.time_millis = reader.varint()? as i64,
                field::CUSTOM_VALUES | field::CUSTOM_VALUES_PACKED => {
                    view.custom_values.push(tail, tag, &mut reader)?;
                }
                field::START_TIME => view.start_time_millis = reader.varint()? as i64,
                _ => reader.skip_other(tag, field::KNOWN)?,
            }
        }
    }
}

/// A run of neighbouring buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanView {
    /// Buckets between the run before and this one; for the first, the index of its first bucket.
    pub offset: i32,
    /// Buckets in the run.
    pub length: u32,
}

impl<'a> View<'a> for SpanView {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { offset: 0, length: 0 };
        let mut reader = Reader::new(raw);
        while let Some(tag) = reader.tag()? {
            match tag {
                bucket_span::OFFSET => view.offset = unzigzag(reader.varint()?),
                bucket_span::LENGTH => view.length = reader.varint()? as u32,
                _ => reader.skip_other(tag, bucket_span::KNOWN)?,
            }
        }
        Ok(view)
    }
}

/// A native histogram with absolute counts.
///
/// Bucket *i* of an exponential schema *s* reaches from 2^((*i* − 1)·2^−*s*), not included, to
/// 2^(*i*·2^−*s*), included; below zero the same with the sign turned. Bucket *i* of the custom
/// schema reaches up to custom value *i*, counted from 0, and the one after the last has no end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NativeHistogram<'a> {
    /// [`MIN_SCHEMA`] to [`MAX_SCHEMA`], or [`CUSTOM_SCHEMA`].
    pub schema: i32,
    /// What is known about a reset before it: 0 nothing, 1 there was one, 2 there was none, 3 it is
    /// a gauge.
    pub reset_hint: u8,
    /// Whether the counts came as integers.
    pub is_integer: bool,
    /// Half the width of the bucket around zero.
    pub zero_threshold: f64,
    /// Observations in that bucket.
    pub zero_count: f64,
    /// All observations.
    pub count: f64,
    /// Their sum.
    pub sum: f64,
    /// Runs of buckets above zero: the distance from the run before (for the first: the index of
    /// its first bucket), and how many.
    pub positive_spans: &'a [(i32, u32)],
    /// Runs of buckets below zero.
    pub negative_spans: &'a [(i32, u32)],
    /// Observations in the buckets of the positive spans.
    pub positive: &'a [f64],
    /// Observations in the buckets of the negative spans.
    pub negative: &'a [f64],
    /// Upper bounds of all buckets but the last, if the schema is the custom one.
    pub custom_values: &'a [f64],
}

impl NativeHistogram<'_> {
    /// Whether every field is equal, doubles bit by bit: a NaN is itself.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let bits = |doubles: &[f64]| doubles.iter().map(|d| d.to_bits()).collect::<Vec<_>>();
        let scalars = |h: &Self| [h.zero_threshold, h.zero_count, h.count, h.sum].map(f64::to_bits);
        (self.schema, self.reset_hint, self.is_integer, self.positive_spans, self.negative_spans)
            == (
                other.schema,
                other.reset_hint,
                other.is_integer,
                other.positive_spans,
                other.negative_spans,
            )
            && scalars(self) == scalars(other)
            && bits(self.positive) == bits(other.positive)
            && bits(self.negative) == bits(other.negative)
            && bits(self.custom_values) == bits(other.custom_values)
    }
}

/// Room for the lists of a [`NativeHistogram`], used again and again.
#[derive(Debug, Clone, Default)]
pub struct HistogramBuffers {
    positive: SideBuffers,
    negative: SideBuffers,
    custom_values: Vec<f64>,
}

#[derive(Debug, Clone, Default)]
struct SideBuffers {
    spans: Vec<(i32, u32)>,
    counts: Vec<f64>,
}

/// Why a native histogram is not one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HistogramFault {
    /// The message is broken.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// A schema that nobody has defined.
    #[error("histogram has schema {0}, which is not known")]
    Schema(i32),
    /// The spans are of another number of buckets than there are.
    #[error("histogram's spans need {expected} buckets, but there are {found}")]
    BucketCount {
        /// What the spans say.
        expected: u64,
        /// How many there are.
        found: usize,
    },
    /// A span begins before the one before it ends.
    #[error("histogram has a span with a negative offset after the first")]
    SpanOffset,
    /// A count below zero.
    #[error("histogram has a negative count")]
    NegativeCount,
    /// Buckets and the bucket around zero do not add up to the count.
    #[error("histogram's buckets do not add up to its count")]
    CountMismatch,
    /// The bounds of the custom schema are not numbers in growing order, or there are too few.
    #[error("histogram's custom bounds do not grow, are not finite or are too few")]
    CustomBounds,
    /// A field that the schema does not have.
    #[error("histogram has fields that its schema does not allow")]
    FieldOfOtherSchema,
    /// More buckets, spans or bounds than are kept.
    #[error("histogram has more than {MAX_POINT_ITEMS} buckets, spans or bounds")]
    TooManyItems,
}

impl HistogramView<'_> {
    /// Checks the histogram and brings it to its one form. The lists are in `buffers` then.
    pub fn resolve<'b>(
        &self,
        buffers: &'b mut HistogramBuffers,
    ) -> Result<NativeHistogram<'b>, HistogramFault> {
        let is_custom = self.schema == CUSTOM_SCHEMA;
        if !is_custom && !(MIN_SCHEMA..=MAX_REDUCIBLE_SCHEMA).contains(&self.schema) {
            return Err(HistogramFault::Schema(self.schema));
        }
        let is_integer = !matches!(self.count, Count::Float(_));
        self.fill(buffers, is_integer)?;
        let HistogramBuffers { positive, negative, custom_values } = buffers;
        if is_custom {
            let has_other = self.zero_count.as_f64() != 0.0
                || self.zero_threshold != 0.0
                || !negative.spans.is_empty()
                || !negative.counts.is_empty();
            if has_other {
                return Err(HistogramFault::FieldOfOtherSchema);
            }
            check_custom(custom_values, &positive.spans)?;
        } else if !custom_values.is_empty() {
            return Err(HistogramFault::FieldOfOtherSchema);
        }
        if self.count.as_f64() < 0.0 || self.zero_count.as_f64() < 0.0 {
            return Err(HistogramFault::NegativeCount);
        }
        let schema = self.schema.min(MAX_SCHEMA);
        for side in [&mut *positive, &mut *negative] {
            side.reduce((self.schema - schema) as u32);
        }
        Ok(NativeHistogram {
            schema,
            reset_hint: u8::try_from(self.reset_hint).ok().filter(|hint| *hint <= 3).unwrap_or(0),
            is_integer,
            zero_threshold: self.zero_threshold,
            zero_count: if is_integer {
                self.zero_count.as_u64() as f64
            } else {
                self.zero_count.as_f64()
            },
            count: self.count.as_f64(),
            sum: self.sum,
            positive_spans: &positive.spans,
            negative_spans: &negative.spans,
            positive: &positive.counts,
            negative: &negative.counts,
            custom_values,
        })
    }

    fn fill(&self, buffers: &mut HistogramBuffers, is_integer: bool) -> Result<(), HistogramFault> {
        let longest = [
            self.positive_spans.count(),
            self.negative_spans.count(),
            self.positive_deltas.count(),
            self.negative_deltas.count(),
            self.positive_counts.count(),
            self.negative_counts.count(),
            self.custom_values.count(),
        ];
        if longest.into_iter().any(|items| items > MAX_POINT_ITEMS) {
            return Err(HistogramFault::TooManyItems);
        }
        buffers.custom_values.clear();
        buffers.custom_values.extend(self.custom_values.iter());
        if is_integer {
            let below =
                buffers.negative.fill_deltas(&self.negative_spans, &self.negative_deltas)?;
            let above =
                buffers.positive.fill_deltas(&self.positive_spans, &self.positive_deltas)?;
            let in_buckets = u128::from(self.zero_count.as_u64()) + below + above;
            let count = u128::from(self.count.as_u64());
            // Observations that are NaN are in no bucket, and make the sum NaN.
            if in_buckets > count || (in_buckets != count && !self.sum.is_nan()) {
                return Err(HistogramFault::CountMismatch);
            }
        } else {
            buffers.negative.fill_counts(&self.negative_spans, &self.negative_counts)?;
            buffers.positive.fill_counts(&self.positive_spans, &self.positive_counts)?;
        }
        Ok(())
    }
}

impl SideBuffers {
    /// Takes the counts of integers; returns how many observations that are.
    fn fill_deltas(
        &mut self,
        spans: &Repeated<'_, SpanView>,
        deltas: &Numbers<'_, Zigzag>,
    ) -> Result<u128, HistogramFault> {
        self.fill_spans(spans, deltas.count())?;
        self.counts.clear();
        let (mut count, mut total) = (0i64, 0u128);
        for delta in deltas.iter() {
            count = count.checked_add(delta).ok_or(HistogramFault::NegativeCount)?;
            let unsigned = u64::try_from(count).map_err(|_| HistogramFault::NegativeCount)?;
            total += u128::from(unsigned);
            self.counts.push(unsigned as f64);
        }
        Ok(total)
    }

    fn fill_counts(
        &mut self,
        spans: &Repeated<'_, SpanView>,
        counts: &Numbers<'_, Double>,
    ) -> Result<(), HistogramFault> {
        self.fill_spans(spans, counts.count())?;
        self.counts.clear();
        self.counts.extend(counts.iter());
        match self.counts.iter().any(|count| *count < 0.0) {
            true => Err(HistogramFault::NegativeCount),
            false => Ok(()),
        }
    }

    fn fill_spans(
        &mut self,
        spans: &Repeated<'_, SpanView>,
        found: usize,
    ) -> Result<(), HistogramFault> {
        self.spans.clear();
        let mut expected = 0;
        for (nth, span) in spans.iter().enumerate() {
            let SpanView { offset, length } = span?;
            if nth > 0 && offset < 0 {
                return Err(HistogramFault::SpanOffset);
            }
            expected += u64::from(length);
            self.spans.push((offset, length));
        }
        if expected != found as u64 {
            return Err(HistogramFault::BucketCount { expected, found });
        }
        Ok(())
    }

    /// Joins 2^`steps` buckets to one.
    fn reduce(&mut self, steps: u32) {
        if steps == 0 {
            return;
        }
        let mut joined = Self::default();
        let mut last_index = None;
        let mut counts = self.counts.iter();
        let mut next = 0i64;
        for (offset, length) in &self.spans {
            next += i64::from(*offset);
            for count in counts.by_ref().take(*length as usize) {
                // The bucket with upper bound `index` is in that whose upper bound is the next
                // that the coarser schema has.
                let index = ((next - 1) >> steps.min(62)) + 1;
                next += 1;
                joined.add(index, last_index, *count);
                last_index = Some(index);
            }
        }
        *self = joined;
    }

    /// Adds observations to the bucket `index`, which is the last or one after it.
    fn add(&mut self, index: i64, last_index: Option<i64>, count: f64) {
        let distance = last_index.map(|last| index - last);
        match (distance, self.spans.last_mut(), self.counts.last_mut()) {
            (Some(0), _, Some(last)) => *last += count,
            (Some(1), Some((_, length)), _) => {
                *length += 1;
                self.counts.push(count);
            }
            _ => {
                let offset = distance.map_or(index, |distance| distance - 1);
                // Smaller than the offset it is computed from, which fits.
                self.spans.push((offset as i32, 1));
                self.counts.push(count);
            }
        }
    }
}

fn check_custom(bounds: &[f64], spans: &[(i32, u32)]) -> Result<(), HistogramFault> {
    let is_growing = bounds.is_sorted_by(|a, b| a < b);
    let is_usable = bounds.iter().all(|bound| !bound.is_nan() && *bound != f64::INFINITY);
    let is_forward = spans.iter().all(|(offset, _)| *offset >= 0);
    let reached: i64 = spans.iter().map(|(offset, len)| i64::from(*offset) + i64::from(*len)).sum();
    match () {
        () if !is_forward => Err(HistogramFault::SpanOffset),
        () if !is_growing || !is_usable || reached > bounds.len() as i64 + 1 => {
            Err(HistogramFault::CustomBounds)
        }
        () => Ok(()),
    }
}
