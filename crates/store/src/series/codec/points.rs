//! The points of one series, in columns.

use super::columns::{Layouts, Lists, OptionalDoubles, Repeated};
use super::native::NativeHistograms;

/// The points of one series over one chunk of time, in the order they were appended.
#[derive(Clone, Debug, PartialEq)]
pub struct Points {
    /// When each was taken. Times may repeat and need not be in order.
    pub times_nanos: Vec<i64>,
    /// Since when each accumulates; 0 = not sent.
    pub start_times_nanos: Repeated<i64>,
    /// The data point flags as sent.
    pub flags: Repeated<u32>,
    /// What was measured, by the type of the metric.
    pub values: PointValues,
}

impl Points {
    /// No points yet, to be filled with values of the kind of `values`.
    pub fn new(values: PointValues) -> Self {
        Self {
            times_nanos: Vec::new(),
            start_times_nanos: Repeated::new(),
            flags: Repeated::new(),
            values,
        }
    }

    /// Appends what all points have; the value is appended to `values`.
    pub fn push(&mut self, time_nanos: i64, start_time_nanos: i64, flags: u32) {
        self.times_nanos.push(time_nanos);
        self.start_times_nanos.push(start_time_nanos);
        self.flags.push(flags);
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.times_nanos.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.times_nanos.is_empty()
    }
}

/// The values of points, by the type of the metric.
#[derive(Clone, Debug, PartialEq)]
pub enum PointValues {
    /// Gauges, sums and samples.
    Numbers(Numbers),
    /// Histograms with explicit bounds.
    Histograms(Box<Histograms>),
    /// Histograms whose bounds are powers of a base.
    ExponentialHistograms(Box<ExponentialHistograms>),
    /// Quantiles that the sender computed.
    Summaries(Summaries),
    /// Native histograms of Prometheus.
    NativeHistograms(Box<NativeHistograms>),
}

impl PointValues {
    /// No values, of the same kind.
    pub fn empty(&self) -> Self {
        match self {
            Self::Numbers(_) => Self::Numbers(Numbers::default()),
            Self::Histograms(_) => Self::Histograms(Box::default()),
            Self::ExponentialHistograms(_) => Self::ExponentialHistograms(Box::default()),
            Self::Summaries(_) => Self::Summaries(Summaries::default()),
            Self::NativeHistograms(_) => Self::NativeHistograms(Box::default()),
        }
    }
}

/// The value of a gauge or a sum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A point without a value, as sent to say that a series ended.
    Absent,
    /// An integer.
    Int(i64),
    /// A double.
    Double(f64),
}

/// Which [`Number`] a point has. The numbers are those of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberKind {
    /// [`Number::Absent`].
    #[default]
    Absent = 0,
    /// [`Number::Int`].
    Int = 1,
    /// [`Number::Double`].
    Double = 2,
}

/// Values of gauges and sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers {
    pub(super) kinds: Repeated<NumberKind>,
    /// One for each point that has an integer.
    pub(super) ints: Vec<i64>,
    /// One for each point that has a double.
    pub(super) doubles: Vec<f64>,
}

impl Numbers {
    /// Appends the value of a point.
    pub fn push(&mut self, number: Number) {
        let kind = match number {
            Number::Absent => NumberKind::Absent,
            Number::Int(value) => {
                self.ints.push(value);
                NumberKind::Int
            }
            Number::Double(value) => {
                self.doubles.push(value);
                NumberKind::Double
            }
        };
        self.kinds.push(kind);
    }

    /// How many values there are, absent ones included.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = Number> + '_ {
        let mut ints = self.ints.iter();
        let mut doubles = self.doubles.iter();
        self.kinds.iter().map(move |kind| match kind {
            NumberKind::Absent => Number::Absent,
            NumberKind::Int => ints.next().map_or(Number::Absent, |int| Number::Int(*int)),
            NumberKind::Double => doubles.next().map_or(Number::Absent, |d| Number::Double(*d)),
        })
    }
}

/// Values of histograms with explicit bounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histograms {
    pub(super) counts: Vec<u64>,
    pub(super) sums: OptionalDoubles,
    pub(super) mins: OptionalDoubles,
    pub(super) maxs: OptionalDoubles,
    pub(super) bucket_counts: Lists<u64>,
    pub(super) bounds: Layouts,
}

/// One value of [`Histograms`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Histogram<'a> {
    /// How many observations there were.
    pub count: u64,
    /// Their sum.
    pub sum: Option<f64>,
    /// The least of them.
    pub min: Option<f64>,
    /// The greatest of them.
    pub max: Option<f64>,
    /// Observations in each bucket, not cumulated.
    pub bucket_counts: &'a [u64],
    /// Upper bounds of all buckets but the last.
    pub bounds: &'a [f64],
}

impl Histograms {
    /// Appends the value of a point.
    pub fn push(&mut self, histogram: &Histogram<'_>) {
        self.counts.push(histogram.count);
        self.sums.push(histogram.sum);
        self.mins.push(histogram.min);
        self.maxs.push(histogram.max);
        self.bucket_counts.push(histogram.bucket_counts);
        self.bounds.push(histogram.bounds.iter().copied());
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The items of the longest of its lists of lists.
    pub(super) fn list_items(&self) -> usize {
        self.bucket_counts.items.len().max(self.bounds.items())
    }

    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = Histogram<'_>> + '_ {
        let doubles = self.sums.iter().zip(self.mins.iter()).zip(self.maxs.iter());
        let lists = self.bucket_counts.iter().zip(self.bounds.iter());
        self.counts.iter().zip(doubles).zip(lists).map(
            |((count, ((sum, min), max)), (bucket_counts, bounds))| Histogram {
                count: *count,
                sum,
                min,
                max,
                bucket_counts,
                bounds,
            },
        )
    }
}

/// Values of exponential histograms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExponentialHistograms {
    pub(super) counts: Vec<u64>,
    pub(super) sums: OptionalDoubles,
    pub(super) mins: OptionalDoubles,
    pub(super) maxs: OptionalDoubles,
    pub(super) scales: Repeated<i32>,
    pub(super) zero_counts: Vec<u64>,
    pub(super) zero_thresholds: Vec<f64>,
    pub(super) positive: BucketRanges,
    pub(super) negative: BucketRanges,
}

