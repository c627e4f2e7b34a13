//! Pushes to Loki become OTLP, within the limits of everybody; copies of records are kept once.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

use std::collections::BTreeMap;
use std::io::Write;

use bytes::Bytes;
use kymo_admit::{Admission, Admitted, Compression, Format, Limits, PushFormat, Refusal, Signal};
use kymo_wire::{AnyValueView, LogsView, View, text};
use serde_json::{Value, json};

fn push(admission: &Admission, push: &Value) -> Result<Admitted, Refusal> {
    let body = Bytes::from(push.to_string());
    admission.admit_push("default", PushFormat::Json, Compression::None, body)
}

fn lines(body: &[u8]) -> Vec<String> {
    let mut lines = Vec::new();
    for group in LogsView::parse(body).unwrap().resources {
        for scope in group.unwrap().scopes {
            for log in scope.unwrap().items {
                let AnyValueView::String(line) = log.unwrap().body else { panic!("no text") };
                lines.push(text(line).into_owned());
            }
        }
    }
    lines
}

#[test]
fn a_push_is_the_same_however_it_is_packed() {
    let admission = Admission::default();
    let document = json!({ "streams": [
        { "stream": { "app": "shop" }, "values": [["1", "a"], ["2", "b"]] }
    ]});
    let plain = push(&admission, &document).unwrap();
    assert_eq!((plain.items, plain.compression), (2, Compression::None));
    assert_eq!(lines(&plain.body), ["a", "b"]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(document.to_string().as_bytes()).unwrap();
    let body = Bytes::from(gzip.finish().unwrap());
    let packed = admission.admit_push("default", PushFormat::Json, Compression::Gzip, body);
    assert_eq!(packed.unwrap().body, plain.body);
    let bad = Bytes::from_static(b"no snappy");
    let bad = admission.admit_push("default", PushFormat::Protobuf, Compression::Snappy, bad);
    assert_eq!(bad.unwrap_err().reason(), "malformed");
}

#[test]
fn what_cannot_be_kept_of_a_push_is_told() {
    let limits = Limits { max_value_bytes: 100, ..Limits::default() };
    let admission = Admission::new(limits, BTreeMap::new()).unwrap();
    let late = u64::MAX / 2;
    let long = "x".repeat(1000);
    let document = json!({ "streams": [
        { "stream": { "app": "shop" }, "values": [
            ["1", long], ["2", "meta", { "m": long }], [late.to_string(), "too late"],
        ]},
        { "stream": { "a.b": "1" }, "values": [["1", "x"]] },
    ]});
    let admitted = push(&admission, &document).unwrap();
    // A line is never cut.
    assert_eq!(lines(&admitted.body), [long]);
    let reasons: Vec<_> = admitted.refused.iter().map(|r| (r.reason, r.count)).collect();
    let expected = [("metadata_too_long", 1), ("invalid_labels", 1), ("time_too_late", 1)];
    assert_eq!(reasons, expected);
    let (refused, message) = admitted.partial_success().unwrap();
    assert_eq!(refused, 3);
    assert!(message.contains("label \"a.b\""), "{message}");
    assert!(matches!(push(&admission, &json!({ "streams": [] })), Err(Refusal::Empty(_))));
    assert!(matches!(push(&admission, &json!([])), Err(Refusal::Malformed(_))));
}

#[test]
fn a_line_of_ten_megabytes_is_kept_whole() {
    let line = "0123456789".repeat(1 << 20);
    let document = json!({ "streams": [{ "stream": { "a": "b" }, "values": [["1", line]] }] });
    let admitted = push(&Admission::default(), &document).unwrap();
    assert!(admitted.refused.is_empty() && admitted.changed.is_empty());
    assert_eq!(lines(&admitted.body), [line]);
}

fn deduplicating() -> Admission {
    let limits = Limits { deduplicate_logs: true, ..Limits::default() };
    Admission::new(limits, BTreeMap::new()).unwrap()
}

fn admit(admission: &Admission, body: &[u8]) -> Admitted {
    let body = Bytes::copy_from_slice(body);
    admission.admit("default", Signal::Logs, Format::Protobuf, Compression::None, body).unwrap()
}

/// Requests of a program with two handlers on one logger: every record was sent twice.
#[test]
fn what_a_doubly_instrumented_program_sent_is_kept_once() {
    let Some(data) = std::env::var_os("KYMO_TEST_DATA").filter(|data| !data.is_empty()) else {
        eprintln!("left out: captured requests (KYMO_TEST_DATA names no directory)");
        return;
    };
    let place = std::path::Path::new(&data).join("tuft");
    let mut paths: Vec<_> = std::fs::read_dir(place).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.to_string_lossy().ends_with(".logs.pb"));
    paths.sort();
    let (plain, admission) = (Admission::default(), deduplicating());
    let (mut sent, mut kept, mut left_out, mut with_code) = (0, 0, 0, 0);
    for path in paths {
        let body = std::fs::read(path).unwrap();
        let untouched = admit(&plain, &body);
        assert_eq!(untouched.body, body);
        sent += untouched.items;
        let admitted = admit(&admission, &body);
        admission.remember(&admitted.log_keys);
        kept += admitted.items;
        left_out += admitted.deduplicated;
        with_code += admitted.body.windows(14).filter(|bytes| *bytes == b"code.file.path").count();
    }
    assert_eq!((sent, kept, left_out), (150, 75, 75));
    assert_eq!(with_code, 75, "the copy with more attributes is kept");
}

#[test]
fn a_copy_in_a_later_request_is_left_out_once_the_first_is_durable() {
    let admission = deduplicating();
    let document = json!({ "streams": [{ "stream": { "a": "b" }, "values": [["1", "x"]] }] });
    let first = push(&admission, &document).unwrap();
    assert_eq!((first.items, first.deduplicated), (1, 0));
    let again = push(&admission, &document).unwrap();
    assert_eq!((again.items, again.deduplicated), (1, 0), "the first may have been lost");
    admission.remember(&first.log_keys);
    let copy = push(&admission, &document).unwrap();
    assert_eq!((copy.items, copy.deduplicated, copy.is_empty()), (0, 1, true));
}
