//! Memory that is full, and flushes that fail or hang.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use kymo_store::{Options, Signal, Store};

use crate::spans::{append, count, open, open_with, shown, small};
use crate::watched::Watched;

fn head_rows(store: &Store) -> usize {
    store.status().signals[Signal::Spans as usize].head_rows
}

#[test]
fn applying_stops_when_a_flush_becomes_due_and_when_memory_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), small());
    (0..6).for_each(|number| append(&store, number));
    let applied = store.apply().unwrap();
    assert!(applied.is_flush_due && !applied.is_complete);
    assert_eq!(head_rows(&store), 20, "the flush can begin");
    let applied = store.apply().unwrap();
    assert!(applied.is_flush_due && !applied.is_complete);
    assert_eq!(head_rows(&store), 40, "as much again fits");
    assert!(!store.wait(Duration::ZERO), "there are records, but no room");
    let again = store.apply().unwrap();
    assert_eq!((again, head_rows(&store)), (applied, 40));
    store.flush_due().unwrap();
    assert!(store.wait(Duration::ZERO));
    let _ = store.apply().unwrap();
    assert_eq!(head_rows(&store), 20);
    assert!(!store.wait(Duration::ZERO), "all is applied");
}

#[test]
fn a_query_sees_everything_though_memory_is_full_and_nobody_flushes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), small());
    (0..20).for_each(|number| append(&store, number));
    assert_eq!(count(&store), 200);
    assert!(head_rows(&store) <= 40);
}

#[test]
fn a_query_sees_everything_though_flushes_fail() {
    let dir = tempfile::tempdir().unwrap();
    let objects = Watched::open(dir.path());
    let store = open_with(dir.path(), objects.clone(), small());
    (0..20).for_each(|number| append(&store, number));
    objects.on_put(|_| false);
    assert_eq!(count(&store), 200);
    assert_eq!(head_rows(&store), 200, "rows are kept beyond the bound");
    let failed = || store.counters().flushes_failed.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(failed(), 1);
    append(&store, 20);
    let applied = store.apply().unwrap();
    assert!(!applied.is_complete && !applied.is_flush_due, "only queries go beyond the bound");
    assert_eq!(count(&store), 210);
    store.flush_due().unwrap();
    assert_eq!(failed(), 1, "a flush that would fail is not tried again at once");
    store.flush().unwrap_err();
    store.ingest().unwrap_err();
    objects.calm();
    store.flush().unwrap();
    assert_eq!((head_rows(&store), count(&store)), (0, 210));
    drop(store);
    assert_eq!(count(&open(dir.path(), small())), 210);
}

#[test]
fn a_flush_that_hangs_keeps_nobody_from_reading_and_applying() {
    for write in ["/spans/", "nodes/"] {
        let dir = tempfile::tempdir().unwrap();
        let objects = Watched::open(dir.path());
        let options = Options { flush_wait: Duration::from_millis(20), ..small() };
        let store = Arc::new(open_with(dir.path(), objects.clone(), options));
        append(&store, 0);
        let (hangs, is_hanging) = channel();
        let (release, released) = channel::<()>();
        let mut is_first = true;
        objects.on_put(move |path| {
            if path.contains(write) && std::mem::take(&mut is_first) {
                hangs.send(()).unwrap();
                let _ = released.recv();
            }
            true
        });
        let flusher = std::thread::spawn({
            let store = store.clone();
            move || store.flush()
        });
        is_hanging.recv().unwrap();
        assert_eq!(count(&store), 10, "what is being flushed is in memory");
        append(&store, 1);
        assert!(store.apply().unwrap().is_complete);
        assert_eq!((head_rows(&store), count(&store)), (20, 20));
        // Twice as much as fits: a query waits for the flush, but not for ever.
        (2..8).for_each(|number| append(&store, number));
        assert!(!store.apply().unwrap().is_complete);
        assert_eq!(count(&store), 80);
        release.send(()).unwrap();
        flusher.join().unwrap().unwrap();
        assert_eq!(shown(&store).unwrap().len(), 80);
        assert_eq!(head_rows(&store), 70, "what came during the flush is still to be flushed");
        store.flush().unwrap();
        assert_eq!((head_rows(&store), count(&store)), (0, 80));
    }
}

#[test]
fn who_waits_for_room_is_woken_by_the_flush() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), small());
    (0..6).for_each(|number| append(&store, number));
    while !store.apply().unwrap().is_complete && head_rows(&store) < 40 {}
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| store.wait(Duration::from_secs(60)));
        store.flush_due().unwrap();
        assert!(waiting.join().unwrap());
    });
}

#[test]
fn who_waits_for_records_is_woken_by_an_append() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path(), small());
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| store.wait(Duration::from_secs(60)));
        append(&store, 0);
        assert!(waiting.join().unwrap());
    });
}
