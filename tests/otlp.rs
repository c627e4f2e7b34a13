//! OTLP over real sockets: what the specification asks of a receiver, on every port.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use harness::h2::{call, exchange, framed, request};
use harness::otlp::{COMPRESSIONS, RECORDS, compressed, rich_logs, rich_metrics, rich_traces};
use harness::raw::{Raw, post};
use harness::readback::{check_logs, check_metrics, check_traces};
use harness::{Encoding, Server, Signal};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

const PROTOBUF: &str = "application/x-protobuf";

#[test]
fn every_signal_is_taken_on_every_port_in_every_protocol_and_compression() {
    let server = Server::start();
    let mut number = 0;
    for port in server.ports() {
        for signal in Signal::ALL {
            for name in COMPRESSIONS {
                number += 1;
                let body = compressed(name, &signal.small(number));
                let is_compressed = name != "identity";
                let message = framed(is_compressed, &body);
                call(port, signal.method(), &[("grpc-encoding", name)], message).expect(0);

                for encoding in [Encoding::Protobuf, Encoding::Json] {
                    number += 1;
                    let body = match encoding {
                        Encoding::Protobuf => signal.small(number),
                        Encoding::Json => signal.to_json(&signal.small(number)),
                    };
                    let url = format!("http://{port}{}", signal.path());
                    let mut request = server.client.post(url);
                    request = request.header("content-type", encoding.content_type());
                    if is_compressed {
                        request = request.header("content-encoding", name);
                    }
                    let answer = harness::Answer::of(request.body(compressed(name, &body)));
                    let answer = answer.expect(200);
                    assert_eq!(answer.header("content-type"), encoding.content_type());
                    let expected = if encoding == Encoding::Json { "{}" } else { "" };
                    assert_eq!(answer.text(), expected);
                }
            }
        }
    }
    let requests_each = number / 3;
    for signal in Signal::ALL {
        assert_eq!(server.count(signal), requests_each * RECORDS, "{signal:?}");
    }
}

#[test]
fn every_field_comes_back_from_every_protocol() {
    let server = Server::start();
    let over_protobuf = rich_traces(1);
    server.store(Signal::Traces, over_protobuf.encode_to_vec());
    let over_json = rich_traces(u128::MAX);
    let body = Signal::Traces.to_json(&over_json.encode_to_vec());
    server.send(Signal::Traces, Encoding::Json, body).expect(200);
    let over_grpc = rich_traces(2);
    let message = framed(false, &over_grpc.encode_to_vec());
    call(server.otlp_grpc(), Signal::Traces.method(), &[], message).expect(0);
    for sent in [over_protobuf, over_json, over_grpc] {
        assert_eq!(check_traces(&server, &sent), 2);
    }
    assert_eq!(server.count(Signal::Traces), 3 * 2);

    server.store(Signal::Logs, rich_logs().encode_to_vec());
    assert_eq!(check_logs(&server, &rich_logs()), 2);
    server.store(Signal::Metrics, rich_metrics().encode_to_vec());
    assert_eq!(check_metrics(&server, &rich_metrics()), 4);
}

/// A request with three spans, one of them with an id that is none.
fn one_bad_of_three(number: u64) -> ExportTraceServiceRequest {
    let mut request = harness::otlp::spans("partly", number << 16, 3);
    request.resource_spans[0].scope_spans[0].spans[1].span_id = vec![1, 2, 3];
    request
}

#[test]
fn bad_records_are_refused_with_number_and_reason_and_good_ones_kept() {
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
    let server = Server::start();
    let answer =
        server.send(Signal::Traces, Encoding::Protobuf, one_bad_of_three(1).encode_to_vec());
    let answer = ExportTraceServiceResponse::decode(&*answer.expect(200).body).unwrap();
    let partial = answer.partial_success.unwrap();
    assert_eq!(partial.rejected_spans, 1);
    assert!(partial.error_message.contains("id"), "{}", partial.error_message);

    let json = Signal::Traces.to_json(&one_bad_of_three(2).encode_to_vec());
    let answer = server.send(Signal::Traces, Encoding::Json, json).expect(200).json();
    let partial = &answer["partialSuccess"];
    assert_eq!(partial["rejectedSpans"], "1", "{answer}");
    assert!(partial["errorMessage"].as_str().unwrap().contains("id"), "{answer}");

    let message = framed(false, &one_bad_of_three(3).encode_to_vec());
    let answer = call(server.otlp_grpc(), Signal::Traces.method(), &[], message).expect(0);
    let answer = ExportTraceServiceResponse::decode(&*answer.body).unwrap();
    assert_eq!(answer.partial_success.unwrap().rejected_spans, 1);

    assert_eq!(server.count(Signal::Traces), 3 * 2);
    assert_eq!(server.metric("kymo_refused_records_total", &["signal=\"traces\""]), 3.0);
}

