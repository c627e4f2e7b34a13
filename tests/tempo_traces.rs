//! Traces by id through Tempo's API: for language models, and pruned.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::time::{Duration, Instant};

use harness::otlp::{START_NANOS, traces};
use harness::traces::{CART, JOB, server, span};
use harness::{Answer, Server, Signal};
use prost::Message;
use serde_json::{Value, json};

const FOR_MODELS: &str = "application/vnd.grafana.llm";
const MODELS_JSON: &str = "application/vnd.grafana.llm+json";

#[track_caller]
fn get_as(server: &Server, path: &str, params: &[(&str, &str)], accept: &str) -> Answer {
    let request = server.client.get(server.url(&format!("/tempo{path}"))).query(params);
    Answer::of(request.header("accept", accept))
}

fn path_of(id: u128) -> String {
    format!("/api/v2/traces/{id:x}")
}

/// All spans of an answer for language models.
fn spans(document: &Value) -> Vec<&Value> {
    let services = document["trace"]["services"].as_array().unwrap().iter();
    let scopes = services.flat_map(|service| service["scopes"].as_array().unwrap());
    scopes.flat_map(|scope| scope["spans"].as_array().unwrap()).collect()
}

fn nanos(after_ms: u64) -> String {
    (START_NANOS + after_ms * 1_000_000).to_string()
}

#[test]
fn a_trace_for_language_models_is_plain_json() {
    let server = server(&[]);
    let answer = get_as(&server, &path_of(CART), &[], FOR_MODELS).expect(200);
    assert_eq!(answer.header("content-type"), MODELS_JSON);
    let document = answer.json();
    assert_eq!(document["trace"]["traceId"], format!("{CART:032x}"));
    assert_eq!(document["status"], "COMPLETE");
    let services = document["trace"]["services"].as_array().unwrap();
    let names: Vec<&Value> = services.iter().map(|service| &service["serviceName"]).collect();
    assert!(names.contains(&&json!("shop")) && names.contains(&&json!("db")), "{names:?}");
    let select = spans(&document).into_iter().find(|span| span["name"] == "SELECT").unwrap();
    let expected = json!({
        "spanId": "0000000000000002",
        "name": "SELECT",
        "parentSpanId": "0000000000000001",
        "kind": "SPAN_KIND_CLIENT",
        "startTimeUnixNano": nanos(10),
        "endTimeUnixNano": nanos(60),
        "durationMs": 50,
        "attributes": {"db.rows": 7, "ratio": 0.5, "cached": true},
        "status": {"code": "STATUS_CODE_ERROR", "message": "boom"},
    });
    assert_eq!(*select, expected);

    let part = get_as(&server, &path_of(CART), &[("q", "{ status = error }")], FOR_MODELS);
    let part = part.expect(200).json();
    assert_eq!((spans(&part).len(), &part["status"]), (1, &json!("PARTIAL")));
    assert!(part["message"].as_str().unwrap().contains("Trace cut"), "{part}");
    let unknown = get_as(&server, "/api/v2/traces/abc", &[], FOR_MODELS).expect(200);
    assert_eq!((unknown.header("content-type"), &*unknown.text()), (MODELS_JSON, "{}"));
}

#[test]
fn values_of_a_tag_for_language_models_are_by_type() {
    let server = server(&[]);
    let values = |accept: &str| {
        get_as(&server, "/api/v2/search/tag/span.attempt/values", &[], accept).expect(200)
    };
    let answer = values(FOR_MODELS);
    assert_eq!(answer.header("content-type"), MODELS_JSON);
    assert_eq!(answer.json(), json!({"tagValues": {"int": ["1"], "string": ["two"]}}));
    for plain in ["", "application/json", "application/vnd.grafana.llm, application/json"] {
        assert_eq!(values(plain).header("content-type"), "application/json", "{plain}");
    }
}

#[test]
fn what_has_no_form_for_language_models_is_json() {
    let server = server(&[]);
    for path in [
        "/api/search?q=%7B%7D",
        &format!("/api/traces/{CART:x}"),
        "/api/search/tags",
        "/api/v2/search/tags",
        "/api/search/tag/region/values",
        "/api/metrics/query?q=%7B%7D%20%7C%20rate()",
    ] {
        let answer = get_as(&server, path, &[], FOR_MODELS).expect(200);
        assert_eq!(answer.header("content-type"), "application/json", "{path}");
        assert_eq!(answer.json(), get_as(&server, path, &[], "").expect(200).json(), "{path}");
    }
}

const BATCH: u128 = 0xba;

/// A server with a batch of six jobs, each with a query of another length, and one other query.
fn batch() -> Server {
    let server = Server::start();
    let mut sent = vec![span(BATCH, 1, 0, "batch", 0, 100), span(BATCH, 2, 1, "SELECT", 0, 1)];
    for nth in 0..6 {
        sent.push(span(BATCH, 10 + nth, 1, "job", nth * 10, 10));
        sent.push(span(BATCH, 20 + nth, 10 + nth, "SELECT", nth * 10, 1 + nth));
    }
    server.store(Signal::Traces, traces("worker", sent).encode_to_vec());
    server
}

/// Each name with how many spans it stands for, if it is a summary.
fn outline(document: &Value) -> Vec<(&str, Option<u64>)> {
    let count = |span: &Value| span["attributes"]["aggregation.span_count"].as_u64();
    let spans = spans(document).into_iter();
    let mut outline: Vec<_> =
        spans.map(|span| (span["name"].as_str().unwrap(), count(span))).collect();
    outline.sort();
    outline
}

