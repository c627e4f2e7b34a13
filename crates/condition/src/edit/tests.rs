//! Requests written again.

use kymo_wire::encode::Writer;
use kymo_wire::{Signal, json};

use super::*;
use crate::Condition;

/// A request of two resources; the first has two scopes.
fn traces() -> Vec<u8> {
    let span = |name: &str| {
        format!(
            r#"{{"traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","name":"{name}"}}"#
        )
    };
    let [a, b, c, d] = ["a", "b", "c", "d"].map(span);
    let text = format!(
        r#"{{"resourceSpans":[
          {{"resource":{{"attributes":[{{"key":"r","value":{{"intValue":"1"}}}}]}},"schemaUrl":"one",
            "scopeSpans":[{{"scope":{{"name":"s"}},"spans":[{a},{b}],"schemaUrl":"two"}},{{"spans":[{c}]}}]}},
          {{"scopeSpans":[{{"spans":[{d}]}}]}}]}}"#
    );
    json::decode(Signal::Traces, text.as_bytes()).unwrap()
}

/// A request with points of all types.
fn metrics() -> Vec<u8> {
    let point = |n: u32| {
        format!(
            r#"{{"timeUnixNano":"{n}","attributes":[{{"key":"n","value":{{"intValue":"{n}"}}}}]}}"#
        )
    };
    let data = |kind: &str, first: u32| {
        let (one, two) = (point(first), point(first + 1));
        format!(r#"{{"name":"{kind}","unit":"u","{kind}":{{"dataPoints":[{one},{two}]}}}}"#)
    };
    let kinds = ["gauge", "sum", "histogram", "exponentialHistogram", "summary"];
    let all: Vec<String> =
        kinds.iter().zip([1, 3, 5, 7, 9]).map(|(kind, first)| data(kind, first)).collect();
    let text = format!(
        r#"{{"resourceMetrics":[{{"scopeMetrics":[{{"metrics":[{}]}}]}}]}}"#,
        all.join(",")
    );
    json::decode(Signal::Metrics, text.as_bytes()).unwrap()
}

fn shown(signal: Signal, body: &[u8]) -> String {
    let mut text = Vec::new();
    json::encode(signal, body, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn retained(signal: Signal, body: &[u8], condition: &str) -> Retained {
    let condition = Condition::parse(condition).unwrap();
    retain(signal, body, &mut |record| condition.matches(record)).unwrap()
}

#[test]
fn what_is_kept_whole_or_not_at_all_is_not_written() {
    let body = traces();
    assert_eq!(retained(Signal::Traces, &body, "true"), Retained::All);
    assert_eq!(retained(Signal::Traces, &body, "false"), Retained::None);
    assert_eq!(retained(Signal::Traces, &[], "false"), Retained::All);
}

#[test]
fn groups_that_have_no_record_left_vanish_and_the_rest_stays_as_it_was() {
    let body = traces();
    let Retained::Some(left) = retained(Signal::Traces, &body, r#"name = "b""#) else { panic!() };
    let text = shown(Signal::Traces, &left);
    let expected = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"r","value":{"intValue":"1"}}]},"scopeSpans":[{"scope":{"name":"s"},"spans":[{"traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","name":"b"}],"schemaUrl":"two"}],"schemaUrl":"one"}]}"#;
    assert_eq!(text, expected);
    let Retained::Some(left) = retained(Signal::Traces, &body, r#"name != "c""#) else { panic!() };
    let text = shown(Signal::Traces, &left);
    let names: Vec<_> = ["\"a\"", "\"b\"", "\"c\"", "\"d\""].map(|name| text.find(name)).into();
    assert!(names[0] < names[1] && names[1] < names[3] && names[2].is_none(), "{text}");
}

#[test]
fn keep_is_asked_once_for_each_record_in_their_order() {
    let mut asked = Vec::new();
    let kept = retain(Signal::Metrics, &metrics(), &mut |record| {
        asked.push(number(record));
        asked.len() % 2 == 0
    });
    assert_eq!(asked, (1..=10).map(Some).collect::<Vec<_>>());
    let Ok(Retained::Some(left)) = kept else { panic!() };
    let mut left_over = Vec::new();
    records(Signal::Metrics, &left, |record| left_over.push(number(record))).unwrap();
    assert_eq!(left_over, [2, 4, 6, 8, 10].map(Some));
}

