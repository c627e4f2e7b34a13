//! Spans to send, and what comes out as a table.

#![allow(dead_code, reason = "each test uses its part")]

use std::collections::BTreeMap;

use kymo_wire::encode::{LinkFields, SpanFields, Writer};
use kymo_wire::{
    AnyValueView, KeyValueView, Limits, MetricData, MetricsView, NumberValue, Repeated, View,
    inspect_metrics, inspect_traces, text,
};

/// A span, as little of it as matters.
#[derive(Debug, Clone, Default)]
pub struct Span {
    pub service: String,
    pub name: String,
    pub kind: i32,
    pub status: i32,
    pub trace: u8,
    pub id: u64,
    pub parent: u64,
    pub nanos: u64,
    pub attributes: Vec<(String, String)>,
    /// Traces and spans.
    pub links: Vec<(u8, u64)>,
}

pub const SERVER: i32 = 2;
pub const CLIENT: i32 = 3;
pub const PRODUCER: i32 = 4;
pub const CONSUMER: i32 = 5;

pub fn span(service: &str, kind: i32, id: u64, parent: u64) -> Span {
    let (service, name) = (service.to_owned(), "op".to_owned());
    Span { service, name, kind, trace: 1, id, parent, nanos: 1_000_000, ..Span::default() }
}

impl Span {
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.attributes.push((key.to_owned(), value.to_owned()));
        self
    }
}

fn id_bytes(id: u64) -> Vec<u8> {
    if id == 0 { Vec::new() } else { id.to_be_bytes().to_vec() }
}

/// Each span with a resource of its own, and how many bytes each has.
pub fn request(spans: &[Span]) -> (Vec<u8>, Vec<u64>) {
    let mut w = Writer::new();
    for span in spans {
        w.resource_group(|w| {
            w.resource(|w| {
                if !span.service.is_empty() {
                    let name = AnyValueView::String(span.service.as_bytes());
                    w.resource_attribute(b"service.name", &name);
                }
                w.resource_attribute(b"host.name", &AnyValueView::String(b"box"));
            });
            w.scope_group(|w| write_span(w, span));
        });
    }
    let body = w.into_bytes();
    if !spans.is_empty() {
        let found = inspect_traces(&body, &Limits::default()).unwrap();
        assert_eq!(found.items, spans.len() as u64);
    }
    let sizes = spans.iter().map(|span| {
        let mut w = Writer::new();
        write_span(&mut w, span);
        // Less the tag and the length.
        let whole = w.as_slice().len() as u64;
        whole - if whole > 2 + 127 { 3 } else { 2 }
    });
    (body, sizes.collect())
}

fn write_span(w: &mut Writer, span: &Span) {
    const START: u64 = 1_700_000_000_000_000_000;
    let trace_id = [span.trace; 16];
    let (span_id, parent_span_id) = (id_bytes(span.id), id_bytes(span.parent));
    let fields = SpanFields {
        trace_id: &trace_id,
        span_id: &span_id,
        parent_span_id: &parent_span_id,
        name: span.name.as_bytes(),
        kind: span.kind,
        start_time_unix_nano: START,
        end_time_unix_nano: START + span.nanos,
        ..SpanFields::default()
    };
    w.span(&fields, |w| {
        for (key, value) in &span.attributes {
            w.span_attribute(key.as_bytes(), &AnyValueView::String(value.as_bytes()));
        }
        for (trace, id) in &span.links {
            let (trace_id, span_id) = ([*trace; 16], id_bytes(*id));
            let fields =
                LinkFields { trace_id: &trace_id, span_id: &span_id, ..LinkFields::default() };
            w.link(&fields, |_| ());
        }
        if span.status != 0 {
            w.status(span.status, b"");
        }
    });
}

/// A point that was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    pub start_nanos: u64,
    pub time_nanos: u64,
    pub value: Value,
    /// Traces of exemplars.
    pub exemplars: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Absent,
    Number(i64),
    Histogram { count: u64, sum: f64, bounds: Vec<f64>, counts: Vec<u64> },
}

/// Points by `name{label=value,…}`, labels in order.
pub type Written = BTreeMap<String, Vec<Point>>;

pub fn written(requests: &[Vec<u8>]) -> Written {
    let mut all = Written::new();
    for body in requests {
        let inspected = inspect_metrics(body, &Limits::default()).unwrap();
        assert!(inspected.refused.is_empty(), "all is admitted: {:?}", inspected.refused);
        for group in MetricsView::parse(body).unwrap().resources {
            for scope in group.unwrap().scopes {
                let scope = scope.unwrap();
                assert_eq!(scope.scope.unwrap().name, b"kymo.spanmetrics");
                for metric in scope.items {
                    let metric = metric.unwrap();
                    take(&text(metric.name), metric.data, &mut all);
                }
            }
        }
    }
    all
}

fn take(name: &str, data: MetricData<'_>, all: &mut Written) {
    let numbers = match data {
        MetricData::Gauge(gauge) => gauge.data_points,
        MetricData::Sum(sum) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == 2);
            sum.data_points
        }
        MetricData::Histogram(histogram) => {
            for point in histogram.data_points {
                let point = point.unwrap();
                let value = match point.flags {
                    1 => Value::Absent,
                    _ => Value::Histogram {
                        count: point.count,
                        sum: point.sum.unwrap(),
                        bounds: point.explicit_bounds.iter().collect(),
                        counts: point.bucket_counts.iter().collect(),
                    },
                };
                let exemplars =
                    point.exemplars.into_iter().map(|exemplar| exemplar.unwrap().trace_id[0]);
                all.entry(series(name, point.attributes)).or_default().push(Point {
                    start_nanos: point.start_time_unix_nano,
                    time_nanos: point.time_unix_nano,
                    value,
                    exemplars: exemplars.collect(),
                });
            }
            return;
        }
        other => panic!("not expected: {other:?}"),
    };
    for point in numbers {
        let point = point.unwrap();
        let value = match (point.flags, point.value) {
            (1, NumberValue::None) => Value::Absent,
            (0, NumberValue::Int(value)) => Value::Number(value),
            other => panic!("not expected: {other:?}"),
        };
        all.entry(series(name, point.attributes)).or_default().push(Point {
            start_nanos: point.start_time_unix_nano,
            time_nanos: point.time_unix_nano,
            value,
            exemplars: Vec::new(),
        });
    }
}

fn series(name: &str, attributes: Repeated<'_, KeyValueView<'_>>) -> String {
    let mut labels: Vec<String> = attributes
        .into_iter()
        .map(|entry| {
            let entry = entry.unwrap();
            let AnyValueView::String(value) = entry.value else { panic!("not a text") };
            format!("{}={}", text(entry.key), text(value))
        })
        .collect();
    labels.sort();
    format!("{name}{{{}}}", labels.join(","))
}

/// The last number of a series.
#[track_caller]
pub fn number(written: &Written, series: &str) -> i64 {
    match written.get(series).and_then(|points| points.last()).map(|point| &point.value) {
        Some(Value::Number(number)) => *number,
        other => panic!("{series}: {other:?} of {:#?}", written.keys().collect::<Vec<_>>()),
    }
}
