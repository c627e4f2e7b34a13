//! Summaries of a range: the functions `…_over_time`.

use std::sync::Arc;

use super::accumulate::Mean;
use super::error::EvalError;
use super::window::{Around, Window};
use crate::annotations::{Annotations, Operation};
use crate::histogram::{Histogram, ResetHint};
use crate::kahan::Sum;
use crate::sample::Value;

type Summary = Result<Option<Value>, EvalError>;

fn float(value: f64) -> Summary {
    Ok(Some(Value::Float(value)))
}

/// Whether there are floats; notes if histograms beside them are not looked at.
fn has_floats(window: &Window<'_>, around: &Around<'_>, notes: &mut Annotations) -> bool {
    if !window.times.is_empty() && !window.histograms.is_empty() {
        notes.ignored_in_mixed_range(around.metric_name(), around.span);
    }
    !window.times.is_empty()
}

/// `present_over_time(range)`
pub(crate) fn present(_: &Window<'_>, _: &Around<'_>, _: &mut Annotations) -> Summary {
    float(1.0)
}

/// `count_over_time(range)`
pub(crate) fn count(window: &Window<'_>, _: &Around<'_>, _: &mut Annotations) -> Summary {
    float((window.times.len() + window.histograms.len()) as f64)
}

/// `first_over_time(range)`
pub(crate) fn first(window: &Window<'_>, _: &Around<'_>, _: &mut Annotations) -> Summary {
    Ok(match (window.times.first(), window.histograms.first()) {
        (Some(time), Some(sample)) if *time >= sample.time => {
            Some(Value::Histogram(sample.value.clone()))
        }
        (Some(_), _) => window.values.first().copied().map(Value::Float),
        (None, sample) => sample.map(|sample| Value::Histogram(sample.value.clone())),
    })
}

/// `last_over_time(range)`
pub(crate) fn last(window: &Window<'_>, _: &Around<'_>, _: &mut Annotations) -> Summary {
    Ok(match (window.times.last(), window.histograms.last()) {
        (Some(time), Some(sample)) if *time <= sample.time => {
            Some(Value::Histogram(sample.value.clone()))
        }
        (Some(_), _) => window.values.last().copied().map(Value::Float),
        (None, sample) => sample.map(|sample| Value::Histogram(sample.value.clone())),
    })
}

/// `ts_of_first_over_time(range)`
pub(crate) fn time_of_first(window: &Window<'_>, _: &Around<'_>, _: &mut Annotations) -> Summary {
    let histogram = window.histograms.first().map(|sample| sample.time);
    let first = window.times.first().copied().into_iter().chain(histogram).min();
    float(first.unwrap_or(i64::MAX) as f64 / 1000.0)
}

/// `ts_of_last_over_time(range)`
pub(crate) fn time_of_last(window: &Window<'_>, _: &Around<'_>, _: &mut Annotations) -> Summary {
    let histogram = window.histograms.last().map(|sample| sample.time);
    let last = window.times.last().copied().into_iter().chain(histogram).max();
    float(last.unwrap_or(0) as f64 / 1000.0)
}

/// The place of the value that wins against all before it.
fn winner(values: &[f64], wins: impl Fn(f64, f64) -> bool) -> usize {
    let mut best = 0;
    for (nth, value) in values.iter().enumerate() {
        if wins(*value, values[best]) || values[best].is_nan() {
            best = nth;
        }
    }
    best
}

/// `max_over_time(range)`
pub(crate) fn max(window: &Window<'_>, around: &Around<'_>, notes: &mut Annotations) -> Summary {
    if !has_floats(window, around, notes) {
        return Ok(None);
    }
    float(window.values[winner(window.values, |value, best| value > best)])
}

/// `min_over_time(range)`
pub(crate) fn min(window: &Window<'_>, around: &Around<'_>, notes: &mut Annotations) -> Summary {
    if !has_floats(window, around, notes) {
        return Ok(None);
    }
    float(window.values[winner(window.values, |value, best| value < best)])
}

