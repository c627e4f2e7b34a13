//! Deleting records for good: hidden at once, gone from every file later, over the command line and
//! the API, also when the server is killed meanwhile.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use harness::otlp::{attribute, compressed, logs, points, spans};
use harness::programs::{Ran, kymo, run};
use harness::{Answer, Random, Server, Signal, eventually, holds};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use prost::Message;
use serde_json::{Value as Json, json};

/// Long enough for a machine that compiles beside it.
const SOON: Duration = Duration::from_secs(90);
const NEEDLE: &str = "ada-needle";
/// Files that were replaced go soon.
const FLAGS: [&str; 2] = ["--store-grace", "1s"];

fn user(name: &str) -> KeyValue {
    attribute("user.id", Value::StringValue(name.to_owned()))
}

/// A trace with a span of each user; a log record and a point of each.
fn requests(number: u64, users: &[&str]) -> [(Signal, Vec<u8>); 3] {
    let count = users.len() as u64;
    let (mut traces, mut metrics, mut logs) =
        (spans("work", number, count), points(number, count), logs(number, count));
    let metric = &mut metrics.resource_metrics[0].scope_metrics[0].metrics[0];
    let Some(Data::Gauge(gauge)) = &mut metric.data else { panic!("a gauge") };
    for (nth, name) in users.iter().enumerate() {
        traces.resource_spans[0].scope_spans[0].spans[nth].attributes.push(user(name));
        logs.resource_logs[0].scope_logs[0].log_records[nth].attributes.push(user(name));
        gauge.data_points[nth].attributes.push(user(name));
    }
    [
        (Signal::Traces, traces.encode_to_vec()),
        (Signal::Metrics, metrics.encode_to_vec()),
        (Signal::Logs, logs.encode_to_vec()),
    ]
}

fn send(server: &Server, tenant: &str, number: u64, users: &[&str]) {
    for (signal, body) in requests(number, users) {
        let encoding = if number.is_multiple_of(2) { "gzip" } else { "identity" };
        let request = server
            .client
            .post(server.url(signal.path()))
            .header("content-type", "application/x-protobuf")
            .header("content-encoding", encoding)
            .header("x-scope-orgid", tenant);
        Answer::of(request.body(compressed(encoding, &body))).expect(200);
    }
}

fn delete(server: &Server, arguments: &[&str]) -> Ran {
    run(kymo().env("KYMO_URL", server.url("")).arg("delete").args(arguments))
}

fn ask(server: &Server, document: &Json) -> Answer {
    Answer::of(server.client.post(server.url("/api/delete")).body(document.to_string()))
}

/// Records of each signal that a user has.
fn counts(server: &Server, name: &str) -> [u64; 3] {
    [("spans", "span"), ("logs", "log"), ("points", "label")].map(|(table, scope)| {
        server.number(&format!("SELECT count(*) FROM {table} WHERE \"{scope}.user.id\" = '{name}'"))
    })
}

