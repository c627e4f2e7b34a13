//! `kymo demo`: living data, which all four languages find; and the same started in the server.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::{BufRead, BufReader};
use std::time::Duration;

use harness::programs::{kymo, run};
use harness::{Answer, Encoding, Server, Signal, eventually, otlp};
use prost::Message;
use serde_json::Value;

/// The last half hour, in seconds since 1970.
fn lately() -> (String, String) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = now.as_secs();
    ((now - 1_800).to_string(), (now + 60).to_string())
}

fn promql(server: &Server, query: &str) -> Value {
    let request = reqwest::blocking::Client::new()
        .get(server.url("/prometheus/api/v1/query"))
        .query(&[("query", query)]);
    Answer::of(request).expect(200).json()["data"]["result"].clone()
}

#[test]
fn a_demo_fills_a_server_with_something_for_each_language() {
    let server = Server::start();
    let endpoint = format!("http://{}", server.otlp_grpc());
    let mut command = kymo();
    command.args(["demo", "--endpoint", &endpoint, "--history", "10m", "--for", "2s"]);
    command.args(["--format", "json", "--url", "http://kymo.example"]);
    let ran = run(&mut command).expect(0);
    assert!(ran.stderr.contains("http://kymo.example/ci"), "{}", ran.stderr);
    let summary: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(summary["refused"], 0, "{summary}");

    assert_eq!(server.count(Signal::Traces), summary["spans"].as_u64().unwrap());
    assert_eq!(server.count(Signal::Logs), summary["logs"].as_u64().unwrap());
    let unmarked = "SELECT count(*) FROM spans WHERE \"resource.kymo.demo\" IS NOT TRUE";
    assert_eq!(server.number(unmarked), 0, "everything can be told apart");

    for query in [
        "{ resource.service.name = \"checkout\" && name = \"shop.Checkout/PlaceOrder\" }",
        "{ span.ci.kind = \"job\" }",
        "{ name = \"train_step\" && span.training.loss < 9 }",
        "{ span.task_id != nil && span.status = \"completed\" }",
    ] {
        let (start, end) = lately();
        let found = server.tempo("/api/search", &[("q", query), ("start", &start), ("end", &end)]);
        let found = found.expect(200).json();
        assert!(!found["traces"].as_array().unwrap().is_empty(), "{query}: {found}");
    }
    for query in [
        "sum by (instance) (rate(node_cpu_seconds_total{mode!=\"idle\"}[2m]))",
        "DCGM_FI_DEV_GPU_TEMP{Hostname=\"gpu-2\"}",
        "histogram_quantile(0.9, sum by (le) (rate(http_server_request_duration_seconds_bucket[5m])))",
        "training_loss",
        "tasks_completed_total",
    ] {
        assert!(!promql(&server, query).as_array().unwrap().is_empty(), "{query}");
    }
    let (start, end) = lately();
    let range = [
        ("start", &*start),
        ("end", &*end),
        ("query", "{service_name=\"checkout\"} |= \"placed\""),
    ];
    let lines = server.loki("query_range", &range).expect(200).json();
    assert!(!lines["data"]["result"].as_array().unwrap().is_empty(), "{lines}");

    let sessions = server.get("/api/sessions?since=1h").expect(200).json();
    let names: Vec<_> = sessions["sessions"].as_array().unwrap().iter().collect();
    assert!(names.iter().any(|session| session["name"] == "train-llama"), "{sessions}");
    assert!(names.iter().any(|session| session["name"] == "protein-screen"), "{sessions}");
}

#[test]
fn a_demo_without_a_server_says_what_to_start() {
    let mut server = Server::start();
    let endpoint = format!("http://{}", server.otlp_grpc());
    server.stop();
    let mut command = kymo();
    command.args(["demo", "--endpoint", &endpoint, "--history", "1m", "--for", "1s"]);
    let ran = run(&mut command).expect(1);
    assert!(ran.stderr.contains("start kymo serve"), "{}", ran.stderr);
}

