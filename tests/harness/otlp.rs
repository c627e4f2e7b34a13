//! Requests to send.

use std::io::Write;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram, HistogramDataPoint,
    Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;

/// 2026-01-02T03:04:05Z.
pub const START_NANOS: u64 = 1_767_323_045_000_000_000;

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Traces,
    Metrics,
    Logs,
}

impl Signal {
    pub const ALL: [Self; 3] = [Self::Traces, Self::Metrics, Self::Logs];

    /// Path over HTTP.
    pub fn path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Metrics => "/v1/metrics",
            Self::Logs => "/v1/logs",
        }
    }

    /// Path over gRPC.
    pub fn method(self) -> &'static str {
        match self {
            Self::Traces => "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
            Self::Metrics => "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
            Self::Logs => "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        }
    }

    /// The table that has a row for each record.
    pub fn table(self) -> &'static str {
        match self {
            Self::Traces => "spans",
            Self::Metrics => "points",
            Self::Logs => "logs",
        }
    }

    /// A small request that no other number gives, of [`RECORDS`] records.
    pub fn small(self, number: u64) -> Vec<u8> {
        match self {
            Self::Traces => spans(&format!("n{number}"), number << 16, RECORDS).encode_to_vec(),
            Self::Metrics => points(number << 16, RECORDS).encode_to_vec(),
            Self::Logs => logs(number << 16, RECORDS).encode_to_vec(),
        }
    }

    /// The same request as JSON.
    pub fn to_json(self, protobuf: &[u8]) -> Vec<u8> {
        let signal = match self {
            Self::Traces => kymo_wire::Signal::Traces,
            Self::Metrics => kymo_wire::Signal::Metrics,
            Self::Logs => kymo_wire::Signal::Logs,
        };
        let mut json = Vec::new();
        kymo_wire::json::encode(signal, protobuf, &mut json).unwrap();
        json
    }
}

/// Records of a small request.
pub const RECORDS: u64 = 3;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    Protobuf,
    Json,
}

impl Encoding {
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Protobuf => "application/x-protobuf",
            Self::Json => "application/json",
        }
    }
}

/// Names of compressions, the first being none.
pub const COMPRESSIONS: [&str; 4] = ["identity", "gzip", "deflate", "zstd"];

pub fn compressed(name: &str, bytes: &[u8]) -> Vec<u8> {
    use flate2::Compression;
    use flate2::write::{GzEncoder, ZlibEncoder};
    match name {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        }
        "zstd" => zstd::encode_all(bytes, 1).unwrap(),
        _ => bytes.to_vec(),
    }
}

pub fn value(value: Value) -> Option<AnyValue> {
    Some(AnyValue { value: Some(value) })
}

pub fn attribute(key: &str, of: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: value(of), ..Default::default() }
}

fn text(text: &str) -> Value {
    Value::StringValue(text.to_owned())
}

fn resource(service: &str) -> Option<Resource> {
    let attributes = vec![attribute("service.name", text(service))];
    Some(Resource { attributes, ..Default::default() })
}

/// Spans of one trace, the first being the root; `number` makes ids.
pub fn spans(name: &str, number: u64, count: u64) -> ExportTraceServiceRequest {
    let spans = (0..count).map(|nth| Span {
        trace_id: (u128::from(number) + 1).to_be_bytes().to_vec(),
        span_id: (number + nth + 1).to_be_bytes().to_vec(),
        parent_span_id: if nth == 0 { Vec::new() } else { (number + 1).to_be_bytes().to_vec() },
        name: format!("{name}-s{nth}"),
        kind: 2,
        start_time_unix_nano: START_NANOS + number * 1000 + nth,
        end_time_unix_nano: START_NANOS + number * 1000 + nth + 500,
        ..Default::default()
    });
    traces("shop", spans.collect())
}

/// A request of these spans.
pub fn traces(service: &str, spans: Vec<Span>) -> ExportTraceServiceRequest {
    let scope_spans = vec![ScopeSpans { spans, ..Default::default() }];
    let group = ResourceSpans { resource: resource(service), scope_spans, ..Default::default() };
    ExportTraceServiceRequest { resource_spans: vec![group] }
}

