//! Tempo's API over gRPC: `tempopb.StreamingQuerier`, as Grafana calls it where streaming is on.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::collections::BTreeSet;
use std::time::Duration;

use harness::h2::{GrpcStream, call_stream, framed, hang_up};
use harness::otlp::{attribute, compressed, traces};
use harness::traces::{CART, JOB, START_SECS, server, span, string};
use harness::{Server, Signal, eventually};
use prost::Message;

/// Far more than any of these takes.
const SOON: Duration = Duration::from_secs(10);

/// Fields of Tempo's messages that are looked at here.
#[derive(Clone, PartialEq, Message)]
struct SearchRequest {
    #[prost(map = "string, string", tag = "1")]
    tags: std::collections::HashMap<String, String>,
    #[prost(uint32, tag = "4")]
    limit: u32,
    #[prost(uint32, tag = "5")]
    start: u32,
    #[prost(uint32, tag = "6")]
    end: u32,
    #[prost(string, tag = "8")]
    query: String,
    #[prost(uint32, tag = "9")]
    spans_per_span_set: u32,
}

#[derive(Clone, PartialEq, Message)]
struct SearchResponse {
    #[prost(message, repeated, tag = "1")]
    traces: Vec<FoundTrace>,
    #[prost(message, optional, tag = "2")]
    metrics: Option<()>,
}

#[derive(Clone, PartialEq, Message)]
struct FoundTrace {
    #[prost(string, tag = "1")]
    trace_id: String,
    #[prost(string, tag = "2")]
    root_service_name: String,
    #[prost(uint32, tag = "5")]
    duration_ms: u32,
    #[prost(message, optional, tag = "6")]
    span_set: Option<SpanSet>,
    #[prost(message, repeated, tag = "7")]
    span_sets: Vec<SpanSet>,
}

#[derive(Clone, PartialEq, Message)]
struct SpanSet {
    #[prost(bytes = "vec", repeated, tag = "1")]
    spans: Vec<Vec<u8>>,
    #[prost(uint32, tag = "2")]
    matched: u32,
}

#[derive(Clone, PartialEq, Message)]
struct TagsRequest {
    #[prost(string, tag = "1")]
    scope_or_name: String,
    #[prost(string, tag = "2")]
    query: String,
}

#[derive(Clone, PartialEq, Message)]
struct Texts {
    #[prost(string, repeated, tag = "1")]
    texts: Vec<String>,
}

/// Scopes with their tags, and values with their types, are both lists of pairs.
#[derive(Clone, PartialEq, Message)]
struct Pairs {
    #[prost(message, repeated, tag = "1")]
    pairs: Vec<Pair>,
}

