//! Acknowledged records that are still in memory, shared by all readers and bounded by bytes.
//!
//! A live consumer gets its records from here; one that fell behind reads the disk until it has
//! caught up. The bodies are the admitted buffers themselves, not copies.

use std::collections::VecDeque;

use crate::format::Position;
use crate::scan::Entry;

/// The latest records.
#[derive(Debug)]
pub(crate) struct Recent {
    entries: VecDeque<Entry>,
    size_bytes: usize,
    limit_bytes: usize,
    /// From here on every record is in memory.
    complete_from: Position,
}

impl Recent {
    pub(crate) fn new(limit_bytes: usize, end: Position) -> Recent {
        Recent { entries: VecDeque::new(), size_bytes: 0, limit_bytes, complete_from: end }
    }

    /// Adds the next record and forgets the oldest beyond the limit.
    pub(crate) fn push(&mut self, entry: Entry) {
        self.size_bytes += size_bytes(&entry);
        self.entries.push_back(entry);
        while self.size_bytes > self.limit_bytes {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.size_bytes -= size_bytes(&oldest);
            self.complete_from = oldest.next_position;
        }
    }

    /// Forgets all of them; what is before `end` is read from disk.
    pub(crate) fn forget(&mut self, end: Position) {
        self.entries.clear();
        self.size_bytes = 0;
        self.complete_from = end;
    }

    /// Whether records at `position` and later are all here.
    pub(crate) fn covers(&self, position: Position) -> bool {
        position >= self.complete_from
    }

    /// The first record at or after `position`. Only meaningful if it is covered.
    pub(crate) fn at_or_after(&self, position: Position) -> Option<&Entry> {
        self.entries.get(self.entries.partition_point(|entry| entry.position < position))
    }
}

/// What an entry costs: its body and about what surrounds it.
fn size_bytes(entry: &Entry) -> usize {
    entry.body.len() + size_of::<Entry>() + entry.tenant.len()
}