fn document(ran: &Ran) -> Json {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

fn state(server: &Server, id: &str) -> Json {
    server.get(&format!("/api/delete/{id}")).expect(200).json()
}

#[track_caller]
fn wait_until_done(server: &Server, id: &str) -> Json {
    eventually(SOON, "it is done", || state(server, id)["state"] == "done");
    state(server, id)
}

/// A server whose destination is away, so that its journal keeps everything.
fn with_a_dead_destination() -> (tempfile::TempDir, Server) {
    let place = tempfile::tempdir().unwrap();
    let config = place.path().join("kymo.yaml");
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = format!(
        "destinations:\n  - name: hub\n    protocol: http\n    endpoint: http://{address}\n"
    );
    fs::write(&config, text).unwrap();
    let flags = [&FLAGS[..], &["--config", config.to_str().unwrap()]].concat();
    let server = Server::with(&flags);
    (place, server)
}

#[test]
fn a_user_is_hidden_at_once_and_then_in_no_file() {
    let (_place, mut server) = with_a_dead_destination();
    for number in 1..=4 {
        send(&server, "default", number * 100, &["bob", NEEDLE]);
    }
    send(&server, "default", 501, &[NEEDLE]);
    send(&server, "other", 601, &[NEEDLE]);
    assert_eq!((counts(&server, NEEDLE), counts(&server, "bob")), ([5; 3], [4; 3]));
    // Into blocks, and the rest stays in memory.
    server.stop();
    server.start_again();
    send(&server, "default", 703, &["bob", NEEDLE]);
    let blocks = server.data().join("blocks");
    assert!(holds(&server.data().join("journal"), NEEDLE.as_bytes()), "a destination is behind");
    assert!(holds(&blocks.join("default"), NEEDLE.as_bytes()));

    let filter = format!("{{ span.user.id = \"{NEEDLE}\" }}");
    let looked = delete(&server, &["--where", &filter, "--dry-run", "--format", "json"]).expect(0);
    let preview = document(&looked);
    assert_eq!(preview["signals"]["traces"]["records"], 6, "{preview}");
    assert_eq!(preview["everything"], false);
    assert_eq!(counts(&server, NEEDLE), [6; 3], "to look changes nothing");

    let mut ids = Vec::new();
    let deleted =
        delete(&server, &["--where", &filter, "--yes", "--redact", "--format", "json"]).expect(0);
    ids.push(document(&deleted)["id"].as_str().unwrap().to_owned());
    assert_eq!(counts(&server, NEEDLE), [0, 6, 6], "at once");
    assert_eq!(server.search(&filter), Vec::<String>::new());
    let tags = server.tempo("/api/v2/search/tag/span.user.id/values", &[]).expect(200).text();
    assert!(tags.contains("bob") && !tags.contains(NEEDLE), "{tags}");
    for (signal, scope) in [("logs", "log"), ("metrics", "label")] {
        let condition = format!("\"{scope}.user.id\" = '{NEEDLE}'");
        let arguments =
            ["--where", &condition, "--signal", signal, "--yes", "--redact", "--format", "json"];
        let deleted = document(&delete(&server, &arguments).expect(0));
        assert_eq!(deleted["records"], 6, "{deleted}");
        ids.push(deleted["id"].as_str().unwrap().to_owned());
    }
    assert_eq!((counts(&server, NEEDLE), counts(&server, "bob")), ([0; 3], [5; 3]));

    let mut random = Random::seeded(u64::from(std::process::id()));
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(random.below(1500)));
        server.kill();
        server.start_again();
    }
    let done: Vec<Json> = ids.iter().map(|id| wait_until_done(&server, id)).collect();
    assert_eq!((counts(&server, NEEDLE), counts(&server, "bob")), ([0; 3], [5; 3]));
    assert_eq!(done[0]["where"], Json::Null, "the audit does not name the user");
    assert!(done[0]["where_hash"].as_str().unwrap().starts_with("sha256:"));
    assert_eq!(done[0]["by"], "anonymous");
    let other = server.sql_of("other", "SELECT count(*) FROM spans");
    assert_eq!(other.rows[0][0], 1, "another tenant keeps his");

    // What is left of the user is that of another tenant.
    assert!(!holds(&blocks.join("default"), NEEDLE.as_bytes()), "in a block or a log");
    assert!(!holds(&blocks.join("%erasures"), NEEDLE.as_bytes()), "in the audit");
    let listed = delete(&server, &["--list"]).expect(0).stdout;
    assert_eq!(listed.lines().filter(|line| line.contains("done")).count(), 3, "{listed}");
    let shown = delete(&server, &["--status", &ids[0]]).expect(0).stdout;
    assert!(shown.contains("bytes of blocks"), "{shown}");

    let all = json!({"where": "true", "signal": "all", "all": true});
    let request = server.client.post(server.url("/api/delete")).header("x-scope-orgid", "other");
    let id = Answer::of(request.body(all.to_string())).expect(202).json()["id"].clone();
    let of_other = || {
        let url = server.url(&format!("/api/delete/{}", id.as_str().unwrap()));
        Answer::of(server.client.get(url).header("x-scope-orgid", "other")).expect(200).json()
    };
    eventually(SOON, "the other is done", || of_other()["state"] == "done");
    assert!(!holds(&server.data(), NEEDLE.as_bytes()), "no file at all");
    // What is done is said before it is counted.
    eventually(SOON, "none is pending", || server.metric("kymo_deletions_pending", &[]) == 0.0);
    assert_eq!(counts(&server, "bob"), [5; 3]);
}

