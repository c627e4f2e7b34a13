//! Forwarding, storing, or both; chains of servers; rules; destinations that are away.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use harness::otlp::{attribute, spans};
use harness::programs::{kymo, run};
use harness::{Encoding, Server, Signal, eventually};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message;
use tempfile::TempDir;

/// Long enough for a machine that compiles beside it.
const SOON: Duration = Duration::from_secs(60);

/// A configuration in a directory of its own.
struct Config {
    _place: TempDir,
    path: PathBuf,
}

impl Config {
    fn new(text: &str) -> Self {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("kymo.yaml");
        fs::write(&path, text).unwrap();
        Self { _place: place, path }
    }

    fn server(&self) -> Server {
        Server::with(&["--config", self.path.to_str().unwrap()])
    }
}

fn to(sink: SocketAddr, protocol: &str, more: &str) -> String {
    format!(
        "destinations:\n  - name: hub\n    protocol: {protocol}\n    endpoint: http://{sink}\n    \
         retry: {{first: 20ms, longest: 200ms}}\n{more}"
    )
}

/// A request of some spans with a name.
fn request(name: &str, number: u64, count: u64) -> Vec<u8> {
    spans(name, 1000 * number, count).encode_to_vec()
}

fn send(server: &Server, body: Vec<u8>) {
    server.send(Signal::Traces, Encoding::Protobuf, body).expect(200);
}

/// What a server has of a name.
fn count(server: &Server, name: &str) -> u64 {
    server.number(&format!("SELECT count(*) FROM spans WHERE name LIKE '{name}-%'"))
}

