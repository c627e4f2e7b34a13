//! Decoded dictionary pages, kept for the next read of the same column.
//!
//! A page of codes says nothing without its column's dictionary. Who reads one
//! granule of forty columns would spend most of the time on decoding forty
//! dictionaries, the same ones each time. The cache is bounded by bytes; what
//! was unused for longest makes room.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;

use crate::limits::DICTIONARY_CACHE_BYTES;
use crate::pages::decode::Dictionary;

/// A cache of dictionaries, which blocks may share.
#[derive(Debug)]
pub struct DictionaryCache {
    max_bytes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Place, Entry>,
    size_bytes: usize,
    /// Counts uses, to tell which entry is the oldest.
    clock: u64,
    /// Counts blocks, to tell their columns apart.
    blocks: u64,
}

/// A column of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    block: u64,
    leaf: usize,
}

#[derive(Debug)]
struct Entry {
    dictionary: Dictionary,
    size_bytes: usize,
    used: u64,
}

impl Default for DictionaryCache {
    fn default() -> Self {
        Self::new(DICTIONARY_CACHE_BYTES)
    }
}

impl DictionaryCache {
    /// An empty cache that holds at most `max_bytes`.
    pub fn new(max_bytes: usize) -> Self {
        Self { max_bytes, state: Mutex::default() }
    }

    /// Bytes that are held now.
    pub fn size_bytes(&self) -> usize {
        self.lock().size_bytes
    }

    /// A number for a block that begins to use the cache.
    pub(crate) fn join(&self) -> u64 {
        let mut state = self.lock();
        state.blocks += 1;
        state.blocks
    }

    /// Forgets the dictionaries of a block that is closed.
    pub(crate) fn leave(&self, block: u64) {
        let mut state = self.lock();
        let mut freed_bytes = 0;
        state.entries.retain(|place, entry| {
            let stays = place.block != block;
            freed_bytes += if stays { 0 } else { entry.size_bytes };
            stays
        });
        state.size_bytes -= freed_bytes;
    }

    pub(crate) fn get(&self, block: u64, leaf: usize) -> Option<Dictionary> {
        let mut state = self.lock();
        state.clock += 1;
        let used = state.clock;
        let entry = state.entries.get_mut(&Place { block, leaf })?;
        entry.used = used;
        Some(entry.dictionary.clone())
    }

    pub(crate) fn keep(&self, block: u64, leaf: usize, dictionary: Dictionary) {
        let size_bytes = dictionary.heap_bytes();
        // One entry may not push out most of the others.
        if size_bytes > self.max_bytes / 4 {
            return;
        }
        let mut state = self.lock();
        while state.size_bytes + size_bytes > self.max_bytes {
            let oldest = state.entries.iter().min_by_key(|(_, e)| e.used).map(|(p, _)| *p);
            let Some(removed) = oldest.and_then(|place| state.entries.remove(&place)) else {
                break;
            };
            state.size_bytes -= removed.size_bytes;
        }
        state.clock += 1;
        let entry = Entry { dictionary, size_bytes, used: state.clock };
        state.size_bytes += size_bytes;
        if let Some(before) = state.entries.insert(Place { block, leaf }, entry) {
            state.size_bytes -= before.size_bytes;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No step above can leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn ints(count: usize) -> Dictionary {
        Dictionary::Ints(Arc::new(vec![0; count]))
    }

    #[test]
    fn the_dictionary_unused_for_longest_makes_room() {
        let cache = DictionaryCache::new(8 * 40);
        let block = cache.join();
        for leaf in 0..4 {
            cache.keep(block, leaf, ints(10));
        }
        assert!(cache.get(block, 0).is_some());
        cache.keep(block, 4, ints(10));
        assert_eq!(cache.size_bytes(), 320);
        assert!(cache.get(block, 1).is_none());
        assert!(cache.get(block, 0).is_some());
        cache.keep(block, 5, ints(11));
        assert!(cache.get(block, 5).is_none(), "too large to keep");
    }

    #[test]
    fn a_block_that_leaves_takes_its_dictionaries_along() {
        let cache = DictionaryCache::new(1 << 20);
        let (first, second) = (cache.join(), cache.join());
        cache.keep(first, 0, ints(10));
        cache.keep(first, 0, ints(20));
        cache.keep(second, 0, ints(30));
        assert_eq!(cache.size_bytes(), 400);
        cache.leave(first);
        assert_eq!(cache.size_bytes(), 240);
        assert!(cache.get(first, 0).is_none() && cache.get(second, 0).is_some());
    }
}
