//! Traces as Jaeger UI sees them.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;
use serde_json::json;

const START_NANOS: u64 = 1_767_323_045_000_000_999;

fn any(value: Value) -> AnyValue {
    AnyValue { value: Some(value) }
}

fn text(text: &str) -> Value {
    Value::StringValue(text.to_owned())
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(any(value)), ..Default::default() }
}

fn span(trace: u8, id: u8) -> Span {
    Span {
        trace_id: vec![trace; 16],
        span_id: vec![id; 8],
        start_time_unix_nano: START_NANOS,
        end_time_unix_nano: START_NANOS + 1_500_999,
        ..Default::default()
    }
}

fn group(attributes: Vec<KeyValue>, spans: Vec<Span>) -> ResourceSpans {
    ResourceSpans {
        resource: Some(Resource { attributes, ..Default::default() }),
        scope_spans: vec![ScopeSpans { spans, ..Default::default() }],
        ..Default::default()
    }
}

fn shown(groups: Vec<ResourceSpans>) -> serde_json::Value {
    let body = ExportTraceServiceRequest { resource_spans: groups }.encode_to_vec();
    serde_json::to_value(super::traces(&body, 0).unwrap()).unwrap()
}

#[test]
fn a_span_has_all_that_jaeger_knows_of_it() {
    let list = ArrayValue { values: vec![any(text("a")), any(Value::IntValue(1))] };
    let map = KeyValueList { values: vec![attribute("k", Value::BoolValue(true))] };
    let full = Span {
        parent_span_id: vec![9; 8],
        name: "GET /".to_owned(),
        kind: 2,
        flags: 0x101,
        trace_state: "a=b".to_owned(),
        status: Some(Status { code: 2, message: "broken".to_owned() }),
        attributes: vec![
            attribute("text", text("x")),
            attribute("bool", Value::BoolValue(false)),
            attribute("int", Value::IntValue(-3)),
            attribute("large", Value::IntValue(1 << 53)),
            attribute("double", Value::DoubleValue(2.5)),
            attribute("nan", Value::DoubleValue(f64::NAN)),
            attribute("bytes", Value::BytesValue(vec![0, 255])),
            attribute("list", Value::ArrayValue(list)),
            attribute("map", Value::KvlistValue(map)),
            KeyValue { key: "nothing".to_owned(), ..Default::default() },
        ],
        events: vec![Event {
            time_unix_nano: START_NANOS + 1000,
            name: "retry".to_owned(),
            attributes: vec![attribute("attempt", Value::IntValue(2))],
            ..Default::default()
        }],
        links: vec![Link { trace_id: vec![5; 16], span_id: vec![6; 8], ..Default::default() }],
        ..span(1, 2)
    };
    let mut group =
        group(vec![attribute("service.name", text("shop")), attribute("host", text("h"))], vec![]);
    let scope = InstrumentationScope {
        name: "lib".to_owned(),
        version: "1".to_owned(),
        ..Default::default()
    };
    group.scope_spans =
        vec![ScopeSpans { scope: Some(scope), spans: vec![full], ..Default::default() }];
    let tag = |key: &str, kind: &str, value: serde_json::Value| json!({"key": key, "type": kind, "value": value});
    let (trace, id) = ("01010101010101010101010101010101", "0202020202020202");
    assert_eq!(
        shown(vec![group]),
        json!([{
            "traceID": trace,
            "spans": [{
                "traceID": trace,
                "spanID": id,
                "flags": 1,
                "operationName": "GET /",
                "references": [
                    {"refType": "CHILD_OF", "traceID": trace, "spanID": "0909090909090909"},
                    {"refType": "FOLLOWS_FROM", "traceID": "05050505050505050505050505050505", "spanID": "0606060606060606"},
                ],
                "startTime": 1_767_323_045_000_000_u64,
                "duration": 1500,
                "tags": [
                    tag("otel.scope.name", "string", json!("lib")),
                    tag("otel.scope.version", "string", json!("1")),
                    tag("text", "string", json!("x")),
                    tag("bool", "bool", json!(false)),
                    tag("int", "int64", json!(-3)),
                    tag("large", "int64", json!("9007199254740992")),
                    tag("double", "float64", json!(2.5)),
                    tag("nan", "string", json!("NaN")),
                    tag("bytes", "binary", json!("AP8=")),
                    tag("list", "string", json!("[\"a\",1]")),
                    tag("map", "string", json!("{\"k\":true}")),
                    tag("nothing", "string", json!("")),
                    tag("span.kind", "string", json!("server")),
                    tag("otel.status_code", "string", json!("ERROR")),
                    tag("error", "bool", json!(true)),
                    tag("otel.status_description", "string", json!("broken")),
                    tag("w3c.tracestate", "string", json!("a=b")),
                ],
                "logs": [{
                    "timestamp": 1_767_323_045_000_001_u64,
                    "fields": [
                        tag("event", "string", json!("retry")),
                        tag("attempt", "int64", json!(2)),
                    ],
                }],
                "processID": "p1",
                "warnings": null,
            }],
            "processes": {
                "p1": {"serviceName": "shop", "tags": [tag("host", "string", json!("h"))]},
            },
            "warnings": null,
        }])
    );
}

