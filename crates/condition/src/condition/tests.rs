//! What conditions say of records.

use kymo_wire::{Signal, json};

use super::*;
use crate::edit::records;

const TRACES: &str = r#"{"resourceSpans":[{
  "resource":{"attributes":[
    {"key":"service.name","value":{"stringValue":"etl-1"}},
    {"key":"both","value":{"stringValue":"of resource"}}]},
  "scopeSpans":[{
    "scope":{"name":"lib","version":"2","attributes":[{"key":"kind","value":{"intValue":"3"}}]},
    "spans":[{
      "traceId":"00000000000000000123456789abcdef","spanId":"00000000000000aa",
      "name":"GET /read","kind":2,"startTimeUnixNano":"1000","endTimeUnixNano":"3000",
      "status":{"code":2,"message":"broken"},
      "attributes":[
        {"key":"http.status_code","value":{"intValue":"200"}},
        {"key":"both","value":{"stringValue":"of span"}},
        {"key":"ratio","value":{"doubleValue":0.5}},
        {"key":"done","value":{"boolValue":true}},
        {"key":"tags","value":{"arrayValue":{"values":[{"stringValue":"a"},{"intValue":"7"}]}}},
        {"key":"map","value":{"kvlistValue":{"values":[]}}},
        {"key":"twice","value":{"intValue":"1"}},{"key":"twice","value":{"intValue":"2"}},
        {"key":"nothing","value":{}}],
      "events":[
        {"name":"retry","timeUnixNano":"1500","attributes":[{"key":"n","value":{"intValue":"1"}}]},
        {"name":"exception","timeUnixNano":"2500","attributes":[{"key":"n","value":{"intValue":"2"}}]}],
      "links":[{"traceId":"0000000000000000000000000000000b","spanId":"00000000000000bb",
        "attributes":[{"key":"why","value":{"stringValue":"batch"}}]}]}]}]}]}"#;

const LOGS: &str = r#"{"resourceLogs":[{
  "resource":{"attributes":[{"key":"host","value":{"stringValue":"h"}}]},
  "scopeLogs":[{"logRecords":[{"timeUnixNano":"1","eventName":"login",
    "body":{"stringValue":"hello"},"traceId":"0000000000000000000000000000000b",
    "attributes":[{"key":"user","value":{"stringValue":"ada"}}]}]}]}]}"#;

const METRICS: &str = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"up",
  "gauge":{"dataPoints":[{"timeUnixNano":"1","asInt":"1",
    "attributes":[{"key":"code","value":{"intValue":"5"}}]}]}}]}]}]}"#;

/// Whether a condition holds for the one record of a request.
fn holds(signal: Signal, request: &str, condition: &str) -> bool {
    let body = json::decode(signal, request.as_bytes()).unwrap();
    let condition = Condition::parse(condition).unwrap();
    let mut answers = Vec::new();
    records(signal, &body, |record| answers.push(condition.matches(record))).unwrap();
    assert_eq!(answers.len(), 1);
    answers[0]
}

