//! Of an excluded user nothing is handed on: not a byte of the name, in any signal or encoding.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

use bytes::Bytes;
use kymo_admit::audience::{Audience, AudienceSettings, Author, FlagBook, api};
use kymo_admit::{Admission, Admitted, Compression, Format, Signal, Version};
use serde_json::{Value, json};

const EXCLUDED: &str = "excluded-bob";

fn audience(flag: &Value) -> Audience {
    let mut book = FlagBook::default();
    let author = Author { by: "root", at_millis: 1 };
    let flag = flag.to_string();
    let made = api::create(&mut book, flag.as_bytes(), &AudienceSettings::default(), &author);
    assert_eq!(made.status, 201, "{}", String::from_utf8_lossy(&made.body));
    Audience::new(book)
}

fn only_ada() -> Audience {
    audience(&json!({"key": "flag_ot_traces", "mode": "selected", "users": ["ada"]}))
}

fn admit(audience: &Audience, signal: Signal, request: &Value) -> Admitted {
    let admission = Admission::default().with_audience(audience.clone());
    let body = Bytes::from(request.to_string());
    admission.admit("default", signal, Format::Json, Compression::None, body).unwrap()
}

fn names(admitted: &Admitted, text: &str) -> bool {
    assert_eq!(admitted.compression, Compression::None);
    admitted.body.windows(text.len()).any(|bytes| bytes == text.as_bytes())
}

fn dropped(admitted: &Admitted) -> Vec<(String, u64)> {
    admitted.dropped.iter().map(|dropped| (dropped.rule.to_string(), dropped.count)).collect()
}

fn user(name: &str) -> Value {
    json!([{"key": "user.id", "value": {"stringValue": name}}])
}

fn span(trace: u8, name: &str, attributes: &Value) -> Value {
    let times = json!({"startTimeUnixNano": "1767323045000000000", "endTimeUnixNano": "1767323046000000000"});
    json!({
        "traceId": format!("{trace:032x}"), "spanId": "00f067aa0ba902b7", "name": name,
        "attributes": attributes,
        "startTimeUnixNano": times["startTimeUnixNano"], "endTimeUnixNano": times["endTimeUnixNano"]
    })
}

fn spans(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
}

#[test]
fn spans_of_an_excluded_user_are_gone_and_the_sender_is_not_told() {
    let audience = only_ada();
    let none = json!([]);
    let request = spans(&[
        span(1, "ada-1", &none),
        span(2, "bob-1", &none),
        span(1, "ada-2", &user("ada")),
        span(2, "bob-2", &user(EXCLUDED)),
    ]);
    let admitted = admit(&audience, Signal::Traces, &request);
    assert_eq!((admitted.items, admitted.partial_success()), (2, None));
    assert_eq!(dropped(&admitted), [("audience".to_owned(), 2)]);
    assert!(names(&admitted, "ada-1") && names(&admitted, "ada-2"));
    assert!(!names(&admitted, EXCLUDED) && !names(&admitted, "bob-1"));

    let later = admit(&audience, Signal::Traces, &spans(&[span(2, "bob-3", &none)]));
    assert!(later.is_empty());
    assert!(later.body.is_empty());
}

#[test]
fn resources_and_scopes_that_name_an_excluded_user_go_with_their_records() {
    let resource = json!({"attributes": user(EXCLUDED)});
    let request = json!({"resourceSpans": [
        {"resource": resource, "scopeSpans": [{"spans": [span(1, "one", &json!([]))]}]},
        {"scopeSpans": [
            {"scope": {"name": "lib", "attributes": user(EXCLUDED)}, "spans": [span(2, "two", &json!([]))]},
            {"spans": [span(3, "three", &user("ada"))]}
        ]},
        {"resource": resource, "scopeSpans": []}
    ]});
    let admitted = admit(&only_ada(), Signal::Traces, &request);
    assert_eq!(admitted.items, 1);
    assert!(names(&admitted, "three") && !names(&admitted, EXCLUDED));
}

#[test]
fn data_points_and_log_records_of_an_excluded_user_are_gone() {
    let point = |name: &str| json!({"asDouble": 1.5, "timeUnixNano": "1767323045000000000", "attributes": user(name)});
    let metric =
        |name: &str, points: &[Value]| json!({"name": name, "gauge": {"dataPoints": points}});
    let metrics =
        [metric("mixed", &[point("ada"), point(EXCLUDED)]), metric("only-bob", &[point(EXCLUDED)])];
    let request = json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]});
    let admitted = admit(&only_ada(), Signal::Metrics, &request);
    assert_eq!(admitted.items, 1);
    assert_eq!(dropped(&admitted), [("audience".to_owned(), 2)]);
    assert!(names(&admitted, "mixed") && !names(&admitted, "only-bob"));
    assert!(!names(&admitted, EXCLUDED));

    let log = |name: &str| json!({"body": {"stringValue": name}, "attributes": user(name)});
    let logs = [log(EXCLUDED), log("ada")];
    let request = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": logs}]}]});
    let admitted = admit(&only_ada(), Signal::Logs, &request);
    assert_eq!(admitted.items, 1);
    assert!(names(&admitted, "ada") && !names(&admitted, EXCLUDED));
}

