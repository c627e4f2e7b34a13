//! Zero buckets of different width brought together.
//!
//! A zero bucket can only grow, and only to a width at which no populated bucket
//! is cut in two. Buckets within the new width are counted in the zero bucket.

use super::{Bucket, Histogram};
use crate::kahan::Sum;

/// The zero bucket a histogram would have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ZeroBucket {
    pub(super) threshold: f64,
    pub(super) count: Sum,
}

impl Histogram {
    /// The zero bucket that results if it grows to `threshold`, which is not less
    /// than now, or further where that would cut a populated bucket. With
    /// `compensation`, what the counts have lost to rounding is counted too.
    pub(super) fn grown_zero_bucket(
        &self,
        threshold: f64,
        compensation: Option<&Self>,
    ) -> ZeroBucket {
        let lost = compensation.map_or(0.0, |lost| lost.zero_count);
        let unchanged = Sum { sum: self.zero_count, compensation: lost };
        let mut grown = ZeroBucket { threshold, count: unchanged };
        if threshold == self.zero_threshold {
            return grown;
        }
        let lost_positive = compensation.map_or(&[][..], |lost| &lost.positive);
        let lost_negative = compensation.map_or(&[][..], |lost| &lost.negative);
        loop {
            grown.count = unchanged;
            grown.swallow(self.positive_buckets(), lost_positive);
            let before = grown.threshold;
            let negative = self.negative_buckets().map(mirrored);
            grown.swallow(negative, lost_negative);
            // If a negative bucket widened it, the positive side is not done.
            if grown.threshold == before || before.is_nan() {
                return grown;
            }
        }
    }

    /// Grows the zero bucket so that it is the same as that of `other` could be,
    /// and returns the count that `other` would have in it.
    pub(super) fn reconcile_zero_bucket(
        &mut self,
        other: &Self,
        mut compensation: Option<&mut Self>,
    ) -> Sum {
        let mut theirs =
            ZeroBucket { threshold: other.zero_threshold, count: Sum::new(other.zero_count) };
        // A threshold that is no number cannot be reached; the counts are added as they are.
        if self.zero_threshold.is_nan() || theirs.threshold.is_nan() {
            return theirs.count;
        }
        while theirs.threshold != self.zero_threshold {
            if self.zero_threshold > theirs.threshold {
                theirs = other.grown_zero_bucket(self.zero_threshold, None);
            }
            if theirs.threshold > self.zero_threshold {
                let own = self.grown_zero_bucket(theirs.threshold, compensation.as_deref());
                self.zero_threshold = own.threshold;
                self.zero_count = own.count.sum;
                if let Some(lost) = compensation.as_deref_mut() {
                    lost.zero_count = own.count.compensation;
                }
                self.drop_buckets_within_zero(compensation.as_deref_mut());
            }
        }
        theirs.count
    }

    /// Removes the buckets that the zero bucket has swallowed.
    fn drop_buckets_within_zero(&mut self, compensation: Option<&mut Self>) {
        let threshold = self.zero_threshold;
        let within = |bucket: &Bucket| bucket.lower < threshold;
        let positive = self.positive_buckets().take_while(within).count();
        let negative = self.negative_buckets().map(mirrored).take_while(within).count();
        let clear = |histogram: &mut Self| {
            histogram.positive.iter_mut().take(positive).for_each(|count| *count = 0.0);
            histogram.negative.iter_mut().take(negative).for_each(|count| *count = 0.0);
        };
        clear(self);
        match compensation {
            Some(lost) => {
                clear(lost);
                self.compact_with(lost);
            }
            None => self.compact(0),
        }
    }
}

impl ZeroBucket {
    /// Takes in the buckets from zero up to the threshold, and raises it if it is
    /// within the last.
    fn swallow(&mut self, buckets: impl Iterator<Item = Bucket>, lost: &[f64]) {
        for (nth, bucket) in buckets.enumerate() {
            if bucket.lower >= self.threshold {
                return;
            }
            self.count.add(bucket.count);
            if let Some(&lost) = lost.get(nth) {
                self.count.add(lost);
            }
            if bucket.upper > self.threshold {
                if bucket.count != 0.0 {
                    self.threshold = bucket.upper;
                }
                return;
            }
        }
    }
}

/// A negative bucket as the positive one at the same distance from zero.
fn mirrored(bucket: Bucket) -> Bucket {
    Bucket { lower: -bucket.upper, upper: -bucket.lower, ..bucket }
}

#[cfg(test)]
mod tests {
    use super::super::BucketSpan;
    use super::super::tests::exponential;
    use super::*;

    /// Positive (0.5,1], (1,2], (2,4] and the same on the negative side but for
    /// the first.
    fn histogram() -> Histogram {
        Histogram {
            zero_threshold: 0.25,
            zero_count: 1.0,
            negative_spans: vec![BucketSpan { offset: 1, length: 2 }],
            negative: vec![10.0, 20.0],
            ..exponential(0, 0, &[2.0, 0.0, 4.0])
        }
    }

    fn grown(threshold: f64) -> (f64, f64) {
        let grown = histogram().grown_zero_bucket(threshold, None);
        (grown.threshold, grown.count.total())
    }

    #[test]
    fn a_zero_bucket_grows_to_a_bound() {
        assert_eq!(grown(0.25), (0.25, 1.0));
        assert_eq!(grown(0.5), (0.5, 1.0));
        assert_eq!(grown(1.0), (1.0, 3.0));
    }

    #[test]
    fn a_populated_bucket_is_never_cut() {
        assert_eq!(grown(0.75), (1.0, 3.0));
        // The positive bucket (1,2] is empty, the negative one is not.
        assert_eq!(grown(1.5), (2.0, 13.0));
        assert_eq!(grown(3.0), (4.0, 37.0));
    }

    #[test]
    fn an_empty_bucket_may_be_cut() {
        let positive_only = Histogram { negative: vec![0.0, 0.0], ..histogram() };
        let grown = positive_only.grown_zero_bucket(1.5, None);
        assert_eq!((grown.threshold, grown.count.total()), (1.5, 3.0));
    }

    #[test]
    fn a_threshold_beyond_all_takes_all() {
        assert_eq!(grown(f64::INFINITY), (f64::INFINITY, 37.0));
    }

    #[test]
    fn thresholds_that_leapfrog_meet() {
        // 1.2 cuts the own bucket (1,2], whose end at 2 cuts the other's (1,4].
        let mut own = Histogram { zero_threshold: 0.0, ..exponential(0, 1, &[3.0]) };
        let other =
            Histogram { zero_threshold: 1.2, zero_count: 7.0, ..exponential(-1, 1, &[5.0]) };
        let theirs = own.reconcile_zero_bucket(&other, None);
        assert_eq!((own.zero_threshold, own.zero_count), (4.0, 3.0));
        assert_eq!(theirs.total(), 12.0);
        assert!(own.positive.is_empty());
    }

    #[test]
    fn a_threshold_that_is_no_number_ends() {
        let mut own = Histogram { zero_threshold: f64::NAN, ..histogram() };
        assert_eq!(own.reconcile_zero_bucket(&histogram(), None).total(), 1.0);
        let mut own = histogram();
        let other = Histogram { zero_threshold: f64::NAN, ..histogram() };
        assert_eq!(own.reconcile_zero_bucket(&other, None).total(), 1.0);
    }
}