#[test]
fn a_condition_on_a_span_means_what_it_means_in_a_query() {
    for condition in [
        "",
        "{ }",
        "true",
        "span.http.status_code = 200",
        "{ span.http.status_code >= 200 && span.http.status_code < 300 }",
        "resource.service.name =~ \"etl-.*\"",
        ".service.name = \"etl-1\"",
        ".both = \"of span\" && resource.both = \"of resource\"",
        "instrumentation.kind = 3 && .kind = 3",
        "instrumentation:name = \"lib\" && instrumentation:version = \"2\"",
        "name = \"GET /read\" && kind = server && status = error",
        "statusMessage = \"broken\"",
        "duration = 2us",
        "trace:id = \"0123456789ABCDEF\" && span:id = \"00000000000000aa\"",
        "span.ratio < 1 && span.done",
        "span.tags = \"a\" && span.tags = 7",
        "span.map != nil && !(span.map = \"x\")",
        "span.twice = 1 && !(span.twice = 2)",
        "span.nothing = nil && span.absent = nil",
        "event:name = \"exception\" && event.n = 2",
        "event:timeSinceStart > 1us",
        "link:spanID = \"00000000000000bb\" && link.why = \"batch\"",
        "link:traceID = \"b\"",
        ".n = 1 && .n = 2",
        ".why = \"batch\"",
        "nestedSetParent < 0",
        "span:parentID = \"\" && !(span:parentID != \"\")",
        "span:parentID =~ \".*\"",
    ] {
        assert!(holds(Signal::Traces, TRACES, condition), "{condition}");
    }
    for condition in [
        "span.http.status_code = \"200\"",
        "span.http.status_code != 200",
        "span.absent != 1",
        "resource.service.name =~ \"etl\"",
        "event:name = \"exception\" && event.n = 1",
        "span.service.name = \"etl-1\"",
        "duration > 2us",
        "kind = client",
    ] {
        assert!(!holds(Signal::Traces, TRACES, condition), "{condition}");
    }
}

#[test]
fn every_intrinsic_of_a_span_is_there_or_empty_as_in_a_query() {
    // What a span says of itself if it says next to nothing.
    let bare = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{
        "traceId":"0000000000000000000000000000000c","spanId":"00000000000000cc",
        "parentSpanId":"00000000000000dd"}]}]}]}"#;
    for condition in [
        "name = \"\" && statusMessage = \"\" && duration = 0s",
        "kind = unspecified && status = unset && kind != server && status != error",
        "span:parentID = \"00000000000000DD\" && span:parentID != \"\"",
        "!(nestedSetParent < 0)",
        "!(instrumentation:name =~ \".*\") && !(instrumentation:version =~ \".*\")",
        "!(event:name = \"x\") && !(link:spanID = \"x\")",
    ] {
        assert!(holds(Signal::Traces, bare, condition), "{condition}");
    }
    let odd = bare.replace("\"traceId\"", "\"kind\":77,\"status\":{\"code\":7},\"traceId\"");
    for condition in
        ["!(kind = server)", "!(kind != server)", "!(status = error || status != error)"]
    {
        assert!(holds(Signal::Traces, &odd, condition), "{condition}");
    }
}

#[test]
fn log_records_and_data_points_have_a_name_and_attributes() {
    for condition in [
        "name = \"login\" && .user = \"ada\"",
        "resource.host = \"h\" && .host = \"h\"",
        "trace:id = \"b\"",
        "span.user = nil",
    ] {
        assert!(holds(Signal::Logs, LOGS, condition), "{condition}");
    }
    let of_no_trace = LOGS.replace("0000000000000000000000000000000b", &"0".repeat(32));
    assert!(holds(Signal::Logs, &of_no_trace, "!(trace:id =~ \".*\" || span:id =~ \".*\")"));
    assert!(holds(Signal::Metrics, METRICS, "name = \"up\" && .code = 5"));
    assert!(!holds(Signal::Metrics, METRICS, "span.code = 5"));
    assert!(!holds(Signal::Metrics, METRICS, "status = unset"));
}

#[test]
fn labels_of_a_series_are_its_attributes() {
    let labels: [(&[u8], &[u8]); 3] = [(b"__name__", b"up"), (b"job", b"shop"), (b"none", b"")];
    let record = Record::series(&labels);
    for condition in ["name = \"up\" && .job =~ \"s.*\"", ".none = nil", "resource.job = nil"] {
        assert!(Condition::parse(condition).unwrap().matches(&record), "{condition}");
    }
    assert!(!Condition::parse(".__name__ = \"up\"").unwrap().matches(&record));
}

