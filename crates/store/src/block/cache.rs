//! Open blocks, kept up to a bound of bytes.

use std::sync::{Arc, Mutex};

use hashbrown::HashMap;

use super::dictionaries::DictionaryCache;
use super::meta::BlockMeta;
use super::read::{Block, TailCheck};
use crate::error::StoreError;
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
}

/// Open blocks by path and what is hidden in them.
#[derive(Debug)]
pub struct BlockCache {
    objects: Arc<dyn Objects>,
    /// Decoded dictionaries of all of them.
    dictionaries: Arc<DictionaryCache>,
    max_bytes: usize,
    inner: Mutex<Inner>,
}

impl BlockCache {
    /// An empty cache.
    pub fn new(objects: Arc<dyn Objects>, max_bytes: usize) -> Self {
        Self { objects, dictionaries: Arc::default(), max_bytes, inner: Mutex::default() }
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
        self.keep(key, block.clone());
        Ok(block)
    }

    fn find(&self, key: &str) -> Option<Arc<Block>> {
        let mut inner = self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        inner.clock += 1;
        let clock = inner.clock;
        let kept = inner.blocks.get_mut(key)?;
        kept.used = clock;
        Some(kept.block.clone())
    }

    fn keep(&self, key: String, block: Arc<Block>) {
        let bytes = block.heap_bytes();
        let mut inner = self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        inner.clock += 1;
        let used = inner.clock;
        if let Some(old) = inner.blocks.insert(key, Kept { block, bytes, used }) {
            inner.bytes -= old.bytes;
        }
        inner.bytes += bytes;
        while inner.bytes > self.max_bytes && inner.blocks.len() > 1 {
            let oldest = inner.blocks.iter().min_by_key(|(_, k)| k.used).map(|(p, _)| p.clone());
            let Some(oldest) = oldest else { break };
            if let Some(dropped) = inner.blocks.remove(&oldest) {
                inner.bytes -= dropped.bytes;
            }
        }
    }

    /// Forgets a block whose file is deleted.
    pub fn forget(&self, path: &str) {
        let mut inner = self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let variants = |key: &str| key.split('\n').next() == Some(path);
        let dropped: usize =
            inner.blocks.extract_if(|key, _| variants(key)).map(|(_, kept)| kept.bytes).sum();
        inner.bytes -= dropped;
    }
}
