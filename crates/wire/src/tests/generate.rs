//! Arbitrary requests from a seed, as structs of `opentelemetry-proto`.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, EntityRef, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::summary_data_point::ValueAtQuantile;
use opentelemetry_proto::tonic::metrics::v1::{
    Exemplar, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram,
    HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, Summary,
    SummaryDataPoint, exemplar, number_data_point,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;

use super::random::Random;
use crate::Signal;

const TEXTS: &[&str] =
    &["", "a", "service.name", "GET /things/{id}", "ü", "日本語", "\0\u{10ffff}"];

/// The request of a signal, encoded by prost.
pub(super) fn request(signal: Signal, random: &mut Random) -> Vec<u8> {
    let r = random;
    match signal {
        Signal::Traces => {
            ExportTraceServiceRequest { resource_spans: many(r, 3, resource_spans) }.encode_to_vec()
        }
        Signal::Logs => {
            ExportLogsServiceRequest { resource_logs: many(r, 3, resource_logs) }.encode_to_vec()
        }
        Signal::Metrics => {
            ExportMetricsServiceRequest { resource_metrics: many(r, 3, resource_metrics) }
                .encode_to_vec()
        }
    }
}

fn many<T>(r: &mut Random, at_most: u64, build: impl Fn(&mut Random) -> T) -> Vec<T> {
    (0..r.below(at_most + 1)).map(|_| build(r)).collect()
}

fn maybe<T>(r: &mut Random, build: impl Fn(&mut Random) -> T) -> Option<T> {
    r.chance(3).then(|| build(r))
}

fn text(r: &mut Random) -> String {
    if r.below(8) == 0 {
        return "long ".repeat(r.below(60) as usize);
    }
    (*r.pick(TEXTS)).to_owned()
}

fn bytes(r: &mut Random) -> Vec<u8> {
    many(r, 20, |r| r.next() as u8)
}

fn number(r: &mut Random) -> u64 {
    match r.below(4) {
        0 => *r.pick(&[0, 1, 127, 128, u32::MAX.into(), i64::MAX as u64, u64::MAX]),
        1 => r.below(1_000),
        _ => r.next(),
    }
}

fn time(r: &mut Random) -> u64 {
    if r.below(10) == 0 { number(r) } else { 1_700_000_000_000_000_000 + r.below(1 << 40) }
}

fn double(r: &mut Random) -> f64 {
    const EDGES: &[f64] =
        &[0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN_POSITIVE];
    if r.chance(2) { *r.pick(EDGES) } else { f64::from_bits(r.next()) }
}

fn id(r: &mut Random, length: usize) -> Vec<u8> {
    match r.below(12) {
        0 => Vec::new(),
        1 => vec![0; length],
        2 => vec![7; length - 1],
        _ => (0..length).map(|_| r.next() as u8).collect(),
    }
}

fn key_value(r: &mut Random, depth: u32) -> KeyValue {
    KeyValue {
        key: text(r),
        value: maybe(r, |r| any_value(r, depth)),
        key_strindex: if r.below(8) == 0 { r.next() as i32 } else { 0 },
    }
}

fn attributes(r: &mut Random) -> Vec<KeyValue> {
    let mut list = many(r, 4, |r| key_value(r, 0));
    if let Some(first) = list.first().cloned()
        && r.chance(4)
    {
        list.push(first);
    }
    list
}

fn any_value(r: &mut Random, depth: u32) -> AnyValue {
    let kinds = if depth < 4 { 9 } else { 7 };
    let value = match r.below(kinds) {
        0 => None,
        1 => Some(Value::StringValue(text(r))),
        2 => Some(Value::BoolValue(r.chance(2))),
        3 => Some(Value::IntValue(number(r) as i64)),
        4 => Some(Value::DoubleValue(double(r))),
        5 => Some(Value::BytesValue(bytes(r))),
        6 => Some(Value::StringValueStrindex(r.next() as i32)),
        7 => {
            Some(Value::ArrayValue(ArrayValue { values: many(r, 3, |r| any_value(r, depth + 1)) }))
        }
        _ => Some(Value::KvlistValue(KeyValueList {
            values: many(r, 3, |r| key_value(r, depth + 1)),
        })),
    };
    AnyValue { value }
}

fn resource(r: &mut Random) -> Resource {
    Resource {
        attributes: attributes(r),
        dropped_attributes_count: number(r) as u32,
        entity_refs: many(r, 2, |r| EntityRef {
            schema_url: text(r),
            r#type: text(r),
            id_keys: many(r, 3, text),
            description_keys: many(r, 3, text),
        }),
    }
}

fn scope(r: &mut Random) -> InstrumentationScope {
    InstrumentationScope {
        name: text(r),
        version: text(r),
        attributes: attributes(r),
        dropped_attributes_count: number(r) as u32,
    }
}

fn resource_spans(r: &mut Random) -> ResourceSpans {
    ResourceSpans {
        resource: maybe(r, resource),
        scope_spans: many(r, 2, |r| ScopeSpans {
            scope: maybe(r, scope),
            spans: many(r, 4, span),
            schema_url: text(r),
        }),
        schema_url: text(r),
    }
}

fn span(r: &mut Random) -> Span {
    Span {
        trace_id: id(r, 16),
        span_id: id(r, 8),
        trace_state: text(r),
        parent_span_id: id(r, 8),
        flags: r.next() as u32,
        name: text(r),
        kind: number(r) as i32,
        start_time_unix_nano: time(r),
        end_time_unix_nano: time(r),
        attributes: attributes(r),
        dropped_attributes_count: number(r) as u32,
        events: many(r, 2, |r| Event {
            time_unix_nano: time(r),
            name: text(r),
            attributes: attributes(r),
            dropped_attributes_count: number(r) as u32,
        }),
        dropped_events_count: number(r) as u32,
        links: many(r, 2, |r| Link {
            trace_id: id(r, 16),
            span_id: id(r, 8),
            trace_state: text(r),
            attributes: attributes(r),
            dropped_attributes_count: number(r) as u32,
            flags: r.next() as u32,
        }),
        dropped_links_count: number(r) as u32,
        status: maybe(r, |r| Status { message: text(r), code: number(r) as i32 }),
    }
}

fn resource_logs(r: &mut Random) -> ResourceLogs {
    ResourceLogs {
        resource: maybe(r, resource),
        scope_logs: many(r, 2, |r| ScopeLogs {
            scope: maybe(r, scope),
            log_records: many(r, 4, log_record),
            schema_url: text(r),
        }),
        schema_url: text(r),
    }
}

fn log_record(r: &mut Random) -> LogRecord {
    LogRecord {
        time_unix_nano: time(r),
        observed_time_unix_nano: time(r),
        severity_number: r.below(30) as i32,
        severity_text: text(r),
        body: maybe(r, |r| any_value(r, 0)),
        attributes: attributes(r),
        dropped_attributes_count: number(r) as u32,
        flags: r.next() as u32,
        trace_id: id(r, 16),
        span_id: id(r, 8),
        event_name: text(r),
    }
}

fn resource_metrics(r: &mut Random) -> ResourceMetrics {
    ResourceMetrics {
        resource: maybe(r, resource),
        scope_metrics: many(r, 2, |r| ScopeMetrics {
            scope: maybe(r, scope),
            metrics: many(r, 4, metric),
            schema_url: text(r),
        }),
        schema_url: text(r),
    }
}

fn metric(r: &mut Random) -> Metric {
    let aggregation_temporality = number(r) as i32;
    let data = match r.below(6) {
        0 => None,
        1 => Some(Data::Gauge(Gauge { data_points: many(r, 3, number_point) })),
        2 => Some(Data::Sum(Sum {
            data_points: many(r, 3, number_point),
            aggregation_temporality,
            is_monotonic: r.chance(2),
        })),
        3 => Some(Data::Histogram(Histogram {
            data_points: many(r, 3, histogram_point),
            aggregation_temporality,
        })),
        4 => Some(Data::ExponentialHistogram(ExponentialHistogram {
            data_points: many(r, 3, exponential_point),
            aggregation_temporality,
        })),
        _ => Some(Data::Summary(Summary { data_points: many(r, 3, summary_point) })),
    };
    Metric { name: text(r), description: text(r), unit: text(r), metadata: attributes(r), data }
}

fn number_point(r: &mut Random) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(r),
        start_time_unix_nano: time(r),
        time_unix_nano: time(r),
        exemplars: many(r, 2, exemplar),
        flags: number(r) as u32,
        value: match r.below(3) {
            0 => None,
            1 => Some(number_data_point::Value::AsDouble(double(r))),
            _ => Some(number_data_point::Value::AsInt(number(r) as i64)),
        },
    }
}

