//! What comes back.

use kymo_logql::labels::Labels;
use kymo_logql::plan::{Streams, Value};
use kymo_store::scan::ScanStats;

/// The answer to a query.
#[derive(Debug)]
pub struct LogqlAnswer {
    /// What was asked for.
    pub value: LogqlValue,
    /// What it took.
    pub stats: LogqlStats,
}

/// Lines or numbers.
#[derive(Debug)]
pub enum LogqlValue {
    /// Of a log query.
    Lines(Streams),
    /// Of a metric query.
    Numbers(Value),
}

/// What a question took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogqlStats {
    /// Lines that were looked into.
    pub lines_scanned: usize,
    /// Lines that passed the tests of the store.
    pub lines_matched: usize,
    /// About how many bytes the records have that were looked into, unpacked.
    pub bytes_scanned: u64,
    /// Runs of rows that were read.
    pub granules_read: usize,
    /// Runs of rows that were passed over unread.
    pub granules_pruned: usize,
    /// How often a block was left out of the answer because it is damaged.
    pub blocks_damaged: usize,
}

impl LogqlStats {
    pub(super) fn of(done: &ScanStats, bytes_scanned: u64) -> Self {
        Self {
            lines_scanned: done.rows_scanned,
            lines_matched: done.rows_matched,
            bytes_scanned,
            granules_read: done.granules_read,
            granules_pruned: done.granules_pruned,
            blocks_damaged: done.blocks_skipped_damaged,
        }
    }
}

/// How much there is of some streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// Streams.
    pub streams: usize,
    /// Blocks and batches in memory that have some of them.
    pub chunks: usize,
    /// Bytes of their lines.
    pub bytes: u64,
    /// Lines.
    pub entries: u64,
}

/// Bytes of lines by some labels, at some time.
#[derive(Debug, Clone, PartialEq)]
pub struct Volume {
    /// The labels.
    pub labels: Labels,
    /// Bytes by step; one without steps.
    pub bytes: Vec<u64>,
}
