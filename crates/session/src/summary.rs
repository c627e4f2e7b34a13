//! What is known of a session at the moment.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kymo_service::export::ExportCounts;
use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1 as otlp_common;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::metrics::v1 as otlp;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use serde::Serialize;

/// How many tasks are in which state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TaskCount {
    /// Known.
    pub created: u64,
    /// Handed over.
    pub submitted: u64,
    /// Ever started.
    pub started: u64,
    /// Running now.
    pub running: u64,
    /// Ended well.
    pub completed: u64,
    /// Failed.
    pub failed: u64,
    /// Called off.
    pub canceled: u64,
}

/// Durations of tasks, from start to end. Tasks that never started have none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Durations {
    /// How many.
    pub count: u64,
    /// All together.
    pub total_seconds: f64,
    /// On average.
    pub mean_seconds: f64,
    /// The shortest.
    pub min_seconds: f64,
    /// The longest.
    pub max_seconds: f64,
}

impl Durations {
    pub(crate) fn add(&mut self, seconds: f64) {
        self.min_seconds = if self.count == 0 { seconds } else { self.min_seconds.min(seconds) };
        self.max_seconds = self.max_seconds.max(seconds);
        self.count += 1;
        self.total_seconds += seconds;
        self.mean_seconds = self.total_seconds / self.count as f64;
    }
}

/// The last update of a node or a GPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ResourceUse {
    /// When.
    pub time_nanos: u64,
    /// What runs tasks there.
    pub backend: Option<String>,
    /// Which.
    pub node_id: String,
    /// Which GPU of it; none for the node itself.
    pub gpu_id: Option<i64>,
    /// The fields of the event that are numbers, by name.
    pub values: BTreeMap<String, f64>,
}

/// What a session did so far.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The session.
    pub session_id: String,
    /// Since it began; until it ended.
    pub duration_seconds: f64,
    /// Tasks by state.
    pub tasks: TaskCount,
    /// How long they ran.
    pub duration: Durations,
    /// Nodes and GPUs, as they were last.
    pub resources: Vec<ResourceUse>,
}

/// How a span ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanStatus {
    /// It does not say.
    Unset,
    /// Well.
    Ok,
    /// Not well, and why.
    Error(String),
}

/// A span that has ended.
#[derive(Debug, Clone, PartialEq)]
pub struct FinishedSpan {
    /// Its name.
    pub name: Cow<'static, str>,
    /// Its trace: the session's.
    pub trace_id: TraceId,
    /// Its id.
    pub span_id: SpanId,
    /// The span that it lies in.
    pub parent_span_id: Option<SpanId>,
    /// When it began, in nanoseconds since 1970.
    pub start_nanos: u64,
    /// When it ended; never before it began.
    pub end_nanos: u64,
    /// How.
    pub status: SpanStatus,
    /// What is known of it.
    pub attributes: Vec<KeyValue>,
    /// What happened in it: names, times, attributes.
    pub events: Vec<(Cow<'static, str>, u64, Vec<KeyValue>)>,
}

/// An instrument as it stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// `counter`, `updown`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// Its unit.
    pub unit: String,
    /// One for each combination of labels.
    pub points: Vec<Point>,
}

/// A value of an instrument.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Its labels, sorted.
    pub labels: BTreeMap<String, String>,
    /// When counting began.
    pub start_nanos: u64,
    /// When it was read.
    pub time_nanos: u64,
    /// The value; of a histogram the sum.
    pub value: f64,
    /// Of a histogram: how many.
    pub count: Option<u64>,
    /// Of a histogram: the least.
    pub min: Option<f64>,
    /// Of a histogram: the most.
    pub max: Option<f64>,
    /// Of a histogram: upper bounds of its buckets, the last without.
    pub bounds: Vec<f64>,
    /// Of a histogram: how many are in each.
    pub bucket_counts: Vec<u64>,
}

/// What became of events and files.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stats {
    /// Events that were handled.
    pub events: u64,
    /// Events that were not recorded: the queue was full, the session had ended or its thread was
    /// gone, it was in the child of a fork, or they were for the session alone to tell.
    pub dropped: u64,
    /// States of tasks that came after their end.
    pub after_end: u64,
    /// Attributes and annotations that were too many, and attributes of tasks that were there already
    /// or are for the session alone to give.
    pub attributes_dropped: u64,
    /// Finished spans that are no longer in memory.
    pub spans_forgotten: u64,
    /// Events that slow channels and streams did not get.
    pub subscribers_missed: u64,
    /// How often a subscriber or enricher panicked.
    pub panics: u64,
    /// Bytes in the checkpoint.
    pub checkpoint_bytes: u64,
    /// Why there is no checkpoint, where there should be one.
    pub checkpoint_error: Option<String>,
    /// What a server took, refused or never got.
    pub export: Option<ExportCounts>,
}

/// Instruments out of OTLP.
pub(crate) fn metrics_of(request: ExportMetricsServiceRequest) -> Vec<Metric> {
    let scopes = request.resource_metrics.into_iter().flat_map(|group| group.scope_metrics);
    scopes.flat_map(|scope| scope.metrics).filter_map(metric_of).collect()
}

fn metric_of(metric: otlp::Metric) -> Option<Metric> {
    let (kind, points) = match metric.data? {
        Data::Gauge(gauge) => ("gauge", gauge.data_points.into_iter().map(number).collect()),
        Data::Sum(sum) => {
            let kind = if sum.is_monotonic { "counter" } else { "updown" };
            (kind, sum.data_points.into_iter().map(number).collect())
        }
        Data::Histogram(histogram) => {
            ("histogram", histogram.data_points.into_iter().map(histogram_point).collect())
        }
        _ => return None,
    };
    Some(Metric { name: metric.name, kind, unit: metric.unit, points })
}

fn number(point: otlp::NumberDataPoint) -> Point {
    let value = match point.value {
        Some(Number::AsDouble(value)) => value,
        Some(Number::AsInt(value)) => value as f64,
        None => 0.0,
    };
    Point {
        labels: labels(point.attributes),
        start_nanos: point.start_time_unix_nano,
        time_nanos: point.time_unix_nano,
        value,
        count: None,
        min: None,
        max: None,
        bounds: Vec::new(),
        bucket_counts: Vec::new(),
    }
}

fn histogram_point(point: otlp::HistogramDataPoint) -> Point {
    Point {
        labels: labels(point.attributes),
        start_nanos: point.start_time_unix_nano,
        time_nanos: point.time_unix_nano,
        value: point.sum.unwrap_or(0.0),
        count: Some(point.count),
        min: point.min,
        max: point.max,
        bounds: point.explicit_bounds,
        bucket_counts: point.bucket_counts,
    }
}

fn labels(attributes: Vec<otlp_common::KeyValue>) -> BTreeMap<String, String> {
    let text = |value: Option<otlp_common::AnyValue>| match value.and_then(|value| value.value) {
        Some(Any::StringValue(text)) => text,
        Some(Any::IntValue(number)) => number.to_string(),
        Some(Any::DoubleValue(number)) => number.to_string(),
        Some(Any::BoolValue(truth)) => truth.to_string(),
        _ => String::new(),
    };
    attributes.into_iter().map(|attribute| (attribute.key, text(attribute.value))).collect()
}
