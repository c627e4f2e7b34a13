//! Spans that have begun and not arrived are in their trace, and give way to those that arrive.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use std::path::Path;
use std::sync::Arc;

use kymo_journal::{Compression, Format, Journal, OsDisk, Record};
use kymo_store::{Options, Signal, Store, StoreError};
use kymo_wire::{AnyValueView, SpanView, TracesView, View, text};

const TRACE: [u8; 16] = [0xab; 16];

fn store(place: &Path) -> Store {
    let disk = Arc::new(OsDisk);
    let (journal, _) =
        Journal::open(disk.clone(), &place.join("journal"), Default::default()).unwrap();
    let blocks = place.join("blocks").to_string_lossy().into_owned();
    let objects = kymo_store::objects::open(&blocks, disk.clone()).unwrap();
    Store::open(disk, journal, objects, Options::default()).unwrap()
}

fn send(store: &Store, signal: kymo_journal::Signal, json: String) {
    let record = Record {
        signal,
        format: Format::OtlpJson,
        compression: Compression::None,
        tenant: "one",
        body: json.into_bytes().into(),
        received_nanos: 0,
    };
    store.journal().append(record).unwrap();
}

/// Name, time, span, and attributes as pairs of text.
type Event<'a> = (&'a str, u64, u64, &'a [(&'a str, &'a str)]);

