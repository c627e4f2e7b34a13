//! A store's life on a local disk and in a bucket: the same tests on both.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

#[path = "support/backends.rs"]
mod backends;
#[path = "support/seaweed.rs"]
#[allow(dead_code)]
mod seaweed;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use backends::{on_each_backend, open};
use bytes::Bytes;
use kymo_journal::{Compression, CursorOptions, Format, OsDisk, Record};
use kymo_store::block::catalogue::Scope;
use kymo_store::block::listing;
use kymo_store::check::check;
use kymo_store::compact::Effort;
use kymo_store::garbage::Retention;
use kymo_store::otlp::{TraceResult, trace_by_id};
use kymo_store::scan::{ColumnRef, Predicate, Scalar, Scan};
use kymo_store::tables::spans::field;
use kymo_store::{Options, Signal, Store, StoreError};
use kymo_wire::AnyValueView;
use kymo_wire::encode::{SpanFields, Writer};

const SECOND_NANOS: u64 = 1_000_000_000;
const START_NANOS: u64 = 1_700_000_000 * SECOND_NANOS;

/// A trace of ten spans of one user.
fn request(number: u64) -> Bytes {
    part(number, number)
}

/// Ten spans of a trace, which begin some seconds after the start.
fn part(number: u64, seconds: u64) -> Bytes {
    let mut writer = Writer::new();
    writer.resource_group(|w| {
        w.resource(|w| {
            let service = format!("service-{}", number % 3);
            w.resource_attribute(b"service.name", &AnyValueView::String(service.as_bytes()));
        });
        w.scope_group(|w| {
            for nth in 0..10u64 {
                let start = START_NANOS + seconds * SECOND_NANOS + nth;
                let fields = SpanFields {
                    trace_id: &trace_id(number),
                    span_id: &(seconds * 10 + nth + 1).to_be_bytes(),
                    name: b"work",
                    start_time_unix_nano: start,
                    end_time_unix_nano: start + 1000,
                    ..SpanFields::default()
                };
                w.span(&fields, |w| {
                    let user = format!("user-{}", number % 100);
                    w.span_attribute(b"user", &AnyValueView::String(user.as_bytes()));
                    w.span_attribute(b"nth", &AnyValueView::Int(nth as i64));
                });
            }
        });
    });
    Bytes::from(writer.into_bytes())
}

fn trace_id(number: u64) -> [u8; 16] {
    let mut id = [1; 16];
    id[8..].copy_from_slice(&number.to_be_bytes());
    id
}

fn append(store: &Store, numbers: std::ops::Range<u64>) {
    let records: Vec<Record<'_>> = numbers.map(|number| record(request(number))).collect();
    store.journal().append_many(&records).unwrap();
}

fn record(body: Bytes) -> Record<'static> {
    Record {
        signal: kymo_journal::Signal::Traces,
        format: Format::OtlpProtobuf,
        compression: Compression::None,
        tenant: "default",
        body,
        received_nanos: 1,
    }
}

fn spans_of(store: &Store, number: u64) -> usize {
    let snapshot = store.snapshot("default", Signal::Spans).unwrap();
    let sources = store.sources(&snapshot, None).unwrap();
    trace_by_id(&sources, &trace_id(number)).unwrap().map_or(0, |t| t.spans)
}

fn count(store: &Store, predicate: Option<Predicate>) -> usize {
    let columns = vec![ColumnRef::Field(field::SPAN_ID)];
    let scan = Scan { columns, predicate, ..Scan::default() };
    let (batches, _) = store.scan("default", Signal::Spans, &scan).unwrap();
    batches.iter().map(|b| b.num_rows()).sum()
}

fn user(number: u64) -> Predicate {
    let column = ColumnRef::attribute(Scope::Own, "user");
    Predicate::equal(column, Scalar::String(format!("user-{number}")))
}

