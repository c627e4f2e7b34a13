//! Points to Arrow arrays; what the columns mean is told in
//! [`point`](crate::tables::series::point).

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray, TimestampNanosecondArray,
    UInt64Array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};

use super::super::build::arrow;
use crate::error::StoreError;
use crate::limits::{SCAN_BATCH_MAX_ITEMS, SCAN_BATCH_ROWS};
use crate::series::buckets::{push_explicit, push_native, rounded};
use crate::series::codec::{NO_RECORDED_VALUE, Number, Points};
use crate::series::join::{PointValue, values};
use crate::tables::series::point;

/// Values of which some are absent.
#[derive(Debug, Default)]
struct Optional<T> {
    values: Vec<T>,
    valid: Vec<bool>,
}

impl<T: Default> Optional<T> {
    fn push(&mut self, value: Option<T>) {
        self.valid.push(value.is_some());
        self.values.push(value.unwrap_or_default());
    }

    fn take(&mut self) -> (Vec<T>, Option<NullBuffer>) {
        let nulls = NullBuffer::new(BooleanBuffer::from(std::mem::take(&mut self.valid)));
        let nulls = (nulls.null_count() > 0).then_some(nulls);
        (std::mem::take(&mut self.values), nulls)
    }
}

/// Lists of which some are absent.
#[derive(Debug, Default)]
struct OptionalLists<T> {
    items: Vec<T>,
    /// Where each list ends in `items`.
    ends: Vec<usize>,
    valid: Vec<bool>,
}

impl<T> OptionalLists<T> {
    /// Ends a list, of the items that were added since the last.
    fn end(&mut self, is_there: bool) {
        self.ends.push(self.items.len());
        self.valid.push(is_there);
    }

    fn take(
        &mut self,
        item: DataType,
        array: impl FnOnce(Vec<T>) -> ArrayRef,
    ) -> Result<ArrayRef, StoreError> {
        let ends = std::mem::take(&mut self.ends);
        let starts = std::iter::once(0).chain(ends.iter().copied());
        let lengths = ends.iter().zip(starts).map(|(end, start)| end - start);
        let offsets = OffsetBuffer::from_lengths(lengths);
        let nulls = NullBuffer::new(BooleanBuffer::from(std::mem::take(&mut self.valid)));
        let items = array(std::mem::take(&mut self.items));
        let field = Arc::new(Field::new_list_field(item, true));
        Ok(Arc::new(ListArray::try_new(field, offsets, items, Some(nulls)).map_err(arrow)?))
    }
}

/// Columns of points while they are filled.
#[derive(Debug)]
pub(super) struct PointBuilder {
    /// The members asked for, in their order.
    members: Vec<usize>,
    wants_buckets: bool,
    /// For each point the place of its series in the batch.
    series: Vec<u32>,
    times: Vec<i64>,
    start_times: Optional<i64>,
    values: Optional<f64>,
    counts: Optional<u64>,
    sums: Optional<f64>,
    mins: Optional<f64>,
    maxs: Optional<f64>,
    bounds: OptionalLists<f64>,
    bucket_counts: OptionalLists<u64>,
    quantiles: OptionalLists<f64>,
    flags: Vec<i64>,
}

/// Arrays of points.
#[derive(Debug)]
pub(super) struct Built {
    /// For each point the place of its series in the batch.
    pub(super) series: Vec<u32>,
    /// The members asked for, in their order.
    pub(super) members: Vec<ArrayRef>,
}

impl Built {
    /// Only the points of series that are kept, which get new places.
    pub(super) fn retain(&mut self, is_kept: &[bool]) -> Result<(), StoreError> {
        let points: BooleanArray =
            self.series.iter().map(|series| Some(is_kept[*series as usize])).collect();
        for member in &mut self.members {
            *member = arrow_select::filter::filter(&*member, &points).map_err(arrow)?;
        }
        let mut places = Vec::with_capacity(is_kept.len());
        let mut next = 0;
        for is_kept in is_kept {
            places.push(next);
            next += u32::from(*is_kept);
        }
        self.series.retain(|series| is_kept[*series as usize]);
        self.series.iter_mut().for_each(|series| *series = places[*series as usize]);
        Ok(())
    }
}

impl PointBuilder {
    pub(super) fn new(members: &[usize]) -> Self {
        let lists = [point::BUCKET_BOUNDS, point::BUCKET_COUNTS, point::QUANTILES];
        Self {
            members: members.to_vec(),
            wants_buckets: members.iter().any(|member| lists.contains(member)),
            series: Vec::new(),
            times: Vec::new(),
            start_times: Optional::default(),
            values: Optional::default(),
            counts: Optional::default(),
            sums: Optional::default(),
            mins: Optional::default(),
            maxs: Optional::default(),
            bounds: OptionalLists::default(),
            bucket_counts: OptionalLists::default(),
            quantiles: OptionalLists::default(),
            flags: Vec::new(),
        }
    }

    /// Whether a batch should be made of what is there.
    pub(super) fn is_full(&self) -> bool {
        self.series.len() >= SCAN_BATCH_ROWS
            || self.bounds.items.len() + self.bucket_counts.items.len() >= SCAN_BATCH_MAX_ITEMS
    }

