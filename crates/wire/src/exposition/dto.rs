//! The messages of `io.prometheus.client`, read into buffers that are used again.
//!
//! Field numbers are those of `metrics.proto` of Prometheus' client model. Fields that are not
//! known are skipped; known fields in a wrong wire type are refused.

use std::borrow::Cow;

use super::histogram::Span;
use super::number::format_open_metrics_float;
use super::{ExpositionError, Label, MetricKind};
use crate::proto::{FIXED64, LEN, Reader, VARINT, WireError, unzigzag};

/// Tag of a field: its number and its wire type.
const fn tag(field: u32, wire_type: u32) -> u32 {
    field << 3 | wire_type
}

/// A family: what is said once for all its metrics.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family<'a> {
    pub(super) name: &'a str,
    pub(super) help: &'a str,
    pub(super) unit: &'a str,
    pub(super) kind: MetricKind,
    /// The message, in which its metrics are found.
    pub(super) message: Reader<'a>,
}

impl<'a> Family<'a> {
    pub(super) fn parse(message: Reader<'a>) -> Result<Self, ExpositionError> {
        // Not set is a counter: it is the first of the enum.
        let kind = MetricKind::Counter;
        let mut family = Self { name: "", help: "", unit: "", kind, message };
        let mut reader = message;
        while let Some(found) = reader.tag()? {
            match found {
                NAME => family.name = utf8(reader.bytes()?, "name", "")?,
                HELP => family.help = utf8(reader.bytes()?, "help", family.name)?,
                UNIT => family.unit = utf8(reader.bytes()?, "unit", family.name)?,
                TYPE => family.kind = kind_of(reader.varint()?, family.name)?,
                METRIC => reader.skip(found)?,
                _ => reader.skip_other(found, 0b11_1110)?,
            }
        }
        Ok(family)
    }

    /// Reads the next metric into `metric`, or says that there is none.
    pub(super) fn next_metric(&mut self, metric: &mut Metric<'a>) -> Result<bool, ExpositionError> {
        while let Some(found) = self.message.tag()? {
            if found == METRIC {
                let message = self.message.message()?;
                metric.parse(message, self.name)?;
                return Ok(true);
            }
            self.message.skip(found)?;
        }
        Ok(false)
    }
}

const NAME: u32 = tag(1, LEN);
const HELP: u32 = tag(2, LEN);
const TYPE: u32 = tag(3, VARINT);
const METRIC: u32 = tag(4, LEN);
const UNIT: u32 = tag(5, LEN);

fn kind_of(number: u64, family: &str) -> Result<MetricKind, ExpositionError> {
    Ok(match number {
        0 => MetricKind::Counter,
        1 => MetricKind::Gauge,
        2 => MetricKind::Summary,
        3 => MetricKind::Unknown,
        4 => MetricKind::Histogram,
        5 => MetricKind::GaugeHistogram,
        _ => return Err(wrong(family, format!("expected a type from 0 to 5, found {number}"))),
    })
}

pub(super) fn wrong(family: &str, problem: String) -> ExpositionError {
    ExpositionError::Family { family: family.to_owned(), problem }
}

fn utf8<'a>(bytes: &'a [u8], what: &str, family: &str) -> Result<&'a str, ExpositionError> {
    std::str::from_utf8(bytes).map_err(|_| wrong(family, format!("{what} is not UTF-8")))
}

/// An exemplar; its labels are a range of those of the metric's exemplars.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct StoredExemplar {
    pub(super) labels_start: usize,
    pub(super) labels_end: usize,
    pub(super) value: f64,
    pub(super) timestamp_millis: Option<i64>,
}

/// A bucket of a classic histogram.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bucket {
    pub(super) upper_bound: f64,
    pub(super) count: f64,
    pub(super) exemplar: Option<StoredExemplar>,
}

