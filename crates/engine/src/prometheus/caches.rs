//! What is kept from one query to the next, each within a bound.
//!
//! A dashboard asks for the same series again and again. What it takes to find them
//! in a block, their labels, and their samples as they come out of blocks are kept;
//! blocks never change, so nothing of it gets old.

use std::collections::BTreeSet;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use kymo_promql::sample::Samples;
use kymo_store::series::index::SeriesIndex;

use super::find::TimeRange;
use super::metadata::KnownMetric;
use super::translate::Translated;
use super::unfold::{Unfolded, Variant};
use crate::limits::{
    PROMETHEUS_INDEX_BYTES, PROMETHEUS_LABELS_BYTES, PROMETHEUS_METADATA_BYTES,
    PROMETHEUS_SAMPLES_BYTES, PROMETHEUS_VALUES_BYTES, PROMETHEUS_VARIANTS_BYTES,
};

/// The index of a block, and a number for the block.
#[derive(Debug)]
pub(crate) struct IndexedBlock {
    pub(crate) id: u64,
    pub(crate) index: SeriesIndex,
    /// Least and greatest time of a point.
    times_nanos: (i64, i64),
}

impl IndexedBlock {
    pub(crate) fn new(id: u64, index: SeriesIndex) -> Self {
        let starts = index.rows.iter().map(|row| row.min_time_nanos);
        let ends = index.rows.iter().map(|row| row.max_time_nanos);
        let times_nanos = (starts.min().unwrap_or(0), ends.max().unwrap_or(0));
        Self { id, index, times_nanos }
    }

    /// Whether all its points lie within some time.
    pub(crate) fn lies_within(&self, range: TimeRange) -> bool {
        range.start <= self.times_nanos.0 && self.times_nanos.1 <= range.end
    }
}

/// A row of a block.
pub(crate) type BlockRow = (u64, u32);

/// Caches of all queries.
#[derive(Debug)]
pub(crate) struct Caches {
    next_block: AtomicU64,
    /// Indexes by path of the block.
    pub(crate) indexes: Kept<Arc<str>, Arc<IndexedBlock>>,
    /// Series by identity; `None` for those without a name.
    pub(crate) series: Kept<[u8; 16], Option<Arc<Translated>>>,
    /// Samples of rows.
    pub(crate) rows: Kept<BlockRow, Arc<Unfolded>>,
    /// Which series rows unfold to.
    pub(crate) variants: Kept<BlockRow, Arc<[Variant]>>,
    /// Values of labels, by number of the block and name of the label.
    pub(crate) values: Kept<(u64, Box<str>), Arc<BTreeSet<String>>>,
    /// What blocks say of metrics, by number of the block.
    pub(crate) metadata: Kept<u64, Arc<[KnownMetric]>>,
    /// Samples of several rows as one, by hash of the rows and variant.
    pub(crate) joined: Kept<u128, Arc<Samples>>,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            next_block: AtomicU64::new(0),
            indexes: Kept::new(PROMETHEUS_INDEX_BYTES),
            series: Kept::new(PROMETHEUS_LABELS_BYTES),
            rows: Kept::new(PROMETHEUS_SAMPLES_BYTES / 2),
            variants: Kept::new(PROMETHEUS_VARIANTS_BYTES),
            values: Kept::new(PROMETHEUS_VALUES_BYTES),
            metadata: Kept::new(PROMETHEUS_METADATA_BYTES),
            joined: Kept::new(PROMETHEUS_SAMPLES_BYTES / 2),
        }
    }
}

impl Caches {
    /// A number for a block that was not indexed before.
    pub(crate) fn next_block(&self) -> u64 {
        self.next_block.fetch_add(1, Ordering::Relaxed)
    }
}

/// Bytes of samples, nearly.
pub(crate) fn samples_bytes(samples: &Samples) -> usize {
    let histograms = samples.histograms.iter().map(|sample| sample.value.size_bytes() + 40);
    64 + (samples.times.len() + samples.starts.len()) * 8
        + samples.values.len() * 8
        + histograms.sum::<usize>()
}

/// Values by key, bounded by bytes. What was used since the last half was filled
/// stays; the rest goes when the next half is full.
#[derive(Debug)]
pub(crate) struct Kept<K, V> {
    half_bytes: usize,
    halves: Mutex<Halves<K, V>>,
}

#[derive(Debug)]
struct Halves<K, V> {
    young: HashMap<K, (V, usize)>,
    young_bytes: usize,
    old: HashMap<K, (V, usize)>,
}

impl<K: Hash + Eq, V: Clone> Kept<K, V> {
    pub(crate) fn new(max_bytes: usize) -> Self {
        let halves = Halves { young: HashMap::new(), young_bytes: 0, old: HashMap::new() };
        Self { half_bytes: max_bytes / 2, halves: Mutex::new(halves) }
    }

    fn lock(&self) -> MutexGuard<'_, Halves<K, V>> {
        // Whatever a thread that died has left is a cache still.
        self.halves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks several up at once.
    pub(crate) fn get_all(&self, keys: impl Iterator<Item = K>) -> Vec<Option<V>> {
        let mut halves = self.lock();
        keys.map(|key| halves.get(key, self.half_bytes)).collect()
    }

    pub(crate) fn get(&self, key: K) -> Option<V> {
        self.lock().get(key, self.half_bytes)
    }

    /// Keeps values, each with its size.
    pub(crate) fn put_all(&self, values: impl Iterator<Item = (K, V, usize)>) {
        let mut halves = self.lock();
        for (key, value, bytes) in values {
            halves.put(key, value, bytes, self.half_bytes);
        }
    }
}

impl<K: Hash + Eq, V: Clone> Halves<K, V> {
    fn get(&mut self, key: K, half_bytes: usize) -> Option<V> {
        if let Some((value, _)) = self.young.get(&key) {
            return Some(value.clone());
        }
        let (value, bytes) = self.old.remove(&key)?;
        self.put(key, value.clone(), bytes, half_bytes);
        Some(value)
    }

    fn put(&mut self, key: K, value: V, bytes: usize, half_bytes: usize) {
        // A table has room for more than it holds.
        let bytes = bytes + 2 * (size_of::<K>() + size_of::<V>());
        if bytes > half_bytes {
            return;
        }
        if self.young_bytes + bytes > half_bytes {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        if let Some((_, before)) = self.young.insert(key, (value, bytes)) {
            self.young_bytes -= before;
        }
        self.young_bytes += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_what_is_not_goes() {
        let kept: Kept<u32, u32> = Kept::new(20_000);
        kept.put_all([(0, 0, 1000)].into_iter());
        for key in 1..200 {
            kept.put_all([(key, key, 1000)].into_iter());
            assert_eq!(kept.get(0), Some(0), "after {key}");
        }
        assert_eq!(kept.get(1), None);
        assert_eq!(kept.get(199), Some(199));
        let bytes = kept.lock().young_bytes;
        assert!(bytes <= 10_000, "{bytes}");
        kept.put_all([(500, 1, 1 << 30)].into_iter());
        assert_eq!(kept.get(500), None, "too large to keep");
    }
}
