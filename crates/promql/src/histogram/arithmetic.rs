//! Histograms added, subtracted and scaled.
//!
//! Two exponential histograms of different schemas meet at the coarser one, with
//! a zero bucket wide enough for both; two with custom buckets meet at the bounds
//! that both have. An exponential histogram and one with custom buckets do not
//! meet. The result has every bucket of either, empty ones too; compact it to be
//! rid of those.

use super::resolution::reduced;
use super::spans::{self, Indices, Side};
use super::{BucketSpan, Histogram, HistogramError, ResetHint, bounds, custom};

/// What is to be told of a sum or difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Combined {
    /// One of the two was said to be reset, the other said not to be.
    pub reset_collision: bool,
    /// The custom bounds differed; the result has those that both had.
    pub bounds_reconciled: bool,
}

impl Histogram {
    /// Multiplies all counts and the sum. What is multiplied by a negative number
    /// is a gauge from then on.
    pub fn multiply(&mut self, factor: f64) {
        self.for_each_value(|value| *value *= factor);
        if factor < 0.0 {
            self.hint = ResetHint::Gauge;
        }
    }

    /// Divides all counts and the sum. Division by zero removes all buckets. What
    /// is divided by a negative number is a gauge from then on.
    pub fn divide(&mut self, divisor: f64) {
        if divisor == 0.0 {
            self.positive_spans.clear();
            self.negative_spans.clear();
            self.positive.clear();
            self.negative.clear();
        }
        self.for_each_value(|value| *value /= divisor);
        if divisor < 0.0 {
            self.hint = ResetHint::Gauge;
        }
    }

    /// Adds another histogram.
    pub fn add(&mut self, other: &Self) -> Result<Combined, HistogramError> {
        self.combine(other, 1.0)
    }

    /// Subtracts another histogram. The hint is that of a sum: whoever subtracts
    /// for good has to make the result a gauge.
    pub fn subtract(&mut self, other: &Self) -> Result<Combined, HistogramError> {
        self.combine(other, -1.0)
    }

    fn combine(&mut self, other: &Self, sign: f64) -> Result<Combined, HistogramError> {
        self.check_same_kind(other)?;
        let reset_collision = self.combine_hints(other.hint);
        self.count += sign * other.count;
        self.sum += sign * other.sum;
        if self.uses_custom_buckets() {
            let bounds_reconciled = !self.has_bounds_of(other);
            if bounds_reconciled {
                custom::combine(self, other, sign, None);
            } else {
                let other = Operand::all(other.positive_side());
                add_side(&mut self.positive_spans, &mut self.positive, other, sign);
            }
            return Ok(Combined { reset_collision, bounds_reconciled });
        }
        let other_zero = self.reconcile_zero_bucket(other, None);
        self.zero_count += sign * other_zero.sum;
        if other.schema < self.schema {
            self.coarsen(other.schema);
        }
        let (schema, threshold) = (self.schema, self.zero_threshold);
        let each = |spans: &mut Vec<BucketSpan>, counts: &mut Vec<f64>, side: Side<'_>| {
            // What the zero bucket has swallowed is left out before buckets are
            // joined: a coarse bucket may reach out of the zero bucket.
            let outside = Operand::outside(side, other.schema, threshold);
            if other.schema > schema {
                let coarse = reduced(outside, None, other.schema, schema);
                add_side(spans, counts, Operand::all(coarse.side()), sign);
            } else {
                add_side(spans, counts, outside, sign);
            }
        };
        each(&mut self.positive_spans, &mut self.positive, other.positive_side());
        each(&mut self.negative_spans, &mut self.negative, other.negative_side());
        Ok(Combined { reset_collision, bounds_reconciled: false })
    }

    pub(super) fn check_same_kind(&self, other: &Self) -> Result<(), HistogramError> {
        if self.uses_custom_buckets() == other.uses_custom_buckets() {
            Ok(())
        } else {
            Err(HistogramError::MixedSchemas)
        }
    }

    /// Sets the hint of a sum. True if the hints contradict each other.
    pub(super) fn combine_hints(&mut self, other: ResetHint) -> bool {
        use ResetHint::{Gauge, Unknown};
        let (hint, collision) = match (self.hint, other) {
            (own, other) if own == other => (own, false),
            (Gauge, _) | (_, Gauge) => (Gauge, false),
            (Unknown, _) | (_, Unknown) => (Unknown, false),
            _ => (Unknown, true),
        };
        self.hint = hint;
        collision
    }

    fn for_each_value(&mut self, mut change: impl FnMut(&mut f64)) {
        change(&mut self.zero_count);
        change(&mut self.count);
        change(&mut self.sum);
        self.positive.iter_mut().chain(&mut self.negative).for_each(change);
    }
}

