//! What is stored, compared with what was sent.
//!
//! Spans come back through the trace API and are compared whole. Log records and metric points are
//! compared with the columns of their tables.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogramDataPoint, HistogramDataPoint, NumberDataPoint, SummaryDataPoint,
    number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData};
use prost::Message;
use serde_json::{Map, Value};

use super::{Answer, Server, hex};

/// A span with all that it stands under.
type Standing = (Resource, String, InstrumentationScope, String, Span);

/// Spans by trace id and span id. Groups may be divided otherwise than they were sent; a missing
/// resource, scope or status is the same as an empty one.
fn standing(
    resource_spans: &[opentelemetry_proto::tonic::trace::v1::ResourceSpans],
) -> BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Standing>> {
    let mut traces: BTreeMap<Vec<u8>, BTreeMap<Vec<u8>, Standing>> = BTreeMap::new();
    for group in resource_spans {
        for scope in &group.scope_spans {
            for span in &scope.spans {
                let mut span = span.clone();
                span.status.get_or_insert_default();
                let (trace_id, span_id) = (span.trace_id.clone(), span.span_id.clone());
                let whole = (
                    group.resource.clone().unwrap_or_default(),
                    group.schema_url.clone(),
                    scope.scope.clone().unwrap_or_default(),
                    scope.schema_url.clone(),
                    span,
                );
                let before = traces.entry(trace_id).or_default().insert(span_id, whole);
                assert_eq!(before, None, "a span is there twice");
            }
        }
    }
    traces
}

/// A trace as the server has it.
#[track_caller]
pub fn trace(server: &Server, trace_id: &[u8]) -> TracesData {
    let url = server.url(&format!("/tempo/api/traces/{}", hex(trace_id)));
    let request = server.client.get(url).header("accept", "application/protobuf");
    let answer = Answer::of(request).expect(200);
    assert_eq!(answer.header("content-type"), "application/protobuf");
    TracesData::decode(answer.body.as_slice()).unwrap()
}

/// Every field of every span is as it was sent, and the tables agree. A trace may have spans of
/// other requests, too. Returns how many were sent.
#[track_caller]
pub fn check_traces(server: &Server, sent: &ExportTraceServiceRequest) -> u64 {
    let mut count = 0;
    for (trace_id, spans) in standing(&sent.resource_spans) {
        let mut stored = standing(&trace(server, &trace_id).resource_spans);
        let stored = stored.remove(&trace_id).unwrap();
        for (span_id, span) in &spans {
            assert_eq!(stored.get(span_id), Some(span));
        }
        let of_trace: Vec<&Span> = spans.values().map(|span| &span.4).collect();
        check_span_rows(server, &hex(&trace_id), &of_trace);
        count += spans.len() as u64;
    }
    count
}

const KINDS: [&str; 6] = ["unspecified", "internal", "server", "client", "producer", "consumer"];
const STATUSES: [&str; 3] = ["unset", "ok", "error"];

#[track_caller]
fn check_span_rows(server: &Server, trace_id: &str, spans: &[&Span]) {
    let of_trace = format!("WHERE trace_id = '{trace_id}'");
    let rows = rows(
        server,
        &format!(
            "SELECT span_id, parent_span_id, name, kind, CAST(start_time AS BIGINT) AS start_nanos, \
             CAST(end_time AS BIGINT) AS end_nanos, duration_nanos, status, status_message, \
             trace_state, flags, attributes FROM spans {of_trace}"
        ),
    );
    for span in spans {
        let status = span.status.clone().unwrap_or_default();
        let (start, end) = (span.start_time_unix_nano as i64, span.end_time_unix_nano as i64);
        let is_it = |row: &&Row| {
            is_text(&row["span_id"], &hex(&span.span_id))
                && is_text(&row["parent_span_id"], &hex(&span.parent_span_id))
                && is_text(&row["name"], &span.name)
                && is_text(&row["kind"], KINDS[span.kind as usize])
                && row["start_nanos"] == start
                && row["end_nanos"] == end
                && row["duration_nanos"] == end - start
                && is_text(&row["status"], STATUSES[status.code as usize])
                && is_text(&row["status_message"], &status.message)
                && is_text(&row["trace_state"], &span.trace_state)
                && is_number(&row["flags"], f64::from(span.flags))
                && attributes_are(&row["attributes"], &span.attributes)
        };
        assert_eq!(rows.iter().filter(is_it).count(), 1, "{span:?} in {rows:?}");
    }
    check_events(server, &of_trace, spans);
    check_links(server, &of_trace, spans);
}

