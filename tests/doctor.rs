//! `kymo doctor` against servers that are well, that are away and that speak something else.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;

use harness::Server;
use harness::programs::{Ran, kymo, run};
use serde_json::Value;

/// The command, for a server.
fn doctor(server: &Server) -> Command {
    let mut command = kymo();
    command.args(["doctor", "--format", "json", "--url", &server.url("")]);
    command.args(["--directory", &server.place().display().to_string()]);
    command
}

/// The checks of one kind: state and all that is said.
fn found(ran: &Ran, check: &str) -> Vec<(String, String)> {
    let document: Value = serde_json::from_str(&ran.stdout).unwrap();
    let of = document["checks"].as_array().unwrap().iter().filter(|found| found["check"] == check);
    of.map(|found| {
        let text = |key: &str| found[key].as_str().unwrap_or_default().to_owned();
        (text("state"), format!("{}: {}", text("found"), text("advice")))
    })
    .collect()
}

#[track_caller]
fn assert_found(ran: &Ran, check: &str, state: &str, words: &[&str]) {
    let all = found(ran, check);
    let is_it =
        |(is, said): &(String, String)| is == state && words.iter().all(|word| said.contains(word));
    assert!(all.iter().any(is_it), "{check} {state} {words:?} in {all:?}");
}

#[test]
fn a_server_that_is_well_is_told_as_such_and_a_test_record_arrives() {
    let server = Server::start();
    for (variable, address) in [
        ("KYMO_OTLP_ENDPOINT", server.otlp_grpc()),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", server.otlp_http()),
    ] {
        let mut command = doctor(&server);
        command.env(variable, format!("http://{address}")).arg("--send");
        if variable.starts_with("OTEL") {
            command.env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
        }
        let ran = run(&mut command).expect(0);
        assert_found(&ran, "endpoint", "ok", &[variable]);
        assert_found(&ran, "connection", "ok", &[]);
        for items in ["spans", "metrics", "log records"] {
            assert_found(&ran, "accepted", "ok", &[items]);
        }
        assert_found(&ran, "arrived", "ok", &["kymo trace "]);
        assert_found(&ran, "clock", "ok", &[]);
        assert_found(&ran, "data", "warning", &["nothing came"]);
    }
    let services = server.sql("SELECT DISTINCT \"resource.service.name\" FROM spans");
    assert_eq!(services.texts(), ["kymo-doctor"]);
    assert_eq!(server.sql("SELECT * FROM logs").rows.len(), 2);
    assert_eq!(server.sql("SELECT * FROM points").rows.len(), 2);
}

#[test]
fn without_send_nothing_is_left_behind_and_lines_are_for_people() {
    let server = Server::start();
    let mut command = kymo();
    command.args(["doctor", "--url", &server.url("")]);
    command.args(["--endpoint", &format!("http://{}", server.otlp_grpc())]);
    command.args(["--directory", &server.place().display().to_string()]);
    let ran = run(&mut command).expect(0);
    assert!(ran.stdout.contains("accepted    spans: "), "{}", ran.stdout);
    assert!(ran.stdout.lines().last().unwrap().starts_with("nothing failed"), "{}", ran.stdout);
    assert_eq!(server.sql("SELECT * FROM spans").rows.len(), 0);
}

/// A server of OTLP that speaks nothing but HTTP/1.1.
fn http_only() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut start = [0; 4096];
            let count = stream.read(&mut start).unwrap_or_default();
            let status =
                if start[..count].starts_with(b"POST /v1/") { "200 OK" } else { "400 Bad Request" };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
        }
    });
    address
}

/// A server of OTLP that speaks nothing but gRPC, and wants to know who sends if told so.
fn grpc_only(status: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let answer = hyper::service::service_fn(move |_| async move {
                    let head = http::Response::builder()
                        .header("content-type", "application/grpc")
                        .header("grpc-status", status);
                    head.body(http_body_util::Empty::<bytes::Bytes>::new())
                });
                let io = hyper_util::rt::TokioIo::new(stream);
                let server =
                    hyper::server::conn::http2::Builder::new(hyper_util::rt::TokioExecutor::new());
                tokio::spawn(server.serve_connection(io, answer));
            }
        });
    });
    address
}

