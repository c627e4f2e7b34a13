//! How long a query may go on: until its time is up, or until nobody waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::error::EngineError;
use crate::stats::Counters;

/// The time of one query. Whatever may compute for long looks at it now and then.
#[derive(Debug)]
pub(crate) struct Clock {
    begun: Instant,
    limit: Duration,
    /// When the query has to be done, in nanoseconds since it was begun. Time that it waits for
    /// its client is added.
    end_nanos: AtomicU64,
    /// Set when nobody waits for an answer any more.
    gone: Arc<AtomicBool>,
    /// Rows that its scans looked into.
    rows_scanned: AtomicU64,
}

fn nanos(duration: Duration) -> u64 {
    // Far more than anyone waits for, and no sum of a few of them is too large.
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 8)
}

impl Clock {
    /// A clock that starts now.
    pub(crate) fn new(limit: Duration) -> Self {
        let end_nanos = AtomicU64::new(nanos(limit));
        let (gone, rows_scanned) = (Arc::default(), AtomicU64::new(0));
        Self { begun: Instant::now(), limit, end_nanos, gone, rows_scanned }
    }

    /// What is set when nobody waits any more, for the store's scans.
    pub(crate) fn gone(&self) -> &Arc<AtomicBool> {
        &self.gone
    }

    /// Nobody waits any more.
    pub(crate) fn leave(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// Counts rows that a scan looked into.
    pub(crate) fn scanned(&self, rows: usize) {
        self.rows_scanned.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(crate) fn rows_scanned(&self) -> u64 {
        self.rows_scanned.load(Ordering::Relaxed)
    }

    /// How long the query has had its turn.
    pub(crate) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    pub(crate) fn time_left(&self) -> Duration {
        let end = Duration::from_nanos(self.end_nanos.load(Ordering::Relaxed));
        end.saturating_sub(self.begun.elapsed())
    }

    /// Adds time that does not count.
    pub(crate) fn extend(&self, by: Duration) {
        self.end_nanos.fetch_add(nanos(by), Ordering::Relaxed);
    }

    /// Takes back time that was added and not needed.
    pub(crate) fn shorten(&self, by: Duration) {
        self.end_nanos.fetch_sub(nanos(by), Ordering::Relaxed);
    }

    /// The error of a query that took too long.
    pub(crate) fn timeout(&self) -> EngineError {
        EngineError::Timeout { limit: self.limit }
    }

    /// Whether the query may go on, or why not.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        if self.time_left().is_zero() {
            return Err(self.timeout());
        }
        match self.gone.load(Ordering::Relaxed) {
            true => Err(EngineError::Cancelled),
            false => Ok(()),
        }
    }
}

/// Someone who asked and waits for the beginning of an answer. Dropped before that, the query is
/// counted as cancelled, and ends.
#[derive(Debug)]
pub(crate) struct Asker {
    counters: Arc<Counters>,
    clock: Option<Arc<Clock>>,
    is_waiting: bool,
}

impl Asker {
    pub(crate) fn new(counters: &Arc<Counters>) -> Self {
        Self { counters: counters.clone(), clock: None, is_waiting: true }
    }

    /// The clock of the query, which has its turn now.
    pub(crate) fn starts(&mut self, limit: Duration) -> Arc<Clock> {
        let clock = Arc::new(Clock::new(limit));
        self.clock = Some(clock.clone());
        clock
    }

    /// There is an answer, or an error.
    pub(crate) fn answered<T>(mut self, answer: &Result<T, EngineError>) {
        self.is_waiting = false;
        if let Err(error) = answer {
            self.counters.failed(error);
            self.leave();
        }
    }

    fn leave(&self) {
        if let Some(clock) = &self.clock {
            clock.leave();
        }
    }
}

impl Drop for Asker {
    fn drop(&mut self) {
        if self.is_waiting {
            self.counters.failed(&EngineError::Cancelled);
            self.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_ends_at_its_limit_without_what_does_not_count_or_when_all_left() {
        let clock = Clock::new(Duration::from_secs(60));
        clock.extend(Duration::from_secs(100));
        assert!(clock.time_left() > Duration::from_secs(150) && clock.check().is_ok());
        clock.shorten(Duration::from_secs(160));
        assert!(matches!(clock.check(), Err(EngineError::Timeout { .. })));
        clock.extend(Duration::MAX);
        assert!(clock.check().is_ok());
        clock.leave();
        assert!(matches!(clock.check(), Err(EngineError::Cancelled)));
        assert!(Clock::new(Duration::MAX).time_left() > Duration::from_secs(1 << 20));
    }
}
