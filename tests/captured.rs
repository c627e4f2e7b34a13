//! Requests captured from real programs, sent again over HTTP and gRPC: every record comes back.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use harness::captured::{Captured, captured};
use harness::h2::{call, framed};
use harness::otlp::compressed;
use harness::readback::{check_logs, check_metrics, check_traces};
use harness::{Answer, Encoding, Server, Signal};
use prost::Message;

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
