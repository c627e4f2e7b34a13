//! What is wrong with a histogram, in the words of Prometheus.

use thiserror::Error;

use super::{BucketSpan, COARSEST_SCHEMA, CUSTOM_SCHEMA, FINEST_SCHEMA, Histogram};
use crate::number::format_g;

/// Why a histogram is refused, or an operation on it.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum HistogramError {
    /// Exponential and custom buckets do not mix.
    #[error(
        "cannot apply this operation on histograms with a mix of exponential and custom bucket schemas"
    )]
    MixedSchemas,
    /// Custom buckets cannot be made coarser.
    #[error("cannot reduce resolution when there are custom buckets")]
    ReduceCustom,
    /// Nothing can be made custom buckets.
    #[error("cannot reduce resolution to custom buckets schema")]
    ReduceToCustom,
    /// Buckets cannot be made finer.
    #[error("cannot reduce resolution from schema {from} to {to}")]
    ReduceUpwards {
        /// The schema it has.
        from: i32,
        /// The schema asked for.
        to: i32,
    },
    /// Spans overlap.
    #[error(
        "{place}span number {number} with offset {offset}: histogram has a span whose offset is negative"
    )]
    NegativeOffset {
        /// Which spans.
        place: &'static str,
        /// Which of them, from 1.
        number: usize,
        /// Its offset.
        offset: i32,
    },
    /// Spans and counts disagree.
    #[error(
        "{place}spans need {needed} buckets, have {present} buckets: histogram spans specify different number of buckets than provided"
    )]
    BucketMismatch {
        /// Which spans.
        place: &'static str,
        /// Buckets that the spans name.
        needed: u64,
        /// Counts that there are.
        present: usize,
    },
    /// A bucket has a negative count.
    #[error(
        "{place}bucket number {number} has observation count of {}: histogram has a bucket whose observation count is negative",
        format_g(*count)
    )]
    NegativeBucket {
        /// Which buckets.
        place: &'static str,
        /// Which of them, from 1.
        number: usize,
        /// Its count.
        count: f64,
    },
    /// The zero bucket has a negative count.
    #[error(
        "zero bucket has observation count of {}: histogram has a bucket whose observation count is negative",
        format_g(*.0)
    )]
    NegativeZeroCount(f64),
    /// The count of all observations is negative.
    #[error(
        "observation count is  {}: histogram's observation count is negative",
        format_g(*.0)
    )]
    NegativeCount(f64),
    /// A custom bound is NaN.
    #[error("custom buckets: histogram custom bounds must not be NaN")]
    BoundNan,
    /// Custom bounds do not grow.
    #[error(
        "custom buckets: previous bound is {} and current is {}: histogram custom bounds must be in strictly increasing order",
        six_places(*.0), six_places(*.1)
    )]
    BoundsOutOfOrder(f64, f64),
    /// The last custom bound is infinite.
    #[error(
        "custom buckets: last +Inf bound must not be explicitly defined: histogram custom bounds must be finite"
    )]
    BoundInfinite,
    /// There are buckets beyond the last custom bound.
    #[error(
        "custom buckets: only {bounds} custom bounds defined which is insufficient to cover total span length of {needed}: histogram custom bounds are too few"
    )]
    BoundsTooFew {
        /// Bounds that there are.
        bounds: usize,
        /// Buckets that the spans reach over.
        needed: u64,
    },
    /// Custom buckets with a zero bucket.
    #[error("custom buckets: must have zero count of 0")]
    CustomZeroCount,
    /// Custom buckets with a zero bucket.
    #[error("custom buckets: must have zero threshold of 0")]
    CustomZeroThreshold,
    /// Custom buckets with a negative side.
    #[error("custom buckets: must not have negative spans")]
    CustomNegativeSpans,
    /// Custom buckets with a negative side.
    #[error("custom buckets: must not have negative buckets")]
    CustomNegativeBuckets,
    /// Exponential buckets with custom bounds.
    #[error("histogram with exponential schema must not have custom bounds")]
    ExponentialWithBounds,
    /// No such schema.
    #[error(
        "histogram has an invalid schema, which must be between -4 and 8 for exponential buckets, or -53 for custom buckets, got schema {0}"
    )]
    InvalidSchema(i32),
}

