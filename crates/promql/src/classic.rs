//! Quantiles and fractions of classic histograms.
//!
//! A classic histogram is a set of series, one for each upper bound (`le`), each
//! counting the observations up to its bound. What is computed here takes the
//! buckets of one histogram in any order, as they come from scrapes: with bounds
//! twice, with counts that fall where they must not, without the `+Inf` bucket.
//! It never fails: what cannot be computed is NaN.

/// The difference of two counts, relative to their sum, that is put down to
/// rounding: no histogram has so many observations that one of them is as little.
const ROUNDING_TOLERANCE: f64 = 1e-12;

/// One bucket: how many observations are at most `upper_bound`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassicBucket {
    /// The bucket's `le`.
    pub upper_bound: f64,
    /// Observations up to the bound.
    pub count: f64,
}

/// A quantile, and what had to be repaired to get it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClassicQuantile {
    /// The quantile.
    pub value: f64,
    /// Whether counts fell from one bound to the next and were raised.
    pub forced_monotonic: bool,
    /// Whether counts differed by rounding only and were made equal.
    pub fixed_precision: bool,
    /// The lowest bound whose count was raised.
    pub min_bucket: f64,
    /// The highest bound whose count was raised.
    pub max_bucket: f64,
    /// The most by which a count was raised.
    pub max_diff: f64,
}

impl ClassicQuantile {
    fn untouched(value: f64) -> Self {
        Self {
            value,
            forced_monotonic: false,
            fixed_precision: false,
            min_bucket: f64::INFINITY,
            max_bucket: f64::NEG_INFINITY,
            max_diff: 0.0,
        }
    }
}

/// The quantile `q`, with observations spread evenly within a bucket.
///
/// The lowest bucket starts at 0 if its bound is positive. A quantile in the
/// `+Inf` bucket is the bound below it. `buckets` are left sorted and repaired.
pub fn quantile(q: f64, buckets: &mut Vec<ClassicBucket>) -> ClassicQuantile {
    if q.is_nan() {
        return ClassicQuantile::untouched(f64::NAN);
    }
    if q < 0.0 {
        return ClassicQuantile::untouched(f64::NEG_INFINITY);
    }
    if q > 1.0 {
        return ClassicQuantile::untouched(f64::INFINITY);
    }
    if !prepare(buckets) {
        return ClassicQuantile::untouched(f64::NAN);
    }
    let repaired = make_monotonic(buckets);
    ClassicQuantile { value: interpolate(q, buckets), ..repaired }
}

fn interpolate(q: f64, buckets: &[ClassicBucket]) -> f64 {
    let [finite @ .., last] = buckets else { return f64::NAN };
    let (Some(first), Some(highest)) = (finite.first(), finite.last()) else { return f64::NAN };
    if last.count == 0.0 {
        return f64::NAN;
    }
    let rank = q * last.count;
    let nth = finite.partition_point(|bucket| bucket.count < rank);
    let Some(bucket) = finite.get(nth) else { return highest.upper_bound };
    if nth == 0 {
        if first.upper_bound <= 0.0 {
            return first.upper_bound;
        }
        return bucket.upper_bound * (rank / bucket.count);
    }
    let below = finite[nth - 1];
    let share = (rank - below.count) / (bucket.count - below.count);
    below.upper_bound + (bucket.upper_bound - below.upper_bound) * share
}

/// The fraction of observations between two values.
pub fn fraction(lower: f64, upper: f64, buckets: &mut Vec<ClassicBucket>) -> f64 {
    if !prepare(buckets) {
        return f64::NAN;
    }
    let total = buckets.last().map_or(0.0, |last| last.count);
    if total == 0.0 || lower.is_nan() || upper.is_nan() {
        return f64::NAN;
    }
    if lower >= upper {
        return 0.0;
    }
    let up_to = |value| rank_of(value, buckets).map_or(total, |rank| clamp_rank(rank, total));
    (up_to(upper) - up_to(lower)) / total
}

