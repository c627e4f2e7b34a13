//! A gate that one thread passes at a time, and that others wait at, not longer
//! than they want to.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::store::lock;

/// The gate.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    is_passed: Mutex<bool>,
    /// Whoever was inside has left.
    left: Condvar,
}

/// Somebody inside; leaves when dropped.
#[derive(Debug)]
pub(crate) struct Inside<'a>(&'a Gate);

impl Gate {
    /// Waits for whoever is inside.
    pub(crate) fn enter(&self) -> Inside<'_> {
        let mut is_passed = lock(&self.is_passed);
        while *is_passed {
            is_passed = self.left.wait(is_passed).unwrap_or_else(PoisonError::into_inner);
        }
        *is_passed = true;
        Inside(self)
    }

    /// As [`Gate::enter`]; `None` if that takes longer than `timeout`.
    pub(crate) fn enter_within(&self, timeout: Duration) -> Option<Inside<'_>> {
        let deadline = Instant::now() + timeout;
        let mut is_passed = lock(&self.is_passed);
        while *is_passed {
            is_passed = self.wait(is_passed, deadline)?;
        }
        *is_passed = true;
        Some(Inside(self))
    }

    /// Waits until `is_met`, which only those inside make true; whether it is.
    pub(crate) fn wait_for(&self, deadline: Instant, is_met: impl Fn() -> bool) -> bool {
        let mut is_passed = lock(&self.is_passed);
        // Asked with the lock held: who makes it true leaves after this.
        while !is_met() {
            match self.wait(is_passed, deadline) {
                Some(guard) => is_passed = guard,
                None => return is_met(),
            }
        }
        true
    }

    fn wait<'a>(
        &self,
        guard: MutexGuard<'a, bool>,
        deadline: Instant,
    ) -> Option<MutexGuard<'a, bool>> {
        let remaining = deadline.saturating_duration_since(Instant::now());
        if remaining.is_zero() {
            return None;
        }
        let waited = self.left.wait_timeout(guard, remaining);
        Some(waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        *lock(&self.0.is_passed) = false;
        self.0.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn one_is_inside_at_a_time_and_the_next_comes_when_he_leaves() {
        let gate = Gate::default();
        let inside = gate.enter();
        assert!(gate.enter_within(Duration::ZERO).is_none());
        std::thread::scope(|scope| {
            let next = scope.spawn(|| gate.enter_within(Duration::from_secs(60)).is_some());
            drop(inside);
            assert!(next.join().unwrap());
        });
        drop(gate.enter());
    }

    #[test]
    fn what_is_done_inside_is_seen_by_those_who_wait_for_it() {
        let gate = Gate::default();
        let is_done = AtomicBool::new(false);
        assert!(!gate.wait_for(Instant::now(), || is_done.load(Ordering::Relaxed)));
        let inside = gate.enter();
        let deadline = Instant::now() + Duration::from_secs(60);
        std::thread::scope(|scope| {
            let waiting =
                scope.spawn(|| gate.wait_for(deadline, || is_done.load(Ordering::Relaxed)));
            is_done.store(true, Ordering::Relaxed);
            drop(inside);
            assert!(waiting.join().unwrap());
        });
    }
}
