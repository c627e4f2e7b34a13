//! Decoded narrow columns, kept from one query to the next.
//!
//! Bounded by bytes. Room is reserved before a column is decoded; what was used
//! longest ago makes room. A column that could never fit is not cached. Two
//! queries that want the same column at once decode it once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;

use super::compile::OriginValue;
use super::keys::RestKeys;
use super::origins::OriginColumn;
use super::packed::Packed;
use super::predicate::Scope;
use super::split::Splits;
use super::trace_map::BlockTraces;
use crate::error::StoreError;
use crate::limits::COLUMN_CACHE_BYTES;

/// What of a block is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum What {
    /// A Parquet leaf column.
    Leaf(usize),
    /// Keys that lie in `rest`.
    RestKeys,
    /// Keys of attributes of list elements.
    ElementKeys(Scope),
    /// Traces that lie in several blocks of a set.
    Splits,
    /// Traces by row.
    Traces,
    /// A value of each origin.
    Origins(OriginValue),
}

#[derive(Debug, Clone)]
pub(super) enum Kept {
    Column(Arc<Packed>),
    RestKeys(Arc<RestKeys>),
    Splits(Arc<Splits>),
    Traces(Arc<BlockTraces>),
    Origins(Arc<OriginColumn>),
}

#[derive(Debug, Default)]
struct Entry {
    value: Arc<Mutex<Option<Kept>>>,
    bytes: usize,
    used: u64,
}

#[derive(Debug, Default)]
struct Entries {
    by_key: HashMap<(Arc<str>, What), Entry>,
    bytes: usize,
    clock: u64,
}

/// A bounded cache of decoded columns, shared by all queries: clones are the same
/// cache.
#[derive(Debug, Clone)]
pub struct ColumnCache(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Columns, of which one long scan may want more than there is room for.
    columns: Shelf,
    /// What is small and takes long to make: a scan of columns must not push it out.
    others: Shelf,
    hits: AtomicU64,
    misses: AtomicU64,
}

#[derive(Debug)]
struct Shelf {
    max_bytes: usize,
    entries: Mutex<Entries>,
}

