//! Requests of Prometheus' remote-write, appended to the head of series.
//!
//! A series has one row of labels, but two series in the table if it has both samples and native
//! histograms: they differ in type. Its samples become points of doubles with every bit kept, that
//! of the stale marker too. Milliseconds become nanoseconds.
//!
//! An exemplar is stored as an encoded OTLP `Exemplar`, with the point of its series in the same
//! request that is nearest in time; if there is none, with the last point of the series in memory;
//! if there is none either, it is dropped and counted. Labels `trace_id` and `span_id` become ids
//! where they are hexadecimal numbers of the right length, all others attributes.

use std::ops::Range;

use kymo_wire::encode::Writer;
use kymo_wire::remote_write::{
    HistogramBuffers, HistogramView, MetadataRefsView, RequestView, SampleView, SeriesView,
    SymbolTable, Version, WriteRequestView,
};
use kymo_wire::{AnyValueView, Repeated, View};

use super::codec::{Number, PointValues};
use super::exemplars;
use super::families::push_metadata;
use super::head::{AppendStats, SeriesHead};
use super::identity::MetricType;
use super::ingest::{DISTRIBUTION_BYTES, NUMBER_BYTES};
use super::remote_labels;
use crate::error::StoreError;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// Field numbers of an OTLP `Exemplar`.
mod exemplar {
    pub(super) const TIME: u32 = 2;
    pub(super) const AS_DOUBLE: u32 = 3;
    pub(super) const SPAN_ID: u32 = 4;
    pub(super) const TRACE_ID: u32 = 5;
    pub(super) const FILTERED_ATTRIBUTES: u32 = 7;
}

/// Room that is used again for each series.
#[derive(Debug, Default)]
pub(crate) struct WriteBuffers {
    labels: Vec<u8>,
    histogram: HistogramBuffers,
    exemplars: PendingExemplars,
}

/// Exemplars of the series at hand, encoded one after the other.
#[derive(Debug, Default)]
struct PendingExemplars {
    encoded: Writer,
    /// Time of each, and where it ends.
    ends: Vec<(i64, usize)>,
}

impl PendingExemplars {
    fn clear(&mut self) {
        self.encoded.clear();
        self.ends.clear();
    }

    fn push<'a>(
        &mut self,
        labels: impl Iterator<Item = (&'a [u8], &'a [u8])>,
        value: f64,
        time_millis: i64,
    ) {
        let time_nanos = nanos(time_millis);
        let w = &mut self.encoded;
        w.fixed64_field(exemplar::TIME, time_nanos as u64);
        w.double_field(exemplar::AS_DOUBLE, value);
        for (name, value) in labels {
            match name {
                b"trace_id" if let Some(id) = id_of::<16>(value) => {
                    w.bytes_field(exemplar::TRACE_ID, &id);
                }
                b"span_id" if let Some(id) = id_of::<8>(value) => {
                    w.bytes_field(exemplar::SPAN_ID, &id);
                }
                _ => {
                    let text = AnyValueView::String(value);
                    w.key_value(exemplar::FILTERED_ATTRIBUTES, name, &text);
                }
            }
        }
        self.ends.push((time_nanos, w.as_slice().len()));
    }
}

/// An id in hexadecimal digits, as it would be written again: in lower case, and not all zero.
fn id_of<const BYTES: usize>(text: &[u8]) -> Option<[u8; BYTES]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut id = [0; BYTES];
    if text.len() != 2 * BYTES {
        return None;
    }
    for (byte, digits) in id.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(digits[0])? << 4 | digit(digits[1])?;
    }
    (id != [0; BYTES]).then_some(id)
}

/// Admission refuses times beyond what nanoseconds reach.
#[inline]
fn nanos(millis: i64) -> i64 {
    millis.saturating_mul(NANOS_PER_MILLI)
}

/// Points of a series that one request brought.
#[derive(Debug, Clone)]
struct Brought {
    number: u32,
    points: Range<usize>,
}

impl SeriesHead {
    /// Appends the points of a request of remote-write, which must be one that
    /// [`inspect`](kymo_wire::remote_write::inspect()) let pass.
    ///
    /// As for [`SeriesHead::append`], `sequence` must grow from call to call.
    pub fn append_remote_write(
        &mut self,
        version: Version,
        body: &[u8],
        sequence: u64,
    ) -> Result<AppendStats, StoreError> {
        let mut buffers = std::mem::take(&mut self.write_buffers);
        let appended = self.append_with(sequence, |head, stats| match version {
            Version::One => head.append_1(body, &mut buffers, stats),
            Version::Two => head.append_2(body, &mut buffers, stats),
        });
        self.write_buffers = buffers;
        appended
    }

