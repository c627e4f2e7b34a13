//! Data points of metrics, and exemplars.
//!
//! Number lists (bucket counts, bounds) are read whether the sender packed them or not. Fields
//! that OTLP declares optional are `Option`s: a sum of zero is not a missing sum.

use crate::common::{KeyValueView, read_once};
use crate::numbers::{Double, Fixed64, Numbers, Varint};
use crate::proto::{Reader, WireError, unzigzag};
use crate::repeated::{Repeated, View};
use crate::tags::{
    buckets, exemplar, exponential_point, histogram_point, number_point, quantile, summary_point,
};

/// The value of a number point or an exemplar.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum NumberValue {
    /// No value was given.
    #[default]
    None,
    /// A floating-point number.
    Double(f64),
    /// A whole number.
    Int(i64),
}

/// A point of a gauge or a sum.
#[derive(Debug, Clone, Copy)]
pub struct NumberPointView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// Labels of the series.
    pub attributes: Repeated<'a, KeyValueView<'a>>,
    /// Start of the interval in nanoseconds since 1970; 0 if unknown.
    pub start_time_unix_nano: u64,
    /// Time of the value in nanoseconds since 1970.
    pub time_unix_nano: u64,
    /// The value.
    pub value: NumberValue,
    /// Sampled measurements.
    pub exemplars: Repeated<'a, ExemplarView<'a>>,
    /// Bit 0: there is no value, the series went stale.
    pub flags: u32,
}

impl<'a> View<'a> for NumberPointView<'a> {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            attributes: Repeated::new(),
            start_time_unix_nano: 0,
            time_unix_nano: 0,
            value: NumberValue::None,
            exemplars: Repeated::new(),
            flags: 0,
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                number_point::START_TIME => view.start_time_unix_nano = reader.fixed64()?,
                number_point::TIME => view.time_unix_nano = reader.fixed64()?,
                number_point::AS_DOUBLE => view.value = NumberValue::Double(reader.double()?),
                number_point::AS_INT => view.value = NumberValue::Int(reader.fixed64()? as i64),
                number_point::EXEMPLARS => view.exemplars.push(tail, tag, &mut reader)?,
                number_point::ATTRIBUTES => view.attributes.push(tail, tag, &mut reader)?,
                number_point::FLAGS => view.flags = reader.varint()? as u32,
                _ => reader.skip_other(tag, number_point::KNOWN)?,
            }
        }
    }
}

/// A point of a histogram with explicit bounds.
#[derive(Debug, Clone, Copy)]
pub struct HistogramPointView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// Labels of the series.
    pub attributes: Repeated<'a, KeyValueView<'a>>,
    /// Start of the interval in nanoseconds since 1970; 0 if unknown.
    pub start_time_unix_nano: u64,
    /// Time of the value in nanoseconds since 1970.
    pub time_unix_nano: u64,
    /// How many measurements.
    pub count: u64,
    /// Their sum.
    pub sum: Option<f64>,
    /// Measurements per bucket, one more than there are bounds.
    pub bucket_counts: Numbers<'a, Fixed64>,
    /// Upper bounds of all buckets but the last.
    pub explicit_bounds: Numbers<'a, Double>,
    /// Sampled measurements.
    pub exemplars: Repeated<'a, ExemplarView<'a>>,
    /// Bit 0: there is no value, the series went stale.
    pub flags: u32,
    /// The smallest measurement.
    pub min: Option<f64>,
    /// The largest measurement.
    pub max: Option<f64>,
}

