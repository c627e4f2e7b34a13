//! How many series a tenant may have: those that got points within [`SERIES_COUNT_FOR`].
//!
//! A series is known by a hash of what makes it: resource, scope, name, and labels as they were sent.
//! Two sets are kept of each tenant, of this period and of the one before; together they hold at most
//! as many as the limit allows, so that memory is bounded by it. Points of known series are always
//! kept; those of further ones are refused, and their sender is told.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use kymo_condition::Record;
use xxhash_rust::xxh3::Xxh3;

use crate::limits::{MAX_RATED_TENANTS, SERIES_COUNT_FOR};

/// Series of all tenants that have a limit. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct ActiveSeries(Arc<Mutex<Tenants>>);

/// Each tenant has a lock of its own: a large request of one holds up no other.
type Tenants = HashMap<String, Arc<Mutex<Known>>>;

/// What was seen is no setting: two that are configured alike are equal.
impl PartialEq for ActiveSeries {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for ActiveSeries {}

/// The series of a tenant.
#[derive(Debug)]
struct Known {
    began: Instant,
    current: HashSet<u64>,
    previous: HashSet<u64>,
}

impl Known {
    fn new(now: Instant) -> Self {
        Self { began: now, current: HashSet::new(), previous: HashSet::new() }
    }

    /// Begins another period if this one is over.
    fn turn(&mut self, now: Instant) {
        let periods = now.saturating_duration_since(self.began).as_secs_f64()
            / SERIES_COUNT_FOR.as_secs_f64();
        if periods >= 1.0 {
            let current = std::mem::take(&mut self.current);
            self.previous = if periods < 2.0 { current } else { HashSet::new() };
            self.began = now;
        }
    }

    /// Whether a series is known, or may be from now on.
    fn admits(&mut self, series: u64, most: u64) -> bool {
        if self.current.contains(&series) {
            return true;
        }
        let was_known = self.previous.remove(&series);
        let has_room = ((self.current.len() + self.previous.len()) as u64) < most;
        if was_known || has_room {
            self.current.insert(series);
        }
        was_known || has_room
    }
}

impl ActiveSeries {
    /// Decides on points of a tenant: `decide` is given what says of one whether it is kept.
    pub(crate) fn with<R>(
        &self,
        tenant: &str,
        most: u64,
        decide: impl FnOnce(&mut dyn FnMut(&Record<'_>) -> bool) -> R,
    ) -> R {
        let now = Instant::now();
        let Some(known) = self.known(tenant, now) else { return decide(&mut |_| false) };
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        known.turn(now);
        decide(&mut |record| known.admits(hash(record), most))
    }

    /// The series of a tenant. Nothing if there are as many tenants as can be watched: then no series
    /// can be counted, and none is within a limit.
    fn known(&self, tenant: &str, now: Instant) -> Option<Arc<Mutex<Known>>> {
        let mut tenants = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tenants.get(tenant) {
            return Some(known.clone());
        }
        if tenants.len() >= MAX_RATED_TENANTS {
            // Names come from senders: those that were silent for a while are forgotten.
            tenants.retain(|_, known| {
                // One that is in use is not silent.
                known.try_lock().map_or(true, |known| {
                    now.saturating_duration_since(known.began) < SERIES_COUNT_FOR * 2
                })
            });
        }
        if tenants.len() >= MAX_RATED_TENANTS {
            return None;
        }
        let known = Arc::new(Mutex::new(Known::new(now)));
        tenants.insert(tenant.to_owned(), known.clone());
        Some(known)
    }
}

fn hash(record: &Record<'_>) -> u64 {
    let mut hasher = Xxh3::new();
    record.each_part_of_series(&mut |part| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    });
    hasher.digest()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(series: &ActiveSeries, most: u64, names: &[&str]) -> Vec<bool> {
        series.with("t", most, |admits| {
            let of = |name: &&str| {
                let labels = [(&b"__name__"[..], name.as_bytes())];
                admits(&Record::series(&labels))
            };
            names.iter().map(of).collect()
        })
    }

    #[test]
    fn known_series_go_on_and_further_ones_are_refused() {
        let series = ActiveSeries::default();
        assert_eq!(admitted(&series, 2, &["a", "b", "c", "a"]), [true, true, false, true]);
        assert_eq!(admitted(&series, 3, &["c", "d", "b"]), [true, false, true]);
    }

    #[test]
    fn tenants_that_nobody_knows_take_no_memory_for_ever() {
        let series = ActiveSeries::default();
        let labels = [(&b"__name__"[..], &b"up"[..])];
        let is_admitted =
            |tenant: &str| series.with(tenant, 1, |admits| admits(&Record::series(&labels)));
        for nth in 0..MAX_RATED_TENANTS {
            assert!(is_admitted(&nth.to_string()));
        }
        assert!(!is_admitted("one more") && is_admitted("7"));
        assert_eq!(series.0.lock().unwrap().len(), MAX_RATED_TENANTS);
    }

    #[test]
    fn a_series_that_gets_no_more_points_makes_room() {
        let (start, most) = (Instant::now(), 1);
        let mut known = Known::new(start);
        assert!(known.admits(1, most) && !known.admits(2, most));
        known.turn(start + SERIES_COUNT_FOR);
        assert!(!known.admits(2, most) && known.admits(1, most), "it is of the last period");
        known.turn(start + SERIES_COUNT_FOR * 2);
        known.turn(start + SERIES_COUNT_FOR * 3);
        assert!(known.admits(2, most));
    }
}
