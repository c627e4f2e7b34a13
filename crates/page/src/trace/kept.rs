//! Traces that are kept in memory: uploads, and those that were looked at last.
//!
//! Both are bounded by number, bytes and age; the oldest go first. The newest stays however large it
//! is, since the page goes on to ask for details of it, and would have it read anew for each. Each
//! belongs to the tenants who asked, and nobody else finds it. What is too old goes by itself, also
//! where nobody asks any more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kymo_engine::Tenants;
use kymo_traceview::TraceTree;

use super::limits::{
    RECENT_MAX, RECENT_MAX_AGE, RECENT_MAX_BYTES, UPLOAD_MAX_AGE, UPLOADS_MAX, UPLOADS_MAX_BYTES,
};
use crate::aging;

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
    uploads: Arc<Mutex<Shelf>>,
    recent: Arc<Mutex<Shelf>>,
}

impl Default for Kept {
    fn default() -> Self {
        let shelf = |max, max_bytes, max_age| {
            Arc::new(Mutex::new(Shelf { traces: VecDeque::new(), max, max_bytes, max_age }))
        };
        Self {
            uploads: shelf(UPLOADS_MAX, UPLOADS_MAX_BYTES, UPLOAD_MAX_AGE),
            recent: shelf(RECENT_MAX, RECENT_MAX_BYTES, RECENT_MAX_AGE),
        }
    }
}

impl Kept {
    pub(super) fn upload(&self, tenants: &Tenants, id: &str) -> Option<Loaded> {
        locked(&self.uploads).find(tenants, id)
    }

    pub(super) fn add_upload(&self, tenants: &Tenants, loaded: Loaded) {
        add(&self.uploads, tenants, loaded);
    }

    pub(super) fn recent(&self, tenants: &Tenants, id: &str) -> Option<Loaded> {
        locked(&self.recent).find(tenants, id)
    }

    pub(super) fn add_recent(&self, tenants: &Tenants, loaded: Loaded) {
        add(&self.recent, tenants, loaded);
    }
}

fn locked(shelf: &Mutex<Shelf>) -> std::sync::MutexGuard<'_, Shelf> {
    // What is kept is whole at any time.
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a trace, and lets go of it when it is too old.
fn add(shelf: &Arc<Mutex<Shelf>>, tenants: &Tenants, loaded: Loaded) {
    let max_age = {
        let mut shelf = locked(shelf);
        shelf.add(tenants, loaded);
        shelf.max_age
    };
    aging::later(shelf, max_age, Shelf::drop_old);
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

impl Shelf {
    fn find(&mut self, tenants: &Tenants, id: &str) -> Option<Loaded> {
        self.drop_old();
        let found =
            self.traces.iter().find(|entry| entry.loaded.id == id && entry.tenants == *tenants)?;
        Some(found.loaded.clone())
    }

    fn add(&mut self, tenants: &Tenants, loaded: Loaded) {
        self.traces.retain(|entry| entry.loaded.id != loaded.id || entry.tenants != *tenants);
        let bytes = loaded.tree.memory_bytes();
        let (tenants, since) = (tenants.clone(), Instant::now());
        self.traces.push_front(Entry { tenants, loaded, bytes, since });
        self.drop_old();
    }

    fn drop_old(&mut self) {
        let mut left_bytes = self.max_bytes;
        let (max, max_age) = (self.max, self.max_age);
        let mut count = 0;
        self.traces.retain(|entry| {
            let fits = left_bytes.checked_sub(entry.bytes);
            count += 1;
            left_bytes = fits.unwrap_or(0);
            (fits.is_some() || count == 1) && count <= max && entry.since.elapsed() < max_age
        });
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

    #[test]
    fn the_oldest_go_first_and_nobody_finds_what_is_of_others() {
        let mut shelf = Shelf {
            traces: VecDeque::new(),
            max: 3,
            max_bytes: 2_500,
            max_age: Duration::from_secs(60),
        };
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
        assert!(shelf.find(&others, "7").is_none());
    }

    #[tokio::test]
    async fn what_is_too_old_goes_though_nobody_asks() {
        let (max_bytes, max_age) = (1_000_000, Duration::from_millis(20));
        let shelf = Shelf { traces: VecDeque::new(), max: 3, max_bytes, max_age };
        let shelf = Arc::new(Mutex::new(shelf));
        add(&shelf, &Tenants::from("a"), loaded("1", 10));
        assert_eq!(locked(&shelf).traces.len(), 1);
        let begun = Instant::now();
        while !locked(&shelf).traces.is_empty() {
            assert!(begun.elapsed() < Duration::from_secs(20), "it is still there");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
