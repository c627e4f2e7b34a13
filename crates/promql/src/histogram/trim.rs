//! Histograms cut at a value (`</` and `>/`).
//!
//! Of the bucket that holds the value, a share is kept as in a quantile. A bucket
//! without an end on one side has no shares: it goes whole, or stays whole where
//! all that is known of it says so. If anything was cut, the count is that of what
//! is left, and the sum is estimated from the middles of buckets.

use super::{Bucket, Histogram};

/// The part that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    Below,
    Above,
}

/// What is left of a bucket.
#[derive(Debug, Clone, Copy)]
struct Rest {
    count: f64,
    /// The value taken for each observation left.
    middle: f64,
}

impl Rest {
    const NOTHING: Self = Self { count: 0.0, middle: 0.0 };
}

impl Histogram {
    /// The observations up to `bound` (`</`).
    pub fn trim_upper(&self, bound: f64) -> Self {
        self.trimmed(Cut { at: bound, keep: Keep::Below, linear: self.uses_custom_buckets() })
    }

    /// The observations from `bound` on (`>/`).
    pub fn trim_lower(&self, bound: f64) -> Self {
        self.trimmed(Cut { at: bound, keep: Keep::Above, linear: self.uses_custom_buckets() })
    }

    fn trimmed(&self, cut: Cut) -> Self {
        let mut result = self.clone();
        let (mut count, mut sum) = (0.0, 0.0);
        let mut changed = false;
        let mut take = |kept: &mut f64, rest: Rest| {
            count += rest.count;
            sum += rest.middle * rest.count;
            changed |= *kept != rest.count;
            *kept = rest.count;
        };
        let populated = |(_, bucket): &(&mut f64, Bucket)| bucket.count != 0.0;
        let (mut has_positive, mut has_negative) = (false, false);
        let positive = result.positive.iter_mut().zip(self.positive_buckets());
        for (kept, bucket) in positive.filter(populated) {
            take(kept, cut.rest_of(&bucket, 1.0));
            has_positive = true;
        }
        let negative = result.negative.iter_mut().zip(self.negative_buckets());
        for (kept, bucket) in negative.filter(populated) {
            take(kept, cut.rest_of(&bucket, -1.0));
            has_negative = true;
        }
        if self.zero_count > 0.0 && !self.uses_custom_buckets() {
            let mut zero = self.zero_bucket();
            if has_positive && !has_negative {
                zero.lower = 0.0;
            }
            if has_negative && !has_positive {
                zero.upper = 0.0;
            }
            take(&mut result.zero_count, cut.rest_of_zero(&zero));
        }
        if changed {
            result.count = count;
            result.sum = sum;
            result.compact(0);
        }
        result
    }
}

/// Where and how buckets are cut.
#[derive(Debug, Clone, Copy)]
struct Cut {
    at: f64,
    keep: Keep,
    /// Whether observations are spread over values, not over their logarithms.
    linear: bool,
}

impl Cut {
    /// What is left of a bucket on the side of `sign`.
    fn rest_of(self, bucket: &Bucket, sign: f64) -> Rest {
        let (kept_whole, kept_in_part) = match self.keep {
            Keep::Below => (bucket.upper <= self.at, bucket.lower < self.at),
            Keep::Above => (bucket.lower >= self.at, bucket.upper > self.at),
        };
        if kept_whole {
            let middle = self.middle(bucket.lower, bucket.upper, sign);
            return Rest { count: bucket.count, middle };
        }
        if !kept_in_part {
            return Rest::NOTHING;
        }
        if bucket.lower == f64::NEG_INFINITY {
            return self.rest_from_below(bucket);
        }
        if bucket.upper == f64::INFINITY {
            return self.rest_to_above(bucket);
        }
        let below = bucket.count * bucket.fraction_below(self.at, self.linear);
        match self.keep {
            Keep::Below => Rest { count: below, middle: self.middle(bucket.lower, self.at, sign) },
            Keep::Above => {
                let middle = self.middle(self.at, bucket.upper, sign);
                Rest { count: bucket.count - below, middle }
            }
        }
    }

    /// What is left of a bucket that starts at -Inf and holds the value. If it ends
    /// above zero it is taken to start at zero, as custom buckets mostly do.
    fn rest_from_below(self, bucket: &Bucket) -> Rest {
        let (at, upper) = (self.at, bucket.upper);
        let starts_at_zero = upper > 0.0 && upper.is_finite();
        match self.keep {
            Keep::Below if at > 0.0 && starts_at_zero => {
                Rest { count: bucket.count * at / upper, middle: at / 2.0 }
            }
            Keep::Below if upper <= 0.0 => Rest { count: bucket.count, middle: at },
            Keep::Above if at >= 0.0 && starts_at_zero => {
                Rest { count: bucket.count * (1.0 - at / upper), middle: (at + upper) / 2.0 }
            }
            Keep::Below | Keep::Above => Rest::NOTHING,
        }
    }

    /// What is left of a bucket that ends at +Inf and holds the value.
    fn rest_to_above(self, bucket: &Bucket) -> Rest {
        match self.keep {
            Keep::Below => Rest::NOTHING,
            Keep::Above => Rest { count: bucket.count, middle: self.at },
        }
    }

    /// What is left of the zero bucket, which is spread over values.
    fn rest_of_zero(self, zero: &Bucket) -> Rest {
        let Bucket { lower, upper, count, .. } = *zero;
        let whole = Rest { count, middle: (lower + upper) / 2.0 };
        let width = upper - lower;
        match self.keep {
            Keep::Below if self.at <= lower => Rest::NOTHING,
            Keep::Below if self.at >= upper => whole,
            Keep::Below => {
                Rest { count: count * ((self.at - lower) / width), middle: (lower + self.at) / 2.0 }
            }
            Keep::Above if self.at <= lower => whole,
            Keep::Above if self.at >= upper => Rest::NOTHING,
            Keep::Above => {
                Rest { count: count * ((upper - self.at) / width), middle: (self.at + upper) / 2.0 }
            }
        }
    }