#[test]
fn a_detached_store_keeps_what_was_there_and_takes_no_more() {
    // So little that a flush is due at once: of a detached store none ever is.
    let detached = || Options { is_detached: true, lag_bytes: 2, ..Options::default() };
    on_each_backend("detach", |dir, objects| {
        let store = open(dir, objects, Options::default());
        append(&store, 0..3);
        drop(store);
        let store = open(dir, objects, detached());
        assert!(store.journal().cursors().is_empty(), "nobody needs what comes now");
        assert_eq!((count(&store, None), spans_of(&store, 0)), (30, 10), "what was owed to it");
        // Somebody else keeps the journal's records.
        store.journal().register("forward/hub", CursorOptions::default()).unwrap();
        append(&store, 3..4);
        assert_eq!((count(&store, None), spans_of(&store, 3)), (30, 0));
        store.flush().unwrap();
        drop(store);
        let store = open(dir, objects, detached());
        let cursors = store.journal().cursors();
        let names: Vec<_> = cursors.iter().map(|cursor| cursor.name.as_str()).collect();
        assert_eq!(names, ["forward/hub"]);
        assert_eq!((count(&store, None), spans_of(&store, 3)), (30, 0), "also after a restart");
        store.flush_due().unwrap();
        store.close().unwrap();
        let store = open(dir, objects, detached());
        assert_eq!(count(&store, None), 30);
        drop(store);
        let store = open(dir, objects, Options::default());
        assert_eq!((spans_of(&store, 0), spans_of(&store, 3)), (10, 10), "what is there is taken");
    });
}

#[test]
fn rows_survive_flush_compaction_and_restart() {
    on_each_backend("restart", |dir, objects| {
        let store = open(dir, objects, Options::default());
        for part in 0..4 {
            append(&store, part * 25..part * 25 + 25);
            assert_eq!(count(&store, None), (part as usize + 1) * 250, "before the flush");
            store.flush().unwrap();
            assert_eq!(count(&store, None), (part as usize + 1) * 250, "after the flush");
        }
        drop(store);
        let store = open(dir, objects, Options::default());
        assert_eq!(count(&store, None), 1000, "after a restart");
        let compacted = store.compact(Effort::Everything).unwrap();
        assert_eq!((compacted.inputs, compacted.outputs), (4, 1));
        assert_eq!(count(&store, None), 1000, "after compaction");
        assert_eq!(spans_of(&store, 77), 10);
        assert_eq!(count(&store, Some(user(42))), 10);
        let report = check(objects, |_, _| {}).unwrap();
        assert_eq!((report.blocks, report.rows), (1, 1000));
        assert_eq!(report.findings, []);
    });
}

#[test]
fn deleted_rows_are_gone_at_once_and_later_ones_stay() {
    on_each_backend("delete", |dir, objects| {
        let store = open(dir, objects, Options::default());
        append(&store, 0..10);
        assert_eq!(store.delete("default", Signal::Spans, &user(3)).unwrap(), 1);
        assert_eq!(count(&store, None), 90);
        assert_eq!(spans_of(&store, 3), 0);
        assert_eq!(spans_of(&store, 4), 10);
        // The condition holds for what was there, not for what comes.
        append(&store, 103..104);
        assert_eq!(spans_of(&store, 103), 10);
        store.flush().unwrap();
        store.compact(Effort::Everything).unwrap();
        let snapshot = store.snapshot("default", Signal::Spans).unwrap();
        assert!(snapshot.tenants[0].log.tombstones.is_empty(), "nothing is left to hide");
        assert_eq!(snapshot.blocks().map(|b| b.rows).sum::<u64>(), 100);
        assert_eq!(count(&store, Some(user(3))), 10);
        drop(store);
        assert_eq!(count(&open(dir, objects, Options::default()), None), 100);
    });
}

#[test]
fn a_snapshot_is_readable_while_its_blocks_are_replaced() {
    on_each_backend("pinned", |dir, objects| {
        let store = open(dir, objects, Options::default());
        for part in 0..3 {
            append(&store, part * 10..part * 10 + 10);
            store.flush().unwrap();
        }
        let before = store.snapshot("default", Signal::Spans).unwrap();
        store.compact(Effort::Everything).unwrap();
        store.collect_garbage().unwrap();
        let sources = store.sources(&before, None).unwrap();
        assert_eq!(sources.iter().map(|s| s.rows()).sum::<usize>(), 300);
        assert!(trace_by_id(&sources, &trace_id(15)).unwrap().is_some());
    });
}

#[test]
fn files_are_deleted_after_the_grace_time() {
    on_each_backend("garbage", |dir, objects| {
        let options = Options { grace: Duration::ZERO, ..Options::default() };
        let store = open(dir, objects, options);
        for part in 0..3 {
            append(&store, part * 10..part * 10 + 10);
            store.flush().unwrap();
        }
        store.compact(Effort::Everything).unwrap();
        objects.put("default/spans/2023-11-14/0-0-L1-gone-7-0.parquet", Bytes::new()).unwrap();
        // The clock of a bucket tells seconds only.
        let deadline = std::time::Instant::now() + Duration::from_secs(5);
        let files = || {
            let all = objects.list("default/spans").unwrap();
            all.iter().filter(|f| f.path.ends_with(".parquet")).count()
        };
        while files() > 1 && std::time::Instant::now() < deadline {
            store.collect_garbage().unwrap();
        }
        assert_eq!(files(), 1);
        assert_eq!(count(&store, None), 300);
    });
}

