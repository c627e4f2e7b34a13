//! Buckets with their bounds, from both ends.

use super::{Histogram, bounds};

/// A bucket: how many observations are between two values.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Bucket {
    /// The lower bound.
    pub lower: f64,
    /// The upper bound.
    pub upper: f64,
    /// Whether an observation of the lower bound is in it.
    pub lower_inclusive: bool,
    /// Whether an observation of the upper bound is in it.
    pub upper_inclusive: bool,
    /// The observations in it.
    pub count: f64,
    /// Its place within the schema, by distance from zero; 0 for the zero bucket.
    pub index: i32,
}

impl Bucket {
    /// The share of the bucket's observations up to `value`, which lies strictly
    /// between its finite bounds: spread evenly over the values (`linear`), or
    /// over their logarithms as exponential buckets are.
    pub(super) fn fraction_below(&self, value: f64, linear: bool) -> f64 {
        if linear {
            return (value - self.lower) / (self.upper - self.lower);
        }
        let lower = self.lower.abs().log2();
        let upper = self.upper.abs().log2();
        let value_log = value.abs().log2();
        if value > 0.0 {
            (value_log - lower) / (upper - lower)
        } else {
            1.0 - (value_log - upper) / (lower - upper)
        }
    }

    pub(super) fn touches_zero(&self) -> bool {
        self.lower <= 0.0 && self.upper >= 0.0
    }
}

impl Histogram {
    /// The buckets of positive observations, empty ones too, from zero up. Those
    /// of custom bounds are all among them.
    pub fn positive_buckets(&self) -> impl DoubleEndedIterator<Item = Bucket> + '_ {
        self.positive_side().cells().map(|(index, count)| self.positive_bucket(index, count))
    }

    /// The buckets of negative observations, empty ones too, from zero down.
    pub fn negative_buckets(&self) -> impl DoubleEndedIterator<Item = Bucket> + '_ {
        self.negative_side().cells().map(|(index, count)| {
            let lower = -bounds::exponential(index, self.schema);
            let upper = -bounds::exponential(index.wrapping_sub(1), self.schema);
            let (lower_inclusive, upper_inclusive) = (lower < 0.0, upper > 0.0);
            Bucket { lower, upper, lower_inclusive, upper_inclusive, count, index }
        })
    }

    /// All buckets in order of their values: negative ones, the zero bucket if it
    /// has observations, positive ones. Where a bucket and the zero bucket overlap,
    /// the bucket is cut at the zero threshold.
    pub fn buckets(&self) -> impl DoubleEndedIterator<Item = Bucket> + '_ {
        let clear_of_zero = |bucket| self.clear_of_zero(bucket);
        let negative = self.negative_buckets().rev().map(clear_of_zero);
        let positive = self.positive_buckets().map(clear_of_zero);
        let zero =
            (self.zero_count > 0.0 && !self.uses_custom_buckets()).then(|| self.zero_bucket());
        negative.chain(zero).chain(positive)
    }

    /// All buckets as [`Self::buckets`], from the highest to the lowest.
    pub fn buckets_reversed(&self) -> impl DoubleEndedIterator<Item = Bucket> + '_ {
        self.buckets().rev()
    }

    /// The zero bucket, whether or not it has observations.
    pub fn zero_bucket(&self) -> Bucket {
        Bucket {
            lower: -self.zero_threshold,
            upper: self.zero_threshold,
            lower_inclusive: true,
            upper_inclusive: true,
            count: self.zero_count,
            index: 0,
        }
    }

    fn positive_bucket(&self, index: i32, count: f64) -> Bucket {
        let lower = self.bound(index.wrapping_sub(1));
        let upper = self.bound(index);
        let (lower_inclusive, upper_inclusive) = if self.uses_custom_buckets() {
            (index == 0, true)
        } else {
            (lower < 0.0, upper > 0.0)
        };
        Bucket { lower, upper, lower_inclusive, upper_inclusive, count, index }
    }

    fn clear_of_zero(&self, mut bucket: Bucket) -> Bucket {
        if bucket.upper < 0.0 && bucket.upper > -self.zero_threshold {
            bucket.upper = -self.zero_threshold;
        } else if bucket.lower > 0.0 && bucket.lower < self.zero_threshold {
            bucket.lower = self.zero_threshold;
        }
        bucket
    }
}

#[cfg(test)]
mod tests {
    use super::super::BucketSpan;
    use super::super::tests::{custom, exponential};
    use super::*;

    fn both_sides() -> Histogram {
        Histogram {
            zero_threshold: 0.75,
            zero_count: 4.0,
            count: 15.0,
            negative_spans: vec![BucketSpan { offset: 0, length: 2 }],
            negative: vec![2.0, 3.0],
            ..exponential(0, 0, &[1.0, 5.0])
        }
    }

    #[test]
    fn buckets_are_in_order_of_values_and_cut_at_the_zero_bucket() {
        let ranges: Vec<_> = both_sides().buckets().map(|b| (b.lower, b.upper, b.count)).collect();
        let expected = [
            (-2.0, -1.0, 3.0),
            (-1.0, -0.75, 2.0),
            (-0.75, 0.75, 4.0),
            (0.75, 1.0, 1.0),
            (1.0, 2.0, 5.0),
        ];
        assert_eq!(ranges, expected);
        let mut reversed: Vec<_> =
            both_sides().buckets_reversed().map(|b| (b.lower, b.upper, b.count)).collect();
        reversed.reverse();
        assert_eq!(reversed, expected);
    }

    #[test]
    fn each_side_by_itself_is_not_cut() {
        let histogram = both_sides();
        let first = histogram.positive_buckets().next().unwrap();
        assert_eq!((first.lower, first.upper), (0.5, 1.0));
        assert!(!first.lower_inclusive && first.upper_inclusive);
        let first = histogram.negative_buckets().next().unwrap();
        assert_eq!((first.lower, first.upper), (-1.0, -0.5));
        assert!(first.lower_inclusive && !first.upper_inclusive);
    }

    #[test]
    fn an_empty_zero_bucket_is_left_out() {
        let histogram = Histogram { zero_count: 0.0, ..both_sides() };
        assert_eq!(histogram.buckets().count(), 4);
    }

    #[test]
    fn custom_buckets_reach_from_infinity_to_infinity() {
        let histogram = custom(&[1.0, 5.0], &[1.0, 2.0, 3.0]);
        let all: Vec<_> = histogram.buckets().collect();
        let inf = f64::INFINITY;
        assert_eq!((all[0].lower, all[0].upper, all[0].lower_inclusive), (-inf, 1.0, true));
        assert_eq!((all[1].lower, all[1].upper, all[1].lower_inclusive), (1.0, 5.0, false));
        assert_eq!((all[2].lower, all[2].upper, all[2].count), (5.0, inf, 3.0));
    }

    #[test]
    fn shares_of_a_bucket_follow_its_scale() {
        let bucket = Bucket { lower: 1.0, upper: 4.0, ..Bucket::default() };
        assert_eq!(bucket.fraction_below(2.0, false), 0.5);
        assert_eq!(bucket.fraction_below(2.5, true), 0.5);
        let mirrored = Bucket { lower: -4.0, upper: -1.0, ..Bucket::default() };
        assert_eq!(mirrored.fraction_below(-2.0, false), 0.5);
        assert_eq!(mirrored.fraction_below(-2.0_f64.powf(1.5), false), 0.25);
    }
}
