//! Addition that remembers what rounding took from each count.
//!
//! Beside the histogram of sums there is a second one of the same layout that
//! holds, for each count and the sum, what is missing in the first. In the end the
//! second is added to the first.

use super::arithmetic::{Combined, Operand};
use super::resolution::reduced;
use super::spans::{self, Indices, Side};
use super::{BucketSpan, Histogram, HistogramError, custom};
use crate::kahan;

impl Histogram {
    /// Adds another histogram. `compensation` is what the last call returned,
    /// none at first.
    pub fn kahan_add(
        &mut self,
        other: &Self,
        compensation: Option<Self>,
    ) -> Result<(Self, Combined), HistogramError> {
        self.check_same_kind(other)?;
        let reset_collision = self.combine_hints(other.hint);
        let mut lost = self.fitting_compensation(compensation);
        increase(&mut self.count, &mut lost.count, other.count);
        increase(&mut self.sum, &mut lost.sum, other.sum);
        let mut bounds_reconciled = false;
        if !self.uses_custom_buckets() {
            self.kahan_add_exponential(other, &mut lost);
        } else if self.has_bounds_of(other) {
            let other = Operand::all(other.positive_side());
            let counts = (&mut self.positive, &mut lost.positive);
            add_side(&mut self.positive_spans, counts, other, &[]);
        } else {
            bounds_reconciled = true;
            custom::combine(self, other, 1.0, Some(&mut lost.positive));
        }
        lost.schema = self.schema;
        lost.zero_threshold = self.zero_threshold;
        lost.custom_bounds = self.custom_bounds.clone();
        lost.positive_spans.clone_from(&self.positive_spans);
        lost.negative_spans.clone_from(&self.negative_spans);
        Ok((lost, Combined { reset_collision, bounds_reconciled }))
    }

    fn kahan_add_exponential(&mut self, other: &Self, lost: &mut Self) {
        let zero = self.reconcile_zero_bucket(other, Some(lost));
        increase(&mut self.zero_count, &mut lost.zero_count, zero.sum);
        increase(&mut self.zero_count, &mut lost.zero_count, zero.compensation);
        if other.schema < self.schema {
            self.coarsen_with(lost, other.schema);
        }
        let (schema, threshold) = (self.schema, self.zero_threshold);
        let each = |spans: &mut Vec<BucketSpan>,
                    counts: (&mut Vec<f64>, &mut Vec<f64>),
                    side: Side<'_>| {
            let outside = Operand::outside(side, other.schema, threshold);
            if other.schema > schema {
                let coarse = reduced(outside, Some(&[]), other.schema, schema);
                add_side(spans, counts, Operand::all(coarse.side()), &coarse.compensation);
            } else {
                add_side(spans, counts, outside, &[]);
            }
        };
        let positive = (&mut self.positive, &mut lost.positive);
        each(&mut self.positive_spans, positive, other.positive_side());
        let negative = (&mut self.negative, &mut lost.negative);
        each(&mut self.negative_spans, negative, other.negative_side());
    }

    /// The compensation given, or one of zeros, with a place for each bucket.
    fn fitting_compensation(&self, compensation: Option<Self>) -> Self {
        let mut lost = compensation.unwrap_or_else(|| Self { hint: self.hint, ..Self::default() });
        lost.positive.resize(self.positive.len(), 0.0);
        lost.negative.resize(self.negative.len(), 0.0);
        lost
    }
}

fn increase(sum: &mut f64, lost: &mut f64, value: f64) {
    (*sum, *lost) = kahan::increase(value, *sum, *lost);
}

