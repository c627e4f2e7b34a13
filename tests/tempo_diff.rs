//! `POST /tempo/api/v2/traces/diff`: the differences between two traces.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::path::PathBuf;

use harness::otlp::{spans, traces};
use harness::traces::{CART, JOB, server, span};
use harness::{Answer, Server, Signal};
use opentelemetry_proto::tonic::trace::v1::Status;
use prost::Message;
use serde_json::{Value, json};

const PATH: &str = "/tempo/api/v2/traces/diff";
const OLD: u128 = 0x0a1d;
const NEW: u128 = 0x0e11;

#[track_caller]
fn diff(server: &Server, body: impl Into<Vec<u8>>) -> Answer {
    Answer::of(server.client.post(server.url(PATH)).body(body.into()))
}

/// A question for two traces.
fn of(base: u128, compare: u128, format: &str) -> String {
    let (base, compare) = (format!("{base:x}"), format!("{compare:x}"));
    let document = json!({
        "base": {"traceId": base}, "compare": {"traceId": compare}, "format": format,
    });
    document.to_string()
}

/// A checkout as it was, and one that is slower, fails, and asks a cache first.
fn with_checkouts() -> Server {
    let server = Server::start();
    let old = vec![span(OLD, 1, 0, "POST /checkout", 0, 100), span(OLD, 2, 1, "reserve", 10, 60)];
    let mut reserve = span(NEW, 12, 11, "reserve", 20, 240);
    reserve.status = Some(Status { code: 2, message: "timeout".to_owned() });
    let new = vec![
        span(NEW, 11, 0, "POST /checkout", 0, 300),
        span(NEW, 13, 11, "GET cache", 5, 10),
        reserve,
    ];
    for spans in [old, new] {
        server.store(Signal::Traces, traces("shop", spans).encode_to_vec());
    }
    server
}

#[test]
fn the_differences_between_two_traces_are_told_in_each_format() {
    let server = with_checkouts();
    let answer = diff(&server, of(OLD, NEW, "")).expect(200);
    assert_eq!(answer.header("content-type"), "application/json");
    let patch = answer.json();
    let expected = json!({
        "version": "trace-patch-v0",
        "base": {"traceId": format!("{OLD:032x}"), "spanCount": 2},
        "compare": {"traceId": format!("{NEW:032x}"), "spanCount": 3},
        "stats": {
            "spanCountA": 2, "spanCountB": 3, "matchedSpans": 2, "modifiedSpans": 2,
            "addedSpans": 1, "removedSpans": 0, "fieldChanges": 3, "attributeChanges": 0,
            "eventChanges": 0, "truncated": false,
        },
        "modified": [
            {
                "span": {
                    "path": [0], "service": "shop", "name": "POST /checkout", "kind": "internal",
                },
                "changes": [
                    {"op": "modify", "target": {"type": "field", "name": "duration_nanos"},
                     "before": 100_000_000, "after": 300_000_000},
                ],
            },
            {
                "span": {
                    "path": [0, 1], "service": "shop", "name": "reserve", "kind": "internal",
                },
                "changes": [
                    {"op": "modify", "target": {"type": "field", "name": "duration_nanos"},
                     "before": 60_000_000, "after": 240_000_000},
                    {"op": "modify", "target": {"type": "field", "name": "status"},
                     "before": "unset", "after": "error"},
                ],
            },
        ],
        "added": [{
            "target": {"type": "span", "parentPath": [0], "index": 0},
            "span": {
                "path": [0, 0], "service": "shop", "name": "GET cache", "kind": "internal",
                "duration_nanos": 10_000_000, "status": "unset",
            },
        }],
        "removed": [],
        "warnings": [],
    });
    assert_eq!(patch, expected);
    assert_eq!(diff(&server, of(OLD, NEW, "trace-patch-v0")).expect(200).json(), patch);

    let summary = diff(&server, of(OLD, NEW, "trace-summary-v0-native")).expect(200).json();
    assert_eq!(summary["version"], "trace-summary-v0-native");
    let signals = json!({
        "traceLatency": "increased", "sumSpanDuration": "increased", "errors": "increased",
        "spanCount": "increased", "structure": "changed",
    });
    assert_eq!(summary["signals"], signals);
    let shop = json!([{
        "name": "shop", "sumSpanDurationDeltaMs": 390, "modified": 2, "added": 1, "removed": 0,
        "newErrors": 1, "resolvedErrors": 0,
    }]);
    assert_eq!(summary["services"], shop);

    let composed = diff(&server, of(OLD, NEW, "trace-summary-v0-composed")).expect(200).json();
    assert_eq!(composed["version"], "trace-summary-v0-composed");
    assert_eq!((&composed["summary"], &composed["patch"]), (&summary, &patch));
    assert!(server.metric("kymo_query_seconds_count", &["kind=\"trace_diff\""]) >= 4.0);
}

