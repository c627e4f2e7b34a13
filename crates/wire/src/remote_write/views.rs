//! Requests, series, samples, exemplars and metadata as borrowed fields.
//!
//! Nothing here is checked beyond framing and wire types. A view costs one pass over its message
//! and no allocation; only the table of texts of a 2.0 request ([`SymbolTable`]) is a vector, one
//! for the whole request.

use super::histogram::HistogramView;
use crate::common::read_once;
use crate::numbers::{Numbers, Varint};
use crate::proto::{Reader, WireError};
use crate::repeated::{Repeated, View};
use crate::tags::{
    sample, write1_exemplar, write1_label, write1_metadata, write1_request, write1_series,
    write2_exemplar, write2_metadata, write2_request, write2_series,
};

/// A request of 1.0.
#[derive(Debug, Clone, Copy)]
pub struct WriteRequestView<'a> {
    /// The series.
    pub series: Repeated<'a, SeriesView<'a>>,
    /// What is said about families of metrics, whether or not series of them are here.
    pub metadata: Repeated<'a, MetadataView<'a>>,
}

impl<'a> View<'a> for WriteRequestView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { series: Repeated::new(), metadata: Repeated::new() };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                write1_request::SERIES => view.series.push(tail, tag, &mut reader)?,
                write1_request::METADATA => view.metadata.push(tail, tag, &mut reader)?,
                _ => reader.skip_other(tag, write1_request::KNOWN)?,
            }
        }
    }
}

/// A series of 1.0.
#[derive(Debug, Clone, Copy)]
pub struct SeriesView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// The labels, the name of the metric among them.
    pub labels: Repeated<'a, LabelView<'a>>,
    /// All labels as they came, tags included, where the message begins with them and has none
    /// further on: always, in practice. Equal bytes are equal labels.
    pub labels_raw: Option<&'a [u8]>,
    /// The samples.
    pub samples: Repeated<'a, SampleView>,
    /// The exemplars.
    pub exemplars: Repeated<'a, ExemplarView<'a>>,
    /// The native histograms.
    pub histograms: Repeated<'a, HistogramView<'a>>,
}

impl<'a> View<'a> for SeriesView<'a> {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            labels: Repeated::new(),
            labels_raw: None,
            samples: Repeated::new(),
            exemplars: Repeated::new(),
            histograms: Repeated::new(),
        };
        let mut reader = Reader::new(raw);
        let mut labels_bytes = 0;
        let mut are_labels_first = true;
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { break };
            match tag {
                write1_series::LABELS => {
                    view.labels.push(tail, tag, &mut reader)?;
                    are_labels_first &= raw.len() - tail.len() == labels_bytes;
                    labels_bytes = raw.len() - reader.rest().len();
                }
                write1_series::SAMPLES => view.samples.push(tail, tag, &mut reader)?,
                write1_series::EXEMPLARS => view.exemplars.push(tail, tag, &mut reader)?,
                write1_series::HISTOGRAMS => view.histograms.push(tail, tag, &mut reader)?,
                _ => reader.skip_other(tag, write1_series::KNOWN)?,
            }
        }
        view.labels_raw = raw.get(..labels_bytes).filter(|_| are_labels_first);
        Ok(view)
    }
}

/// A label of 1.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelView<'a> {
    /// The name.
    pub name: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

impl<'a> View<'a> for LabelView<'a> {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { name: &[], value: &[] };
        let mut reader = Reader::new(raw);
        while let Some(tag) = reader.tag()? {
            match tag {
                write1_label::NAME => view.name = reader.bytes()?,
                write1_label::VALUE => view.value = reader.bytes()?,
                _ => reader.skip_other(tag, write1_label::KNOWN)?,
            }
        }
        Ok(view)
    }
}

/// A value at a time.
#[derive(Debug, Clone, Copy)]
pub struct SampleView {
    /// The value, whatever its bits.
    pub value: f64,
    /// When, in milliseconds since 1970.
    pub time_millis: i64,
    /// Since when it accumulates, in milliseconds since 1970; 0 if that is not said. Only in 2.0.
    pub start_time_millis: i64,
}

impl<'a> View<'a> for SampleView {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { value: 0.0, time_millis: 0, start_time_millis: 0 };
        let mut reader = Reader::new(raw);
        while let Some(tag) = reader.tag()? {
            match tag {
                sample::VALUE => view.value = reader.double()?,
                sample::TIME => view.time_millis = reader.varint()? as i64,
                sample::START_TIME => view.start_time_millis = reader.varint()? as i64,
                _ => reader.skip_other(tag, sample::KNOWN)?,
            }
        }
        Ok(view)
    }
}

