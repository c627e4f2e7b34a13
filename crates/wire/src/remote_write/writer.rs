//! A writer of 2.0 requests, for samples that are made here: scraped, computed or measured.
//!
//! ```
//! use kymo_wire::remote_write::{Metadata, MetadataType, RequestWriter};
//!
//! let mut request = RequestWriter::new();
//! let metadata = Metadata { metric_type: MetadataType::Counter, help: "Requests", unit: "" };
//! let labels = [("__name__", "requests_total"), ("code", "200"), ("job", "shop")];
//! request.series(labels, Some(metadata), |series| {
//!     series.sample(42.0, 1_700_000_000_000, 1_690_000_000_000);
//!     series.exemplar([("trace_id", "0123456789abcdef0123456789abcdef")], 1.0, 1_700_000_000_000);
//! });
//! let body = request.finish();
//! ```
//!
//! Each text is in a request once. Labels are written in order of their names and without those
//! that are empty, in whatever order they are given. Nothing else is checked: that is what
//! [`inspect`](mod@super::inspect) is for.

use std::collections::HashMap;

use super::histogram::NativeHistogram;
use super::views::{MetadataRefsView, MetadataType};
use crate::encode::Writer;
use crate::tags::{
    bucket_span, native_histogram, sample, write1_label, write1_series, write2_exemplar,
    write2_metadata, write2_request, write2_series,
};

/// What the metric of a series is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Metadata<'a> {
    /// What it is.
    pub metric_type: MetadataType,
    /// What it is, in words.
    pub help: &'a str,
    /// Its unit.
    pub unit: &'a str,
}

/// Writes one request.
#[derive(Debug, Clone)]
pub struct RequestWriter {
    symbols: SymbolWriter,
    series: Writer,
    points: u64,
}

#[derive(Debug, Clone)]
struct SymbolWriter {
    numbers: HashMap<Box<str>, u32>,
    written: Writer,
}

impl SymbolWriter {
    fn new() -> Self {
        let mut symbols = Self { numbers: HashMap::new(), written: Writer::new() };
        // The first text is empty: number 0 stands for what is not said.
        symbols.number("");
        symbols
    }

    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return u64::from(*number);
        }
        // More would be beyond what a request may have by far.
        let number = self.numbers.len() as u32;
        self.written.bytes_field(write2_request::SYMBOLS >> 3, text.as_bytes());
        self.numbers.insert(text.into(), number);
        u64::from(number)
    }
}

impl Default for RequestWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl RequestWriter {
    /// A request without series.
    #[must_use]
    pub fn new() -> Self {
        Self { symbols: SymbolWriter::new(), series: Writer::new(), points: 0 }
    }

    /// Appends a series; `content` writes its samples, histograms and exemplars.
    pub fn series<'l, R>(
        &mut self,
        labels: impl IntoIterator<Item = (&'l str, &'l str), IntoIter: Clone>,
        metadata: Option<Metadata<'_>>,
        content: impl FnOnce(&mut SeriesWriter<'_>) -> R,
    ) -> R {
        let Self { symbols, series, points } = self;
        series.message(write2_request::SERIES >> 3, |writer| {
            write_labels(labels.into_iter(), write2_series::LABELS_PACKED >> 3, symbols, writer);
            if let Some(metadata) = metadata {
                let references = MetadataRefsView {
                    metric_type: metadata.metric_type,
                    help: symbols.number(metadata.help),
                    unit: symbols.number(metadata.unit),
                };
                write_metadata(&references, writer);
            }
            content(&mut SeriesWriter { symbols, writer, points })
        })
    }

    /// Samples and histograms so far.
    #[must_use]
    pub fn points(&self) -> u64 {
        self.points
    }

    /// Bytes that the request has so far.
    #[must_use]
    pub fn size_bytes(&self) -> usize {
        self.symbols.written.as_slice().len() + self.series.as_slice().len()
    }

    /// The request, not compressed.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        let mut body = self.symbols.written.into_bytes();
        body.extend_from_slice(self.series.as_slice());
        body
    }
}

/// Writes what one series has.
#[derive(Debug)]
pub struct SeriesWriter<'w> {
    symbols: &'w mut SymbolWriter,
    writer: &'w mut Writer,
    points: &'w mut u64,
}

impl SeriesWriter<'_> {
    /// Appends a sample; `start_time_millis` is since when it accumulates, 0 for unknown.
    pub fn sample(&mut self, value: f64, time_millis: i64, start_time_millis: i64) {
        *self.points += 1;
        write_sample(
            write2_series::SAMPLES >> 3,
            value,
            time_millis,
            start_time_millis,
            self.writer,
        );
    }

    /// Appends a histogram; `start_time_millis` is since when it accumulates, 0 for unknown.
    pub fn histogram(
        &mut self,
        histogram: &NativeHistogram<'_>,
        time_millis: i64,
        start_time_millis: i64,
    ) {
        *self.points += 1;
        let times_millis = [time_millis, start_time_millis];
        write_histogram(write2_series::HISTOGRAMS >> 3, histogram, times_millis, self.writer);
    }

    /// Appends an exemplar.
    pub fn exemplar<'l>(
        &mut self,
        labels: impl IntoIterator<Item = (&'l str, &'l str), IntoIter: Clone>,
        value: f64,
        time_millis: i64,
    ) {
        let symbols = &mut *self.symbols;
        self.writer.message(write2_series::EXEMPLARS >> 3, |w| {
            write_labels(labels.into_iter(), write2_exemplar::LABELS_PACKED >> 3, symbols, w);
            double(w, write2_exemplar::VALUE, value);
            varint(w, write2_exemplar::TIME, time_millis as u64);
        });
    }
}