impl<'a> View<'a> for HistogramPointView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            attributes: Repeated::new(),
            start_time_unix_nano: 0,
            time_unix_nano: 0,
            count: 0,
            sum: None,
            bucket_counts: Numbers::new(),
            explicit_bounds: Numbers::new(),
            exemplars: Repeated::new(),
            flags: 0,
            min: None,
            max: None,
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                histogram_point::START_TIME => view.start_time_unix_nano = reader.fixed64()?,
                histogram_point::TIME => view.time_unix_nano = reader.fixed64()?,
                histogram_point::COUNT => view.count = reader.fixed64()?,
                histogram_point::SUM => view.sum = Some(reader.double()?),
                histogram_point::BUCKET_COUNTS | histogram_point::BUCKET_COUNTS_PACKED => {
                    view.bucket_counts.push(tail, tag, &mut reader)?;
                }
                histogram_point::EXPLICIT_BOUNDS | histogram_point::EXPLICIT_BOUNDS_PACKED => {
                    view.explicit_bounds.push(tail, tag, &mut reader)?;
                }
                histogram_point::EXEMPLARS => view.exemplars.push(tail, tag, &mut reader)?,
                histogram_point::ATTRIBUTES => view.attributes.push(tail, tag, &mut reader)?,
                histogram_point::FLAGS => view.flags = reader.varint()? as u32,
                histogram_point::MIN => view.min = Some(reader.double()?),
                histogram_point::MAX => view.max = Some(reader.double()?),
                _ => reader.skip_other(tag, histogram_point::KNOWN)?,
            }
        }
    }
}

/// A point of a histogram with exponential bounds.
#[derive(Debug, Clone, Copy)]
pub struct ExponentialHistogramPointView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// Labels of the series.
    pub attributes: Repeated<'a, KeyValueView<'a>>,
    /// Start of the interval in nanoseconds since 1970; 0 if unknown.
    pub start_time_unix_nano: u64,
    /// Time of the value in nanoseconds since 1970.
    pub time_unix_nano: u64,
    /// How many measurements.
    pub count: u64,
    /// Their sum.
    pub sum: Option<f64>,
    /// Resolution: the base of the bounds is 2 to the power of 2 to the power of -scale.
    pub scale: i32,
    /// Measurements within the zero threshold.
    pub zero_count: u64,
    /// Buckets of positive measurements.
    pub positive: Option<BucketsView<'a>>,
    /// Buckets of negative measurements.
    pub negative: Option<BucketsView<'a>>,
    /// Bit 0: there is no value, the series went stale.
    pub flags: u32,
    /// Sampled measurements.
    pub exemplars: Repeated<'a, ExemplarView<'a>>,
    /// The smallest measurement.
    pub min: Option<f64>,
    /// The largest measurement.
    pub max: Option<f64>,
    /// Measurements at most this far from zero are in `zero_count`.
    pub zero_threshold: f64,
}

impl<'a> View<'a> for ExponentialHistogramPointView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            attributes: Repeated::new(),
            start_time_unix_nano: 0,
            time_unix_nano: 0,
            count: 0,
            sum: None,
            scale: 0,
            zero_count: 0,
            positive: None,
            negative: None,
            flags: 0,
            exemplars: Repeated::new(),
            min: None,
            max: None,
            zero_threshold: 0.0,
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                exponential_point::ATTRIBUTES => view.attributes.push(tail, tag, &mut reader)?,
                exponential_point::START_TIME => view.start_time_unix_nano = reader.fixed64()?,
                exponential_point::TIME => view.time_unix_nano = reader.fixed64()?,
                exponential_point::COUNT => view.count = reader.fixed64()?,
                exponential_point::SUM => view.sum = Some(reader.double()?),
                exponential_point::SCALE => view.scale = unzigzag(reader.varint()?),
                exponential_point::ZERO_COUNT => view.zero_count = reader.fixed64()?,
                exponential_point::POSITIVE => read_once(&mut view.positive, &mut reader, tag)?,
                exponential_point::NEGATIVE => read_once(&mut view.negative, &mut reader, tag)?,
                exponential_point::FLAGS => view.flags = reader.varint()? as u32,
                exponential_point::EXEMPLARS => view.exemplars.push(tail, tag, &mut reader)?,
                exponential_point::MIN => view.min = Some(reader.double()?),
                exponential_point::MAX => view.max = Some(reader.double()?),
                exponential_point::ZERO_THRESHOLD => view.zero_threshold = reader.double()?,
                _ => reader.skip_other(tag, exponential_point::KNOWN)?,
            }
        }
    }
}

/// Buckets of an exponential histogram.
#[derive(Debug, Clone, Copy)]
pub struct BucketsView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// Index of the first bucket.
    pub offset: i32,
    /// Measurements per bucket.
    pub bucket_counts: Numbers<'a, Varint>,
}

