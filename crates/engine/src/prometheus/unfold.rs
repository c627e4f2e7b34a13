//! Points as they are stored to samples as PromQL sees them.
//!
//! A row of a gauge, sum or native histogram is one series. A histogram with
//! explicit bounds is one for each bucket, one for the sum and one for the count; a
//! summary one for each quantile, and those two. Deltas are accumulated: a point
//! that does not begin where the one before ended begins anew, like a counter that
//! was reset.

use std::sync::Arc;

use kymo_promql::histogram::{BucketSpan, CUSTOM_SCHEMA, Histogram, ResetHint};
use kymo_promql::sample::{STALE_NAN, Samples};
use kymo_store::series::codec::{
    Buckets, ExponentialHistogram, NativeHistogram, Number, PointValues, Points,
};
use kymo_store::series::identity::{DELTA, MetricKind, MetricType};

use super::reading::{ByBound, Reading};

/// Counts within this distance of zero are counted as zero by senders of OTLP, who do not say so.
const ZERO_THRESHOLD: f64 = 1e-128;

/// Which of the series of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variant {
    /// The only one.
    Whole,
    /// Up to a bound, which is the label `le`.
    Bucket(Box<str>),
    /// The value at a quantile, which is the label `quantile`.
    Quantile(Box<str>),
    /// The sum of all observations.
    Sum,
    /// Their number.
    Count,
}

impl Variant {
    /// What the metric's name ends with.
    pub(crate) fn suffix(&self) -> &'static str {
        match self {
            Self::Whole | Self::Quantile(_) => "",
            Self::Bucket(_) => "_bucket",
            Self::Sum => "_sum",
            Self::Count => "_count",
        }
    }

    /// Bytes held on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.label().map_or(0, |(_, value)| value.len())
    }

    /// The label that only it has.
    pub(crate) fn label(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Bucket(bound) => Some(("le", bound)),
            Self::Quantile(quantile) => Some(("quantile", quantile)),
            _ => None,
        }
    }
}

/// What the names of series of a metric of that type can end with.
pub(crate) fn suffixes(metric_type: MetricType) -> &'static [&'static str] {
    match metric_type {
        MetricType::Histogram => &["_bucket", "_sum", "_count"],
        MetricType::Summary => &["", "_sum", "_count"],
        _ => &[""],
    }
}

/// The series of a row.
pub(crate) type Unfolded = Vec<(Variant, Arc<Samples>)>;

/// Unfolds points, which are in order of time, each time once.
pub(crate) fn unfold(kind: MetricKind, points: &Points) -> Unfolded {
    let reading = Reading {
        points,
        is_delta: kind.temporality == Some(DELTA),
        has_starts: kind.monotonic == Some(true) || kind.metric_type != MetricType::Gauge,
    };
    match &points.values {
        PointValues::Numbers(numbers) => {
            let is_counter = kind.metric_type == MetricType::Sum && kind.monotonic == Some(true)
                || kind.metric_type == MetricType::Sample;
            let values = numbers.iter().map(|number| match number {
                Number::Absent => STALE_NAN,
                Number::Int(int) => int as f64,
                Number::Double(double) => double,
            });
            let reading = Reading { has_starts: is_counter, ..reading };
            let mut samples = reading.floats();
            for (moment, value) in reading.moments().zip(values) {
                samples.push(&moment, value);
            }
            vec![(Variant::Whole, Arc::new(samples.finish()))]
        }
        PointValues::Histograms(histograms) => {
            let mut buckets = ByBound::new(reading);
            let (mut counts, mut sums) = (reading.floats(), reading.floats());
            for (moment, histogram) in reading.moments().zip(histograms.iter()) {
                let bounds = increasing(histogram.bounds);
                buckets.push(&moment, bounds, running(histogram.bucket_counts));
                counts.push(&moment, histogram.count as f64);
                if moment.is_absent || histogram.sum.is_some() {
                    sums.push(&moment, histogram.sum.unwrap_or_default());
                }
            }
            let mut all = buckets.finish(Variant::Bucket);
            let counts = Arc::new(counts.finish());
            all.push((Variant::Bucket("+Inf".into()), counts.clone()));
            all.push((Variant::Sum, Arc::new(sums.finish())));
            all.push((Variant::Count, counts));
            all
        }
        PointValues::Summaries(summaries) => {
            let mut quantiles = ByBound::new(reading);
            let (mut counts, mut sums) = (reading.floats(), reading.floats());
            for (moment, summary) in reading.moments().zip(summaries.iter()) {
                quantiles.push(&moment, summary.quantiles, summary.values.iter().copied());
                sums.push(&moment, summary.sum);
                counts.push(&moment, summary.count as f64);
            }
            let mut all = quantiles.finish(Variant::Quantile);
            all.push((Variant::Sum, Arc::new(sums.finish())));
            all.push((Variant::Count, Arc::new(counts.finish())));
            all
        }
        PointValues::ExponentialHistograms(histograms) => {
            let hint = if reading.is_delta { ResetHint::Gauge } else { ResetHint::Unknown };
            let values = histograms.iter().map(|histogram| of_exponential(&histogram, hint));
            vec![(Variant::Whole, Arc::new(reading.histograms(values)))]
        }
        PointValues::NativeHistograms(histograms) => {
            let values = histograms.iter().map(|histogram| of_native(&histogram));
            vec![(Variant::Whole, Arc::new(reading.histograms(values)))]
        }
    }
}

