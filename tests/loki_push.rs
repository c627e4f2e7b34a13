//! What is pushed to Loki, and what is stored of it.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::Write;

use harness::loki::{Stream, as_json, as_protobuf};
use harness::otlp::rich_logs;
use harness::{Answer, Server};
use serde_json::json;

const TRACE: &str = "5b8efff798038103d269b633813fc60c";
const SPAN: &str = "eee19b7ec3c1b174";
const SECOND: i64 = 1_000_000_000;
const START: i64 = 1_767_323_045 * SECOND;

const STREAMS: [Stream<'_>; 2] = [
    (
        &[("app", "shop"), ("pod", "a-1")],
        &[
            (START, "order \"1001\" placed\n", &[("trace_id", TRACE), ("span_id", SPAN)]),
            (START + 1, "", &[("order.id", "7"), ("trace_id", "short")]),
        ],
    ),
    (&[("app", "edge")], &[(START + 2, "GET / \u{1f600}", &[])]),
];

fn stored(server: &Server) -> Vec<String> {
    let table = server.sql("SELECT * FROM logs ORDER BY time, body");
    table.rows.iter().map(|row| json!(row).to_string()).collect()
}

fn post(server: &Server, path: &str, headers: &[(&str, &str)], body: Vec<u8>) -> Answer {
    let mut request = server.client.post(server.url(path));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    Answer::of(request.body(body))
}

#[test]
fn both_formats_and_all_packings_store_the_same() {
    let mut answers = Vec::new();
    let json = as_json(&STREAMS).to_string().into_bytes();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&json).unwrap();
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    zlib.write_all(&json).unwrap();
    let (gzip, zlib) = (gzip.finish().unwrap(), zlib.finish().unwrap());
    let as_json = ("content-type", "application/json");
    let as_protobuf_type = ("content-type", "application/x-protobuf");
    let push = "/loki/api/v1/push";
    for (path, headers, body) in [
        (push, vec![as_json], json),
        (push, vec![as_json, ("content-encoding", "gzip")], gzip),
        (push, vec![as_json, ("content-encoding", "deflate")], zlib),
        (push, vec![as_protobuf_type], as_protobuf(&STREAMS)),
        ("/loki/api/prom/push", vec![], as_protobuf(&STREAMS)),
    ] {
        let server = Server::start();
        let answer = post(&server, path, &headers, body).expect(204);
        assert!(answer.body.is_empty());
        answers.push(stored(&server));
        let metrics = server.get("/metrics").expect(200).text();
        let count = "kymo_received_records_total{signal=\"logs\",tenant=\"default\"} 3";
        assert!(metrics.contains(count), "{metrics}");
        assert!(metrics.contains("protocol=\"loki\""), "{metrics}");
    }
    let first = &answers[0];
    assert_eq!(first.len(), 3);
    assert!(first[0].contains(TRACE) && first[0].contains(SPAN), "{}", first[0]);
    assert!(first[0].contains("kymo.loki"), "{}", first[0]);
    assert!(first[1].contains("order_id") && first[1].contains("short"), "{}", first[1]);
    for other in &answers {
        assert_eq!(other, first);
    }
}

#[test]
fn a_push_that_is_wrong_in_part_keeps_the_rest() {
    let server = Server::start();
    let push = json!({ "streams": [
        { "stream": { "app": "shop" }, "values": [[START.to_string(), "kept"], ["0", "no time"]] },
        { "stream": { "bad.name": "x" }, "values": [[START.to_string(), "a"], [START.to_string(), "b"]] },
    ]});
    let answer = server.push(&push).expect(400);
    let text = answer.text();
    assert!(text.contains("2 refused (label \"bad.name\""), "{text}");
    assert!(text.contains("everything else was kept"), "{text}");
    assert_eq!(server.sql("SELECT body FROM logs").texts(), ["kept"]);
    let metrics = server.get("/metrics").expect(200).text();
    assert!(metrics.contains("reason=\"invalid_labels\"} 2"), "{metrics}");
}

#[test]
fn what_is_no_push_is_refused() {
    let server = Server::start();
    for (push, status) in [
        (json!({ "streams": [] }), 422),
        (json!({}), 422),
        (json!({ "streams": [{ "stream": {}, "values": [[1, "x"]] }] }), 400),
        (json!({ "streams": [{ "stream": { "a": 1 }, "values": [] }] }), 400),
        // As it was before the API had a version: to ignore what is not known would lose it.
        (json!({ "streams": [{ "labels": "{a=\"b\"}", "entries": [{ "line": "x" }] }] }), 400),
        (json!("text"), 400),
    ] {
        let answer = server.push(&push).expect(status);
        assert!(answer.header("content-type").starts_with("text/plain"), "{push}");
        assert!(!answer.text().is_empty(), "{push}");
    }
    post(&server, "/loki/api/v1/push", &[], b"not snappy".to_vec()).expect(400);
    let gzip = [("content-type", "application/x-protobuf"), ("content-encoding", "gzip")];
    post(&server, "/loki/api/v1/push", &gzip, Vec::new()).expect(415);
    let large = vec![b'x'; 21 << 20];
    let json = [("content-type", "application/json")];
    post(&server, "/loki/api/v1/push", &json, large).expect(413);
    assert!(server.sql("SELECT body FROM logs").rows.is_empty());
}

#[test]
fn a_line_of_ten_megabytes_comes_back_whole() {
    let server = Server::start();
    let line = "0123456789".repeat(1 << 20);
    server.push(&as_json(&[(&[("app", "long")], &[(START, &line, &[])])])).expect(204);
    let lengths = server.sql("SELECT character_length(body) FROM logs");
    assert_eq!(lengths.rows, [[json!(line.len())]]);
}

#[test]
fn otlp_is_taken_below_loki_too() {
    let server = Server::start();
    let body = rich_logs();
    let otlp = [("content-type", "application/x-protobuf")];
    let answer = post(&server, "/loki/otlp/v1/logs", &otlp, prost::Message::encode_to_vec(&body));
    assert!(answer.expect(204).body.is_empty());
    assert!(!server.sql("SELECT body FROM logs").rows.is_empty());
    let json = [("content-type", "application/json")];
    post(&server, "/loki/otlp/v1/logs", &json, b"{\"resourceLogs\":[]}".to_vec()).expect(204);
    post(&server, "/loki/otlp/v1/logs", &json, b"{".to_vec()).expect(400);
}

#[test]
fn what_is_switched_off_takes_nothing() {
    let server = Server::with(&["--no-api-loki"]);
    let answer = server.push(&as_json(&STREAMS)).expect(404);
    assert!(answer.text().contains("api.loki.enabled is false"), "{}", answer.text());
}

#[test]
fn rules_and_copies_are_seen_to_as_in_every_request() {
    let server = Server::with(&["--limits-deduplicate-logs"]);
    let push = as_json(&STREAMS);
    server.push(&push).expect(204);
    // The same lines once more, beside a new one.
    let more: [Stream<'_>; 2] = [
        STREAMS[0],
        (&[("app", "edge")], &[(START + 2, "GET / \u{1f600}", &[]), (START + 3, "new", &[])]),
    ];
    server.push(&as_json(&more)).expect(204);
    assert_eq!(server.sql("SELECT body FROM logs").rows.len(), 4);
    let metrics = server.get("/metrics").expect(200).text();
    let count = "kymo_deduplicated_records_total{signal=\"logs\",tenant=\"default\"} 3";
    assert!(metrics.contains(count), "{metrics}");
}