/// One metric of a family, with the values of whatever kind it is.
#[derive(Debug, Default)]
pub(super) struct Metric<'a> {
    pub(super) labels: Vec<Label<'a>>,
    pub(super) exemplar_labels: Vec<Label<'a>>,
    pub(super) timestamp_millis: Option<i64>,
    pub(super) start_millis: Option<i64>,
    /// Of a counter, a gauge, or what has no type.
    pub(super) value: f64,
    /// Of a counter.
    pub(super) exemplar: Option<StoredExemplar>,
    pub(super) count: u64,
    pub(super) count_float: f64,
    pub(super) sum: f64,
    pub(super) quantiles: Vec<(f64, f64)>,
    pub(super) buckets: Vec<Bucket>,
    pub(super) native: Native,
    /// Of a native histogram.
    pub(super) exemplars: Vec<StoredExemplar>,
}

/// The part of a histogram that makes it a native one.
#[derive(Debug, Default)]
pub(super) struct Native {
    pub(super) schema: i32,
    pub(super) zero_threshold: f64,
    pub(super) zero_count: u64,
    pub(super) zero_count_float: f64,
    pub(super) negative_spans: Vec<Span>,
    pub(super) negative_deltas: Vec<i64>,
    pub(super) negative_counts: Vec<f64>,
    pub(super) positive_spans: Vec<Span>,
    pub(super) positive_deltas: Vec<i64>,
    pub(super) positive_counts: Vec<f64>,
}

impl<'a> Metric<'a> {
    /// The count, which a float overrides.
    pub(super) fn count(&self) -> f64 {
        if self.count_float > 0.0 { self.count_float } else { self.count as f64 }
    }

    /// A span, or a width of the zero bucket, even if nothing was measured yet.
    pub(super) fn is_native(&self) -> bool {
        let native = &self.native;
        !native.positive_spans.is_empty()
            || !native.negative_spans.is_empty()
            || native.zero_threshold > 0.0
            || native.zero_count > 0
            || native.zero_count_float > 0.0
    }

    fn clear(&mut self) {
        self.labels.clear();
        self.exemplar_labels.clear();
        self.quantiles.clear();
        self.buckets.clear();
        self.exemplars.clear();
        self.exemplar = None;
        (self.timestamp_millis, self.start_millis) = (None, None);
        (self.value, self.sum, self.count, self.count_float) = (0.0, 0.0, 0, 0.0);
        self.native = Native::default();
    }

    fn parse(&mut self, mut reader: Reader<'a>, family: &str) -> Result<(), ExpositionError> {
        self.clear();
        while let Some(found) = reader.tag()? {
            const LABEL: u32 = tag(1, LEN);
            const GAUGE: u32 = tag(2, LEN);
            const COUNTER: u32 = tag(3, LEN);
            const SUMMARY: u32 = tag(4, LEN);
            const UNTYPED: u32 = tag(5, LEN);
            const TIMESTAMP: u32 = tag(6, VARINT);
            const HISTOGRAM: u32 = tag(7, LEN);
            match found {
                LABEL => self.labels.push(label(reader.message()?, family)?),
                GAUGE | COUNTER | UNTYPED => self.simple(reader.message()?, family)?,
                SUMMARY => self.summary(reader.message()?)?,
                HISTOGRAM => self.histogram(reader.message()?, family)?,
                // Zero is what is sent for none.
                TIMESTAMP => {
                    self.timestamp_millis = Some(reader.varint()? as i64).filter(|t| *t != 0);
                }
                _ => reader.skip_other(found, 0b1111_1110)?,
            }
        }
        Ok(())
    }

    fn simple(&mut self, mut reader: Reader<'a>, family: &str) -> Result<(), ExpositionError> {
        while let Some(found) = reader.tag()? {
            const VALUE: u32 = tag(1, FIXED64);
            const EXEMPLAR: u32 = tag(2, LEN);
            const START: u32 = tag(3, LEN);
            match found {
                VALUE => self.value = reader.double()?,
                EXEMPLAR => self.exemplar = Some(self.exemplar(reader.message()?, family)?),
                START => self.start_millis = Some(millis(reader.message()?)?),
                _ => reader.skip_other(found, 0b10)?,
            }
        }
        Ok(())
    }

