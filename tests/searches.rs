//! Searches on bad days: many at once, beyond their memory, over nothing, with patterns that other
//! engines never finish.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod harness;

use std::time::{Duration, Instant};

use harness::h2::{call_stream, framed};
use harness::otlp::{START_NANOS, attribute, traces};
use harness::traces::{span, string};
use harness::{Answer, Server, Signal, eventually};
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use prost::Message;

/// Far more than any of these takes; what hangs takes longer.
const SOON: Duration = Duration::from_secs(20);

/// A server with `count` traces of ten spans each, with an attribute that is different everywhere.
fn busy(flags: &[&str], count: u64) -> Server {
    let server = Server::with(flags);
    for part in 0..4 {
        let spans = (part * count / 4..(part + 1) * count / 4).flat_map(|number| {
            (0..10).map(move |nth| {
                let id = number * 10 + nth + 1;
                let parent = if nth == 0 { 0 } else { number * 10 + 1 };
                let mut span = span(u128::from(number) + 1, id, parent, "work", number + nth, 5);
                span.attributes = vec![
                    attribute("unique", string(&format!("{id:064}"))),
                    attribute("nth", Value::IntValue(nth as i64)),
                ];
                span
            })
        });
        server.store(Signal::Traces, traces("shop", spans.collect()).encode_to_vec());
    }
    server
}

fn at_once(count: usize, ask: impl Fn(usize) -> Answer + Sync) -> Vec<Answer> {
    let ask = &ask;
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..count).map(|nth| scope.spawn(move || ask(nth))).collect();
        asking.into_iter().map(|asking| asking.join().unwrap()).collect()
    })
}

#[test]
fn a_hundred_searches_at_once_are_all_answered_in_bounded_memory() {
    let server = busy(&[], 2000);
    let before_bytes = server.peak_memory_bytes();
    let queries = [
        "{ span.nth = 0 } > { span.nth = 7 }",
        "{ } | count() > 5",
        "{ span.unique =~ \".*77\" }",
        "{ duration > 1ms } | avg(span.nth) > 4",
    ];
    let answers = at_once(100, |nth| {
        let query = queries[nth % queries.len()];
        server.tempo("/api/search", &[("q", query), ("limit", "500")])
    });
    for (nth, answer) in answers.into_iter().enumerate() {
        let found = answer.expect(200).json()["traces"].as_array().unwrap().len();
        let expected = if nth % queries.len() == 2 { 200 } else { 500 };
        assert_eq!(found, expected, "{}", queries[nth % queries.len()]);
    }
    let grown = (server.peak_memory_bytes() - before_bytes) >> 20;
    assert!(grown < 600, "{grown} MiB more for a hundred searches");
    eventually(SOON, "all is given back", || server.metric("kymo_query_memory_bytes", &[]) == 0.0);
}

#[test]
fn what_needs_more_memory_than_it_may_have_is_told_and_the_server_lives() {
    let server = busy(&["--query-memory", "4MiB", "--query-memory-per-query", "1MiB"], 2000);
    let start = (START_NANOS / 1_000_000_000).to_string();
    let end = (START_NANOS / 1_000_000_000 + 60).to_string();
    let range = [("start", &start[..]), ("end", &end[..])];
    let whole = [("q", "{ } | select(span.unique)"), ("limit", "2000"), ("spss", "100")];
    let groups = [("q", "{ } | rate() by (span.unique)"), ("step", "1s")];
    let traces = [("q", "{ } >> { } | rate() by (span.unique)"), ("step", "1s")];
    for (path, params) in [
        ("/api/search", &whole[..]),
        ("/api/metrics/query_range", &groups[..]),
        ("/api/metrics/query_range", &traces[..]),
    ] {
        let params: Vec<(&str, &str)> = params.iter().chain(&range).copied().collect();
        let answer = server.tempo(path, &params).expect(422);
        assert!(answer.text().contains("1 MiB of memory"), "{}", answer.text());
    }
    // What needs less is answered.
    assert_eq!(server.search("{ span.nth = 3 }").len(), 20);
    eventually(SOON, "all is given back", || server.metric("kymo_query_memory_bytes", &[]) == 0.0);
}

#[test]
fn nothing_is_found_before_any_data_and_of_what_nobody_sent() {
    let server = busy(&[], 10);
    let before = [("q", "{ }"), ("start", "1000"), ("end", "2000")];
    let answer = server.tempo("/api/search", &before).expect(200).json();
    assert_eq!(answer["traces"].as_array().map(Vec::len), Some(0), "{answer}");
    let before = [("q", "{ } | rate()"), ("start", "1000"), ("end", "2000"), ("step", "500s")];
    let answer = server.tempo("/api/metrics/query_range", &before).expect(200).json();
    assert_eq!(answer["series"][0]["samples"].as_array().map(Vec::len), Some(3), "{answer}");
    for query in ["{ span.nobody = 1 }", "{ .nobody != nil }", "{ event.nobody = 1 }"] {
        assert!(server.search(query).is_empty(), "{query}");
    }
    // All points of a thousand years by the second would be too many.
    let absurd = [("q", "{ } | rate()"), ("start", "0"), ("end", "4000000000"), ("step", "1s")];
    let answer = server.tempo("/api/metrics/query_range", &absurd).expect(400);
    assert!(answer.text().contains("step"), "{}", answer.text());
}

/// Fields of Tempo's messages that are looked at here.
#[derive(Clone, PartialEq, Message)]
struct SearchRequest {
    #[prost(uint32, tag = "4")]
    limit: u32,
    #[prost(string, tag = "8")]
    query: String,
}

#[derive(Clone, PartialEq, Message)]
struct SearchResponse {
    #[prost(bytes = "vec", repeated, tag = "1")]
    traces: Vec<Vec<u8>>,
    #[prost(message, optional, tag = "2")]
    metrics: Option<SearchMetrics>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct SearchMetrics {
    #[prost(uint32, tag = "4")]
    completed_jobs: u32,
    #[prost(uint32, tag = "5")]
    total_jobs: u32,
}

#[test]
fn first_results_are_streamed_before_all_is_read() {
    // 60,000 spans: eight granules at least.
    let server = busy(&[], 6000);
    for query in ["{ span.nth = 3 }", "{ span.nth = 0 } > { span.nth = 3 }"] {
        let request = SearchRequest { limit: 100_000, query: query.to_owned() }.encode_to_vec();
        let path = "/tempopb.StreamingQuerier/Search";
        let answer = call_stream(server.http(), path, &[], framed(false, &request));
        assert_eq!(answer.code, 0, "{}", answer.message);
        let parts: Vec<SearchResponse> =
            answer.messages.iter().map(|(_, m)| SearchResponse::decode(&m[..]).unwrap()).collect();
        let first = parts.iter().find(|part| !part.traces.is_empty()).unwrap();
        let done = first.metrics.unwrap();
        assert!(done.completed_jobs < done.total_jobs, "{query}: {done:?}");
        let last = parts.last().unwrap().metrics.unwrap();
        assert_eq!(last.completed_jobs, last.total_jobs, "{query}: {last:?}");
        assert_eq!(parts.iter().map(|part| part.traces.len()).sum::<usize>(), 6000, "{query}");
    }
}

#[test]
fn patterns_take_linear_time() {
    let server = busy(&[], 500);
    let began = Instant::now();
    for pattern in ["(0+)+x", "(.*)*y", "(0|00)+$z", "(a?){50}a{50}"] {
        let query = format!("{{ span.unique =~ \"{pattern}\" }}");
        assert!(server.search(&query).is_empty(), "{query}");
    }
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}
