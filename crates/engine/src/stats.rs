//! Counts of what the engine did, for whoever watches it.

use std::sync::atomic::{AtomicU64, Ordering};

use kymo_store::scan::ScanStats;

use crate::error::EngineError;

/// Kinds of failures; see [`EngineError::kind`].
const KINDS: [&str; 8] =
    ["invalid", "not_allowed", "memory", "rows", "timeout", "busy", "store", "internal"];

/// What the engine did since it was made, and what it does now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// Queries that run.
    pub running: usize,
    /// Queries that wait for their turn.
    pub waiting: usize,
    /// Queries whose answer was complete.
    pub finished: u64,
    /// Queries that failed, by [`EngineError::kind`].
    pub failed: Vec<(&'static str, u64)>,
    /// Queries whose asker went away.
    pub cancelled: u64,
    /// Queries that were planned again because a block had been replaced.
    pub planned_again: u64,
    /// Scans that run, counted by thread.
    pub scans_running: u64,
    /// Rows that scans looked into.
    pub rows_scanned: u64,
    /// Rows that scans handed out.
    pub rows_matched: u64,
    /// Blocks that scans passed over because of their time.
    pub blocks_pruned: u64,
    /// Blocks that were left out of answers because they are damaged.
    pub blocks_damaged: u64,
    /// Rows of all answers.
    pub rows_answered: u64,
    /// Bytes that queries hold now.
    pub memory_bytes: usize,
}

/// The counters behind [`EngineStats`].
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) finished: AtomicU64,
    failed: [AtomicU64; KINDS.len()],
    pub(crate) cancelled: AtomicU64,
    pub(crate) planned_again: AtomicU64,
    pub(crate) scans_running: AtomicU64,
    rows_scanned: AtomicU64,
    rows_matched: AtomicU64,
    blocks_pruned: AtomicU64,
    blocks_damaged: AtomicU64,
    pub(crate) rows_answered: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }

    /// Counts a query that ended with an error.
    pub(crate) fn failed(&self, error: &EngineError) {
        match KINDS.iter().position(|kind| *kind == error.kind()) {
            Some(kind) => Self::add(&self.failed[kind], 1),
            None => Self::add(&self.cancelled, 1),
        }
    }

    /// Counts what a scan did since it was last counted.
    pub(crate) fn scanned(&self, counted: &ScanStats, stats: &ScanStats) {
        let add = |counter, before: usize, now: usize| {
            Self::add(counter, now.saturating_sub(before) as u64);
        };
        add(&self.rows_scanned, counted.rows_scanned, stats.rows_scanned);
        add(&self.rows_matched, counted.rows_matched, stats.rows_matched);
        add(&self.blocks_pruned, counted.blocks_pruned, stats.blocks_pruned);
        let damaged = (counted.blocks_skipped_damaged, stats.blocks_skipped_damaged);
        add(&self.blocks_damaged, damaged.0, damaged.1);
    }

    /// What was counted so far.
    pub(crate) fn read(&self) -> EngineStats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        EngineStats {
            finished: get(&self.finished),
            failed: KINDS.into_iter().zip(self.failed.iter().map(get)).collect(),
            cancelled: get(&self.cancelled),
            planned_again: get(&self.planned_again),
            scans_running: get(&self.scans_running),
            rows_scanned: get(&self.rows_scanned),
            rows_matched: get(&self.rows_matched),
            blocks_pruned: get(&self.blocks_pruned),
            blocks_damaged: get(&self.blocks_damaged),
            rows_answered: get(&self.rows_answered),
            ..EngineStats::default()
        }
    }
}

/// Counts a scan's thread as running while it lives.
#[derive(Debug)]
pub(crate) struct Running(std::sync::Arc<Counters>);

impl Running {
    pub(crate) fn new(counters: &std::sync::Arc<Counters>) -> Self {
        Counters::add(&counters.scans_running, 1);
        Self(counters.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.scans_running.fetch_sub(1, Ordering::Relaxed);
    }
}
