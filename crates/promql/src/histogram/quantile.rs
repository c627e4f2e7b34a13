//! Quantiles of a histogram, and the share of observations between two values.
//!
//! Within a bucket, observations are taken to be spread evenly: over values in
//! custom buckets and the zero bucket, over logarithms of values in exponential
//! ones. A histogram with buckets on one side of zero only is taken to have no
//! observation on the other side. Observations that are NaN are counted but in no
//! bucket; what that does to a result is told with it.

use super::{Bucket, Histogram};

/// What is to be told of a quantile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuantileNote {
    /// It is NaN because the rank is among observations that are NaN.
    NanResult,
    /// It is too high because observations that are NaN count as the highest.
    NanSkew,
}

/// A quantile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantileOutcome {
    /// The quantile.
    pub value: f64,
    /// What is to be told of it.
    pub note: Option<QuantileNote>,
}

impl QuantileOutcome {
    fn plain(value: f64) -> Self {
        Self { value, note: None }
    }
}

/// The share of observations between two values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FractionOutcome {
    /// The share, from 0 to 1.
    pub value: f64,
    /// Whether there are observations that are NaN, which are between no values.
    pub has_nan: bool,
}

impl Histogram {
    /// The quantile `q`: below 0 minus infinity, above 1 infinity, and NaN if
    /// there are no observations.
    pub fn quantile(&self, q: f64) -> QuantileOutcome {
        if q < 0.0 {
            return QuantileOutcome::plain(f64::NEG_INFINITY);
        }
        if q > 1.0 {
            return QuantileOutcome::plain(f64::INFINITY);
        }
        if self.count == 0.0 || q.is_nan() {
            return QuantileOutcome::plain(f64::NAN);
        }
        // Ranks are counted from the nearer end, where fewer roundings add up.
        // NaN observations are missing at the upper end, so then from below.
        if self.sum.is_nan() || q < 0.5 {
            self.value_at_rank(self.buckets(), q * self.count, true)
        } else {
            self.value_at_rank(self.buckets_reversed(), (1.0 - q) * self.count, false)
        }
    }

    fn value_at_rank(
        &self,
        mut buckets: impl Iterator<Item = Bucket>,
        rank: f64,
        from_below: bool,
    ) -> QuantileOutcome {
        let mut bucket = Bucket::default();
        let mut counted = 0.0;
        for next in buckets.by_ref() {
            bucket = next;
            counted += bucket.count;
            if bucket.count != 0.0 && counted >= rank {
                break;
            }
        }
        if self.uses_custom_buckets() {
            if bucket.lower == f64::NEG_INFINITY {
                if bucket.upper <= 0.0 {
                    return QuantileOutcome::plain(bucket.upper);
                }
                bucket.lower = 0.0;
            } else if bucket.upper == f64::INFINITY {
                return QuantileOutcome::plain(bucket.lower);
            }
        } else if bucket.lower < 0.0 && bucket.upper > 0.0 {
            self.halve_if_one_sided(&mut bucket);
        }
        // Sums of buckets may round to more than the count.
        if counted > self.count {
            counted = self.count;
        }
        if counted < rank {
            if self.sum.is_nan() {
                return QuantileOutcome { value: f64::NAN, note: Some(QuantileNote::NanResult) };
            }
            return QuantileOutcome::plain(bucket.upper);
        }
        let rank_in_bucket =
            if from_below { rank - (counted - bucket.count) } else { counted - rank };
        let mut note = None;
        if self.sum.is_nan() {
            // Opposite infinities sum up to NaN too: NaN observations there are only
            // if buckets hold fewer than were counted. That the last bucket takes
            // the place of the one found is what Prometheus does, and results are
            // the same only if it is done here.
            for next in buckets {
                bucket = next;
                counted += bucket.count;
            }
            note = (counted < self.count).then_some(QuantileNote::NanSkew);
        }
        let value = self.value_within(&bucket, rank_in_bucket / bucket.count);
        QuantileOutcome { value, note }
    }

    /// The value that a share of a bucket's observations is below.
    fn value_within(&self, bucket: &Bucket, share: f64) -> f64 {
        if self.uses_custom_buckets() || bucket.touches_zero() {
            return bucket.lower + (bucket.upper - bucket.lower) * share;
        }
        let lower = bucket.lower.abs().log2();
        let upper = bucket.upper.abs().log2();
        if bucket.lower > 0.0 {
            (lower + (upper - lower) * share).exp2()
        } else {
            -(upper + (lower - upper) * (1.0 - share)).exp2()
        }
    }

