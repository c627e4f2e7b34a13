//! What a server can tell of its store.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use kymo_store::compact::Effort;
use kymo_store::{Options, Signal};

use crate::spans::{append, append_body, open, small};

#[test]
fn counts_and_status_follow_what_happens() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), Options { flush_rows: 1000, ..small() });
    let spans = || store.status().signals[Signal::Spans as usize];
    let counters = store.counters();
    let start = store.status();
    assert!(start.is_flushed() && start.flushed_nanos.is_none());
    assert_eq!((spans().head_rows, spans().blocks), (0, 0));

    append(&store, 0);
    append_body(&store, Bytes::from_static(b"\x0a\xff"));
    let status = store.status();
    assert!(!status.is_flushed() && status.unapplied_bytes > 0);
    assert_eq!(status.unapplied_bytes, status.lag_bytes);
    assert!(store.apply().unwrap().is_complete);
    assert_eq!(store.status().unapplied_bytes, 0);
    assert_eq!(spans().head_rows, 10);
    assert!(spans().head_bytes > 0 && spans().since_nanos.is_some());
    assert_eq!(counters.records_applied.of(Signal::Spans), 10);
    assert_eq!(counters.records_applied.total(), 10);
    assert_eq!(counters.requests_undecodable.total(), 1);

    store.flush().unwrap();
    let status = store.status();
    assert!(status.is_flushed() && status.flushed_nanos.is_some());
    assert_eq!((spans().head_rows, spans().head_bytes, spans().since_nanos), (0, 0, None));
    assert_eq!(spans().blocks, 1);
    assert_eq!(counters.flushes.of(Signal::Spans), 1);
    assert_eq!(counters.flushed_rows.of(Signal::Spans), 10);
    assert_eq!(counters.flushed_rows.tenants(Signal::Spans), [("default".to_owned(), 10)]);
    assert_eq!(counters.flushed_bytes.of(Signal::Spans), spans().block_bytes);

    append(&store, 2);
    store.flush().unwrap();
    assert_eq!(spans().blocks, 2);
    store.compact(Effort::Everything).unwrap();
    assert_eq!(spans().blocks, 1);
    assert_eq!(counters.blocks_joined.of(Signal::Spans), 2);
    assert_eq!(counters.blocks_compacted.of(Signal::Spans), 1);
    assert_eq!(counters.compactions.total(), 1);
    let deleted = || counters.files_deleted.load(Ordering::Relaxed);
    while deleted() < 2 {
        store.collect_garbage().unwrap();
    }
    assert_eq!(spans().blocks, 1);
    let bytes = spans().block_bytes;
    drop(store);

    let store = open(dir.path(), small());
    assert!(store.status().flushed_nanos.is_some());
    store.snapshot("default", Signal::Spans).unwrap();
    let spans = store.status().signals[Signal::Spans as usize];
    assert_eq!((spans.blocks, spans.block_bytes), (1, bytes));
}
