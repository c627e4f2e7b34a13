//! What was sent comes back: rows of chunks and blocks as OTLP messages.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

mod captured;
mod damage;
mod flat;
mod generate;
mod place;
#[path = "../support/random.rs"]
#[allow(dead_code, reason = "each test binary uses a part of it")]
mod random;

use std::collections::BTreeSet;

use kymo_store::block::source::{RowRef, Source};
use kymo_store::limits::CHUNK_MAX_ATTRIBUTES;
use kymo_store::otlp::{self, trace_by_id};
use kymo_store::schema::Signal;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

use generate::Case;
use place::Place;
use random::Random;

/// Checks that each trace that was sent comes back from the sources by its id.
fn assert_traces_come_back(requests: &[ExportTraceServiceRequest], sources: &[Source], note: &str) {
    let sent = ExportTraceServiceRequest {
        resource_spans: requests.iter().flat_map(|r| r.resource_spans.clone()).collect(),
    };
    for (trace_id, sent) in flat::spans(&sent) {
        let id: [u8; 16] = trace_id.clone().try_into().unwrap();
        let trace = trace_by_id(sources, &id).unwrap().expect(note);
        assert_eq!(trace.damaged_blocks, 0, "{note}");
        let body = ExportTraceServiceRequest::decode(&trace.body[..]).unwrap();
        assert_in_order(&body, note);
        let mut back = flat::spans(&body);
        let back = back.remove(&trace_id).expect(note);
        assert_eq!(back.len(), trace.spans, "{note}");
        let (sent, unique) = (BTreeSet::from_iter(sent), BTreeSet::from_iter(&back));
        assert_eq!(unique.len(), back.len(), "{note}: a span came twice");
        for span in &sent {
            assert!(unique.contains(span), "{note}: not back: {span:?}");
        }
        assert_eq!(unique.len(), sent.len(), "{note}");
    }
    assert_eq!(trace_by_id(sources, &[0xff; 16]).unwrap(), None, "{note}");
}

/// Groups by the start of their first span, spans by start.
fn assert_in_order(body: &ExportTraceServiceRequest, note: &str) {
    let firsts = body.resource_spans.iter().map(|group| {
        let scopes = group.scope_spans.iter().map(|scope| {
            let starts: Vec<u64> = scope.spans.iter().map(|s| s.start_time_unix_nano).collect();
            assert!(starts.is_sorted(), "{note}: {starts:?}");
            starts[0]
        });
        let scopes: Vec<u64> = scopes.collect();
        assert!(scopes.is_sorted(), "{note}: {scopes:?}");
        scopes[0]
    });
    assert!(firsts.is_sorted(), "{note}");
}

fn encode<M: Message>(requests: &[M]) -> Vec<Vec<u8>> {
    requests.iter().map(Message::encode_to_vec).collect()
}

#[test]
fn traces_come_back_as_they_were_sent_however_they_are_stored() {
    for seed in 0..24 {
        println!("seed {seed}");
        let mut case = Case::new(seed);
        let requests: Vec<_> = (0..12).map(|_| case.traces(3, 20)).collect();
        let place = Place::new(Signal::Spans);
        for (way, sources) in place.ways(&encode(&requests)) {
            assert_traces_come_back(&requests, &sources, &format!("seed {seed}, {way}"));
        }
    }
}

#[test]
fn traces_longer_than_a_granule_come_back() {
    for seed in 100..102 {
        println!("seed {seed}");
        let mut case = Case::small(seed, 3);
        let requests: Vec<_> = (0..60).map(|_| case.traces(5, 150)).collect();
        let place = Place::new(Signal::Spans);
        for (way, sources) in place.ways(&encode(&requests)) {
            assert_traces_come_back(&requests, &sources, &format!("seed {seed}, {way}"));
        }
    }
}

#[test]
fn more_keys_than_a_chunk_or_a_block_has_columns_come_back() {
    for (seed, keys, most) in [(150, 100_000, 10), (151, 100, 40)] {
        println!("seed {seed}");
        let mut case = Case::with_keys(seed, keys, most);
        let requests: Vec<_> = (0..18).map(|_| case.traces(3, 30)).collect();
        let place = Place::new(Signal::Spans);
        let all: Source = place.chunk(&encode(&requests));
        let columns = all.attributes().len();
        assert!(columns > 400, "more than a block takes: {columns}");
        assert_eq!(columns == CHUNK_MAX_ATTRIBUTES, seed == 150, "{columns}");
        assert_traces_come_back(&requests, &[all], "one chunk");
        for (way, sources) in place.ways(&encode(&requests)) {
            assert_traces_come_back(&requests, &sources, &format!("seed {seed}, {way}"));
        }
    }
}

