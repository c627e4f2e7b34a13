//! The trace index: where each trace begins in a block.
//!
//! Region: entries of 12 bytes, the 64-bit hash of the trace id and the number
//! of its first row, little-endian, sorted by hash. Hashes are spread evenly, so
//! that an entry's place is known but for a small error.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 12;

/// The hash of a trace id.
pub fn trace_hash(trace_id: &[u8; 16]) -> u64 {
    xxh3_64(trace_id)
}

/// The region's bytes of traces with their first rows.
pub fn encode(traces: impl Iterator<Item = ([u8; 16], u32)>) -> Vec<u8> {
    let mut entries: Vec<(u64, u32)> = traces.map(|(id, row)| (trace_hash(&id), row)).collect();
    entries.sort_unstable();
    let mut bytes = Vec::with_capacity(entries.len() * ENTRY_BYTES);
    for (hash, row) in entries {
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes.extend_from_slice(&row.to_le_bytes());
    }
    bytes
}

fn entry(bytes: &[u8], nth: usize) -> (u64, u32) {
    let at = nth * ENTRY_BYTES;
    let mut hash = [0; 8];
    let mut row = [0; 4];
    hash.copy_from_slice(&bytes[at..at + 8]);
    row.copy_from_slice(&bytes[at + 8..at + 12]);
    (u64::from_le_bytes(hash), u32::from_le_bytes(row))
}

/// First rows of the traces whose id has this hash.
pub fn find(bytes: &[u8], hash: u64) -> impl Iterator<Item = u32> + '_ {
    let count = bytes.len() / ENTRY_BYTES;
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if entry(bytes, middle).0 < hash { low = middle + 1 } else { high = middle }
    }
    (low..count).map(|nth| entry(bytes, nth)).take_while(move |e| e.0 == hash).map(|e| e.1)
}

/// Rows of the traces that begin at `firsts`, which ascend, in a block of `rows`.
pub fn extents(bytes: &[u8], firsts: &[u32], rows: u32) -> Vec<std::ops::Range<u32>> {
    let mut ends = vec![rows; firsts.len()];
    for (_, row) in iter(bytes) {
        // The trace that begins here ends the last one that begins before.
        let before = firsts.partition_point(|first| *first < row);
        if before > 0 {
            ends[before - 1] = ends[before - 1].min(row);
        }
    }
    firsts.iter().zip(ends).map(|(first, end)| *first..end.max(*first)).collect()
}

/// All entries: hash and first row.
pub fn iter(bytes: &[u8]) -> impl Iterator<Item = (u64, u32)> + '_ {
    (0..bytes.len() / ENTRY_BYTES).map(|nth| entry(bytes, nth))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trace_is_found_at_its_first_row() {
        let id = |i: u32| {
            let mut id = [0u8; 16];
            id[..4].copy_from_slice(&i.to_le_bytes());
            id
        };
        let bytes = encode((0..1000).map(|i| (id(i), i * 25)));
        for i in 0..1000 {
            let rows: Vec<u32> = find(&bytes, trace_hash(&id(i))).collect();
            assert_eq!(rows, [i * 25]);
        }
        assert_eq!(find(&bytes, trace_hash(&id(1000))).count(), 0);
        assert_eq!(find(&[], 7).count(), 0);
    }

    #[test]
    fn a_trace_reaches_to_the_next_one() {
        let bytes = encode([0u32, 3, 4, 100].iter().map(|row| ([*row as u8; 16], *row)));
        assert_eq!(extents(&bytes, &[0, 4, 100], 120), [0..3, 4..100, 100..120]);
        assert_eq!(extents(&bytes, &[3, 4], 120), [3..4, 4..100]);
        assert_eq!(extents(&bytes, &[], 120), []);
    }
}
