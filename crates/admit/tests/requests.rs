//! What senders are told, and whose limits hold.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

use std::collections::BTreeMap;

use bytes::Bytes;
use kymo_admit::{Admission, Compression, Counted, Format, Limits, Refusal, Signal, Stage};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

fn span(text: &str, attributes: usize) -> Span {
    let value = AnyValue { value: Some(Value::StringValue(text.to_owned())) };
    let attribute = |index| KeyValue {
        key: format!("key.{index}"),
        value: Some(value.clone()),
        ..KeyValue::default()
    };
    Span {
        trace_id: vec![1; 16],
        span_id: vec![2; 8],
        attributes: (0..attributes).map(attribute).collect(),
        ..Span::default()
    }
}

fn request(spans: Vec<Span>) -> Bytes {
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    let resource_spans = vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec().into()
}

fn spans(body: &[u8]) -> Vec<Span> {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let scopes = request.resource_spans.into_iter().flat_map(|group| group.scope_spans);
    scopes.flat_map(|group| group.spans).collect()
}

fn admit(
    admission: &Admission,
    tenant: &str,
    body: Bytes,
) -> Result<kymo_admit::Admitted, Refusal> {
    admission.admit(tenant, Signal::Traces, Format::Protobuf, Compression::None, body)
}

#[test]
fn the_same_bytes_are_handed_on_when_nothing_is_wrong() {
    let body = request(vec![span("text", 3)]);
    let admitted = admit(&Admission::default(), "default", body.clone()).unwrap();
    assert_eq!(admitted.body.as_ptr(), body.as_ptr(), "without a copy");
    assert_eq!((admitted.items, admitted.partial_success()), (1, None));
}

#[test]
fn an_empty_body_is_a_request_without_records_in_every_encoding() {
    for format in [Format::Protobuf, Format::Json] {
        for compression in Compression::ALL {
            let admission = Admission::default();
            let admitted = admission
                .admit("default", Signal::Logs, format, compression, Bytes::new())
                .unwrap();
            assert_eq!((admitted.items, admitted.body.len()), (0, 0));
            assert_eq!(admitted.compression, Compression::None);
        }
    }
}

#[test]
fn a_sender_is_told_what_was_refused_and_changed() {
    let limits = Limits { max_attributes_per_record: 2, max_value_bytes: 10, ..Limits::default() };
    let admission = Admission::new(limits, BTreeMap::new()).unwrap();
    let bad = Span { span_id: Vec::new(), ..span("text", 1) };
    let body = request(vec![span("longer than ten bytes", 3), bad, span("short", 2)]);
    let admitted = admit(&admission, "default", body).unwrap();
    assert_eq!(admitted.items, 2);
    let (rejected, message) = admitted.partial_success().unwrap();
    assert_eq!(rejected, 1);
    assert_eq!(
        message,
        "1 refused (span id is not 8 bytes or is all zero), \
         1 changed (attribute beyond the first 2 was dropped), \
         2 changed (value longer than 10 bytes was cut)"
    );
    let reasons = |counted: &[Counted]| -> Vec<_> {
        counted.iter().map(|counted| (counted.reason, counted.count)).collect()
    };
    assert_eq!(reasons(&admitted.refused), [("invalid_span_id", 1)]);
    assert_eq!(reasons(&admitted.changed), [("too_many_attributes", 1), ("value_too_long", 2)]);
    let kept = spans(&admitted.body);
    assert_eq!((kept[0].attributes.len(), kept[0].dropped_attributes_count), (2, 1));
}

#[test]
fn a_change_without_refusal_is_a_warning() {
    let late = Span { parent_span_id: vec![0; 8], ..span("text", 1) };
    let admitted = admit(&Admission::default(), "default", request(vec![late])).unwrap();
    let (rejected, message) = admitted.partial_success().unwrap();
    assert_eq!(rejected, 0);
    assert!(message.starts_with("1 changed (parent span id"), "{message}");
}

#[test]
fn stack_traces_and_many_attributes_pass_by_default() {
    let body = request(vec![span(&"at main.rs:1\n".repeat(10_000), 1), span("", 4096)]);
    let admitted = admit(&Admission::default(), "default", body).unwrap();
    assert_eq!(admitted.partial_success(), None);
    let long = "x".repeat((256 << 10) + 1);
    let admitted = admit(&Admission::default(), "default", request(vec![span(&long, 1)])).unwrap();
    assert_eq!(admitted.changed[0].reason, "value_too_long");
}

