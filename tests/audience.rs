//! Who is recorded: flags that are changed while records come in, over the command line and the API,
//! and OpenFeature's SDKs that ask first.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::fs;
use std::path::Path;
use std::process::Command;

use harness::otlp::{attribute, spans};
use harness::programs::{clean, kymo, run};
use harness::{Encoding, Server, Signal};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message;

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

/// Whether a file below a directory has some bytes.
fn holds(place: &Path, bytes: &[u8]) -> bool {
    fs::read_dir(place).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return holds(&path, bytes);
        }
        fs::read(path).unwrap_or_default().windows(bytes.len()).any(|window| window == bytes)
    })
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
fn openfeatures_sdks_are_told_what_admission_does() {
    let Some(clients) = std::env::var_os("KYMO_TEST_CLIENTS") else {
        eprintln!("left out: KYMO_TEST_CLIENTS is not set (scripts/clients install)");
        return;
    };
    let server = Server::start();
    audience(&server, &["create", FLAG, "--attribute", "user.id"]);
    audience(&server, &["set", FLAG, "--mode", "selected", "--user", "ada"]);
    let clients = Path::new(&clients);
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients");
    let url = server.url("");
    let contexts = [r#"{"targetingKey": "ada"}"#, r#"{"targetingKey": "bob"}"#];
    let mut python = Command::new(clients.join("python/bin/python"));
    python.arg(scripts.join("ofrep.py"));
    let mut node = Command::new("node");
    node.arg(scripts.join("ofrep.mjs"));
    for (name, command) in [("python", &mut python), ("node", &mut node)] {
        clean(command);
        command.env("KYMO_TEST_CLIENTS", clients);
        let ran = run(command.args([&url, FLAG]).args(contexts)).expect(0);
        let answers: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        let values: Vec<bool> =
            answers.as_array().unwrap().iter().map(|one| one["value"] == true).collect();
        assert_eq!(values, [true, false], "{name}: {answers}");
    }
}
