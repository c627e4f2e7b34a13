//! Requests as they are stored, for those who watch.
//!
//! A request is handed over when the journal has it, so that nobody sees what may be lost again.
//! While nobody watches, that costs one look at a number. Who watches has a queue of requests of
//! its tenants, bounded in number and bytes: what does not fit is left out and counted, so that
//! neither a sender nor another watcher waits for it. Remote-write is left out: it has no resources.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use kymo_admit::{Compression, Signal};
use kymo_engine::Tenants;
use tokio::sync::{mpsc, watch};

use crate::limits::{
    LIVE_MAX_LISTENERS, LIVE_MAX_TENANT_LISTENERS, LIVE_WAITING_BYTES, LIVE_WAITING_REQUESTS,
};

/// A request of OTLP in protobuf, as it was stored.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    pub(crate) signal: Signal,
    pub(crate) compression: Compression,
    pub(crate) body: Bytes,
}

/// What a watcher gets.
#[derive(Debug)]
pub(crate) enum Heard {
    Stored(Stored),
    /// So many requests did not fit into its queue.
    Missed(u64),
}

/// Hands requests to those who watch.
#[derive(Debug, Default)]
pub(crate) struct Live {
    feeds: Mutex<Feeds>,
    /// How many watch, for who hands over.
    watching: AtomicUsize,
    /// Whether the server stops, for those who watch something else.
    ended: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Feeds {
    all: Vec<Feed>,
    next_number: u64,
    is_closed: bool,
}

/// The way to one watcher.
#[derive(Debug)]
struct Feed {
    number: u64,
    tenants: Tenants,
    sender: mpsc::Sender<Stored>,
    state: Arc<FeedState>,
}

#[derive(Debug, Default)]
struct FeedState {
    waiting_bytes: AtomicUsize,
    missed: AtomicU64,
}

/// Why nobody can be let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("{LIVE_MAX_LISTENERS} are watching already: try again later")]
    TooMany,
    #[error("{LIVE_MAX_TENANT_LISTENERS} are watching this tenant already: try again later")]
    TooManyOfTenant,
    #[error("the server stops")]
    Stopping,
}

impl Live {
    fn lock(&self) -> MutexGuard<'_, Feeds> {
        self.feeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, requests of these tenants are handed over.
    pub(crate) fn watch(self: &Arc<Self>, tenants: Tenants) -> Result<Watching, Refused> {
        let mut feeds = self.lock();
        if feeds.is_closed {
            return Err(Refused::Stopping);
        }
        if feeds.all.len() >= LIVE_MAX_LISTENERS {
            return Err(Refused::TooMany);
        }
        let of_tenant = |name: &str| {
            let watched = |feed: &&Feed| feed.tenants.names().any(|of| of == name);
            feeds.all.iter().filter(watched).count()
        };
        if tenants.names().any(|name| of_tenant(name) >= LIVE_MAX_TENANT_LISTENERS) {
            return Err(Refused::TooManyOfTenant);
        }
        let number = feeds.next_number;
        feeds.next_number += 1;
        let (sender, receiver) = mpsc::channel(LIVE_WAITING_REQUESTS);
        let state = Arc::new(FeedState::default());
        feeds.all.push(Feed { number, tenants, sender, state: state.clone() });
        self.watching.store(feeds.all.len(), Ordering::Relaxed);
        Ok(Watching { live: self.clone(), number, receiver, state })
    }

    /// Hands a request over to those who watch its tenant. Never waits.
    pub(crate) fn stored(&self, tenant: &str, make: impl FnOnce() -> Stored) {
        if self.watching.load(Ordering::Relaxed) == 0 {
            return;
        }
        let stored = make();
        for feed in &self.lock().all {
            if feed.tenants.names().any(|name| name == tenant) {
                feed.offer(&stored);
            }
        }
    }

    /// Ends what all watchers see; there will be no others.
    pub(crate) fn close(&self) {
        let mut feeds = self.lock();
        feeds.is_closed = true;
        feeds.all.clear();
        self.watching.store(0, Ordering::Relaxed);
        self.ended.send_replace(true);
    }

    /// Returns when the server stops.
    pub(crate) async fn ended(&self) {
        // The sender is here, so that there is an end to wait for.
        let _ = self.ended.subscribe().wait_for(|is_ended| *is_ended).await;
    }

    fn leave(&self, number: u64) {
        let mut feeds = self.lock();
        feeds.all.retain(|feed| feed.number != number);
        self.watching.store(feeds.all.len(), Ordering::Relaxed);
    }
}

