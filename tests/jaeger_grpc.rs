//! The third version of Jaeger's API over gRPC: `jaeger.api_v3.QueryService`.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use harness::h2::{call, call_stream, framed};
use harness::jaeger::{CHECKOUT, get, hex, server};
use harness::otlp::{START_NANOS, attribute, traces};
use harness::traces::{span, string};
use harness::{Server, Signal};
use opentelemetry_proto::tonic::trace::v1::{Span, TracesData};
use prost::Message;

/// Messages of `jaeger.api_v3`, by the numbers of their fields.
mod api {
    use std::collections::BTreeMap;

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Time {
        #[prost(int64, tag = "1")]
        pub seconds: i64,
        #[prost(int32, tag = "2")]
        pub nanos: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Query {
        #[prost(string, tag = "1")]
        pub service_name: String,
        #[prost(btree_map = "string, string", tag = "3")]
        pub attributes: BTreeMap<String, String>,
        #[prost(message, optional, tag = "4")]
        pub start_time_min: Option<Time>,
        #[prost(message, optional, tag = "5")]
        pub start_time_max: Option<Time>,
        #[prost(int32, tag = "8")]
        pub search_depth: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Find {
        #[prost(message, optional, tag = "1")]
        pub query: Option<Query>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Times {
        #[prost(message, optional, tag = "1")]
        pub start: Option<Time>,
        #[prost(message, optional, tag = "2")]
        pub end: Option<Time>,
    }

    /// `Operation`, and with a number `Dependency`.
    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Pair {
        #[prost(string, tag = "1")]
        pub first: String,
        #[prost(string, tag = "2")]
        pub second: String,
        #[prost(uint64, tag = "3")]
        pub count: u64,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Pairs {
        #[prost(message, repeated, tag = "1")]
        pub pairs: Vec<Pair>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Names {
        #[prost(string, repeated, tag = "1")]
        pub names: Vec<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Summary {
        #[prost(string, tag = "1")]
        pub trace_id: String,
        #[prost(fixed64, tag = "4")]
        pub start: u64,
        #[prost(int32, tag = "6")]
        pub spans: i32,
        #[prost(int32, tag = "8")]
        pub orphans: i32,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Summaries {
        #[prost(message, repeated, tag = "1")]
        pub summaries: Vec<Summary>,
    }
}

const SERVICE: &str = "/jaeger.api_v3.QueryService";

fn find(service: &str) -> api::Find {
    let seconds = (START_NANOS / 1_000_000_000) as i64;
    let time = |seconds| Some(api::Time { seconds, nanos: 0 });
    let query = api::Query {
        service_name: service.to_owned(),
        start_time_min: time(seconds - 60),
        start_time_max: time(seconds + 60),
        ..Default::default()
    };
    api::Find { query: Some(query) }
}

#[test]
fn the_third_version_is_spoken_over_grpc() {
    let server = server();
    let unary = |method: &str, message: &dyn Fn() -> Vec<u8>| {
        call(server.http(), &format!("{SERVICE}/{method}"), &[], framed(false, &message()))
            .expect(0)
    };
    let services = unary("GetServices", &Vec::new);
    let services = api::Names::decode(&*services.body).unwrap().names;
    assert_eq!(services, ["billing", "it's", "shop"]);
    let asked = api::Pair { first: "billing".to_owned(), ..Default::default() };
    let operations = unary("GetOperations", &|| asked.encode_to_vec());
    let operations = api::Pairs::decode(&*operations.body).unwrap().pairs;
    let shown: Vec<_> = operations.iter().map(|o| (o.first.as_str(), o.second.as_str())).collect();
    assert_eq!(shown, [("charge", "client"), ("orphan", "internal")]);
    let query = find("").query.unwrap();
    let times = api::Times { start: query.start_time_min, end: query.start_time_max };
    let calls = unary("GetDependencies", &|| times.encode_to_vec());
    let calls = api::Pairs::decode(&*calls.body).unwrap().pairs;
    assert_eq!((calls.len(), calls[0].count), (1, 1));

    let stream = |method: &str, message: Vec<u8>| {
        call_stream(server.http(), &format!("{SERVICE}/{method}"), &[], framed(false, &message))
    };
    let id = api::Pair { first: hex(CHECKOUT), ..Default::default() };
    let trace = stream("GetTrace", id.encode_to_vec());
    assert_eq!((trace.code, trace.messages.len()), (0, 1));
    let data = TracesData::decode(&*trace.messages[0].1).unwrap();
    let mut sent = harness::readback::trace(&server, &CHECKOUT.to_be_bytes());
    // Tempo's answer has these also where they are empty.
    for scope in sent.resource_spans.iter_mut().flat_map(|group| &mut group.scope_spans) {
        scope.scope = None;
        scope.spans.iter_mut().for_each(|span| span.status = None);
    }
    assert_eq!(data, sent);

    let found = stream("FindTraces", find("shop").encode_to_vec());
    assert_eq!((found.code, found.messages.len()), (0, 2), "a message for each trace at least");
    let first = TracesData::decode(&*found.messages[0].1).unwrap();
    assert_eq!(first.resource_spans[0].scope_spans[0].spans[0].name, "GET /");

    let found = stream("FindTraceSummaries", find("billing").encode_to_vec());
    let summaries = api::Summaries::decode(&*found.messages[0].1).unwrap().summaries;
    assert_eq!(summaries[0].trace_id, hex(CHECKOUT));
    assert_eq!((summaries[0].start, summaries[0].spans, summaries[0].orphans), (START_NANOS, 3, 1));
}

#[test]
fn errors_over_grpc_have_their_codes() {
    const INVALID_ARGUMENT: i32 = 3;
    const NOT_FOUND: i32 = 5;
    let server = server();
    let stream = |method: &str, message: Vec<u8>| {
        call_stream(server.http(), &format!("{SERVICE}/{method}"), &[], framed(false, &message))
    };
    let id = |id: &str| api::Pair { first: id.to_owned(), ..Default::default() }.encode_to_vec();
    assert_eq!(stream("GetTrace", id("dead")).code, NOT_FOUND);
    assert_eq!(stream("GetTrace", id("zz")).code, INVALID_ARGUMENT);
    assert_eq!(stream("FindTraces", Vec::new()).code, INVALID_ARGUMENT);
    let mut timeless = find("shop");
    timeless.query.as_mut().unwrap().start_time_min = None;
    let refused = stream("FindTraces", timeless.encode_to_vec());
    assert_eq!(refused.code, INVALID_ARGUMENT);
    assert!(refused.message.contains("required"), "{}", refused.message);
    let mut tagged = find("shop");
    tagged.query.as_mut().unwrap().attributes =
        (0..50_000).map(|nth| (format!("{nth:x}"), String::new())).collect();
    let refused = stream("FindTraces", tagged.encode_to_vec());
    assert_eq!(refused.code, INVALID_ARGUMENT);
    assert!(refused.message.contains("at most 100 attributes"), "{}", refused.message);
    let none = stream("FindTraces", find("nobody").encode_to_vec());
    assert_eq!((none.code, none.messages.len()), (0, 0));
}

#[test]
fn a_large_trace_comes_in_messages_that_clients_take() {
    let server = Server::start();
    let spans = |from: u64| {
        let spans = (from..from + 2000).map(|id| Span {
            attributes: vec![attribute("text", string(&"x".repeat(1000)))],
            ..span(CHECKOUT, id + 1, 0, "large", 0, 1)
        });
        traces("shop", spans.collect())
    };
    for nth in 0..3 {
        server.store(Signal::Traces, spans(nth * 2000).encode_to_vec());
    }
    let id = api::Pair { first: hex(CHECKOUT), ..Default::default() }.encode_to_vec();
    let path = format!("{SERVICE}/GetTrace");
    let trace = call_stream(server.http(), &path, &[], framed(false, &id));
    assert_eq!(trace.code, 0);
    assert!(trace.messages.len() > 3, "{}", trace.messages.len());
    let mut count = 0;
    for (_, message) in &trace.messages {
        assert!(message.len() < 2 << 20, "{}", message.len());
        for group in TracesData::decode(&**message).unwrap().resource_spans {
            assert!(group.resource.is_some());
            count += group.scope_spans.iter().map(|scope| scope.spans.len()).sum::<usize>();
        }
    }
    assert_eq!(count, 6000);
    // The same as JSON, streamed.
    let document = get(&server, &format!("/api/traces/{}", hex(CHECKOUT)), &[]).expect(200).json();
    assert_eq!(document["data"][0]["spans"].as_array().unwrap().len(), 6000);
}