/// Points of one gauge.
pub fn points(number: u64, count: u64) -> ExportMetricsServiceRequest {
    let data_points = (0..count).map(|nth| NumberDataPoint {
        time_unix_nano: START_NANOS + number * 1000 + nth,
        value: Some(number_data_point::Value::AsDouble(nth as f64)),
        ..Default::default()
    });
    let gauge = Gauge { data_points: data_points.collect() };
    metrics(vec![metric("load", Data::Gauge(gauge))])
}

fn metric(name: &str, data: Data) -> Metric {
    Metric { name: name.to_owned(), data: Some(data), ..Default::default() }
}

fn metrics(metrics: Vec<Metric>) -> ExportMetricsServiceRequest {
    let scope_metrics = vec![ScopeMetrics { metrics, ..Default::default() }];
    let group = ResourceMetrics { resource: resource("shop"), scope_metrics, ..Default::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![group] }
}

/// Log records.
pub fn logs(number: u64, count: u64) -> ExportLogsServiceRequest {
    let log_records = (0..count).map(|nth| LogRecord {
        time_unix_nano: START_NANOS + number * 1000 + nth,
        severity_text: "INFO".to_owned(),
        severity_number: 9,
        body: value(text(&format!("line {nth} of {number}"))),
        ..Default::default()
    });
    let scope_logs = vec![ScopeLogs { log_records: log_records.collect(), ..Default::default() }];
    let group = ResourceLogs { resource: resource("shop"), scope_logs, ..Default::default() };
    ExportLogsServiceRequest { resource_logs: vec![group] }
}

/// Attributes of every type, in an order and with a repetition that must be kept.
fn rich_attributes() -> Vec<KeyValue> {
    let array = ArrayValue { values: vec![value(text("a")).unwrap(), AnyValue { value: None }] };
    let map = KeyValueList { values: vec![attribute("inner", Value::IntValue(1))] };
    vec![
        attribute("z.text", text("grüße 世界")),
        attribute("empty", text("")),
        attribute("int", Value::IntValue(i64::MIN)),
        attribute("double", Value::DoubleValue(-0.0)),
        attribute("bool", Value::BoolValue(false)),
        attribute("bytes", Value::BytesValue(vec![0, 255, 7])),
        attribute("array", Value::ArrayValue(array)),
        attribute("map", Value::KvlistValue(map)),
        attribute("int", text("the same key again")),
        KeyValue { key: "nothing".to_owned(), ..Default::default() },
    ]
}

/// A trace with every field set.
pub fn rich_traces(trace_id: u128) -> ExportTraceServiceRequest {
    let root = Span {
        trace_id: trace_id.to_be_bytes().to_vec(),
        span_id: vec![1; 8],
        trace_state: "vendor=a1,other=b2".to_owned(),
        flags: 0x301,
        name: "checkout 注文 🛒".to_owned(),
        kind: 2,
        start_time_unix_nano: START_NANOS + 1,
        end_time_unix_nano: START_NANOS + 900_000_001,
        attributes: rich_attributes(),
        dropped_attributes_count: 4,
        dropped_events_count: 5,
        dropped_links_count: 6,
        status: Some(Status { code: 2, message: "card declined".to_owned() }),
        events: vec![Event {
            time_unix_nano: START_NANOS + 7,
            name: "exception".to_owned(),
            attributes: rich_attributes(),
            dropped_attributes_count: 1,
        }],
        links: vec![Link {
            trace_id: vec![9; 16],
            span_id: vec![8; 8],
            trace_state: "x=y".to_owned(),
            attributes: rich_attributes(),
            dropped_attributes_count: 2,
            flags: 0x100,
        }],
        ..Default::default()
    };
    let child = Span {
        span_id: vec![2; 8],
        parent_span_id: vec![1; 8],
        name: String::new(),
        kind: 0,
        // A clock that went back: the end is before the start.
        end_time_unix_nano: START_NANOS - 5,
        start_time_unix_nano: START_NANOS + 5,
        status: None,
        trace_state: String::new(),
        flags: 0,
        attributes: Vec::new(),
        events: Vec::new(),
        links: Vec::new(),
        ..root.clone()
    };
    let scope = InstrumentationScope {
        name: "lib".to_owned(),
        version: "1.2".to_owned(),
        attributes: vec![attribute("scope.key", Value::IntValue(3))],
        dropped_attributes_count: 1,
    };
    let scope_spans = vec![
        ScopeSpans { scope: Some(scope), spans: vec![root], schema_url: "urn:scope".to_owned() },
        ScopeSpans { spans: vec![child], ..Default::default() },
    ];
    let resource = Resource {
        attributes: [vec![attribute("service.name", text("rich"))], rich_attributes()].concat(),
        dropped_attributes_count: 3,
        ..Default::default()
    };
    let schema_url = "urn:resource".to_owned();
    let group = ResourceSpans { resource: Some(resource), scope_spans, schema_url };
    ExportTraceServiceRequest { resource_spans: vec![group] }
}

