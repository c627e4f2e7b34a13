//! Recognises a client's retry: the same request within the retry window.
//!
//! Remembers what was acknowledged, oldest first, bounded by time and count. What is still being
//! written is not here but in the commit queue, so that a retry is never answered before the
//! original is durable. Hashes of deleted segments live on in `.kd` files.

use std::collections::{HashMap, VecDeque};

use crate::format::{Fault, JournalId, Position, u32_at, u64_at, u128_at};
use crate::limits::{MAX_REMEMBERED_HASHES, RETRY_WINDOW};
use crate::small_file::{self, FRAME_HEADER_BYTES};

const MAGIC: &[u8; 8] = b"KYMOJDUP";
const ENTRY_BYTES: usize = 48;
const WINDOW_NANOS: u64 = RETRY_WINDOW.as_nanos() as u64;

/// An acknowledged request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) hash: u128,
    pub(crate) received_nanos: u64,
    pub(crate) position: Position,
    pub(crate) next_position: Position,
    pub(crate) sequence: u64,
}

/// Acknowledged requests of the last minutes.
#[derive(Debug, Default)]
pub(crate) struct Dedup {
    /// In the order of their positions.
    order: VecDeque<Known>,
    /// The latest with that hash, by its place since the beginning.
    by_hash: HashMap<u128, u64>,
    /// How many were ever removed from the front of `order`.
    forgotten: u64,
    newest_nanos: u64,
}

impl Dedup {
    /// Remembers a request. They come in the order of their positions.
    pub(crate) fn insert(&mut self, known: Known) {
        self.by_hash.insert(known.hash, self.forgotten + self.order.len() as u64);
        self.order.push_back(known);
        self.newest_nanos = self.newest_nanos.max(known.received_nanos);
        let expired_before = self.expired_before();
        while let Some(oldest) = self.order.front() {
            let keep = oldest.received_nanos >= expired_before
                && self.order.len() <= MAX_REMEMBERED_HASHES;
            if keep {
                break;
            }
            if self.by_hash.get(&oldest.hash) == Some(&self.forgotten) {
                self.by_hash.remove(&oldest.hash);
            }
            self.order.pop_front();
            self.forgotten += 1;
        }
    }

    /// The request this one repeats.
    pub(crate) fn find(&self, hash: u128, received_nanos: u64) -> Option<Known> {
        let index = self.by_hash.get(&hash)?.checked_sub(self.forgotten)?;
        let known = *self.order.get(index as usize)?;
        (known.received_nanos.abs_diff(received_nanos) <= WINDOW_NANOS).then_some(known)
    }

    /// What is remembered of the positions in `from..to`.
    pub(crate) fn range(&self, from: Position, to: Position) -> Vec<Known> {
        let first = self.order.partition_point(|known| known.position < from);
        self.order.range(first..).take_while(|known| known.position < to).copied().collect()
    }

    /// Forgets what is not there any more: a retry of it has to be stored.
    pub(crate) fn forget(&mut self, from: Position, to: Position) {
        for known in self.range(from, to) {
            let index = self.by_hash.get(&known.hash).and_then(|at| at.checked_sub(self.forgotten));
            let latest = index.and_then(|index| self.order.get(index as usize));
            if latest.is_some_and(|latest| latest.position == known.position) {
                self.by_hash.remove(&known.hash);
            }
        }
    }

    /// What was received before this cannot be repeated any more.
    pub(crate) fn expired_before(&self) -> u64 {
        self.newest_nanos.saturating_sub(WINDOW_NANOS)
    }
}

/// The contents of a `.kd` file.
pub(crate) fn encode(id: &JournalId, known: &[Known]) -> Vec<u8> {
    let [a, b, c, d] = (known.len() as u32).to_le_bytes();
    let mut bytes = small_file::begin(MAGIC, [0, 0, a, b, c, d], id);
    for one in known {
        bytes.extend_from_slice(&one.hash.to_le_bytes());
        bytes.extend_from_slice(&one.received_nanos.to_le_bytes());
        bytes.extend_from_slice(&one.position.to_le_bytes());
        bytes.extend_from_slice(&one.next_position.to_le_bytes());
        bytes.extend_from_slice(&one.sequence.to_le_bytes());
    }
    small_file::finish(bytes)
}

/// Reads a `.kd` file.
pub(crate) fn decode(bytes: &[u8]) -> Result<(JournalId, Vec<Known>), Fault> {
    let (id, framed) = small_file::check(MAGIC, bytes)?;
    let entries = &framed[FRAME_HEADER_BYTES..];
    if entries.len() != u32_at(framed, 12) as usize * ENTRY_BYTES {
        return Err(Fault::Damaged);
    }
    let known = entries.chunks_exact(ENTRY_BYTES).map(|entry| Known {
        hash: u128_at(entry, 0),
        received_nanos: u64_at(entry, 16),
        position: u64_at(entry, 24),
        next_position: u64_at(entry, 32),
        sequence: u64_at(entry, 40),
    });
    Ok((id, known.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: u64 = 60_000_000_000;

    fn known(number: u64, received_nanos: u64) -> Known {
        Known {
            hash: u128::from(number),
            received_nanos,
            position: number * 100,
            next_position: number * 100 + 80,
            sequence: number,
        }
    }

    #[test]
    fn a_request_is_known_for_ten_minutes_of_receive_time() {
        let mut dedup = Dedup::default();
        dedup.insert(known(1, 100 * MINUTE));
        assert_eq!(dedup.find(1, 110 * MINUTE).map(|known| known.position), Some(100));
        assert_eq!(dedup.find(1, 110 * MINUTE + 1), None);
        assert_eq!(dedup.find(2, 100 * MINUTE), None);
        dedup.insert(known(2, 111 * MINUTE));
        assert_eq!(dedup.order.len(), 1);
        assert_eq!(dedup.by_hash.len(), 1);
    }

    #[test]
    fn a_request_stored_again_after_the_window_is_known_by_its_later_copy() {
        let mut dedup = Dedup::default();
        dedup.insert(known(1, 100 * MINUTE));
        dedup.insert(Known { position: 500, ..known(1, 111 * MINUTE) });
        assert_eq!(dedup.find(1, 112 * MINUTE).map(|known| known.position), Some(500));
    }

    #[test]
    fn the_number_of_hashes_is_bounded() {
        let mut dedup = Dedup::default();
        for number in 0..MAX_REMEMBERED_HASHES as u64 + 10 {
            dedup.insert(known(number, 0));
        }
        assert_eq!(dedup.order.len(), MAX_REMEMBERED_HASHES);
        assert_eq!(dedup.by_hash.len(), MAX_REMEMBERED_HASHES);
        assert_eq!(dedup.find(9, 0), None);
        assert!(dedup.find(10, 0).is_some());
    }

    #[test]
    fn a_file_of_hashes_reads_back() {
        let all = [known(1, 5), known(2, 6)];
        let bytes = encode(&[3; 16], &all);
        assert_eq!(decode(&bytes), Ok(([3; 16], all.to_vec())));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), Err(Fault::Damaged));
    }
}
