//! Reading a data directory that belongs to another process.

use std::path::Path;
use std::sync::Arc;

use kymo_journal::OsDisk;
use kymo_store::compact::Effort;
use kymo_store::garbage::Retention;
use kymo_store::otlp::{TraceResult, trace_by_id};
use kymo_store::scan::{ColumnRef, Op, Predicate, Scalar};
use kymo_store::settings::Setting;
use kymo_store::tables::spans::field;
use kymo_store::{Options, Signal, Store, StoreError};

use crate::spans::{append, count, open, shown, small};

fn read(data: &Path) -> Result<Store, StoreError> {
    Store::open_read_only(Arc::new(OsDisk), data, None, small())
}

fn files(dir: &Path) -> Vec<(std::path::PathBuf, u64)> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()) {
            match entry.metadata().unwrap() {
                metadata if metadata.is_dir() => dirs.push(entry.path()),
                metadata => found.push((entry.path(), metadata.len())),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn where_there_is_no_store_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, b"x").unwrap();
    for place in [dir.path(), &dir.path().join("absent"), &file] {
        let error = read(place).err().unwrap().to_string();
        assert!(error.starts_with(&format!("no store in {}", place.display())), "{error}");
    }
    assert_eq!(files(dir.path()).len(), 1, "nothing was created");
}

#[test]
fn a_directory_of_another_node_is_refused_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), Options { node: "edge-1".into(), ..small() });
    append(&store, 0);
    store.flush().unwrap();
    let error = read(dir.path()).err().unwrap().to_string();
    assert!(error.contains("edge-1"), "{error}");
    let options = Options { node: "edge-1".into(), ..small() };
    let other = Store::open_read_only(Arc::new(OsDisk), dir.path(), None, options).unwrap();
    assert_eq!(count(&other), 10);
}

#[test]
fn rows_in_blocks_and_in_the_journal_are_read_beside_the_owner_and_nothing_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let owner = open(dir.path(), small());
    append(&owner, 0);
    owner.flush().unwrap();
    // Far beyond what the owner would keep in memory.
    (1..20).for_each(|number| append(&owner, number));
    std::fs::write(dir.path().join("blocks/.half.1-0.tmp"), b"half").unwrap();
    let before = files(dir.path());
    let other = read(dir.path()).unwrap();
    assert_eq!(count(&other), 200);
    assert_eq!(other.status().signals[Signal::Spans as usize].head_rows, 190);
    other.close().unwrap();
    assert_eq!(files(dir.path()), before);
    owner.flush().unwrap();
    assert_eq!(count(&read(dir.path()).unwrap()), 200);
}

#[test]
fn a_store_that_is_only_read_refuses_every_change() {
    let dir = tempfile::tempdir().unwrap();
    let owner = open(dir.path(), small());
    append(&owner, 0);
    let other = read(dir.path()).unwrap();
    let before = files(dir.path());
    let column = ColumnRef::Field(field::NAME);
    let value = Scalar::String("work".into());
    let predicate = Predicate::Compare { column, op: Op::Eq, value };
    let refusals = [
        other.apply().map(drop),
        other.ingest(),
        other.flush(),
        other.flush_due(),
        other.compact(Effort::Everything).map(drop),
        other.compact_log("default", Signal::Spans, Effort::Tiered).map(drop),
        other.collect_garbage().map(drop),
        other.retain("default", Signal::Spans, Retention::default()).map(drop),
        other.delete("default", Signal::Spans, &predicate).map(drop),
        other.archive("default", &[1; 16], &mut |_| Ok(())).map(drop),
        other.unarchive("default", &[1; 16]).map(drop),
        other.set("default", Setting::Overrides, 0, None).map(drop),
    ];
    for refusal in refusals {
        assert!(matches!(refusal, Err(StoreError::ReadOnly)), "{refusal:?}");
    }
    assert_eq!(count(&other), 10);
    assert_eq!(files(dir.path()), before);
}

#[test]
fn a_block_that_was_replaced_is_missing_and_not_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let owner = open(dir.path(), small());
    for number in 0..4 {
        append(&owner, number);
        owner.flush().unwrap();
    }
    let other = read(dir.path()).unwrap();
    let stale = other.snapshot("default", Signal::Spans).unwrap();
    owner.compact(Effort::Everything).unwrap();
    let is_old = |(path, _): &(std::path::PathBuf, u64)| path.to_string_lossy().contains("-L0-");
    while files(dir.path()).iter().any(is_old) {
        owner.collect_garbage().unwrap();
    }
    let error = other.sources(&stale, None).unwrap_err();
    assert!(error.is_block_missing(), "{error}");
    let damaged = &other.counters().blocks_damaged;
    assert_eq!(damaged.load(std::sync::atomic::Ordering::Relaxed), 0);
    assert_eq!(shown(&other).unwrap().len(), 40, "another snapshot sees what replaced it");
}

#[test]
fn a_trace_is_looked_for_only_in_blocks_that_may_have_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), small());
    for number in 0..6 {
        append(&store, number);
        store.flush().unwrap();
    }
    let snapshot = store.snapshot("default", Signal::Spans).unwrap();
    let id = |number: u64| u128::from(number * 10 + 1).to_be_bytes();
    let blocks = |number| store.trace_sources(&snapshot, &id(number), &mut |_| Ok(())).unwrap();
    for number in (0..6).chain(0..6) {
        let (sources, damaged) = blocks(number);
        assert_eq!((sources.len(), damaged), (1, 0), "trace {number}");
        let trace = trace_by_id(&sources, &id(number)).unwrap().unwrap();
        assert_eq!(trace.spans, 10);
    }
    assert_eq!(blocks(6).0.len(), 0, "nobody has it");
}

#[test]
fn a_block_that_cannot_be_opened_may_have_the_trace() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), small());
    append(&store, 0);
    store.flush().unwrap();
    let is_block = |(path, _): &(std::path::PathBuf, u64)| path.to_string_lossy().contains("-L0-");
    let (path, _) = files(dir.path()).into_iter().find(is_block).unwrap();
    let path = dir.path().join(path);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let snapshot = store.snapshot("default", Signal::Spans).unwrap();
    let (sources, damaged) = store.trace_sources(&snapshot, &[7; 16], &mut |_| Ok(())).unwrap();
    assert_eq!((sources.len(), damaged), (0, 1));
    let found = TraceResult::find(&sources, damaged, &[7; 16], &mut |_| Ok(())).unwrap();
    assert_eq!(found.map(|trace| (trace.spans, trace.damaged_blocks)), Some((0, 1)));
}
