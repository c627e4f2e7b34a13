//! A store that has become idle: all is flushed, compacted and deleted, and to ask for it again is
//! nearly free. And a shutdown while it is at it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kymo_journal::OsDisk;
use kymo_store::check::check;
use kymo_store::compact::{Compacted, Effort};
use kymo_store::garbage::{Collected, Retention};
use kymo_store::objects::Objects;
use kymo_store::scan::{ColumnRef, Op, Predicate, Scalar};
use kymo_store::tables::spans::field;
use kymo_store::{Options, Signal, Store, StoreError};

use crate::spans::{append, count, open, open_with, small};
use crate::watched::Watched;

/// Some small blocks on two days.
fn with_blocks(store: &Store, blocks: u64) {
    for number in 0..blocks {
        append(store, 2 * number);
        append(store, 2 * number + 1);
        store.flush().unwrap();
    }
}

/// Until there is nothing more to do; a clock may stand still for a moment.
fn settle(store: &Store) {
    store.flush().unwrap();
    store.compact(Effort::Everything).unwrap();
    while store.objects().list("").unwrap().iter().any(|info| info.path.contains("-L0-")) {
        store.collect_garbage().unwrap();
    }
    store.collect_garbage().unwrap();
    store.compact(Effort::Everything).unwrap();
}

fn dir_bytes(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| entry.metadata().unwrap().len()).sum()
}

#[test]
fn an_idle_store_costs_nothing_until_something_comes() {
    let dir = tempfile::tempdir().unwrap();
    let objects = Watched::open(dir.path());
    let store = open_with(dir.path(), objects.clone(), small());
    with_blocks(&store, 40);
    settle(&store);
    assert_eq!(objects.files().len(), 2, "a block for each day");
    objects.take_counts();
    assert_eq!(store.compact(Effort::Everything).unwrap(), Compacted::default());
    assert_eq!(store.compact(Effort::Tiered).unwrap(), Compacted::default());
    assert_eq!(store.collect_garbage().unwrap(), Collected::default());
    assert_eq!(objects.take_counts(), (0, 0, 3), "only the tenants are looked up");

    append(&store, 1000);
    store.flush().unwrap();
    let compacted = store.compact(Effort::Everything).unwrap();
    assert_eq!((compacted.inputs, compacted.outputs), (2, 1));
    settle(&store);
    assert_eq!((objects.files().len(), count(&store)), (2, 810));
}

#[test]
fn a_deletion_wakes_compaction() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), small());
    with_blocks(&store, 3);
    settle(&store);
    let (column, value) = (ColumnRef::Field(field::NAME), Scalar::String("work".into()));
    let all = Predicate::Compare { column, op: Op::Eq, value };
    assert_eq!(store.delete("default", Signal::Spans, &all).unwrap(), 2);
    assert_eq!(count(&store), 0);
    assert_eq!(store.compact(Effort::Everything).unwrap().inputs, 2);
    assert_eq!(store.snapshot("default", Signal::Spans).unwrap().blocks().count(), 0);
}

/// The log is known in memory; after an answer that was lost it is not.
#[test]
fn a_compaction_whose_answer_is_lost_is_found_done_by_the_next() {
    let dir = tempfile::tempdir().unwrap();
    let objects = Watched::open(dir.path());
    let store = open_with(dir.path(), objects.clone(), small());
    with_blocks(&store, 3);
    objects.answers_to_lose.store(1, Ordering::Relaxed);
    store.compact(Effort::Everything).unwrap_err();
    assert_eq!(count(&store), 60);
    assert_eq!(store.compact(Effort::Everything).unwrap(), Compacted::default());
    assert_eq!(store.snapshot("default", Signal::Spans).unwrap().blocks().count(), 2);
    settle(&store);
    assert_eq!((objects.files().len(), count(&store)), (2, 60));
}

