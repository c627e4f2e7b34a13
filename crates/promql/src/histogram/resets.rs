//! Whether a counter started anew between two histograms.

use super::arithmetic::Operand;
use super::resolution::coarse_index;
use super::spans::Side;
use super::{Histogram, ResetHint, custom};
use crate::kahan::Sum;

impl Histogram {
    /// Whether the counter was reset after `previous`: if any count of
    /// observations is lower than before, or a populated bucket is gone. The sum
    /// does not count, since negative observations lower it.
    ///
    /// A hint that says so decides. A finer schema or a narrower zero bucket come
    /// with resets only; a coarser schema or a wider zero bucket need not, and the
    /// buckets of `previous` are joined to compare them.
    pub fn detect_reset(&self, previous: &Self) -> bool {
        match self.hint {
            ResetHint::Reset => return true,
            ResetHint::NotReset => return false,
            // Counters' functions treat gauges as counters and warn.
            ResetHint::Unknown | ResetHint::Gauge => {}
        }
        if self.count < previous.count {
            return true;
        }
        if self.uses_custom_buckets() != previous.uses_custom_buckets() {
            return true;
        }
        if self.uses_custom_buckets() && !self.has_bounds_of(previous) {
            return self.fell_at_common_bounds(previous);
        }
        if self.schema > previous.schema || self.zero_threshold < previous.zero_threshold {
            return true;
        }
        let zero = previous.grown_zero_bucket(self.zero_threshold, None);
        // If not reached, the threshold is within a populated bucket of before.
        if zero.threshold != self.zero_threshold || self.zero_count < zero.count.sum {
            return true;
        }
        self.fell(self.positive_side(), previous.positive_side(), previous.schema)
            || self.fell(self.negative_side(), previous.negative_side(), previous.schema)
    }

    /// Whether a bucket has a lower count than before.
    fn fell(&self, now: Side<'_>, before: Side<'_>, before_schema: i32) -> bool {
        // What lay within the zero bucket has been compared there.
        let before = match self.uses_custom_buckets() {
            true => Operand::all(before),
            false => Operand::outside(before, before_schema, self.zero_threshold),
        };
        // Mostly a series keeps its buckets.
        if before.fits(now.spans, now.counts.len()) && self.schema == before_schema {
            return now.counts.iter().zip(before.side.counts).any(|(now, was)| now < was);
        }
        let mut current = now.cells().peekable();
        let mut previous = before
            .cells()
            .map(|(index, count)| (coarse_index(index, before_schema, self.schema), count))
            .peekable();
        while let Some((index, mut was)) = previous.next() {
            while let Some((_, more)) = previous.next_if(|&(next, _)| next == index) {
                was += more;
            }
            while current.next_if(|&(candidate, _)| candidate < index).is_some() {}
            let fell = match current.peek() {
                Some(&(candidate, now)) if candidate == index => now < was,
                _ => was != 0.0,
            };
            if fell {
                return true;
            }
        }
        false
    }

    /// Whether a count is lower than before between bounds that both have.
    fn fell_at_common_bounds(&self, previous: &Self) -> bool {
        let bounds = custom::common_bounds(&self.custom_bounds, &previous.custom_bounds);
        let sums = |histogram| {
            let mut sums = vec![Sum::default(); bounds.len() + 1];
            custom::add_rebucketed(histogram, 1.0, &[], &bounds, &mut sums);
            sums
        };
        let fell = |(now, was): (Sum, Sum)| now.sum < was.sum;
        sums(self).into_iter().zip(sums(previous)).any(fell)
    }
}

#[cfg(test)]
mod tests {
    use super::super::BucketSpan;
    use super::super::tests::{custom, exponential};
    use super::*;

    fn zero(threshold: f64, count: f64, rest: Histogram) -> Histogram {
        Histogram {
            zero_threshold: threshold,
            zero_count: count,
            count: rest.count + count,
            ..rest
        }
    }

    #[test]
    fn growing_counts_are_no_reset() {
        let before = exponential(0, 0, &[1.0, 2.0]);
        assert!(!before.detect_reset(&before));
        assert!(!exponential(0, 0, &[1.0, 5.0]).detect_reset(&before));
        assert!(!exponential(0, -1, &[1.0, 1.0, 2.0, 3.0]).detect_reset(&before));
    }