    /// The fraction of observations between `lower` and `upper`; NaN if there are
    /// no observations or a bound is NaN.
    pub fn fraction(&self, lower: f64, upper: f64) -> FractionOutcome {
        if self.count == 0.0 || lower.is_nan() || upper.is_nan() {
            return FractionOutcome { value: f64::NAN, has_nan: false };
        }
        if lower >= upper {
            return FractionOutcome { value: 0.0, has_nan: false };
        }
        let (mut lower_rank, mut upper_rank) = (None, None);
        let (mut rank, mut counted) = (0.0, 0.0);
        for mut bucket in self.buckets() {
            counted += bucket.count;
            if lower_rank.is_some() && upper_rank.is_some() {
                continue;
            }
            let touches_zero = bucket.touches_zero();
            if touches_zero {
                self.halve_if_one_sided(&mut bucket);
            }
            let linear = self.uses_custom_buckets() || touches_zero;
            lower_rank = lower_rank.or_else(|| rank_within(&bucket, lower, rank, linear));
            upper_rank = upper_rank.or_else(|| rank_within(&bucket, upper, rank, linear));
            rank += bucket.count;
        }
        let has_nan = self.sum.is_nan() && counted < self.count;
        let all = if self.sum.is_nan() { counted } else { self.count };
        let up_to = |rank: Option<f64>| match rank {
            Some(rank) if rank > all => all,
            Some(rank) => rank,
            None => all,
        };
        FractionOutcome { value: (up_to(upper_rank) - up_to(lower_rank)) / self.count, has_nan }
    }

    /// Cuts a bucket around zero to the side on which the histogram has buckets.
    fn halve_if_one_sided(&self, bucket: &mut Bucket) {
        if self.negative.is_empty() && !self.positive.is_empty() {
            bucket.lower = 0.0;
        } else if self.positive.is_empty() && !self.negative.is_empty() {
            bucket.upper = 0.0;
        }
    }
}

/// How many observations are below `value`, with `rank` below the bucket; none if
/// the value is above the bucket.
fn rank_within(bucket: &Bucket, value: f64, rank: f64, linear: bool) -> Option<f64> {
    if bucket.lower >= value {
        return Some(rank);
    }
    if bucket.upper <= value {
        return None;
    }
    // A bucket down to -Inf is the first, and how it spreads is unknown: all count.
    if linear && bucket.lower == f64::NEG_INFINITY {
        return Some(bucket.count);
    }
    Some(rank + bucket.count * bucket.fraction_below(value, linear))
}