impl Shelf {
    fn new(max_bytes: usize) -> Self {
        Self { max_bytes, entries: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        // Counts stay right even if a thread died while it held the lock.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for ColumnCache {
    fn default() -> Self {
        Self::new(COLUMN_CACHE_BYTES)
    }
}

impl ColumnCache {
    /// A cache of at most so many bytes of columns, and a quarter of that of other things.
    pub fn new(max_bytes: usize) -> Self {
        Self(Arc::new(Inner {
            columns: Shelf::new(max_bytes),
            others: Shelf::new(max_bytes / 4),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }))
    }

    /// Bytes held or reserved.
    pub fn bytes(&self) -> usize {
        self.0.columns.lock().bytes + self.0.others.lock().bytes
    }

    fn shelf(&self, what: &What) -> &Shelf {
        match what {
            What::Leaf(_) => &self.0.columns,
            _ => &self.0.others,
        }
    }

    /// Look-ups that found what they wanted.
    pub fn hits(&self) -> u64 {
        self.0.hits.load(Ordering::Relaxed)
    }

    /// Look-ups that did not.
    pub fn misses(&self) -> u64 {
        self.0.misses.load(Ordering::Relaxed)
    }

    /// What is kept under that key, unless it is being decoded just now.
    pub(super) fn get(&self, path: &str, what: &What) -> Option<Kept> {
        let found = self.touch(path, what).and_then(|slot| slot.try_lock().ok()?.clone());
        let counter = if found.is_some() { &self.0.hits } else { &self.0.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    fn touch(&self, path: &str, what: &What) -> Option<Arc<Mutex<Option<Kept>>>> {
        let mut entries = self.shelf(what).lock();
        entries.clock += 1;
        let clock = entries.clock;
        let entry = entries.by_key.get_mut(&(Arc::from(path), what.clone()))?;
        entry.used = clock;
        Some(entry.value.clone())
    }

    /// What is kept under that key, made if it is absent. `None` if it could
    /// never fit; then `make` is not called.
    pub(super) fn get_or_make(
        &self,
        path: &str,
        what: &What,
        estimate_bytes: usize,
        make: impl FnOnce() -> Result<(Kept, usize), StoreError>,
    ) -> Result<Option<Kept>, StoreError> {
        let Some(slot) = self.reserve(path, what, estimate_bytes) else { return Ok(None) };
        let mut value = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = &*value {
            return Ok(Some(kept.clone()));
        }
        match make() {
            Ok((kept, bytes)) => {
                *value = Some(kept.clone());
                self.settle(path, what, Some(bytes));
                Ok(Some(kept))
            }
            Err(error) => {
                self.settle(path, what, None);
                Err(error)
            }
        }
    }

    /// Makes room; `None` if there cannot be enough.
    fn reserve(&self, path: &str, what: &What, bytes: usize) -> Option<Arc<Mutex<Option<Kept>>>> {
        if let Some(slot) = self.touch(path, what) {
            return Some(slot);
        }
        let shelf = self.shelf(what);
        if bytes > shelf.max_bytes {
            return None;
        }
        let mut entries = shelf.lock();
        entries.make_room(shelf.max_bytes - bytes);
        entries.bytes += bytes;
        let used = entries.clock;
        let entry = Entry { value: Arc::default(), bytes, used };
        let slot = entry.value.clone();
        if let Some(other) = entries.by_key.insert((Arc::from(path), what.clone()), entry) {
            entries.bytes -= other.bytes;
        }
        Some(slot)
    }

    /// Replaces the reserved size by the true one, or gives it back.
    fn settle(&self, path: &str, what: &What, bytes: Option<usize>) {
        let key = (Arc::from(path), what.clone());
        let shelf = self.shelf(what);
        let mut entries = shelf.lock();
        let Some(entry) = entries.by_key.get_mut(&key) else { return };
        let reserved = entry.bytes;
        entry.bytes = bytes.unwrap_or(0);
        entries.bytes = entries.bytes - reserved + bytes.unwrap_or(0);
        if bytes.is_none() {
            entries.by_key.remove(&key);
        }
        entries.make_room(shelf.max_bytes);
    }
}

impl Entries {
    /// Drops what was used longest ago until no more than `max_bytes` are held.
    fn make_room(&mut self, max_bytes: usize) {
        while self.bytes > max_bytes {
            let oldest = self.by_key.iter().min_by_key(|(_, e)| e.used).map(|(key, _)| key.clone());
            let Some(entry) = oldest.and_then(|key| self.by_key.remove(&key)) else { return };
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::{Column, Rows, Values};

    fn column(rows: usize) -> Result<(Kept, usize), StoreError> {
        let values = Values::Int((0..rows as i64).map(|v| v << 33).collect());
        let packed = Packed::new(Column { rows: Rows::All, values }, rows).unwrap();
        let bytes = packed.heap_bytes();
        Ok((Kept::Column(Arc::new(packed)), bytes))
    }

    #[test]
    fn the_cache_stays_within_its_bound_and_drops_the_oldest() {
        let cache = ColumnCache::new(10_000);
        for leaf in 0..20 {
            let made = cache.get_or_make("a", &What::Leaf(leaf), 900, || column(100)).unwrap();
            assert!(made.is_some());
            assert!(cache.get("a", &What::Leaf(0)).is_some(), "what is used stays");
            assert!(cache.bytes() <= 10_000);
        }
        assert!(cache.get("a", &What::Leaf(1)).is_none());
        assert!(cache.get("a", &What::Leaf(19)).is_some());
        assert_eq!((cache.hits(), cache.misses()), (21, 1));
    }

    #[test]
    fn what_cannot_fit_is_not_made() {
        let cache = ColumnCache::new(100);
        let made = cache.get_or_make("a", &What::Leaf(0), 101, || panic!("no room")).unwrap();
        assert!(made.is_none());
    }

    #[test]
    fn columns_do_not_push_out_what_takes_long_to_make() {
        let cache = ColumnCache::new(10_000);
        let made = cache
            .get_or_make("a", &What::RestKeys, 100, || Ok((Kept::RestKeys(Arc::default()), 100)));
        assert!(made.unwrap().is_some());
        for leaf in 0..50 {
            cache.get_or_make("a", &What::Leaf(leaf), 900, || column(100)).unwrap();
        }
        assert!(cache.get("a", &What::RestKeys).is_some());
    }

    #[test]
    fn a_failure_gives_the_room_back() {
        let cache = ColumnCache::new(1000);
        let failed =
            cache.get_or_make("a", &What::Leaf(0), 900, || Err(StoreError::corrupt("x"))).is_err();
        assert!(failed);
        assert_eq!(cache.bytes(), 0);
    }
}
