//! `anchored` and `smoothed`: ranges whose edges have values of their own.
//!
//! *Anchored*: the last sample at or before the beginning stands at the beginning.
//! *Smoothed*: at both edges the value is interpolated between the samples around
//! them. Nothing is extrapolated then.

use std::sync::Arc;

use super::rate::{Kind, add, subtract};
use super::window::{Around, Window};
use crate::annotations::{Annotations, Operation};
use crate::ast::{Edges, Span};
use crate::histogram::{Histogram, ResetHint};
use crate::sample::{HistogramSample, Samples, Value};

/// Functions that `anchored` ranges can be given to.
pub(crate) const ANCHORED_FUNCTIONS: [&str; 5] = ["changes", "delta", "increase", "rate", "resets"];
/// Functions that `smoothed` ranges can be given to.
pub(crate) const SMOOTHED_FUNCTIONS: [&str; 3] = ["delta", "increase", "rate"];

/// The value between two samples. A counter that fell began at zero.
fn interpolated(before: (i64, f64), behind: (i64, f64), time: i64, is_counter: bool) -> f64 {
    let ((t1, mut y1), (t2, y2)) = (before, behind);
    if is_counter && y2 < y1 {
        y1 = 0.0;
    }
    y1 + (y2 - y1) * (time - t1) as f64 / (t2 - t1) as f64
}

/// The samples that matter for a range: from the last before its beginning to its
/// end, or the first behind it.
fn relevant(
    count: usize,
    time: impl Fn(usize) -> i64,
    start: i64,
    end: i64,
    is_smoothed: bool,
) -> Option<(usize, usize)> {
    let last = count.checked_sub(1)?;
    // The first of those but the last for which it holds; the last if for none.
    let search =
        |holds: &dyn Fn(i64) -> bool| (0..last).find(|nth| holds(time(*nth))).unwrap_or(last);
    let first = search(&|t| t > start).saturating_sub(1);
    let last = if is_smoothed { search(&|t| t >= end) } else { last };
    let is_before = time(last) <= start;
    let is_behind = is_smoothed && time(first) > end;
    (!is_before && !is_behind).then_some((first, last))
}

/// The growth over a range with edges.
pub(crate) fn growth(
    window: &Window<'_>,
    around: &Around<'_>,
    kind: Kind,
    notes: &mut Annotations,
) -> Option<Value> {
    if window.histograms.is_empty() {
        float_growth(window, around, kind).map(Value::Float)
    } else {
        let grown = histogram_growth(window.histograms, around, kind, notes)?;
        Some(Value::Histogram(Arc::new(grown)))
    }
}

fn float_growth(window: &Window<'_>, around: &Around<'_>, kind: Kind) -> Option<f64> {
    let is_smoothed = around.edges == Edges::Smoothed;
    let (start, end) = (around.start, around.end);
    let point = |nth: usize| (window.times[nth], window.values[nth]);
    let (mut first, mut last) =
        relevant(window.times.len(), |nth| window.times[nth], start, end, is_smoothed)?;
    let left = if is_smoothed && window.times[first] < start {
        interpolated(point(first), point(first + 1), start, kind.is_counter)
    } else {
        window.values[first]
    };
    let right = if is_smoothed && last > 0 && window.times[last] > end {
        interpolated(point(last - 1), point(last), end, kind.is_counter)
    } else {
        window.values[last]
    };
    let mut grown = right - left;
    if kind.is_counter {
        // What lies at the edges is in `left` and `right` already.
        if window.times[first] <= start {
            first += 1;
        }
        let inner = if window.times[last] >= end { last } else { last + 1 };
        last = inner.max(first);
        let (mut before, mut lost) = (left, 0.0);
        for value in window.values[first..last].iter().chain([&right]) {
            if *value < before {
                lost += before;
            }
            before = *value;
        }
        grown += lost;
    }
    Some(if kind.is_rate { grown / around.range_secs() } else { grown })
}