#[track_caller]
fn check_events(server: &Server, of_trace: &str, spans: &[&Span]) {
    let columns = "span_id, name, CAST(time AS BIGINT) AS nanos, attributes";
    let rows = rows(server, &format!("SELECT {columns} FROM events {of_trace}"));
    for span in spans {
        let of_span: Vec<_> =
            rows.iter().filter(|row| row["span_id"] == hex(&span.span_id)).collect();
        assert_eq!(of_span.len(), span.events.len());
        for event in &span.events {
            let is_it = |row: &&Row| {
                is_text(&row["name"], &event.name)
                    && row["nanos"] == event.time_unix_nano
                    && attributes_are(&row["attributes"], &event.attributes)
            };
            assert!(of_span.iter().any(is_it), "{event:?} is not in {of_span:?}");
        }
    }
}

#[track_caller]
fn check_links(server: &Server, of_trace: &str, spans: &[&Span]) {
    let columns = "span_id, linked_trace_id, linked_span_id, trace_state, attributes";
    let rows = rows(server, &format!("SELECT {columns} FROM links {of_trace}"));
    for span in spans {
        let of_span: Vec<_> =
            rows.iter().filter(|row| row["span_id"] == hex(&span.span_id)).collect();
        assert_eq!(of_span.len(), span.links.len());
        for link in &span.links {
            let is_it = |row: &&Row| {
                row["linked_trace_id"] == hex(&link.trace_id)
                    && row["linked_span_id"] == hex(&link.span_id)
                    && is_text(&row["trace_state"], &link.trace_state)
                    && attributes_are(&row["attributes"], &link.attributes)
            };
            assert!(of_span.iter().any(is_it), "{link:?} is not in {of_span:?}");
        }
    }
}

/// Every log record has a row with what was sent. Returns how many were sent.
#[track_caller]
pub fn check_logs(server: &Server, sent: &ExportLogsServiceRequest) -> u64 {
    let rows = rows(
        server,
        "SELECT CAST(time AS BIGINT) AS nanos, CAST(observed_time AS BIGINT) AS observed_nanos, \
         severity, severity_number, body, event_name, trace_id, span_id, flags, scope_name, \
         attributes FROM logs",
    );
    let mut count = 0;
    for scope in sent.resource_logs.iter().flat_map(|group| &group.scope_logs) {
        let name = scope.scope.as_ref().map_or("", |scope| scope.name.as_str());
        for record in &scope.log_records {
            let is_there = rows.iter().any(|row| log_is(row, record, name));
            assert!(is_there, "{record:?} of {name:?} is not in {rows:?}");
            count += 1;
        }
    }
    count
}

fn log_is(row: &Row, record: &LogRecord, scope_name: &str) -> bool {
    // A record without a time has that of its observation; one without an observation may get one.
    let (time, observed) = (record.time_unix_nano, record.observed_time_unix_nano);
    let times_are_same = row["nanos"] == if time == 0 { observed } else { time }
        && (observed == 0 || row["observed_nanos"] == observed);
    let body_is_same = match record.body.as_ref().and_then(|body| body.value.as_ref()) {
        Some(Any::StringValue(body)) => is_text(&row["body"], body),
        Some(body) => row["body"].as_str().is_some_and(|text| {
            serde_json::from_str(text).is_ok_and(|json| value_is(&json, Some(body)))
        }),
        None => is_text(&row["body"], ""),
    };
    // A severity without a text may be named after its number.
    let severity = &record.severity_text;
    times_are_same
        && body_is_same
        && (severity.is_empty() || is_text(&row["severity"], severity))
        && is_number(&row["severity_number"], f64::from(record.severity_number))
        && is_text(&row["event_name"], &record.event_name)
        && is_text(&row["trace_id"], &hex(&record.trace_id))
        && is_text(&row["span_id"], &hex(&record.span_id))
        && is_number(&row["flags"], f64::from(record.flags))
        && is_text(&row["scope_name"], scope_name)
        && attributes_are(&row["attributes"], &record.attributes)
}

