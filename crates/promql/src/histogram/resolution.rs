//! Coarser buckets of the same observations.
//!
//! One schema less joins two neighbouring buckets into one. There is no way back.

use super::arithmetic::Operand;
use super::spans::{Layout, Side};
use super::validate::check_spans;
use super::{BucketSpan, CUSTOM_SCHEMA, Histogram, HistogramError, ResetHint};
use crate::kahan;

/// The buckets of one side in a coarser schema.
#[derive(Debug, Default)]
pub(super) struct Reduced {
    pub(super) spans: Vec<BucketSpan>,
    pub(super) counts: Vec<f64>,
    /// What each count lost to rounding; empty if nobody asked.
    pub(super) compensation: Vec<f64>,
}

impl Reduced {
    pub(super) fn side(&self) -> Side<'_> {
        Side { spans: &self.spans, counts: &self.counts }
    }
}

/// Buckets in the schema `to`, which is at most `from`. With `compensation`, what
/// each count lost so far (0 where it is short), they are joined without loss.
pub(super) fn reduced(
    operand: Operand<'_>,
    compensation: Option<&[f64]>,
    from: i32,
    to: i32,
) -> Reduced {
    let mut layout = Layout::default();
    let mut result = Reduced::default();
    for (nth, (index, count)) in operand.cells().enumerate() {
        let target = coarse_index(index, from, to);
        let lost = compensation.map(|all| all.get(nth).copied().unwrap_or(0.0));
        let joins = layout.last() == Some(target);
        match (result.counts.last_mut(), result.compensation.last_mut(), lost) {
            (Some(sum), Some(sum_lost), Some(lost)) if joins => {
                for value in [count, lost] {
                    (*sum, *sum_lost) = kahan::increase(value, *sum, *sum_lost);
                }
            }
            (Some(sum), _, None) if joins => *sum += count,
            _ => {
                layout.push(target);
                result.counts.push(count);
                result.compensation.extend(lost);
            }
        }
    }
    result.spans = layout.into_spans();
    result
}

/// Where the bucket `index` goes: upper bounds of the coarser schema are among
/// those of the finer, at multiples of a power of two.
pub(super) fn coarse_index(index: i32, from: i32, to: i32) -> i32 {
    let shift = from.saturating_sub(to).clamp(0, 31);
    (index.wrapping_sub(1) >> shift).wrapping_add(1)
}

impl Histogram {
    /// Reduces the resolution to a lower schema.
    pub fn reduce_resolution(&mut self, schema: i32) -> Result<(), HistogramError> {
        if self.uses_custom_buckets() {
            return Err(HistogramError::ReduceCustom);
        }
        if schema == CUSTOM_SCHEMA {
            return Err(HistogramError::ReduceToCustom);
        }
        if schema >= self.schema {
            return Err(HistogramError::ReduceUpwards { from: self.schema, to: schema });
        }
        check_spans("", &self.positive_spans, self.positive.len())?;
        check_spans("", &self.negative_spans, self.negative.len())?;
        self.coarsen(schema);
        Ok(())
    }

    /// A copy in a lower schema; nothing is known of its resets. In its own schema,
    /// or one that it cannot be brought to, it is a plain copy.
    pub fn copy_to_schema(&self, schema: i32) -> Self {
        if self.uses_custom_buckets() || schema == CUSTOM_SCHEMA || schema >= self.schema {
            return self.clone();
        }
        let positive = reduced(Operand::all(self.positive_side()), None, self.schema, schema);
        let negative = reduced(Operand::all(self.negative_side()), None, self.schema, schema);
        Self {
            schema,
            hint: ResetHint::Unknown,
            zero_threshold: self.zero_threshold,
            zero_count: self.zero_count,
            count: self.count,
            sum: self.sum,
            positive_spans: positive.spans,
            negative_spans: negative.spans,
            positive: positive.counts,
            negative: negative.counts,
            custom_bounds: self.custom_bounds.clone(),
        }
    }

