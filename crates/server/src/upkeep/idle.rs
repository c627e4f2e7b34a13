//! When quiet is quiet enough to flush everything.
//!
//! A store that has become quiet flushes, so that its journal is short and its blocks are final. But
//! senders that export once a minute are quiet most of the time, and a block for each of their
//! exports would be written again and again. So quiet that turned out to be a pause makes the next
//! wait longer, until it is longer than the pauses; much data at once makes it short again.

use std::time::Duration;

/// Flushes of few rows that are made before the wait grows.
const FEW: u32 = 4;
/// Rows that make a flush worth it, however soon more come.
const MANY_ROWS: u64 = 20_000;
/// The longest wait, which is the age at which rows are flushed anyway.
const MAX_WAIT: Duration = Duration::from_secs(600);

/// Decides it.
#[derive(Debug)]
pub(super) struct Idle {
    wait: Duration,
    /// Flushes of few rows in a row.
    small_flushes: u32,
    /// Something was flushed since the blocks were last put in order for good.
    is_unsettled: bool,
}

impl Idle {
    pub(super) fn new(wait: Duration) -> Self {
        // An earlier life may have left something to do.
        Self { wait, small_flushes: 0, is_unsettled: true }
    }

    /// Whether to flush, after so long without a request and with so many rows in memory.
    pub(super) fn is_due(&self, quiet_for: Duration, rows: u64) -> bool {
        rows > 0 && quiet_for >= self.wait_for(rows)
    }

    fn wait_for(&self, rows: u64) -> Duration {
        let doublings = self.small_flushes.saturating_sub(FEW - 1).min(16);
        if rows >= MANY_ROWS {
            self.wait
        } else {
            self.wait.saturating_mul(1 << doublings).min(MAX_WAIT.max(self.wait))
        }
    }

    /// So many rows were flushed because they were many, or old.
    pub(super) fn flushed(&mut self, rows: u64) {
        self.is_unsettled |= rows > 0;
        if rows >= MANY_ROWS {
            self.small_flushes = 0;
        }
    }

    /// So many rows were flushed because it was quiet.
    pub(super) fn flushed_for_quiet(&mut self, rows: u64) {
        self.small_flushes = self.small_flushes.saturating_add(1);
        self.flushed(rows);
    }

    /// Whether it is quiet enough to put blocks in order for good; true once after each flush.
    pub(super) fn take_unsettled(&mut self, quiet_for: Duration) -> bool {
        quiet_for >= self.wait && std::mem::take(&mut self.is_unsettled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_secs(15);

    #[test]
    fn nothing_is_flushed_without_rows_or_quiet() {
        let idle = Idle::new(WAIT);
        assert!(!idle.is_due(WAIT, 0));
        assert!(!idle.is_due(WAIT - Duration::from_millis(1), 5));
        assert!(idle.is_due(WAIT, 5));
    }

    #[test]
    fn a_sender_once_a_minute_is_soon_waited_for() {
        let mut idle = Idle::new(WAIT);
        let pause = Duration::from_secs(60);
        let mut flushes = 0;
        while idle.is_due(pause, 100) {
            idle.flushed_for_quiet(100);
            flushes += 1;
            assert!(flushes < 10);
        }
        assert_eq!(flushes, 6);
        assert!(idle.is_due(WAIT, MANY_ROWS), "much data is flushed at once all the same");
        idle.flushed(MANY_ROWS);
        assert!(idle.is_due(WAIT, 100));
    }

    #[test]
    fn the_wait_is_bounded() {
        let mut idle = Idle::new(WAIT);
        for _ in 0..100 {
            idle.flushed_for_quiet(1);
        }
        assert!(idle.is_due(MAX_WAIT, 1));
    }

    #[test]
    fn blocks_are_settled_once_when_it_is_quiet() {
        let mut idle = Idle::new(WAIT);
        assert!(idle.take_unsettled(WAIT), "what was there at the start");
        idle.flushed(MANY_ROWS);
        assert!(!idle.take_unsettled(WAIT / 2));
        assert!(idle.take_unsettled(WAIT));
        assert!(!idle.take_unsettled(WAIT));
    }
}