#[test]
fn retention_removes_what_is_old_and_what_is_too_much() {
    on_each_backend("retention", |dir, objects| {
        const DAY: u64 = 86_400;
        let options = Options { final_rows: 1, ..Options::default() };
        let store = open(dir, objects, options);
        for day in 0..4 {
            append(&store, day * DAY..day * DAY + 5);
            store.flush().unwrap();
        }
        store.compact(Effort::Everything).unwrap();
        let blocks = |store: &Store| -> Vec<(i64, u64)> {
            let snapshot = store.snapshot("default", Signal::Spans).unwrap();
            let mut blocks: Vec<_> =
                snapshot.blocks().map(|b| (b.max_time_nanos, b.size_bytes)).collect();
            blocks.sort_unstable();
            blocks
        };
        let all = blocks(&store);
        assert_eq!(all.len(), 4);
        let max_bytes = Some(all[1].1 + all[2].1 + all[3].1);
        let too_much = Retention { max_bytes, max_age: None };
        assert_eq!(store.retain("default", Signal::Spans, too_much).unwrap(), 1);
        assert_eq!(blocks(&store), all[1..]);
        let since = UNIX_EPOCH + Duration::from_nanos(all[2].0 as u64 - 3600 * SECOND_NANOS);
        let max_age = Some(SystemTime::now().duration_since(since).unwrap());
        let too_old = Retention { max_age, max_bytes: None };
        assert_eq!(store.retain("default", Signal::Spans, too_old).unwrap(), 1);
        assert_eq!(blocks(&store), all[2..]);
        assert_eq!(count(&store, None), 100);
    });
}

/// A trace by its id, with what is archived of it.
fn trace(store: &Store, number: u64) -> Option<TraceResult> {
    let snapshot = store.snapshot("default", Signal::Spans).unwrap();
    store.trace(&snapshot, &trace_id(number), &mut |_| Ok(())).unwrap()
}

/// Archives a trace; its spans and damaged blocks.
#[track_caller]
fn archive(store: &Store, number: u64) -> (usize, usize) {
    let archived = store.archive("default", &trace_id(number), &mut |_| Ok(())).unwrap().unwrap();
    (archived.spans, archived.damaged_blocks)
}

#[test]
fn an_archived_trace_is_whole_while_its_blocks_expire_and_after() {
    on_each_backend("archive", |dir, objects| {
        const DAY: u64 = 86_400;
        let archived_objects = || objects.list("default/archive").unwrap().len();
        let options = Options { final_rows: 1, ..Options::default() };
        let store = open(dir, objects, options.clone());
        assert_eq!(trace(&store, 7), None);
        for day in 0..2 {
            store.journal().append_many(&[record(part(7, day * DAY))]).unwrap();
            append(&store, day * DAY + 8..day * DAY + 9);
            store.flush().unwrap();
        }
        let whole = trace(&store, 7).unwrap();
        assert_eq!((whole.spans, whole.damaged_blocks), (20, 0));
        for _ in 0..2 {
            assert_eq!(archive(&store, 7), (20, 0));
            assert_eq!(archived_objects(), 1, "to archive it again changes nothing");
        }
        let archived = store.archived("default").unwrap();
        let ids: Vec<[u8; 16]> = archived.iter().map(|trace| trace.trace_id).collect();
        assert_eq!((ids, store.archived("other").unwrap()), (vec![trace_id(7)], vec![]));
        assert_eq!(trace(&store, 7).unwrap(), whole, "nothing is shown twice");

        // One block of the two expires, then both.
        store.compact(Effort::Everything).unwrap();
        let since = UNIX_EPOCH + Duration::from_nanos(START_NANOS + DAY * SECOND_NANOS / 2);
        let max_age = Some(SystemTime::now().duration_since(since).unwrap());
        for (retention, spans_left) in [
            (Retention { max_age, max_bytes: None }, 20),
            (Retention { max_age: None, max_bytes: Some(1) }, 0),
        ] {
            assert_eq!(store.retain("default", Signal::Spans, retention).unwrap(), 1);
            assert_eq!(count(&store, None), spans_left);
            assert_eq!(trace(&store, 7).unwrap(), whole);
        }
        assert_eq!(trace(&store, 8), None);
        assert_eq!(store.archive("default", &trace_id(8), &mut |_| Ok(())).unwrap(), None);

        // It goes on after it was archived: what is new is archived too.
        store.journal().append_many(&[record(part(7, 3 * DAY))]).unwrap();
        let longer = trace(&store, 7).unwrap();
        assert_eq!((longer.spans, archive(&store, 7), archived_objects()), (30, (30, 0), 2));
        drop(store);
        let store = open(dir, objects, options);
        store.flush().unwrap();
        assert_eq!(trace(&store, 7).unwrap(), longer, "after a restart");
        let report = check(objects, |_, _| {}).unwrap();
        assert_eq!((report.archived, report.findings), (2, vec![]));

        assert!(store.unarchive("default", &trace_id(7)).unwrap());
        assert!(!store.unarchive("default", &trace_id(7)).unwrap());
        assert_eq!(trace(&store, 7).unwrap().spans, 10, "what retention keeps stays");
        assert_eq!(store.archived("default").unwrap(), []);
    });
}

