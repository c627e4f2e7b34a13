//! What senders sent and targets told since the start, over all tenants: for the page, which shows
//! it each second.

use std::sync::atomic::{AtomicU64, Ordering};

use kymo_admit::Signal;
use tokio::sync::Notify;

/// Counts that go on.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    /// Traces, metrics, logs.
    records: [AtomicU64; 3],
    refused: AtomicU64,
    /// Told when the first of a signal is there.
    arrived: Notify,
}

/// What was counted until some moment. What the server tells of its machine and of itself is left
/// out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Spans, points and log records.
    pub(crate) records: [u64; 3],
    /// Requests that were refused as a whole, and records of others.
    pub(crate) refused: u64,
}

impl Counting {
    pub(super) fn received(&self, signal: Signal, records: u64) {
        let nth = match signal {
            Signal::Traces => 0,
            Signal::Metrics => 1,
            Signal::Logs => 2,
        };
        let before = self.records[nth].fetch_add(records, Ordering::Relaxed);
        if before == 0 && records > 0 {
            self.arrived.notify_one();
        }
    }

    pub(super) fn refused(&self, count: u64) {
        self.refused.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns when something was received. For one who waits, and no more.
    pub(crate) async fn first(&self) {
        while !self.read().any() {
            self.arrived.notified().await;
        }
    }

    /// How it stands.
    pub(crate) fn read(&self) -> Totals {
        Totals {
            records: [0, 1, 2].map(|nth| self.records[nth].load(Ordering::Relaxed)),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}

impl Totals {
    /// Whether anything was received.
    pub(crate) fn any(&self) -> bool {
        self.records.iter().any(|records| *records > 0)
    }
}