/// The bounds that make buckets: those that grow.
fn increasing(bounds: &[f64]) -> &[f64] {
    let pairs = bounds.windows(2).take_while(|pair| pair[0] < pair[1]).count();
    match bounds {
        [first, ..] if !first.is_nan() => &bounds[..=pairs],
        _ => &[],
    }
}

/// Counts of buckets, each with all before it.
fn running(counts: &[u64]) -> impl Iterator<Item = f64> {
    counts.iter().scan(0u64, |total, count| {
        *total = total.saturating_add(*count);
        Some(*total as f64)
    })
}

/// A native histogram; `None` if it is none that can be.
fn of_native(stored: &NativeHistogram<'_>) -> Option<Histogram> {
    let spans = |spans: &[(i32, u32)]| {
        spans
            .iter()
            .map(|(offset, length)| BucketSpan { offset: *offset, length: *length })
            .collect()
    };
    let mut histogram = Histogram {
        schema: stored.schema,
        hint: match stored.reset_hint {
            1 => ResetHint::Reset,
            2 => ResetHint::NotReset,
            3 => ResetHint::Gauge,
            _ => ResetHint::Unknown,
        },
        zero_threshold: stored.zero_threshold,
        zero_count: stored.zero_count,
        count: stored.count,
        sum: stored.sum,
        positive_spans: spans(stored.positive_spans),
        negative_spans: spans(stored.negative_spans),
        positive: stored.positive.to_vec(),
        negative: stored.negative.to_vec(),
        custom_bounds: stored.custom_values.into(),
    };
    if histogram.schema != CUSTOM_SCHEMA && histogram.schema > MAX_SCHEMA {
        histogram.reduce_resolution(MAX_SCHEMA).ok()?;
    }
    Some(histogram)
}

/// The finest and coarsest schemas of native histograms.
const MAX_SCHEMA: i32 = 8;
const MIN_SCHEMA: i32 = -4;

/// An exponential histogram of OTLP; `None` if it is coarser than any native one.
fn of_exponential(stored: &ExponentialHistogram<'_>, hint: ResetHint) -> Option<Histogram> {
    if stored.scale < MIN_SCHEMA {
        return None;
    }
    let shift = (stored.scale - MAX_SCHEMA).clamp(0, 31) as u32;
    let (positive_spans, positive) = exponential_side(stored.positive, shift);
    let (negative_spans, negative) = exponential_side(stored.negative, shift);
    Some(Histogram {
        schema: stored.scale.min(MAX_SCHEMA),
        hint,
        zero_threshold: if stored.zero_threshold > 0.0 {
            stored.zero_threshold
        } else {
            ZERO_THRESHOLD
        },
        zero_count: stored.zero_count as f64,
        count: stored.count as f64,
        sum: stored.sum.unwrap_or(0.0),
        positive_spans,
        negative_spans,
        positive,
        negative,
        custom_bounds: Arc::from([]),
    })
}

/// Buckets of one side, 2^`shift` of them joined to one.
fn exponential_side(buckets: Option<Buckets<'_>>, shift: u32) -> (Vec<BucketSpan>, Vec<f64>) {
    let Some(buckets) = buckets.filter(|buckets| !buckets.counts.is_empty()) else {
        return (Vec::new(), Vec::new());
    };
    // OTLP's bucket 0 begins at 1, that of native histograms ends there.
    let index = |nth: usize| ((i64::from(buckets.offset) + nth as i64) >> shift) + 1;
    let first = index(0);
    let length = index(buckets.counts.len() - 1) - first + 1;
    let mut counts = vec![0.0; length as usize];
    for (nth, count) in buckets.counts.iter().enumerate() {
        counts[(index(nth) - first) as usize] += *count as f64;
    }
    let offset = first.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    (vec![BucketSpan { offset, length: counts.len() as u32 }], counts)
}