/// A rank that is more than all observations is all of them; NaN stays.
fn clamp_rank(rank: f64, total: f64) -> f64 {
    if rank > total { total } else { rank }
}

/// How many observations are up to `value`; none if it is above all bounds.
fn rank_of(value: f64, buckets: &[ClassicBucket]) -> Option<f64> {
    let mut rank = 0.0;
    let starts_at_zero = buckets.first().is_some_and(|first| first.upper_bound > 0.0);
    let mut start = if starts_at_zero { 0.0 } else { f64::NEG_INFINITY };
    for bucket in buckets {
        if start >= value {
            return Some(rank);
        }
        if bucket.upper_bound > value {
            // Nothing is known of how observations spread down to -Inf; all count.
            if start == f64::NEG_INFINITY {
                return Some(bucket.count);
            }
            let width = bucket.upper_bound - start;
            return Some(rank + (bucket.count - rank) * (value - start) / width);
        }
        rank = bucket.count;
        start = bucket.upper_bound;
    }
    None
}

/// Sorts by bound and adds up buckets of the same bound. False without a `+Inf`
/// bucket: then the number of observations is unknown.
fn prepare(buckets: &mut Vec<ClassicBucket>) -> bool {
    buckets.sort_by(|a, b| a.upper_bound.total_cmp(&b.upper_bound));
    if buckets.last().is_none_or(|last| last.upper_bound != f64::INFINITY) {
        return false;
    }
    buckets.dedup_by(|later, kept| {
        let same = later.upper_bound == kept.upper_bound;
        if same {
            kept.count += later.count;
        }
        same
    });
    true
}

/// Raises counts that are lower than one of a lower bound, and levels those that
/// differ by rounding, because the search for a rank needs counts that never fall.
fn make_monotonic(buckets: &mut [ClassicBucket]) -> ClassicQuantile {
    let mut found = ClassicQuantile::untouched(f64::NAN);
    let Some((first, rest)) = buckets.split_first_mut() else { return found };
    let mut highest = first.count;
    for bucket in rest {
        if bucket.count == highest {
            continue;
        }
        if nearly_equal(highest, bucket.count) {
            bucket.count = highest;
            found.fixed_precision = true;
        } else if bucket.count < highest {
            found.forced_monotonic = true;
            found.min_bucket = found.min_bucket.min(bucket.upper_bound);
            found.max_bucket = found.max_bucket.max(bucket.upper_bound);
            found.max_diff = found.max_diff.max(highest - bucket.count);
            bucket.count = highest;
        } else {
            highest = bucket.count;
        }
    }
    found
}

