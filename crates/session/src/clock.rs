//! Time that does not step back.
//!
//! Moments are nanoseconds since 1970: the system's clock when the session began, and from then on
//! what a steady clock counted. A system's clock that is set back changes nothing; one that is ahead
//! by more than a second (the machine slept, or its clock was wrong) is followed, forwards only.
//! Waits are counted by the steady clock alone.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::limits::LONGEST_WAIT;

/// How far the system's clock may be ahead before it is followed.
const MAX_BEHIND: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Clock {
    began: Instant,
    /// What the system's clock said when `began`, and what it gained since.
    base_nanos: AtomicU64,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), base_nanos: AtomicU64::new(system_nanos()) }
    }

    /// Now, never before an earlier answer of the same thread.
    pub(crate) fn now(&self) -> u64 {
        let elapsed = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.base_nanos.load(Ordering::Relaxed).saturating_add(elapsed)
    }

    /// Follows the system's clock if that is ahead.
    pub(crate) fn follow(&self) {
        self.follow_to(system_nanos());
    }

    fn follow_to(&self, system_nanos: u64) {
        let ahead = system_nanos.saturating_sub(self.now());
        if u128::from(ahead) > MAX_BEHIND.as_nanos() {
            self.base_nanos.fetch_add(ahead, Ordering::Relaxed);
        }
    }
}

fn system_nanos() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Until when somebody waits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    pub(crate) fn after(timeout: Duration) -> Self {
        Self(Instant::now() + timeout.min(LONGEST_WAIT))
    }

    /// How long that still is; nothing when it is over.
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }
}

/// A moment as the SDK has it.
pub(crate) fn system_time(nanos: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_is_not_followed() {
        let clock = Clock::new();
        let before = clock.now();
        clock.follow_to(before - 3_600_000_000_000);
        assert!(clock.now() >= before);
        assert!(clock.now() < before + 1_000_000_000);
    }

    #[test]
    fn a_clock_that_leaps_forward_is_followed() {
        let clock = Clock::new();
        let before = clock.now();
        clock.follow_to(before + 3_600_000_000_000);
        assert!(clock.now() >= before + 3_600_000_000_000);
    }
}
