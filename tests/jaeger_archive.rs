//! Traces that are kept when retention deletes the rest.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::time::Duration;

use harness::jaeger::{CHECKOUT, FAILED, SHORT, get, hex, server};
use harness::programs::{kymo, run};
use harness::{Answer, Server, eventually};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);

/// Asks the archive to keep a trace, or to give it up.
#[track_caller]
fn archive(server: &Server, method: &str, id: &str) -> Answer {
    let url = server.url(&format!("/jaeger/api/archive/{id}"));
    Answer::of(server.client.request(method.parse().unwrap(), url))
}

/// Ids in the archive.
#[track_caller]
fn archived(server: &Server) -> Vec<String> {
    let listed = get(server, "/api/archive", &[]).expect(200).json();
    let traces = listed["data"].as_array().unwrap();
    assert_eq!(listed["total"], traces.len());
    let ids = traces.iter().map(|trace| {
        assert!(trace["archivedAt"].is_i64() && trace["sizeBytes"].as_u64() > Some(0), "{trace}");
        trace["traceID"].as_str().unwrap().to_owned()
    });
    ids.collect()
}

#[test]
fn an_archived_trace_outlives_the_others() {
    let mut server = server();
    let shown = |server: &Server| get(server, &format!("/api/traces/{}", hex(CHECKOUT)), &[]);
    let whole = shown(&server).expect(200).json();
    let done = json!({"data": [], "total": 0, "limit": 0, "offset": 0, "errors": []});
    for _ in 0..2 {
        assert_eq!(archive(&server, "POST", &hex(CHECKOUT)).expect(200).json(), done);
    }
    assert_eq!(archive(&server, "POST", "ab").expect(200).json(), done);
    assert_eq!(archived(&server).len(), 2);
    assert_eq!(shown(&server).expect(200).json(), whole);

    // All that was sent is older than a day.
    server.stop();
    server.add_flags(&["--retention-spans-max-age", "24h"]);
    server.start_again();
    eventually(SOON, "blocks expire", || server.number("SELECT count(*) FROM spans") == 0);
    assert_eq!(shown(&server).expect(200).json(), whole);
    let tempo = server.tempo(&format!("/api/v2/traces/{}", hex(CHECKOUT)), &[]).expect(200).json();
    assert!(!tempo["trace"]["resourceSpans"].as_array().unwrap().is_empty(), "{tempo}");
    let ran = run(kymo().args(["trace", "ab", "--url", &server.url("")])).expect(0);
    assert!(ran.stdout.contains("GET /"), "{}", ran.stdout);
    get(&server, &format!("/api/traces/{}", hex(FAILED)), &[]).expect(404);
    assert_eq!(server.search("{ }"), Vec::<String>::new(), "it is found by its id only");

    assert_eq!(archive(&server, "DELETE", &hex(CHECKOUT)).expect(200).json(), done);
    assert_eq!(archived(&server), [hex(SHORT)]);
    shown(&server).expect(404);
    let data = server.data().display().to_string();
    let checked = run(kymo().args(["store", "check", &data])).expect(0);
    assert_eq!(checked.fact("archived pieces"), "1");
}

#[test]
fn what_cannot_be_archived_is_told() {
    let server = server();
    for (method, id, status, message) in [
        ("POST", "77", 404, "trace not found"),
        ("POST", "soon", 400, "hexadecimal"),
        ("DELETE", "ab", 404, "not archived"),
        ("DELETE", "0", 400, "hexadecimal"),
    ] {
        let answer = archive(&server, method, id).expect(status).json();
        assert_eq!(answer["data"], Value::Null);
        assert_eq!(answer["errors"][0]["code"], status);
        assert!(answer["errors"][0]["msg"].as_str().unwrap().contains(message), "{answer}");
    }
    let url = server.url("/jaeger/api/archive/ab");
    let several = Answer::of(server.client.post(&url).header("x-scope-orgid", "default|other"));
    assert!(several.expect(400).text().contains("several tenants"));
    let other = Answer::of(server.client.post(&url).header("x-scope-orgid", "other"));
    other.expect(404);
    assert_eq!(archived(&server), Vec::<String>::new());
}
