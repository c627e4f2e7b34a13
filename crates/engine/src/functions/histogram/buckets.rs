//! Buckets and what can be said of their quantiles.

/// A histogram: one count more than there are bounds, for what is beyond the last.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Buckets {
    pub(super) bounds: Vec<f64>,
    /// Of each bucket alone.
    pub(super) counts: Vec<f64>,
}

impl Buckets {
    /// Of what was sent; `None` if it is no histogram: bounds that do not ascend, counts that are
    /// not one more, or less than nothing.
    pub(super) fn new(bounds: Vec<f64>, counts: Vec<f64>) -> Option<Self> {
        let ascend =
            bounds.is_sorted_by(|a, b| a < b) && !bounds.iter().any(|bound| bound.is_nan());
        let are_counts = counts.iter().all(|count| *count >= 0.0 && count.is_finite());
        (ascend && are_counts && counts.len() == bounds.len() + 1)
            .then_some(Self { bounds, counts })
    }

    /// Of rows of Prometheus: each has how many were at most `le`. `None` without the one of all.
    pub(super) fn of_cumulative(mut rows: Vec<(f64, f64)>) -> Option<Self> {
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let is_whole = rows.last().is_some_and(|(le, _)| *le == f64::INFINITY);
        let mut below = 0.0f64;
        let mut counts = Vec::with_capacity(rows.len());
        for (_, value) in &rows {
            // Samples of one moment may be of different scrapes: then less than before is more.
            let up_to = below.max(*value);
            counts.push(up_to - below);
            below = up_to;
        }
        rows.pop();
        let bounds = rows.into_iter().map(|(le, _)| le).collect();
        Self::new(bounds, counts).filter(|_| is_whole)
    }

    /// The quantile; `None` if nothing was counted, or nothing that has a bound.
    pub(super) fn quantile(&self, quantile: f64) -> Option<f64> {
        let total: f64 = self.counts.iter().sum();
        let rank = quantile * total;
        let mut below = 0.0;
        let holds = |count: &f64| {
            let is_here = *count > 0.0 && below + count >= rank;
            below += if is_here { 0.0 } else { *count };
            is_here
        };
        let found = self.counts.iter().position(holds);
        // Sums of fractions may fall short of the rank by the last bit.
        let bucket = found.or_else(|| self.counts.iter().rposition(|count| *count > 0.0))?;
        let Some(high) = self.bounds.get(bucket) else { return self.bounds.last().copied() };
        let low = match bucket.checked_sub(1) {
            Some(before) => self.bounds[before],
            // What the first bucket holds is not less than zero, if it can be more.
            None if *high > 0.0 => 0.0,
            None => return Some(*high),
        };
        if low == f64::NEG_INFINITY {
            return Some(*high);
        }
        let share = ((rank - below) / self.counts[bucket]).clamp(0.0, 1.0);
        Some(low + (high - low) * share)
    }

    /// Adds another. What both have in common of their bounds stays: counts between those are
    /// exact.
    pub(super) fn add(&mut self, other: &Self) {
        if self.counts.is_empty() {
            *self = other.clone();
            return;
        }
        if self.bounds != other.bounds {
            let is_common =
                |bound: &f64| other.bounds.binary_search_by(|known| known.total_cmp(bound)).is_ok();
            let common: Vec<f64> = self.bounds.iter().copied().filter(is_common).collect();
            *self = self.coarser(&common);
            self.add_counts(&other.coarser(&common));
            return;
        }
        self.add_counts(other);
    }

    fn add_counts(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    /// The same with some of its bounds.
    fn coarser(&self, bounds: &[f64]) -> Self {
        let mut counts = vec![0.0; bounds.len() + 1];
        for (nth, count) in self.counts.iter().enumerate() {
            // What is at most this bound is in the bucket of the next one that is left.
            let place = match self.bounds.get(nth) {
                Some(bound) => bounds.partition_point(|left| left < bound),
                None => bounds.len(),
            };
            counts[place] += count;
        }
        Self { bounds: bounds.to_vec(), counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(bounds: &[f64], counts: &[f64]) -> Buckets {
        Buckets::new(bounds.to_vec(), counts.to_vec()).unwrap()
    }

    #[test]
    fn quantiles_lie_within_their_bucket_as_those_of_prometheus_do() {
        let of = buckets(&[1.0, 2.0, 4.0], &[10.0, 10.0, 20.0, 0.0]);
        for (quantile, expected) in
            [(0.0, 0.0), (0.125, 0.5), (0.25, 1.0), (0.5, 2.0), (0.75, 3.0), (1.0, 4.0)]
        {
            assert_eq!(of.quantile(quantile), Some(expected), "{quantile}");
        }
        // Beyond the last bound nothing is known but that bound.
        assert_eq!(buckets(&[1.0], &[0.0, 5.0]).quantile(0.5), Some(1.0));
        // An empty first bucket holds no quantile.
        assert_eq!(buckets(&[1.0, 2.0], &[0.0, 4.0, 0.0]).quantile(0.0), Some(1.0));
        assert_eq!(buckets(&[-1.0, 1.0], &[4.0, 0.0, 0.0]).quantile(0.5), Some(-1.0));
        assert_eq!(buckets(&[], &[5.0]).quantile(0.5), None);
        assert_eq!(buckets(&[1.0], &[0.0, 0.0]).quantile(0.5), None);
    }

    #[test]
    fn what_is_no_histogram_has_no_quantile() {
        let nan = f64::NAN;
        for (bounds, counts) in [
            (vec![2.0, 1.0], vec![1.0, 1.0, 1.0]),
            (vec![1.0, 1.0], vec![1.0, 1.0, 1.0]),
            (vec![nan], vec![1.0, 1.0]),
            (vec![1.0], vec![1.0]),
            (vec![1.0], vec![-1.0, 1.0]),
            (vec![1.0], vec![nan, 1.0]),
            (vec![], vec![]),
        ] {
            assert_eq!(Buckets::new(bounds, counts), None);
        }
        assert_eq!(Buckets::of_cumulative(vec![(1.0, 5.0)]), None);
        assert_eq!(Buckets::of_cumulative(vec![]), None);
    }

    #[test]
    fn buckets_of_prometheus_are_differences_and_never_less_than_nothing() {
        let rows = vec![(f64::INFINITY, 9.0), (1.0, 5.0), (0.5, 6.0)];
        assert_eq!(Buckets::of_cumulative(rows), Some(buckets(&[0.5, 1.0], &[6.0, 0.0, 3.0])));
    }

    #[test]
    fn of_histograms_with_other_bounds_those_in_common_stay() {
        let mut sum = Buckets::default();
        sum.add(&buckets(&[1.0, 2.0, 4.0], &[1.0, 2.0, 3.0, 4.0]));
        sum.add(&buckets(&[2.0, 3.0, 4.0], &[10.0, 20.0, 30.0, 40.0]));
        assert_eq!(sum, buckets(&[2.0, 4.0], &[13.0, 53.0, 44.0]));
        sum.add(&buckets(&[7.0], &[1.0, 1.0]));
        assert_eq!(sum, buckets(&[], &[112.0]));
    }
}