#[cfg(test)]
mod tests {
    use super::super::BucketSpan;
    use super::super::tests::{custom, exponential};
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        a == b || (a - b).abs() < 1e-12 * b.abs()
    }

    fn value(histogram: &Histogram, q: f64) -> f64 {
        histogram.quantile(q).value
    }

    fn negative(offset: i32, counts: &[f64]) -> Histogram {
        let positive = exponential(0, offset, counts);
        Histogram {
            negative_spans: positive.positive_spans.clone(),
            negative: positive.positive.clone(),
            positive_spans: Vec::new(),
            positive: Vec::new(),
            ..positive
        }
    }

    #[test]
    fn quantiles_of_exponential_buckets_follow_the_logarithm() {
        // (1,2] and (2,4], eight each.
        let histogram = exponential(0, 1, &[8.0, 8.0]);
        assert_eq!(value(&histogram, 0.0), 1.0);
        assert!(close(value(&histogram, 0.25), 2_f64.sqrt()));
        assert!(close(value(&histogram, 0.5), 2.0));
        assert!(close(value(&histogram, 0.75), 8_f64.sqrt()));
        assert!(close(value(&histogram, 1.0), 4.0));
        let mirrored = negative(1, &[8.0, 8.0]);
        assert!(close(value(&mirrored, 0.25), -8_f64.sqrt()));
        assert!(close(value(&mirrored, 0.75), -2_f64.sqrt()));
    }

    #[test]
    fn quantiles_of_custom_buckets_follow_the_value() {
        let histogram = custom(&[5.0, 10.0], &[4.0, 8.0, 4.0]);
        assert_eq!(value(&histogram, 0.125), 2.5);
        assert_eq!(value(&histogram, 0.5), 7.5);
        assert_eq!(value(&histogram, 0.9), 10.0);
        assert_eq!(value(&custom(&[-5.0, 10.0], &[4.0, 1.0]), 0.1), -5.0);
    }

    #[test]
    fn the_zero_bucket_is_one_sided_if_the_histogram_is() {
        let with_zero = |rest: Histogram| Histogram {
            zero_threshold: 0.5,
            zero_count: 10.0,
            count: rest.count + 10.0,
            ..rest
        };
        assert!(close(value(&with_zero(exponential(0, 1, &[10.0])), 0.25), 0.25));
        assert!(close(value(&with_zero(negative(1, &[10.0])), 0.75), -0.25));
        let mut both = with_zero(exponential(0, 1, &[10.0]));
        both.negative_spans = vec![BucketSpan { offset: 1, length: 1 }];
        both.negative = vec![10.0];
        both.count = 30.0;
        assert_eq!(value(&both, 0.5), 0.0);
        assert_eq!(value(&with_zero(exponential(0, 0, &[])), 0.25), -0.25);
    }

    #[test]
    fn quantiles_out_of_range_and_of_nothing() {
        let histogram = exponential(0, 1, &[1.0]);
        assert_eq!(value(&histogram, -0.1), f64::NEG_INFINITY);
        assert_eq!(value(&histogram, 1.1), f64::INFINITY);
        assert!(value(&histogram, f64::NAN).is_nan());
        assert!(value(&Histogram::default(), 0.5).is_nan());
    }

    #[test]
    fn nan_observations_are_the_highest() {
        // 12 in (0.5,1] and three that are NaN.
        let histogram = Histogram { count: 15.0, sum: f64::NAN, ..exponential(0, 0, &[12.0]) };
        let high = histogram.quantile(0.9);
        assert!(high.value.is_nan());
        assert_eq!(high.note, Some(QuantileNote::NanResult));
        let middle = histogram.quantile(0.4);
        assert!(close(middle.value, 0.5_f64.sqrt()));
        assert_eq!(middle.note, Some(QuantileNote::NanSkew));
        // Opposite infinities make the sum NaN, but nothing is missing.
        let infinities = Histogram { count: 12.0, ..histogram };
        assert_eq!(infinities.quantile(0.5).note, None);
    }

    #[test]
    fn fractions_are_shares_between_values() {
        let histogram = exponential(0, 1, &[4.0, 12.0]);
        let share = |lower, upper| histogram.fraction(lower, upper).value;
        assert_eq!(share(1.0, 2.0), 0.25);
        assert!(close(share(2.0, 8_f64.sqrt()), 0.375));
        assert_eq!(share(f64::NEG_INFINITY, f64::INFINITY), 1.0);
        assert_eq!(share(-5.0, 0.5), 0.0);
        assert_eq!(share(4.0, 9.0), 0.0);
        assert_eq!(share(3.0, 3.0), 0.0);
        assert!(share(f64::NAN, 1.0).is_nan());
        assert!(Histogram::default().fraction(0.0, 1.0).value.is_nan());
    }

    #[test]
    fn fractions_of_negative_and_custom_buckets() {
        let mirrored = negative(1, &[4.0, 12.0]);
        assert!(close(mirrored.fraction(f64::NEG_INFINITY, -(8_f64.sqrt())).value, 0.375));
        let histogram = custom(&[5.0, 10.0], &[4.0, 8.0, 4.0]);
        assert_eq!(histogram.fraction(2.5, 7.5).value, 0.375);
        // Nothing is known of what is above the last bound.
        assert_eq!(histogram.fraction(f64::NEG_INFINITY, 99.0).value, 0.75);
        let below = custom(&[-5.0, 10.0], &[4.0, 4.0]);
        assert_eq!(below.fraction(f64::NEG_INFINITY, -7.0).value, 0.5);
    }

    #[test]
    fn nan_observations_are_between_no_values() {
        let histogram = Histogram { count: 16.0, sum: f64::NAN, ..exponential(0, 0, &[12.0]) };
        let all = histogram.fraction(f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(all, FractionOutcome { value: 0.75, has_nan: true });
    }
}
