//! A bounded set of which each member is forgotten after a while.
//!
//! When it is full, what has expired goes; if nothing has, a quarter goes, whichever. Who forgets
//! too much only has to find out again.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The set.
#[derive(Debug)]
pub(crate) struct ExpiringSet<K> {
    until: Mutex<HashMap<K, Instant>>,
    kept_for: Duration,
    max_members: usize,
}

impl<K: Eq + Hash> ExpiringSet<K> {
    /// An empty one.
    pub(crate) fn new(kept_for: Duration, max_members: usize) -> Self {
        Self { until: Mutex::new(HashMap::new()), kept_for, max_members }
    }

    /// Whether something is a member now.
    pub(crate) fn contains(&self, member: &K, now: Instant) -> bool {
        self.lock().get(member).is_some_and(|until| *until > now)
    }

    /// Adds a member, or keeps it for longer.
    pub(crate) fn insert(&self, member: K, now: Instant) {
        let mut members = self.lock();
        if members.len() >= self.max_members && !members.contains_key(&member) {
            members.retain(|_, until| *until > now);
            let mut surplus =
                if members.len() < self.max_members { 0 } else { self.max_members / 4 + 1 };
            members.retain(|_, _| {
                let is_kept = surplus == 0;
                surplus = surplus.saturating_sub(1);
                is_kept
            });
        }
        members.insert(member, now + self.kept_for);
    }

    /// Members, those too that have expired and were not looked at since.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// A thread that panicked cannot have left a map half changed that matters here.
    fn lock(&self) -> MutexGuard<'_, HashMap<K, Instant>> {
        self.until.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_forgotten_when_its_time_is_over() {
        let set = ExpiringSet::new(Duration::from_secs(60), 10);
        let now = Instant::now();
        set.insert("a", now);
        assert!(set.contains(&"a", now + Duration::from_secs(59)));
        assert!(!set.contains(&"a", now + Duration::from_secs(60)));
        assert!(!set.contains(&"b", now));
    }

    #[test]
    fn a_full_set_forgets_the_expired_first_and_never_grows() {
        let set = ExpiringSet::new(Duration::from_secs(60), 8);
        let now = Instant::now();
        (0..7).for_each(|member| set.insert(member, now));
        let later = now + Duration::from_secs(61);
        set.insert(100, later);
        set.insert(101, later);
        assert_eq!(set.len(), 2);
        (0..1000).for_each(|member| set.insert(member, later));
        assert!(set.len() <= 8);
        assert!(set.contains(&999, later));
    }
}