/// The histogram between two others. A counter that was reset began empty.
fn interpolated_histogram(
    before: &HistogramSample,
    behind: &HistogramSample,
    time: i64,
    is_counter: bool,
    span: Span,
    notes: &mut Annotations,
) -> Option<Histogram> {
    if time == before.time {
        return Some((*before.value).clone());
    }
    if time == behind.time {
        return Some((*behind.value).clone());
    }
    let fraction = (time - before.time) as f64 / (behind.time - before.time) as f64;
    let mut result = (*behind.value).clone();
    if is_counter && behind.value.detect_reset(&before.value) {
        result.multiply(fraction);
        return Some(result);
    }
    let subtracted = result.subtract(&before.value).ok()?;
    if subtracted.bounds_reconciled {
        notes.bounds_reconciled(Operation::Subtraction, span);
    }
    result.multiply(fraction);
    let added = result.add(&before.value).ok()?;
    if added.bounds_reconciled {
        notes.bounds_reconciled(Operation::Addition, span);
    }
    Some(result)
}

fn histogram_growth(
    samples: &[HistogramSample],
    around: &Around<'_>,
    kind: Kind,
    notes: &mut Annotations,
) -> Option<Histogram> {
    let is_smoothed = around.edges == Edges::Smoothed;
    let (start, end, span) = (around.start, around.end, around.span);
    let (first, last) = relevant(samples.len(), |nth| samples[nth].time, start, end, is_smoothed)?;
    let is_custom = samples[first].value.uses_custom_buckets();
    for sample in &samples[first..=last] {
        if sample.value.uses_custom_buckets() != is_custom {
            notes.mixed_exponential_custom(around.metric_name(), span);
            return None;
        }
        if kind.is_counter && sample.value.hint == ResetHint::Gauge {
            notes.not_counter_histogram(around.metric_name(), span);
        }
    }
    let between = |before: usize, time: i64, notes: &mut Annotations| {
        let (before, behind) = (&samples[before], &samples[before + 1]);
        interpolated_histogram(before, behind, time, kind.is_counter, span, notes)
    };
    let left = if is_smoothed && samples[first].time < start {
        between(first, start, notes)
    } else {
        Some((*samples[first].value).clone())
    };
    let right = if is_smoothed && last > 0 && samples[last].time > end {
        between(last - 1, end, notes)
    } else {
        Some((*samples[last].value).clone())
    };
    let (Some(left), Some(right)) = (left, right) else {
        notes.mixed_exponential_custom(around.metric_name(), span);
        return None;
    };
    let is_gauge = |histogram: &Histogram| histogram.hint == ResetHint::Gauge;
    if !kind.is_counter && (!is_gauge(&left) || !is_gauge(&right)) {
        notes.not_gauge_histogram(around.metric_name(), span);
    }
    let mut grown = right.clone();
    subtract(&mut grown, &left, around, notes)?;
    if kind.is_counter {
        let inside = Inside { samples, first, last, left: &left, right: &right };
        let lost = inside.lost(is_smoothed, around, notes)?;
        if let Some(lost) = lost {
            add(&mut grown, &lost, around, notes)?;
        }
    }
    if kind.is_rate {
        grown.divide(around.range_secs());
    }
    grown.hint = ResetHint::Gauge;
    grown.compact(0);
    Some(grown)
}

/// The samples of a range between the histograms at its edges.
struct Inside<'a> {
    samples: &'a [HistogramSample],
    first: usize,
    last: usize,
    left: &'a Histogram,
    right: &'a Histogram,
}

impl Inside<'_> {
    /// What resets took away; `None` within if nothing.
    #[allow(clippy::option_option)]
    fn lost(
        &self,
        is_smoothed: bool,
        around: &Around<'_>,
        notes: &mut Annotations,
    ) -> Option<Option<Histogram>> {
        let samples = self.samples;
        // The sample at the left edge is `left`.
        let (mut from, mut before) = (self.first + 1, self.left);
        if is_smoothed
            && samples[self.first].time < around.start
            && samples[from].value.detect_reset(&samples[self.first].value)
        {
            // The interpolation at the left spans this reset already.
            before = &samples[from].value;
            from += 1;
        }
        // That at the right edge is `right`, or has gone into it with its hint.
        if from > self.last {
            return Some(None);
        }
        let mut lost: Option<Histogram> = None;
        let inner = samples[from..self.last].iter().map(|sample| &*sample.value);
        for now in inner.chain([self.right]) {
            if now.detect_reset(before) {
                match &mut lost {
                    None => lost = Some(before.clone()),
                    Some(lost) => add(lost, before, around, notes)?,
                }
            }
            before = now;
        }
        Some(lost)
    }
}