#[derive(Clone, PartialEq, Message)]
struct Pair {
    #[prost(string, tag = "1")]
    first: String,
    #[prost(string, repeated, tag = "2")]
    second: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct RangeRequest {
    #[prost(string, tag = "1")]
    query: String,
    #[prost(uint64, tag = "2")]
    start: u64,
    #[prost(uint64, tag = "3")]
    end: u64,
    #[prost(uint64, tag = "4")]
    step: u64,
}

#[derive(Clone, PartialEq, Message)]
struct RangeResponse {
    #[prost(message, repeated, tag = "1")]
    series: Vec<Series>,
    #[prost(int32, tag = "3")]
    status: i32,
    #[prost(string, tag = "4")]
    message: String,
}

#[derive(Clone, PartialEq, Message)]
struct Series {
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    #[prost(int64, tag = "2")]
    timestamp_ms: i64,
}

#[derive(Clone, PartialEq, Message)]
struct InstantResponse {
    #[prost(message, repeated, tag = "1")]
    series: Vec<InstantSeries>,
}

#[derive(Clone, PartialEq, Message)]
struct InstantSeries {
    #[prost(double, tag = "2")]
    value: f64,
}

#[track_caller]
fn call(server: &Server, method: &str, request: &impl Message) -> GrpcStream {
    let path = format!("/tempopb.StreamingQuerier/{method}");
    call_stream(server.http(), &path, &[], framed(false, &request.encode_to_vec()))
}

/// The messages of a call that succeeds.
#[track_caller]
fn messages<M: Message + Default>(answer: &GrpcStream) -> Vec<M> {
    assert_eq!(answer.code, 0, "{answer:?}");
    answer.messages.iter().map(|(_, bytes)| M::decode(&**bytes).unwrap()).collect()
}

fn query(text: &str) -> SearchRequest {
    SearchRequest { query: text.to_owned(), limit: 20, ..SearchRequest::default() }
}

#[test]
fn a_search_is_streamed() {
    let server = server(&[]);
    // As Grafana's "Save & test" does.
    let mut test = query("{}");
    (test.limit, test.start, test.end) = (1, START_SECS as u32 - 900, START_SECS as u32 + 60);
    let found: Vec<SearchResponse> = messages(&call(&server, "Search", &test));
    assert!(found.iter().all(|message| message.metrics.is_some()));
    assert_eq!(found.iter().map(|message| message.traces.len()).sum::<usize>(), 1);

    let found: Vec<SearchResponse> =
        messages(&call(&server, "Search", &query("{ resource.service.name = \"worker\" }")));
    let found: Vec<&FoundTrace> = found.iter().flat_map(|message| &message.traces).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].trace_id, format!("{JOB:x}"));
    assert_eq!((found[0].root_service_name.as_str(), found[0].duration_ms), ("worker", 2000));
    assert_eq!(found[0].span_sets[0].matched, 3);

    let tags = SearchRequest {
        tags: [("error".to_owned(), "true".to_owned())].into(),
        ..SearchRequest::default()
    };
    let found: Vec<SearchResponse> = messages(&call(&server, "Search", &tags));
    let found: Vec<&FoundTrace> = found.iter().flat_map(|message| &message.traces).collect();
    assert_eq!((found.len(), found[0].trace_id.as_str()), (1, format!("{CART:x}").as_str()));
    assert!(found[0].span_sets.is_empty());

    // All that an answer says is understood.
    for name in ["gzip", "deflate", "zstd"] {
        let packed = compressed(name, &query("{ }").encode_to_vec());
        let headers = [("grpc-encoding", name)];
        let path = "/tempopb.StreamingQuerier/Search";
        let answer = call_stream(server.http(), path, &headers, framed(true, &packed));
        assert_eq!(answer.code, 0, "{name}: {answer:?}");
    }
    let outcomes = ["kind=\"search\"", "outcome=\"ok\""];
    assert_eq!(server.metric("kymo_query_seconds_count", &outcomes), 6.0);
}

/// A server with two thousand traces that have a long text.
fn large() -> Server {
    let server = Server::start();
    let text = string(&"x".repeat(2000));
    for part in 0..4 {
        let spans = (0..500_u64).map(|nth| {
            let number = part * 500 + nth + 1;
            let mut span = span(u128::from(number), number, 0, "big", number, 1);
            span.attributes = vec![attribute("text", text.clone())];
            span
        });
        server.store(Signal::Traces, traces("shop", spans.collect()).encode_to_vec());
    }
    server
}

#[test]
fn who_hangs_up_ends_a_search() {
    let server = large();
    let all = SearchRequest { limit: 10_000, ..query("{ } | select(span.text)") };
    let path = "/tempopb.StreamingQuerier/Search";
    // The answer is longer than what may be under way, so it waits for its reader.
    hang_up(server.http(), path, framed(false, &all.encode_to_vec()));
    let cancelled = ["kind=\"search\"", "outcome=\"cancelled\""];
    eventually(SOON, "it has ended", || {
        server.metric("kymo_query_seconds_count", &cancelled) == 1.0
            && server.metric("kymo_queries_running", &[]) == 0.0
    });
}