#[test]
fn what_a_record_alone_cannot_tell_is_refused_with_its_place() {
    for (condition, message) in [
        (
            "rootName = \"a\"",
            "column 1: rootName cannot be known of one record alone: it needs the whole trace",
        ),
        (
            ".a = 1 && trace:duration > 1s",
            "column 11: traceDuration cannot be known of one record alone: it needs the whole trace",
        ),
        (
            ".a = 1 && parent.b = 2",
            "column 11: parent.b cannot be known of one record alone: it needs the span's parent",
        ),
        (
            "span.rootName = \"rootName\" && rootName = \"a\"",
            "column 31: rootName cannot be known of one record alone: it needs the whole trace",
        ),
        (
            "nestedSetLeft > 3",
            "column 1: nestedSetLeft cannot be known of one record alone: it needs the whole trace",
        ),
        (
            "nestedSetParent = 3",
            "column 1: nestedSetParent cannot be known of one record alone: it needs the whole trace",
        ),
        (
            "span:childCount = 1",
            "column 1: span:childCount cannot be known of one record alone: it needs the whole trace",
        ),
    ] {
        assert_eq!(Condition::parse(condition).unwrap_err().to_string(), message);
    }
    for condition in [
        "{ .a = 1 } && { .b = 2 }",
        "{ .a = 1 } >> { .b = 2 }",
        "{ .a = 1 } | count() > 1",
        ".a = 1 } | count() > 1 && { true",
        "{ true } | rate()",
        "{ true } with (a = 1)",
    ] {
        assert!(Condition::parse(condition).is_err(), "{condition}");
    }
}

#[test]
fn an_error_counts_columns_from_the_begin_of_what_was_written() {
    for (condition, message) in [
        (".a =", "column 5: unexpected end of the condition, expected a value"),
        ("{ .a = }", "column 8: unexpected \"}\", expected a value"),
        (".a = 1 &&\n & 2", "line 2, column 2: "),
        ("span.a =~ \"(\"", "column 11: the regular expression \"(\" is not valid"),
        ("foo = 1", "column 1: unexpected \"foo\""),
    ] {
        let error = Condition::parse(condition).unwrap_err().to_string();
        assert!(error.starts_with(message), "{condition:?}: {error}");
    }
    let long = format!(".a = \"{}\"", "x".repeat(20_000));
    let error = Condition::parse(&long).unwrap_err().to_string();
    assert_eq!(error, "the condition is longer than 16384 bytes");
}

#[test]
fn whether_the_resource_decides_alone_is_known() {
    for (condition, expected) in [
        ("resource.a = 1 && resource.b != nil", true),
        ("true", true),
        ("resource.a = 1 || .b = 1", false),
        ("name = \"a\"", false),
        (".a = 1", false),
    ] {
        assert_eq!(
            Condition::parse(condition).unwrap().is_resource_only(),
            expected,
            "{condition}"
        );
    }
    let body = json::decode(Signal::Traces, TRACES.as_bytes()).unwrap();
    let condition = Condition::parse("resource.service.name = \"etl-1\"").unwrap();
    records(Signal::Traces, &body, |record| {
        assert!(condition.matches_resource(record.resource()));
        assert!(!condition.matches_resource(None));
    })
    .unwrap();
}

#[test]
fn a_condition_may_be_shared_and_is_shown_in_one_spelling() {
    fn is_shared<T: Send + Sync + Clone>(_: &T) {}
    let condition: Condition = "{span:name=\"a\"}".parse().unwrap();
    is_shared(&condition);
    assert_eq!(condition.to_string(), "name = \"a\"");
    assert_eq!(condition, Condition::parse("name = \"a\"").unwrap());
}

#[test]
fn many_keys_are_found_as_few_are() {
    let all: Vec<String> = (0..40).map(|n| format!("span.absent{n} = 1")).collect();
    let condition = format!("{} || span.http.status_code = 200", all.join(" || "));
    assert!(holds(Signal::Traces, TRACES, &condition));
    assert!(!holds(Signal::Traces, TRACES, &all.join(" || ")));
}