#[test]
fn records_of_1970_are_taken_and_of_the_far_future_refused() {
    let server = Server::start();
    let mut old = harness::otlp::logs(1, 2);
    old.resource_logs[0].scope_logs[0].log_records[0].time_unix_nano = 1;
    server.store(Signal::Logs, old.encode_to_vec());
    assert_eq!(server.number("SELECT count(*) FROM logs WHERE time < '1971-01-01'"), 1);

    let mut future = harness::otlp::logs(2, 2);
    // 2200-01-01.
    future.resource_logs[0].scope_logs[0].log_records[0].time_unix_nano = 7_258_118_400_000_000_000;
    let answer =
        server.send(Signal::Logs, Encoding::Json, Signal::Logs.to_json(&future.encode_to_vec()));
    let answer = answer.expect(200).json();
    assert_eq!(answer["partialSuccess"]["rejectedLogRecords"], "1", "{answer}");
    assert_eq!(server.count(Signal::Logs), 3);
}

#[test]
fn what_cannot_be_decoded_is_refused_and_nothing_of_it_is_stored() {
    let server = Server::start();
    for signal in Signal::ALL {
        let good = signal.small(1);
        let cut = &good[..good.len() - 1];
        let json = signal.to_json(&good);
        let cut_json = &json[..json.len() - 2];
        let bodies: [(Encoding, &[u8]); 7] = [
            (Encoding::Protobuf, b"\xff\xff\xff\xff"),
            (Encoding::Protobuf, b"<html>"),
            (Encoding::Protobuf, cut),
            (Encoding::Json, b"{"),
            (Encoding::Json, b"{\"resourceSpans\":5,\"resourceLogs\":5,\"resourceMetrics\":5}"),
            (Encoding::Json, cut_json),
            (Encoding::Json, b"\xff\xfe"),
        ];
        for (encoding, body) in bodies {
            let answer = server.send(signal, encoding, body).expect(400);
            assert_eq!(answer.header("content-type"), encoding.content_type());
            let status = match encoding {
                Encoding::Protobuf => {
                    let status = RpcStatus::decode(&*answer.body).unwrap();
                    (i64::from(status.code), status.message)
                }
                Encoding::Json => {
                    let status = answer.json();
                    let message = status["message"].as_str().unwrap().to_owned();
                    (status["code"].as_i64().unwrap(), message)
                }
            };
            assert_eq!(status.0, 3, "INVALID_ARGUMENT");
            assert!(!status.1.is_empty());
        }
        for message in [framed(false, cut), framed(true, b"no gzip"), vec![0, 0, 0, 0, 9, 1]] {
            let headers = [("grpc-encoding", "gzip")];
            let answer = call(server.otlp_grpc(), signal.method(), &headers, message).expect(3);
            assert!(!answer.message.is_empty());
        }
        let torn = &compressed("gzip", &good)[..20];
        let torn = server.request(signal, Encoding::Protobuf, torn);
        harness::Answer::of(torn.header("content-encoding", "gzip")).expect(400);
        assert_eq!(server.count(signal), 0, "{signal:?}");
    }
    let refused = server.metric("kymo_refused_requests_total", &["signal=\"logs\""]);
    assert_eq!(refused, 7.0 + 3.0 + 1.0);
}

/// `google.rpc.Status`, as far as it is looked at.
#[derive(Clone, PartialEq, Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

