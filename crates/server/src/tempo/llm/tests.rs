use kymo_wire::encode::{EventFields, LinkFields, SpanFields, Writer};
use serde_json::{Value, json};

use super::*;

const TRACE: [u8; 16] = [0xab; 16];
const START_NANOS: u64 = 1_767_323_045_000_000_001;

fn read(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

/// A trace of one service with these spans.
fn of_shop(spans: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut w = Writer::new();
    w.resource_group(|w| {
        w.resource(|w| {
            w.resource_attribute(b"service.name", &AnyValueView::String(b"shop"));
            w.resource_attribute(b"host.name", &AnyValueView::String(b"h\"1"));
        });
        w.scope_group(|w| {
            w.scope(b"lib", b"1.2", |_| ());
            spans(w);
        });
    });
    w.into_bytes()
}

fn first_span(trace_bytes: &[u8]) -> Value {
    read(&trace(trace_bytes, "").unwrap())["trace"]["services"][0]["scopes"][0]["spans"][0].clone()
}

/// Elements of an array or entries of a list, each written by `write`.
fn nested(count: usize, mut write: impl FnMut(&mut Writer, usize)) -> Vec<u8> {
    let mut w = Writer::new();
    for nth in 0..count {
        w.message(1, |w| write(w, nth));
    }
    w.into_bytes()
}

#[test]
fn a_trace_is_services_scopes_and_spans_with_plain_values() {
    let array = nested(2, |w, nth| w.varint_field(3, nth as u64));
    let object = nested(2, |w, nth| {
        w.bytes_field(1, format!("k{nth}").as_bytes());
        w.message(2, |w| w.bytes_field(5, &array));
    });
    let fields = SpanFields {
        trace_id: &TRACE,
        span_id: &[0, 1, 2, 3, 4, 5, 6, 7],
        parent_span_id: &[0, 0, 0, 0, 0, 0, 0, 9],
        name: b"GET /",
        kind: 2,
        start_time_unix_nano: START_NANOS,
        end_time_unix_nano: START_NANOS + 1_500_000,
        ..SpanFields::default()
    };
    let body = of_shop(|w| {
        w.span(&fields, |w| {
            w.span_attribute(b"text", &AnyValueView::String("é\n".as_bytes()));
            w.span_attribute(b"flag", &AnyValueView::Bool(true));
            w.span_attribute(b"int", &AnyValueView::Int(-9_007_199_254_740_993));
            w.span_attribute(b"double", &AnyValueView::Double(0.25));
            w.span_attribute(b"bytes", &AnyValueView::Bytes(&[0, 255]));
            w.span_attribute(b"list", &AnyValueView::Array(&array));
            w.span_attribute(b"object", &AnyValueView::KvList(&object));
            w.span_attribute(b"none", &AnyValueView::Empty);
            let event = EventFields { name: b"e", time_unix_nano: 7, ..EventFields::default() };
            w.event(&event, |w| w.event_attribute(b"a", &AnyValueView::Int(1)));
            let link = LinkFields { trace_id: &[1; 16], span_id: &[2; 8], ..LinkFields::default() };
            w.link(&link, |_| ());
            w.status(2, b"broke");
        });
    });
    let expected = json!({
        "trace": {
            "traceId": "ab".repeat(16),
            "services": [{
                "serviceName": "shop",
                "resource": {"host.name": "h\"1"},
                "scopes": [{"name": "lib", "version": "1.2", "spans": [{
                    "spanId": "0001020304050607",
                    "name": "GET /",
                    "parentSpanId": "0000000000000009",
                    "kind": "SPAN_KIND_SERVER",
                    "startTimeUnixNano": START_NANOS.to_string(),
                    "endTimeUnixNano": (START_NANOS + 1_500_000).to_string(),
                    "durationMs": 1.5,
                    "attributes": {
                        "text": "é\n", "flag": true, "int": -9_007_199_254_740_993_i64,
                        "double": 0.25, "bytes": "00ff", "list": [0, 1],
                        "object": {"k0": [0, 1], "k1": [0, 1]}, "none": null,
                    },
                    "events": [{"name": "e", "timeUnixNano": "7", "attributes": {"a": 1}}],
                    "links": [{"traceId": "01".repeat(16), "spanId": "02".repeat(8)}],
                    "status": {"code": "STATUS_CODE_ERROR", "message": "broke"},
                }]}],
            }],
        },
        "status": "COMPLETE",
    });
    assert_eq!(read(&trace(&body, "").unwrap()), expected);
}

#[test]
fn what_is_empty_is_left_out_but_for_id_name_and_status() {
    let mut w = Writer::new();
    w.resource_group(|w| w.scope_group(|w| w.span(&SpanFields::default(), |_| ())));
    let expected = json!({
        "trace": {"traceId": "", "services": [{"scopes": [{"spans": [{
            "spanId": "", "name": "", "status": {"code": "STATUS_CODE_UNSET", "message": ""},
        }]}]}]},
        "status": "PARTIAL",
        "message": "a \"part\"",
    });
    assert_eq!(read(&trace(&w.into_bytes(), "a \"part\"").unwrap()), expected);
    assert_eq!(trace(&[], "").unwrap(), b"{}");
}

#[test]
fn a_key_that_comes_twice_has_its_last_value() {
    let body = of_shop(|w| {
        w.span(&SpanFields::default(), |w| {
            w.span_attribute(b"a", &AnyValueView::Int(1));
            w.span_attribute(b"a", &AnyValueView::Int(2));
        });
    });
    let document = String::from_utf8(trace(&body, "").unwrap()).unwrap();
    assert!(document.contains("\"attributes\":{\"a\":2}"), "{document}");
}

#[test]
fn odd_values_are_still_json() {
    let fields = SpanFields {
        kind: 77,
        start_time_unix_nano: START_NANOS,
        end_time_unix_nano: START_NANOS - 5,
        ..SpanFields::default()
    };
    let body = of_shop(|w| {
        w.span(&fields, |w| {
            w.span_attribute(b"nan", &AnyValueView::Double(f64::NAN));
            w.status(9, b"");
        });
    });
    let span = first_span(&body);
    assert_eq!(span["kind"], "77");
    assert_eq!(span["status"]["code"], "9");
    assert_eq!(span["attributes"]["nan"], "NaN");
    assert!(span.get("durationMs").is_none(), "{span}");
}

#[test]
fn a_service_name_that_is_no_text_stays_with_the_resource() {
    let mut w = Writer::new();
    w.resource_group(|w| {
        w.resource(|w| w.resource_attribute(b"service.name", &AnyValueView::Int(5)));
        w.scope_group(|w| w.span(&SpanFields::default(), |_| ()));
    });
    let document = read(&trace(&w.into_bytes(), "").unwrap());
    let service = &document["trace"]["services"][0];
    assert_eq!(service["resource"], json!({"service.name": 5}));
    assert!(service.get("serviceName").is_none(), "{service}");
}

#[test]
fn damaged_bytes_are_an_error() {
    let mut body = of_shop(|w| w.span(&SpanFields { name: b"x", ..SpanFields::default() }, |_| ()));
    body.pop();
    assert!(trace(&body, "").is_err());
}

#[test]
fn values_of_a_tag_are_lists_by_type() {
    let values = [("string", "b"), ("int", "1"), ("string", "a\"")];
    let expected = json!({"tagValues": {"int": ["1"], "string": ["b", "a\""]}});
    assert_eq!(read(&tag_values(values.into_iter())), expected);
    assert_eq!(tag_values([].into_iter()), b"{\"tagValues\":{}}");
}
