mod limits;

use std::borrow::Cow;

use super::*;
use crate::encode::{EventFields, LinkFields, SpanFields, Writer};
use crate::limits::{MAX_NESTING, MAX_POINT_ITEMS, MAX_TIME_UNIX_NANOS};
use crate::proto::WireErrorKind;
use crate::repeated::View;
use crate::tags::{
    exemplar, gauge, histogram, histogram_point, log_record, metric, number_point, resource_group,
    span,
};
use crate::{AnyValueView, LogsView, MetricData, MetricsView, NumberValue, SpanView, TracesView};

const GOOD: SpanFields<'static> = SpanFields {
    trace_id: &[1; 16],
    span_id: &[2; 8],
    trace_state: b"",
    parent_span_id: &[3; 8],
    flags: 1,
    name: b"good",
    kind: 2,
    start_time_unix_nano: 10,
    end_time_unix_nano: 20,
    dropped_attributes_count: 0,
    dropped_events_count: 0,
    dropped_links_count: 0,
};

/// A request whose only scope holds what `items` writes.
fn request(items: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.resource_group(|w| w.scope_group(items));
    writer.into_bytes()
}

fn check(signal: Signal, body: &[u8]) -> Inspected<'_> {
    inspect(signal, body, &Limits::default()).expect("is well-formed")
}

fn spans(body: &[u8]) -> Vec<SpanView<'_>> {
    let request = TracesView::parse(body).unwrap();
    let scopes = request.resources.iter().flat_map(|group| group.unwrap().scopes.iter());
    scopes.flat_map(|group| group.unwrap().items.iter()).map(Result::unwrap).collect()
}

fn refused(reason: RefusalReason) -> Vec<Refused> {
    vec![Refused { reason, count: 1 }]
}

fn repaired(reason: RepairReason, count: u64) -> Vec<Repaired> {
    vec![Repaired { reason, count }]
}

#[test]
fn a_request_without_fault_is_borrowed() {
    let body = request(|w| w.span(&GOOD, |w| w.status(0, "ünï".as_bytes())));
    let inspected = check(Signal::Traces, &body);
    assert!(matches!(inspected.body, Cow::Borrowed(same) if same == body));
    assert_eq!((inspected.items, inspected.refused_items()), (1, 0));
    assert_eq!(inspected.repaired, []);
    assert_eq!(check(Signal::Traces, &[]).items, 0);
}

#[test]
fn a_span_without_valid_ids_is_refused_alone() {
    for (bad, reason) in [
        (SpanFields { trace_id: &[0; 16], ..GOOD }, RefusalReason::TraceId),
        (SpanFields { trace_id: &[1; 15], ..GOOD }, RefusalReason::TraceId),
        (SpanFields { trace_id: &[], ..GOOD }, RefusalReason::TraceId),
        (SpanFields { span_id: &[0; 8], ..GOOD }, RefusalReason::SpanId),
        (SpanFields { span_id: &[1; 9], ..GOOD }, RefusalReason::SpanId),
        (SpanFields { span_id: &[], ..GOOD }, RefusalReason::SpanId),
    ] {
        let body = request(|w| {
            w.span(&bad, |w| w.span_attribute(b"\xff", &AnyValueView::Empty));
            w.span(&GOOD, |_| ());
        });
        let inspected = check(Signal::Traces, &body);
        assert_eq!(inspected.refused, refused(reason));
        assert_eq!(inspected.repaired, [], "a fault in what is refused is not counted");
        assert_eq!(inspected.items, 1);
        let expected = request(|w| w.span(&GOOD, |_| ()));
        assert_eq!(inspected.body, expected);
    }
}

#[test]
fn a_time_after_2199_refuses_its_record() {
    let late = MAX_TIME_UNIX_NANOS + 1;
    let event = EventFields { time_unix_nano: late, ..EventFields::default() };
    let bodies = [
        request(|w| w.span(&SpanFields { start_time_unix_nano: late, ..GOOD }, |_| ())),
        request(|w| w.span(&SpanFields { end_time_unix_nano: late, ..GOOD }, |_| ())),
        request(|w| w.span(&GOOD, |w| w.event(&event, |_| ()))),
    ];
    for body in bodies {
        let inspected = check(Signal::Traces, &body);
        assert_eq!((inspected.items, inspected.refused), (0, refused(RefusalReason::Time)));
        assert_eq!(inspected.body, request(|_| ()));
    }
    let last = SpanFields { end_time_unix_nano: MAX_TIME_UNIX_NANOS, ..GOOD };
    assert_eq!(check(Signal::Traces, &request(|w| w.span(&last, |_| ()))).items, 1);
}

#[test]
fn odd_but_valid_spans_are_kept_as_they_are() {
    let odd = SpanFields {
        start_time_unix_nano: 30,
        end_time_unix_nano: 0,
        kind: 99,
        parent_span_id: &[],
        ..GOOD
    };
    let body = request(|w| {
        w.span(&odd, |w| {
            for index in 0..100_000 {
                w.span_attribute(b"key", &AnyValueView::Int(index));
            }
        });
    });
    let inspected = check(Signal::Traces, &body);
    assert!(matches!(inspected.body, Cow::Borrowed(_)));
    assert_eq!(inspected.items, 1);
}