/// Sends events of a session.
fn events(store: &Store, session: &str, events: &[Event<'_>]) {
    let records: Vec<String> = events
        .iter()
        .map(|(name, time, span, attributes)| {
            let attributes: Vec<String> = attributes
                .iter()
                .map(|(key, value)| {
                    format!(r#"{{"key":"{key}","value":{{"stringValue":"{value}"}}}}"#)
                })
                .collect();
            format!(
                r#"{{"timeUnixNano":"{time}","eventName":"{name}","traceId":"{}","spanId":"{span:016x}","attributes":[{}]}}"#,
                "ab".repeat(16),
                attributes.join(",")
            )
        })
        .collect();
    let body = format!(
        r#"{{"resourceLogs":[{{"resource":{},"scopeLogs":[{{"logRecords":[{}]}}]}}]}}"#,
        resource(session),
        records.join(",")
    );
    send(store, kymo_journal::Signal::Logs, body);
}

fn span(store: &Store, session: &str, id: u64, name: &str, start: u64, end: u64) {
    let body = format!(
        r#"{{"resourceSpans":[{{"resource":{},"scopeSpans":[{{"spans":[{{"traceId":"{}","spanId":"{id:016x}","name":"{name}","startTimeUnixNano":"{start}","endTimeUnixNano":"{end}"}}]}}]}}]}}"#,
        resource(session),
        "ab".repeat(16),
    );
    send(store, kymo_journal::Signal::Traces, body);
}

fn resource(session: &str) -> String {
    format!(r#"{{"attributes":[{{"key":"session_id","value":{{"stringValue":"{session}"}}}}]}}"#)
}

/// Name, start, end and whether it is open, of each span of the trace.
fn trace(store: &Store, id: [u8; 16]) -> Vec<(String, u64, u64, bool)> {
    let events = store.event_snapshot(["one"]).unwrap();
    let spans = store.snapshot_of(["one"], Signal::Spans).unwrap();
    let found = store.trace_with_open(&spans, &events, &id, &mut |_| Ok(())).unwrap();
    let Some(found) = found else { return Vec::new() };
    let mut shown = Vec::new();
    for resource in TracesView::parse(&found.body).unwrap().resources {
        for scope in resource.unwrap().scopes {
            shown.extend(scope.unwrap().items.iter().map(|span| shown_span(&span.unwrap())));
        }
    }
    assert_eq!(shown.len(), found.spans);
    shown.sort();
    shown
}

fn shown_span(span: &SpanView<'_>) -> (String, u64, u64, bool) {
    let open = span.attributes.iter().flatten().find(|attribute| attribute.key == b"kymo.open");
    let is_open = open.is_some_and(|attribute| attribute.value == AnyValueView::Bool(true));
    let (start, end) = (span.start_time_unix_nano, span.end_time_unix_nano);
    (text(span.name).into_owned(), start, end, is_open)
}

#[test]
fn a_span_is_open_from_its_event_until_it_arrives() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    events(
        &store,
        "s",
        &[
            ("SessionStarted", 100, 1, &[("span_name", "session")]),
            ("TaskCreated", 200, 2, &[("span_name", "train"), ("task_id", "t1")]),
            ("ResourceUpdate", 900, 1, &[]),
        ],
    );
    let open = [("session".to_owned(), 100, 900, true), ("train".to_owned(), 200, 900, true)];
    assert_eq!(trace(&store, TRACE), open);
    assert_eq!(trace(&store, [7; 16]), []);

    // From blocks it is the same, and what was heard later moves the end.
    store.flush().unwrap();
    assert_eq!(trace(&store, TRACE), open);
    events(&store, "s", &[("TaskCompleted", 1000, 2, &[])]);
    span(&store, "s", 2, "train", 200, 1000);
    let arrived = [("session".to_owned(), 100, 1000, true), ("train".to_owned(), 200, 1000, false)];
    assert_eq!(trace(&store, TRACE), arrived);
    span(&store, "s", 1, "session", 100, 1100);
    store.flush().unwrap();
    let ended = [("session".to_owned(), 100, 1100, false), ("train".to_owned(), 200, 1000, false)];
    assert_eq!(trace(&store, TRACE), ended);
}

#[test]
fn a_span_whose_end_was_told_and_that_got_lost_is_not_open() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let named = |name| [("span_name", name)];
    let begun: [Event<'_>; 4] = [
        ("SessionStarted", 100, 1, &named("session")),
        ("TaskCreated", 200, 2, &named("good")),
        ("TaskCreated", 210, 3, &named("bad")),
        ("TaskCreated", 220, 4, &named("late")),
    ];
    events(&store, "s", &begun);
    store.flush().unwrap();
    events(&store, "s", &[("TaskCompleted", 300, 2, &[]), ("TaskFailed", 310, 3, &[])]);
    // A session ends by its own end only, whatever is told in its span; a task by its own.
    events(&store, "s", &[("TaskCompleted", 250, 1, &[]), ("SessionEnded", 260, 4, &[])]);
    // Of an end that was told twice, the first counts.
    events(&store, "s", &[("TaskCompleted", 305, 2, &[])]);
    let shown = |name: &str, start, end, is_open| (name.to_owned(), start, end, is_open);
    let (bad, good) = (shown("bad", 210, 310, false), shown("good", 200, 300, false));
    let (late, session) = (shown("late", 220, 310, true), shown("session", 100, 310, true));
    assert_eq!(trace(&store, TRACE), [bad.clone(), good.clone(), late, session]);
    assert_eq!(statuses(&store), [("bad".to_owned(), 2), ("good".to_owned(), 1)]);
    events(&store, "s", &[("SessionEnded", 400, 1, &[])]);
    store.flush().unwrap();
    let (late, session) = (shown("late", 220, 400, true), shown("session", 100, 400, false));
    assert_eq!(trace(&store, TRACE), [bad, good, late, session]);
}

/// Name and status of each span of the trace that has one.
fn statuses(store: &Store) -> Vec<(String, i32)> {
    let events = store.event_snapshot(["one"]).unwrap();
    let spans = store.snapshot_of(["one"], Signal::Spans).unwrap();
    let found = store.trace_with_open(&spans, &events, &TRACE, &mut |_| Ok(())).unwrap().unwrap();
    let mut shown = Vec::new();
    for resource in TracesView::parse(&found.body).unwrap().resources {
        for scope in resource.unwrap().scopes {
            let spans = scope.unwrap().items;
            let told = spans
                .iter()
                .flatten()
                .filter_map(|span| Some((text(span.name).into_owned(), span.status?.code)));
            shown.extend(told);
        }
    }
    shown.sort();
    shown
}

#[test]
fn each_session_of_a_trace_ends_where_it_was_last_heard_of_itself() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    events(&store, "outer", &[("SessionStarted", 100, 1, &[("span_name", "session")])]);
    // It was killed, and is not heard of again; it comes twice, as replays do.
    let inner = ("SessionStarted", 200, 2, &[("span_name", "inner")][..]);
    events(&store, "inner", &[inner]);
    events(&store, "inner", &[inner, ("ResourceUpdate", 300, 2, &[])]);
    span(&store, "outer", 3, "step", 400, 5000);
    let shown = trace(&store, TRACE);
    assert_eq!(shown[0], ("inner".to_owned(), 200, 300, true));
    assert_eq!(shown[1], ("session".to_owned(), 100, 5000, true));
    assert_eq!(shown.len(), 3);
}