    fn append_1(
        &mut self,
        body: &[u8],
        buffers: &mut WriteBuffers,
        stats: &mut AppendStats,
    ) -> Result<(), StoreError> {
        let request = WriteRequestView::parse(body)?;
        for metadata in request.metadata {
            self.families.remember(&metadata?);
        }
        for series in request.series {
            let series = series?;
            let mut brought = None;
            if !series.samples.is_empty() {
                let found = self.find_1(MetricType::Sample, &series, &mut buffers.labels)?;
                brought = self.append_samples(found, &series.samples, stats)?;
            }
            if !series.histograms.is_empty() {
                let found =
                    self.find_1(MetricType::NativeHistogram, &series, &mut buffers.labels)?;
                let room = &mut buffers.histogram;
                brought = self.append_histograms(found, &series.histograms, room, stats)?;
            }
            if series.exemplars.is_empty() {
                continue;
            }
            buffers.exemplars.clear();
            for exemplar in series.exemplars {
                let exemplar = exemplar?;
                let labels = exemplar.labels.into_iter().flatten().map(|l| (l.name, l.value));
                buffers.exemplars.push(labels, exemplar.value, exemplar.time_millis);
            }
            if brought.is_none() {
                remote_labels::of_series(&series, &mut buffers.labels)?;
                brought = self.last_point(&buffers.labels);
            }
            self.append_exemplars(brought, &buffers.exemplars, stats)?;
        }
        Ok(())
    }

    /// The series with the labels of a series of 1.0.
    #[inline]
    fn find_1(
        &mut self,
        metric_type: MetricType,
        series: &SeriesView<'_>,
        labels: &mut Vec<u8>,
    ) -> Result<Option<u32>, StoreError> {
        // Only labels in their usual form are known; so what is found is what was meant.
        let known = series.labels_raw.and_then(|raw| self.registry.find_labelled(metric_type, raw));
        if known.is_some() {
            return Ok(known);
        }
        remote_labels::of_series(series, labels)?;
        self.registry.labelled(metric_type, labels)
    }

    fn append_2(
        &mut self,
        body: &[u8],
        buffers: &mut WriteBuffers,
        stats: &mut AppendStats,
    ) -> Result<(), StoreError> {
        let request = RequestView::parse(body)?;
        let symbols = request.symbols.table()?;
        // Series of one metric are neighbours, and are told the same.
        let mut last_told = None;
        for series in request.series {
            let series = series?;
            let points = series.samples.count() + series.histograms.count();
            if !remote_labels::of_references(&symbols, &series.labels, &mut buffers.labels) {
                stats.refused += points;
                continue;
            }
            let metadata = series.metadata.filter(|metadata| !metadata.is_empty());
            let mut brought = None;
            if !series.samples.is_empty() {
                let found = self.registry.labelled(MetricType::Sample, &buffers.labels)?;
                self.tell(found, metadata, &symbols, &mut last_told);
                brought = self.append_samples(found, &series.samples, stats)?;
            }
            if !series.histograms.is_empty() {
                let found = self.registry.labelled(MetricType::NativeHistogram, &buffers.labels)?;
                self.tell(found, metadata, &symbols, &mut last_told);
                let room = &mut buffers.histogram;
                brought = self.append_histograms(found, &series.histograms, room, stats)?;
            }
            if series.exemplars.is_empty() {
                continue;
            }
            buffers.exemplars.clear();
            for exemplar in series.exemplars {
                let exemplar = exemplar?;
                let labels = symbols.labels(&exemplar.labels).flatten();
                buffers.exemplars.push(labels, exemplar.value, exemplar.time_millis);
            }
            let brought = brought.or_else(|| self.last_point(&buffers.labels));
            self.append_exemplars(brought, &buffers.exemplars, stats)?;
        }
        Ok(())
    }

    /// Sets what 2.0 says about the metric of a series.
    #[inline]
    fn tell(
        &mut self,
        series: Option<u32>,
        metadata: Option<MetadataRefsView>,
        symbols: &SymbolTable<'_>,
        last_told: &mut Option<(u32, MetadataRefsView)>,
    ) {
        let (Some(series), Some(metadata)) = (series, metadata) else { return };
        let metric = self.registry.series[series as usize].metric;
        if *last_told == Some((metric, metadata)) {
            return;
        }
        *last_told = Some((metric, metadata));
        let mut encoded = Vec::new();
        push_metadata(
            metadata.metric_type,
            symbols.get(metadata.unit).unwrap_or_default(),
            &mut encoded,
        );
        let help = symbols.get(metadata.help).unwrap_or_default();
        self.registry.describe_metric(metric, help, &encoded);
    }

    #[inline]
    fn append_samples(
        &mut self,
        found: Option<u32>,
        samples: &Repeated<'_, SampleView>,
        stats: &mut AppendStats,
    ) -> Result<Option<Brought>, StoreError> {
        let Some(number) = found else {
            stats.refused += samples.count();
            return Ok(None);
        };
        let first = self.registry.series[number as usize].points.len();
        for sample in samples {
            let sample = sample?;
            let series = &mut self.registry.series[number as usize];
            let bytes_before = series.bytes;
            let PointValues::Numbers(numbers) = &mut series.points.values else { break };
            numbers.push(Number::Double(sample.value));
            let start_nanos = nanos(sample.start_time_millis) as u64;
            series.push_point(nanos(sample.time_millis) as u64, start_nanos, 0, NUMBER_BYTES);
            stats.points += 1;
            self.grew(number, bytes_before)?;
        }
        Ok(self.brought(number, first))
    }