#[test]
fn a_demo_can_be_started_and_ended_in_the_server_and_the_page_hears_of_it() {
    let server = Server::start();
    let client = reqwest::blocking::Client::new();
    let start = server.get("/api/start").expect(200).json();
    assert_eq!(
        (&start["has_data"], &start["demo"]["running"]),
        (&Value::Bool(false), &Value::Bool(false))
    );
    assert_eq!(start["addresses"]["otlp_grpc"]["address"], server.otlp_grpc().to_string());
    assert_eq!(start["addresses"]["http"]["address"], server.http().to_string());

    // Whoever listens is told each second, and when the first record has come.
    let live = client.get(server.url("/api/live")).send().unwrap();
    assert_eq!(live.headers()["content-type"], "text/event-stream");
    let mut lines = BufReader::new(live).lines().map(Result::unwrap);
    let mut told = || -> Value {
        let line = lines.find(|line| line.starts_with("data: ")).unwrap();
        serde_json::from_str(line.trim_start_matches("data: ")).unwrap()
    };
    assert_eq!(told()["has_data"], false);

    let begin = || Answer::of(client.post(server.url("/api/demo")).body(r#"{"history": "2m"}"#));
    begin().expect(202);
    begin().expect(409);
    let mut last = Value::Null;
    eventually(Duration::from_secs(30), "records are told", || {
        last = told();
        last["has_data"] == true && last["received"]["traces"].as_u64().unwrap() > 100
    });
    assert_eq!((&last["demo"], &last["refused"]), (&Value::Bool(true), &Value::from(0)));
    let ended = Answer::of(client.delete(server.url("/api/demo"))).expect(200).json();
    assert_eq!(ended["running"], false);
    assert!(server.number("SELECT count(*) FROM spans") > 100);
}

#[test]
fn admins_see_what_is_stored_what_came_in_and_what_is_asked() {
    let server = Server::start();
    server.store(Signal::Traces, Signal::Traces.small(1));
    server.send(Signal::Traces, Encoding::Protobuf, "no request".as_bytes());
    let storage = server.get("/api/admin/storage").expect(200).json();
    assert_eq!(storage["heads"][0]["signal"], "traces");
    assert!(storage["heads"][0]["rows"].as_u64().unwrap() > 0, "{storage}");

    let ingest = server.get("/api/admin/ingest").expect(200).json();
    let refused = &ingest["refused_requests"][0];
    assert_eq!(
        (&refused["reason"], &refused["signal"]),
        (&Value::from("malformed"), &Value::from("traces"))
    );
    assert!(refused["advice"].as_str().unwrap().contains("exporter"), "{refused}");
    let came = ingest["records"].as_array().unwrap().iter();
    assert!(
        came.filter(|sample| sample["signal"] == "traces")
            .all(|sample| sample["count"].as_u64() > Some(0))
    );

    let cardinality = server.get("/api/admin/cardinality").expect(200).json();
    assert!(
        cardinality["attributes"].is_array() && cardinality["metrics"].is_array(),
        "{cardinality}"
    );
    server.get("/api/admin/cardinality?attribute=resource.service.name").expect(200);
    server.get("/api/admin/cardinality?attribute=%7B").expect(400);

    let queries = server.get("/api/admin/queries").expect(200).json();
    assert!(queries["running"].as_array().unwrap().is_empty(), "{queries}");
    let client = reqwest::blocking::Client::new();
    let nobody = Answer::of(client.post(server.url("/api/admin/queries/77/cancel"))).expect(404);
    assert!(nobody.text().contains("no query 77"), "{}", nobody.text());
    let config = server.get("/api/admin/config").expect(200).json();
    assert!(config["yaml"].as_str().unwrap().contains("http:"), "{config}");
}

#[test]
fn a_query_that_runs_is_listed_and_can_be_ended() {
    let server = Server::start();
    let spans = otlp::spans("GET", 1, 1000);
    server.store(Signal::Traces, spans.encode_to_vec());
    // More than anybody waits for.
    let endless = "SELECT sum(a.duration_nanos * b.duration_nanos + c.duration_nanos) \
                   FROM spans a CROSS JOIN spans b CROSS JOIN spans c";
    let url = server.url("/api/sql");
    let asking = std::thread::spawn(move || {
        Answer::of(reqwest::blocking::Client::new().post(url).body(endless))
    });
    let mut id = String::new();
    eventually(Duration::from_secs(30), "the query is listed", || {
        let queries = server.get("/api/admin/queries").expect(200).json();
        let found =
            queries["running"].as_array().unwrap().iter().find(|query| query["kind"] == "sql");
        id = found.map(|query| query["id"].as_str().unwrap().to_owned()).unwrap_or_default();
        !id.is_empty()
    });
    let cancel = format!("/api/admin/queries/{id}/cancel");
    Answer::of(reqwest::blocking::Client::new().post(server.url(&cancel))).expect(200);
    let answer = asking.join().unwrap();
    assert!(!answer.text().contains("\"rows\":[["), "{}", answer.text());
}
