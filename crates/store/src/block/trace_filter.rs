//! Which blocks may have a trace, without opening them.
//!
//! An open block takes a megabyte, and of hundreds that overlap in time one or two have a trace. So
//! a small Bloom filter of each block's traces is kept for all of them. It is made of the trace
//! index when that is first read. Blocks of log records have no such index, and most records of a
//! trace say nothing of its spans: their filters are of the traces that have events.

use hashbrown::{HashMap, HashSet};

use super::read::Block;
use super::trace_index;
use crate::column::Values;
use crate::error::StoreError;
use crate::schema::Signal;
use crate::tables::logs::field;

/// Bits for each trace; with eight probes one look-up in three hundred is in vain.
const BITS_PER_TRACE: usize = 12;
const PROBES: u64 = 8;

/// The traces of a block, nearly.
#[derive(Debug)]
pub(crate) struct TraceFilter(Box<[u64]>);

impl TraceFilter {
    /// Of the spans of a block, or of the events among its log records.
    pub(crate) fn of(block: &Block) -> Result<Self, StoreError> {
        match block.table().signal {
            Signal::Logs => {
                let hashes = traces_of_events(block)?;
                Ok(Self::of_hashes(hashes.len(), hashes.into_iter()))
            }
            _ => Ok(Self::new(&block.trace_index()?)),
        }
    }

    /// From the bytes of a trace index.
    pub(crate) fn new(index: &[u8]) -> Self {
        let traces = index.len() / trace_index::ENTRY_BYTES;
        Self::of_hashes(traces, trace_index::iter(index).map(|(hash, _)| hash))
    }

    fn of_hashes(traces: usize, hashes: impl Iterator<Item = u64>) -> Self {
        let mut words = vec![0u64; (traces * BITS_PER_TRACE).div_ceil(64)];
        let bits = words.len() as u64 * 64;
        for hash in hashes {
            for bit in probes(hash, bits) {
                words[(bit / 64) as usize] |= 1 << (bit % 64);
            }
        }
        Self(words.into())
    }

    /// False if the block has no trace of this hash.
    pub(crate) fn may_hold(&self, hash: u64) -> bool {
        let bits = self.0.len() as u64 * 64;
        bits > 0 && probes(hash, bits).all(|bit| self.0[(bit / 64) as usize] >> (bit % 64) & 1 == 1)
    }

    fn heap_bytes(&self) -> usize {
        self.0.len() * 8
    }
}

/// Hashes of the traces that have events among the log records of a block.
fn traces_of_events(block: &Block) -> Result<HashSet<u64>, StoreError> {
    let names = block.field(field::EVENT_NAME, None)?;
    let mut traces = HashSet::new();
    if names.values.is_empty() {
        return Ok(traces);
    }
    let column = block.field(field::TRACE_ID, None)?;
    let Values::Id16(ids) = &column.values else {
        return Err(StoreError::corrupt("trace ids of another type"));
    };
    names.for_each_row(|row, _| {
        traces.extend(column.index_of(row).map(|at| trace_index::trace_hash(&ids[at])));
    });
    Ok(traces)
}

fn probes(hash: u64, bits: u64) -> impl Iterator<Item = u64> {
    let step = hash.rotate_left(32) | 1;
    (0..PROBES).map(move |nth| hash.wrapping_add(step.wrapping_mul(nth)) % bits)
}

/// Filters by the paths of blocks, up to a bound of bytes.
#[derive(Debug)]
pub(crate) struct TraceFilters {
    filters: HashMap<String, TraceFilter>,
    size_bytes: usize,
    max_bytes: usize,
}

impl TraceFilters {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { filters: HashMap::new(), size_bytes: 0, max_bytes }
    }

    /// Whether a block may have a trace; `None` if its traces are not known.
    pub(crate) fn may_hold(&self, path: &str, hash: u64) -> Option<bool> {
        self.filters.get(path).map(|filter| filter.may_hold(hash))
    }

    /// Keeps a filter, and beyond the bound lets go of some other.
    pub(crate) fn keep(&mut self, path: &str, filter: TraceFilter) {
        self.forget(path);
        self.size_bytes += size_bytes(path, &filter);
        self.filters.insert(path.to_owned(), filter);
        while self.size_bytes > self.max_bytes && self.filters.len() > 1 {
            let other = self.filters.keys().find(|other| *other != path).cloned();
            let Some(other) = other else { break };
            self.forget(&other);
        }
    }

    pub(crate) fn forget(&mut self, path: &str) {
        if let Some(filter) = self.filters.remove(path) {
            self.size_bytes -= size_bytes(path, &filter);
        }
    }
}

fn size_bytes(path: &str, filter: &TraceFilter) -> usize {
    path.len() + filter.heap_bytes() + size_of::<(String, TraceFilter)>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(nth: u32) -> [u8; 16] {
        let mut id = [7; 16];
        id[..4].copy_from_slice(&nth.to_le_bytes());
        id
    }

    fn hash(nth: u32) -> u64 {
        trace_index::trace_hash(&id(nth))
    }

    #[test]
    fn every_trace_of_a_block_is_held_and_few_others() {
        let index = trace_index::encode((0..5000).map(|nth| (id(nth), nth)));
        let filter = TraceFilter::new(&index);
        assert!((0..5000).all(|nth| filter.may_hold(hash(nth))));
        let in_vain = (5000..105_000).filter(|nth| filter.may_hold(hash(*nth))).count();
        assert!(in_vain < 600, "{in_vain} of 100,000");
        assert!(!TraceFilter::new(&[]).may_hold(hash(0)));
    }

    #[test]
    fn filters_stay_within_their_bound() {
        let index = trace_index::encode((0..1000).map(|nth| (id(nth), nth)));
        let mut filters = TraceFilters::new(5000);
        for nth in 0..10 {
            filters.keep(&nth.to_string(), TraceFilter::new(&index));
            filters.keep(&nth.to_string(), TraceFilter::new(&index));
            assert_eq!(filters.may_hold(&nth.to_string(), hash(3)), Some(true));
        }
        assert!(filters.size_bytes <= 5000 && filters.filters.len() == 3);
        let known: Vec<String> = filters.filters.keys().cloned().collect();
        known.iter().for_each(|path| filters.forget(path));
        assert_eq!((filters.size_bytes, filters.may_hold("9", hash(3))), (0, None));
    }
}
