//! Traces that are kept in memory: uploads, and those that were looked at last.
//!
//! Both are bounded by number, bytes and age. Where there is no room, the tenant who has most gives the
//! oldest of theirs: who adds much pushes out their own, and not what others are looking at. The newest
//! stays however large it is, since the page goes on to ask for details of it, and would have it read
//! anew for each. Each belongs to the tenants who asked, and nobody else finds it. What is too old goes
//! by itself, also where nobody asks any more.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kymo_engine::Tenants;
use kymo_traceview::TraceTree;
use tokio::sync::Semaphore;

use super::limits::{
    RECENT_MAX, RECENT_MAX_AGE, RECENT_MAX_BYTES, UPLOAD_MAX_AGE, UPLOADS_AT_ONCE, UPLOADS_MAX,
    UPLOADS_MAX_BYTES,
};
use crate::aging::{Ages, Aging};

/// A trace, laid out.
#[derive(Debug, Clone)]
pub(super) struct Loaded {
    pub(super) tree: Arc<TraceTree>,
    /// The id it was asked for by.
    pub(super) id: String,
    /// Blocks that could not be read.
    pub(super) damaged_blocks: usize,
}

/// What is kept.
#[derive(Debug)]
pub(super) struct Kept {
    uploads: Aging<Shelf>,
    recent: Aging<Shelf>,
    /// Turns at taking files apart.
    pub(super) turns: Arc<Semaphore>,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            uploads: Aging::new(Shelf::new(UPLOADS_MAX, UPLOADS_MAX_BYTES, UPLOAD_MAX_AGE)),
            recent: Aging::new(Shelf::new(RECENT_MAX, RECENT_MAX_BYTES, RECENT_MAX_AGE)),
            turns: Arc::new(Semaphore::new(UPLOADS_AT_ONCE)),
        }
    }
}

impl Kept {
    pub(super) fn upload(&self, tenants: &Tenants, id: &str) -> Option<Loaded> {
        self.uploads.with(|shelf| shelf.find(tenants, id))
    }

    pub(super) fn add_upload(&self, tenants: &Tenants, loaded: Loaded) {
        self.uploads.with(|shelf| shelf.add(tenants, loaded));
    }

    pub(super) fn recent(&self, tenants: &Tenants, id: &str) -> Option<Loaded> {
        self.recent.with(|shelf| shelf.find(tenants, id))
    }

    pub(super) fn add_recent(&self, tenants: &Tenants, loaded: Loaded) {
        self.recent.with(|shelf| shelf.add(tenants, loaded));
    }
}

/// Traces, the newest at the front.
#[derive(Debug)]
struct Shelf {
    traces: VecDeque<Entry>,
    max: usize,
    max_bytes: usize,
    max_age: Duration,
}

#[derive(Debug)]
struct Entry {
    tenants: Tenants,
    loaded: Loaded,
    bytes: usize,
    since: Instant,
}

impl Entry {
    /// Whose room it takes: to name others with oneself gives no more of it.
    fn owner(&self) -> &str {
        self.tenants.names().next().unwrap_or_default()
    }
}

impl Ages for Shelf {
    fn drop_old(&mut self) {
        let max_age = self.max_age;
        self.traces.retain(|entry| entry.since.elapsed() < max_age);
    }

    fn next_old(&self) -> Option<Instant> {
        self.traces.back().map(|oldest| oldest.since + self.max_age)
    }
}

impl Shelf {
    fn new(max: usize, max_bytes: usize, max_age: Duration) -> Self {
        Self { traces: VecDeque::new(), max, max_bytes, max_age }
    }

    fn find(&self, tenants: &Tenants, id: &str) -> Option<Loaded> {
        let is_it = |entry: &&Entry| entry.loaded.id == id && entry.tenants == *tenants;
        self.traces.iter().find(is_it).map(|entry| entry.loaded.clone())
    }

    fn add(&mut self, tenants: &Tenants, loaded: Loaded) {
        self.traces.retain(|entry| entry.loaded.id != loaded.id || entry.tenants != *tenants);
        let bytes = loaded.tree.memory_bytes();
        let (tenants, since) = (tenants.clone(), Instant::now());
        self.traces.push_front(Entry { tenants, loaded, bytes, since });
        while let Some(nth) = self.next_to_go() {
            self.traces.remove(nth);
        }
    }