#[test]
fn the_wrong_protocol_for_a_port_is_named_both_ways() {
    let server = Server::start();
    let at = |address: SocketAddr, protocol: &str| {
        let mut command = doctor(&server);
        run(command.args(["--protocol", protocol, "--endpoint", &format!("http://{address}")]))
    };
    let (http, grpc) = (http_only(), grpc_only("0"));
    at(http, "http/protobuf").expect(0);
    at(grpc, "grpc").expect(0);
    let ran = at(http, "grpc").expect(1);
    assert_found(&ran, "accepted", "failed", &["this port speaks HTTP", "http/protobuf"]);
    let ran = at(grpc, "http/protobuf").expect(1);
    assert_found(&ran, "accepted", "failed", &["this port speaks gRPC", "PROTOCOL=grpc"]);
    let ran = at(grpc_only("16"), "grpc").expect(1);
    assert_found(&ran, "accepted", "failed", &["OTEL_EXPORTER_OTLP_HEADERS"]);
}

#[test]
fn nobody_there_and_a_name_that_nobody_has_fail() {
    let server = Server::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    let mut command = doctor(&server);
    let ran = run(command.args(["--endpoint", &format!("http://{closed}")])).expect(1);
    assert_found(&ran, "connection", "failed", &["connection refused", "kymo serve"]);
    assert!(found(&ran, "accepted").is_empty());

    let ran = run(doctor(&server).args(["--endpoint", "http://no-such-host.invalid:4317"]));
    assert_found(&ran.expect(1), "name", "failed", &["no-such-host.invalid"]);
}

#[test]
fn what_turns_telemetry_off_fails_and_no_secret_is_shown() {
    let server = Server::start();
    let config = server.place().join("service.yaml");
    std::fs::write(&config, "telemetry: {enabled: false, service_name: a}\n").unwrap();
    let endpoint = format!("http://user:hunter2@{}", server.otlp_http());
    let mut command = doctor(&server);
    command.args(["--config", &config.display().to_string(), "--protocol", "http/json"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2");
    command.env("OTEL_TRACES_SAMPLER", "always_off").env("OTEL_LOGS_EXPORTER", "none");
    command.env("TRACEPARENT", "00-0-0-0");
    let ran = run(&mut command).expect(1);
    assert_found(&ran, "enabled", "failed", &["enabled: true"]);
    assert_found(&ran, "sampler", "failed", &["always_off"]);
    assert_found(&ran, "endpoint", "warning", &["OTEL_LOGS_EXPORTER"]);
    assert_found(&ran, "traceparent", "warning", &[]);
    assert!(!ran.stdout.contains("hunter2"), "{}", ran.stdout);

    std::fs::write(&config, "telemetry: {enbled: true}\n").unwrap();
    let mut command = doctor(&server);
    let ran = run(command.args(["--config", &config.display().to_string()])).expect(1);
    assert_found(&ran, "config", "failed", &["enbled"]);
    let ran = run(doctor(&server).env("OTEL_EXPORTER_OTLP_PROTOCOL", "smoke")).expect(1);
    assert_found(&ran, "endpoint", "failed", &["OTEL_EXPORTER_OTLP_PROTOCOL", "smoke"]);
}

#[test]
fn another_backend_than_ours_is_a_warning_only() {
    let server = Server::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = listener.local_addr().unwrap();
    drop(listener);
    let mut command = kymo();
    command.args(["doctor", "--format", "json", "--url", &format!("http://{closed}")]);
    command.args(["--endpoint", &format!("http://{}", server.otlp_grpc())]);
    command.args(["--directory", &server.place().display().to_string()]);
    let ran = run(&mut command).expect(0);
    assert_found(&ran, "server", "warning", &["cannot reach"]);
}