#[test]
fn equal_resources_are_one_process_and_traces_are_told_apart() {
    let shop = || vec![attribute("service.name", text("shop"))];
    let shown = shown(vec![
        group(shop(), vec![span(1, 1), span(2, 2)]),
        group(vec![], vec![span(1, 3)]),
        group(shop(), vec![span(1, 4)]),
    ]);
    let traces = shown.as_array().unwrap();
    assert_eq!(traces.len(), 2);
    let processes: Vec<_> =
        traces[0]["spans"].as_array().unwrap().iter().map(|span| &span["processID"]).collect();
    assert_eq!(processes, ["p1", "p2", "p1"]);
    assert_eq!(traces[0]["processes"]["p1"], json!({"serviceName": "shop", "tags": []}));
    assert_eq!(traces[0]["processes"]["p2"]["serviceName"], "OTLPResourceNoServiceName");
    assert_eq!(traces[1]["spans"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_odd_is_shown_and_said() {
    let backwards = Span { end_time_unix_nano: START_NANOS - 1, ..span(1, 1) };
    let to_parent = Link {
        trace_id: vec![1; 16],
        span_id: vec![1; 8],
        attributes: vec![attribute("opentracing.ref_type", text("follows_from"))],
        ..Default::default()
    };
    let child = Span { parent_span_id: vec![1; 8], links: vec![to_parent], ..span(1, 2) };
    let event = Event {
        name: "lost".to_owned(),
        attributes: vec![attribute("event", text("kept"))],
        ..Default::default()
    };
    let root = Span { parent_span_id: vec![0; 8], events: vec![event], ..span(1, 3) };
    let shown = shown(vec![group(vec![], vec![backwards, child, root])]);
    let spans = &shown[0]["spans"];
    assert_eq!(spans[0]["duration"], 0);
    assert!(spans[0]["warnings"][0].as_str().unwrap().contains("before it starts"));
    assert_eq!(spans[1]["references"].as_array().unwrap().len(), 1);
    assert_eq!(spans[1]["references"][0]["refType"], "FOLLOWS_FROM");
    assert_eq!(spans[2]["references"], json!([]));
    assert_eq!(spans[2]["logs"][0]["fields"].as_array().unwrap().len(), 1);
    assert_eq!(spans[2]["logs"][0]["fields"][0]["value"], "kept");
    assert!(spans[2].get("flags").is_none());
}

#[test]
fn damage_is_a_warning_of_the_trace() {
    let request =
        ExportTraceServiceRequest { resource_spans: vec![group(vec![], vec![span(1, 1)])] };
    let body = request.encode_to_vec();
    let traces = serde_json::to_value(super::traces(&body, 2).unwrap()).unwrap();
    assert!(traces[0]["warnings"][0].as_str().unwrap().contains("damaged blocks are left out (2)"));
    assert!(super::traces(&[], 0).unwrap().is_empty());
}
