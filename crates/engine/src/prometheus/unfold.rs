//! Points as they are stored to samples as PromQL sees them.
//!
//! A row of a gauge, sum or native histogram is one series. A histogram with
//! explicit bounds is one for each bucket, one for the sum and one for the count; a
//! summary one for each quantile, and those two. Deltas are accumulated: a point
//! that does not begin where the one before ended begins anew, like a counter that
//! was reset.

use std::sync::Arc;

use kymo_promql::histogram::{BucketSpan, CUSTOM_SCHEMA, Histogram, ResetHint};
use kymo_promql::number::format_float;
use kymo_promql::sample::{HistogramSample, STALE_NAN, Samples};
use kymo_store::series::codec::{
    Buckets, ExponentialHistogram, NativeHistogram, Number, PointValues, Points,
};
use kymo_store::series::identity::{DELTA, MetricKind, MetricType};

/// The bit of a point's flags that says that it has no value.
const NO_RECORDED_VALUE: u32 = 1;
const NANOS_PER_MILLI: i64 = 1_000_000;
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
            vec![(Variant::Whole, Arc::new(reading.floats(values)))]
        }
        PointValues::Histograms(histograms) => {
            let mut all = Vec::new();
            for bound in distinct_bounds(histograms.iter().map(|h| h.bounds)) {
                let counts = histograms.iter().map(|histogram| {
                    let within = histogram.bounds.iter().take_while(|b| **b <= bound).count();
                    let has_bound = within > 0 && histogram.bounds[within - 1] == bound;
                    let counts = histogram.bucket_counts.get(..within);
                    let sum = counts.map(|counts| counts.iter().sum::<u64>() as f64);
                    sum.filter(|_| has_bound)
                });
                let variant = Variant::Bucket(format_float(bound).into());
                all.push((variant, Arc::new(reading.optional(counts))));
            }
            let counts = || histograms.iter().map(|histogram| Some(histogram.count as f64));
            let infinite = Variant::Bucket("+Inf".into());
            all.push((infinite, Arc::new(reading.optional(counts()))));
            let sums = histograms.iter().map(|histogram| histogram.sum);
            all.push((Variant::Sum, Arc::new(reading.optional(sums))));
            all.push((Variant::Count, Arc::new(reading.optional(counts()))));
            all
        }
        PointValues::Summaries(summaries) => {
            let mut all = Vec::new();
            for quantile in distinct_bounds(summaries.iter().map(|s| s.quantiles)) {
                let values = summaries.iter().map(|summary| {
                    let nth = summary.quantiles.iter().position(|q| *q == quantile)?;
                    summary.values.get(nth).copied()
                });
                let variant = Variant::Quantile(format_float(quantile).into());
                all.push((variant, Arc::new(reading.optional(values))));
            }
            let sums = summaries.iter().map(|summary| Some(summary.sum));
            all.push((Variant::Sum, Arc::new(reading.optional(sums))));
            let counts = summaries.iter().map(|summary| Some(summary.count as f64));
            all.push((Variant::Count, Arc::new(reading.optional(counts))));
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

fn distinct_bounds<'a>(lists: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    let mut bounds: Vec<f64> = Vec::new();
    let mut before: &[f64] = &[];
    for list in lists {
        // Nearly always those of the point before.
        if list != before {
            bounds.extend(list.iter().filter(|bound| !bound.is_nan()));
            bounds.sort_by(f64::total_cmp);
            bounds.dedup();
            before = list;
        }
    }
    bounds.retain(|bound| *bound != f64::INFINITY);
    bounds
}

/// Points and how they are to be read.
#[derive(Debug, Clone, Copy)]
struct Reading<'a> {
    points: &'a Points,
    is_delta: bool,
    /// Start times say since when values count.
    has_starts: bool,
}

/// The time of a point, since when it counts, and whether it has a value.
struct Moment {
    time: i64,
    start: i64,
    is_absent: bool,
}

impl<'a> Reading<'a> {
    fn moments(&self) -> impl Iterator<Item = Moment> + 'a {
        let has_starts = self.has_starts;
        let columns = self.points.times_nanos.iter().zip(self.points.start_times_nanos.iter());
        columns.zip(self.points.flags.iter()).map(move |((time, start), flags)| Moment {
            time: time.div_euclid(NANOS_PER_MILLI),
            start: if has_starts { start.div_euclid(NANOS_PER_MILLI) } else { 0 },
            is_absent: flags & NO_RECORDED_VALUE != 0,
        })
    }

    fn floats(&self, values: impl Iterator<Item = f64>) -> Samples {
        self.optional(values.map(Some))
    }

    /// Samples of those points that have a value.
    fn optional(&self, values: impl Iterator<Item = Option<f64>>) -> Samples {
        let count = self.points.len();
        let mut samples = Samples {
            times: Vec::with_capacity(count),
            values: Vec::with_capacity(count),
            ..Samples::default()
        };
        let mut running: Option<(f64, i64, i64)> = None;
        for (moment, value) in self.moments().zip(values) {
            let Some(value) = value else { continue };
            if moment.is_absent || value.to_bits() == STALE_NAN.to_bits() {
                running = None;
                samples.push(&moment, 0, STALE_NAN);
                continue;
            }
            if !self.is_delta {
                samples.push(&moment, moment.start, value);
                continue;
            }
            let (total, since) = match running {
                Some((total, since, before)) if moment.start == 0 || moment.start <= before => {
                    (total + value, since)
                }
                _ => (value, moment.start),
            };
            running = Some((total, since, moment.time));
            samples.push(&moment, since, total);
        }
        if samples.starts.iter().all(|start| *start == 0) {
            samples.starts = Vec::new();
        }
        samples
    }

    fn histograms(&self, values: impl Iterator<Item = Option<Histogram>>) -> Samples {
        let mut samples = Samples::default();
        let mut running: Option<(Histogram, i64, i64)> = None;
        for (moment, value) in self.moments().zip(values) {
            let Some(mut value) = value else { continue };
            let mut since = moment.start;
            if moment.is_absent {
                value = Histogram { sum: STALE_NAN, ..Histogram::default() };
                running = None;
            } else if self.is_delta {
                value.hint = ResetHint::Unknown;
                if let Some((total, start, before)) = running.take()
                    && (moment.start == 0 || moment.start <= before)
                {
                    let mut sum = total;
                    if sum.add(&value).is_ok() {
                        (value, since) = (sum, start);
                    }
                }
                running = Some((value.clone(), since, moment.time));
            }
            let value = Arc::new(value);
            samples.histograms.push(HistogramSample { time: moment.time, start: since, value });
        }
        // Two within one millisecond are one: the later.
        samples.histograms.reverse();
        samples.histograms.dedup_by_key(|sample| sample.time);
        samples.histograms.reverse();
        samples.settle_hints();
        samples
    }
}

/// Appending to samples, where two within one millisecond are one: the later.
trait Push {
    fn push(&mut self, moment: &Moment, start: i64, value: f64);
}

impl Push for Samples {
    fn push(&mut self, moment: &Moment, start: i64, value: f64) {
        if self.times.last() == Some(&moment.time) {
            self.times.pop();
            self.values.pop();
            self.starts.pop();
        }
        self.times.push(moment.time);
        self.values.push(value);
        self.starts.push(start);
    }
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