impl<'a> View<'a> for BucketsView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { raw, offset: 0, bucket_counts: Numbers::new() };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                buckets::OFFSET => view.offset = unzigzag(reader.varint()?),
                buckets::BUCKET_COUNTS | buckets::BUCKET_COUNTS_PACKED => {
                    view.bucket_counts.push(tail, tag, &mut reader)?;
                }
                _ => reader.skip_other(tag, buckets::KNOWN)?,
            }
        }
    }
}

/// A point of a summary.
#[derive(Debug, Clone, Copy)]
pub struct SummaryPointView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// Labels of the series.
    pub attributes: Repeated<'a, KeyValueView<'a>>,
    /// Start of the interval in nanoseconds since 1970; 0 if unknown.
    pub start_time_unix_nano: u64,
    /// Time of the value in nanoseconds since 1970.
    pub time_unix_nano: u64,
    /// How many measurements.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The quantiles.
    pub quantile_values: Repeated<'a, QuantileView>,
    /// Bit 0: there is no value, the series went stale.
    pub flags: u32,
}

impl<'a> View<'a> for SummaryPointView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            attributes: Repeated::new(),
            start_time_unix_nano: 0,
            time_unix_nano: 0,
            count: 0,
            sum: 0.0,
            quantile_values: Repeated::new(),
            flags: 0,
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                summary_point::START_TIME => view.start_time_unix_nano = reader.fixed64()?,
                summary_point::TIME => view.time_unix_nano = reader.fixed64()?,
                summary_point::COUNT => view.count = reader.fixed64()?,
                summary_point::SUM => view.sum = reader.double()?,
                summary_point::QUANTILE_VALUES => {
                    view.quantile_values.push(tail, tag, &mut reader)?;
                }
                summary_point::ATTRIBUTES => view.attributes.push(tail, tag, &mut reader)?,
                summary_point::FLAGS => view.flags = reader.varint()? as u32,
                _ => reader.skip_other(tag, summary_point::KNOWN)?,
            }
        }
    }
}

/// One quantile of a summary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileView {
    /// Between 0 and 1.
    pub quantile: f64,
    /// The value at this quantile.
    pub value: f64,
}

impl<'a> View<'a> for QuantileView {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { quantile: 0.0, value: 0.0 };
        let mut reader = Reader::new(raw);
        while let Some(tag) = reader.tag()? {
            match tag {
                quantile::QUANTILE => view.quantile = reader.double()?,
                quantile::VALUE => view.value = reader.double()?,
                _ => reader.skip_other(tag, quantile::KNOWN)?,
            }
        }
        Ok(view)
    }
}

/// A measurement kept as an example, often with the span it was taken in.
#[derive(Debug, Clone, Copy)]
pub struct ExemplarView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// Attributes that are not labels of the series.
    pub filtered_attributes: Repeated<'a, KeyValueView<'a>>,
    /// When, in nanoseconds since 1970.
    pub time_unix_nano: u64,
    /// The measurement.
    pub value: NumberValue,
    /// 8 bytes, or none.
    pub span_id: &'a [u8],
    /// 16 bytes, or none.
    pub trace_id: &'a [u8],
}

impl<'a> View<'a> for ExemplarView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            filtered_attributes: Repeated::new(),
            time_unix_nano: 0,
            value: NumberValue::None,
            span_id: &[],
            trace_id: &[],
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                exemplar::TIME => view.time_unix_nano = reader.fixed64()?,
                exemplar::AS_DOUBLE => view.value = NumberValue::Double(reader.double()?),
                exemplar::AS_INT => view.value = NumberValue::Int(reader.fixed64()? as i64),
                exemplar::SPAN_ID => view.span_id = reader.bytes()?,
                exemplar::TRACE_ID => view.trace_id = reader.bytes()?,
                exemplar::FILTERED_ATTRIBUTES => {
                    view.filtered_attributes.push(tail, tag, &mut reader)?;
                }
                _ => reader.skip_other(tag, exemplar::KNOWN)?,
            }
        }
    }
}
