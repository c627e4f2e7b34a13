//! What holds for every demo.

use std::collections::{HashMap, HashSet};

use kymo_wire::inspect::inspect;
use kymo_wire::{Limits, TracesView, View};

use super::*;

const START: u64 = 1_790_000_000 * SECOND;

fn requests(seed: u64, minutes: u64, detail: Detail) -> Vec<Request> {
    let mut demo = Demo::new(seed, START);
    let end = START + minutes * MINUTE;
    let mut all = Vec::new();
    while demo.now_nanos() < end {
        all.extend(demo.advance(end, detail));
    }
    all
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    assert_eq!(requests(7, 5, Detail::Full), requests(7, 5, Detail::Full));
    assert_ne!(requests(7, 2, Detail::Full), requests(8, 2, Detail::Full));
}

#[test]
fn what_is_told_late_is_told_as_history() {
    assert_eq!(Detail::of(START, START + SECOND), Detail::Full);
    assert_eq!(Detail::of(START, START + 3_600 * SECOND), Detail::Coarse);
    // A clock that was set back.
    assert_eq!(Detail::of(START, START - SECOND), Detail::Full);
}

#[test]
fn every_request_is_valid_and_of_a_size_that_servers_take() {
    let mut records: HashMap<Signal, u64> = HashMap::new();
    for request in requests(1, 30, Detail::Coarse) {
        assert!(request.body.len() < 4 << 20, "{}", request.body.len());
        let inspected = inspect(request.signal, &request.body, &Limits::default()).unwrap();
        assert_eq!(inspected.refused_items(), 0);
        *records.entry(request.signal).or_default() += inspected.items;
    }
    assert!(records[&Signal::Traces] > 10_000, "{records:?}");
    assert!(records[&Signal::Metrics] > 50_000, "{records:?}");
    assert!(records[&Signal::Logs] > 2_000, "{records:?}");
}

#[test]
fn the_living_demo_has_a_bounded_rate() {
    let spans: u64 = requests(1, 10, Detail::Full)
        .iter()
        .filter(|request| request.signal == Signal::Traces)
        .map(|request| inspect(Signal::Traces, &request.body, &Limits::default()).unwrap().items)
        .sum();
    let per_second = spans / 600;
    assert!((30..200).contains(&per_second), "{per_second} spans/s");
}

/// Trace, span and parent of everything; times are looked at on the way.
fn spans(minutes: u64) -> Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    let end = START + minutes * MINUTE;
    for request in requests(3, minutes, Detail::Coarse) {
        if request.signal != Signal::Traces {
            continue;
        }
        for resource in TracesView::parse(&request.body).unwrap().resources {
            for scope in resource.unwrap().scopes {
                for span in scope.unwrap().items {
                    let span = span.unwrap();
                    assert!(span.start_time_unix_nano >= START);
                    assert!(span.end_time_unix_nano <= end, "nothing is told too early");
                    assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
                    let id = |bytes: &[u8]| bytes.to_vec();
                    all.push((id(span.trace_id), id(span.span_id), id(span.parent_span_id)));
                }
            }
        }
    }
    all
}

#[test]
fn ids_are_unique_and_every_trace_that_is_over_hangs_together() {
    let all = spans(45);
    let mut ids = HashSet::new();
    let mut traces: HashMap<&[u8], (u32, u32)> = HashMap::new();
    for (trace, span, _) in &all {
        assert!(ids.insert((trace, span)), "an id is there twice");
    }
    for (trace, _, parent) in &all {
        let (roots, orphans) = traces.entry(trace).or_default();
        if parent.is_empty() {
            *roots += 1;
        } else if !ids.contains(&(trace, parent)) {
            *orphans += 1;
        }
    }
    assert!(traces.values().all(|(roots, _)| *roots <= 1));
    let open = traces.values().filter(|(roots, _)| *roots == 0).count();
    // Sessions and runs that go on have no root yet.
    assert!(open <= 10, "{open} of {}", traces.len());
    let broken = traces.values().filter(|(roots, orphans)| *roots == 1 && *orphans > 0).count();
    assert_eq!(broken, 0);
    assert!(traces.len() > 500, "{}", traces.len());
}

#[test]
fn everything_is_marked() {
    for request in requests(2, 3, Detail::Full) {
        let mark = MARK.as_bytes();
        let groups = request.body.windows(mark.len()).filter(|bytes| *bytes == mark).count();
        assert!(groups > 0, "{}", request.signal);
    }
}

#[test]
fn a_call_tells_of_a_minute_at_most_and_of_nothing_twice() {
    let mut demo = Demo::new(1, START);
    demo.advance(START + 10 * MINUTE, Detail::Full);
    assert_eq!(demo.now_nanos(), START + MINUTE);
    assert!(demo.advance(START + MINUTE, Detail::Full).is_empty());
    assert!(demo.advance(START, Detail::Full).is_empty());
}