/// As `%f` does.
fn six_places(value: f64) -> String {
    if value.is_finite() { format!("{value:.6}") } else { format_g(value) }
}

impl Histogram {
    /// Checks that spans, counts and bounds fit each other and the schema, and that
    /// no count is negative. Whether the buckets add up to the count is not checked:
    /// rounding alone makes a difference.
    pub fn validate(&self) -> Result<(), HistogramError> {
        match self.schema {
            CUSTOM_SCHEMA => self.validate_custom()?,
            COARSEST_SCHEMA..=FINEST_SCHEMA => self.validate_exponential()?,
            other => return Err(HistogramError::InvalidSchema(other)),
        }
        if self.count < 0.0 {
            return Err(HistogramError::NegativeCount(self.count));
        }
        check_counts("positive side: ", &self.positive)
    }

    fn validate_exponential(&self) -> Result<(), HistogramError> {
        check_spans("positive side: ", &self.positive_spans, self.positive.len())?;
        check_spans("negative side: ", &self.negative_spans, self.negative.len())?;
        check_counts("negative side: ", &self.negative)?;
        if self.zero_count < 0.0 {
            return Err(HistogramError::NegativeZeroCount(self.zero_count));
        }
        if !self.custom_bounds.is_empty() {
            return Err(HistogramError::ExponentialWithBounds);
        }
        Ok(())
    }

    fn validate_custom(&self) -> Result<(), HistogramError> {
        self.check_bounds()?;
        if self.zero_count != 0.0 {
            return Err(HistogramError::CustomZeroCount);
        }
        if self.zero_threshold != 0.0 {
            return Err(HistogramError::CustomZeroThreshold);
        }
        if !self.negative_spans.is_empty() {
            return Err(HistogramError::CustomNegativeSpans);
        }
        if !self.negative.is_empty() {
            return Err(HistogramError::CustomNegativeBuckets);
        }
        Ok(())
    }

    fn check_bounds(&self) -> Result<(), HistogramError> {
        let place = "custom buckets: ";
        let bounds = &self.custom_bounds;
        let mut previous = None;
        for &bound in bounds.iter() {
            if bound.is_nan() {
                return Err(HistogramError::BoundNan);
            }
            if let Some(previous) = previous.filter(|&previous| bound <= previous) {
                return Err(HistogramError::BoundsOutOfOrder(previous, bound));
            }
            previous = Some(bound);
        }
        if previous == Some(f64::INFINITY) {
            return Err(HistogramError::BoundInfinite);
        }
        if let Some(first) = self.positive_spans.first().filter(|span| span.offset < 0) {
            return Err(HistogramError::NegativeOffset { place, number: 1, offset: first.offset });
        }
        check_spans(place, &self.positive_spans, self.positive.len())?;
        let reach =
            |span: &BucketSpan| u64::from(span.offset.unsigned_abs()) + u64::from(span.length);
        let needed: u64 = self.positive_spans.iter().map(reach).sum();
        if needed > bounds.len() as u64 + 1 {
            return Err(HistogramError::BoundsTooFew { bounds: bounds.len(), needed });
        }
        Ok(())
    }
}

/// Checks that spans do not overlap and name as many buckets as there are counts.
pub(super) fn check_spans(
    place: &'static str,
    spans: &[BucketSpan],
    present: usize,
) -> Result<(), HistogramError> {
    for (nth, span) in spans.iter().enumerate().skip(1) {
        if span.offset < 0 {
            let (number, offset) = (nth + 1, span.offset);
            return Err(HistogramError::NegativeOffset { place, number, offset });
        }
    }
    let needed: u64 = spans.iter().map(|span| u64::from(span.length)).sum();
    if needed != present as u64 {
        return Err(HistogramError::BucketMismatch { place, needed, present });
    }
    Ok(())
}

