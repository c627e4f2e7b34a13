//! What Jaeger's APIs are asked about, small enough to know by heart.
//!
//! ```text
//! CHECKOUT  shop     POST /checkout  0 ms  +200   server    http.status_code 200
//!           billing    charge       50 ms  +100   client    log: message "declined", attempt 2
//!           billing    (orphan)     60 ms    +1   (none)
//! SHORT     shop     GET /          1 s      +5   server    ok true, ratio 0.5
//! FAILED    it's     sweep          2 s     +50   internal  an error, scope lib 1.0
//! ```

use opentelemetry_proto::tonic::common::v1::InstrumentationScope;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::Event;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use prost::Message;

use super::otlp::{START_NANOS, attribute, traces};
use super::traces::{span, string};
use super::{Answer, Server, Signal};

pub const CHECKOUT: u128 = 0x5b8e_fff7_9803_8103_d269_b633_813f_c60c;
pub const SHORT: u128 = 0xab;
pub const FAILED: u128 = 0xf0;

/// An id as it is written.
pub fn hex(id: u128) -> String {
    format!("{id:032x}")
}

/// A server that has these traces.
#[track_caller]
pub fn server() -> Server {
    let server = Server::start();
    let checkout = Span {
        kind: 2,
        attributes: vec![attribute("http.status_code", Any::IntValue(200))],
        ..span(CHECKOUT, 1, 0, "POST /checkout", 0, 200)
    };
    let charge = Span {
        kind: 3,
        attributes: vec![attribute("level", string("info"))],
        events: vec![Event {
            time_unix_nano: START_NANOS + 60_000_000,
            name: "refused".to_owned(),
            attributes: vec![
                attribute("message", string("declined")),
                attribute("attempt", Any::IntValue(2)),
                attribute("level", string("warn")),
            ],
            ..Default::default()
        }],
        ..span(CHECKOUT, 2, 1, "charge", 50, 100)
    };
    let orphan = Span { kind: 0, ..span(CHECKOUT, 3, 77, "orphan", 60, 1) };
    let short = Span {
        kind: 2,
        attributes: vec![
            attribute("ok", Any::BoolValue(true)),
            attribute("ratio", Any::DoubleValue(0.5)),
        ],
        ..span(SHORT, 4, 0, "GET /", 1000, 5)
    };
    let failed = Span {
        status: Some(Status { code: 2, message: "disk full".to_owned() }),
        ..span(FAILED, 5, 0, "sweep", 2000, 50)
    };
    let mut other = traces("it's", vec![failed]);
    let group = &mut other.resource_spans[0];
    group.scope_spans[0].scope = Some(InstrumentationScope {
        name: "lib".to_owned(),
        version: "1.0".to_owned(),
        ..Default::default()
    });
    let resource: &mut Resource = group.resource.as_mut().unwrap();
    resource.attributes.push(attribute("host.name", string("node-1")));
    for request in
        [traces("shop", vec![checkout, short]), traces("billing", vec![charge, orphan]), other]
    {
        server.store(Signal::Traces, request.encode_to_vec());
    }
    server
}

/// An answer of one of the APIs.
#[track_caller]
pub fn get(server: &Server, path: &str, parameters: &[(&str, &str)]) -> Answer {
    Answer::of(server.client.get(server.url(&format!("/jaeger{path}"))).query(parameters))
}