#[test]
fn a_large_answer_comes_in_messages_that_every_client_takes() {
    let server = large();
    let all = SearchRequest { limit: 10_000, ..query("{ } | select(span.text)") };
    let answer = call(&server, "Search", &all);
    let found: Vec<SearchResponse> = messages(&answer);
    let ids: BTreeSet<&str> = found
        .iter()
        .flat_map(|message| &message.traces)
        .map(|trace| trace.trace_id.as_str())
        .collect();
    assert_eq!(ids.len(), 2000);
    let total: usize = answer.messages.iter().map(|(_, message)| message.len()).sum();
    assert!(total > 8_000_000, "{total}: each set is there twice");
    for (_, message) in &answer.messages {
        assert!(message.len() <= 1 << 20, "{}", message.len());
    }
}

/// More than any message has: clients refuse 4 MiB.
const FITS: usize = 3_800_000;

#[test]
fn a_large_trace_shows_as_many_spans_as_a_message_holds() {
    let server = Server::start();
    let text = string(&"x".repeat(1000));
    for part in 0..3 {
        let spans = (0..2000_u64).map(|nth| {
            let mut span = span(JOB, part * 2000 + nth + 1, 0, "big", nth, 1);
            span.attributes = vec![attribute("text", text.clone())];
            span
        });
        server.store(Signal::Traces, traces("shop", spans.collect()).encode_to_vec());
    }
    let find = |spans_per_span_set| {
        let asked = SearchRequest { spans_per_span_set, ..query("{ } | select(span.text)") };
        let answer = call(&server, "Search", &asked);
        assert!(answer.messages.iter().all(|(_, message)| message.len() < FITS));
        let found: Vec<SearchResponse> = messages(&answer);
        found.into_iter().flat_map(|message| message.traces).next().unwrap()
    };
    let large = find(10_000);
    let shown = large.span_sets[0].spans.len();
    assert!((2500..6000).contains(&shown), "{shown}");
    assert_eq!(large.span_sets[0].matched, 6000);
    assert_eq!(large.span_set, None, "it would be there twice");
    // Nothing is left out of one that fits, once.
    let fitting = find(2000);
    assert_eq!((fitting.span_sets[0].spans.len(), fitting.span_set), (2000, None));
    let small = find(3);
    assert_eq!(small.span_set.as_ref(), small.span_sets.first());
    assert_eq!(small.span_sets[0].spans.len(), 3);
}

#[test]
fn series_that_do_not_fit_a_message_come_in_several() {
    let server = Server::start();
    let spans = (0..2000_u64).map(|number| {
        let mut span = span(u128::from(number + 1), number + 1, 0, "n", number, 1);
        span.attributes = vec![attribute("group", string(&format!("{number:0>500}")))];
        span
    });
    server.store(Signal::Traces, traces("shop", spans.collect()).encode_to_vec());
    let ask = |query: &str| RangeRequest {
        query: query.to_owned(),
        start: START_SECS * 1_000_000_000,
        end: (START_SECS + 300) * 1_000_000_000,
        step: 1_000_000_000,
    };
    let answer = call(&server, "MetricsQueryRange", &ask("{ } | rate() by (span.group)"));
    assert!(answer.messages.iter().all(|(_, message)| message.len() < FITS));
    let parts: Vec<RangeResponse> = messages(&answer);
    assert!(parts.len() > 1);
    assert_eq!(parts.iter().map(|part| part.series.len()).sum::<usize>(), 2000);
    assert!(parts.iter().all(|part| part.status == 0 && part.message.is_empty()));

    let whole = call(&server, "MetricsQueryRange", &ask("{ } | rate()"));
    let [whole]: [RangeResponse; 1] = messages(&whole).try_into().unwrap();
    assert_eq!((whole.series.len(), whole.status, whole.message.as_str()), (1, 0, ""));
}