#[test]
fn orphans_are_looked_for_after_a_start_and_after_a_failure() {
    let dir = tempfile::tempdir().unwrap();
    let objects = Watched::open(dir.path());
    let store = open_with(dir.path(), objects.clone(), small());
    with_blocks(&store, 2);
    let orphan = "default/spans/2023-11-14/0-0-L1-gone-7-0.parquet";
    let is_there = || objects.files().iter().any(|path| path == orphan);
    objects.put(orphan, Default::default()).unwrap();
    while is_there() {
        store.collect_garbage().unwrap();
    }
    settle(&store);
    objects.put(orphan, Default::default()).unwrap();
    store.collect_garbage().unwrap();
    assert!(is_there(), "nothing has failed");
    objects.on_put(|_| false);
    append(&store, 100);
    store.flush().unwrap_err();
    objects.calm();
    while is_there() {
        store.collect_garbage().unwrap();
    }
    assert_eq!(count(&store), 50);
}

#[test]
fn the_directory_is_small_when_all_is_flushed_and_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), Options { flush_rows: 1000, ..small() });
    for number in 0..2000 {
        append(&store, number);
    }
    let before = dir_bytes(&dir.path().join("journal"));
    store.ingest().unwrap();
    settle(&store);
    assert!(store.status().is_flushed());
    let after = dir_bytes(&dir.path().join("journal"));
    // The last segment and the hashes by which retries are recognised.
    assert!(before > 1 << 20 && after < 200 << 10, "{before} bytes, then {after}");
    assert_eq!(count(&store), 20_000);
}

#[test]
fn a_removed_block_stays_as_long_as_a_snapshot_or_a_source_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let objects = Watched::open(dir.path());
    let options = Options { block_cache_bytes: 0, ..small() };
    let store = open_with(dir.path(), objects.clone(), options);
    with_blocks(&store, 3);
    let before = objects.files();
    let snapshot = store.snapshot("default", Signal::Spans).unwrap();
    let clone = snapshot.clone();
    store.compact(Effort::Everything).unwrap();
    drop(snapshot);
    let are_there = || before.iter().all(|path| objects.files().contains(path));
    for _ in 0..3 {
        store.collect_garbage().unwrap();
    }
    assert!(are_there(), "a snapshot may read them");
    let sources = store.sources(&clone, None).unwrap();
    drop(clone);
    for _ in 0..3 {
        store.collect_garbage().unwrap();
    }
    assert!(are_there(), "sources may read them");
    assert_eq!(sources.iter().map(|source| source.rows()).sum::<usize>(), 60);
    for source in &sources {
        source.field(field::NAME).unwrap();
    }
    drop(sources);
    settle(&store);
    assert!(!before.iter().any(|path| objects.files().contains(path)));
    assert_eq!(count(&store), 60);
}

fn is_interrupted<T>(result: Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Interrupted))
}

#[test]
fn maintenance_ends_soon_when_it_is_interrupted() {
    let dir = tempfile::tempdir().unwrap();
    let objects = Watched::open(dir.path());
    let store = Arc::new(open_with(dir.path(), objects.clone(), small()));
    with_blocks(&store, 3);
    let before = objects.files();
    let compacting = Arc::downgrade(&store);
    // Two days, so two blocks: it ends after the first.
    objects.on_put(move |_| {
        compacting.upgrade().unwrap().interrupt();
        true
    });
    assert!(is_interrupted(store.compact(Effort::Everything)));
    objects.calm();
    assert_eq!(objects.files(), before, "what it had written is gone");
    assert!(is_interrupted(store.collect_garbage()));
    assert!(is_interrupted(store.retain("default", Signal::Spans, Retention::default())));
    append(&store, 100);
    assert_eq!(count(&store), 70);
    Arc::into_inner(store).unwrap().close().unwrap();
    let store = open(dir.path(), small());
    assert_eq!(store.compact(Effort::Everything).unwrap().outputs, 2);
    assert_eq!(count(&store), 70);
    let objects =
        kymo_store::objects::open(&dir.path().join("blocks").to_string_lossy(), Arc::new(OsDisk));
    assert!(!check(&objects.unwrap(), |_, _| ()).unwrap().findings.iter().any(|f| f.is_serious()));
}