fn histogram_point(r: &mut Random) -> HistogramDataPoint {
    HistogramDataPoint {
        attributes: attributes(r),
        start_time_unix_nano: time(r),
        time_unix_nano: time(r),
        count: number(r),
        sum: maybe(r, double),
        bucket_counts: many(r, 20, number),
        explicit_bounds: many(r, 20, double),
        exemplars: many(r, 2, exemplar),
        flags: number(r) as u32,
        min: maybe(r, double),
        max: maybe(r, double),
    }
}

fn exponential_point(r: &mut Random) -> ExponentialHistogramDataPoint {
    let buckets =
        |r: &mut Random| Buckets { offset: r.next() as i32, bucket_counts: many(r, 20, number) };
    ExponentialHistogramDataPoint {
        attributes: attributes(r),
        start_time_unix_nano: time(r),
        time_unix_nano: time(r),
        count: number(r),
        sum: maybe(r, double),
        scale: r.next() as i32,
        zero_count: number(r),
        positive: maybe(r, buckets),
        negative: maybe(r, buckets),
        flags: number(r) as u32,
        exemplars: many(r, 2, exemplar),
        min: maybe(r, double),
        max: maybe(r, double),
        zero_threshold: double(r),
    }
}

fn summary_point(r: &mut Random) -> SummaryDataPoint {
    SummaryDataPoint {
        attributes: attributes(r),
        start_time_unix_nano: time(r),
        time_unix_nano: time(r),
        count: number(r),
        sum: double(r),
        quantile_values: many(r, 3, |r| ValueAtQuantile { quantile: double(r), value: double(r) }),
        flags: number(r) as u32,
    }
}

fn exemplar(r: &mut Random) -> Exemplar {
    Exemplar {
        filtered_attributes: attributes(r),
        time_unix_nano: time(r),
        span_id: id(r, 8),
        trace_id: id(r, 16),
        value: maybe(r, |r| exemplar::Value::AsInt(number(r) as i64)),
    }
}
