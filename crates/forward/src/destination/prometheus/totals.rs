//! Deltas added up: Prometheus' counters only know totals.
//!
//! Kept in memory, so a restart begins at zero, as a counter does whose program was restarted.

use std::collections::HashMap;

use xxhash_rust::xxh3::Xxh3;

use super::labels::Labels;
use crate::limits::MAX_ACCUMULATED_SERIES;

/// Totals by series.
#[derive(Debug, Default)]
pub(super) struct Totals {
    by_series: HashMap<u128, Total>,
    /// Grows with each addition: who was not added to for longest has the smallest.
    clock: u64,
}

#[derive(Debug)]
struct Total {
    value: f64,
    used: u64,
}

impl Totals {
    /// Adds to the total of a series, and gives it.
    pub(super) fn add(&mut self, labels: &Labels, delta: f64) -> f64 {
        self.clock += 1;
        let key = hash(labels);
        if self.by_series.len() >= MAX_ACCUMULATED_SERIES && !self.by_series.contains_key(&key) {
            self.forget_older_half();
        }
        let total = self.by_series.entry(key).or_insert(Total { value: 0.0, used: 0 });
        total.value += delta;
        total.used = self.clock;
        total.value
    }

    /// Half at once: so that a full table costs little for each addition.
    fn forget_older_half(&mut self) {
        let mut used: Vec<u64> = self.by_series.values().map(|total| total.used).collect();
        let middle = used.len() / 2;
        let (_, median, _) = used.select_nth_unstable(middle);
        let median = *median;
        self.by_series.retain(|_, total| total.used > median);
    }
}

fn hash(labels: &Labels) -> u128 {
    let mut hash = Xxh3::new();
    for (name, value) in labels {
        for text in [name, value] {
            hash.update(&(text.len() as u64).to_le_bytes());
            hash.update(text.as_bytes());
        }
    }
    hash.digest128()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_add_up_by_series_and_the_table_is_bounded() {
        let mut totals = Totals::default();
        let labels = |n: usize| Labels::from([("a".to_owned(), n.to_string())]);
        assert_eq!(totals.add(&labels(1), 2.0), 2.0);
        assert_eq!(totals.add(&labels(2), 5.0), 5.0);
        assert_eq!(totals.add(&labels(1), 3.0), 5.0);
        for n in 0..MAX_ACCUMULATED_SERIES + 10 {
            totals.add(&labels(n), 1.0);
        }
        assert!(totals.by_series.len() <= MAX_ACCUMULATED_SERIES);
        assert_eq!(totals.add(&labels(MAX_ACCUMULATED_SERIES + 9), 1.0), 2.0, "the newest stay");
    }
}