/// An exemplar of 1.0.
#[derive(Debug, Clone, Copy)]
pub struct ExemplarView<'a> {
    /// Its labels, mostly a trace id.
    pub labels: Repeated<'a, LabelView<'a>>,
    /// The measurement.
    pub value: f64,
    /// When, in milliseconds since 1970.
    pub time_millis: i64,
}

impl<'a> View<'a> for ExemplarView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { labels: Repeated::new(), value: 0.0, time_millis: 0 };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                write1_exemplar::LABELS => view.labels.push(tail, tag, &mut reader)?,
                write1_exemplar::VALUE => view.value = reader.double()?,
                write1_exemplar::TIME => view.time_millis = reader.varint()? as i64,
                _ => reader.skip_other(tag, write1_exemplar::KNOWN)?,
            }
        }
    }
}

/// What a family of metrics is, as its target said. The numbers are those of both versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum MetadataType {
    /// It did not say.
    #[default]
    Unknown = 0,
    /// Counts up.
    Counter = 1,
    /// Goes up and down.
    Gauge = 2,
    /// A histogram of whatever form.
    Histogram = 3,
    /// A histogram whose counts go down, too.
    GaugeHistogram = 4,
    /// Quantiles that the target computed.
    Summary = 5,
    /// Labels that describe something; the value is 1.
    Info = 6,
    /// States of which some hold.
    StateSet = 7,
}

impl MetadataType {
    /// All types, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Unknown,
        Self::Counter,
        Self::Gauge,
        Self::Histogram,
        Self::GaugeHistogram,
        Self::Summary,
        Self::Info,
        Self::StateSet,
    ];

    /// The type of a number; one that is not known is [`MetadataType::Unknown`].
    #[must_use]
    pub fn from_code(code: u64) -> Self {
        let place = usize::try_from(code).unwrap_or(usize::MAX);
        Self::ALL.get(place).copied().unwrap_or_default()
    }

    /// The type of a word.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// The word that Prometheus uses for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::GaugeHistogram => "gaugehistogram",
            Self::Summary => "summary",
            Self::Info => "info",
            Self::StateSet => "stateset",
        }
    }
}

/// What 1.0 says about a family of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataView<'a> {
    /// What it is.
    pub metric_type: MetadataType,
    /// Its name: that of its series, or that without a suffix such as `_total` or `_bucket`.
    pub family: &'a [u8],
    /// What it is, in words.
    pub help: &'a [u8],
    /// Its unit.
    pub unit: &'a [u8],
}

impl<'a> View<'a> for MetadataView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view =
            Self { metric_type: MetadataType::Unknown, family: &[], help: &[], unit: &[] };
        let mut reader = Reader::new(raw);
        while let Some(tag) = reader.tag()? {
            match tag {
                write1_metadata::TYPE => {
                    view.metric_type = MetadataType::from_code(reader.varint()?);
                }
                write1_metadata::FAMILY => view.family = reader.bytes()?,
                write1_metadata::HELP => view.help = reader.bytes()?,
                write1_metadata::UNIT => view.unit = reader.bytes()?,
                _ => reader.skip_other(tag, write1_metadata::KNOWN)?,
            }
        }
        Ok(view)
    }
}

/// The texts of a 2.0 request, one after the other. [`Symbols::table`] finds them by number.
pub type Symbols<'a> = Repeated<'a, &'a [u8]>;

/// The texts of a 2.0 request by number.
#[derive(Debug, Clone, Default)]
pub struct SymbolTable<'a> {
    texts: Vec<&'a [u8]>,
    are_all_utf8: bool,
}

impl<'a> Symbols<'a> {
    /// The texts by number.
    pub fn table(&self) -> Result<SymbolTable<'a>, WireError> {
        let texts = self.raws().collect::<Result<Vec<_>, _>>()?;
        let are_all_utf8 = texts.iter().all(|text| str::from_utf8(text).is_ok());
        Ok(SymbolTable { texts, are_all_utf8 })
    }
}

impl<'a> SymbolTable<'a> {
    /// The text of a number, if there is one. Number 0 is nothing also where there is no table.
    #[inline]
    #[must_use]
    pub fn get(&self, number: u64) -> Option<&'a [u8]> {
        let text = usize::try_from(number).ok().and_then(|place| self.texts.get(place)).copied();
        if number == 0 { Some(text.unwrap_or_default()) } else { text }
    }

    /// Whether every text is UTF-8.
    #[inline]
    #[must_use]
    pub fn are_all_utf8(&self) -> bool {
        self.are_all_utf8
    }

    /// How many texts there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    /// The labels that pairs of numbers stand for; `None` for one without a text, or without a
    /// second number.
    pub fn labels(
        &self,
        references: &Numbers<'a, Varint>,
    ) -> impl Iterator<Item = Option<(&'a [u8], &'a [u8])>> + Clone {
        let mut numbers = references.iter();
        std::iter::from_fn(move || {
            let name = numbers.next()?;
            Some(numbers.next().and_then(|value| Some((self.get(name)?, self.get(value)?))))
        })
    }
}