#[test]
fn data_points_with_an_exemplar_of_an_excluded_user_are_gone() {
    let open = json!({"key": "f", "mode": "selected", "users": ["ada"], "unknown": "everybody"});
    let exemplar = |name: &str| json!([{"asDouble": 1.5, "timeUnixNano": "1767323045000000000", "filteredAttributes": user(name)}]);
    let point =
        |name: &str| json!({"timeUnixNano": "1767323045000000000", "exemplars": exemplar(name)});
    let points = json!([point("ada"), point(EXCLUDED)]);
    for data in ["gauge", "sum", "histogram", "exponentialHistogram"] {
        let metric = json!({"name": data, data: {"dataPoints": points}});
        let request = json!({"resourceMetrics": [{"scopeMetrics": [{"metrics": [metric]}]}]});
        let admitted = admit(&audience(&open), Signal::Metrics, &request);
        assert_eq!(dropped(&admitted), [("audience".to_owned(), 1)], "{data}");
        assert!(names(&admitted, "ada") && !names(&admitted, EXCLUDED), "{data}");
    }
}

fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u8::try_from(content.len()).unwrap();
    assert!(length < 128);
    [&[number << 3 | 2, length], content].concat()
}

fn label(name: &str, value: &str) -> Vec<u8> {
    field(1, &[field(1, name.as_bytes()), field(2, value.as_bytes())].concat())
}

/// A request of remote-write 1.0 with one series for each user.
fn series(users: &[&str]) -> Bytes {
    let one = |user: &&str| {
        // A sample of 0.0 at 1 ms.
        let sample = field(2, &[0x10, 1]);
        field(1, &[label("__name__", "logins"), label("user_id", user), sample].concat())
    };
    users.iter().flat_map(one).collect::<Vec<u8>>().into()
}

#[test]
fn series_of_an_excluded_user_are_gone() {
    let admission = Admission::default().with_audience(only_ada());
    let admit = |body| {
        admission.admit_remote_write("default", Version::One, Compression::None, body).unwrap()
    };
    let admitted = admit(series(&["ada", EXCLUDED]));
    assert_eq!(admitted.items, 1);
    assert!(names(&admitted, "ada") && !names(&admitted, EXCLUDED));
    assert!(admit(series(&[EXCLUDED])).is_empty());
}

#[test]
fn series_with_an_exemplar_of_an_excluded_user_are_gone() {
    let open = json!({"key": "f", "mode": "selected", "users": ["ada"], "unknown": "everybody"});
    let admission = Admission::default().with_audience(audience(&open));
    let admit =
        |version, body| admission.admit_remote_write("default", version, Compression::None, body);
    let sample = field(2, &[0x10, 1]);
    let one = |user: &str| {
        let exemplar = field(3, &[label("user_id", user), vec![0x18, 1]].concat());
        field(1, &[label("__name__", "logins"), sample.clone(), exemplar].concat())
    };
    let body = Bytes::from([one("ada"), one(EXCLUDED)].concat());
    let admitted = admit(Version::One, body).unwrap();
    assert_eq!(dropped(&admitted), [("audience".to_owned(), 1)]);
    assert!(names(&admitted, "ada") && !names(&admitted, EXCLUDED));
    // The same in 2.0, where labels are numbers of texts.
    let texts = ["", "__name__", "logins", "user_id", "ada", EXCLUDED];
    let texts = texts.map(|text| field(4, text.as_bytes())).concat();
    let one = |user: u8| {
        let exemplar = field(4, &[field(1, &[3, user]), vec![0x18, 1]].concat());
        field(5, &[field(1, &[1, 2]), sample.clone(), exemplar].concat())
    };
    let admitted = admit(Version::Two, Bytes::from([texts, one(4), one(5)].concat())).unwrap();
    assert_eq!(dropped(&admitted), [("audience".to_owned(), 1)]);
    assert!(names(&admitted, "ada") && !names(&admitted, EXCLUDED));
}

#[test]
fn a_request_of_which_all_is_kept_keeps_its_bytes() {
    let audience = only_ada();
    let admission = Admission::default().with_audience(audience.clone());
    let request = spans(&[span(1, "a", &user("ada"))]);
    let protobuf = admit(&audience, Signal::Traces, &request).body;
    let again = admission
        .admit("default", Signal::Traces, Format::Protobuf, Compression::None, protobuf.clone())
        .unwrap();
    assert_eq!(again.body.as_ptr(), protobuf.as_ptr(), "without a copy");
    assert!(again.dropped.is_empty());
}

#[test]
fn a_change_is_in_force_for_the_next_request() {
    let audience = only_ada();
    let request = spans(&[span(1, "a", &user("ada"))]);
    assert_eq!(admit(&audience, Signal::Traces, &request).items, 1);
    let mut book = FlagBook::clone(&audience.book());
    let author = Author { by: "root", at_millis: 2 };
    let change = br#"{"remove_users": ["ada"]}"#;
    assert!(api::patch(&mut book, "flag_ot_traces", change, &author).is_success());
    assert_eq!(admit(&audience, Signal::Traces, &request).items, 1, "until it is put in force");
    audience.replace(book);
    assert!(admit(&audience, Signal::Traces, &request).is_empty());
    let unnamed = spans(&[span(1, "late", &json!([]))]);
    assert!(admit(&audience, Signal::Traces, &unnamed).is_empty(), "an open trace stops");
}