fn check_counts(place: &'static str, counts: &[f64]) -> Result<(), HistogramError> {
    match counts.iter().position(|&count| count < 0.0) {
        Some(nth) => {
            Err(HistogramError::NegativeBucket { place, number: nth + 1, count: counts[nth] })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{custom, exponential};
    use super::*;

    fn refusal(histogram: &Histogram) -> String {
        histogram.validate().unwrap_err().to_string()
    }

    fn span(offset: i32, length: u32) -> BucketSpan {
        BucketSpan { offset, length }
    }

    #[test]
    fn sound_histograms_pass() {
        assert_eq!(Histogram::default().validate(), Ok(()));
        assert_eq!(exponential(8, -5, &[1.0, 0.0]).validate(), Ok(()));
        assert_eq!(custom(&[-1.0, 5.0], &[1.0, 2.0, 3.0]).validate(), Ok(()));
    }

    #[test]
    fn schemas_are_limited() {
        assert_eq!(
            refusal(&exponential(9, 0, &[])),
            "histogram has an invalid schema, which must be between -4 and 8 for exponential buckets, or -53 for custom buckets, got schema 9"
        );
        assert!(exponential(-5, 0, &[]).validate().is_err());
    }

    #[test]
    fn spans_must_fit_the_counts() {
        let mut histogram = exponential(0, 0, &[1.0, 2.0]);
        histogram.positive_spans = vec![span(-3, 1), span(-1, 1)];
        assert_eq!(
            refusal(&histogram),
            "positive side: span number 2 with offset -1: histogram has a span whose offset is negative"
        );
        histogram.positive_spans = vec![span(0, 1)];
        assert_eq!(
            refusal(&histogram),
            "positive side: spans need 1 buckets, have 2 buckets: histogram spans specify different number of buckets than provided"
        );
        let negative = Histogram { negative: vec![1.0], ..Histogram::default() };
        assert!(refusal(&negative).starts_with("negative side: spans need 0 buckets, have 1"));
    }

    #[test]
    fn no_count_may_be_negative() {
        assert_eq!(
            refusal(&Histogram { count: 0.0, ..exponential(0, 0, &[1.0, -1.0]) }),
            "positive side: bucket number 2 has observation count of -1: histogram has a bucket whose observation count is negative"
        );
        assert_eq!(
            refusal(&Histogram { count: -2.5, ..Histogram::default() }),
            "observation count is  -2.5: histogram's observation count is negative"
        );
        assert_eq!(
            refusal(&Histogram { zero_count: -1e6, ..Histogram::default() }),
            "zero bucket has observation count of -1e+06: histogram has a bucket whose observation count is negative"
        );
    }

    #[test]
    fn custom_bounds_must_grow_and_end() {
        assert_eq!(
            refusal(&custom(&[1.0, 1.0], &[])),
            "custom buckets: previous bound is 1.000000 and current is 1.000000: histogram custom bounds must be in strictly increasing order"
        );
        assert_eq!(custom(&[1.0, f64::NAN], &[]).validate(), Err(HistogramError::BoundNan));
        assert_eq!(custom(&[f64::INFINITY], &[]).validate(), Err(HistogramError::BoundInfinite));
        assert_eq!(
            refusal(&custom(&[1.0], &[1.0, 1.0, 1.0])),
            "custom buckets: only 1 custom bounds defined which is insufficient to cover total span length of 3: histogram custom bounds are too few"
        );
        let mut early = custom(&[1.0], &[1.0]);
        early.positive_spans = vec![span(-1, 1)];
        assert!(refusal(&early).starts_with("custom buckets: span number 1 with offset -1"));
    }

    #[test]
    fn custom_buckets_have_no_zero_bucket_and_no_negative_side() {
        let sound = custom(&[1.0], &[1.0]);
        let with = |change: fn(&mut Histogram)| {
            let mut histogram = sound.clone();
            change(&mut histogram);
            histogram.validate().unwrap_err()
        };
        assert_eq!(with(|h| h.zero_count = 1.0), HistogramError::CustomZeroCount);
        assert_eq!(with(|h| h.zero_threshold = 1.0), HistogramError::CustomZeroThreshold);
        assert_eq!(
            with(|h| h.negative_spans.push(span(0, 0))),
            HistogramError::CustomNegativeSpans
        );
        assert_eq!(with(|h| h.negative.push(0.0)), HistogramError::CustomNegativeBuckets);
        assert_eq!(with(|h| h.schema = 0), HistogramError::ExponentialWithBounds);
    }
}
