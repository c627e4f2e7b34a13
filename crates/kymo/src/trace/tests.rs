//! Drawings of traces as people see them.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status, span};
use prost::Message;

use super::draw::{Look, draw};
use super::spans;
use crate::terminal::{self, Paint};

const START_NANOS: u64 = 1_767_323_045_000_000_000;
const MILLIS: u64 = 1_000_000;

fn text(value: &str) -> AnyValue {
    AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) }
}

fn attribute(key: &str, value: AnyValue) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(value), ..Default::default() }
}

/// A span of a server, from one millisecond to another.
fn span(id: u64, parent: u64, name: &str, from_millis: u64, to_millis: u64) -> Span {
    Span {
        trace_id: vec![7; 16],
        span_id: id.to_be_bytes().to_vec(),
        parent_span_id: if parent == 0 { Vec::new() } else { parent.to_be_bytes().to_vec() },
        name: name.to_owned(),
        kind: 2,
        start_time_unix_nano: START_NANOS + from_millis * MILLIS,
        end_time_unix_nano: START_NANOS + to_millis * MILLIS,
        ..Default::default()
    }
}

fn group(service: &str, spans: Vec<Span>) -> ResourceSpans {
    let attributes = vec![attribute("service.name", text(service))];
    ResourceSpans {
        resource: Some(Resource { attributes, ..Default::default() }),
        scope_spans: vec![ScopeSpans { spans, ..Default::default() }],
        ..Default::default()
    }
}

fn drawn(groups: Vec<ResourceSpans>, columns: usize, attributes: bool) -> String {
    let body = ExportTraceServiceRequest { resource_spans: groups }.encode_to_vec();
    let spans = spans::read(&body, attributes).unwrap();
    let look = Look { columns, paint: Paint::none(), attributes };
    let mut out = String::new();
    draw(&[7; 16], &spans, look, |line| {
        out.push_str(line);
        out.push('\n');
        true
    });
    out
}

#[test]
fn a_trace_is_a_tree_with_bars_errors_and_oddities() {
    let failed = Span {
        status: Some(Status { code: 2, message: "deadlock\ndetected".into() }),
        events: vec![span::Event::default(), span::Event::default()],
        kind: 3,
        ..span(3, 1, "INSERT order", 40, 80)
    };
    let list = ArrayValue { values: vec![text("a"), text("b")] };
    let list = AnyValue { value: Some(any_value::Value::ArrayValue(list)) };
    let early = Span {
        attributes: vec![attribute("http.route", text("/pay")), attribute("tags", list)],
        ..span(4, 3, "charge card", 30, 60)
    };
    let groups = vec![
        group("shop", vec![span(1, 0, "POST /cart/checkout", 0, 100), failed]),
        group("billing", vec![early, span(5, 99, "audit", 90, 91), span(2, 1, "auth", 1, 20)]),
    ];
    assert_eq!(
        drawn(groups, 90, true),
        "\
trace 07070707070707070707070707070707  5 spans, 2 services, 1 error, 100 ms from 2026-01-02T03:04:05.000000000Z

NAME                 SERVICE  KIND     DURATION  0 ──────────────────────────────── 100 ms
POST /cart/checkout  shop     server     100 ms  █████████████████████████████████████████
├─ auth              billing  server    19.0 ms  ████████
└─ INSERT order      shop     client    40.0 ms                  ████████████████
   │ ! error: deadlock\\ndetected
   │ · 2 events
   └─ charge card    billing  server    30.0 ms              ████████████
        ~ starts 10.0 ms before its parent: clocks differ
        · http.route = /pay
        · tags = [a, b]
audit                billing  server    1.00 ms                                      █
  ~ parent 0000000000000063 not received
"
    );
}

#[test]
fn a_span_that_has_not_ended_is_told_with_and_without_attributes() {
    let open = AnyValue { value: Some(any_value::Value::BoolValue(true)) };
    let open = Span { attributes: vec![attribute("kymo.open", open)], ..span(1, 0, "train", 0, 9) };
    for with_attributes in [false, true] {
        let spans = vec![open.clone(), span(2, 1, "epoch", 0, 5)];
        let drawn = drawn(vec![group("shop", spans)], 90, with_attributes);
        assert_eq!(drawn.matches("~ has not ended").count(), 1, "{drawn}");
    }
}

#[test]
fn a_deep_trace_does_not_make_long_lines() {
    let spans = (1..=10_000).map(|n| span(n, n - 1, "step", n, 20_000 - n)).collect();
    let drawn = drawn(vec![group("shop", spans)], 100, false);
    assert_eq!(drawn.lines().count(), 10_003);
    assert!(drawn.lines().all(|line| terminal::width(line) <= 200), "a line is too long");
    assert!(drawn.lines().last().unwrap().contains("[9999] "));
}

#[test]
fn a_circle_and_times_that_run_backwards_are_drawn() {
    let backwards = Span { end_time_unix_nano: START_NANOS, ..span(2, 1, "b", 5, 5) };
    let drawn = drawn(vec![group("", vec![span(1, 2, "a", 1, 9), backwards])], 80, false);
    assert!(drawn.contains("a circle, cut here"), "{drawn}");
    assert!(drawn.contains("-5.00 ms"), "{drawn}");
    assert!(drawn.contains("ends before it starts"), "{drawn}");
}

#[test]
fn no_spans_and_one_moment_are_drawn() {
    assert!(drawn(Vec::new(), 80, false).contains("0 spans"));
    let drawn = drawn(vec![group("x", vec![span(1, 0, "now", 0, 0)])], 20, false);
    assert!(drawn.contains("now") && drawn.contains('▏'), "{drawn}");
}