#[test]
fn a_trace_goes_whole_with_its_logs_and_from_the_archive() {
    let server = Server::with(&FLAGS);
    send(&server, "default", 100, &["bob", NEEDLE, "bob"]);
    send(&server, "default", 200, &["bob", "bob"]);
    let id = "00000000000000000000000000000065";
    let archive = server.url(&format!("/jaeger/api/archive/{id}"));
    Answer::of(server.client.post(archive)).expect(200);
    let filter = format!("{{ span.user.id = \"{NEEDLE}\" }}");
    let looked = delete(&server, &["--where", &filter, "--whole-traces", "--dry-run"]).expect(0);
    assert!(looked.stdout.contains("traces"), "{}", looked.stdout);
    let arguments = ["--where", &filter, "--whole-traces", "--yes", "--format", "json"];
    let deleted = document(&delete(&server, &arguments).expect(0));
    assert_eq!((&deleted["records"], &deleted["archived_spans"]), (&json!(3), &json!(3)));
    assert_eq!(deleted["where"], filter);
    server.get(&format!("/tempo/api/traces/{id}")).expect(404);
    assert_eq!(server.number("SELECT count(*) FROM spans"), 2);
    let done = wait_until_done(&server, deleted["id"].as_str().unwrap());
    assert_eq!(done["rows_erased"], 3, "{done}");
    assert!(!holds(&server.data().join("blocks/default/spans"), NEEDLE.as_bytes()));
    let archive = server.data().join("blocks/default/archive");
    assert!(!archive.exists() || !holds(&archive, NEEDLE.as_bytes()));
    assert_eq!(counts(&server, NEEDLE), [0, 1, 1], "logs and metrics were not asked for");
}

#[test]
fn no_more_is_deleted_than_what_was_asked_for() {
    let server = Server::with(&FLAGS);
    for number in 1..=3 {
        send(&server, "default", number * 100, &["bob", "Ada", "ada"]);
    }
    let refused = |document: Json, status: u16| {
        let answer = ask(&server, &document).expect(status);
        answer.json()["error"].as_str().unwrap().to_owned()
    };
    for (condition, signal, why) in [
        ("nothing = 1", "traces", "nothing"),
        ("name = 'x' OR", "traces", "syntax"),
        ("name IN (SELECT name FROM spans)", "traces", "one condition"),
        ("count(*) > 1", "traces", ""),
        ("value > 1", "metrics", "by series"),
        ("time > '2020-01-01'", "metrics", "by series"),
        ("random() > 0.5", "traces", ""),
    ] {
        let message = refused(json!({"where": condition, "signal": signal}), 400);
        assert!(message.contains(why), "{condition}: {message}");
    }
    // What would close the parentheses that it is put into would be free of the time beside it.
    for whole_traces in [false, true] {
        let (condition, end) = ("true) OR (true", "1970-01-02T00:00:00Z");
        let asked = json!({"where": condition, "signal": "traces", "end": end,
                           "whole_traces": whole_traces, "all": true});
        refused(asked, 400);
    }
    let message = refused(json!({"where": "{ name = \"a\" } >> { name = \"b\" }"}), 400);
    assert!(message.contains("one filter"), "{message}");
    for condition in ["true", "1 = 1", "duration_nanos >= 0"] {
        let message = refused(json!({"where": condition, "signal": "traces"}), 409);
        assert!(message.contains("all spans"), "{condition}: {message}");
    }
    assert!(refused(json!({"where": "{ }"}), 409).contains("--all"));
    let unasked = delete(&server, &["--where", "{ name = \"x\" }"]).expect(2);
    assert!(unasked.stderr.contains("--yes"), "{}", unasked.stderr);
    assert_eq!(server.count(Signal::Traces), 9, "nothing was deleted");
    assert_eq!(server.get("/api/delete").expect(200).json(), json!({"deletions": []}));
    server.get("/api/delete/00000000000000000000").expect(404);

    // The store cannot test these itself: the rows that they mean are named.
    for (condition, left) in [
        ("lower(\"span.user.id\") = 'ada' AND trace_id = '00000000000000000000000000000065'", 7),
        ("length(name) > 3 AND root_name = 'work-s0' AND \"span.user.id\" = 'Ada'", 5),
        ("trace_duration_nanos > 0 AND \"span.user.id\" IN ('ada', 'x')", 3),
    ] {
        let asked = json!({"where": condition, "signal": "traces"});
        let deleted = ask(&server, &asked).expect(202).json();
        assert_eq!(server.count(Signal::Traces), left, "{condition}: {deleted}");
    }
    assert_eq!(counts(&server, "bob"), [3; 3]);
    let start = "1970-01-01T00:00:00Z";
    let none = json!({"where": "{ }", "start": start, "end": "1970-01-02T00:00:00Z"});
    assert_eq!(ask(&server, &none).expect(202).json()["records"], 0, "nothing is of that time");
    assert_eq!(server.count(Signal::Traces), 3);
}
