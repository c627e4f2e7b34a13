//! A deletion from the request to the last byte, on a disk that loses power, with a consumer of the
//! journal that is behind and a trace in the archive.

#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kymo_journal::sim::SimDisk;
use kymo_journal::{Compression, CursorOptions, Disk, Entry, Format, Journal, Record};
use kymo_store::compact::Effort;
use kymo_store::deletion::{Order, State, Target};
use kymo_store::objects::LocalObjects;
use kymo_store::scan::{ColumnRef, Predicate, Scalar, Scan, Scope};
use kymo_store::tables::{logs, series, spans};
use kymo_store::{Options, Signal, Store};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, number_data_point,
};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

const TENANT: &str = "default";
/// Who is to be forgotten.
const NEEDLE: &str = "ada-needle";
const OTHER: &str = "bob";
const START_NANOS: u64 = 1_700_000_000_000_000_000;
const TRACE: [u8; 16] = [7; 16];

fn user(name: &str) -> Vec<KeyValue> {
    let value = Some(AnyValue { value: Some(Value::StringValue(name.to_owned())) });
    vec![KeyValue { key: "user".to_owned(), value, ..KeyValue::default() }]
}

/// A span of each user, in one trace.
fn traces(number: u64, users: &[&str]) -> Vec<u8> {
    let span = |(nth, name): (usize, &&str)| Span {
        trace_id: TRACE.to_vec(),
        span_id: (number * 10 + nth as u64 + 1).to_be_bytes().to_vec(),
        name: "work".to_owned(),
        start_time_unix_nano: START_NANOS + number,
        end_time_unix_nano: START_NANOS + number + 5,
        attributes: user(name),
        ..Span::default()
    };
    let spans = users.iter().enumerate().map(span).collect();
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    let group = ResourceSpans { scope_spans, ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![group] }.encode_to_vec()
}

fn log_records(number: u64, users: &[&str]) -> Vec<u8> {
    let record = |name: &&str| LogRecord {
        time_unix_nano: START_NANOS + number,
        attributes: user(name),
        ..LogRecord::default()
    };
    let log_records = users.iter().map(record).collect();
    let scope_logs = vec![ScopeLogs { log_records, ..ScopeLogs::default() }];
    let group = ResourceLogs { scope_logs, ..ResourceLogs::default() };
    ExportLogsServiceRequest { resource_logs: vec![group] }.encode_to_vec()
}

fn points(number: u64, users: &[&str]) -> Vec<u8> {
    let point = |name: &&str| NumberDataPoint {
        time_unix_nano: START_NANOS + number,
        attributes: user(name),
        value: Some(number_data_point::Value::AsDouble(1.0)),
        ..NumberDataPoint::default()
    };
    let gauge = Gauge { data_points: users.iter().map(point).collect() };
    let metric =
        Metric { name: "logins".to_owned(), data: Some(Data::Gauge(gauge)), ..Metric::default() };
    let scope_metrics = vec![ScopeMetrics { metrics: vec![metric], ..ScopeMetrics::default() }];
    let group = ResourceMetrics { scope_metrics, ..ResourceMetrics::default() };
    ExportMetricsServiceRequest { resource_metrics: vec![group] }.encode_to_vec()
}

fn open(disk: &SimDisk) -> Store {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let small = kymo_journal::Options { segment_bytes: 4096, ..Default::default() };
    let (journal, _) = Journal::open(disk.clone(), Path::new("/data/journal"), small).unwrap();
    journal.register("slow", CursorOptions::default()).unwrap();
    let objects = LocalObjects::open(Path::new("/data/blocks"), disk.clone()).unwrap();
    let options = Options { grace: Duration::from_secs(5), ..Options::default() };
    Store::open(disk, journal, Arc::new(objects), options).unwrap()
}

fn append(store: &Store, number: u64, compression: Compression, users: &[&str]) {
    for (signal, body) in [
        (kymo_journal::Signal::Traces, traces(number, users)),
        (kymo_journal::Signal::Logs, log_records(number, users)),
        (kymo_journal::Signal::Metrics, points(number, users)),
    ] {
        let body = match compression {
            Compression::Zstd => zstd::bulk::compress(&body, 1).unwrap(),
            _ => body,
        };
        let record = Record {
            signal,
            format: Format::OtlpProtobuf,
            compression,
            tenant: TENANT,
            body: Bytes::from(body),
            received_nanos: START_NANOS,
        };
        store.journal().append(record).unwrap();
    }
}

/// Requests with both users, with one, in blocks and in memory.
fn fill(store: &Store) {
    append(store, 1, Compression::None, &[NEEDLE, OTHER]);
    append(store, 2, Compression::Zstd, &[OTHER, NEEDLE, OTHER]);
    store.flush().unwrap();
    store.archive(TENANT, &TRACE, &mut |_| Ok(())).unwrap().unwrap();
    append(store, 3, Compression::None, &[NEEDLE]);
    store.flush().unwrap();
    append(store, 4, Compression::None, &[OTHER]);
    append(store, 5, Compression::None, &[NEEDLE, OTHER]);
}

