//! Memory that is free goes back to the system when there is nothing to do.
//!
//! The system's allocator keeps what was freed for the next to ask, hundreds of mebibytes after a
//! busy hour. To look for it holds up whoever allocates, so nobody is asked to wait: it is done once
//! after work, when neither records nor queries have come for a while.

use std::time::{Duration, Instant};

/// How long nothing must have happened.
const LEISURE: Duration = Duration::from_secs(5);

/// Tells when to give back.
#[derive(Debug)]
pub(super) struct Leisure {
    /// A number that grows with work.
    work: u64,
    /// Since when it has not grown.
    since: Instant,
    is_given_back: bool,
}

impl Leisure {
    pub(super) fn new(now: Instant) -> Self {
        Self { work: 0, since: now, is_given_back: false }
    }

    /// Whether to give back now; true once after work.
    pub(super) fn is_due(&mut self, work: u64, now: Instant) -> bool {
        if work != self.work {
            *self = Self { work, since: now, is_given_back: false };
        }
        let is_due = !self.is_given_back && now.duration_since(self.since) >= LEISURE;
        self.is_given_back |= is_due;
        is_due
    }
}

/// Gives free memory back to the system, where its allocator does so only when told.
pub(super) fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let began = Instant::now();
        // SAFETY: it takes a number, touches nothing but memory that is free, and may be called by
        // any thread at any time.
        #[allow(unsafe_code, reason = "no safe crate offers malloc_trim")]
        let has_given = unsafe { libc::malloc_trim(0) } == 1;
        tracing::debug!(has_given, took = ?began.elapsed(), "free memory is given back");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_once_after_work() {
        let start = Instant::now();
        let mut leisure = Leisure::new(start);
        let mut is_due = |work, secs| leisure.is_due(work, start + Duration::from_secs(secs));
        assert!(!is_due(0, 4));
        assert!(is_due(0, 5), "what the start needed");
        assert!(!is_due(0, 50));
        assert!(!is_due(1, 60) && !is_due(2, 64) && !is_due(2, 68));
        assert!(is_due(2, 69));
        assert!(!is_due(2, 100));
        give_back();
    }
}