/// One value of [`ExponentialHistograms`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExponentialHistogram<'a> {
    /// How many observations there were.
    pub count: u64,
    /// Their sum.
    pub sum: Option<f64>,
    /// The least of them.
    pub min: Option<f64>,
    /// The greatest of them.
    pub max: Option<f64>,
    /// The bounds are powers of 2^(2^-scale).
    pub scale: i32,
    /// Observations within the zero threshold.
    pub zero_count: u64,
    /// Half the width of the zero bucket.
    pub zero_threshold: f64,
    /// Buckets above zero, if sent.
    pub positive: Option<Buckets<'a>>,
    /// Buckets below zero, if sent.
    pub negative: Option<Buckets<'a>>,
}

/// Consecutive buckets of an exponential histogram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buckets<'a> {
    /// The index of the first bucket.
    pub offset: i32,
    /// Observations in each bucket.
    pub counts: &'a [u64],
}

/// Buckets of one sign, for points that have them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BucketRanges {
    pub(super) present: Repeated<bool>,
    pub(super) offsets: Repeated<i32>,
    pub(super) counts: Lists<u64>,
}

impl BucketRanges {
    fn push(&mut self, buckets: Option<Buckets<'_>>) {
        self.present.push(buckets.is_some());
        if let Some(buckets) = buckets {
            self.offsets.push(buckets.offset);
            self.counts.push(buckets.counts);
        }
    }

    fn iter(&self) -> impl Iterator<Item = Option<Buckets<'_>>> + '_ {
        let mut ranges = self.offsets.iter().zip(self.counts.iter());
        self.present.iter().map(move |present| {
            let range = if present { ranges.next() } else { None };
            range.map(|(offset, counts)| Buckets { offset, counts })
        })
    }
}

impl ExponentialHistograms {
    /// Appends the value of a point.
    pub fn push(&mut self, histogram: &ExponentialHistogram<'_>) {
        self.counts.push(histogram.count);
        self.sums.push(histogram.sum);
        self.mins.push(histogram.min);
        self.maxs.push(histogram.max);
        self.scales.push(histogram.scale);
        self.zero_counts.push(histogram.zero_count);
        self.zero_thresholds.push(histogram.zero_threshold);
        self.positive.push(histogram.positive);
        self.negative.push(histogram.negative);
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The items of the longest of its lists of lists.
    pub(super) fn list_items(&self) -> usize {
        self.positive.counts.items.len().max(self.negative.counts.items.len())
    }

    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = ExponentialHistogram<'_>> + '_ {
        let mut sums = self.sums.iter();
        let mut mins = self.mins.iter();
        let mut maxs = self.maxs.iter();
        let mut scales = self.scales.iter();
        let mut positive = self.positive.iter();
        let mut negative = self.negative.iter();
        let zeros = self.zero_counts.iter().zip(&self.zero_thresholds);
        self.counts.iter().zip(zeros).map(move |(count, (zero_count, zero_threshold))| {
            ExponentialHistogram {
                count: *count,
                sum: sums.next().flatten(),
                min: mins.next().flatten(),
                max: maxs.next().flatten(),
                scale: scales.next().unwrap_or_default(),
                zero_count: *zero_count,
                zero_threshold: *zero_threshold,
                positive: positive.next().flatten(),
                negative: negative.next().flatten(),
            }
        })
    }
}

/// Values of summaries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summaries {
    pub(super) counts: Vec<u64>,
    pub(super) sums: Vec<f64>,
    pub(super) quantiles: Layouts,
    /// For each point one value for each of its quantiles.
    pub(super) values: Vec<f64>,
}

/// One value of [`Summaries`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary<'a> {
    /// How many observations there were.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// Which quantiles, from 0 to 1.
    pub quantiles: &'a [f64],
    /// The value at each quantile; as many as there are quantiles.
    pub values: &'a [f64],
}

impl Summaries {
    /// Appends the value of a point, given as pairs of quantile and value.
    pub fn push(
        &mut self,
        count: u64,
        sum: f64,
        quantiles: impl ExactSizeIterator<Item = (f64, f64)> + Clone,
    ) {
        self.counts.push(count);
        self.sums.push(sum);
        self.quantiles.push(quantiles.clone().map(|(quantile, _)| quantile));
        self.values.extend(quantiles.map(|(_, value)| value));
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The items of the longest of its lists of lists.
    pub(super) fn list_items(&self) -> usize {
        self.values.len().max(self.quantiles.items())
    }

    /// The values in order.
    pub fn iter(&self) -> impl Iterator<Item = Summary<'_>> + '_ {
        let mut rest = self.values.as_slice();
        self.counts.iter().zip(&self.sums).zip(self.quantiles.iter()).map(
            move |((count, sum), quantiles)| {
                let (values, after) = rest.split_at_checked(quantiles.len()).unwrap_or((rest, &[]));
                rest = after;
                Summary { count: *count, sum: *sum, quantiles, values }
            },
        )
    }
}