/// Buckets that are added to others, but for the first few.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operand<'a> {
    pub(super) side: Side<'a>,
    /// Buckets next to zero that lie within the zero bucket of the sum, where they
    /// are counted already.
    pub(super) skipped: usize,
}

impl<'a> Operand<'a> {
    pub(super) fn all(side: Side<'a>) -> Self {
        Self { side, skipped: 0 }
    }

    /// The buckets of an exponential histogram that are not wholly below `threshold`.
    pub(super) fn outside(side: Side<'a>, schema: i32, threshold: f64) -> Self {
        let within = |index: &i32| bounds::exponential(*index, schema) <= threshold;
        Self { side, skipped: side.indices().take_while(within).count() }
    }

    /// Whether its buckets are exactly those of `spans`.
    pub(super) fn fits(&self, spans: &[BucketSpan], buckets: usize) -> bool {
        self.skipped == 0 && self.side.spans == spans && self.side.counts.len() == buckets
    }

    pub(super) fn indices(&self) -> impl Iterator<Item = i32> + Clone + 'a {
        self.side.indices().skip(self.skipped)
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = (i32, f64)> + 'a {
        self.side.cells().skip(self.skipped)
    }
}

fn add_side(spans: &mut Vec<BucketSpan>, counts: &mut Vec<f64>, other: Operand<'_>, sign: f64) {
    // Successive histograms of a series mostly have the same buckets.
    if other.fits(spans, counts.len()) {
        for (count, add) in counts.iter_mut().zip(other.side.counts) {
            *count += sign * add;
        }
        return;
    }
    spans::widen(spans, &mut [counts], other.indices());
    let own = Indices::new(spans, counts.len());
    spans::for_each_place(own, other.indices(), |place, nth| {
        counts[place] += sign * other.side.counts[other.skipped + nth];
    });
}

#[cfg(test)]
mod tests {
    use super::super::tests::{custom, exponential};
    use super::*;

    fn cells(histogram: &Histogram) -> Vec<(i32, f64)> {
        histogram.positive_side().cells().collect()
    }

    fn mirrored(histogram: &Histogram) -> Histogram {
        Histogram {
            negative_spans: histogram.positive_spans.clone(),
            negative: histogram.positive.clone(),
            positive_spans: Vec::new(),
            positive: Vec::new(),
            ..histogram.clone()
        }
    }

    #[test]
    fn buckets_of_equal_layout_are_added_one_to_one() {
        let mut sum = exponential(0, 1, &[1.0, 2.0]);
        sum.sum = 10.0;
        let other = Histogram { sum: 5.0, zero_count: 2.0, ..exponential(0, 1, &[3.0, 4.0]) };
        assert_eq!(sum.add(&other), Ok(Combined::default()));
        assert_eq!(cells(&sum), [(1, 4.0), (2, 6.0)]);
        assert_eq!((sum.count, sum.sum, sum.zero_count), (10.0, 15.0, 2.0));
    }

    #[test]
    fn buckets_that_one_lacks_are_inserted() {
        let mut sum = exponential(0, 3, &[1.0, 2.0]);
        sum.subtract(&exponential(0, 1, &[5.0, 0.0, 7.0])).unwrap();
        assert_eq!(cells(&sum), [(1, -5.0), (2, 0.0), (3, -6.0), (4, 2.0)]);
        assert_eq!(sum.count, -9.0);
        let mut sum = mirrored(&exponential(0, 0, &[1.0]));
        sum.add(&mirrored(&exponential(0, 5, &[2.0]))).unwrap();
        assert_eq!(sum.negative_side().cells().collect::<Vec<_>>(), [(0, 1.0), (5, 2.0)]);
    }

    #[test]
    fn schemas_meet_at_the_coarser() {
        // Schema 1 has two buckets for one of schema 0: 1 and 2 are 1, 3 and 4 are 2.
        let fine = exponential(1, 1, &[1.0, 2.0, 3.0, 4.0]);
        let coarse = exponential(0, 1, &[10.0, 20.0]);
        for (mut left, right) in [(fine.clone(), &coarse), (coarse.clone(), &fine)] {
            left.add(right).unwrap();
            assert_eq!(left.schema, 0);
            assert_eq!(cells(&left), [(1, 13.0), (2, 27.0)]);
        }
    }