/// The value of a series at a time, between the samples around it.
pub(crate) fn smoothed_value(
    samples: &Samples,
    time: i64,
    lookback: i64,
    metric: &str,
    span: Span,
    notes: &mut Annotations,
) -> Option<Value> {
    let (from, to) = (time - lookback, time + lookback);
    let floats =
        samples.times.partition_point(|t| *t <= from)..samples.times.partition_point(|t| *t <= to);
    let histograms = samples.histograms.partition_point(|s| s.time <= from)
        ..samples.histograms.partition_point(|s| s.time <= to);
    if !floats.is_empty() && !histograms.is_empty() {
        notes.mixed_floats_histograms(metric, span);
        return None;
    }
    if !histograms.is_empty() {
        let inside = &samples.histograms[histograms];
        return smoothed_histogram(inside, time, metric, span, notes)
            .map(|histogram| Value::Histogram(Arc::new(histogram)));
    }
    let (times, values) = (&samples.times[floats.clone()], &samples.values[floats]);
    let behind = times.partition_point(|t| *t < time);
    if times.get(behind) == Some(&time) {
        return Some(Value::Float(values[behind]));
    }
    let before = behind.checked_sub(1)?;
    let Some(next) = times.get(behind) else { return Some(Value::Float(values[before])) };
    let (before, behind) = ((times[before], values[before]), (*next, values[behind]));
    Some(Value::Float(interpolated(before, behind, time, false)))
}

fn smoothed_histogram(
    samples: &[HistogramSample],
    time: i64,
    metric: &str,
    span: Span,
    notes: &mut Annotations,
) -> Option<Histogram> {
    let behind = samples.partition_point(|sample| sample.time < time);
    let next = samples.get(behind);
    if let Some(exact) = next.filter(|sample| sample.time == time) {
        return Some((*exact.value).clone());
    }
    let before = &samples[behind.checked_sub(1)?];
    let Some(next) = next else {
        // The hint tells of the sample before, not of the value.
        return Some(Histogram { hint: ResetHint::Unknown, ..(*before.value).clone() });
    };
    let is_gauge = |sample: &HistogramSample| sample.value.hint == ResetHint::Gauge;
    let is_counter = !is_gauge(before) || !is_gauge(next);
    let is_mixed = before.value.uses_custom_buckets() != next.value.uses_custom_buckets();
    let between = match is_mixed {
        true => None,
        false => interpolated_histogram(before, next, time, is_counter, span, notes),
    };
    if between.is_none() {
        notes.mixed_exponential_custom(metric, span);
    }
    between
}

/// The floats of a range, with values at its edges.
pub(crate) fn with_edges(samples: &Samples, start: i64, end: i64, edges: Edges) -> Samples {
    let is_smoothed = edges == Edges::Smoothed;
    let (times, values) = (&samples.times, &samples.values);
    let mut result = Samples::default();
    // Nothing is known before the first sample; a range that ends there has its value
    // throughout, as in Prometheus.
    if let (true, [first, ..], [value, ..]) = (is_smoothed, &times[..], &values[..])
        && *first > end
    {
        result.times.extend([start, end]);
        result.values.extend([*value; 2]);
        return result;
    }
    let Some((first, last)) = relevant(times.len(), |nth| times[nth], start, end, is_smoothed)
    else {
        return result;
    };
    let point = |nth: usize| (times[nth], values[nth]);
    let left = match is_smoothed && times[first] < start {
        true => interpolated(point(first), point(first + 1), start, false),
        false => values[first],
    };
    let right = match is_smoothed && last > 0 && times[last] > end {
        true => interpolated(point(last - 1), point(last), end, false),
        false => values[last],
    };
    let inner = (first..=last).filter(|nth| times[*nth] > start && times[*nth] < end);
    let inner: Vec<_> = inner.map(point).collect();
    for (time, value) in [(start, left)].into_iter().chain(inner).chain([(end, right)]) {
        result.times.push(time);
        result.values.push(value);
    }
    result
}