/// The names of the blocks that a store has.
fn blocks(data: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut dirs = vec![data.join("blocks")];
    while let Some(dir) = dirs.pop() {
        let Ok(entries) = fs::read_dir(dir) else { continue };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if path.extension().is_some_and(|extension| extension == "parquet") {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_follower_forwards_everything_to_its_leader_and_keeps_nothing() {
    for protocol in ["grpc", "http"] {
        let leader = Server::start();
        let sink = if protocol == "grpc" { leader.otlp_grpc() } else { leader.otlp_http() };
        let config = Config::new(&format!("store: {{enabled: false}}\n{}", to(sink, protocol, "")));
        let follower = config.server();
        for number in 0..20 {
            send(&follower, request("through", number, 5));
        }
        follower.store(Signal::Metrics, Signal::Metrics.small(1));
        follower.store(Signal::Logs, Signal::Logs.small(1));
        eventually(SOON, "all spans are there", || count(&leader, "through") == 100);
        eventually(SOON, "all points are there", || leader.count(Signal::Metrics) > 0);
        eventually(SOON, "all logs are there", || leader.count(Signal::Logs) > 0);
        let refused = follower.ask("SELECT 1", "application/json").expect(404);
        assert!(refused.text().contains("store.enabled"), "{}", refused.text());
        let status = follower.get("/api/destinations").expect(200).json();
        assert_eq!(status["destinations"][0]["name"], "hub");
        assert!(
            follower.metric("kymo_destination_sent_requests_total", &["destination=\"hub\""]) > 0.0
        );
    }
}

#[test]
fn a_hybrid_keeps_and_forwards_and_its_rules_hold_for_both() {
    let leader = Server::start();
    let rules = "rules:\n  - {name: noise, signals: [traces], where: 'name =~ \"noise-.*\"', drop: true}\n  \
                 - {insert: {resource.system: graphistry}}\n";
    let config = Config::new(&to(leader.otlp_grpc(), "grpc", rules));
    let hybrid = config.server();
    send(&hybrid, request("noise", 1, 3));
    send(&hybrid, request("kept", 2, 4));
    for server in [&hybrid, &leader] {
        eventually(SOON, "what is kept is there", || count(server, "kept") == 4);
        assert_eq!(count(server, "noise"), 0);
        let system = "SELECT count(*) FROM spans WHERE \"resource.system\" = 'graphistry'";
        assert_eq!(server.number(system), 4);
    }
}

#[test]
fn routes_send_what_their_conditions_say() {
    let leader = Server::start();
    let routes = "    routes:\n      - {signal: traces, where: 'name =~ \"wan.*\"'}\n";
    let config = Config::new(&to(leader.otlp_grpc(), "grpc", routes));
    let hybrid = config.server();
    send(&hybrid, request("unwanted", 1, 2));
    hybrid.store(Signal::Logs, Signal::Logs.small(1));
    send(&hybrid, request("wanted", 2, 3));
    eventually(SOON, "what is wanted is there", || count(&leader, "wanted") == 3);
    assert_eq!((count(&leader, "unwanted"), leader.count(Signal::Logs)), (0, 0));
}

#[test]
fn a_destination_that_was_away_gets_everything_also_after_a_kill() {
    let mut leader = Server::start();
    let sink = leader.otlp_grpc();
    leader.set_flag("--otlp-grpc", &sink.to_string());
    let config = Config::new(&format!("store: {{enabled: false}}\n{}", to(sink, "grpc", "")));
    let mut follower = config.server();
    send(&follower, request("before", 1, 5));
    eventually(SOON, "the first are there", || count(&leader, "before") == 5);
    leader.stop();
    for number in 0..30 {
        send(&follower, request("meanwhile", 100 + number, 10));
    }
    follower.kill();
    follower.start_again();
    for number in 0..10 {
        send(&follower, request("meanwhile", 200 + number, 10));
    }
    // Nothing is stored of what waits, neither at a start after a kill nor at one after an end.
    assert_eq!(blocks(&follower.data()), [""; 0]);
    follower.stop();
    follower.start_again();
    assert_eq!(blocks(&follower.data()), [""; 0]);
    leader.start_again();
    let distinct = "SELECT count(DISTINCT span_id) FROM spans WHERE name LIKE 'meanwhile-%'";
    eventually(SOON, "the rest is there", || leader.number(distinct) == 400);
    // What was taken a moment before the kill may come twice.
    let before = "SELECT count(DISTINCT span_id) FROM spans WHERE name LIKE 'before-%'";
    assert_eq!(leader.number(before), 5);
}

#[test]
fn a_store_that_is_switched_off_keeps_what_it_had() {
    let leader = Server::start();
    let mut server = Server::start();
    send(&server, request("early", 1, 5));
    assert_eq!(count(&server, "early"), 5);
    server.stop();
    assert!(!blocks(&server.data()).is_empty(), "what is stored is in blocks");
    let config =
        Config::new(&format!("store: {{enabled: false}}\n{}", to(leader.otlp_grpc(), "grpc", "")));
    server.add_flags(&["--config", config.path.to_str().unwrap()]);
    server.start_again();
    send(&server, request("late", 2, 5));
    eventually(SOON, "it is forwarded", || count(&leader, "late") == 5);
    server.stop();
    server.add_flags(&["--store-enabled", "true"]);
    server.start_again();
    assert_eq!(count(&server, "early"), 5);
}

#[test]
fn no_credential_of_a_destination_is_shown() {
    // Connections are taken and nothing is answered.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let more = "    timeout: 100ms\n    basic: {username: me, password: hunter2}\n    \
                headers: {x-key: k3y-of-ours}\n";
    let config = Config::new(&to(silent.local_addr().unwrap(), "http", more));
    let mut server = config.server();
    send(&server, request("waiting", 1, 1));
    eventually(SOON, "a try has failed", || {
        let status = server.get("/api/destinations").expect(200).json();
        !status["destinations"][0]["last_error"].is_null()
    });
    let path = config.path.to_str().unwrap();
    let url = server.url("");
    let told = [
        server.get("/api/destinations").expect(200).text(),
        server.get("/metrics").expect(200).text(),
        run(kymo().args(["destinations", "--url", &url])).expect(0).stdout,
        run(kymo().args(["config", "show", "--config", path])).expect(0).stdout,
    ];
    server.stop();
    let shown = format!("{}\n{}", told.join("\n"), server.log_to_the_end());
    assert!(shown.contains("hub") && shown.contains("not sent, will be tried again"), "{shown}");
    for secret in ["hunter2", "k3y-of-ours", "aHVudGVy"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn a_file_gets_lines_that_can_be_read_again() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("out.jsonl");
    let text = format!(
        "destinations:\n  - {{name: log, protocol: file, path: {}, rotate: {{max_size: 1MiB}}}}\n",
        path.display()
    );
    let server = Config::new(&text).server();
    let mut request = spans("written", 1, 2);
    let span = &mut request.resource_spans[0].scope_spans[0].spans[0];
    span.attributes.push(attribute("quote", Value::StringValue("\"".to_owned())));
    send(&server, request.encode_to_vec());
    eventually(SOON, "a line is there", || {
        fs::read_to_string(&path).is_ok_and(|text| text.ends_with('\n'))
    });
    let other = Server::start();
    let line = fs::read_to_string(&path).unwrap();
    other.send(Signal::Traces, Encoding::Json, line.trim()).expect(200);
    assert_eq!(count(&other, "written"), 2);
}

#[test]
fn nothing_is_recorded_where_graphistrys_switch_is_off() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("telemetry.env");
    fs::write(&path, "ENABLE_OPEN_TELEMETRY=false\nOTEL_COMPOSE_FILE=telemetry.yml\n").unwrap();
    let server = Server::with(&["--env-file", path.to_str().unwrap()]);
    send(&server, request("unseen", 1, 5));
    assert_eq!(count(&server, "unseen"), 0);
    assert_eq!(server.stderr().matches("nothing is recorded").count(), 1, "{}", server.stderr());
}

#[test]
fn parts_that_are_off_say_so() {
    let server = Server::with(&["--no-api-tempo", "--no-page", "--api-ofrep=false"]);
    for (path, key) in [
        ("/tempo/api/search", "api.tempo.enabled"),
        ("/ofrep/v1/evaluate/flags", "api.ofrep.enabled"),
    ] {
        let answer = server.get(path).expect(404);
        assert!(answer.text().contains(key), "{}", answer.text());
    }
    server.get("/jaeger/api/services").expect(200);
    server.get("/").expect(404);
}