fn is_user(name: &str) -> Predicate {
    let column = ColumnRef::attribute(Scope::Own, "user");
    Predicate::equal(column, Scalar::String(name.to_owned()))
}

fn order() -> Order {
    let target = |signal| Target { signal, predicate: is_user(NEEDLE) };
    Order {
        by: "eve".to_owned(),
        condition: None,
        condition_hash: "sha256:x".to_owned(),
        language: "sql".to_owned(),
        time: None,
        whole_traces: false,
        targets: Signal::ALL.map(target).to_vec(),
    }
}

/// Spans, log records and series that a user has. A series may have several rows, and fewer once
/// blocks are joined.
fn rows(store: &Store, name: &str) -> [usize; 3] {
    [
        (Signal::Spans, spans::field::SPAN_ID),
        (Signal::Logs, logs::field::TIME),
        (Signal::Series, series::field::IDENTITY),
    ]
    .map(|(signal, field)| {
        let columns = vec![ColumnRef::Field(field)];
        let scan = Scan { columns, predicate: Some(is_user(name)), ..Scan::default() };
        let (batches, _) = store.scan(TENANT, signal, &scan).unwrap();
        let values = batches.iter().map(|batch| batch.column(0));
        let mut rows: Vec<_> =
            values.flat_map(|all| (0..all.len()).map(|row| all.slice(row, 1))).collect();
        if signal == Signal::Series {
            rows.dedup();
        }
        rows.len()
    })
}

/// Spans of the trace, those in the archive too.
fn spans_of_trace(store: &Store) -> usize {
    let snapshot = store.snapshot(TENANT, Signal::Spans).unwrap();
    store.trace(&snapshot, &TRACE, &mut |_| Ok(())).unwrap().map_or(0, |trace| trace.spans)
}

