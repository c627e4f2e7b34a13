//! Small sums: medians, rates, changes.

use kymo_report::analysis::quantile;
use serde::Serialize;

/// The value below which a part of all lies; none of nothing.
pub(super) fn quantile_of(mut values: Vec<f64>, part: f64) -> Option<f64> {
    values.retain(|value| value.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    (!values.is_empty()).then(|| quantile(&values, part))
}

/// The value in the middle.
pub(super) fn median(values: Vec<f64>) -> Option<f64> {
    quantile_of(values, 0.5)
}

/// How much more a value is than another, as a part of that.
pub(super) fn change(now: Option<f64>, before: Option<f64>) -> Option<f64> {
    let (now, before) = (now?, before?);
    (before > 0.0).then(|| now / before - 1.0)
}

/// A part of a whole; none of nothing.
pub(super) fn share(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// The first so many of a list, and how many it has.
pub(super) fn cut<T>(mut all: Vec<T>, most: usize) -> (Vec<T>, usize) {
    let total = all.len();
    all.truncate(most);
    (all, total)
}

/// Seconds of nanoseconds.
pub(super) fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

/// What became of compilations that were looked up in caches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(super) struct Cached {
    pub(super) hits: f64,
    pub(super) misses: f64,
    pub(super) errors: f64,
}

impl Cached {
    pub(super) fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.misses += other.misses;
        self.errors += other.errors;
    }

    /// Hits, of hits and misses.
    pub(super) fn rate(self) -> Option<f64> {
        share(self.hits, self.hits + self.misses)
    }
}

impl std::iter::Sum for Cached {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum.add(one);
            sum
        })
    }
}

/// Whether a run or a job failed, in GitHub's word for how it ended.
pub(super) fn is_failure(conclusion: &str) -> bool {
    matches!(conclusion, "failure" | "timed_out" | "startup_failure")
}

/// Whether it tells something of how long things take, and of how often they fail: what was called
/// off or skipped does not.
pub(super) fn is_telling(conclusion: &str) -> bool {
    conclusion == "success" || is_failure(conclusion)
}

/// A text that is not too long.
pub(super) fn shortened(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_has_no_figures() {
        assert_eq!((median(vec![]), share(1.0, 0.0)), (None, None));
        assert_eq!((change(Some(1.0), Some(0.0)), Cached::default().rate()), (None, None));
    }

    #[test]
    fn rates_and_changes_are_parts() {
        assert_eq!(median(vec![3.0, 1.0, f64::NAN, 2.0]), Some(2.0));
        assert_eq!(change(Some(3.0), Some(2.0)), Some(0.5));
        let cached = Cached { hits: 3.0, misses: 1.0, errors: 5.0 };
        assert_eq!([cached, cached].into_iter().sum::<Cached>().rate(), Some(0.75));
        assert_eq!(shortened("aé".into(), 2), "a…");
    }
}
