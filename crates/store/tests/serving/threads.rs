//! All threads of a server at once, and another process: each query sees all that was acknowledged
//! before it, once.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use kymo_journal::OsDisk;
use kymo_store::compact::Effort;
use kymo_store::{Options, Store};

use crate::spans::{SPANS, append, append_body, count, open, open_with, request_of, shown, small};
use crate::watched::Watched;

const WRITERS: usize = 3;
const REQUESTS_EACH: usize = 150;
const TICK: Duration = Duration::from_millis(5);

/// What all threads share.
struct Server {
    store: Store,
    sent: AtomicUsize,
    acknowledged: AtomicUsize,
    queries: AtomicUsize,
    queries_beside: AtomicUsize,
    has_ended: AtomicBool,
}

impl Server {
    fn start(dir: &Path, options: Options) -> Server {
        Server {
            store: open(dir, options),
            sent: AtomicUsize::new(0),
            acknowledged: AtomicUsize::new(0),
            queries: AtomicUsize::new(0),
            queries_beside: AtomicUsize::new(0),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Whether everybody has had something to do.
    fn has_done_all(&self) -> bool {
        let queries = [&self.queries, &self.queries_beside];
        queries.into_iter().all(|count| count.load(Ordering::SeqCst) > 3)
            && self.store.counters().flushes.total() > 3
            && self.store.counters().compactions.total() > 1
    }

    fn runs(&self) -> bool {
        !self.has_ended.load(Ordering::SeqCst)
    }

    fn write(&self, writer: usize) {
        let mut nth = 0;
        while nth < REQUESTS_EACH || !self.has_done_all() {
            self.sent.fetch_add(1, Ordering::SeqCst);
            append(&self.store, (nth * WRITERS + writer) as u64);
            self.acknowledged.fetch_add(1, Ordering::SeqCst);
            nth += 1;
        }
    }

    fn consume(&self, flush: &SyncSender<()>) {
        while self.runs() {
            if self.store.wait(TICK) && self.store.apply().unwrap().is_flush_due {
                let _ = flush.try_send(());
            }
        }
    }

    fn flush(&self, asked: &Receiver<()>) {
        loop {
            match asked.recv_timeout(TICK) {
                Err(RecvTimeoutError::Disconnected) => return,
                _ => self.store.flush_due().unwrap(),
            }
        }
    }

    fn maintain(&self) {
        while self.runs() {
            self.store.compact(Effort::Everything).unwrap();
            self.store.collect_garbage().unwrap();
        }
    }

    /// Asks again and again.
    fn query(&self, queries: &AtomicUsize, look: impl Fn() -> usize) {
        while self.runs() {
            let least = self.acknowledged.load(Ordering::SeqCst) * SPANS;
            let found = look();
            let most = self.sent.load(Ordering::SeqCst) * SPANS;
            assert!((least..=most).contains(&found), "{found} of {least} to {most}");
            queries.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn read_beside(data: &Path) -> usize {
    let other = Store::open_read_only(Arc::new(OsDisk), data, None, small()).unwrap();
    shown(&other).unwrap().len()
}

#[test]
fn every_query_sees_what_was_acknowledged_before_it_once() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { flush_rows: 100, flush_after: Duration::from_millis(50), ..small() };
    let server = Server::start(dir.path(), options);
    let (flush, asked) = sync_channel(1);
    std::thread::scope(|scope| {
        let server = &server;
        scope.spawn(move || server.consume(&flush));
        scope.spawn(move || server.flush(&asked));
        scope.spawn(|| server.maintain());
        scope.spawn(|| server.query(&server.queries, || count(&server.store)));
        scope.spawn(|| server.query(&server.queries_beside, || read_beside(dir.path())));
        let writers: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || server.write(writer))).collect();
        let written: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        server.has_ended.store(true, Ordering::SeqCst);
        written.into_iter().for_each(|written| written.unwrap());
    });
    let acknowledged = server.acknowledged.load(Ordering::SeqCst);
    server.store.close().unwrap();
    assert_eq!(count(&open(dir.path(), small())), acknowledged * SPANS);
}

/// A flush says up to where it has taken the journal, while records are applied: a restart would
/// show a record twice, or not at all, that it has and has not counted.
#[test]
fn a_store_that_is_dropped_amid_flushes_shows_each_row_once_after_the_restart() {
    const LIVES: u64 = 12;
    const REQUESTS: u64 = 6;
    // Large, so that a flush often begins while one is applied.
    const LARGE: u64 = 600;
    let dir = tempfile::tempdir().unwrap();
    for life in 0..LIVES {
        let server = Server::start(dir.path(), Options { flush_rows: 1, ..small() });
        let (flush, asked) = sync_channel(1);
        std::thread::scope(|scope| {
            let server = &server;
            scope.spawn(move || server.consume(&flush));
            scope.spawn(move || server.flush(&asked));
            for number in life * REQUESTS..(life + 1) * REQUESTS {
                append_body(&server.store, request_of(number * LARGE, LARGE));
            }
            server.has_ended.store(true, Ordering::SeqCst);
        });
        drop(server);
        let store = open(dir.path(), small());
        assert_eq!(count(&store) as u64, (life + 1) * REQUESTS * LARGE);
    }
}

#[test]
fn rows_that_come_while_a_flush_is_committed_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let objects = Watched::open(dir.path());
    let store = open_with(dir.path(), objects.clone(), small());
    for number in 0..50 {
        append(&store, 2 * number);
        let (is_committing, commits) = sync_channel(1);
        objects.on_put(move |path| {
            if path.contains("nodes/") {
                let _ = is_committing.try_send(());
            }
            true
        });
        std::thread::scope(|scope| {
            scope.spawn(|| store.flush().unwrap());
            commits.recv().unwrap();
            // The first rows of a head that has none.
            append(&store, 2 * number + 1);
            store.apply().map(drop).unwrap();
        });
        assert_eq!(count(&store), (number as usize + 1) * 2 * SPANS);
    }
}