    fn summary(&mut self, mut reader: Reader<'a>) -> Result<(), ExpositionError> {
        while let Some(found) = reader.tag()? {
            const COUNT: u32 = tag(1, VARINT);
            const SUM: u32 = tag(2, FIXED64);
            const QUANTILE: u32 = tag(3, LEN);
            const START: u32 = tag(4, LEN);
            match found {
                COUNT => self.count = reader.varint()?,
                SUM => self.sum = reader.double()?,
                QUANTILE => self.quantiles.push(quantile(reader.message()?)?),
                START => self.start_millis = Some(millis(reader.message()?)?),
                _ => reader.skip_other(found, 0b1_1110)?,
            }
        }
        Ok(())
    }

    fn histogram(&mut self, mut reader: Reader<'a>, family: &str) -> Result<(), ExpositionError> {
        while let Some(found) = reader.tag()? {
            match found >> 3 {
                1 if found == tag(1, VARINT) => self.count = reader.varint()?,
                2 if found == tag(2, FIXED64) => self.sum = reader.double()?,
                3 if found == tag(3, LEN) => {
                    let bucket = self.bucket(reader.message()?, family)?;
                    self.buckets.push(bucket);
                }
                4 if found == tag(4, FIXED64) => self.count_float = reader.double()?,
                15 if found == tag(15, LEN) => {
                    self.start_millis = Some(millis(reader.message()?)?);
                }
                16 if found == tag(16, LEN) => {
                    let exemplar = self.exemplar(reader.message()?, family)?;
                    self.exemplars.push(exemplar);
                }
                _ => self.native.field(found, &mut reader)?,
            }
        }
        Ok(())
    }

    fn bucket(&mut self, mut reader: Reader<'a>, family: &str) -> Result<Bucket, ExpositionError> {
        let mut bucket = Bucket::default();
        let mut count_float = 0.0;
        while let Some(found) = reader.tag()? {
            const COUNT: u32 = tag(1, VARINT);
            const UPPER_BOUND: u32 = tag(2, FIXED64);
            const EXEMPLAR: u32 = tag(3, LEN);
            const COUNT_FLOAT: u32 = tag(4, FIXED64);
            match found {
                COUNT => bucket.count = reader.varint()? as f64,
                UPPER_BOUND => bucket.upper_bound = reader.double()?,
                EXEMPLAR => bucket.exemplar = Some(self.exemplar(reader.message()?, family)?),
                COUNT_FLOAT => count_float = reader.double()?,
                _ => reader.skip_other(found, 0b1_1110)?,
            }
        }
        if count_float > 0.0 {
            bucket.count = count_float;
        }
        Ok(bucket)
    }

    fn exemplar(
        &mut self,
        mut reader: Reader<'a>,
        family: &str,
    ) -> Result<StoredExemplar, ExpositionError> {
        let labels_start = self.exemplar_labels.len();
        let mut exemplar = StoredExemplar { labels_start, ..StoredExemplar::default() };
        while let Some(found) = reader.tag()? {
            const LABEL: u32 = tag(1, LEN);
            const VALUE: u32 = tag(2, FIXED64);
            const TIMESTAMP: u32 = tag(3, LEN);
            match found {
                LABEL => self.exemplar_labels.push(label(reader.message()?, family)?),
                VALUE => exemplar.value = reader.double()?,
                TIMESTAMP => exemplar.timestamp_millis = Some(millis(reader.message()?)?),
                _ => reader.skip_other(found, 0b1110)?,
            }
        }
        exemplar.labels_end = self.exemplar_labels.len();
        Ok(exemplar)
    }
}

impl Native {
    /// Reads a field that only native histograms have.
    fn field(&mut self, found: u32, reader: &mut Reader<'_>) -> Result<(), WireError> {
        const KNOWN: u64 = 0x1_fffe;
        match found >> 3 {
            5 if found == tag(5, VARINT) => self.schema = unzigzag(reader.varint()?),
            6 if found == tag(6, FIXED64) => self.zero_threshold = reader.double()?,
            7 if found == tag(7, VARINT) => self.zero_count = reader.varint()?,
            8 if found == tag(8, FIXED64) => self.zero_count_float = reader.double()?,
            9 if found == tag(9, LEN) => self.negative_spans.push(span(reader.message()?)?),
            10 => deltas(found, reader, &mut self.negative_deltas)?,
            11 => doubles(found, reader, &mut self.negative_counts)?,
            12 if found == tag(12, LEN) => self.positive_spans.push(span(reader.message()?)?),
            13 => deltas(found, reader, &mut self.positive_deltas)?,
            14 => doubles(found, reader, &mut self.positive_counts)?,
            _ => reader.skip_other(found, KNOWN)?,
        }
        Ok(())
    }
}