#[test]
fn a_damaged_copy_is_told_of_and_archived_anew() {
    on_each_backend("rot", |dir, objects| {
        let store = open(dir, objects, Options::default());
        append(&store, 7..8);
        let whole = trace(&store, 7).unwrap();
        assert_eq!(archive(&store, 7), (10, 0));
        let copy = &objects.list("default/archive").unwrap()[0].path;
        let sealed = objects.get(copy).unwrap();
        for at in [0, 6, sealed.len() / 2, sealed.len() - 1] {
            let mut bytes = sealed.to_vec();
            bytes[at] ^= 1;
            objects.put(copy, bytes.into()).unwrap();
            let damaged = trace(&store, 7).unwrap();
            assert_eq!((&damaged.body, damaged.damaged_blocks), (&whole.body, 1), "byte {at}");
            let report = check(objects, |_, _| {}).unwrap();
            assert_eq!((report.archived, report.findings.len()), (0, 1));
            assert!(report.findings[0].is_serious());
            assert_eq!(archive(&store, 7), (10, 1));
            assert_eq!(objects.get(copy).unwrap(), sealed);
            assert_eq!(trace(&store, 7).unwrap(), whole);
        }
    });
}

#[test]
fn a_large_trace_is_archived_in_pieces_if_it_can_be_read_again() {
    on_each_backend("pieces", |dir, objects| {
        let store = open(dir, objects, Options::default());
        for seconds in 0..200 {
            let mut writer = Writer::new();
            writer.resource_group(|w| {
                w.scope_group(|w| {
                    let fields = SpanFields {
                        trace_id: &trace_id(7),
                        span_id: &(seconds + 1_u64).to_be_bytes(),
                        start_time_unix_nano: START_NANOS + seconds * SECOND_NANOS,
                        ..SpanFields::default()
                    };
                    let text = format!("{seconds:50000}");
                    let text = AnyValueView::String(text.as_bytes());
                    w.span(&fields, |w| w.span_attribute(b"text", &text));
                });
            });
            store.journal().append_many(&[record(writer.into_bytes().into())]).unwrap();
        }
        let whole = trace(&store, 7).unwrap();
        assert!(whole.body.len() > 10_000_000, "{}", whole.body.len());
        // What it takes to find it is not enough to read it from the archive.
        let mut most_bytes = 0;
        let snapshot = store.snapshot("default", Signal::Spans).unwrap();
        let mut measure = |bytes: usize| {
            most_bytes = most_bytes.max(bytes);
            Ok(())
        };
        store.trace(&snapshot, &trace_id(7), &mut measure).unwrap();
        let within = |bytes: usize| match bytes <= most_bytes {
            true => Ok(()),
            false => Err(StoreError::Cancelled),
        };
        let refused = store.archive("default", &trace_id(7), &mut { within });
        assert!(matches!(refused, Err(StoreError::Cancelled)));
        assert_eq!(store.archived("default").unwrap(), []);

        assert_eq!(archive(&store, 7), (200, 0));
        let pieces = objects.list("default/archive").unwrap();
        assert!((5..8).contains(&pieces.len()), "{}", pieces.len());
        let few_more = most_bytes + (8 << 20);
        let within = |bytes: usize| match bytes <= few_more {
            true => Ok(()),
            false => Err(StoreError::Cancelled),
        };
        let found = store.trace(&snapshot, &trace_id(7), &mut { within });
        assert_eq!(found.unwrap().unwrap(), whole, "beside its blocks it takes little more");
    });
}

