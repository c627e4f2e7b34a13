//! Who is recorded: flags that are changed while records come in, over the command line and the API,
//! and OpenFeature's SDKs that ask first.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::fs;
use std::time::Duration;

use harness::metrics::{START, write};
use harness::otlp::{COMPRESSIONS, attribute, compressed, logs, points, spans};
use harness::programs::{clients, kymo, node, python, repository, run};
use harness::{Answer, Encoding, Server, Signal, eventually, holds};
use kymo_wire::remote_write::RequestWriter;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use prost::Message;
use serde_json::json;

const FLAG: &str = "flag_ot_traces";

fn audience(server: &Server, arguments: &[&str]) -> String {
    let mut command = kymo();
    command.env("KYMO_URL", server.url("")).arg("audience").args(arguments);
    run(&mut command).expect(0).stdout
}

/// Sends spans of a user; each has a trace of its own.
fn send(server: &Server, user: &str, number: u64) {
    let mut request = spans("work", number, 3);
    for span in &mut request.resource_spans[0].scope_spans[0].spans {
        span.attributes.push(attribute("user.id", Value::StringValue(user.to_owned())));
    }
    server.send(Signal::Traces, Encoding::Protobuf, request.encode_to_vec()).expect(200);
}

fn count(server: &Server, user: &str) -> u64 {
    server.number(&format!("SELECT count(*) FROM spans WHERE \"span.user.id\" = '{user}'"))
}

#[test]
fn a_flag_decides_at_once_and_after_a_restart() {
    let mut server = Server::start();
    send(&server, "ada", 1);
    assert_eq!(count(&server, "ada"), 3, "without a flag everybody is recorded");
    audience(&server, &["create", FLAG, "--attribute", "user.id"]);
    send(&server, "excluded-one", 2);
    audience(&server, &["set", FLAG, "--mode", "selected", "--user", "ada"]);
    send(&server, "ada", 3);
    send(&server, "excluded-two", 4);
    server.stop();
    server.start_again();
    send(&server, "excluded-three", 5);
    send(&server, "ada", 6);
    assert_eq!(count(&server, "ada"), 9);
    audience(&server, &["set", FLAG, "--mode", "everybody"]);
    send(&server, "included", 7);
    assert_eq!(count(&server, "included"), 3);
    let audit = audience(&server, &["audit"]);
    assert!(audit.contains(FLAG) && audit.contains("anonymous"), "{audit}");
    server.stop();
    assert!(!holds(&server.data(), b"excluded-"), "an excluded user is on disk");
    assert!(!server.stderr().contains("excluded-"), "an excluded user is in the log");
}

#[test]
fn what_is_imported_is_decided_by_the_flags_of_the_store() {
    let mut server = Server::start();
    audience(&server, &["create", FLAG]);
    audience(&server, &["set", FLAG, "--mode", "selected", "--user", "ada"]);
    server.stop();
    let file = server.place().join("requests.jsonl");
    let line = |name, number| {
        let [(signal, body), ..] = named(name, number);
        signal.to_json(&body)
    };
    fs::write(&file, [line("excluded-user", 10), b"\n".into(), line("ada", 20)].concat()).unwrap();
    let data = server.data();
    let ran = run(kymo().arg("import").arg(&file).arg("--data").arg(&data)).expect(0);
    assert!(ran.stdout.contains("audience"), "{}", ran.stdout);
    fs::remove_file(&file).unwrap();
    assert!(!holds(&data, b"excluded-"), "an excluded user is on disk");
    server.start_again();
    assert_eq!(count(&server, "ada"), 1);
    assert_eq!(server.number("SELECT count(*) FROM spans"), 1);
}

