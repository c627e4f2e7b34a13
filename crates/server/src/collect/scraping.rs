//! Scraped samples as requests of remote-write.

use kymo_scrape::{
    MetricMetadata, ScrapedBatch, ScrapedSeries, ScrapedValue, Sink, SinkError, SinkFuture,
};
use kymo_wire::exposition::{self, HistogramCounts, MetricKind};
use kymo_wire::remote_write::{Metadata, MetadataType, NativeHistogram, RequestWriter};

use super::own::Own;
use crate::answer::Failure;

/// Takes what was scraped.
pub(super) struct ScrapeSink {
    own: Own,
}

impl ScrapeSink {
    pub(super) fn new(own: Own) -> Self {
        Self { own }
    }
}

impl Sink for ScrapeSink {
    fn send(&self, batch: ScrapedBatch) -> SinkFuture<'_> {
        Box::pin(async move {
            let lost = |failure: Failure| SinkError::Lost(failure.message);
            let mut pieces = self.own.pieces();
            // `up` comes last: if something before it is lost, it does not say that all is well.
            for series in &batch.series {
                write_series(pieces.writer(), series);
                pieces.send_if_large().await.map_err(lost)?;
            }
            match pieces.finish().await.map_err(lost)? {
                Some((count, why)) => Err(SinkError::Partly(count, why)),
                None => Ok(()),
            }
        })
    }
}

fn write_series(writer: &mut RequestWriter, scraped: &ScrapedSeries) {
    let metadata = scraped.metadata.as_deref().map(metadata_of);
    writer.series(scraped.labels.iter(), metadata, |series| {
        let (time, start) = (scraped.time_millis, scraped.start_millis.unwrap_or(0));
        match &scraped.value {
            ScrapedValue::Float(value) => series.sample(*value, time, start),
            ScrapedValue::Histogram(histogram) => {
                with_native(histogram, |native| series.histogram(native, time, start));
            }
        }
        for exemplar in &scraped.exemplars {
            let labels: Vec<(&str, &str)> =
                exemplar.labels.iter().map(|(name, value)| (&**name, &**value)).collect();
            series.exemplar(labels, exemplar.value, exemplar.time_millis);
        }
    });
}

fn metadata_of(metadata: &MetricMetadata) -> Metadata<'_> {
    let metric_type = metadata_type(metadata.kind);
    Metadata { metric_type, help: &metadata.help, unit: &metadata.unit }
}

/// The word of requests for what a metric is.
pub(super) fn metadata_type(kind: MetricKind) -> MetadataType {
    match kind {
        MetricKind::Counter => MetadataType::Counter,
        MetricKind::Gauge => MetadataType::Gauge,
        MetricKind::Histogram => MetadataType::Histogram,
        MetricKind::GaugeHistogram => MetadataType::GaugeHistogram,
        MetricKind::Summary => MetadataType::Summary,
        MetricKind::Info => MetadataType::Info,
        MetricKind::StateSet => MetadataType::StateSet,
        MetricKind::Unknown => MetadataType::Unknown,
    }
}

/// A scraped histogram in the form that requests have: counts of buckets as they are, not as
/// differences.
fn with_native(scraped: &exposition::NativeHistogram, write: impl FnOnce(&NativeHistogram<'_>)) {
    let spans = |spans: &[exposition::Span]| -> Vec<(i32, u32)> {
        spans.iter().map(|span| (span.offset, span.length)).collect()
    };
    let (positive_spans, negative_spans) =
        (spans(&scraped.positive_spans), spans(&scraped.negative_spans));
    let summed = |deltas: &[i64]| -> Vec<f64> {
        let mut total = 0i64;
        deltas
            .iter()
            .map(|delta| {
                total = total.saturating_add(*delta);
                total as f64
            })
            .collect()
    };
    let (is_integer, count, zero_count, positive, negative) = match &scraped.counts {
        HistogramCounts::Integer { count, zero_count, positive, negative } => {
            (true, *count as f64, *zero_count as f64, summed(positive), summed(negative))
        }
        HistogramCounts::Float { count, zero_count, positive, negative } => {
            (false, *count, *zero_count, positive.clone(), negative.clone())
        }
    };
    write(&NativeHistogram {
        schema: scraped.schema,
        reset_hint: if scraped.is_gauge { GAUGE } else { 0 },
        is_integer,
        zero_threshold: scraped.zero_threshold,
        zero_count,
        count,
        sum: scraped.sum,
        positive_spans: &positive_spans,
        negative_spans: &negative_spans,
        positive: &positive,
        negative: &negative,
        custom_values: &scraped.custom_bounds,
    });
}

/// The reset hint of histograms whose counts also fall.
const GAUGE: u8 = 3;
