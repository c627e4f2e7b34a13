//! What a scrape gives, and where it goes.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use kymo_wire::exposition::{MetricKind, NativeHistogram};
use thiserror::Error;

use crate::labels::Labels;

/// The bits of the NaN that says: this series has ended.
pub const STALE_NAN_BITS: u64 = 0x7ff0_0000_0000_0002;

/// Where scraped samples go.
///
/// Each target waits for its own batch to be taken: a sink that is slow makes scrapes be left out,
/// never pile up.
pub trait Sink: Send + Sync + 'static {
    /// Takes a batch. An error is logged when it is another one than before, and shown with the
    /// target.
    fn send(&self, batch: ScrapedBatch) -> SinkFuture<'_>;
}

/// Why a batch was not taken as it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SinkError {
    /// Samples are lost, and nobody knows which. To the API the scrape failed.
    #[error("samples were not stored: {0}")]
    Lost(String),
    /// So many samples were refused for what they are; the others were taken.
    #[error("{0} samples were left out: {1}")]
    Partly(u64, String),
}

/// What [`Sink::send`] gives.
pub type SinkFuture<'a> = Pin<Box<dyn Future<Output = Result<(), SinkError>> + Send + 'a>>;

/// All samples of one scrape of one target: its own, those about the scrape, and the ends of series
/// that are gone.
#[derive(Debug, Clone, PartialEq)]
pub struct ScrapedBatch {
    /// The job.
    pub job_name: Arc<str>,
    /// One sample of each series; with times of the target's own, maybe several.
    pub series: Vec<ScrapedSeries>,
}

/// A sample of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct ScrapedSeries {
    /// All labels, the metric's name among them.
    pub labels: Arc<Labels>,
    /// The value.
    pub value: ScrapedValue,
    /// Its time in milliseconds since 1970.
    pub time_millis: i64,
    /// Since when it is counted, in milliseconds since 1970, if known.
    pub start_millis: Option<i64>,
    /// Measurements that stand for many.
    pub exemplars: Vec<ScrapedExemplar>,
    /// What is known of the metric.
    pub metadata: Option<Arc<MetricMetadata>>,
}

impl ScrapedSeries {
    /// The end of a series.
    pub(crate) fn stale(labels: Arc<Labels>, time_millis: i64) -> Self {
        Self::plain(labels, f64::from_bits(STALE_NAN_BITS), time_millis)
    }

    pub(crate) fn plain(labels: Arc<Labels>, value: f64, time_millis: i64) -> Self {
        Self {
            labels,
            value: ScrapedValue::Float(value),
            time_millis,
            start_millis: None,
            exemplars: Vec::new(),
            metadata: None,
        }
    }

    /// Whether this is the end of a series.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        matches!(self.value, ScrapedValue::Float(value) if value.to_bits() == STALE_NAN_BITS)
    }
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum ScrapedValue {
    /// A number.
    Float(f64),
    /// A native histogram.
    Histogram(Box<NativeHistogram>),
}

/// A measurement that stands for many.
#[derive(Debug, Clone, PartialEq)]
pub struct ScrapedExemplar {
    /// Its labels.
    pub labels: Vec<(String, String)>,
    /// Its value.
    pub value: f64,
    /// Its time in milliseconds since 1970.
    pub time_millis: i64,
}

/// What is known of a metric.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetricMetadata {
    /// The family, as the target names it.
    pub family: String,
    /// What it measures.
    pub kind: MetricKind,
    /// What it is for.
    pub help: String,
    /// Its unit.
    pub unit: String,
}
