//! What a server tells of its store: counts of what happened, and how things
//! stand now.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::schema::Signal;
use crate::store::{Store, lock};

/// A count for each signal of each tenant.
#[derive(Debug, Default)]
pub struct ByTenant([Mutex<BTreeMap<String, u64>>; Signal::ALL.len()]);

impl ByTenant {
    /// The count of a signal, of all tenants.
    pub fn of(&self, signal: Signal) -> u64 {
        lock(&self.0[signal as usize]).values().sum()
    }

    /// The count of all signals and tenants.
    pub fn total(&self) -> u64 {
        Signal::ALL.into_iter().map(|signal| self.of(signal)).sum()
    }

    /// The counts of a signal, with the tenants' names.
    pub fn tenants(&self, signal: Signal) -> Vec<(String, u64)> {
        let counts = lock(&self.0[signal as usize]);
        counts.iter().map(|(tenant, count)| (tenant.clone(), *count)).collect()
    }

    pub(crate) fn add(&self, signal: Signal, tenant: &str, amount: u64) {
        let mut counts = lock(&self.0[signal as usize]);
        match counts.get_mut(tenant) {
            Some(count) => *count += amount,
            None => drop(counts.insert(tenant.to_owned(), amount)),
        }
    }
}

/// Counts of what happened since the store was opened.
#[derive(Debug, Default)]
pub struct Counters {
    /// Records (spans, log records, points) applied to heads.
    pub records_applied: ByTenant,
    /// Requests that could not be decoded and were left out.
    pub requests_undecodable: ByTenant,
    /// Flushes committed.
    pub flushes: ByTenant,
    /// Rows of the blocks they wrote.
    pub flushed_rows: ByTenant,
    /// Bytes of the blocks they wrote.
    pub flushed_bytes: ByTenant,
    /// Flushes that failed; what they held stays in memory and is flushed later.
    pub flushes_failed: AtomicU64,
    /// Compactions committed.
    pub compactions: ByTenant,
    /// Blocks that compaction joined.
    pub blocks_joined: ByTenant,
    /// Blocks that compaction wrote.
    pub blocks_compacted: ByTenant,
    /// Rows that compaction dropped as exact duplicates.
    pub duplicates_dropped: ByTenant,
    /// Blocks removed because they are beyond retention.
    pub blocks_expired: ByTenant,
    /// Their rows.
    pub rows_expired: ByTenant,
    /// Deletions that were asked for.
    pub deletions_requested: AtomicU64,
    /// Records that deletions have hidden.
    pub rows_hidden: ByTenant,
    /// Rows that were left out of blocks because they are deleted.
    pub rows_erased: ByTenant,
    /// Files that were deleted because nobody needs them.
    pub files_deleted: AtomicU64,
    /// Blocks that could not be read and were left out of an answer.
    pub blocks_damaged: AtomicU64,
}

impl Counters {
    pub(crate) fn add(counter: &AtomicU64, amount: u64) {
        counter.fetch_add(amount, Ordering::Relaxed);
    }
}

/// How a signal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignalStatus {
    /// The signal.
    pub signal: Signal,
    /// Rows in memory (points, for series), also those that a flush is writing.
    pub head_rows: usize,
    /// Bytes that they take, nearly.
    pub head_bytes: usize,
    /// When the oldest of them came.
    pub since_nanos: Option<i64>,
    /// Blocks that are visible, of the tenants whose logs were read since the store
    /// was opened.
    pub blocks: usize,
    /// Their bytes.
    pub block_bytes: u64,
}

/// How a store stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Each signal.
    pub signals: [SignalStatus; Signal::ALL.len()],
    /// Bytes of the journal that are not in blocks.
    pub lag_bytes: u64,
    /// Bytes of the journal that are not even in heads.
    pub unapplied_bytes: u64,
    /// When a flush was last committed, also before this start.
    pub flushed_nanos: Option<i64>,
}

impl Status {
    /// Whether everything that was acknowledged is in blocks.
    pub fn is_flushed(&self) -> bool {
        self.lag_bytes == 0
    }
}

impl Store {
    /// Counts since the store was opened.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// How things stand, from memory alone.
    pub fn status(&self) -> Status {
        let end = self.journal.end();
        let (node, logs, applied, held) = {
            let state = lock(&self.state);
            let held = Signal::ALL.map(|signal| state.heads.held(signal));
            (state.node.clone(), state.logs.clone(), state.applied, held)
        };
        let signals = Signal::ALL.map(|signal| {
            let held = held[signal as usize];
            let mut status = SignalStatus {
                signal,
                head_rows: held.total().rows,
                head_bytes: held.total().bytes,
                since_nanos: held.frozen_since_nanos.or(held.open_since_nanos),
                blocks: 0,
                block_bytes: 0,
            };
            let mut add = |size_bytes| {
                status.blocks += 1;
                status.block_bytes += size_bytes;
            };
            let logs = || logs.iter().filter(|((_, of), _)| *of == signal);
            logs().for_each(|(_, (_, log))| log.blocks.values().for_each(|b| add(b.size_bytes)));
            for fresh in node.blocks_of(signal) {
                let mut logs = logs().filter(|((tenant, _), _)| *tenant == fresh.tenant);
                let absorbed = logs.next().map_or(0, |(_, (_, log))| log.absorbed_of(&node.node));
                if fresh.block.sequence > absorbed {
                    add(fresh.block.size_bytes);
                }
            }
            status
        });
        Status {
            signals,
            lag_bytes: end.saturating_sub(node.position()),
            unapplied_bytes: end.saturating_sub(applied),
            flushed_nanos: (node.written_nanos > 0).then_some(node.written_nanos),
        }
    }
}