#[test]
fn names_and_values_come_from_blocks_and_memory() {
    on_each_backend("catalogue", |dir, objects| {
        let store = open(dir, objects, Options::default());
        append(&store, 0..2);
        store.flush().unwrap();
        append(&store, 2..4);
        let snapshot = store.snapshot("default", Signal::Spans).unwrap();
        let sources = store.sources(&snapshot, None).unwrap();
        let texts = |scope, key: &str| -> Vec<String> {
            let listed = listing::values(&sources, scope, key).unwrap();
            assert!(!listed.has_more);
            listed.values.into_values().flatten().collect()
        };
        assert_eq!(texts(Scope::Own, "user"), ["user-0", "user-1", "user-2", "user-3"]);
        assert_eq!(texts(Scope::Resource, "service.name"), ["service-0", "service-1", "service-2"]);
        assert_eq!(texts(Scope::Field, "name"), ["work"]);
        assert_eq!(texts(Scope::Own, "nth").len(), 10);
        let keys = listing::keys(&sources).unwrap();
        assert!(keys.contains(&(Scope::Resource, "service.name".to_owned())));
        assert!(!keys.contains(&(Scope::Own, "service.name".to_owned())));
    });
}

#[test]
fn a_hundred_generations_are_read_from_checkpoints() {
    on_each_backend("generations", |dir, objects| {
        let options = Options { final_rows: 1, grace: Duration::ZERO, ..Options::default() };
        let store = open(dir, objects, options.clone());
        for number in 0..100 {
            append(&store, number..number + 1);
            store.flush().unwrap();
            store.compact_log("default", Signal::Spans, Effort::Tiered).unwrap();
        }
        let log = store.snapshot("default", Signal::Spans).unwrap().tenants[0].log.clone();
        assert_eq!(log.generation, 100);
        drop(store);
        let store = open(dir, objects, options);
        let again = store.snapshot("default", Signal::Spans).unwrap().tenants[0].log.clone();
        assert_eq!(again.blocks, log.blocks);
        assert_eq!(count(&store, None), 1000);
    });
}

#[test]
fn a_directory_in_use_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let disk = || Arc::new(OsDisk);
    let first =
        Store::open_dir(disk(), dir.path(), None, Default::default(), Options::default()).unwrap();
    let second = Store::open_dir(disk(), dir.path(), None, Default::default(), Options::default());
    let message = second.err().unwrap().to_string();
    assert!(message.contains("in use by another process"), "{message}");
    drop(first);
    Store::open_dir(disk(), dir.path(), None, Default::default(), Options::default()).unwrap();
}

#[test]
fn a_directory_belongs_to_the_node_that_opened_it_first() {
    let dir = tempfile::tempdir().unwrap();
    let (data, file) = (dir.path(), dir.path().join("node"));
    let named = |node: &str| Options { node: node.to_owned(), ..Options::default() };
    let open = |url: Option<&str>, node| {
        Store::open_dir(Arc::new(OsDisk), data, url, Default::default(), named(node))
    };
    let recorded = || kymo_store::owner::recorded(&OsDisk, data);
    let elsewhere = dir.path().join("elsewhere").to_string_lossy().into_owned();
    assert_eq!(recorded().unwrap(), None);
    let first = open(None, "n1").unwrap();
    append(&first, 0..2);
    first.close().unwrap();
    assert_eq!(recorded().unwrap().as_deref(), Some("n1"));
    for url in [None, Some(elsewhere.as_str())] {
        let message = open(url, "n2").err().unwrap().to_string();
        let expected = "belongs to the node \"n1\", not to \"n2\"";
        assert!(message.contains(expected), "{message}");
        let read = Store::open_read_only(Arc::new(OsDisk), data, url, named("n2"));
        assert!(read.err().unwrap().to_string().contains(expected));
    }
    // From before there was the file: blocks tell whose it is.
    std::fs::remove_file(&file).unwrap();
    assert!(open(None, "n2").err().unwrap().to_string().contains("belongs to the node \"n1\""));
    assert_eq!(recorded().unwrap(), None);
    assert_eq!(count(&open(None, "n1").unwrap(), None), 20);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "n1\n");
    for damaged in ["", "\n", "a/b\n", &"n".repeat(100)] {
        std::fs::write(&file, damaged).unwrap();
        let message = open(None, "n1").err().unwrap().to_string();
        assert!(message.contains("does not hold a node's name"), "{message}");
    }
}