fn number(record: &Record<'_>) -> Option<i64> {
    let mut found = None;
    record.each_attribute(
        |key| key == b"n",
        |_, _, value| {
            if let kymo_wire::AnyValueView::Int(number) = value {
                found = Some(number);
            }
        },
    );
    found
}

#[test]
fn metrics_without_points_left_vanish() {
    let left = retained(Signal::Metrics, &metrics(), r#"name = "summary" && .n = 9"#);
    let Retained::Some(left) = left else { panic!() };
    assert_eq!(
        shown(Signal::Metrics, &left),
        r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"summary","unit":"u","summary":{"dataPoints":[{"timeUnixNano":"9","attributes":[{"key":"n","value":{"intValue":"9"}}]}]}}]}]}]}"#
    );
}

/// Fields that nobody knows, on every level that is written again.
#[test]
fn fields_that_are_not_known_survive() {
    let unknown = |writer: &mut Writer, mark: u64| writer.varint_field(200, mark);
    let span = |name: &[u8]| {
        let mut writer = Writer::new();
        writer.bytes_field(5, name);
        unknown(&mut writer, 1);
        writer.into_bytes()
    };
    let mut writer = Writer::new();
    writer.message(1, |writer| {
        unknown(writer, 2);
        writer.message(2, |writer| {
            unknown(writer, 3);
            writer.bytes_field(2, &span(b"a"));
            writer.bytes_field(2, &span(b"b"));
        });
    });
    unknown(&mut writer, 4);
    let body = writer.into_bytes();
    let Retained::Some(left) = retained(Signal::Traces, &body, r#"name = "a""#) else { panic!() };
    let mut expected = Writer::new();
    expected.message(1, |writer| {
        unknown(writer, 2);
        writer.message(2, |writer| {
            unknown(writer, 3);
            writer.bytes_field(2, &span(b"a"));
        });
    });
    unknown(&mut expected, 4);
    assert_eq!(left, expected.into_bytes());
}

#[test]
fn of_data_that_a_metric_has_twice_the_last_is_kept() {
    let data = |number: u64| {
        let mut writer = Writer::new();
        for n in [number, number + 1] {
            writer.message(1, |point| {
                point.fixed64_field(3, n);
                point.message(7, |attribute| {
                    attribute.bytes_field(1, b"n");
                    attribute.bytes_field(2, &value::integer(n as i64));
                });
            });
        }
        writer.into_bytes()
    };
    let mut writer = Writer::new();
    writer.message(1, |w| {
        w.message(2, |w| {
            w.message(2, |w| {
                w.bytes_field(1, b"m");
                w.bytes_field(5, &data(1));
                w.bytes_field(7, &data(3));
                w.bytes_field(5, &data(5));
            });
        });
    });
    let body = writer.into_bytes();
    let Retained::Some(left) = retained(Signal::Metrics, &body, ".n = 6") else { panic!() };
    assert_eq!(
        shown(Signal::Metrics, &left),
        r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[{"timeUnixNano":"6","attributes":[{"key":"n","value":{"intValue":"6"}}]}]}}]}]}]}"#
    );
}

#[test]
fn bytes_that_are_no_request_are_an_error() {
    let keep = &mut |_: &Record<'_>| false;
    assert!(retain(Signal::Traces, &[0x0a, 0x05, 0x12], keep).is_err());
    let body = traces();
    for cut in 1..body.len() {
        // It must not panic; what is cut between two groups is a request.
        let _ = retain(Signal::Traces, &body[..cut], keep);
    }
}

/// Puts spans under another version of their resource, by name.
struct Sorts(Vec<u8>);