/// A request of 2.0.
#[derive(Debug, Clone, Copy)]
pub struct RequestView<'a> {
    /// The texts that series refer to.
    pub symbols: Symbols<'a>,
    /// The series.
    pub series: Repeated<'a, SeriesRefsView<'a>>,
}

impl<'a> View<'a> for RequestView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { symbols: Repeated::new(), series: Repeated::new() };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                write2_request::SYMBOLS => view.symbols.push(tail, tag, &mut reader)?,
                write2_request::SERIES => view.series.push(tail, tag, &mut reader)?,
                _ => reader.skip_other(tag, write2_request::KNOWN)?,
            }
        }
    }
}

/// A series of 2.0, which refers to texts of its request.
#[derive(Debug, Clone, Copy)]
pub struct SeriesRefsView<'a> {
    /// The whole message.
    pub raw: &'a [u8],
    /// Numbers of texts: name and value of each label in turn. [`SymbolTable::labels`] reads them.
    pub labels: Numbers<'a, Varint>,
    /// The samples.
    pub samples: Repeated<'a, SampleView>,
    /// The native histograms.
    pub histograms: Repeated<'a, HistogramView<'a>>,
    /// The exemplars.
    pub exemplars: Repeated<'a, ExemplarRefsView<'a>>,
    /// What its metric is.
    pub metadata: Option<MetadataRefsView>,
}

impl<'a> View<'a> for SeriesRefsView<'a> {
    #[inline]
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self {
            raw,
            labels: Numbers::new(),
            samples: Repeated::new(),
            histograms: Repeated::new(),
            exemplars: Repeated::new(),
            metadata: None,
        };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                write2_series::LABELS | write2_series::LABELS_PACKED => {
                    view.labels.push(tail, tag, &mut reader)?;
                }
                write2_series::SAMPLES => view.samples.push(tail, tag, &mut reader)?,
                write2_series::HISTOGRAMS => view.histograms.push(tail, tag, &mut reader)?,
                write2_series::EXEMPLARS => view.exemplars.push(tail, tag, &mut reader)?,
                write2_series::METADATA => read_once(&mut view.metadata, &mut reader, tag)?,
                _ => reader.skip_other(tag, write2_series::KNOWN)?,
            }
        }
    }
}

/// An exemplar of 2.0.
#[derive(Debug, Clone, Copy)]
pub struct ExemplarRefsView<'a> {
    /// Numbers of texts: name and value of each label in turn.
    pub labels: Numbers<'a, Varint>,
    /// The measurement.
    pub value: f64,
    /// When, in milliseconds since 1970.
    pub time_millis: i64,
}

impl<'a> View<'a> for ExemplarRefsView<'a> {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self { labels: Numbers::new(), value: 0.0, time_millis: 0 };
        let mut reader = Reader::new(raw);
        loop {
            let tail = reader.rest();
            let Some(tag) = reader.tag()? else { return Ok(view) };
            match tag {
                write2_exemplar::LABELS | write2_exemplar::LABELS_PACKED => {
                    view.labels.push(tail, tag, &mut reader)?;
                }
                write2_exemplar::VALUE => view.value = reader.double()?,
                write2_exemplar::TIME => view.time_millis = reader.varint()? as i64,
                _ => reader.skip_other(tag, write2_exemplar::KNOWN)?,
            }
        }
    }
}

/// What 2.0 says about the metric of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetadataRefsView {
    /// What it is.
    pub metric_type: MetadataType,
    /// Number of the text that says what it is, in words.
    pub help: u64,
    /// Number of the text that is its unit.
    pub unit: u64,
}

impl MetadataRefsView {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl<'a> View<'a> for MetadataRefsView {
    fn parse(raw: &'a [u8]) -> Result<Self, WireError> {
        let mut view = Self::default();
        let mut reader = Reader::new(raw);
        while let Some(tag) = reader.tag()? {
            match tag {
                write2_metadata::TYPE => {
                    view.metric_type = MetadataType::from_code(reader.varint()?);
                }
                write2_metadata::HELP => view.help = reader.varint()?,
                write2_metadata::UNIT => view.unit = reader.varint()?,
                _ => reader.skip_other(tag, write2_metadata::KNOWN)?,
            }
        }
        Ok(view)
    }
}