/// Reads signed numbers, packed or not.
fn deltas(found: u32, reader: &mut Reader<'_>, out: &mut Vec<i64>) -> Result<(), WireError> {
    let signed = |coded: u64| (coded >> 1) as i64 ^ -((coded & 1) as i64);
    if found & 7 == LEN {
        let mut packed = reader.message()?;
        while !packed.is_empty() {
            out.push(signed(packed.varint()?));
        }
        return Ok(());
    }
    if found & 7 != VARINT {
        return reader.skip_other(found, 1 << (found >> 3));
    }
    out.push(signed(reader.varint()?));
    Ok(())
}

/// Reads floating-point numbers, packed or not.
fn doubles(found: u32, reader: &mut Reader<'_>, out: &mut Vec<f64>) -> Result<(), WireError> {
    if found & 7 == LEN {
        let mut packed = reader.message()?;
        while !packed.is_empty() {
            out.push(packed.double()?);
        }
        return Ok(());
    }
    if found & 7 != FIXED64 {
        return reader.skip_other(found, 1 << (found >> 3));
    }
    out.push(reader.double()?);
    Ok(())
}

fn label<'a>(mut reader: Reader<'a>, family: &str) -> Result<Label<'a>, ExpositionError> {
    let mut label = Label { name: Cow::Borrowed(""), value: Cow::Borrowed("") };
    while let Some(found) = reader.tag()? {
        const NAME: u32 = tag(1, LEN);
        const VALUE: u32 = tag(2, LEN);
        match found {
            NAME => label.name = Cow::Borrowed(utf8(reader.bytes()?, "a label's name", family)?),
            VALUE => label.value = Cow::Borrowed(utf8(reader.bytes()?, "a label", family)?),
            _ => reader.skip_other(found, 0b110)?,
        }
    }
    Ok(label)
}

fn quantile(mut reader: Reader<'_>) -> Result<(f64, f64), WireError> {
    let mut pair = (0.0, 0.0);
    while let Some(found) = reader.tag()? {
        const QUANTILE: u32 = tag(1, FIXED64);
        const VALUE: u32 = tag(2, FIXED64);
        match found {
            QUANTILE => pair.0 = reader.double()?,
            VALUE => pair.1 = reader.double()?,
            _ => reader.skip_other(found, 0b110)?,
        }
    }
    Ok(pair)
}

fn span(mut reader: Reader<'_>) -> Result<Span, WireError> {
    let mut span = Span::default();
    while let Some(found) = reader.tag()? {
        const OFFSET: u32 = tag(1, VARINT);
        const LENGTH: u32 = tag(2, VARINT);
        match found {
            OFFSET => span.offset = unzigzag(reader.varint()?),
            LENGTH => span.length = reader.varint()? as u32,
            _ => reader.skip_other(found, 0b110)?,
        }
    }
    Ok(span)
}

/// A `google.protobuf.Timestamp` in milliseconds.
fn millis(mut reader: Reader<'_>) -> Result<i64, WireError> {
    let (mut seconds, mut nanos) = (0i64, 0i64);
    while let Some(found) = reader.tag()? {
        const SECONDS: u32 = tag(1, VARINT);
        const NANOS: u32 = tag(2, VARINT);
        match found {
            SECONDS => seconds = reader.varint()? as i64,
            NANOS => nanos = reader.varint()? as i64,
            _ => reader.skip_other(found, 0b110)?,
        }
    }
    Ok(seconds.saturating_mul(1_000).saturating_add(nanos / 1_000_000))
}

/// The label with the bound of a bucket or a quantile.
pub(super) fn bound_label<'a>(name: &'static str, bound: f64) -> Label<'a> {
    let mut value = String::with_capacity(24);
    format_open_metrics_float(&mut value, bound);
    Label { name: Cow::Borrowed(name), value: Cow::Owned(value) }
}