/// Files that have some bytes.
fn files_with(disk: &SimDisk, needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut dirs = vec![Path::new("/data").to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in disk.list(&dir).unwrap() {
            let path = dir.join(&entry.name);
            if entry.is_dir {
                dirs.push(path);
                continue;
            }
            let file = disk.open(&path).unwrap();
            let bytes = kymo_journal::disk::read_all(&*file).unwrap();
            if bytes.windows(needle.len()).any(|window| window == needle.as_bytes()) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

/// Does what the background does, until nothing is left of it.
fn finish(store: &Store, disk: &SimDisk) {
    for _ in 0..40 {
        store.pursue_deletions().unwrap();
        if store.deletions_pending() == 0 {
            return;
        }
        disk.advance_clock(Duration::from_secs(31));
        store.collect_garbage().unwrap();
    }
    panic!("it is not done: {:?}", store.deletions(TENANT, 10));
}

fn slow_entries(store: &Store) -> Vec<Entry> {
    let mut reader = store.journal().cursor_reader("slow").unwrap();
    std::iter::from_fn(|| reader.try_next().unwrap()).collect()
}

#[test]
fn what_is_deleted_is_hidden_at_once_and_then_in_no_file() {
    let disk = SimDisk::new(1);
    let store = open(&disk);
    fill(&store);
    assert_eq!((rows(&store, NEEDLE), rows(&store, OTHER)[0]), ([4, 4, 1], 5));
    let others = (rows(&store, OTHER), spans_of_trace(&store) - 4);
    let before = files_with(&disk, NEEDLE);
    for place in ["/data/journal/", ".parquet"] {
        assert!(before.iter().any(|path| path.contains(place)), "{place}: {before:?}");
    }
    let preview = store.preview_deletion(TENANT, &order().targets).unwrap();
    let counts: Vec<_> = preview.iter().map(|one| (one.records, one.archived_spans)).collect();
    assert_eq!(counts, [(4, 2), (4, 0), (4, 0)]);
    assert_eq!(rows(&store, NEEDLE), [4, 4, 1], "to look changes nothing");

    let deletion = store.begin_deletion(TENANT, order()).unwrap();
    assert_eq!(deletion.state(), State::Hidden);
    let hidden = deletion.hidden.unwrap();
    let records: Vec<u64> = hidden.signals.iter().map(|signal| signal.records).collect();
    assert_eq!((records, hidden.archived_spans), (vec![4, 4, 4], 2));
    assert_eq!(rows(&store, NEEDLE), [0; 3]);
    assert_eq!((rows(&store, OTHER), spans_of_trace(&store)), others);
    assert!(!files_with(&disk, NEEDLE).is_empty(), "only hidden so far");

    finish(&store, &disk);
    assert_eq!(files_with(&disk, NEEDLE), Vec::<String>::new());
    assert!(!files_with(&disk, OTHER).is_empty(), "others are there to be found");
    assert_eq!((rows(&store, OTHER), spans_of_trace(&store)), others);
    let done = store.deletion(TENANT, &deletion.asked.id).unwrap().unwrap();
    assert_eq!((done.state(), done.progress.rows_erased), (State::Done, 11));
    assert!(done.progress.bytes_after < done.progress.bytes_before, "{done:?}");
    // Three requests had nothing else in them; nine had.
    assert_eq!((done.progress.journal_erased, done.progress.journal_replaced), (3, 9));
    // Who was behind gets what is left.
    assert_eq!(slow_entries(&store).len(), 12);
    // The same once more is new.
    append(&store, 9, Compression::None, &[NEEDLE]);
    assert_eq!(rows(&store, NEEDLE), [1; 3]);
    drop(store);
    let store = open(&disk);
    assert_eq!((rows(&store, NEEDLE), rows(&store, OTHER)), ([1; 3], others.0));
    assert_eq!(store.deletions(TENANT, 10).unwrap().len(), 1, "the audit stays");
}

#[test]
fn a_deletion_that_is_cut_off_anywhere_is_finished_by_the_next_start() {
    let life = |seed: u64, crash_at: u64, is_kill: bool| {
        let disk = SimDisk::new(seed);
        let store = open(&disk);
        fill(&store);
        let others = rows(&store, OTHER);
        let first = disk.step();
        disk.crash_at(first.saturating_add(crash_at));
        let _ = store.begin_deletion(TENANT, order());
        for _ in 0..6 {
            let _ = store.pursue_deletions();
            if disk.crashed() {
                break;
            }
            disk.advance_clock(Duration::from_secs(31));
            let _ = store.collect_garbage();
        }
        let steps = disk.step() - first;
        disk.crash();
        drop(store);
        let disk = if is_kill { disk.restart() } else { disk.reboot() };
        let store = open(&disk);
        assert_eq!(rows(&store, OTHER), others, "seed {seed}, step {crash_at}");
        if crash_at.is_multiple_of(2) {
            // Others come first: blocks with tombstones are written again before anybody asks why.
            store.compact(Effort::Everything).unwrap();
        }
        if store.deletions(TENANT, 1).unwrap().is_empty() {
            // It was cut off before it was written down: nobody was told that it is done.
            store.begin_deletion(TENANT, order()).unwrap();
        }
        finish(&store, &disk);
        assert_eq!(rows(&store, NEEDLE), [0; 3], "seed {seed}, step {crash_at}");
        assert_eq!(rows(&store, OTHER), others, "seed {seed}, step {crash_at}");
        let left = files_with(&disk, NEEDLE);
        assert_eq!(left, Vec::<String>::new(), "seed {seed}, step {crash_at}");
        steps
    };
    let steps = life(1, u64::MAX, true);
    assert!(steps > 100, "{steps} steps");
    for crash_at in 0..steps {
        life(crash_at + 2, crash_at, crash_at.is_multiple_of(3));
    }
}

#[test]
fn a_block_that_cannot_be_read_is_waited_for_and_keeps_nobody_from_asking() {
    let disk = SimDisk::new(4);
    let store = open(&disk);
    fill(&store);
    store.flush().unwrap();
    let snapshot = store.snapshot(TENANT, Signal::Spans).unwrap();
    let block = snapshot.blocks().next().unwrap().clone();
    drop((snapshot, store));
    // In pages of most columns, and not in the footer.
    let path = Path::new("/data/blocks").join(block.path(TENANT, Signal::Spans));
    for offset in (40..block.size_bytes * 2 / 3).step_by(16) {
        disk.flip_bit(&path, offset, 1);
    }
    let store = open(&disk);
    let preview = store.preview_deletion(TENANT, &order().targets).unwrap();
    let deletion = store.begin_deletion(TENANT, order()).unwrap();
    let hidden = deletion.hidden.unwrap();
    for (meant, hidden) in preview.iter().zip(&hidden.signals) {
        assert_eq!((meant.records, meant.signal.name()), (hidden.records, &*hidden.signal));
    }
    assert!(hidden.signals[0].blocks.contains(&block.name()));
    for _ in 0..6 {
        store.pursue_deletions().unwrap();
        disk.advance_clock(Duration::from_secs(31));
        store.collect_garbage().unwrap();
    }
    let waiting = store.deletion(TENANT, &deletion.asked.id).unwrap().unwrap();
    assert_eq!(waiting.state(), State::Rewriting);
    assert_eq!(
        waiting.progress.waits_for.as_deref(),
        Some("1 blocks of spans to be written again")
    );
}

#[test]
fn two_deletions_and_a_block_that_both_hit_are_counted_once() {
    let disk = SimDisk::new(3);
    let store = open(&disk);
    fill(&store);
    let first = store.begin_deletion(TENANT, order()).unwrap();
    let second = store.begin_deletion(TENANT, order()).unwrap();
    let records = |deletion: &kymo_store::deletion::Deletion| -> u64 {
        deletion.hidden.as_ref().unwrap().signals.iter().map(|signal| signal.records).sum()
    };
    assert_eq!((records(&first), records(&second)), (12, 0), "what is hidden is not there");
    finish(&store, &disk);
    let listed = store.deletions(TENANT, 10).unwrap();
    assert!(listed.iter().all(|deletion| deletion.state() == State::Done));
    assert!(listed[0].asked.id > listed[1].asked.id, "the latest first");
    assert_eq!(store.counters().rows_erased.total(), 11);
    assert_eq!(store.deletion("other", &first.asked.id).unwrap(), None, "tenants are apart");
    assert_eq!(store.deletion(TENANT, "../../x").unwrap(), None);
}
