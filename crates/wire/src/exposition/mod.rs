//! What a scrape target answers, and what `/metrics` answers: Prometheus' exposition formats.
//!
//! [`Parser`] walks the bytes of one answer and yields one [`Entry`] at a time: the help, type and
//! unit of a family, a sample, a native histogram. Entries borrow from the answer and from buffers
//! that the parser reuses, so a plain sample costs no allocation; only what is escaped in the text
//! is copied.
//!
//! ```text
//! bytes + Format ──> Parser ──> Entry, Entry, …      TextWriter ──> text or OpenMetrics
//!                      │
//!                      ├── text: `text/plain` 0.0.4 and 1.0.0, and OpenMetrics 0.0.1 and 1.0.0
//!                      └── protobuf: delimited `io.prometheus.client.MetricFamily`
//! ```
//!
//! It promises: no panic and no unbounded memory on any input, errors that name the line and what
//! was expected there, numbers and labels as Prometheus reads them (`le` and `quantile` in
//! OpenMetrics form, NaN in its one form).
//!
//! It refuses: bytes that are not UTF-8 anywhere in a text, numbers out of the range of a double,
//! OpenMetrics without its `# EOF`.

mod created;
mod cursor;
mod dto;
mod escape;
mod format;
mod histogram;
mod number;
mod protobuf;
mod text;
mod write;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use thiserror::Error;

use crate::proto::WireError;

pub use escape::{Escaping, is_legacy_label_name, is_legacy_metric_name};
pub use format::{Format, NegotiatedFormat, negotiate};
pub use histogram::{HistogramCounts, NativeHistogram, Span};
pub use number::{format_float, format_open_metrics_float, parse_float};
pub use write::{SampleExemplar, TextWriter};

/// The one NaN that samples carry; any NaN of a target becomes it.
pub const NORMAL_NAN_BITS: u64 = 0x7ff8_0000_0000_0001;

/// Why an answer cannot be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExpositionError {
    /// A line of text.
    #[error("line {line}: {problem}")]
    Line {
        /// Which line, from one.
        line: usize,
        /// What was expected, and what stands there.
        problem: String,
    },
    /// Bytes that are not protobuf.
    #[error("protobuf: {0}")]
    Wire(#[from] WireError),
    /// Protobuf that is not a metric family.
    #[error("protobuf: metric family {family:?}: {problem}")]
    Family {
        /// Its name, as far as it is known.
        family: String,
        /// What is wrong.
        problem: String,
    },
}

/// What a family measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MetricKind {
    /// A sum that only grows.
    Counter,
    /// A value that goes up and down.
    Gauge,
    /// Measurements in buckets, summed up since the start.
    Histogram,
    /// Measurements in buckets, as they are now.
    GaugeHistogram,
    /// Quantiles of measurements.
    Summary,
    /// Labels that say what something is; the value is one.
    Info,
    /// A set of states, each on or off.
    StateSet,
    /// Not said.
    #[default]
    Unknown,
}

impl MetricKind {
    /// The name in OpenMetrics and in Prometheus' API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::GaugeHistogram => "gaugehistogram",
            Self::Summary => "summary",
            Self::Info => "info",
            Self::StateSet => "stateset",
            Self::Unknown => "unknown",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::Counter,
            Self::Gauge,
            Self::Histogram,
            Self::GaugeHistogram,
            Self::Summary,
            Self::Info,
            Self::StateSet,
            Self::Unknown,
        ];
        all.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether values of this kind are counted from a start.
    #[must_use]
    pub const fn has_start(self) -> bool {
        matches!(self, Self::Counter | Self::Histogram | Self::Summary)
    }
}

/// A label of a series or of an exemplar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Its value.
    pub value: Cow<'a, str>,
}

/// A measurement that stands for many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exemplar<'p> {
    /// Its labels, such as `trace_id`.
    pub labels: &'p [Label<'p>],
    /// Its value.
    pub value: f64,
    /// Its time in milliseconds since 1970, if given.
    pub timestamp_millis: Option<i64>,
}

/// A sample with a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Series<'p> {
    /// Bytes that are the same for the same series in every answer of one target, to remember it
    /// by without reading its labels.
    pub key: &'p [u8],
    /// The metric's name.
    pub name: &'p str,
    /// All labels but the name, in the order in which they were sent; a name may occur twice.
    pub labels: &'p [Label<'p>],
    /// The value.
    pub value: f64,
    /// Its time in milliseconds since 1970, if given.
    pub timestamp_millis: Option<i64>,
    /// Since when it is counted, in milliseconds since 1970, if known.
    pub start_millis: Option<i64>,
    /// A measurement that stands for many.
    pub exemplar: Option<Exemplar<'p>>,
}

/// A sample with a native histogram.
#[derive(Debug, Clone, PartialEq)]
pub struct HistogramSeries<'p> {
    /// As in [`Series`].
    pub key: &'p [u8],
    /// The metric's name.
    pub name: &'p str,
    /// All labels but the name.
    pub labels: &'p [Label<'p>],
    /// The histogram.
    pub histogram: NativeHistogram,
    /// Its time in milliseconds since 1970, if given.
    pub timestamp_millis: Option<i64>,
    /// Since when it is counted, in milliseconds since 1970, if known.
    pub start_millis: Option<i64>,
    /// Measurements that stand for many; only those that say when.
    pub exemplars: Vec<Exemplar<'p>>,
}

/// One thing in an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry<'p> {
    /// What a family measures. It comes before the family's samples.
    Type {
        /// The family.
        name: &'p str,
        /// What it measures.
        kind: MetricKind,
    },
    /// What a family is for.
    Help {
        /// The family.
        name: &'p str,
        /// The text.
        help: &'p str,
    },
    /// The unit of a family.
    Unit {
        /// The family.
        name: &'p str,
        /// The unit, such as `seconds`.
        unit: &'p str,
    },
    /// A sample with a number.
    Series(Series<'p>),
    /// A sample with a native histogram.
    Histogram(HistogramSeries<'p>),
}

/// Which histograms are wanted where a target has both kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ParseOptions {
    /// Read native histograms as such. Otherwise their classic part is read, which has at least
    /// the `+Inf` bucket.
    pub native_histograms: bool,
    /// Read the classic part also where there is a native one.
    pub classic_beside_native: bool,
}

/// Walks an answer.
#[derive(Debug)]
pub struct Parser<'a> {
    inner: Inner<'a>,
}

#[derive(Debug)]
enum Inner<'a> {
    Text(Box<text::TextParser<'a>>),
    Protobuf(Box<protobuf::ProtobufParser<'a>>),
}

impl<'a> Parser<'a> {
    /// Starts at the beginning of `body`.
    #[must_use]
    pub fn new(body: &'a [u8], format: Format, options: ParseOptions) -> Self {
        let inner = match format {
            Format::Text => Inner::Text(Box::new(text::TextParser::new(body, false))),
            Format::OpenMetrics => Inner::Text(Box::new(text::TextParser::new(body, true))),
            Format::Protobuf => {
                Inner::Protobuf(Box::new(protobuf::ProtobufParser::new(body, options)))
            }
        };
        Self { inner }
    }

    /// The next entry; `None` at the end. After an error there is nothing more to read.
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_>>, ExpositionError> {
        match &mut self.inner {
            Inner::Text(parser) => parser.next_entry(),
            Inner::Protobuf(parser) => parser.next_entry(),
        }
    }
}