impl Feed {
    fn offer(&self, stored: &Stored) {
        let size_bytes = stored.body.len();
        let waiting_bytes = self.state.waiting_bytes.fetch_add(size_bytes, Ordering::Relaxed);
        // One is always taken, however large.
        let fits = waiting_bytes == 0 || waiting_bytes + size_bytes <= LIVE_WAITING_BYTES;
        if !fits || self.sender.try_send(stored.clone()).is_err() {
            self.state.waiting_bytes.fetch_sub(size_bytes, Ordering::Relaxed);
            self.state.missed.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// One who watches; until it is dropped.
#[derive(Debug)]
pub(crate) struct Watching {
    live: Arc<Live>,
    number: u64,
    receiver: mpsc::Receiver<Stored>,
    state: Arc<FeedState>,
}

impl Watching {
    /// The next request; `None` when the server stops. Nothing is lost if this is not waited for to
    /// its end.
    pub(crate) async fn next(&mut self) -> Option<Heard> {
        // What is told as missed came after what waits, or before: the order is lost with it.
        let missed = self.state.missed.swap(0, Ordering::Relaxed);
        if missed > 0 {
            return Some(Heard::Missed(missed));
        }
        let stored = self.receiver.recv().await?;
        self.state.waiting_bytes.fetch_sub(stored.body.len(), Ordering::Relaxed);
        Some(Heard::Stored(stored))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.live.leave(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(size_bytes: usize) -> Stored {
        let body = vec![7; size_bytes].into();
        Stored { signal: Signal::Logs, compression: Compression::None, body }
    }

    #[tokio::test]
    async fn who_watches_hears_its_tenants_and_nobody_else() {
        let live = Arc::new(Live::default());
        live.stored("a", || unreachable!("nobody watches"));
        let mut watching = live.watch(Tenants::from("a")).unwrap();
        live.stored("b", || request(1));
        live.stored("a", || request(2));
        let Some(Heard::Stored(stored)) = watching.next().await else { panic!("nothing heard") };
        assert_eq!(stored.body.len(), 2);
        drop(watching);
        live.stored("a", || unreachable!("nobody watches any more"));
    }

    #[tokio::test]
    async fn what_does_not_fit_is_counted_and_holds_up_nobody() {
        let live = Arc::new(Live::default());
        let mut slow = live.watch(Tenants::from("a")).unwrap();
        let large = LIVE_WAITING_BYTES + 1;
        live.stored("a", || request(large));
        live.stored("a", || request(1));
        let mut quick = live.watch(Tenants::from("a")).unwrap();
        live.stored("a", || request(1));
        assert!(matches!(quick.next().await, Some(Heard::Stored(_))));
        assert!(matches!(slow.next().await, Some(Heard::Missed(2))));
        assert!(
            matches!(slow.next().await, Some(Heard::Stored(stored)) if stored.body.len() == large)
        );
        for _ in 0..LIVE_WAITING_REQUESTS + 3 {
            live.stored("a", || request(1));
        }
        assert!(matches!(slow.next().await, Some(Heard::Missed(3))));
    }

    #[tokio::test]
    async fn the_bytes_that_wait_are_bounded_in_sum_and_what_was_taken_makes_room() {
        let live = Arc::new(Live::default());
        let mut slow = live.watch(Tenants::from("a")).unwrap();
        let quarter = || live.stored("a", || request(LIVE_WAITING_BYTES / 4));
        (0..4).for_each(|_| quarter());
        live.stored("a", || request(1));
        assert!(matches!(slow.next().await, Some(Heard::Missed(1))));
        // It is said once.
        assert!(matches!(slow.next().await, Some(Heard::Stored(_))));
        (0..3).for_each(|_| quarter());
        assert!(matches!(slow.next().await, Some(Heard::Missed(2))));
        for _ in 0..4 {
            assert!(matches!(slow.next().await, Some(Heard::Stored(_))));
        }
        live.stored("a", || request(LIVE_WAITING_BYTES));
        live.close();
        assert!(matches!(slow.next().await, Some(Heard::Stored(_))), "all of the room is back");
        assert!(slow.next().await.is_none());
    }

    #[tokio::test]
    async fn the_number_of_watchers_is_bounded_and_all_end_with_the_server() {
        let live = Arc::new(Live::default());
        let mut watching: Vec<Watching> = (0..LIVE_MAX_TENANT_LISTENERS)
            .map(|_| live.watch(Tenants::from("a")).unwrap())
            .collect();
        let both = Tenants::new(["a", "b"].map(str::to_owned));
        for full in [Tenants::from("a"), both] {
            assert_eq!(live.watch(full).unwrap_err(), Refused::TooManyOfTenant);
        }
        let left = LIVE_MAX_LISTENERS - LIVE_MAX_TENANT_LISTENERS;
        watching.extend((0..left).map(|_| live.watch(Tenants::from("b")).unwrap()));
        assert_eq!(live.watch(Tenants::from("c")).unwrap_err(), Refused::TooMany);
        watching.pop();
        watching.push(live.watch(Tenants::from("c")).unwrap());
        live.close();
        assert!(watching[0].next().await.is_none());
        assert_eq!(live.watch(Tenants::from("a")).unwrap_err(), Refused::Stopping);
    }
}