#[test]
fn log_records_that_open_nothing_make_no_trace() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    events(&store, "s", &[("browser.click", 100, 1, &[("target", "a")])]);
    assert_eq!(trace(&store, TRACE), []);
    store.flush().unwrap();
    assert_eq!(trace(&store, TRACE), []);
}

/// A record that is no event though it looks like one that opens a span.
const NO_EVENT: Event<'_> = ("", 150, 9, &[("span_name", "nothing")]);

#[test]
fn a_record_without_the_name_of_an_event_opens_nothing_wherever_it_lies() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    events(&store, "s", &[NO_EVENT, ("SessionStarted", 100, 1, &[("span_name", "session")])]);
    let session = [("session".to_owned(), 100, 100, true)];
    assert_eq!(trace(&store, TRACE), session);
    store.flush().unwrap();
    assert_eq!(trace(&store, TRACE), session);
}

#[test]
fn blocks_of_log_records_are_looked_at_if_events_open_spans_and_then_all_that_have_events() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    let flushed = |one: Event<'_>| {
        events(&store, "s", &[one]);
        store.flush().unwrap();
    };
    flushed(("ResourceUpdate", 900, 1, &[]));
    flushed(NO_EVENT);
    let sources = || {
        let snapshot = store.event_snapshot(["one"]).unwrap();
        let opening = store.opening_sources(&snapshot, &TRACE, &mut |_| Ok(())).unwrap();
        let all = store.trace_sources(&snapshot, &TRACE, &mut |_| Ok(())).unwrap();
        (opening.0.len(), all.0.len())
    };
    assert_eq!(sources(), (0, 1));
    assert_eq!(trace(&store, TRACE), []);
    flushed(("SessionStarted", 100, 1, &[("span_name", "session")]));
    assert_eq!(sources(), (1, 2));
    // What opens nothing tells how long it lasts, and when it ended.
    assert_eq!(trace(&store, TRACE), [("session".to_owned(), 100, 900, true)]);
    flushed(("SessionEnded", 950, 1, &[]));
    assert_eq!(sources(), (1, 3));
    assert_eq!(trace(&store, TRACE), [("session".to_owned(), 100, 950, false)]);
}

#[test]
fn who_waits_no_longer_is_heard_before_each_block_of_log_records() {
    const BLOCKS: usize = 5;
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    for time in 0..BLOCKS as u64 {
        events(&store, "s", &[("ResourceUpdate", 100 + time, 1, &[])]);
        store.flush().unwrap();
    }
    let snapshot = store.event_snapshot(["one"]).unwrap();
    let spans = store.snapshot_of(["one"], Signal::Spans).unwrap();
    let find = |most: usize| {
        let mut asked = 0;
        let found = store.trace_with_open(&spans, &snapshot, &[7; 16], &mut |_| {
            asked += 1;
            if asked > most { Err(StoreError::Cancelled) } else { Ok(()) }
        });
        (found, asked)
    };
    let (found, asked) = find(usize::MAX);
    assert!(matches!(found, Ok(None)) && asked >= BLOCKS, "{found:?} {asked}");
    for most in 0..asked {
        let (found, asked) = find(most);
        assert!(matches!(found, Err(StoreError::Cancelled)), "{most}: {found:?}");
        assert_eq!(asked, most + 1, "nothing is asked or done after the refusal");
    }
}

#[test]
fn sessions_whose_ids_are_numbers_are_told_apart() {
    let place = tempfile::tempdir().unwrap();
    let store = store(place.path());
    for (number, time) in [(41, 300), (42, 700)] {
        let event = |name: &str, time: u64, attributes: &str| {
            format!(
                r#"{{"timeUnixNano":"{time}","eventName":"{name}","traceId":"{}","spanId":"{number:016x}","attributes":[{attributes}]}}"#,
                "ab".repeat(16)
            )
        };
        let named =
            format!(r#"{{"key":"span_name","value":{{"stringValue":"session {number}"}}}}"#);
        let body = format!(
            r#"{{"resourceLogs":[{{"resource":{{"attributes":[{{"key":"session_id","value":{{"intValue":"{number}"}}}}]}},"scopeLogs":[{{"logRecords":[{},{}]}}]}}]}}"#,
            event("SessionStarted", 100, &named),
            event("ResourceUpdate", time, ""),
        );
        send(&store, kymo_journal::Signal::Logs, body);
    }
    let shown = |name: &str, end| (name.to_owned(), 100, end, true);
    assert_eq!(trace(&store, TRACE), [shown("session 41", 300), shown("session 42", 700)]);
}