fn nearly_equal(a: f64, b: f64) -> bool {
    if a.is_nan() && b.is_nan() {
        return true;
    }
    let difference = (a - b).abs();
    let size = a.abs() + b.abs();
    if a == 0.0 || b == 0.0 || size < f64::MIN_POSITIVE {
        return difference < ROUNDING_TOLERANCE * f64::MIN_POSITIVE;
    }
    difference / size.min(f64::MAX) < ROUNDING_TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(pairs: &[(f64, f64)]) -> Vec<ClassicBucket> {
        pairs.iter().map(|&(upper_bound, count)| ClassicBucket { upper_bound, count }).collect()
    }

    fn value(q: f64, pairs: &[(f64, f64)]) -> f64 {
        quantile(q, &mut buckets(pairs)).value
    }

    const INF: f64 = f64::INFINITY;
    const PLAIN: [(f64, f64); 4] = [(INF, 10.0), (1.0, 2.0), (2.0, 6.0), (4.0, 8.0)];

    #[test]
    fn a_quantile_lies_within_its_bucket_by_rank() {
        assert_eq!(value(0.1, &PLAIN), 0.5);
        assert_eq!(value(0.2, &PLAIN), 1.0);
        assert_eq!(value(0.4, &PLAIN), 1.5);
        assert_eq!(value(0.7, &PLAIN), 3.0);
    }

    #[test]
    fn a_quantile_in_the_highest_bucket_is_the_bound_below() {
        assert_eq!(value(0.95, &PLAIN), 4.0);
        assert_eq!(value(1.0, &PLAIN), 4.0);
    }

    #[test]
    fn a_lowest_bucket_below_zero_answers_with_its_bound() {
        assert_eq!(value(0.1, &[(-1.0, 5.0), (INF, 10.0)]), -1.0);
        assert_eq!(value(0.1, &[(0.0, 5.0), (INF, 10.0)]), 0.0);
    }

    #[test]
    fn quantiles_outside_zero_to_one_are_infinite() {
        assert_eq!(value(-0.1, &PLAIN), f64::NEG_INFINITY);
        assert_eq!(value(1.1, &PLAIN), INF);
        assert!(value(f64::NAN, &PLAIN).is_nan());
    }

    #[test]
    fn what_is_no_histogram_has_no_quantile() {
        assert!(value(0.5, &[]).is_nan());
        assert!(value(0.5, &[(INF, 3.0)]).is_nan());
        assert!(value(0.5, &[(1.0, 1.0), (2.0, 3.0)]).is_nan());
        assert!(value(0.5, &[(1.0, 0.0), (INF, 0.0)]).is_nan());
        assert!(value(0.5, &[(f64::NAN, 1.0), (INF, 3.0)]).is_nan());
        assert!(fraction(0.0, 1.0, &mut Vec::new()).is_nan());
    }

    #[test]
    fn buckets_of_one_bound_are_added_up() {
        let twice = [(1.0, 1.0), (1.0, 1.0), (2.0, 6.0), (INF, 4.0), (INF, 4.0)];
        assert_eq!(value(0.25, &twice), 1.0);
    }

    #[test]
    fn falling_counts_are_raised_and_reported() {
        let mut falling = buckets(&[(1.0, 5.0), (2.0, 3.0), (4.0, 4.0), (8.0, 9.0), (INF, 8.0)]);
        let found = quantile(0.5, &mut falling);
        assert!(found.forced_monotonic && !found.fixed_precision);
        assert_eq!((found.min_bucket, found.max_bucket, found.max_diff), (2.0, INF, 2.0));
        assert_eq!(found.value, 0.9);
        assert_eq!(falling.iter().map(|b| b.count).collect::<Vec<_>>(), [5.0, 5.0, 5.0, 9.0, 9.0]);
    }

    #[test]
    fn differences_of_rounding_are_levelled_in_silence() {
        let mut nearly = buckets(&[(1.0, 1e6), (2.0, 1e6 - 1e-7), (4.0, 1e6 + 1e-7), (INF, 2e6)]);
        let found = quantile(0.5, &mut nearly);
        assert!(found.fixed_precision && !found.forced_monotonic);
        assert_eq!(found.value, 1.0);
    }

    #[test]
    fn a_fraction_is_the_share_between_two_values() {
        let share = |lower, upper| fraction(lower, upper, &mut buckets(&PLAIN));
        assert_eq!(share(1.0, 2.0), 0.4);
        assert_eq!(share(0.5, 1.5), 0.3);
        assert_eq!(share(f64::NEG_INFINITY, INF), 1.0);
        assert_eq!(share(4.0, INF), 0.2);
        // Within the +Inf bucket nothing is known: none of it is below 100.
        assert_eq!(share(f64::NEG_INFINITY, 100.0), 0.8);
        assert_eq!(share(2.0, 1.0), 0.0);
        assert!(share(f64::NAN, 1.0).is_nan());
    }

    #[test]
    fn a_fraction_counts_all_of_a_lowest_bucket_below_zero() {
        let mut negative = buckets(&[(-1.0, 4.0), (1.0, 8.0), (INF, 8.0)]);
        assert_eq!(fraction(f64::NEG_INFINITY, -5.0, &mut negative), 0.5);
        assert_eq!(fraction(-1.0, 0.0, &mut negative), 0.25);
    }
}
