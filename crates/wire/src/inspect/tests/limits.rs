//! Too many attributes, and values that are too long.

use super::*;
use crate::encode::Writer;
use crate::tags::{any_value, list, status};
use crate::{ResourceView, kvlist_entries};

fn limits(max_attributes: usize, max_value_bytes: usize) -> Limits {
    Limits { max_attributes, max_value_bytes, ..Limits::default() }
}

fn limited(body: &[u8], limits: Limits) -> Inspected<'_> {
    inspect(Signal::Traces, body, &limits).expect("is well-formed")
}

fn keys<'a>(
    attributes: impl IntoIterator<Item = Result<crate::KeyValueView<'a>, WireError>>,
) -> Vec<&'a [u8]> {
    attributes.into_iter().map(|attribute| attribute.unwrap().key).collect()
}

/// An `AnyValue` that holds a list of text.
fn text_list(texts: &[&[u8]]) -> Vec<u8> {
    let mut values = Writer::new();
    for text in texts {
        values.message(list::VALUES >> 3, |w| w.any_value(&AnyValueView::String(text)));
    }
    values.into_bytes()
}

#[test]
fn surplus_attributes_are_dropped_from_the_end_and_counted_where_they_were() {
    let fields = SpanFields { dropped_attributes_count: 7, ..GOOD };
    let link = LinkFields { trace_id: &[5; 16], span_id: &[6; 8], ..LinkFields::default() };
    let body = request(|w| {
        w.scope(b"scope", b"", |w| {
            for key in [b"s1", b"s2", b"s3"] {
                w.scope_attribute(key, &AnyValueView::Bool(true));
            }
        });
        w.span(&fields, |w| {
            w.span_attribute(b"a", &AnyValueView::Int(1));
            w.event(&EventFields::default(), |w| {
                for key in [b"e1", b"e2", b"e3", b"e4"] {
                    w.event_attribute(key, &AnyValueView::Int(1));
                }
            });
            w.link(&link, |w| w.link_attribute(b"l1", &AnyValueView::Int(1)));
            w.span_attribute(b"b", &AnyValueView::Int(2));
            // What is wrong in an attribute that goes is not counted.
            w.span_attribute(b"c\xff", &AnyValueView::String(b"much too long"));
        });
    });
    let inspected = limited(&body, limits(2, 5));
    assert_eq!(inspected.repaired, repaired(RepairReason::Attribute, 4));
    assert_eq!((inspected.items, inspected.refused_items()), (1, 0));
    let span = spans(&inspected.body)[0];
    assert_eq!((keys(span.attributes), span.dropped_attributes_count), (vec![&b"a"[..], b"b"], 8));
    let event = span.events.iter().next().unwrap().unwrap();
    assert_eq!((keys(event.attributes).len(), event.dropped_attributes_count), (2, 2));
    let link = span.links.iter().next().unwrap().unwrap();
    assert_eq!((keys(link.attributes).len(), link.dropped_attributes_count), (1, 0));
    let request = TracesView::parse(&inspected.body).unwrap();
    let group = request.resources.iter().next().unwrap().unwrap();
    let scope = group.scopes.iter().next().unwrap().unwrap().scope.unwrap();
    assert_eq!((keys(scope.attributes).len(), scope.dropped_attributes_count), (2, 1));
    let within = limited(&body, limits(4, 50));
    assert_eq!(within.repaired, repaired(RepairReason::Text, 1), "as many as allowed are kept");
}

#[test]
fn attributes_of_a_resource_are_limited_too_and_entries_of_a_list_are_not() {
    let mut entries = Writer::new();
    for _ in 0..5 {
        entries.message(list::VALUES >> 3, |w| w.bytes_field(1, b"entry"));
    }
    let mut resource = Writer::new();
    for _ in 0..3 {
        resource.resource_attribute(b"r", &AnyValueView::KvList(entries.as_slice()));
    }
    let mut body = Writer::new();
    body.resource_group(|w| w.resource_raw(resource.as_slice()));
    let inspected = limited(body.as_slice(), limits(1, 50));
    assert_eq!(inspected.repaired, repaired(RepairReason::Attribute, 2));
    let request = TracesView::parse(&inspected.body).unwrap();
    let resource: ResourceView<'_> =
        request.resources.iter().next().unwrap().unwrap().resource.unwrap();
    assert_eq!(resource.dropped_attributes_count, 2);
    let value = resource.attributes.iter().next().unwrap().unwrap().value;
    let AnyValueView::KvList(raw) = value else { panic!("is still a list: {value:?}") };
    assert_eq!(kvlist_entries(raw).count(), 5);
}