/// Log records with every field set, and with nearly none.
pub fn rich_logs() -> ExportLogsServiceRequest {
    let full = LogRecord {
        time_unix_nano: START_NANOS + 1,
        observed_time_unix_nano: START_NANOS + 2,
        severity_number: 17,
        severity_text: "ERROR".to_owned(),
        body: value(text("it broke: 壊れた")),
        attributes: vec![
            attribute("user", text("ada")),
            attribute("tries", Value::IntValue(3)),
            attribute("ok", Value::BoolValue(false)),
            attribute("ratio", Value::DoubleValue(0.25)),
        ],
        flags: 1,
        trace_id: vec![7; 16],
        span_id: vec![6; 8],
        event_name: "shop.broke".to_owned(),
        ..Default::default()
    };
    let bare = LogRecord { time_unix_nano: START_NANOS + 3, ..Default::default() };
    let scope = InstrumentationScope { name: "logger".to_owned(), ..Default::default() };
    let scope_logs =
        vec![ScopeLogs { scope: Some(scope), log_records: vec![full, bare], ..Default::default() }];
    let group = ResourceLogs { resource: resource("rich"), scope_logs, ..Default::default() };
    ExportLogsServiceRequest { resource_logs: vec![group] }
}

/// A metric of each kind that SDKs make.
pub fn rich_metrics() -> ExportMetricsServiceRequest {
    let attributes = vec![attribute("route", text("/cart")), attribute("code", text("200"))];
    let (start_time_unix_nano, time_unix_nano) = (START_NANOS, START_NANOS + 60_000_000_000);
    let number = NumberDataPoint {
        attributes: attributes.clone(),
        start_time_unix_nano,
        time_unix_nano,
        value: Some(number_data_point::Value::AsInt(42)),
        ..Default::default()
    };
    let gauge = NumberDataPoint {
        value: Some(number_data_point::Value::AsDouble(21.5)),
        start_time_unix_nano: 0,
        ..number.clone()
    };
    let histogram = HistogramDataPoint {
        attributes: attributes.clone(),
        start_time_unix_nano,
        time_unix_nano,
        count: 6,
        sum: Some(123.5),
        min: Some(0.5),
        max: Some(99.0),
        bucket_counts: vec![1, 2, 3],
        explicit_bounds: vec![1.0, 10.0],
        ..Default::default()
    };
    let exponential = ExponentialHistogramDataPoint {
        attributes,
        start_time_unix_nano,
        time_unix_nano,
        count: 7,
        sum: Some(70.0),
        min: Some(1.0),
        max: Some(40.0),
        scale: 2,
        zero_count: 1,
        positive: Some(Buckets { offset: 3, bucket_counts: vec![1, 0, 5] }),
        ..Default::default()
    };
    let named =
        |name: &str, unit: &str, data| Metric { unit: unit.to_owned(), ..metric(name, data) };
    metrics(vec![
        named(
            "rich.orders",
            "1",
            Data::Sum(Sum {
                data_points: vec![number],
                aggregation_temporality: 2,
                is_monotonic: true,
            }),
        ),
        named("rich.temperature", "Cel", Data::Gauge(Gauge { data_points: vec![gauge] })),
        named(
            "rich.latency",
            "ms",
            Data::Histogram(Histogram { data_points: vec![histogram], aggregation_temporality: 2 }),
        ),
        named(
            "rich.size",
            "By",
            Data::ExponentialHistogram(ExponentialHistogram {
                data_points: vec![exponential],
                aggregation_temporality: 2,
            }),
        ),
    ])
}
