//! Traces to compare.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, TracesData};
use prost::Message;

const START_MILLIS: u64 = 1_700_000_000_000;

pub(super) fn attribute(key: &str, value: Value) -> KeyValue {
    let value = Some(AnyValue { value: Some(value) });
    KeyValue { key: key.to_owned(), value, ..KeyValue::default() }
}

pub(super) fn string(text: &str) -> Value {
    Value::StringValue(text.to_owned())
}

/// A span of a service, between two times in milliseconds; 0 is no parent.
pub(super) fn span(id: u64, parent: u64, service: &str, name: &str, from: u64, to: u64) -> Span {
    Span {
        trace_id: vec![7; 16],
        span_id: id.to_be_bytes().to_vec(),
        parent_span_id: if parent == 0 { Vec::new() } else { parent.to_be_bytes().to_vec() },
        name: name.to_owned(),
        kind: 3,
        start_time_unix_nano: (START_MILLIS + from) * 1_000_000,
        end_time_unix_nano: (START_MILLIS + to) * 1_000_000,
        attributes: vec![attribute("service.name", string(service))],
        status: Some(Status { code: 1, ..Status::default() }),
        ..Span::default()
    }
}

/// The same, failed.
pub(super) fn failed(mut span: Span) -> Span {
    span.status = Some(Status { code: 2, ..Status::default() });
    span
}

pub(super) fn with(mut span: Span, key: &str, value: Value) -> Span {
    span.attributes.push(attribute(key, value));
    span
}

/// Spans of one resource that has a service.
pub(super) fn encoded_of(service: &str, spans: Vec<Span>) -> Vec<u8> {
    let attributes = vec![attribute("service.name", string(service))];
    let group = ResourceSpans {
        resource: Some(Resource { attributes, ..Resource::default() }),
        scope_spans: vec![ScopeSpans { spans, ..ScopeSpans::default() }],
        ..ResourceSpans::default()
    };
    TracesData { resource_spans: vec![group] }.encode_to_vec()
}

/// Spans of a resource without one.
pub(super) fn encoded(spans: Vec<Span>) -> Vec<u8> {
    let group = ResourceSpans {
        scope_spans: vec![ScopeSpans { spans, ..ScopeSpans::default() }],
        ..ResourceSpans::default()
    };
    TracesData { resource_spans: vec![group] }.encode_to_vec()
}