#[test]
fn an_invalid_parent_makes_a_root() {
    for parent_span_id in [&[0; 8][..], &[1; 7], &[1; 16]] {
        let body = request(|w| w.span(&SpanFields { parent_span_id, ..GOOD }, |_| ()));
        let inspected = check(Signal::Traces, &body);
        assert_eq!(inspected.repaired, repaired(RepairReason::ParentSpanId, 1));
        let spans = spans(&inspected.body);
        assert_eq!((spans[0].parent_span_id, spans[0].name), (&[][..], &b"good"[..]));
    }
}

#[test]
fn a_link_without_valid_ids_is_dropped_and_counted_in_its_span() {
    let good = LinkFields { trace_id: &[5; 16], span_id: &[6; 8], ..LinkFields::default() };
    let bad = LinkFields { span_id: &[0; 8], trace_state: b"\xff", ..good };
    let body = request(|w| {
        w.span(&SpanFields { dropped_links_count: 4, ..GOOD }, |w| {
            w.link(&bad, |_| ());
            w.link(&good, |_| ());
            w.link(&LinkFields { trace_id: b"short", ..good }, |_| ());
        });
    });
    let inspected = check(Signal::Traces, &body);
    assert_eq!(inspected.repaired, repaired(RepairReason::Link, 2));
    let spans = spans(&inspected.body);
    assert_eq!((spans[0].dropped_links_count, spans[0].links.count()), (6, 1));
    let link = spans[0].links.iter().next().unwrap().unwrap();
    assert_eq!(link.trace_id, [5; 16]);
}

#[test]
fn text_that_is_not_utf8_gets_replacement_characters_wherever_it_is() {
    let mut nested = Writer::new();
    nested.message(1, |w| w.any_value(&AnyValueView::String(b"deep\xc3")));
    let body = request(|w| {
        w.scope(b"scope\xff", b"", |w| w.scope_attribute(b"k\x80", &AnyValueView::Bool(true)));
        w.span(&SpanFields { name: b"a\xffb", ..GOOD }, |w| {
            w.span_attribute(b"list", &AnyValueView::Array(nested.as_slice()));
            w.span_attribute(b"bytes", &AnyValueView::Bytes(b"\xff are no text"));
            w.span_attribute(b"text", &AnyValueView::String(b"caf\xe9"));
            w.span_attribute(b"\xe9t\xe9", &AnyValueView::String(b"summer"));
            w.span_attribute(b"\xe9", &AnyValueView::Int(300));
            w.status(2, b"\xf0\x90");
        });
    });
    let inspected = check(Signal::Traces, &body);
    assert_eq!(inspected.repaired, repaired(RepairReason::Text, 8));
    let spans = spans(&inspected.body);
    assert_eq!(spans[0].name, "a\u{fffd}b".as_bytes());
    assert_eq!(spans[0].status.unwrap().message, "\u{fffd}".as_bytes());
    let values: Vec<_> = spans[0].attributes.iter().map(|kv| kv.unwrap().value).collect();
    let AnyValueView::Array(raw) = values[0] else { panic!("is still an array: {values:?}") };
    let first = crate::array_values(raw).next().unwrap().unwrap();
    assert_eq!(first, AnyValueView::String("deep\u{fffd}".as_bytes()));
    assert_eq!(values[1], AnyValueView::Bytes(b"\xff are no text"));
    assert_eq!(values[2], AnyValueView::String("caf\u{fffd}".as_bytes()));
}

#[test]
fn a_log_record_keeps_its_place_when_its_ids_are_emptied() {
    let mut record = Writer::new();
    record.bytes_field(log_record::TRACE_ID >> 3, &[7; 16]);
    record.bytes_field(log_record::TRACE_ID >> 3, &[0; 16]);
    record.bytes_field(log_record::SPAN_ID >> 3, b"short");
    record.log_body(&AnyValueView::String(b"hello"));
    let body = request(|w| w.item_raw(record.as_slice()));
    let inspected = check(Signal::Logs, &body);
    assert_eq!(inspected.repaired, repaired(RepairReason::ContextId, 2));
    assert_eq!((inspected.items, inspected.refused_items()), (1, 0));
    let request = LogsView::parse(&inspected.body).unwrap();
    let scope = request.resources.iter().next().unwrap().unwrap().scopes.iter().next();
    let log = scope.unwrap().unwrap().items.iter().next().unwrap().unwrap();
    assert_eq!((log.trace_id, log.span_id), (&[][..], &[][..]));
    assert_eq!(log.body, AnyValueView::String(b"hello"));
}