#[test]
fn a_request_beyond_the_limit_is_refused_as_too_large() {
    let limits =
        ["--limits-max-request-bytes", "64KiB", "--limits-max-decompressed-bytes", "128KiB"];
    let server = Server::with(&limits);
    let large = harness::otlp::spans("a span with a name of some length", 0, 2000).encode_to_vec();
    assert!(large.len() > 128 << 10, "{}", large.len());
    let zipped = compressed("gzip", &large);
    assert!(zipped.len() < 64 << 10, "{}", zipped.len());

    let answer = server.send(Signal::Traces, Encoding::Protobuf, large.clone()).expect(413);
    let status = RpcStatus::decode(&*answer.body).unwrap();
    assert!(status.message.contains("65536"), "it names the limit: {}", status.message);
    let unpacked = server.request(Signal::Traces, Encoding::Protobuf, zipped.clone());
    harness::Answer::of(unpacked.header("content-encoding", "gzip")).expect(413);
    let (port, method) = (server.otlp_grpc(), Signal::Traces.method());
    call(port, method, &[], framed(false, &large)).expect(8);
    call(port, method, &[("grpc-encoding", "gzip")], framed(true, &zipped)).expect(8);
    assert_eq!(server.count(Signal::Traces), 0);

    let fits = harness::otlp::spans("a span with a name of some length", 0, 500).encode_to_vec();
    assert!((32 << 10..64 << 10).contains(&fits.len()), "{}", fits.len());
    server.store(Signal::Traces, fits);
    assert_eq!(server.count(Signal::Traces), 500);
}

#[test]
fn a_content_type_or_compression_that_is_not_known_is_unsupported() {
    let server = Server::start();
    let body = Signal::Logs.small(1);
    let url = format!("http://{}/v1/logs", server.otlp_http());
    let plain = server.client.post(&url).header("content-type", "text/plain").body(body.clone());
    let answer = harness::Answer::of(plain).expect(415);
    assert!(answer.text().contains("application/x-protobuf"), "{}", answer.text());
    harness::Answer::of(server.client.post(&url).body(body.clone())).expect(415);
    let odd = server.request(Signal::Logs, Encoding::Protobuf, body.clone());
    harness::Answer::of(odd.header("content-encoding", "br")).expect(415);
    let headers = [("grpc-encoding", "br")];
    let answer = call(server.otlp_grpc(), Signal::Logs.method(), &headers, framed(true, &body));
    // gRPC: an encoding that is not known is UNIMPLEMENTED, and the answer names those that are.
    let answer = answer.expect(12);
    let known = answer.headers.get("grpc-accept-encoding").unwrap().to_str().unwrap();
    assert!(COMPRESSIONS.iter().all(|name| known.contains(name)), "{known}");
    assert_eq!(server.count(Signal::Logs), 0);
}

#[test]
fn web_pages_may_send_also_with_traceparent() {
    let server = Server::start();
    for port in server.ports() {
        let url = format!("http://{port}/v1/traces");
        let preflight = server
            .client
            .request(reqwest::Method::OPTIONS, &url)
            .header("origin", "https://shop.example")
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type,traceparent,x-scope-orgid");
        let answer = harness::Answer::of(preflight);
        assert!(answer.status == 200 || answer.status == 204, "{}", answer.status);
        let origin = answer.header("access-control-allow-origin");
        assert!(origin == "*" || origin == "https://shop.example", "{origin}");
        assert!(answer.header("access-control-allow-methods").contains("POST"));
        let headers = answer.header("access-control-allow-headers").to_lowercase();
        for header in ["content-type", "traceparent", "x-scope-orgid"] {
            assert!(headers.contains(header), "{headers}");
        }
    }
    let body = Signal::Traces.to_json(&Signal::Traces.small(1));
    let request = server.request(Signal::Traces, Encoding::Json, body);
    let request =
        request.header("origin", "https://shop.example").header("traceparent", "00-1-2-01");
    let answer = harness::Answer::of(request).expect(200);
    assert!(!answer.header("access-control-allow-origin").is_empty());
}

#[test]
fn one_connection_takes_many_requests() {
    let server = Server::start();
    let before = server.metric("kymo_connections_total", &[]);
    let mut connection = Raw::connect(server.otlp_http());
    for number in 0..5 {
        let body = Signal::Traces.small(number);
        connection.write(&post("/v1/traces", PROTOBUF, &body));
        assert_eq!(connection.answer(), (200, Vec::new()));
    }
    // Also when they are all sent before the first answer is read.
    let all: Vec<u8> =
        (5..10).flat_map(|n| post("/v1/traces", PROTOBUF, &Signal::Traces.small(n))).collect();
    connection.write(&all);
    for _ in 5..10 {
        assert_eq!(connection.answer(), (200, Vec::new()));
    }
    // Even a refused request does not end it.
    connection.write(&post("/v1/traces", PROTOBUF, b"garbage"));
    assert_eq!(connection.answer().0, 400);
    connection.write(&post("/v1/traces", PROTOBUF, &Signal::Traces.small(10)));
    assert_eq!(connection.answer().0, 200);
    assert_eq!(server.count(Signal::Traces), 11 * RECORDS);
    let after = server.metric("kymo_connections_total", &[]);
    assert!(after - before <= 2.0, "one for these requests, at most one for queries");
}

