//! Traces that lie in several blocks, found by the blocks' trace indexes.
//!
//! Hashes of trace ids stand for the ids: two traces of one hash would be taken
//! for one, which with a million traces happens once in forty million stores.

use std::sync::Arc;

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_128;

use super::cache::{ColumnCache, Kept, What};
use crate::block::read::Block;
use crate::block::trace_index;
use crate::error::StoreError;

/// A trace in one of the blocks that have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Share {
    /// Hash of the trace's id.
    pub(super) hash: u64,
    /// Which of the blocks.
    pub(super) block: u32,
    /// The trace's first row there.
    pub(super) first: u32,
}

/// Shares of the traces that lie in several blocks, by hash.
#[derive(Debug)]
pub(super) struct Splits(pub(super) Vec<Share>);

/// Bits for each trace in the tables that tell which hashes may come twice: of
/// sixteen traces, about one is looked at in vain.
const BITS_PER_TRACE: usize = 16;

impl Splits {
    /// Of some blocks. Blocks do not change, so the answer is kept for the next
    /// who asks about the same ones.
    pub(super) fn of(blocks: &[Arc<Block>], cache: &ColumnCache) -> Result<Arc<Self>, StoreError> {
        let find = || -> Result<Self, StoreError> {
            let indexes = blocks.iter().map(|b| b.trace_index()).collect::<Result<Vec<_>, _>>()?;
            Ok(Self(find(&indexes)))
        };
        let paths: Vec<&str> = blocks.iter().map(|block| block.path()).collect();
        let key = format!("{:032x}", xxh3_128(paths.join("\n").as_bytes()));
        let kept = cache.get_or_make(&key, &What::Splits, size_of::<Share>(), || {
            let splits = find()?;
            let bytes = splits.0.capacity() * size_of::<Share>();
            Ok((Kept::Splits(Arc::new(splits)), bytes))
        })?;
        match kept {
            Some(Kept::Splits(splits)) => Ok(splits),
            _ => Ok(Arc::new(find()?)),
        }
    }
}

fn find(indexes: &[Bytes]) -> Vec<Share> {
    let total: usize = indexes.iter().map(|index| index.len() / trace_index::ENTRY_BYTES).sum();
    let bits = (total * BITS_PER_TRACE).next_power_of_two().max(64);
    let (mut once, mut twice) = (vec![0u64; bits / 64], vec![0u64; bits / 64]);
    // Indexes are sorted by hash: by its upper bits, each walks the tables once.
    let place = |hash: u64| {
        let bit = (hash >> (64 - bits.trailing_zeros())) as usize;
        (bit / 64, 1u64 << (bit % 64))
    };
    for (hash, _) in indexes.iter().flat_map(|index| trace_index::iter(index)) {
        let (word, bit) = place(hash);
        twice[word] |= once[word] & bit;
        once[word] |= bit;
    }
    let mut shares = Vec::new();
    for (block, index) in indexes.iter().enumerate() {
        for (hash, first) in trace_index::iter(index) {
            let (word, bit) = place(hash);
            if twice[word] & bit != 0 {
                shares.push(Share { hash, block: block as u32, first });
            }
        }
    }
    shares.sort_unstable();
    let of_trace = shares.chunk_by(|a, b| a.hash == b.hash);
    let split = of_trace.filter(|s| s.first().map(|s| s.block) != s.last().map(|s| s.block));
    split.flatten().copied().collect()
}

/// First rows of those of some traces that an index has, with their places in
/// `hashes`, which ascend.
pub(super) fn intersect(hashes: &[u64], index: &[u8]) -> Vec<(usize, u32)> {
    let traces = index.len() / trace_index::ENTRY_BYTES;
    // A search takes some twenty steps, and not in order.
    if hashes.len() * 32 < traces {
        let searched = hashes.iter().enumerate();
        let found = |(nth, hash): (usize, &u64)| {
            trace_index::find(index, *hash).map(|first| (nth, first)).collect::<Vec<_>>()
        };
        return searched.flat_map(found).collect();
    }
    let mut found = Vec::new();
    let mut nth = 0;
    for (hash, first) in trace_index::iter(index) {
        while nth < hashes.len() && hashes[nth] < hash {
            nth += 1;
        }
        if hashes.get(nth) == Some(&hash) {
            found.push((nth, first));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(traces: impl Iterator<Item = u32>) -> Bytes {
        let id = |trace: u32| {
            let mut id = [0; 16];
            id[..4].copy_from_slice(&trace.to_le_bytes());
            id
        };
        trace_index::encode(traces.map(|trace| (id(trace), trace))).into()
    }

    #[test]
    fn traces_of_several_blocks_are_found_and_no_others() {
        let indexes = [index(0..1000), index(990..2000), index(995..1005), index(5000..5001)];
        let found = find(&indexes);
        let mut firsts: Vec<(u32, u32)> = found.iter().map(|s| (s.first, s.block)).collect();
        firsts.sort_unstable();
        let mut expected = Vec::new();
        for trace in 990..1005 {
            expected.extend((trace < 1000).then_some((trace, 0)));
            expected.push((trace, 1));
            expected.extend((trace >= 995).then_some((trace, 2)));
        }
        assert_eq!(firsts, expected);
        assert!(find(&[]).is_empty());
    }

    #[test]
    fn a_search_and_a_walk_find_the_same() {
        let large = index(0..5000);
        for count in [1u32, 10, 2000] {
            let mut hashes: Vec<u64> =
                trace_index::iter(&index((0..count).map(|n| n * 7))).map(|e| e.0).collect();
            hashes.sort_unstable();
            let found = intersect(&hashes, &large);
            let expected = (0..count).filter(|n| n * 7 < 5000).count();
            assert_eq!(found.len(), expected);
            for (nth, first) in found {
                let mut id = [0; 16];
                id[..4].copy_from_slice(&first.to_le_bytes());
                assert_eq!(trace_index::trace_hash(&id), hashes[nth]);
            }
        }
    }
}
