//! Open blocks, kept up to a bound of bytes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use hashbrown::HashMap;

use super::dictionaries::DictionaryCache;
use super::meta::BlockMeta;
use super::read::{Block, TailCheck};
use super::trace_filter::{TraceFilter, TraceFilters, Traces};
use crate::error::StoreError;
use crate::limits::TRACE_FILTERS_BYTES;
use crate::objects::Objects;

#[derive(Debug)]
struct Kept {
    block: Arc<Block>,
    bytes: usize,
    used: u64,
}

#[derive(Debug, Default)]
struct Inner {
    blocks: HashMap<String, Kept>,
    bytes: usize,
    clock: u64,
    /// Every open block by path, kept here or only held by others.
    held: HashMap<String, Vec<Weak<Block>>>,
    /// Paths that `held` may have before it is looked through for closed blocks.
    held_most: usize,
}

/// Paths of closed blocks that are not worth looking for.
const HELD_SLACK: usize = 64;

impl Inner {
    /// Remembers an open block, and forgets those that were closed.
    fn hold(&mut self, path: &str, block: &Arc<Block>) {
        let held = self.held.entry_ref(path).or_default();
        held.retain(is_open);
        held.push(Arc::downgrade(block));
        if self.held.len() > self.held_most {
            self.held.retain(|_, held| held.iter().any(is_open));
            self.held_most = 2 * self.held.len() + HELD_SLACK;
        }
    }
}

fn is_open(block: &Weak<Block>) -> bool {
    block.strong_count() > 0
}

/// Open blocks by path and what is hidden in them.
#[derive(Debug)]
pub struct BlockCache {
    objects: Arc<dyn Objects>,
    /// Decoded dictionaries of all of them.
    dictionaries: Arc<DictionaryCache>,
    max_bytes: usize,
    inner: Mutex<Inner>,
    trace_filters: Mutex<TraceFilters>,
}

impl BlockCache {
    /// An empty cache.
    pub fn new(objects: Arc<dyn Objects>, max_bytes: usize) -> Self {
        Self {
            objects,
            dictionaries: Arc::default(),
            max_bytes,
            inner: Mutex::default(),
            trace_filters: Mutex::new(TraceFilters::new(TRACE_FILTERS_BYTES)),
        }
    }

    /// The block at `path`, opened if it is not. Rows are hidden in an open block;
    /// `variant` tells apart those in which others are.
    pub fn open(
        &self,
        path: &str,
        meta: &BlockMeta,
        variant: &str,
    ) -> Result<Arc<Block>, StoreError> {
        let key = format!("{path}\n{variant}");
        if let Some(block) = self.find(&key) {
            return Ok(block);
        }
        let check = TailCheck { bytes: meta.tail_bytes, crc: meta.tail_crc };
        let dictionaries = self.dictionaries.clone();
        let objects = self.objects.clone();
        let block = Arc::new(Block::open_with(objects, path, Some(check), dictionaries)?);
        self.keep(key, path, block.clone());
        Ok(block)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, key: &str) -> Option<Arc<Block>> {
        let mut inner = self.lock();
        inner.clock += 1;
        let clock = inner.clock;
        let kept = inner.blocks.get_mut(key)?;
        kept.used = clock;
        let block = kept.block.clone();
        // Regions have been read since.
        let bytes = block.heap_bytes();
        let before = std::mem::replace(&mut kept.bytes, bytes);
        inner.bytes = inner.bytes - before + bytes;
        self.drop_oldest(&mut inner);
        Some(block)
    }

    /// Whether the block at `path` may have a trace with this hash. The filter of its traces is
    /// made only if it is not known.
    pub(crate) fn may_hold_trace(
        &self,
        path: &str,
        traces: Traces,
        hash: u64,
        make: impl FnOnce() -> Result<TraceFilter, StoreError>,
    ) -> Result<bool, StoreError> {
        let filters = || self.trace_filters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(may_hold) = filters().may_hold(path, traces, hash) {
            return Ok(may_hold);
        }
        let filter = make()?;
        let may_hold = filter.may_hold(traces, hash);
        filters().keep(path, filter);
        Ok(may_hold)
    }

    fn keep(&self, key: String, path: &str, block: Arc<Block>) {
        let bytes = block.heap_bytes();
        let mut inner = self.lock();
        inner.hold(path, &block);
        inner.clock += 1;
        let used = inner.clock;
        if let Some(old) = inner.blocks.insert(key, Kept { block, bytes, used }) {
            inner.bytes -= old.bytes;
        }
        inner.bytes += bytes;
        self.drop_oldest(&mut inner);
    }

    fn drop_oldest(&self, inner: &mut Inner) {
        while inner.bytes > self.max_bytes && inner.blocks.len() > 1 {
            let oldest = inner.blocks.iter().min_by_key(|(_, k)| k.used).map(|(p, _)| p.clone());
            let Some(oldest) = oldest else { break };
            if let Some(dropped) = inner.blocks.remove(&oldest) {
                inner.bytes -= dropped.bytes;
            }
        }
    }

    /// Whether somebody has a block open, not counting this cache if it was told to
    /// [`forget`](Self::forget) it.
    pub fn is_held(&self, path: &str) -> bool {
        let inner = self.lock();
        inner.held.get(path).is_some_and(|held| held.iter().any(is_open))
    }

    /// Forgets a block whose file is about to be deleted.
    pub fn forget(&self, path: &str) {
        let mut inner = self.lock();
        let variants = |key: &str| key.split('\n').next() == Some(path);
        let dropped: usize =
            inner.blocks.extract_if(|key, _| variants(key)).map(|(_, kept)| kept.bytes).sum();
        inner.bytes -= dropped;
        drop(inner);
        self.trace_filters.lock().unwrap_or_else(PoisonError::into_inner).forget(path);
    }
}
