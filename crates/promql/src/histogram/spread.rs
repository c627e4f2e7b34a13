//! How far observations are from their mean.

use super::Histogram;
use crate::kahan::Sum;

impl Histogram {
    /// The mean of all observations; NaN without any.
    pub fn mean(&self) -> f64 {
        self.sum / self.count
    }

    /// The variance, with all observations of a bucket in its middle: the
    /// arithmetic one of custom buckets, zero in the zero bucket, the geometric one
    /// of exponential buckets.
    pub fn variance(&self) -> f64 {
        let mean = self.mean();
        let mut squares = Sum::default();
        for bucket in self.buckets().filter(|bucket| bucket.count != 0.0) {
            let middle = if self.uses_custom_buckets() {
                (bucket.upper + bucket.lower) / 2.0
            } else if bucket.touches_zero() {
                0.0
            } else {
                (bucket.upper * bucket.lower).sqrt().copysign(bucket.upper)
            };
            let distance = middle - mean;
            squares.add(bucket.count * distance * distance);
        }
        squares.total() / self.count
    }

    /// The standard deviation, as [`Self::variance`].
    pub fn standard_deviation(&self) -> f64 {
        self.variance().sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::super::BucketSpan;
    use super::super::tests::{custom, exponential};
    use super::*;

    #[test]
    fn observations_are_in_the_middle_of_their_bucket() {
        // Bucket 1 of schema -1 is (1,4], with its geometric middle at 2.
        let histogram = Histogram {
            sum: 8.0,
            zero_threshold: 0.1,
            zero_count: 2.0,
            count: 4.0,
            ..exponential(-1, 1, &[2.0])
        };
        // Middles 2 and 0, mean 2: (2·0 + 2·4) / 4.
        assert_eq!(histogram.variance(), 2.0);
        assert_eq!(histogram.standard_deviation(), 2_f64.sqrt());
        assert_eq!(histogram.mean(), 2.0);
    }

    #[test]
    fn negative_buckets_have_a_negative_middle() {
        let histogram = Histogram {
            schema: -1,
            sum: 0.0,
            count: 2.0,
            negative_spans: vec![BucketSpan { offset: 1, length: 1 }],
            negative: vec![1.0],
            positive_spans: vec![BucketSpan { offset: 1, length: 1 }],
            positive: vec![1.0],
            ..Histogram::default()
        };
        assert_eq!(histogram.variance(), 4.0);
    }

    #[test]
    fn custom_buckets_have_their_middle_between_the_bounds() {
        let histogram = Histogram { sum: 16.0, ..custom(&[0.0, 4.0, 8.0], &[0.0, 2.0, 2.0]) };
        assert_eq!(histogram.variance(), 4.0);
    }

    #[test]
    fn without_observations_there_is_none() {
        assert!(Histogram::default().variance().is_nan());
    }
}
