//! A data point of a request, appended to the columns of its series.

use kymo_wire::{
    BucketsView, ExponentialHistogramPointView, HistogramPointView, KeyValueView, NumberPointView,
    NumberValue, Repeated, SummaryPointView, WireError,
};

use super::codec::{Buckets, ExponentialHistogram, Histogram, Number, PointValues};
use super::exemplars;
use super::registry::Series;
use crate::limits::POINT_MAX_ITEMS;

/// Bytes of time and value of a number point.
pub(crate) const NUMBER_BYTES: usize = 16;
/// Bytes of what every point of a histogram or summary has, nearly.
pub(crate) const DISTRIBUTION_BYTES: usize = 48;

/// Lists of numbers, copied out of the message at hand.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    counts: Vec<u64>,
    more_counts: Vec<u64>,
    doubles: Vec<f64>,
    quantiles: Vec<(f64, f64)>,
}

/// What all views of data points have in common for the head.
pub(crate) trait DataPoint<'a> {
    /// The labels of the series.
    fn attributes(&self) -> &Repeated<'a, KeyValueView<'a>>;

    /// Whether the codec can hold it.
    fn fits(&self) -> bool;

    /// Appends the point to its series.
    fn append(&self, series: &mut Series, buffers: &mut Buffers) -> Result<(), WireError>;
}

impl Series {
    #[inline]
    pub(crate) fn push_point(&mut self, time: u64, start_time: u64, flags: u32, bytes: usize) {
        self.points.push(time as i64, start_time as i64, flags);
        self.add_bytes(bytes);
    }

    pub(crate) fn add_bytes(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(u32::try_from(bytes).unwrap_or(u32::MAX));
    }

    #[inline]
    fn push_exemplars<T>(&mut self, sent: &Repeated<'_, T>) -> Result<(), WireError> {
        if sent.is_empty() {
            return Ok(());
        }
        let before = self.exemplars.len();
        let point = self.points.len() - 1;
        for raw in sent.raws() {
            exemplars::push(point, raw?, &mut self.exemplars);
        }
        self.add_bytes(self.exemplars.len() - before);
        Ok(())
    }
}

impl<'a> DataPoint<'a> for NumberPointView<'a> {
    #[inline]
    fn attributes(&self) -> &Repeated<'a, KeyValueView<'a>> {
        &self.attributes
    }

    #[inline]
    fn fits(&self) -> bool {
        true
    }

    #[inline]
    fn append(&self, series: &mut Series, _: &mut Buffers) -> Result<(), WireError> {
        let PointValues::Numbers(numbers) = &mut series.points.values else { return Ok(()) };
        numbers.push(match self.value {
            NumberValue::None => Number::Absent,
            NumberValue::Int(value) => Number::Int(value),
            NumberValue::Double(value) => Number::Double(value),
        });
        series.push_point(self.time_unix_nano, self.start_time_unix_nano, self.flags, NUMBER_BYTES);
        series.push_exemplars(&self.exemplars)
    }
}

impl<'a> DataPoint<'a> for HistogramPointView<'a> {
    fn attributes(&self) -> &Repeated<'a, KeyValueView<'a>> {
        &self.attributes
    }

    fn fits(&self) -> bool {
        self.bucket_counts.count().max(self.explicit_bounds.count()) <= POINT_MAX_ITEMS
    }

    fn append(&self, series: &mut Series, buffers: &mut Buffers) -> Result<(), WireError> {
        let PointValues::Histograms(histograms) = &mut series.points.values else {
            return Ok(());
        };
        refill(&mut buffers.counts, self.bucket_counts.iter());
        refill(&mut buffers.doubles, self.explicit_bounds.iter());
        histograms.push(&Histogram {
            count: self.count,
            sum: self.sum,
            min: self.min,
            max: self.max,
            bucket_counts: &buffers.counts,
            bounds: &buffers.doubles,
        });
        // Bounds are nearly always those of the point before and then cost
        // nothing, but they may be others for every point.
        let items = buffers.counts.len() + buffers.doubles.len();
        series.push_point(
            self.time_unix_nano,
            self.start_time_unix_nano,
            self.flags,
            DISTRIBUTION_BYTES + 8 * items,
        );
        series.push_exemplars(&self.exemplars)
    }
}

impl<'a> DataPoint<'a> for ExponentialHistogramPointView<'a> {
    fn attributes(&self) -> &Repeated<'a, KeyValueView<'a>> {
        &self.attributes
    }

    fn fits(&self) -> bool {
        let items = |buckets: &Option<BucketsView<'_>>| {
            buckets.as_ref().map_or(0, |b| b.bucket_counts.count())
        };
        items(&self.positive).max(items(&self.negative)) <= POINT_MAX_ITEMS
    }

    fn append(&self, series: &mut Series, buffers: &mut Buffers) -> Result<(), WireError> {
        let PointValues::ExponentialHistograms(histograms) = &mut series.points.values else {
            return Ok(());
        };
        let positive = read_buckets(&self.positive, &mut buffers.counts);
        let negative = read_buckets(&self.negative, &mut buffers.more_counts);
        histograms.push(&ExponentialHistogram {
            count: self.count,
            sum: self.sum,
            min: self.min,
            max: self.max,
            scale: self.scale,
            zero_count: self.zero_count,
            zero_threshold: self.zero_threshold,
            positive,
            negative,
        });
        let items = positive.map_or(0, |b| b.counts.len()) + negative.map_or(0, |b| b.counts.len());
        series.push_point(
            self.time_unix_nano,
            self.start_time_unix_nano,
            self.flags,
            DISTRIBUTION_BYTES + 8 * items,
        );
        series.push_exemplars(&self.exemplars)
    }
}

impl<'a> DataPoint<'a> for SummaryPointView<'a> {
    fn attributes(&self) -> &Repeated<'a, KeyValueView<'a>> {
        &self.attributes
    }

    fn fits(&self) -> bool {
        self.quantile_values.count() <= POINT_MAX_ITEMS
    }

    fn append(&self, series: &mut Series, buffers: &mut Buffers) -> Result<(), WireError> {
        let PointValues::Summaries(summaries) = &mut series.points.values else { return Ok(()) };
        buffers.quantiles.clear();
        for quantile in self.quantile_values {
            let quantile = quantile?;
            buffers.quantiles.push((quantile.quantile, quantile.value));
        }
        summaries.push(self.count, self.sum, buffers.quantiles.iter().copied());
        let bytes = DISTRIBUTION_BYTES + 16 * buffers.quantiles.len();
        series.push_point(self.time_unix_nano, self.start_time_unix_nano, self.flags, bytes);
        Ok(())
    }
}

fn refill<T>(buffer: &mut Vec<T>, values: impl Iterator<Item = T>) {
    buffer.clear();
    buffer.extend(values);
}

fn read_buckets<'b>(
    view: &Option<BucketsView<'_>>,
    buffer: &'b mut Vec<u64>,
) -> Option<Buckets<'b>> {
    let view = view.as_ref()?;
    refill(buffer, view.bucket_counts.iter());
    Some(Buckets { offset: view.offset, counts: buffer })
}