#[test]
fn tags_and_series_are_answered_too() {
    let server = server(&[]);
    let ask = |name: &str, query: &str| TagsRequest {
        scope_or_name: name.to_owned(),
        query: query.to_owned(),
    };
    let names: Vec<Texts> = messages(&call(&server, "SearchTags", &ask("", "")));
    assert!(names[0].texts.contains(&"service.name".to_owned()), "{names:?}");
    let scopes: Vec<Pairs> = messages(&call(&server, "SearchTagsV2", &ask("resource", "")));
    let expected = Pair { first: "resource".to_owned(), second: vec!["service.name".to_owned()] };
    assert_eq!(scopes[0].pairs, [expected]);
    let values: Vec<Texts> = messages(&call(&server, "SearchTagValues", &ask("service.name", "")));
    assert_eq!(values[0].texts, ["db", "edge", "shop", "worker"]);
    let filtered = ask("resource.service.name", "{ status = error }");
    let values: Vec<Pairs> = messages(&call(&server, "SearchTagValuesV2", &filtered));
    let expected = Pair { first: "string".to_owned(), second: vec!["db".to_owned()] };
    assert_eq!(values[0].pairs, [expected]);

    let minute = START_SECS / 60 * 60 * 1_000_000_000;
    let ask = RangeRequest {
        query: "{ } | count_over_time()".to_owned(),
        start: minute,
        end: minute + 60_000_000_000,
        step: 60_000_000_000,
    };
    let ranges: Vec<RangeResponse> = messages(&call(&server, "MetricsQueryRange", &ask));
    let samples = &ranges.last().unwrap().series[0].samples;
    assert_eq!((samples.len(), samples[1].value), (2, 7.0));
    assert_eq!(samples[1].timestamp_ms as u64, minute / 1_000_000 + 60_000);
    let instants: Vec<InstantResponse> = messages(&call(&server, "MetricsQueryInstant", &ask));
    assert_eq!(instants.last().unwrap().series[0].value, 7.0);
}

#[test]
fn what_goes_wrong_has_a_code_and_a_reason() {
    let server = server(&[]);
    let wrong = |method: &str, request: &SearchRequest| {
        let answer = call(&server, method, request);
        assert!(answer.messages.is_empty());
        (answer.code, answer.message)
    };
    let (code, message) = wrong("Search", &query("{ é"));
    assert_eq!(code, 3);
    assert!(message.starts_with("invalid TraceQL query: parse error"), "{message}");
    assert!(message.is_ascii(), "{message}");
    assert_eq!(wrong("Search", &SearchRequest { limit: 262_145, ..query("{ }") }).0, 3);
    let reversed = SearchRequest { start: 20, end: 10, ..query("{ }") };
    assert_eq!(wrong("Search", &reversed).0, 3);
    let deep = query(&format!("{{ {}true{} }}", "(".repeat(10_000), ")".repeat(10_000)));
    assert_eq!(wrong("Search", &deep).0, 3);
    assert_eq!(wrong("Nonsense", &query("{ }")).0, 12);
    let series = RangeRequest { query: "{ }".to_owned(), ..RangeRequest::default() };
    let answer = call(&server, "MetricsQueryRange", &series);
    assert_eq!(answer.code, 3);
    assert!(answer.message.contains("not a metrics query"), "{}", answer.message);
    let broken = call_stream(
        server.http(),
        "/tempopb.StreamingQuerier/Search",
        &[],
        framed(false, &[0x42, 0xff]),
    );
    assert_eq!(broken.code, 3, "{broken:?}");
    let long = query(&"x".repeat((1 << 20) + 1));
    assert_eq!(wrong("Search", &long).0, 8);
    let none: Vec<SearchResponse> = messages(&call(&server, "Search", &query("{ .nobody = 1 }")));
    assert!(none.iter().all(|message| message.traces.is_empty()));
}

#[test]
fn it_is_where_grafana_looks_whatever_the_base_path() {
    let server = Server::with(&["--base-path", "/x"]);
    let answer = call(&server, "Search", &query("{}"));
    assert_eq!(answer.code, 0, "{answer:?}");
    assert_eq!(server.get("/x/tempo/api/echo").expect(200).text(), "echo");
}
