//! Flight SQL with a real client: ADBC's driver, which is there after `scripts/clients install`.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::fs;
use std::time::Duration;

use harness::programs::{clients, python, repository, run};
use harness::{Encoding, Server, Signal, eventually};

fn shop(server: &Server) {
    for (signal, file) in [(Signal::Traces, "shop_traces.jsonl"), (Signal::Logs, "shop_logs.jsonl")]
    {
        let lines = fs::read_to_string(repository("tests/sql").join(file)).unwrap();
        for line in lines.lines() {
            server.send(signal, Encoding::Json, line.as_bytes().to_vec()).expect(200);
        }
    }
}

#[test]
fn adbc_asks_finds_tables_and_writes_nothing() {
    let Some(clients) = clients("ADBC's driver of Flight SQL") else { return };
    let server = Server::start();
    shop(&server);
    let script = repository("tests/clients/flight.py");
    let url = format!("grpc://{}", server.http());
    let ran = run(python(&clients).arg(script).arg(url));
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.lines().last(), Some("done"), "{}", ran.stdout);
    assert_eq!(server.number("SELECT count(*) FROM spans"), 7);
    let ended = |outcome: &str| {
        let outcome = format!("outcome=\"{outcome}\"");
        server.metric("kymo_query_seconds_count", &["kind=\"flight_sql\"", &outcome])
    };
    assert!(ended("ok") > 0.0);
    eventually(Duration::from_secs(30), "the query that was left has ended", || {
        ended("cancelled") >= 1.0
    });
}

#[test]
fn flight_sql_is_behind_the_same_login_as_everything_else() {
    let Some(clients) = clients("logins by ADBC") else { return };
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("kymo.yaml");
    fs::write(
        &file,
        "auth: [basic]\nusers:\n  - {name: ada, password: secret, roles: [read], tenants: [team-a]}\n\
         \x20 - {name: sender, password: secret, roles: [write]}\n",
    )
    .unwrap();
    let server = Server::with(&["--config", file.to_str().unwrap()]);
    let script = repository("tests/clients/flight_login.py");
    let url = format!("grpc://{}", server.http());
    let ran = run(python(&clients).arg(script).arg(url));
    assert_eq!(ran.code, 0, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.lines().last(), Some("done"), "{}", ran.stdout);
}