#[test]
fn a_large_patch_is_left_out_of_a_composed_answer() {
    let server = Server::start();
    let root = |trace| span(trace, 1, 0, "run", 0, 10_000);
    let steps = (2..2_000).map(|id| span(NEW, id, 1, "step", id, 1));
    let new = [root(NEW)].into_iter().chain(steps).collect();
    server.store(Signal::Traces, traces("job", vec![root(OLD)]).encode_to_vec());
    server.store(Signal::Traces, traces("job", new).encode_to_vec());
    let patch = diff(&server, of(OLD, NEW, "")).expect(200);
    let composed = diff(&server, of(OLD, NEW, "trace-summary-v0-composed")).expect(200).json();
    assert!(composed.get("patch").is_none());
    let omitted = json!({"bytes": patch.body.len(), "reason": "over_budget"});
    assert_eq!(composed["patchOmitted"], omitted);
    assert_eq!(composed["summary"]["stats"]["addedSpans"], 1_998);
}

#[test]
fn what_is_wrong_with_a_question_is_said() {
    let server = server(&[]);
    for (body, words) in [
        (String::new(), "the request body is not what is expected"),
        ("{\"base\":".to_owned(), "the request body is not what is expected"),
        ("{}".to_owned(), "base.traceId is required"),
        (of(CART, JOB, "trace-patch-v9"), "invalid format \"trace-patch-v9\""),
        (of(CART, JOB, "").replace("\"2b\"", "\"2x\""), "invalid compare.traceId"),
        (
            json!({
                "base": {"traceId": "1", "start": 20, "end": 10}, "compare": {"traceId": "2"},
            })
            .to_string(),
            "base.start must be before base.end",
        ),
    ] {
        let answer = diff(&server, body.clone()).expect(400);
        assert!(answer.text().starts_with(words), "{body}: {}", answer.text());
        assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    }
    let long = format!("{}{}", of(CART, JOB, ""), " ".repeat(8 << 10));
    diff(&server, long).expect(413);

    for (base, compare, side) in [(0x77, CART, "base"), (CART, 0x77, "compare")] {
        let answer = diff(&server, of(base, compare, "")).expect(404);
        let expected = format!("the {side} trace 00000000000000000000000000000077 is not known");
        assert_eq!(answer.text(), expected);
    }
    for method in ["GET", "PUT", "DELETE"] {
        let method = method.parse().unwrap();
        let answer = Answer::of(server.client.request(method, server.url(PATH))).expect(405);
        assert_eq!(answer.header("allow"), "POST");
    }
}

#[test]
fn times_and_types_that_are_given_change_nothing() {
    let server = server(&[]);
    let whole = diff(&server, of(CART, JOB, "")).expect(200).json();
    let mut question: Value = serde_json::from_str(&of(CART, JOB, "")).unwrap();
    question["base"]["start"] = json!(1);
    question["base"]["end"] = json!(2);
    assert_eq!(diff(&server, question.to_string()).expect(200).json(), whole);
    // As curl sends what it is given.
    let request = server.client.post(server.url(PATH)).body(of(CART, JOB, ""));
    let form = request.header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(Answer::of(form).expect(200).json(), whole);
    let other = server.client.post(server.url(PATH)).header("x-scope-orgid", "other");
    Answer::of(other.body(of(CART, JOB, ""))).expect(404);
}

/// Files of blocks.
fn blocks(server: &Server) -> Vec<PathBuf> {
    let (mut found, mut places) = (Vec::new(), vec![server.data().join("blocks")]);
    while let Some(place) = places.pop() {
        if place.is_dir() {
            places.extend(std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()));
        } else if place.extension().is_some_and(|ending| ending == "parquet") {
            found.push(place);
        }
    }
    found
}

#[test]
fn a_trace_with_damaged_blocks_is_not_compared() {
    let mut server = Server::with(&["--compaction", "false"]);
    server.store(Signal::Traces, spans("whole", 1 << 16, 1).encode_to_vec());
    server.stop();
    let first = blocks(&server);
    server.start_again();
    let mut large = spans("damaged", 0, 500);
    // Names that do not compress, so that pages lie before the part that is read to open a block.
    let mut random = harness::Random::seeded(7);
    for span in &mut large.resource_spans[0].scope_spans[0].spans {
        span.name = (0..64).map(|_| format!("{:016x}", random.below(u64::MAX))).collect();
    }
    server.store(Signal::Traces, large.encode_to_vec());
    server.stop();
    let second = blocks(&server).into_iter().find(|path| !first.contains(path)).unwrap();
    let mut bytes = std::fs::read(&second).unwrap();
    let tail = bytes.len() - (128 << 10);
    bytes[4..tail].fill(0xa5);
    std::fs::write(second, bytes).unwrap();
    server.start_again();
    let answer = diff(&server, of(0x10001, 1, "")).expect(422);
    let expected = "the compare trace 00000000000000000000000000000001 is not compared: 1 damaged \
                    block is left out; spans may be missing";
    assert_eq!(answer.text(), expected);
    diff(&server, of(0x10001, 0x10001, "")).expect(200);
}