/// Every data point has a row with what was sent. Returns how many were sent.
#[track_caller]
pub fn check_metrics(server: &Server, sent: &ExportMetricsServiceRequest) -> u64 {
    let rows = rows(
        server,
        "SELECT CAST(time AS BIGINT) AS nanos, CAST(start_time AS BIGINT) AS start_nanos, name, \
         type, unit, value, count, sum, min, max, bucket_bounds, bucket_counts, attributes \
         FROM points",
    );
    let mut count = 0;
    let scopes = sent.resource_metrics.iter().flat_map(|group| &group.scope_metrics);
    for metric in scopes.flat_map(|scope| &scope.metrics) {
        let (kind, points) = points_of(metric.data.as_ref());
        for point in points {
            let is_it = |row: &Row| {
                is_text(&row["name"], &metric.name)
                    && is_text(&row["type"], kind)
                    && is_text(&row["unit"], &metric.unit)
                    && point_is(row, &point)
            };
            assert!(rows.iter().any(is_it), "{}: {point:?} is not in {rows:?}", metric.name);
            count += 1;
        }
    }
    count
}

/// What the columns of a point are expected to be.
#[derive(Debug, Default)]
struct Point {
    time_nanos: u64,
    start_nanos: u64,
    attributes: Vec<KeyValue>,
    value: Option<f64>,
    count: Option<u64>,
    sum: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    buckets: Buckets,
}

/// Buckets of a histogram.
#[derive(Debug, Default)]
enum Buckets {
    #[default]
    None,
    /// Bounds and counts, as they were sent.
    Explicit(Vec<f64>, Vec<u64>),
    /// Positive buckets that have something: where each ends, and what it has.
    Exponential { upper_bounds: Vec<(f64, u64)> },
}

/// The type of a metric and its points.
fn points_of(data: Option<&Data>) -> (&'static str, Vec<Point>) {
    match data {
        Some(Data::Gauge(gauge)) => ("gauge", gauge.data_points.iter().map(number).collect()),
        Some(Data::Sum(sum)) => ("sum", sum.data_points.iter().map(number).collect()),
        Some(Data::Histogram(histogram)) => {
            ("histogram", histogram.data_points.iter().map(explicit).collect())
        }
        Some(Data::ExponentialHistogram(histogram)) => {
            ("exponential_histogram", histogram.data_points.iter().map(exponential).collect())
        }
        Some(Data::Summary(summary)) => {
            let point = |point: &SummaryDataPoint| Point {
                time_nanos: point.time_unix_nano,
                start_nanos: point.start_time_unix_nano,
                attributes: point.attributes.clone(),
                count: Some(point.count),
                sum: Some(point.sum),
                ..Point::default()
            };
            ("summary", summary.data_points.iter().map(point).collect())
        }
        None => ("", Vec::new()),
    }
}

fn number(point: &NumberDataPoint) -> Point {
    Point {
        time_nanos: point.time_unix_nano,
        start_nanos: point.start_time_unix_nano,
        attributes: point.attributes.clone(),
        value: point.value.map(|value| match value {
            number_data_point::Value::AsDouble(value) => value,
            number_data_point::Value::AsInt(value) => value as f64,
        }),
        ..Point::default()
    }
}

fn explicit(point: &HistogramDataPoint) -> Point {
    Point {
        time_nanos: point.time_unix_nano,
        start_nanos: point.start_time_unix_nano,
        attributes: point.attributes.clone(),
        count: Some(point.count),
        sum: point.sum,
        min: point.min,
        max: point.max,
        buckets: Buckets::Explicit(point.explicit_bounds.clone(), point.bucket_counts.clone()),
        ..Point::default()
    }
}

fn exponential(point: &ExponentialHistogramDataPoint) -> Point {
    let base = 2f64.powf(2f64.powi(-point.scale));
    let positive = point.positive.clone().unwrap_or_default();
    let upper_bounds = positive.bucket_counts.iter().zip(positive.offset + 1..);
    let upper_bounds = upper_bounds.map(|(count, power)| (base.powi(power), *count));
    Point {
        time_nanos: point.time_unix_nano,
        start_nanos: point.start_time_unix_nano,
        attributes: point.attributes.clone(),
        count: Some(point.count),
        sum: point.sum,
        min: point.min,
        max: point.max,
        buckets: Buckets::Exponential {
            upper_bounds: upper_bounds.filter(|(_, count)| *count > 0).collect(),
        },
        ..Point::default()
    }
}