    /// Which has to go next, if there is no room for all: the oldest of the tenant who has most. Of
    /// several who have as much, who adds gives.
    fn next_to_go(&self) -> Option<usize> {
        let bytes: usize = self.traces.iter().map(|entry| entry.bytes).sum();
        let size: fn(&Entry) -> usize = match () {
            () if self.traces.len() > self.max => |_| 1,
            () if bytes > self.max_bytes => |entry| entry.bytes,
            () => return None,
        };
        let mut held: HashMap<&str, usize> = HashMap::new();
        for entry in &self.traces {
            *held.entry(entry.owner()).or_default() += size(entry);
        }
        let adder = self.traces.front()?.owner();
        let rank = |nth: &usize| {
            let owner = self.traces[*nth].owner();
            (held.get(owner), owner == adder)
        };
        // The last of those of the same rank is the oldest; the first of all is the newest, and stays.
        (1..self.traces.len()).max_by_key(rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(id: &str, bytes: usize) -> Loaded {
        // An unknown field of so many bytes.
        let mut body = vec![0x7a];
        let mut length = bytes;
        while length >= 0x80 {
            body.push(length as u8 | 0x80);
            length >>= 7;
        }
        body.push(length as u8);
        body.resize(body.len() + bytes, 0);
        let tree = Arc::new(TraceTree::read(body).unwrap());
        Loaded { tree, id: id.to_owned(), damaged_blocks: 0 }
    }

    fn shelf(max: usize, max_bytes: usize) -> Shelf {
        Shelf::new(max, max_bytes, Duration::from_secs(60))
    }

    #[test]
    fn the_oldest_go_first_and_nobody_finds_what_is_of_others() {
        let mut shelf = shelf(3, 2_500);
        let (ours, others) = (Tenants::from("a"), Tenants::from("b"));
        for id in ["1", "2", "3"] {
            shelf.add(&ours, loaded(id, 1_000));
        }
        assert!(shelf.find(&ours, "1").is_none());
        assert!(shelf.find(&ours, "2").is_some());
        assert!(shelf.find(&others, "2").is_none());
        shelf.add(&ours, loaded("large", 3_000));
        assert!(shelf.find(&ours, "large").is_some());
        assert_eq!(shelf.traces.len(), 1, "beside it nothing has room");
        for id in ["4", "5", "6", "7"] {
            shelf.add(&others, loaded(id, 10));
        }
        assert_eq!(shelf.traces.len(), 3);
        shelf.max_age = Duration::ZERO;
        shelf.drop_old();
        assert!(shelf.find(&others, "7").is_none());
    }

    #[test]
    fn who_adds_much_pushes_out_their_own_and_not_what_others_have() {
        for (max, max_bytes) in [(4, usize::MAX), (usize::MAX, 4_500)] {
            let mut shelf = shelf(max, max_bytes);
            let (many, few) = (Tenants::from("many"), Tenants::from("few"));
            let with_another = Tenants::new(["many", "x"].map(str::to_owned));
            shelf.add(&few, loaded("kept", 1_000));
            for nth in 0..20 {
                shelf.add(&many, loaded(&nth.to_string(), 1_000));
                shelf.add(&with_another, loaded(&nth.to_string(), 1_000));
            }
            assert!(shelf.find(&few, "kept").is_some(), "{max} {max_bytes}");
            assert_eq!(shelf.traces.len(), 4, "one tenant may have what nobody else needs");
            shelf.add(&few, loaded("second", 1_000));
            assert!(shelf.find(&few, "kept").is_some(), "who has most gives");
            shelf.add(&few, loaded("third", 1_000));
            assert!(shelf.find(&few, "kept").is_none(), "both have half");
            assert!(shelf.find(&few, "second").is_some());
            assert!(shelf.find(&with_another, "19").is_some());
        }
    }

    #[tokio::test]
    async fn what_is_too_old_goes_though_nobody_asks() {
        let shelf = Aging::new(Shelf::new(3, 1_000_000, Duration::from_millis(20)));
        let weak = shelf.with(|shelf| {
            let loaded = loaded("1", 10);
            let weak = Arc::downgrade(&loaded.tree);
            shelf.add(&Tenants::from("a"), loaded);
            weak
        });
        let begun = Instant::now();
        while weak.strong_count() > 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "it is still there");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
