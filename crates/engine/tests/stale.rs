//! Reading beside a server that replaces files: a query whose block is gone is planned once more.
#![allow(clippy::unwrap_used, clippy::panic, unreachable_pub, reason = "a test")]

#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use futures::StreamExt;
use kymo_engine::{Engine, EngineError, EngineOptions};
use kymo_journal::OsDisk;
use kymo_store::objects::{ObjectInfo, Objects, ObjectsError, Tail};
use kymo_store::{Options, Store};
use support::{Place, block_on, spans_request};

/// A place whose blocks are not there for the first few reads.
#[derive(Debug)]
struct Vanishing {
    inner: Arc<dyn Objects>,
    missing: Arc<AtomicUsize>,
}

impl Vanishing {
    fn look(&self, path: &str) -> Result<(), ObjectsError> {
        let less = |missing: usize| missing.checked_sub(1);
        let counted = path.ends_with(".parquet")
            && self.missing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
        if counted { Err(ObjectsError::NotFound { path: path.to_owned() }) } else { Ok(()) }
    }
}

impl Objects for Vanishing {
    fn get(&self, path: &str) -> Result<Bytes, ObjectsError> {
        self.look(path)?;
        self.inner.get(path)
    }

    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, ObjectsError> {
        self.look(path)?;
        self.inner.get_range(path, range)
    }

    fn get_tail(&self, path: &str, len_bytes: u64) -> Result<Tail, ObjectsError> {
        self.look(path)?;
        self.inner.get_tail(path, len_bytes)
    }

    fn put(&self, path: &str, body: Bytes) -> Result<(), ObjectsError> {
        self.inner.put(path, body)
    }

    fn put_new(&self, path: &str, body: Bytes) -> Result<bool, ObjectsError> {
        self.inner.put_new(path, body)
    }

    fn delete(&self, path: &str) -> Result<(), ObjectsError> {
        self.inner.delete(path)
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, ObjectsError> {
        self.inner.list(prefix)
    }

    fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, ObjectsError> {
        self.inner.list_dirs(prefix)
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

/// A reader beside a server, and how many reads of blocks fail from now on.
fn reader(owner: &Place) -> (Engine, Arc<AtomicUsize>) {
    let disk = Arc::new(OsDisk);
    let blocks = owner.dir.path().join("blocks");
    let inner = kymo_store::objects::open_read_only(&blocks.to_string_lossy(), disk.clone());
    let missing = Arc::new(AtomicUsize::new(0));
    let objects = Arc::new(Vanishing { inner: inner.unwrap(), missing: missing.clone() });
    let journal = owner.dir.path().join("journal");
    let store = Store::read_only(disk, &journal, objects, Options::default()).unwrap();
    let options = EngineOptions { threads: 2, ..EngineOptions::default() };
    (Engine::new(Arc::new(store), options).unwrap(), missing)
}

#[test]
fn a_block_that_is_lost_after_the_first_rows_is_an_error_and_no_short_answer() {
    let owner = Place::new(EngineOptions::default());
    owner.fill(300_000);
    let (engine, missing) = reader(&owner);
    let (rows_seen, end) = block_on(async {
        let mut rows = engine.sql("default", "SELECT span_id, name FROM spans").await.unwrap();
        let mut rows_seen = rows.next().await.unwrap().unwrap().num_rows();
        missing.store(usize::MAX, Ordering::SeqCst);
        loop {
            match rows.next().await {
                Some(Ok(batch)) => rows_seen += batch.num_rows(),
                end => break (rows_seen, end),
            }
        }
    });
    assert!(rows_seen < 300_000);
    assert!(matches!(&end, Some(Err(EngineError::Store(_)))), "{rows_seen} rows, then {end:?}");
    assert_eq!(engine.stats().planned_again, 0);
}

#[test]
fn answers_are_whole_while_rows_are_flushed_and_blocks_are_replaced() {
    const PARTS: u64 = 12;
    const PART: u64 = 10_000;
    let place = Place::new(EngineOptions { threads: 2, ..EngineOptions::default() });
    let acknowledged = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for part in 0..PARTS {
                place.append_spans(spans_request(part * PART, PART));
                acknowledged.store((part + 1) * PART, Ordering::SeqCst);
                place.store.flush().unwrap();
                if part % 3 == 2 {
                    place.store.compact(kymo_store::compact::Effort::Everything).unwrap();
                }
            }
        });
        while !writer.is_finished() {
            let least = acknowledged.load(Ordering::SeqCst);
            let query = "SELECT span_id, name FROM spans";
            let (_, batches) = block_on(place.batches(query)).unwrap();
            let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
            let rows = rows as u64;
            assert!(rows >= least && rows.is_multiple_of(PART), "{rows} of {least}");
        }
    });
    // One that is read while everything is replaced under it.
    block_on(async {
        let query = "SELECT span_id, name, start_time FROM spans";
        let mut answer = place.engine.sql("default", query).await.unwrap();
        let mut rows = answer.next().await.unwrap().unwrap().num_rows();
        place.append_spans(spans_request(PARTS * PART, PART));
        place.store.flush().unwrap();
        place.store.compact(kymo_store::compact::Effort::Everything).unwrap();
        while let Some(batch) = answer.next().await {
            rows += batch.unwrap().num_rows();
        }
        assert_eq!(rows as u64, PARTS * PART);
        let count = place.lines("SELECT count(DISTINCT span_id) AS n FROM spans").await.unwrap();
        assert_eq!(count[1], ((PARTS + 1) * PART).to_string());
    });
}

#[test]
fn a_query_whose_block_is_gone_is_planned_once_more() {
    let owner = Place::new(EngineOptions::default());
    owner.fill(100);
    for query in [
        "SELECT count(*) FROM spans WHERE name <> 'x'",
        // The types of its attributes are looked up when it is planned.
        "SELECT count(*) FROM spans WHERE \"span.number\" >= 0",
    ] {
        for missing in [0, 1, 1000] {
            let (engine, count) = reader(&owner);
            count.store(missing, Ordering::SeqCst);
            let answer = block_on(async {
                let mut rows = engine.sql("default", query).await?;
                rows.next().await.unwrap()
            });
            match answer {
                Ok(batch) => assert_eq!((batch.num_rows(), missing < 2), (1, true), "{query}"),
                Err(EngineError::Store(error)) if error.is_block_missing() => {
                    assert_eq!(missing, 1000, "{query}");
                }
                Err(error) => panic!("{query}: {error}"),
            }
            assert_eq!(engine.stats().planned_again, missing.min(1) as u64, "{query}");
        }
    }
}