    fn middle(self, lower: f64, upper: f64, sign: f64) -> f64 {
        match (lower.is_infinite(), upper.is_infinite()) {
            (true, true) => 0.0,
            (true, false) if upper > 0.0 => upper / 2.0,
            (true, false) => upper,
            (false, true) => lower,
            (false, false) if self.linear => (lower + upper) / 2.0,
            (false, false) => sign * (lower * upper).abs().sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::BucketSpan;
    use super::super::tests::{custom, exponential};
    use super::*;

    const INF: f64 = f64::INFINITY;

    fn close(a: f64, b: f64) -> bool {
        a == b || (a - b).abs() < 1e-12 * b.abs()
    }

    /// (1,4], (4,16] with 8 each.
    fn positive() -> Histogram {
        Histogram { sum: 1000.0, ..exponential(-1, 1, &[8.0, 8.0]) }
    }

    #[test]
    fn nothing_cut_leaves_the_sum_alone() {
        assert_eq!(positive().trim_upper(16.0), positive());
        assert_eq!(positive().trim_upper(INF), positive());
        assert_eq!(positive().trim_lower(1.0), positive());
        assert_eq!(positive().trim_lower(-INF), positive());
    }

    #[test]
    fn whole_buckets_go_and_the_sum_is_estimated() {
        let below = positive().trim_upper(4.0);
        assert_eq!((below.count, below.sum, &*below.positive), (8.0, 16.0, &[8.0][..]));
        let above = positive().trim_lower(4.0);
        assert_eq!((above.count, above.sum, &*above.positive), (8.0, 64.0, &[8.0][..]));
        assert_eq!(above.positive_spans, [BucketSpan { offset: 2, length: 1 }]);
        let none = positive().trim_upper(0.0);
        assert_eq!((none.count, none.sum, none.positive.len()), (0.0, 0.0, 0));
    }

    #[test]
    fn the_bucket_at_the_value_is_shared_by_the_logarithm() {
        let below = positive().trim_upper(8.0);
        assert!(close(below.count, 12.0));
        assert!(close(below.sum, 8.0 * 2.0 + 4.0 * 32_f64.sqrt()));
        let above = positive().trim_lower(2.0);
        assert!(close(above.count, 12.0));
        assert!(close(above.sum, 4.0 * 8_f64.sqrt() + 8.0 * 8.0));
    }

    #[test]
    fn negative_buckets_are_cut_like_positive_ones() {
        let mirrored = Histogram {
            negative_spans: positive().positive_spans,
            negative: positive().positive,
            positive_spans: Vec::new(),
            positive: Vec::new(),
            ..positive()
        };
        let above = mirrored.trim_lower(-8.0);
        assert!(close(above.count, 12.0));
        assert!(close(above.sum, -8.0 * 2.0 - 4.0 * 32_f64.sqrt()));
        assert!(close(mirrored.trim_upper(-2.0).count, 12.0));
        assert_eq!(mirrored.trim_upper(0.0), mirrored);
    }

    #[test]
    fn the_zero_bucket_is_shared_by_the_value() {
        let zero =
            Histogram { zero_threshold: 0.5, zero_count: 8.0, count: 8.0, ..Histogram::default() };
        let below = zero.trim_upper(0.25);
        assert_eq!((below.zero_count, below.count, below.sum), (6.0, 6.0, 6.0 * -0.125));
        let above = zero.trim_lower(0.25);
        assert_eq!((above.zero_count, above.sum), (2.0, 2.0 * 0.375));
        // With positive buckets only, it starts at zero.
        let one_sided = Histogram { zero_count: 8.0, zero_threshold: 0.5, ..positive() };
        assert_eq!(one_sided.trim_upper(0.25).zero_count, 4.0);
        assert_eq!(one_sided.trim_upper(0.0).zero_count, 0.0);
    }

    #[test]
    fn custom_buckets_are_shared_by_the_value() {
        let histogram = custom(&[4.0, 8.0], &[4.0, 8.0, 2.0]);
        let below = histogram.trim_upper(6.0);
        assert_eq!((below.count, below.sum), (8.0, 4.0 * 2.0 + 4.0 * 5.0));
        // The first bucket is taken to start at zero.
        let below = histogram.trim_upper(1.0);
        assert_eq!((below.count, below.sum), (1.0, 0.5));
        let above = histogram.trim_lower(1.0);
        assert_eq!((above.count, above.sum), (13.0, 3.0 * 2.5 + 8.0 * 6.0 + 2.0 * 8.0));
        // Nothing is known of how far the last reaches.
        assert_eq!(histogram.trim_upper(100.0).count, 12.0);
        assert_eq!(histogram.trim_lower(100.0).positive, [2.0]);
    }

    #[test]
    fn a_first_custom_bucket_below_zero_stays_below_and_goes_above() {
        let histogram = custom(&[-4.0], &[3.0, 1.0]);
        let below = histogram.trim_upper(-6.0);
        assert_eq!((below.count, below.sum), (3.0, -18.0));
        assert_eq!(histogram.trim_lower(-6.0).count, 1.0);
        let endless = custom(&[], &[3.0]);
        assert_eq!(endless.trim_upper(5.0).count, 0.0);
        assert_eq!(endless.trim_lower(5.0).count, 0.0);
    }

    #[test]
    fn a_cut_at_nan_leaves_no_buckets() {
        assert_eq!(positive().trim_upper(f64::NAN).count, 0.0);
        assert_eq!(positive().trim_lower(f64::NAN).count, 0.0);
    }
}
