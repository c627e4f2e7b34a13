//! A few traces to search, small enough to know by heart.
//!
//! ```text
//! CART    shop    GET /cart          0 ms +120   server   http.status_code 500, http.method GET
//!         shop      render          90 ms  +20   internal
//!         db        SELECT          10 ms  +50   client   db.rows 7, ratio 0.5, cached true, error
//! JOB     worker  run               1 s  +2000   consumer priority 3
//!         worker    step          1.1 s   +100   internal step "a", attempt 1
//!         worker    step          1.3 s   +300   internal step "b", attempt "two"
//! LOST    edge    (parent missing)  2 s   +10    client   region "eu"
//! ```

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use prost::Message;

use super::otlp::{START_NANOS, attribute, traces};
use super::{Server, Signal};

/// 2026-01-02T03:04:05Z.
pub const START_SECS: u64 = START_NANOS / 1_000_000_000;

pub const CART: u128 = 0x0a00_0000_0000_0000_0000_0000_0000_0001;
pub const JOB: u128 = 0x2b;
pub const LOST: u128 = 0xc300_0000_0000_0000_0000_0000_0000_0003;

const MILLI: u64 = 1_000_000;

pub fn string(value: &str) -> Value {
    Value::StringValue(value.to_owned())
}

/// A span that starts and lasts so many milliseconds.
pub fn span(trace: u128, id: u64, parent: u64, name: &str, start_ms: u64, lasts_ms: u64) -> Span {
    let parent = if parent == 0 { Vec::new() } else { parent.to_be_bytes().to_vec() };
    Span {
        trace_id: trace.to_be_bytes().to_vec(),
        span_id: id.to_be_bytes().to_vec(),
        parent_span_id: parent,
        name: name.to_owned(),
        kind: 1,
        start_time_unix_nano: START_NANOS + start_ms * MILLI,
        end_time_unix_nano: START_NANOS + (start_ms + lasts_ms) * MILLI,
        ..Span::default()
    }
}

fn with(mut span: Span, kind: i32, attributes: &[(&str, Value)]) -> Span {
    span.kind = kind;
    span.attributes = attributes.iter().map(|(key, of)| attribute(key, of.clone())).collect();
    span
}

/// The traces above.
pub fn requests() -> Vec<ExportTraceServiceRequest> {
    let root = with(
        span(CART, 1, 0, "GET /cart", 0, 120),
        2,
        &[("http.status_code", Value::IntValue(500)), ("http.method", string("GET"))],
    );
    let mut select = with(
        span(CART, 2, 1, "SELECT", 10, 50),
        3,
        &[
            ("db.rows", Value::IntValue(7)),
            ("ratio", Value::DoubleValue(0.5)),
            ("cached", Value::BoolValue(true)),
        ],
    );
    select.status = Some(Status { code: 2, message: "boom".to_owned() });
    let render = span(CART, 3, 1, "render", 90, 20);
    let run = with(span(JOB, 4, 0, "run", 1000, 2000), 5, &[("priority", Value::IntValue(3))]);
    let step = |id, name: &str, attempt, start_ms, lasts_ms| {
        let span = span(JOB, id, 4, "step", start_ms, lasts_ms);
        with(span, 1, &[("step", string(name)), ("attempt", attempt)])
    };
    let first = step(5, "a", Value::IntValue(1), 1100, 100);
    let second = step(6, "b", string("two"), 1300, 300);
    let lost = with(span(LOST, 7, 99, "lost", 2000, 10), 3, &[("region", string("eu"))]);
    vec![
        traces("shop", vec![root, render]),
        traces("db", vec![select]),
        traces("worker", vec![run, first, second]),
        traces("edge", vec![lost]),
    ]
}

/// A server that has them.
#[track_caller]
pub fn server(flags: &[&str]) -> Server {
    let server = Server::with(flags);
    for request in requests() {
        server.store(Signal::Traces, request.encode_to_vec());
    }
    server
}
