//! Granule filters: for each page of 8,192 rows a Bloom filter over the hashes
//! of (attribute, value) of those values that no dictionary lists, and of the
//! trace ids of log records.
//!
//! Region: number of granules, then for each the number of its 64-bit words,
//! all little-endian 32 bits; then the words. A filter without words holds
//! nothing. Five bits are set for a hash: `h1 + i * h2` modulo the bits.

use crate::pages::GRANULE_ROWS;

/// Bits for each entry; with five probes one look-up in forty-five is in vain.
const BITS_PER_ENTRY: usize = 8;
/// The same for log records.
const LOG_BITS_PER_ENTRY: usize = 6;
const PROBES: u64 = 5;

/// The hash of an attribute's text value.
pub fn value_hash(key: &[u8], value: &[u8]) -> u64 {
    use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
    xxh3_64_with_seed(value, xxh3_64(key))
}

fn probes(hash: u64, bits: u64) -> impl Iterator<Item = u64> {
    let step = hash.rotate_left(32) | 1;
    (0..PROBES).map(move |i| hash.wrapping_add(step.wrapping_mul(i)) % bits)
}

/// Collects hashes by granule.
#[derive(Debug, Default)]
pub struct FilterBuilder {
    granules: Vec<Vec<u64>>,
    bits_per_entry: usize,
}

impl FilterBuilder {
    /// A builder for a block of so many rows.
    pub fn new(rows: usize) -> Self {
        let granules = vec![Vec::new(); rows.div_ceil(GRANULE_ROWS)];
        Self { granules, bits_per_entry: BITS_PER_ENTRY }
    }

    /// A builder for log records: most have values that are theirs alone, so that
    /// bits count more than the one look-up in eighteen that is in vain.
    pub(crate) fn for_logs(rows: usize) -> Self {
        Self { bits_per_entry: LOG_BITS_PER_ENTRY, ..Self::new(rows) }
    }

    /// Adds what `row` has.
    #[inline]
    pub fn add(&mut self, row: usize, hash: u64) {
        self.granules[row / GRANULE_ROWS].push(hash);
    }

    /// The region's bytes; empty if nothing was added.
    pub fn finish(self) -> Vec<u8> {
        if self.granules.iter().all(Vec::is_empty) {
            return Vec::new();
        }
        let mut sizes = Vec::with_capacity(self.granules.len() * 4 + 4);
        sizes.extend_from_slice(&(self.granules.len() as u32).to_le_bytes());
        let mut body = Vec::new();
        for mut hashes in self.granules {
            hashes.sort_unstable();
            hashes.dedup();
            let mut words = vec![0u64; (hashes.len() * self.bits_per_entry).div_ceil(64)];
            let bits = words.len() as u64 * 64;
            for hash in hashes {
                for bit in probes(hash, bits) {
                    words[bit as usize / 64] |= 1 << (bit % 64);
                }
            }
            sizes.extend_from_slice(&(words.len() as u32).to_le_bytes());
            body.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        }
        sizes.extend_from_slice(&body);
        sizes
    }
}

/// Filters of a block, read.
#[derive(Debug, Default)]
pub struct Filters {
    /// For each granule its first word and how many.
    places: Vec<(usize, usize)>,
    words: Vec<u64>,
}

impl Filters {
    /// From the region's bytes; `None` if they are not such a region.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let number =
            |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
        let granules = number(0)?;
        let header = granules.checked_mul(4)?.checked_add(4)?;
        let body = bytes.get(header..)?;
        let mut places = Vec::with_capacity(granules);
        let mut first = 0usize;
        for granule in 0..granules {
            let words = number(4 + granule * 4)?;
            places.push((first, words));
            first = first.checked_add(words)?;
        }
        if body.len() != first.checked_mul(8)? {
            return None;
        }
        let words = body
            .chunks_exact(8)
            .map(|b| u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
            .collect();
        Some(Self { places, words })
    }

    /// Whether `granule` may hold `hash`. True where there is no such granule.
    pub fn may_hold(&self, granule: usize, hash: u64) -> bool {
        let Some((first, count)) = self.places.get(granule).copied() else { return true };
        if count == 0 {
            return false;
        }
        let words = &self.words[first..first + count];
        probes(hash, count as u64 * 64).all(|bit| words[bit as usize / 64] >> (bit % 64) & 1 == 1)
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.words.len() * 8 + self.places.len() * 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found_and_little_else() {
        let mut builder = FilterBuilder::new(3 * GRANULE_ROWS);
        let hash = |i: usize| value_hash(b"user", format!("u{i}").as_bytes());
        for i in 0..2000 {
            builder.add(i % GRANULE_ROWS, hash(i));
        }
        let filters = Filters::parse(&builder.finish()).unwrap();
        assert!((0..2000).all(|i| filters.may_hold(0, hash(i))));
        let wrong = (2000..12_000).filter(|i| filters.may_hold(0, hash(*i))).count();
        assert!(wrong < 400, "{wrong} of 10000 in vain");
        assert!(!filters.may_hold(1, hash(0)), "an empty granule holds nothing");
    }

    #[test]
    fn damaged_regions_are_refused() {
        let mut builder = FilterBuilder::new(10);
        builder.add(1, 42);
        let bytes = builder.finish();
        assert!((0..bytes.len()).all(|end| Filters::parse(&bytes[..end]).is_none()));
        assert!(Filters::parse(&[0xff; 64]).is_none());
    }
}