    #[test]
    fn the_wider_zero_bucket_swallows_buckets_of_the_other() {
        let wide = Histogram { zero_threshold: 1.0, zero_count: 5.0, ..exponential(0, 1, &[1.0]) };
        let narrow =
            Histogram { zero_threshold: 0.1, zero_count: 1.0, ..exponential(0, 0, &[2.0, 3.0]) };
        for (mut left, right) in [(wide.clone(), &narrow), (narrow.clone(), &wide)] {
            left.add(right).unwrap();
            assert_eq!((left.zero_threshold, left.zero_count), (1.0, 8.0));
            assert_eq!(cells(&left), [(1, 4.0)]);
        }
    }

    #[test]
    fn what_the_zero_bucket_swallowed_is_not_counted_again_in_a_coarse_bucket() {
        // The bucket (1,2] is within 3, but in schema -1 it is part of (1,4].
        let coarse = Histogram { zero_threshold: 3.0, ..exponential(-1, 2, &[1.0]) };
        let fine = exponential(0, 1, &[5.0]);
        for (mut left, right) in [(coarse.clone(), &fine), (fine.clone(), &coarse)] {
            left.add(right).unwrap();
            assert_eq!((left.zero_threshold, left.zero_count), (3.0, 5.0));
            assert_eq!(cells(&left), [(2, 1.0)]);
        }
    }

    #[test]
    fn custom_buckets_and_exponential_ones_do_not_mix() {
        let mut exponential = exponential(0, 0, &[1.0]);
        let before = exponential.clone();
        assert_eq!(exponential.add(&custom(&[1.0], &[1.0])), Err(HistogramError::MixedSchemas));
        assert_eq!(exponential, before);
    }

    #[test]
    fn custom_buckets_of_equal_bounds_are_added_one_to_one() {
        let mut sum = custom(&[1.0, 2.0], &[1.0, 2.0]);
        let told = sum.add(&custom(&[1.0, 2.0], &[1.0, 1.0, 1.0])).unwrap();
        assert!(!told.bounds_reconciled);
        assert_eq!(sum.positive, [2.0, 3.0, 1.0]);
    }

    #[test]
    fn hints_of_a_sum_are_the_weaker_of_both() {
        use ResetHint::*;
        let outcome = |own, other| {
            let mut sum = Histogram { hint: own, ..Histogram::default() };
            let told = sum.add(&Histogram { hint: other, ..Histogram::default() }).unwrap();
            (sum.hint, told.reset_collision)
        };
        assert_eq!(outcome(Reset, Reset), (Reset, false));
        assert_eq!(outcome(Reset, Gauge), (Gauge, false));
        assert_eq!(outcome(Gauge, NotReset), (Gauge, false));
        assert_eq!(outcome(NotReset, Unknown), (Unknown, false));
        assert_eq!(outcome(Unknown, Reset), (Unknown, false));
        assert_eq!(outcome(Reset, NotReset), (Unknown, true));
        assert_eq!(outcome(NotReset, Reset), (Unknown, true));
    }

    #[test]
    fn scaling_reaches_every_value() {
        let mut histogram = Histogram {
            sum: 3.0,
            zero_count: 1.0,
            negative_spans: vec![BucketSpan { offset: 0, length: 1 }],
            negative: vec![4.0],
            hint: ResetHint::NotReset,
            ..exponential(0, 0, &[2.0])
        };
        histogram.multiply(2.0);
        assert_eq!(histogram.hint, ResetHint::NotReset);
        assert_eq!((histogram.count, histogram.sum, histogram.zero_count), (4.0, 6.0, 2.0));
        assert_eq!((&*histogram.positive, &*histogram.negative), (&[4.0][..], &[8.0][..]));
        histogram.divide(-4.0);
        assert_eq!(histogram.hint, ResetHint::Gauge);
        assert_eq!((histogram.sum, &*histogram.negative), (-1.5, &[-2.0][..]));
    }

    #[test]
    fn division_by_zero_leaves_no_buckets() {
        let mut histogram = Histogram { sum: -1.0, ..exponential(0, 0, &[2.0]) };
        histogram.divide(0.0);
        assert!(histogram.positive.is_empty() && histogram.positive_spans.is_empty());
        assert_eq!((histogram.count, histogram.sum), (f64::INFINITY, f64::NEG_INFINITY));
        assert!(histogram.zero_count.is_nan());
    }
}