#[test]
fn spans_that_are_alike_become_one_if_that_is_asked_for() {
    let server = batch();
    let get = |params: &[(&str, &str)]| {
        get_as(&server, &path_of(BATCH), params, FOR_MODELS).expect(200).json()
    };
    let whole = get(&[]);
    assert_eq!((spans(&whole).len(), &whole["status"]), (14, &json!("COMPLETE")));
    assert_eq!(get(&[("span_pruning", "false")]), whole);
    let pruned = get(&[("span_pruning", "true")]);
    let expected = [("SELECT", None), ("SELECT", Some(6)), ("batch", None), ("job", Some(6))];
    assert_eq!(outline(&pruned), expected);
    assert_eq!(pruned["status"], "PARTIAL");
    assert!(pruned["message"].as_str().unwrap().contains("pruned"), "{pruned}");

    let summary = |name: &str| {
        let is_summary = |span: &&Value| span["attributes"]["aggregation.is_summary"] == true;
        let found = spans(&pruned).into_iter().filter(is_summary);
        found.clone().find(|span| span["name"] == name).unwrap().clone()
    };
    let (job, select) = (summary("job"), summary("SELECT"));
    assert_eq!(
        (&job["parentSpanId"], &select["parentSpanId"]),
        (&json!("0000000000000001"), &job["spanId"])
    );
    assert_eq!(select["startTimeUnixNano"], nanos(0));
    assert_eq!(select["endTimeUnixNano"], nanos(56));
    let expected = json!({
        "aggregation.is_summary": true,
        "aggregation.span_count": 6,
        "aggregation.duration_min_ns": 1_000_000,
        "aggregation.duration_max_ns": 6_000_000,
        "aggregation.duration_total_ns": 21_000_000,
        "aggregation.duration_avg_ns": 3_500_000,
        "aggregation.histogram_bucket_bounds_s":
            [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
        "aggregation.histogram_bucket_counts": [5, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6],
    });
    assert_eq!(select["attributes"], expected);

    let leaves = get(&[("span_pruning", "true"), ("span_pruning_max_parent_depth", "0")]);
    assert_eq!(spans(&leaves).len(), 9);
    let too_few = get(&[("span_pruning", "true"), ("span_pruning_min_spans", "7")]);
    assert_eq!(too_few, whole);
}

#[test]
fn a_part_is_cut_out_before_it_is_pruned() {
    let server = batch();
    let params = [("q", "{ name = \"SELECT\" }"), ("span_pruning", "true")];
    let document = get_as(&server, &path_of(BATCH), &params, FOR_MODELS).expect(200).json();
    assert_eq!(outline(&document), [("SELECT", Some(7))]);
    let message = document["message"].as_str().unwrap();
    assert!(message.contains("Trace cut") && message.contains("pruned"), "{message}");
}

/// The fields of Tempo's message.
#[derive(Clone, PartialEq, Message)]
struct TraceByIdResponse {
    #[prost(bytes, tag = "1")]
    trace: Vec<u8>,
    #[prost(int32, tag = "3")]
    status: i32,
    #[prost(string, tag = "4")]
    message: String,
}

#[test]
fn a_pruned_trace_can_be_sent_again_and_is_then_not_pruned_again() {
    let server = batch();
    let on = [("span_pruning", "true")];
    let json = server.tempo(&path_of(BATCH), &on).expect(200).json();
    assert_eq!(json["status"], "PARTIAL");
    let answer = get_as(&server, &path_of(BATCH), &on, "application/protobuf").expect(200);
    let pruned = TraceByIdResponse::decode(&*answer.body).unwrap();
    assert_eq!(pruned.status, 1);
    assert!(pruned.message.contains("pruned"), "{}", pruned.message);

    let second = Server::start();
    second.store(Signal::Traces, pruned.trace);
    let few = [("span_pruning", "true"), ("span_pruning_min_spans", "2")];
    let again = get_as(&second, &path_of(BATCH), &few, FOR_MODELS).expect(200).json();
    assert_eq!((spans(&again).len(), &again["status"]), (4, &json!("PARTIAL")));
    assert!(again["message"].as_str().unwrap().contains("before it was received"), "{again}");
}

#[test]
fn wrong_parameters_of_pruning_are_told() {
    let server = server(&[]);
    for (name, bad, word) in [
        ("span_pruning", "maybe", "true or false"),
        ("span_pruning_min_spans", "1", "whole number from 2 on"),
        ("span_pruning_max_parent_depth", "-2", "levels or -1"),
        ("span_pruning_group_by", "db.[", "attribute names"),
    ] {
        let params = [(name, bad), ("span_pruning", "true")];
        let answer = server.tempo(&path_of(JOB), &params).expect(400);
        let text = answer.text();
        assert!(text.starts_with(&format!("invalid {name}")) && text.contains(word), "{text}");
    }
}

/// Not a benchmark: it only holds that nothing is quadratic, or as deep as the trace.
#[test]
fn a_chain_of_many_spans_is_pruned() {
    const COUNT: u64 = 100_000;
    let server = Server::start();
    for from in (1..=COUNT).step_by(10_000) {
        let sent = (from..from + 10_000).map(|id| span(BATCH, id, id - 1, "x", 0, 1)).collect();
        server.store(Signal::Traces, traces("deep", sent).encode_to_vec());
    }
    let leaves = (1..=5).map(|nth| span(BATCH, COUNT + nth, COUNT, "leaf", 0, 1)).collect();
    server.store(Signal::Traces, traces("deep", leaves).encode_to_vec());
    let began = Instant::now();
    let params = [("span_pruning", "true"), ("span_pruning_max_parent_depth", "-1")];
    let document = get_as(&server, &path_of(BATCH), &params, FOR_MODELS).expect(200).json();
    assert_eq!(spans(&document).len() as u64, COUNT + 1);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