/// `ts_of_max_over_time(range)`
pub(crate) fn time_of_max(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Summary {
    if !has_floats(window, around, notes) {
        return Ok(None);
    }
    float(window.times[winner(window.values, |value, best| value >= best)] as f64 / 1000.0)
}

/// `ts_of_min_over_time(range)`
pub(crate) fn time_of_min(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Summary {
    if !has_floats(window, around, notes) {
        return Ok(None);
    }
    float(window.times[winner(window.values, |value, best| value <= best)] as f64 / 1000.0)
}

/// Variance, with sums that remember what rounding took.
fn variance(values: &[f64]) -> f64 {
    let (mut mean, mut squares) = (Sum::default(), Sum::default());
    for (nth, value) in values.iter().enumerate() {
        let from_mean = value - mean.total();
        mean.add(from_mean / (nth + 1) as f64);
        squares.add(from_mean * (value - mean.total()));
    }
    squares.total() / values.len() as f64
}

/// `stdvar_over_time(range)`
pub(crate) fn stdvar(window: &Window<'_>, around: &Around<'_>, notes: &mut Annotations) -> Summary {
    if has_floats(window, around, notes) { float(variance(window.values)) } else { Ok(None) }
}

/// `stddev_over_time(range)`
pub(crate) fn stddev(window: &Window<'_>, around: &Around<'_>, notes: &mut Annotations) -> Summary {
    if has_floats(window, around, notes) { float(variance(window.values).sqrt()) } else { Ok(None) }
}

/// The value below which a fraction `q` of the values lies, between neighbours if
/// need be. Orders the values, NaN first.
pub(crate) fn quantile_of(q: f64, values: &mut [f64]) -> f64 {
    if values.is_empty() || q.is_nan() {
        return f64::NAN;
    }
    if q < 0.0 {
        return f64::NEG_INFINITY;
    }
    if q > 1.0 {
        return f64::INFINITY;
    }
    values.sort_by(|a, b| b.is_nan().cmp(&a.is_nan()).then_with(|| a.total_cmp(b)));
    let rank = q * (values.len() - 1) as f64;
    let lower = rank.floor() as usize;
    let upper = (lower + 1).min(values.len() - 1);
    let weight = rank - rank.floor();
    values[lower] * (1.0 - weight) + values[upper] * weight
}

/// `quantile_over_time(q, range)`
pub(crate) fn quantile(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Summary {
    let [q, ..] = *around.params else { return Ok(None) };
    if window.times.is_empty() {
        return Ok(None);
    }
    if !(0.0..=1.0).contains(&q) {
        notes.invalid_quantile(q, around.span);
    }
    has_floats(window, around, notes);
    float(quantile_of(q, &mut window.values.to_vec()))
}

/// `mad_over_time(range)`: the median of the distances from the median.
pub(crate) fn mad(window: &Window<'_>, around: &Around<'_>, notes: &mut Annotations) -> Summary {
    if !has_floats(window, around, notes) {
        return Ok(None);
    }
    if window.values.iter().any(|value| value.is_nan()) {
        return float(f64::NAN);
    }
    let mut values = window.values.to_vec();
    let median = quantile_of(0.5, &mut values);
    values.iter_mut().for_each(|value| *value = (*value - median).abs());
    float(quantile_of(0.5, &mut values))
}

/// Whether floats and histograms are mixed, which is noted.
fn is_mixed(window: &Window<'_>, around: &Around<'_>, notes: &mut Annotations) -> bool {
    let is_mixed = !window.times.is_empty() && !window.histograms.is_empty();
    if is_mixed {
        notes.mixed_floats_histograms(around.metric_name(), around.span);
    }
    is_mixed
}

/// `sum_over_time(range)`
pub(crate) fn sum(window: &Window<'_>, around: &Around<'_>, notes: &mut Annotations) -> Summary {
    if is_mixed(window, around, notes) {
        return Ok(None);
    }
    if window.histograms.is_empty() {
        let sum: Sum = window.values.iter().copied().collect();
        return float(if sum.sum.is_infinite() { sum.sum } else { sum.total() });
    }
    Ok(summed(window, around, notes, false))
}

/// `avg_over_time(range)`
pub(crate) fn avg(window: &Window<'_>, around: &Around<'_>, notes: &mut Annotations) -> Summary {
    if is_mixed(window, around, notes) {
        return Ok(None);
    }
    if window.histograms.is_empty() {
        let mut mean = Mean::new(window.values[0]);
        window.values[1..].iter().for_each(|value| mean.add(*value));
        return float(mean.value());
    }
    Ok(summed(window, around, notes, true))
}

/// Sum or mean of histograms.
fn summed(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
    is_mean: bool,
) -> Option<Value> {
    let (first, rest) = window.histograms.split_first()?;
    let mut total = super::accumulate::HistogramSum::new(&first.value, is_mean);
    for sample in rest {
        if total.add(&sample.value).is_err() {
            notes.mixed_exponential_custom(around.metric_name(), around.span);
            return None;
        }
    }
    let has = |hint| window.histograms.iter().any(|sample| sample.value.hint == hint);
    if has(ResetHint::Reset) && has(ResetHint::NotReset) {
        notes.reset_collision(Operation::Aggregation, around.span);
    }
    if total.bounds_reconciled {
        notes.bounds_reconciled(Operation::Aggregation, around.span);
    }
    let result: Histogram = total.finish();
    Some(Value::Histogram(Arc::new(result)))
}
