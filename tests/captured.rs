//! Requests captured from real programs, sent again over HTTP and gRPC: every record comes back.
//!
//! `KYMO_TEST_DATA` names a directory. In it and below, a file `….traces.pb`, `….metrics.pb` or
//! `….logs.pb` is a request in protobuf; the `.json` beside it is the same as text.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::path::{Path, PathBuf};

use harness::h2::{call, framed};
use harness::otlp::compressed;
use harness::programs::left_out;
use harness::readback::{check_logs, check_metrics, check_traces};
use harness::{Answer, Encoding, Server, Signal};
use prost::Message;

/// A captured request.
struct Captured {
    path: PathBuf,
    signal: Signal,
    body: Vec<u8>,
}

fn captured() -> Vec<Captured> {
    let Some(dir) = std::env::var_os("KYMO_TEST_DATA").filter(|dir| !dir.is_empty()) else {
        left_out("captured requests (KYMO_TEST_DATA names no directory)");
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut dirs = vec![PathBuf::from(dir)];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                dirs.push(path);
            } else if let Some(signal) = signal_of(&path) {
                let body = std::fs::read(&path).unwrap();
                found.push(Captured { path, signal, body });
            }
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    assert!(!found.is_empty(), "KYMO_TEST_DATA has no requests");
    found
}

fn signal_of(path: &Path) -> Option<Signal> {
    let name = path.file_name()?.to_str()?;
    Signal::ALL.into_iter().find(|signal| {
        let word = signal.path().trim_start_matches("/v1/");
        name.ends_with(&format!(".{word}.pb"))
    })
}

/// Compares a request with what is stored; how many records it has.
#[track_caller]
fn check(server: &Server, request: &Captured) -> u64 {
    let body = request.body.as_slice();
    match request.signal {
        Signal::Traces => check_traces(server, &Message::decode(body).unwrap()),
        Signal::Metrics => check_metrics(server, &Message::decode(body).unwrap()),
        Signal::Logs => check_logs(server, &Message::decode(body).unwrap()),
    }
}

/// Sends all of them one way, and checks that they are there, before and after a restart.
fn replay(send: impl Fn(&Server, &Captured)) {
    let requests = captured();
    if requests.is_empty() {
        return;
    }
    let mut server = Server::start();
    for request in &requests {
        send(&server, request);
    }
    for is_restarted in [false, true] {
        if is_restarted {
            server.stop();
            server.start_again();
        }
        for signal in Signal::ALL {
            let of_signal = requests.iter().filter(|request| request.signal == signal);
            let records: u64 = of_signal.map(|request| check(&server, request)).sum();
            assert_eq!(server.count(signal), records, "{signal:?}");
        }
    }
}

#[test]
fn captured_requests_come_back_from_http() {
    replay(|server, request| server.store(request.signal, request.body.clone()));
}

#[test]
fn captured_requests_come_back_from_http_as_json() {
    replay(|server, request| {
        let body = request.signal.to_json(&request.body);
        let answer = server.send(request.signal, Encoding::Json, body);
        assert_eq!(answer.expect(200).text(), "{}", "{}", request.path.display());
    });
}

#[test]
fn captured_requests_come_back_from_grpc() {
    replay(|server, request| {
        let message = framed(true, &compressed("gzip", &request.body));
        let headers = [("grpc-encoding", "gzip")];
        let answer = call(server.otlp_grpc(), request.signal.method(), &headers, message);
        assert_eq!(answer.expect(0).body, b"", "{}", request.path.display());
    });
}

#[test]
fn captured_requests_sent_again_are_stored_once() {
    replay(|server, request| {
        for _ in 0..2 {
            server.store(request.signal, request.body.clone());
        }
        let twice = server.request(request.signal, Encoding::Protobuf, request.body.clone());
        Answer::of(twice).expect(200);
    });
}