fn point_is(row: &Row, point: &Point) -> bool {
    let numbers = [
        ("value", point.value),
        ("count", point.count.map(|count| count as f64)),
        ("sum", point.sum),
        ("min", point.min),
        ("max", point.max),
    ];
    let start = &row["start_nanos"];
    row["nanos"] == point.time_nanos
        && (*start == point.start_nanos || (point.start_nanos == 0 && start.is_null()))
        && numbers.iter().all(|(name, sent)| row[*name].as_f64() == *sent)
        && buckets_are(row, &point.buckets)
        && attributes_are(&row["attributes"], &point.attributes)
}

fn buckets_are(row: &Row, buckets: &Buckets) -> bool {
    let bounds: Option<Vec<f64>> = serde_json::from_value(row["bucket_bounds"].clone()).unwrap();
    let counts: Option<Vec<u64>> = serde_json::from_value(row["bucket_counts"].clone()).unwrap();
    match buckets {
        Buckets::None => bounds.is_none() && counts.is_none(),
        Buckets::Explicit(sent_bounds, sent_counts) => {
            bounds.as_ref() == Some(sent_bounds) && counts.as_ref() == Some(sent_counts)
        }
        Buckets::Exponential { upper_bounds } => {
            let (Some(bounds), Some(counts)) = (bounds, counts) else { return false };
            let is_near = |one: f64, other: f64| (one - other).abs() <= one.abs() * 1e-9;
            // Each bucket that has something is there, between its own bounds.
            bounds.is_sorted()
                && counts.len() == bounds.len() + 1
                && row["count"] == counts.iter().sum::<u64>()
                && upper_bounds.iter().all(|(upper, sent)| {
                    let place = bounds.iter().position(|bound| is_near(*bound, *upper));
                    place.is_some_and(|place| counts[place] == *sent)
                })
        }
    }
}

/// Rows with names.
type Row = Map<String, Value>;

#[track_caller]
fn rows(server: &Server, query: &str) -> Vec<Row> {
    let table = server.sql(query);
    (0..table.rows.len()).map(|nth| table.row(nth)).collect()
}

/// Whether a cell is a text. What was not sent is NULL or empty.
fn is_text(cell: &Value, text: &str) -> bool {
    *cell == *text || (text.is_empty() && cell.is_null())
}

/// Whether a cell is a number. What was not sent is NULL or zero.
fn is_number(cell: &Value, number: f64) -> bool {
    cell.as_f64() == Some(number) || (number == 0.0 && cell.is_null())
}

/// Whether a cell is the JSON text of attributes.
fn attributes_are(cell: &Value, sent: &[KeyValue]) -> bool {
    let Some(text) = cell.as_str() else { return sent.is_empty() };
    serde_json::from_str(text).is_ok_and(|json| object_is(&json, sent))
}

fn object_is(json: &Value, sent: &[KeyValue]) -> bool {
    let Value::Object(found) = json else { return false };
    let keys: Vec<&String> = sent.iter().map(|attribute| &attribute.key).collect();
    // A JSON object has a key once; which value it then has is for the trace API to tell.
    let is_once = |key: &String| keys.iter().filter(|other| **other == key).count() == 1;
    found.keys().collect::<BTreeSet<_>>() == keys.iter().copied().collect::<BTreeSet<_>>()
        && sent.iter().filter(|attribute| is_once(&attribute.key)).all(|attribute| {
            let value = attribute.value.as_ref().and_then(|value| value.value.as_ref());
            value_is(&found[&attribute.key], value)
        })
}

/// Whether JSON is a value.
fn value_is(json: &Value, value: Option<&Any>) -> bool {
    match value {
        None => json.is_null(),
        Some(Any::StringValue(text)) => json == text,
        Some(Any::BoolValue(is_true)) => json == is_true,
        Some(Any::IntValue(number)) => json == number,
        Some(Any::DoubleValue(number)) => json.as_f64() == Some(*number),
        Some(Any::BytesValue(bytes)) => *json == STANDARD.encode(bytes),
        Some(Any::KvlistValue(list)) => object_is(json, &list.values),
        Some(Any::ArrayValue(list)) => json.as_array().is_some_and(|items| {
            let values = list.values.iter().map(|value| value.value.as_ref());
            items.len() == list.values.len()
                && items.iter().zip(values).all(|(item, value)| value_is(item, value))
        }),
        // OTLP does not use it.
        Some(Any::StringValueStrindex(_)) => false,
    }
}