    fn append_histograms(
        &mut self,
        found: Option<u32>,
        histograms: &Repeated<'_, HistogramView<'_>>,
        buffers: &mut HistogramBuffers,
        stats: &mut AppendStats,
    ) -> Result<Option<Brought>, StoreError> {
        let Some(number) = found else {
            stats.refused += histograms.count();
            return Ok(None);
        };
        let first = self.registry.series[number as usize].points.len();
        for view in histograms {
            let view = view?;
            let Ok(histogram) = view.resolve(buffers) else {
                stats.refused += 1;
                continue;
            };
            let series = &mut self.registry.series[number as usize];
            let bytes_before = series.bytes;
            let PointValues::NativeHistograms(values) = &mut series.points.values else { break };
            values.push(&histogram);
            // Spans and bounds are nearly always those of the point before and then cost nothing,
            // but they may be others for every point.
            let items = histogram.positive.len()
                + histogram.negative.len()
                + histogram.positive_spans.len()
                + histogram.negative_spans.len()
                + histogram.custom_values.len();
            let start_nanos = nanos(view.start_time_millis) as u64;
            let bytes = 2 * DISTRIBUTION_BYTES + 8 * items;
            series.push_point(nanos(view.time_millis) as u64, start_nanos, 0, bytes);
            stats.points += 1;
            self.grew(number, bytes_before)?;
        }
        Ok(self.brought(number, first))
    }

    /// The points of a series from `first` on, unless they are encoded already.
    fn brought(&self, number: u32, first: usize) -> Option<Brought> {
        let count = self.registry.series[number as usize].points.len();
        (first < count).then_some(Brought { number, points: first..count })
    }

    /// The last point in memory of the series with these labels.
    fn last_point(&mut self, labels: &[u8]) -> Option<Brought> {
        let types = [MetricType::NativeHistogram, MetricType::Sample];
        types.into_iter().find_map(|metric_type| {
            let number = self.registry.find_labelled(metric_type, labels)?;
            let count = self.registry.series[number as usize].points.len();
            self.brought(number, count.checked_sub(1)?)
        })
    }

    fn append_exemplars(
        &mut self,
        brought: Option<Brought>,
        pending: &PendingExemplars,
        stats: &mut AppendStats,
    ) -> Result<(), StoreError> {
        let Some(Brought { number, points }) = brought else {
            stats.dropped_exemplars += pending.ends.len();
            return Ok(());
        };
        let series = &mut self.registry.series[number as usize];
        let times = &series.points.times_nanos[points.clone()];
        let mut placed = Vec::with_capacity(pending.ends.len());
        let mut start = 0;
        let are_in_order = times.is_sorted();
        for (time, end) in &pending.ends {
            // Points out of order are rare, and looking at all of them for each exemplar is not
            // worth it.
            let nth = if are_in_order { nearest(times, *time) } else { times.len() - 1 };
            placed.push((points.start + nth, start..*end));
            start = *end;
        }
        // Stable: exemplars of one point stay in the order they were sent.
        placed.sort_by_key(|(point, _)| *point);
        let bytes_before = (series.bytes, series.exemplars.len());
        for (point, range) in placed {
            exemplars::push(point, &pending.encoded.as_slice()[range], &mut series.exemplars);
        }
        series.add_bytes(series.exemplars.len() - bytes_before.1);
        self.grew_by_exemplars(number, bytes_before.0)
    }
}

/// The place of the time that is nearest, in times that are in order and not none.
fn nearest(times: &[i64], time: i64) -> usize {
    let after = times.partition_point(|other| *other < time).min(times.len() - 1);
    let distance = |place: usize| times[place].abs_diff(time);
    match after.checked_sub(1) {
        Some(before) if distance(before) <= distance(after) => before,
        _ => after,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exemplar_goes_to_the_point_that_is_nearest() {
        let times = [10, 20, 30];
        for (time, place) in [(0, 0), (14, 0), (15, 0), (16, 1), (25, 1), (26, 2), (99, 2)] {
            assert_eq!(nearest(&times, time), place, "{time}");
        }
        assert_eq!(nearest(&[5], i64::MIN), 0);
    }

    #[test]
    fn only_what_would_be_written_the_same_again_is_an_id() {
        assert_eq!(id_of::<8>(b"00f067aa0ba902b7"), Some(0x00f0_67aa_0ba9_02b7u64.to_be_bytes()));
        for text in [&b"00F067AA0BA902B7"[..], b"00f067aa0ba902b", b"0000000000000000", b"x"] {
            assert_eq!(id_of::<8>(text), None);
        }
    }
}