    /// Appends points from the one at `from` on, which are in order of time, until
    /// there are enough for a batch; returns where it stopped.
    pub(super) fn append(
        &mut self,
        points: &Points,
        from: usize,
        has_values: bool,
        time: Option<&Range<i64>>,
        series: u32,
    ) -> usize {
        let times = &points.times_nanos;
        let start = time.map_or(0, |time| times.partition_point(|t| *t < time.start)).max(from);
        let end = time.map_or(times.len(), |time| times.partition_point(|t| *t < time.end));
        if start >= end {
            return times.len();
        }
        if !has_values {
            let count = (end - start).min(SCAN_BATCH_ROWS.saturating_sub(self.series.len()));
            self.series.resize(self.series.len() + count, series);
            self.times.extend_from_slice(&times[start..start + count]);
            return if start + count == end { times.len() } else { start + count };
        }
        for (nth, value) in values(points).enumerate().take(end).skip(start) {
            if self.is_full() {
                return nth;
            }
            self.series.push(series);
            self.times.push(times[nth]);
            let start_time = points.start_times_nanos.get(nth).filter(|start| *start != 0);
            self.start_times.push(start_time);
            let flags = points.flags.get(nth).unwrap_or_default();
            self.flags.push(i64::from(flags));
            self.push_value((flags & NO_RECORDED_VALUE == 0).then_some(value));
        }
        times.len()
    }

    fn push_value(&mut self, value: Option<PointValue<'_>>) {
        let number = match value {
            Some(PointValue::Number(Number::Int(value))) => Some(value as f64),
            Some(PointValue::Number(Number::Double(value))) => Some(value),
            _ => None,
        };
        self.values.push(number);
        let (count, sum, min, max) = match &value {
            Some(PointValue::Histogram(h)) => (Some(h.count), h.sum, h.min, h.max),
            Some(PointValue::ExponentialHistogram(h)) => (Some(h.count), h.sum, h.min, h.max),
            Some(PointValue::Summary(s)) => (Some(s.count), Some(s.sum), None, None),
            Some(PointValue::NativeHistogram(h)) => {
                (Some(rounded(h.count)), Some(h.sum), None, None)
            }
            _ => (None, None, None, None),
        };
        self.counts.push(count);
        self.sums.push(sum);
        self.mins.push(min);
        self.maxs.push(max);
        if self.wants_buckets {
            self.push_buckets(value);
        }
    }

    fn push_buckets(&mut self, value: Option<PointValue<'_>>) {
        let (mut is_histogram, mut is_summary) = (false, false);
        match value {
            Some(PointValue::Histogram(histogram)) => {
                is_histogram = true;
                self.bounds.items.extend_from_slice(histogram.bounds);
                self.bucket_counts.items.extend_from_slice(histogram.bucket_counts);
            }
            Some(PointValue::ExponentialHistogram(histogram)) => {
                is_histogram = true;
                let (bounds, counts) = (&mut self.bounds.items, &mut self.bucket_counts.items);
                push_explicit(&histogram, bounds, counts);
            }
            Some(PointValue::NativeHistogram(histogram)) => {
                is_histogram = true;
                let (bounds, counts) = (&mut self.bounds.items, &mut self.bucket_counts.items);
                push_native(&histogram, bounds, counts);
            }
            Some(PointValue::Summary(summary)) => {
                is_summary = true;
                self.bounds.items.extend_from_slice(summary.values);
                self.quantiles.items.extend_from_slice(summary.quantiles);
            }
            _ => {}
        }
        self.bounds.end(is_histogram || is_summary);
        self.bucket_counts.end(is_histogram);
        self.quantiles.end(is_summary);
    }

    /// The arrays of what was appended; then there is nothing.
    pub(super) fn finish(&mut self) -> Result<Built, StoreError> {
        let fresh = Self::new(&self.members);
        let mut filled = std::mem::replace(self, fresh);
        let mut members: Vec<ArrayRef> = Vec::with_capacity(filled.members.len());
        for (nth, member) in self.members.iter().enumerate() {
            // A member may be asked for twice.
            let known = self.members[..nth].iter().position(|known| known == member);
            members.push(match known {
                Some(known) => members[known].clone(),
                None => filled.array(*member)?,
            });
        }
        Ok(Built { series: filled.series, members })
    }

    fn array(&mut self, member: usize) -> Result<ArrayRef, StoreError> {
        let time = |values: Vec<i64>, nulls| -> ArrayRef {
            Arc::new(TimestampNanosecondArray::new(values.into(), nulls).with_timezone("UTC"))
        };
        let doubles = |column: &mut Optional<f64>| -> ArrayRef {
            let (values, nulls) = column.take();
            Arc::new(Float64Array::new(values.into(), nulls))
        };
        Ok(match member {
            point::TIME => time(std::mem::take(&mut self.times), None),
            point::START_TIME => {
                let (values, nulls) = self.start_times.take();
                time(values, nulls)
            }
            point::VALUE => doubles(&mut self.values),
            point::COUNT => {
                let (values, nulls) = self.counts.take();
                Arc::new(UInt64Array::new(values.into(), nulls))
            }
            point::SUM => doubles(&mut self.sums),
            point::MIN => doubles(&mut self.mins),
            point::MAX => doubles(&mut self.maxs),
            point::BUCKET_BOUNDS => list_of_doubles(&mut self.bounds)?,
            point::BUCKET_COUNTS => {
                let array = |items| -> ArrayRef { Arc::new(UInt64Array::from(items)) };
                self.bucket_counts.take(DataType::UInt64, array)?
            }
            point::QUANTILES => list_of_doubles(&mut self.quantiles)?,
            _ => Arc::new(Int64Array::from(std::mem::take(&mut self.flags))),
        })
    }
}

fn list_of_doubles(lists: &mut OptionalLists<f64>) -> Result<ArrayRef, StoreError> {
    lists.take(DataType::Float64, |items| Arc::new(Float64Array::from(items)))
}