#[test]
fn http2_is_spoken_on_every_port_without_tls() {
    let server = Server::start();
    for (nth, port) in server.ports().into_iter().enumerate() {
        let body = |n: u64| Signal::Logs.small(nth as u64 * 10 + n);
        let headers = [("content-type", PROTOBUF)];
        let requests =
            (0..3).map(|n| request(port, "POST", "/v1/logs", &headers, body(n))).collect();
        for answer in exchange(port, requests) {
            assert_eq!((answer.status, answer.body.len()), (200, 0));
        }
    }
    assert_eq!(server.count(Signal::Logs), 9 * RECORDS);
}

#[test]
fn an_unknown_path_is_a_json_404_and_an_unknown_method_is_unimplemented() {
    let server = Server::start();
    for port in server.ports() {
        for path in ["/v1/profiles", "/api/nothing", "/v1/traces/more"] {
            let answer = harness::Answer::of(server.client.get(format!("http://{port}{path}")));
            let answer = answer.expect(404);
            assert_eq!(answer.header("content-type"), "application/json");
            assert!(answer.json()["error"].as_str().unwrap().contains(path));
        }
        harness::Answer::of(server.client.get(format!("http://{port}/v1/traces"))).expect(405);
        let unknown = "/opentelemetry.proto.collector.profiles.v1.ProfilesService/Export";
        let answer = call(port, unknown, &[], framed(false, b"")).expect(12);
        assert!(answer.message.contains("ProfilesService"), "{}", answer.message);
    }
}

#[test]
fn tenants_do_not_see_each_other() {
    let server = Server::start();
    let body = Signal::Traces.small(0);
    for tenant in ["red", "blue/../green"] {
        let request = server.request(Signal::Traces, Encoding::Protobuf, body.clone());
        harness::Answer::of(request.header("x-scope-orgid", tenant)).expect(200);
        assert_eq!(server.sql_of(tenant, "SELECT count(*) FROM spans").rows[0][0], RECORDS);
    }
    let metadata = [("x-scope-orgid", "over-grpc")];
    call(server.otlp_grpc(), Signal::Traces.method(), &metadata, framed(false, &body)).expect(0);
    assert_eq!(server.sql_of("over-grpc", "SELECT count(*) FROM spans").rows[0][0], RECORDS);
    assert_eq!(server.count(Signal::Traces), 0, "the default tenant sees nothing");

    let trace = server.url("/tempo/api/traces/1");
    harness::Answer::of(server.client.get(&trace)).expect(404);
    harness::Answer::of(server.client.get(&trace).header("x-scope-orgid", "red")).expect(200);

    let several = server.request(Signal::Traces, Encoding::Json, "{}");
    let answer = harness::Answer::of(several.header("x-scope-orgid", "a|b")).expect(400);
    assert!(answer.text().contains("X-Scope-OrgID"), "{}", answer.text());
    let outside: Vec<_> = std::fs::read_dir(server.place()).unwrap().collect();
    assert_eq!(outside.len(), 1, "a tenant's name leads nowhere: {outside:?}");
}

#[test]
fn the_same_request_again_is_stored_once_also_after_a_restart() {
    let mut server = Server::start();
    for signal in Signal::ALL {
        let body = signal.small(1);
        server.store(signal, body.clone());
        server.store(signal, body.clone());
        call(server.otlp_grpc(), signal.method(), &[], framed(false, &body)).expect(0);
        assert_eq!(server.count(signal), RECORDS);
    }
    assert_eq!(server.metric("kymo_duplicate_requests_total", &[]), 6.0);
    server.kill();
    server.start_again();
    for signal in Signal::ALL {
        server.store(signal, signal.small(1));
        assert_eq!(server.count(signal), RECORDS);
    }
    assert_eq!(server.metric("kymo_duplicate_requests_total", &[]), 3.0);
}

#[test]
fn an_empty_request_is_fine() {
    let server = Server::start();
    for signal in Signal::ALL {
        let answer = server.send(signal, Encoding::Protobuf, "").expect(200);
        assert_eq!(answer.body, b"");
        assert_eq!(server.send(signal, Encoding::Json, "{}").expect(200).text(), "{}");
        let answer = call(server.otlp_grpc(), signal.method(), &[], framed(false, b"")).expect(0);
        assert_eq!(answer.body, b"");
        assert_eq!(server.count(signal), 0);
    }
}