fn write_labels<'l>(
    labels: impl Iterator<Item = (&'l str, &'l str)> + Clone,
    field: u32,
    symbols: &mut SymbolWriter,
    writer: &mut Writer,
) {
    writer.message(field, |w| {
        let mut write = |(name, value): (&str, &str)| {
            if !value.is_empty() {
                w.varint(symbols.number(name));
                w.varint(symbols.number(value));
            }
        };
        if labels.clone().is_sorted_by(|a, b| a.0 <= b.0) {
            labels.for_each(&mut write);
        } else {
            let mut sorted: Vec<_> = labels.collect();
            sorted.sort_by_key(|(name, _)| *name);
            sorted.into_iter().for_each(&mut write);
        }
    });
}

/// Appends a label to a series of 1.0. All senders encode it like this: name, then value, both
/// also where they are empty.
pub fn write_label(name: &[u8], value: &[u8], writer: &mut Writer) {
    writer.message(write1_series::LABELS >> 3, |w| {
        w.bytes_field(write1_label::NAME >> 3, name);
        w.bytes_field(write1_label::VALUE >> 3, value);
    });
}

/// Appends the metadata of a series.
pub(super) fn write_metadata(metadata: &MetadataRefsView, writer: &mut Writer) {
    if metadata.is_empty() {
        return;
    }
    writer.message(write2_series::METADATA >> 3, |w| {
        varint(w, write2_metadata::TYPE, metadata.metric_type as u64);
        varint(w, write2_metadata::HELP, metadata.help);
        varint(w, write2_metadata::UNIT, metadata.unit);
    });
}

/// Appends a sample as `field` of a series.
pub(crate) fn write_sample(
    field: u32,
    value: f64,
    time_millis: i64,
    start_time_millis: i64,
    writer: &mut Writer,
) {
    writer.message(field, |w| {
        double(w, sample::VALUE, value);
        varint(w, sample::TIME, time_millis as u64);
        varint(w, sample::START_TIME, start_time_millis as u64);
    });
}

/// Appends a histogram as `field` of a series.
pub(crate) fn write_histogram(
    field: u32,
    histogram: &NativeHistogram<'_>,
    [time_millis, start_time_millis]: [i64; 2],
    writer: &mut Writer,
) {
    writer.message(field, |w| {
        histogram_fields(histogram, w);
        varint(w, native_histogram::TIME, time_millis as u64);
        varint(w, native_histogram::START_TIME, start_time_millis as u64);
    });
}

fn histogram_fields(histogram: &NativeHistogram<'_>, w: &mut Writer) {
    use native_histogram as field;
    // Not left out where zero: it says of which kind the counts are.
    if histogram.is_integer {
        w.varint_field(field::COUNT_INT >> 3, histogram.count as u64);
        varint(w, field::ZERO_COUNT_INT, histogram.zero_count as u64);
    } else {
        w.double_field(field::COUNT_FLOAT >> 3, histogram.count);
        w.double_field(field::ZERO_COUNT_FLOAT >> 3, histogram.zero_count);
    }
    double(w, field::SUM, histogram.sum);
    if histogram.schema != 0 {
        w.sint32_field(field::SCHEMA >> 3, histogram.schema);
    }
    double(w, field::ZERO_THRESHOLD, histogram.zero_threshold);
    let sides = [
        (
            [field::NEGATIVE_SPANS, field::NEGATIVE_DELTAS_PACKED, field::NEGATIVE_COUNTS_PACKED],
            histogram.negative_spans,
            histogram.negative,
        ),
        (
            [field::POSITIVE_SPANS, field::POSITIVE_DELTAS_PACKED, field::POSITIVE_COUNTS_PACKED],
            histogram.positive_spans,
            histogram.positive,
        ),
    ];
    for ([spans_field, deltas_field, counts_field], spans, counts) in sides {
        for (offset, length) in spans {
            w.message(spans_field >> 3, |w| {
                w.sint32_field(bucket_span::OFFSET >> 3, *offset);
                w.varint_field(bucket_span::LENGTH >> 3, u64::from(*length));
            });
        }
        if histogram.is_integer {
            deltas(w, deltas_field, counts);
        } else {
            doubles(w, counts_field, counts);
        }
    }
    varint(w, field::RESET_HINT, u64::from(histogram.reset_hint));
    doubles(w, field::CUSTOM_VALUES_PACKED, histogram.custom_values);
}

/// Appends integers as the difference to the one before.
fn deltas(w: &mut Writer, tag: u32, counts: &[f64]) {
    if counts.is_empty() {
        return;
    }
    w.message(tag >> 3, |w| {
        let mut last = 0;
        for count in counts {
            let delta = (*count as i64).wrapping_sub(last);
            w.varint((delta << 1 ^ delta >> 63) as u64);
            last = *count as i64;
        }
    });
}

fn doubles(w: &mut Writer, tag: u32, values: &[f64]) {
    if !values.is_empty() {
        w.message(tag >> 3, |w| values.iter().for_each(|value| w.raw(&value.to_le_bytes())));
    }
}

/// Appends a double unless all its bits are zero.
fn double(w: &mut Writer, tag: u32, value: f64) {
    if value.to_bits() != 0 {
        w.double_field(tag >> 3, value);
    }
}

/// Appends an integer unless it is zero.
fn varint(w: &mut Writer, tag: u32, value: u64) {
    if value != 0 {
        w.varint_field(tag >> 3, value);
    }
}