#[test]
fn openfeatures_sdks_are_told_what_admission_does() {
    let Some(clients) = clients("OpenFeature's SDKs") else { return };
    let server = Server::start();
    audience(&server, &["create", FLAG, "--attribute", "user.id"]);
    audience(&server, &["set", FLAG, "--mode", "selected", "--user", "ada"]);
    let scripts = repository("tests/clients");
    let url = server.url("");
    let contexts = [r#"{"targetingKey": "ada"}"#, r#"{"targetingKey": "bob"}"#];
    let (mut python, mut node) = (python(&clients), node(&clients));
    python.arg(scripts.join("ofrep.py"));
    node.arg(scripts.join("ofrep.mjs"));
    for (name, command) in [("python", &mut python), ("node", &mut node)] {
        let ran = run(command.args([&url, FLAG]).args(contexts)).expect(0);
        let answers: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let values: Vec<bool> =
            answers.as_array().unwrap().iter().map(|one| one["value"] == true).collect();
        assert_eq!(values, [true, false], "{name}: {answers}");
    }
}

fn user(name: &str) -> KeyValue {
    attribute("user.id", Value::StringValue(name.to_owned()))
}

/// A request of each signal in which a user is named.
fn named(name: &str, number: u64) -> [(Signal, Vec<u8>); 3] {
    let mut traces = spans("work", number, 1);
    traces.resource_spans[0].scope_spans[0].spans[0].attributes.push(user(name));
    let mut metrics = points(number, 1);
    let metric = &mut metrics.resource_metrics[0].scope_metrics[0].metrics[0];
    let Some(Data::Gauge(gauge)) = &mut metric.data else { panic!("a gauge") };
    gauge.data_points[0].attributes.push(user(name));
    let mut logs = logs(number, 1);
    logs.resource_logs[0].scope_logs[0].log_records[0].attributes.push(user(name));
    [
        (Signal::Traces, traces.encode_to_vec()),
        (Signal::Metrics, metrics.encode_to_vec()),
        (Signal::Logs, logs.encode_to_vec()),
    ]
}

/// A series of a user, by remote-write.
fn write_series(server: &Server, name: &str) {
    let mut writer = RequestWriter::new();
    writer.series([("__name__", "logins"), ("user_id", name)], None, |series| {
        series.sample(1.0, START * 1000, 0);
    });
    assert!(write(server, 2, &writer.finish()).status < 300);
}

#[test]
fn of_an_excluded_user_no_byte_is_kept_in_any_signal_or_encoding() {
    let place = tempfile::tempdir().unwrap();
    let (config, sent) = (place.path().join("kymo.yaml"), place.path().join("sent.jsonl"));
    let text =
        format!("destinations:\n  - {{name: out, protocol: file, path: {}}}\n", sent.display());
    fs::write(&config, text).unwrap();
    let server = Server::with(&["--config", config.to_str().unwrap(), "--log-level", "debug"]);
    audience(&server, &["create", FLAG]);
    audience(&server, &["set", FLAG, "--mode", "selected", "--regex", "included-.*"]);
    let mut number = 0;
    for name in ["excluded-user", "included-user"] {
        for compression in COMPRESSIONS {
            for encoding in [Encoding::Protobuf, Encoding::Json] {
                number += 10;
                for (signal, body) in named(name, number) {
                    let body = match encoding {
                        Encoding::Protobuf => body,
                        Encoding::Json => signal.to_json(&body),
                    };
                    let request = server.request(signal, encoding, compressed(compression, &body));
                    Answer::of(request.header("content-encoding", compression)).expect(200);
                }
            }
        }
        write_series(&server, name);
    }
    // What is refused is not told to the log either.
    let wrong = r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "excluded-time"}]}]}]}"#;
    server.send(Signal::Logs, Encoding::Json, wrong).expect(400);
    eventually(Duration::from_secs(60), "the destination has what is included", || {
        fs::read(&sent).is_ok_and(|bytes| {
            bytes.windows(14).filter(|window| window == b"included-user\"").count() >= 24
        })
    });
    // The journal has requests as they came, so that what is looked for could be found.
    assert!(holds(&server.data(), b"included-user"), "what is kept is not found");
    assert!(!holds(&server.data(), b"excluded-"), "an excluded user is on disk");
    assert!(!holds(place.path(), b"excluded-"), "an excluded user is at a destination");
    let log = server.stderr();
    assert!(log.contains("a request was refused"), "{log}");
    assert!(!log.contains("excluded-") && !log.contains("included-"), "a user is in the log");
    assert_eq!(server.number("SELECT count(*) FROM spans"), 8);
    assert_eq!(server.number("SELECT count(*) FROM logs"), 8);
}

#[test]
fn admins_have_a_page_that_asks_the_api_of_its_own_origin_alone() {
    let server = Server::start();
    let page = server.get("/admin/audience").expect(200);
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let policy = page.header("content-security-policy");
    assert!(policy.contains("script-src 'self'") && !policy.contains("unsafe"), "{policy}");
    // As its script asks, and as a page of somebody else would.
    let client = reqwest::blocking::Client::new();
    let create = |site: &str, origin: &str| {
        let request = client.post(server.url("/api/audience/flags"));
        let request = request.header("sec-fetch-site", site).header("origin", origin);
        Answer::of(request.body(json!({ "key": FLAG }).to_string()))
    };
    create("cross-site", "https://elsewhere.example").expect(403);
    create("same-origin", &server.url("")).expect(201);
    assert_eq!(server.get("/api/audience/flags").expect(200).json()["flags"][0]["key"], FLAG);

    let off = Server::with(&["--page", "false"]);
    let text = off.get("/admin/audience").expect(404).text();
    assert!(text.contains("page.enabled"), "{text}");
    off.get("/api/audience/flags").expect(200);
}
