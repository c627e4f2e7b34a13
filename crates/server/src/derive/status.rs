//! How the worker is: for `/api/span-metrics`, and for the server's metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kymo_journal::Journal;
use kymo_spanmetrics::Generator;
use serde::Serialize;

use super::CURSOR;

/// What was counted of a tenant, as of the last write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TenantStatus {
    /// Spans that were counted.
    pub(crate) spans: u64,
    /// Combinations of labels.
    pub(crate) series: usize,
    /// Spans that wait for their other side.
    pub(crate) waiting: usize,
    /// What was counted without labels.
    pub(crate) overflowed: u64,
    /// Spans whose other side did not come.
    pub(crate) unpaired: u64,
    /// Spans that could not wait for it.
    pub(crate) dropped: u64,
}

impl TenantStatus {
    pub(super) fn of(generator: &Generator) -> Self {
        let counts = generator.counts();
        Self {
            spans: counts.spans,
            series: generator.series(),
            waiting: generator.waiting(),
            overflowed: counts.overflowed,
            unpaired: counts.unpaired,
            dropped: counts.dropped,
        }
    }

    /// Adds what was counted by one that has ended.
    pub(super) fn plus(mut self, ended: Self) -> Self {
        self.spans += ended.spans;
        self.overflowed += ended.overflowed;
        self.unpaired += ended.unpaired;
        self.dropped += ended.dropped;
        self
    }
}

/// How the worker is.
pub(crate) struct DeriveStatus {
    journal: Journal,
    tenants: Mutex<BTreeMap<Arc<str>, TenantStatus>>,
    /// Requests that could not be read, or whose tenant was one too many.
    pub(super) left_out: AtomicU64,
    /// Writes that failed and were repeated.
    pub(super) failed_writes: AtomicU64,
}

impl std::fmt::Debug for DeriveStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DeriveStatus")
    }
}

impl DeriveStatus {
    pub(super) fn new(journal: Journal) -> Self {
        Self {
            journal,
            tenants: Mutex::default(),
            left_out: AtomicU64::new(0),
            failed_writes: AtomicU64::new(0),
        }
    }

    pub(super) fn set(&self, tenants: BTreeMap<Arc<str>, TenantStatus>) {
        *self.tenants.lock().unwrap_or_else(PoisonError::into_inner) = tenants;
    }

    /// By tenant.
    pub(crate) fn tenants(&self) -> BTreeMap<Arc<str>, TenantStatus> {
        self.tenants.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Requests whose spans are in no metric: not readable, of too many tenants, or more than it may
    /// lag behind.
    pub(crate) fn left_out(&self) -> u64 {
        let lost = self.journal.stats().lost;
        let lost = lost.iter().filter(|(key, _)| key.cursor == CURSOR);
        let lost: u64 = lost.map(|(_, count)| count.records).sum();
        lost + self.left_out.load(Ordering::Relaxed)
    }

    /// Writes that failed.
    pub(crate) fn failed_writes(&self) -> u64 {
        self.failed_writes.load(Ordering::Relaxed)
    }

    /// Bytes of the journal of which the metrics are not stored yet.
    pub(crate) fn lag_bytes(&self) -> u64 {
        let cursors = self.journal.cursors();
        let own = cursors.iter().find(|cursor| cursor.name == CURSOR);
        own.map_or(0, |cursor| cursor.lag_bytes)
    }
}