#[test]
fn each_tenant_has_its_limits() {
    let small = Limits { max_request_bytes: 100, ..Limits::default() };
    let tenants = BTreeMap::from([("small".to_owned(), small)]);
    let admission = Admission::new(Limits::default(), tenants).unwrap();
    let body = request(vec![span("text", 20)]);
    assert!(admit(&admission, "large", body.clone()).is_ok());
    let refusal = admit(&admission, "small", body).unwrap_err();
    assert_eq!(refusal, Refusal::TooLarge { stage: Stage::Received, limit_bytes: 100 });
    assert_eq!(
        refusal.to_string(),
        "request is larger than 100 bytes as sent; send smaller batches"
    );
    let none = Limits { max_request_bytes: 0, ..Limits::default() };
    assert!(Admission::new(Limits::default(), BTreeMap::from([("x".to_owned(), none)])).is_err());
}

#[test]
fn a_name_that_no_tenant_can_have_is_refused() {
    let admission = Admission::default();
    let tenant = |name: &str| admit(&admission, name, Bytes::new());
    for name in ["default", "a.b-c_d", &"x".repeat(64)] {
        assert!(tenant(name).is_ok(), "{name}");
    }
    for (name, problem) in [
        ("", "is empty"),
        (&"x".repeat(65), "has 65 bytes, at most 64 are allowed"),
        ("a|b", "contains '|'; printable ASCII without a bar is allowed"),
        ("a\nb", "contains '\\n'; printable ASCII without a bar is allowed"),
    ] {
        assert_eq!(tenant(name), Err(Refusal::Tenant(problem.to_owned())));
    }
    assert_eq!(tenant("").unwrap_err().reason(), "bad_tenant");
}

#[test]
fn json_that_is_none_names_the_place() {
    let admission = Admission::default();
    let body = Bytes::from_static(b"{\"resourceSpans\": [{\"scopeSpans\": 7}]}");
    let refusal = admission
        .admit("default", Signal::Traces, Format::Json, Compression::None, body)
        .unwrap_err();
    let message = refusal.to_string();
    assert!(message.contains("resourceSpans[0].scopeSpans"), "{message}");
}

#[test]
fn json_that_is_larger_in_protobuf_than_can_be_kept_is_too_large() {
    // A zero and a comma become the eight bytes of a double.
    let point = format!(r#"{{"explicitBounds":[{}]}}"#, vec!["0"; 500_000].join(","));
    let points = vec![&point[..]; 17].join(",");
    let histogram = format!(r#"{{"histogram":{{"dataPoints":[{points}]}}}}"#);
    let text =
        format!(r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{histogram}]}}]}}]}}"#);
    let (signal, format) = (Signal::Metrics, Format::Json);
    let refusal = Admission::default()
        .admit("default", signal, format, Compression::None, Bytes::from(text))
        .unwrap_err();
    assert_eq!(refusal, Refusal::TooLarge { stage: Stage::Encoded, limit_bytes: 64 << 20 });
}

#[test]
fn points_of_too_many_series_are_refused_and_their_sender_is_told() {
    let point = |host: &str| {
        format!(
            r#"{{"asInt":"1","timeUnixNano":"1","attributes":[{{"key":"host","value":{{"stringValue":"{host}"}}}}]}}"#
        )
    };
    let request = |hosts: &[&str]| {
        let points: Vec<String> = hosts.iter().map(|host| point(host)).collect();
        format!(
            r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{{"name":"m","gauge":{{"dataPoints":[{}]}}}}]}}]}}]}}"#,
            points.join(",")
        )
    };
    let limits = Limits { max_series: Some(2), ..Limits::default() };
    let admission = Admission::new(limits, Default::default()).unwrap();
    let admit = |hosts: &[&str]| {
        let body = Bytes::from(request(hosts));
        admission.admit("t", Signal::Metrics, Format::Json, Compression::None, body).unwrap()
    };
    let first = admit(&["a", "b", "c"]);
    assert_eq!(first.items, 2);
    let (rejected, message) = first.partial_success().unwrap();
    assert_eq!(rejected, 1);
    assert!(message.contains("series beyond the 2"), "{message}");
    let second = admit(&["b", "a"]);
    assert_eq!((second.items, second.partial_success()), (2, None));
    let third = admit(&["d"]);
    assert_eq!((third.items, third.is_empty()), (0, true));
}