    /// Joins buckets down to `schema`, an exponential one below the own.
    pub(super) fn coarsen(&mut self, schema: i32) {
        let positive = reduced(Operand::all(self.positive_side()), None, self.schema, schema);
        let negative = reduced(Operand::all(self.negative_side()), None, self.schema, schema);
        (self.positive_spans, self.positive) = (positive.spans, positive.counts);
        (self.negative_spans, self.negative) = (negative.spans, negative.counts);
        self.schema = schema;
    }

    /// As [`Self::coarsen`], with a histogram of what the counts lost.
    pub(super) fn coarsen_with(&mut self, lost: &mut Self, schema: i32) {
        let positive =
            reduced(Operand::all(self.positive_side()), Some(&lost.positive), self.schema, schema);
        let negative =
            reduced(Operand::all(self.negative_side()), Some(&lost.negative), self.schema, schema);
        (self.positive_spans, self.positive) = (positive.spans, positive.counts);
        (self.negative_spans, self.negative) = (negative.spans, negative.counts);
        lost.positive = positive.compensation;
        lost.negative = negative.compensation;
        self.schema = schema;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{custom, exponential};
    use super::*;

    #[test]
    fn each_coarse_bucket_joins_the_fine_ones_within_its_bounds() {
        // Schema 2, buckets -3..=4: four make one of schema 0.
        let mut histogram = exponential(2, -3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        histogram.reduce_resolution(0).unwrap();
        let cells: Vec<_> = histogram.positive_side().cells().collect();
        assert_eq!(cells, [(0, 10.0), (1, 26.0)]);
        assert_eq!(histogram.schema, 0);
    }

    #[test]
    fn gaps_that_vanish_join_spans() {
        let spans = |pairs: &[(i32, u32)]| {
            pairs.iter().map(|&(offset, length)| BucketSpan { offset, length }).collect::<Vec<_>>()
        };
        let mut histogram = Histogram {
            schema: 1,
            negative_spans: spans(&[(1, 1), (1, 1), (4, 1)]),
            negative: vec![1.0, 2.0, 3.0],
            ..Histogram::default()
        };
        histogram.reduce_resolution(0).unwrap();
        assert_eq!(histogram.negative_spans, spans(&[(1, 2), (1, 1)]));
        assert_eq!(histogram.negative, [1.0, 2.0, 3.0]);
    }

    #[test]
    fn a_copy_forgets_its_hint_only_if_it_changes() {
        let histogram = Histogram { hint: ResetHint::Reset, ..exponential(1, 1, &[1.0, 2.0]) };
        assert_eq!(histogram.copy_to_schema(1), histogram);
        assert_eq!(histogram.copy_to_schema(5), histogram);
        assert_eq!(histogram.copy_to_schema(CUSTOM_SCHEMA), histogram);
        let coarse = histogram.copy_to_schema(0);
        assert_eq!((coarse.hint, &*coarse.positive), (ResetHint::Unknown, &[3.0][..]));
    }

    #[test]
    fn what_cannot_be_reduced_is_refused() {
        let mut fine = exponential(1, 0, &[1.0]);
        let refused = HistogramError::ReduceUpwards { from: 1, to: 1 };
        assert_eq!(fine.reduce_resolution(1), Err(refused));
        assert_eq!(fine.reduce_resolution(CUSTOM_SCHEMA), Err(HistogramError::ReduceToCustom));
        let mut bounds = custom(&[1.0], &[1.0]);
        assert_eq!(bounds.reduce_resolution(0), Err(HistogramError::ReduceCustom));
        fine.positive.push(1.0);
        let error = fine.reduce_resolution(0).unwrap_err().to_string();
        assert_eq!(
            error,
            "spans need 1 buckets, have 2 buckets: histogram spans specify different number of buckets than provided"
        );
    }

    #[test]
    fn indices_go_to_the_bucket_with_their_bounds() {
        assert_eq!([-1, 0, 1, 2, 3].map(|index| coarse_index(index, 1, 0)), [0, 0, 1, 1, 2]);
        assert_eq!(coarse_index(5, 52, -9), 1);
        assert_eq!(coarse_index(0, 52, -9), 0);
    }
}