/// Adds buckets, and what those lost in turn (nothing if empty).
fn add_side(
    spans: &mut Vec<BucketSpan>,
    (counts, lost): (&mut Vec<f64>, &mut Vec<f64>),
    other: Operand<'_>,
    other_lost: &[f64],
) {
    let add = |count: &mut f64, lost: &mut f64, nth: usize| {
        increase(count, lost, other.side.counts[nth]);
        if let Some(&more) = other_lost.get(nth).filter(|&&more| more != 0.0) {
            increase(count, lost, more);
        }
    };
    if other.fits(spans, counts.len()) {
        for (nth, (count, lost)) in counts.iter_mut().zip(lost).enumerate() {
            add(count, lost, nth);
        }
        return;
    }
    spans::widen(spans, &mut [counts, lost], other.indices());
    let own = Indices::new(spans, counts.len());
    spans::for_each_place(own, other.indices(), |place, nth| {
        add(&mut counts[place], &mut lost[place], other.skipped + nth);
    });
}

#[cfg(test)]
mod tests {
    use super::super::tests::{custom, exponential};
    use super::*;

    fn summed(terms: &[Histogram]) -> Histogram {
        let (first, rest) = terms.split_first().unwrap();
        let mut sum = first.clone();
        let mut lost = None;
        for term in rest {
            let (next, _) = sum.kahan_add(term, lost).unwrap();
            lost = Some(next);
        }
        sum.add(&lost.unwrap()).unwrap();
        sum
    }

    fn positive_of(histogram: &Histogram) -> Vec<(i32, f64)> {
        histogram.positive_side().cells().collect()
    }

    #[test]
    fn small_counts_survive_a_big_one_in_every_place() {
        let small = Histogram {
            sum: 1.0,
            zero_count: 1.0,
            negative_spans: vec![BucketSpan { offset: 0, length: 1 }],
            negative: vec![1.0],
            ..exponential(0, 0, &[1.0, 1.0])
        };
        let mut big = small.clone();
        big.multiply(1e17);
        let mut back = small.clone();
        back.multiply(-1e17);
        let sum = summed(&[small.clone(), big, small.clone(), back]);
        assert_eq!((sum.count, sum.sum, sum.zero_count), (4.0, 2.0, 2.0));
        assert_eq!((&*sum.positive, &*sum.negative), (&[2.0, 2.0][..], &[2.0][..]));
    }

    #[test]
    fn layouts_may_change_on_the_way() {
        let sum = summed(&[
            exponential(1, 1, &[1.0, 1e17, 1.0]),
            exponential(1, 5, &[1.0]),
            exponential(1, 2, &[1.0]),
            exponential(0, 1, &[-1e17]),
            exponential(1, 1, &[0.5]),
        ]);
        assert_eq!(sum.schema, 0);
        assert_eq!(positive_of(&sum), [(1, 2.5), (2, 1.0), (3, 1.0)]);
    }

    #[test]
    fn the_zero_bucket_takes_what_buckets_had_lost() {
        let wide = Histogram { zero_threshold: 2.0, ..exponential(0, 3, &[1.0]) };
        let sum = summed(&[
            exponential(0, 1, &[1.0]),
            exponential(0, 1, &[1e17]),
            exponential(0, 1, &[1.0]),
            wide,
            Histogram { zero_threshold: 2.0, zero_count: -1e17, ..Histogram::default() },
        ]);
        assert_eq!((sum.zero_threshold, sum.zero_count), (2.0, 2.0));
        assert_eq!(positive_of(&sum), [(3, 1.0)]);
    }

    #[test]
    fn custom_bounds_are_reconciled_with_what_was_lost() {
        let sum = summed(&[
            custom(&[1.0, 2.0], &[1.0, 0.0]),
            custom(&[1.0, 2.0], &[1e17, 1.0]),
            custom(&[2.0, 3.0], &[1.0, 5.0]),
            custom(&[2.0], &[-1e17]),
        ]);
        assert_eq!(&*sum.custom_bounds, [2.0]);
        assert_eq!(positive_of(&sum), [(0, 3.0), (1, 5.0)]);
    }

    #[test]
    fn kinds_do_not_mix() {
        let outcome = custom(&[1.0], &[]).kahan_add(&exponential(0, 0, &[]), None);
        assert_eq!(outcome.unwrap_err(), HistogramError::MixedSchemas);
    }
}