#[test]
fn a_data_point_with_too_many_buckets_is_refused_and_others_kept() {
    let body = request(|w| {
        w.message(2, |w| {
            w.message(metric::HISTOGRAM >> 3, |w| {
                for items in [MAX_POINT_ITEMS, MAX_POINT_ITEMS + 1, 2] {
                    w.message(histogram::DATA_POINTS >> 3, |w| {
                        let counts = vec![0; items * 8];
                        w.bytes_field(histogram_point::BUCKET_COUNTS >> 3, &counts);
                    });
                }
            });
        });
    });
    let inspected = check(Signal::Metrics, &body);
    assert_eq!((inspected.items, inspected.refused), (2, refused(RefusalReason::PointItems)));
}

#[test]
fn a_late_data_point_is_refused_and_its_metric_kept() {
    let body = request(|w| {
        w.message(2, |w| {
            w.bytes_field(metric::NAME >> 3, b"temperature");
            w.message(metric::GAUGE >> 3, |w| {
                for (time, value) in [(5, 1), (MAX_TIME_UNIX_NANOS + 1, 2), (6, 3)] {
                    w.message(gauge::DATA_POINTS >> 3, |w| {
                        w.fixed64_field(number_point::TIME >> 3, time);
                        w.fixed64_field(number_point::AS_INT >> 3, value);
                        w.message(number_point::EXEMPLARS >> 3, |w| {
                            w.bytes_field(exemplar::SPAN_ID >> 3, &[9; 8]);
                        });
                    });
                }
            });
        });
    });
    let windowed = Limits { min_point_time_unix_nanos: 6, ..Limits::default() };
    let inspected = inspect(Signal::Metrics, &body, &windowed).unwrap();
    assert_eq!(inspected.items, 1, "one is too late, and one too old");
    let inspected = check(Signal::Metrics, &body);
    assert_eq!((inspected.items, inspected.refused), (2, refused(RefusalReason::Time)));
    let request = MetricsView::parse(&inspected.body).unwrap();
    let scope = request.resources.iter().next().unwrap().unwrap().scopes.iter().next();
    let metric = scope.unwrap().unwrap().items.iter().next().unwrap().unwrap();
    assert_eq!(metric.name, b"temperature");
    let MetricData::Gauge(gauge) = metric.data else { panic!("is still a gauge: {metric:?}") };
    let values: Vec<_> = gauge.data_points.iter().map(|point| point.unwrap().value).collect();
    assert_eq!(values, [NumberValue::Int(1), NumberValue::Int(3)]);
}

#[test]
fn fields_nobody_knows_survive_a_rewrite() {
    let body = request(|w| {
        w.span(&SpanFields { parent_span_id: &[0; 8], ..GOOD }, |w| w.bytes_field(99, b"new"));
    });
    let inspected = check(Signal::Traces, &body);
    assert!(matches!(inspected.body, Cow::Owned(_)));
    assert!(inspected.body.windows(3).any(|window| window == b"new"));
}

fn error(body: &[u8]) -> WireErrorKind {
    inspect_traces(body, &Limits::default()).expect_err("must be refused").kind
}

#[test]
fn broken_framing_anywhere_refuses_the_request() {
    let whole = request(|w| w.span(&GOOD, |w| w.span_attribute(b"k", &AnyValueView::Int(1))));
    for length in 1..whole.len() {
        assert!(inspect_traces(&whole[..length], &Limits::default()).is_err(), "{length} bytes");
    }
    let truncated_inside = request(|w| w.span(&GOOD, |w| w.raw(&[0x0a, 50])));
    assert_eq!(error(&truncated_inside), WireErrorKind::Truncated);
    let wrong_type = request(|w| w.span(&GOOD, |w| w.bytes_field(span::KIND >> 3, b"")));
    assert_eq!(error(&wrong_type), WireErrorKind::FieldType(6));
}

#[test]
fn a_resource_or_status_that_occurs_twice_refuses_the_request() {
    let mut twice = Writer::new();
    twice.resource_group(|w| {
        w.resource_raw(&[]);
        w.resource_raw(&[]);
    });
    let field = resource_group::RESOURCE >> 3;
    assert_eq!(error(twice.as_slice()), WireErrorKind::Duplicate(field));
    let statuses = request(|w| {
        w.span(&GOOD, |w| {
            w.status(1, b"");
            w.status(2, b"");
        });
    });
    assert_eq!(error(&statuses), WireErrorKind::Duplicate(span::STATUS >> 3));
}

#[test]
fn values_may_be_nested_up_to_the_limit() {
    let nested = |levels: u32| {
        let mut value = Vec::new();
        for _ in 1..levels {
            let mut array = Writer::new();
            array.message(1, |w| w.raw(&value));
            let mut outer = Writer::new();
            outer.any_value(&AnyValueView::Array(array.as_slice()));
            value = outer.into_bytes();
        }
        request(|w| {
            w.span(&GOOD, |w| w.message(span::ATTRIBUTES >> 3, |w| w.bytes_field(2, &value)));
        })
    };
    assert_eq!(check(Signal::Traces, &nested(MAX_NESTING)).items, 1);
    assert_eq!(error(&nested(MAX_NESTING + 1)), WireErrorKind::TooDeep(MAX_NESTING));
    assert_eq!(error(&nested(10_000)), WireErrorKind::TooDeep(MAX_NESTING));
}