#[test]
fn logs_come_back_as_they_were_sent_however_they_are_stored() {
    for seed in 200..224 {
        println!("seed {seed}");
        let mut case = Case::new(seed);
        let requests: Vec<_> = (0..12).map(|_| case.logs(3, 20)).collect();
        let sent = ExportLogsServiceRequest {
            resource_logs: requests.iter().flat_map(|r| r.resource_logs.clone()).collect(),
        };
        let place = Place::new(Signal::Logs);
        for (way, sources) in place.ways(&encode(&requests)) {
            let mut records = otlp::Records::default();
            for source in &sources {
                let rows: Vec<u32> = (0..source.rows() as u32).collect();
                records.add_logs(source, &rows).unwrap();
            }
            let back = ExportLogsServiceRequest::decode(&records.request()[..]).unwrap();
            assert!(flat::logs(&back) == flat::logs(&sent), "seed {seed}, {way}");
        }
    }
}

#[test]
fn any_choice_of_rows_gives_the_same_messages_as_all_rows() {
    for (seed, signal) in [(300, Signal::Spans), (301, Signal::Spans), (302, Signal::Logs)] {
        println!("seed {seed}");
        let mut case = Case::small(seed, 40);
        let place = Place::new(signal);
        let requests: Vec<Vec<u8>> = match signal {
            Signal::Spans => encode(&(0..60).map(|_| case.traces(5, 300)).collect::<Vec<_>>()),
            _ => encode(&(0..60).map(|_| case.logs(5, 300)).collect::<Vec<_>>()),
        };
        let rebuild = |source: &Source, rows: &[u32]| match signal {
            Signal::Spans => otlp::spans(source, rows).unwrap(),
            _ => otlp::logs(source, rows).unwrap(),
        };
        let mut random = Random::new(seed);
        for source in place.blocks(&place.chunks(&requests)) {
            let all: Vec<u32> = (0..source.rows() as u32).collect();
            let whole = rebuild(&source, &all);
            for share in [2, 100, 10_000] {
                let rows: Vec<u32> = all.iter().copied().filter(|_| random.one_in(share)).collect();
                let some = rebuild(&source, &rows);
                assert_eq!(some.len(), rows.len());
                for (nth, row) in rows.iter().enumerate() {
                    assert_eq!(some.message(nth), whole.message(*row as usize), "seed {seed}");
                    assert_eq!(some.origin(nth), whole.origin(*row as usize), "seed {seed}");
                }
            }
        }
    }
}

#[test]
fn exact_duplicates_are_told_from_spans_that_only_share_their_ids() {
    let mut case = Case::new(400);
    let place = Place::new(Signal::Spans);
    let mut request = case.traces(1, 0);
    while request.resource_spans[0].scope_spans[0].spans.is_empty() {
        request = case.traces(1, 1);
    }
    request.resource_spans[0].scope_spans.truncate(1);
    let mut renamed = request.clone();
    renamed.resource_spans[0].scope_spans[0].spans[0].name.push('!');
    let mut elsewhere = request.clone();
    elsewhere.resource_spans[0].schema_url.push('!');
    let requests = encode(&[request.clone(), renamed, elsewhere, request]);
    let sources: Vec<Source> =
        requests.iter().map(|request| place.chunk(std::slice::from_ref(request))).collect();
    let group: Vec<RowRef> = (0..4).map(|source| RowRef { source, row: 0 }).collect();
    let last = RowRef { source: 3, row: 0 };
    assert_eq!(otlp::duplicates(&sources, std::slice::from_ref(&group)).unwrap(), [last]);
    assert_eq!(otlp::duplicates(&sources, &[group[1..].to_vec()]).unwrap(), []);
    assert_eq!(otlp::duplicates(&sources, &[]).unwrap(), []);
}

#[test]
fn rows_that_are_not_there_are_an_error() {
    let place = Place::new(Signal::Spans);
    let requests = encode(&[Case::new(1).traces(3, 20)]);
    for (_, sources) in place.ways(&[&requests[..], &requests].concat()) {
        for source in &sources {
            assert!(otlp::spans(source, &[source.rows() as u32]).is_err());
            assert!(otlp::logs(source, &[0]).is_err());
            assert!(otlp::spans(source, &[]).unwrap().is_empty());
        }
    }
}