impl<'a> Editor<'a, WireError> for Sorts {
    fn begin_resource(&mut self, _resource: Option<&ResourceView<'a>>) {}

    fn begin_scope(&mut self, _scope: Option<&ScopeView<'a>>) {}

    fn record(&mut self, record: &Record<'a>) -> Result<Fate, WireError> {
        let is_meant = matches!(record.raw().last(), Some(b'b' | b'd'));
        let changed = Fate::Changed { resource: 1, scope: 0, record: None };
        Ok(if is_meant { changed } else { Fate::Same })
    }

    fn version(&self, _number: u32) -> &[u8] {
        &self.0
    }
}

#[test]
fn records_under_another_resource_get_a_group_of_their_own() {
    let mut resource = Writer::new();
    resource.message(1, |writer| {
        writer.bytes_field(1, b"new");
        writer.bytes_field(2, &value::boolean(true));
    });
    let edited = edit(Signal::Traces, &traces(), &mut Sorts(resource.into_bytes())).unwrap();
    assert_eq!((edited.items, edited.gone), (4, 0));
    let text = shown(Signal::Traces, &edited.body.unwrap());
    let ids = r#""traceId":"0123456789abcdef0123456789abcdef","spanId":"0123456789abcdef","#;
    let text = text.replace(ids, "");
    let old = r#""resource":{"attributes":[{"key":"r","value":{"intValue":"1"}}]}"#;
    let new = r#""resource":{"attributes":[{"key":"new","value":{"boolValue":true}}]}"#;
    let scope = |name| {
        format!(r#"{{"scope":{{"name":"s"}},"spans":[{{"name":"{name}"}}],"schemaUrl":"two"}}"#)
    };
    let (a, b) = (scope("a"), scope("b"));
    assert_eq!(
        text,
        format!(
            r#"{{"resourceSpans":[{{{old},"scopeSpans":[{a},{{"spans":[{{"name":"c"}}]}}],"schemaUrl":"one"}},{{{new},"scopeSpans":[{b}],"schemaUrl":"one"}},{{{new},"scopeSpans":[{{"spans":[{{"name":"d"}}]}}]}}]}}"#
        )
    );
}

#[test]
fn text_is_changed_wherever_it_is() {
    let text = |raw: &[u8]| {
        value::change_text(raw, &mut |text| text.contains('1').then(|| text.replace('1', "*")))
            .unwrap()
    };
    assert_eq!(text(&value::text("a1")), Some(value::text("a*")));
    assert_eq!(text(&value::text("a")), None);
    assert_eq!(text(&value::integer(1)), None);
    assert_eq!(text(&value::texts(["x", "1"])), Some(value::texts(["x", "*"])));
    assert_eq!(text(&value::texts(["x", "y"])), None);
    // A map in a list.
    let nested = |inner: &str| {
        let mut writer = Writer::new();
        writer.message(5, |w| {
            w.message(1, |w| {
                w.message(6, |w| {
                    w.message(1, |w| {
                        w.bytes_field(1, b"k1");
                        w.bytes_field(2, &value::text(inner));
                    });
                });
            });
        });
        writer.into_bytes()
    };
    assert_eq!(text(&nested("v1")), Some(nested("v*")));
}

#[test]
fn attributes_are_changed_in_their_place_and_all_that_have_the_key() {
    let mut message = Writer::new();
    for (key, number) in [("a", 1), ("b", 2), ("a", 3)] {
        message.message(9, |w| {
            w.bytes_field(1, key.as_bytes());
            w.bytes_field(2, &value::integer(number));
        });
        message.varint_field(10, 7);
    }
    let message = message.into_bytes();
    let change = |change: &dyn Fn(&mut Attributes<'_>)| {
        let changed = change_attributes(&message, 9, |attributes| {
            change(attributes);
            Ok(())
        });
        changed.unwrap().map(|changed| {
            let attributes = Attributes::read(&changed, 9).unwrap();
            let show = |(key, value)| format!("{}={value:?}", String::from_utf8_lossy(key));
            attributes.iter().map(show).collect::<Vec<_>>().join(" ")
        })
    };
    assert_eq!(change(&|_| ()), None);
    assert_eq!(change(&|a| a.remove(|key| key == b"c")), None);
    assert_eq!(change(&|a| a.remove(|key| key == b"a")).as_deref(), Some("b=Int(2)"));
    assert_eq!(
        change(&|a| a.rename(b"a", b"b").unwrap()).as_deref(),
        Some("b=Int(1) b=Int(3)"),
        "what had the name gives way"
    );
    assert_eq!(change(&|a| a.rename(b"c", b"b").unwrap()), None);
    assert_eq!(
        change(&|a| a.push(b"c", &value::text("x"))).as_deref(),
        Some("a=Int(1) b=Int(2) a=Int(3) c=String([120])")
    );
    let five = |_: &[u8]| Ok(Some(value::integer(5)));
    assert_eq!(
        change(&|a| a.replace(|key| key == b"a", five).unwrap()).as_deref(),
        Some("a=Int(5) b=Int(2) a=Int(5)")
    );
    let same = |raw: &[u8]| Ok(Some(raw.to_vec()));
    assert_eq!(change(&|a| a.replace(|_| true, same).unwrap()), None);
}