    #[test]
    fn a_lower_count_anywhere_is_a_reset() {
        let before = zero(0.5, 3.0, exponential(0, 0, &[1.0, 2.0]));
        assert!(zero(0.5, 3.0, exponential(0, 0, &[1.0, 1.0])).detect_reset(&before));
        assert!(zero(0.5, 3.0, exponential(0, 0, &[0.0, 9.0])).detect_reset(&before));
        assert!(zero(0.5, 2.0, exponential(0, 0, &[5.0, 9.0])).detect_reset(&before));
        let mut negative = before.clone();
        negative.negative_spans = vec![BucketSpan { offset: 3, length: 1 }];
        negative.negative = vec![1.0];
        let without = Histogram { count: 10.0, ..before.clone() };
        assert!(without.detect_reset(&negative));
        assert!(!negative.detect_reset(&before));
    }

    #[test]
    fn a_missing_bucket_is_a_reset_only_if_it_was_populated() {
        let now = exponential(0, 0, &[9.0]);
        assert!(now.detect_reset(&exponential(0, 0, &[1.0, 1.0])));
        assert!(now.detect_reset(&exponential(0, -1, &[1.0])));
        assert!(!now.detect_reset(&exponential(0, -1, &[0.0, 1.0, 0.0, 0.0])));
        assert!(!exponential(0, 0, &[]).detect_reset(&exponential(0, 4, &[0.0])));
    }

    #[test]
    fn hints_decide() {
        let before = exponential(0, 0, &[5.0]);
        let fewer = exponential(0, 0, &[1.0]);
        let hinted = |hint| Histogram { hint, ..fewer.clone() };
        assert!(!hinted(ResetHint::NotReset).detect_reset(&before));
        assert!(hinted(ResetHint::Gauge).detect_reset(&before));
        assert!(Histogram { hint: ResetHint::Reset, ..before.clone() }.detect_reset(&before));
    }

    #[test]
    fn a_finer_schema_is_a_reset_and_a_coarser_is_not() {
        let fine = exponential(1, 1, &[1.0, 2.0, 3.0]);
        let coarse = exponential(0, 1, &[3.0, 4.0]);
        assert!(!coarse.detect_reset(&fine));
        assert!(exponential(1, 1, &[9.0, 9.0, 9.0]).detect_reset(&coarse));
        assert!(exponential(0, 1, &[2.0, 9.0]).detect_reset(&fine));
    }

    #[test]
    fn a_zero_bucket_may_only_grow_between_buckets() {
        let before = zero(0.25, 1.0, exponential(0, 0, &[2.0, 3.0]));
        assert!(!zero(1.0, 3.0, exponential(0, 1, &[3.0])).detect_reset(&before));
        assert!(zero(1.0, 2.0, exponential(0, 1, &[9.0])).detect_reset(&before));
        assert!(zero(0.75, 9.0, exponential(0, 0, &[2.0, 3.0])).detect_reset(&before));
        assert!(zero(0.1, 9.0, exponential(0, 0, &[2.0, 3.0])).detect_reset(&before));
    }

    #[test]
    fn what_went_into_the_zero_bucket_is_not_missed_in_a_coarse_one() {
        let fine = exponential(0, 1, &[5.0, 0.0]);
        assert!(!zero(3.0, 5.0, exponential(-1, 2, &[1.0])).detect_reset(&fine));
        assert!(zero(3.0, 4.0, exponential(-1, 2, &[9.0])).detect_reset(&fine));
    }

    #[test]
    fn custom_buckets_are_compared_at_common_bounds() {
        let before = custom(&[1.0, 2.0, 5.0], &[1.0, 2.0, 3.0]);
        assert!(!custom(&[2.0, 5.0], &[3.0, 3.0]).detect_reset(&before));
        assert!(custom(&[2.0, 5.0], &[2.0, 9.0]).detect_reset(&before));
        assert!(!custom(&[1.0, 2.0, 5.0], &[1.0, 2.0, 4.0]).detect_reset(&before));
        assert!(custom(&[1.0, 2.0, 5.0], &[1.0, 1.0, 9.0]).detect_reset(&before));
        assert!(custom(&[1.0], &[99.0]).detect_reset(&exponential(0, 0, &[1.0])));
        assert!(exponential(0, 0, &[99.0]).detect_reset(&before));
    }
}