#[test]
fn long_values_are_cut_between_characters_wherever_they_are() {
    let body = request(|w| {
        w.span(&SpanFields { name: b"a name is not cut", ..GOOD }, |w| {
            w.span_attribute(b"a key is not cut", &AnyValueView::String("añ€𝄞 more".as_bytes()));
            w.span_attribute(b"bytes", &AnyValueView::Bytes(b"\xff\xfe\xfd\xfc\xfb\xfa\xf9"));
            w.span_attribute(b"list", &AnyValueView::Array(&text_list(&[b"short", b"longer"])));
            w.span_attribute(b"fits", &AnyValueView::String(b"12345"));
            w.event(&EventFields::default(), |w| {
                w.event_attribute(b"e", &AnyValueView::String(b"stack trace"));
            });
            w.status(2, b"something failed");
        });
    });
    let inspected = limited(&body, limits(9, 5));
    assert_eq!(inspected.repaired, repaired(RepairReason::Value, 5));
    let span = spans(&inspected.body)[0];
    assert_eq!(span.name, b"a name is not cut");
    let attributes: Vec<_> = span.attributes.iter().map(Result::unwrap).collect();
    assert_eq!(attributes[0].key, b"a key is not cut");
    assert_eq!(attributes[0].value, AnyValueView::String("añ".as_bytes()), "€ ends at 6 bytes");
    assert_eq!(attributes[1].value, AnyValueView::Bytes(b"\xff\xfe\xfd\xfc\xfb"));
    assert_eq!(attributes[2].value, AnyValueView::Array(&text_list(&[b"short", b"longe"])));
    assert_eq!(attributes[3].value, AnyValueView::String(b"12345"));
    let event = span.events.iter().next().unwrap().unwrap();
    let value = event.attributes.iter().next().unwrap().unwrap().value;
    assert_eq!(value, AnyValueView::String(b"stack"));
    assert_eq!(span.status.unwrap().message, b"somet");
}

#[test]
fn the_limit_holds_for_values_that_are_short_and_usual() {
    let of = |bytes: usize| {
        let text = "x".repeat(bytes);
        request(|w| {
            w.span(&GOOD, |w| w.span_attribute(b"k", &AnyValueView::String(text.as_bytes())))
        })
    };
    for max_value_bytes in [0, 1, 100, 123, 124, 126, 127, 128, 129, 1000] {
        let limits = limits(9, max_value_bytes);
        let (fits, surplus) = (of(max_value_bytes), of(max_value_bytes + 1));
        assert_eq!(limited(&fits, limits).repaired, [], "{max_value_bytes} bytes");
        let inspected = limited(&surplus, limits);
        assert_eq!(inspected.repaired, repaired(RepairReason::Value, 1));
        assert_eq!(inspected.body, fits);
    }
}

#[test]
fn text_that_grows_by_its_repair_is_cut_in_the_same_go() {
    let body = request(|w| {
        w.span(&GOOD, |w| w.span_attribute(b"k", &AnyValueView::String(b"ab\xff\xff")));
    });
    let inspected = limited(&body, limits(9, 6));
    let both = [
        Repaired { reason: RepairReason::Text, count: 1 },
        Repaired { reason: RepairReason::Value, count: 1 },
    ];
    assert_eq!(inspected.repaired, both);
    let value = spans(&inspected.body)[0].attributes.iter().next().unwrap().unwrap().value;
    assert_eq!(value, AnyValueView::String("ab\u{fffd}".as_bytes()));
    assert_eq!(limited(&inspected.body, limits(9, 6)).repaired, []);
}

#[test]
fn the_body_of_a_log_record_is_cut() {
    let mut record = Writer::new();
    record.log_body(&AnyValueView::String(b"Traceback (most recent call last)"));
    let body = request(|w| w.item_raw(record.as_slice()));
    let inspected = inspect(Signal::Logs, &body, &limits(9, 9)).expect("is well-formed");
    assert_eq!(inspected.repaired, repaired(RepairReason::Value, 1));
    let mut expected = Writer::new();
    expected.log_body(&AnyValueView::String(b"Traceback"));
    assert_eq!(inspected.body, request(|w| w.item_raw(expected.as_slice())));
}

#[test]
fn a_data_point_with_too_many_attributes_is_refused() {
    let body = request(|w| {
        w.message(2, |w| {
            w.message(metric::GAUGE >> 3, |w| {
                for attributes in [2, 3, 1] {
                    w.message(gauge::DATA_POINTS >> 3, |w| {
                        for _ in 0..attributes {
                            w.message(number_point::ATTRIBUTES >> 3, |w| w.bytes_field(1, b"key"));
                        }
                    });
                }
            });
        });
    });
    let inspected = inspect(Signal::Metrics, &body, &limits(2, 9)).expect("is well-formed");
    assert_eq!(inspected.refused, refused(RefusalReason::PointAttributes));
    assert_eq!((inspected.items, inspected.repaired), (2, vec![]));
}

#[test]
fn an_overruled_value_is_cut_like_the_one_that_counts() {
    let body = request(|w| {
        w.span(&GOOD, |w| {
            w.message(span::STATUS >> 3, |w| {
                w.bytes_field(status::MESSAGE >> 3, b"overruled");
                w.bytes_field(status::MESSAGE >> 3, b"counts");
            });
            w.message(span::ATTRIBUTES >> 3, |w| {
                w.message(2, |w| {
                    w.bytes_field(any_value::STRING >> 3, b"overruled");
                    w.bytes_field(any_value::BYTES >> 3, b"counts");
                });
            });
        });
    });
    let inspected = limited(&body, limits(9, 3));
    assert_eq!(inspected.repaired, repaired(RepairReason::Value, 4));
    assert_eq!(limited(&inspected.body, limits(9, 3)).repaired, []);
    assert_eq!(spans(&inspected.body)[0].status.unwrap().message, b"cou");
}
