//! Where a series is heading: `deriv`, `predict_linear`,
//! `double_exponential_smoothing`.

use super::error::EvalError;
use super::window::{Around, Window};
use crate::annotations::Annotations;
use crate::kahan::Sum;
use crate::sample::Value;

/// Slope, and value at a time, of the line that fits the samples best.
fn regression(times: &[i64], values: &[f64], at: i64) -> (f64, f64) {
    let first = values[0];
    if values.iter().all(|value| *value == first) {
        return if first.is_infinite() { (f64::NAN, f64::NAN) } else { (0.0, first) };
    }
    let (mut x_sum, mut y_sum) = (Sum::default(), Sum::default());
    let (mut xy_sum, mut xx_sum) = (Sum::default(), Sum::default());
    for (time, y) in times.iter().zip(values) {
        let x = (time - at) as f64 / 1000.0;
        x_sum.add(x);
        y_sum.add(*y);
        xy_sum.add(x * y);
        xx_sum.add(x * x);
    }
    let n = values.len() as f64;
    let (x, y) = (x_sum.total(), y_sum.total());
    let covariance = xy_sum.total() - x * y / n;
    let variance = xx_sum.total() - x * x / n;
    let slope = covariance / variance;
    (slope, y / n - slope * x / n)
}

/// Whether there are floats enough; notes that histograms are not looked at.
fn has_two_floats(window: &Window<'_>, around: &Around<'_>, notes: &mut Annotations) -> bool {
    if !window.times.is_empty() && !window.histograms.is_empty() {
        notes.ignored_in_mixed_range(around.metric_name(), around.span);
    }
    window.times.len() >= 2
}

/// `deriv(range)`
pub(crate) fn deriv(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Result<Option<Value>, EvalError> {
    if !has_two_floats(window, around, notes) {
        return Ok(None);
    }
    // Times relative to one nearby lose the fewest digits.
    let (slope, _) = regression(window.times, window.values, window.times[0]);
    Ok(Some(Value::Float(slope)))
}

/// `predict_linear(range, seconds)`
pub(crate) fn predict_linear(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Result<Option<Value>, EvalError> {
    let [ahead_secs, ..] = around.params else { return Ok(None) };
    if !has_two_floats(window, around, notes) {
        return Ok(None);
    }
    let (slope, now) = regression(window.times, window.values, around.step_time);
    Ok(Some(Value::Float(slope * ahead_secs + now)))
}

/// `double_exponential_smoothing(range, smoothing, trend)`
pub(crate) fn double_exponential_smoothing(
    window: &Window<'_>,
    around: &Around<'_>,
    notes: &mut Annotations,
) -> Result<Option<Value>, EvalError> {
    let [smoothing, trend, ..] = *around.params else { return Ok(None) };
    for (name, letters, factor) in [("smoothing", "sf", smoothing), ("trend", "tf", trend)] {
        if factor <= 0.0 || factor >= 1.0 {
            return Err(EvalError::Execution(format!(
                "invalid {name} factor. Expected: 0 < {letters} < 1, got: {factor:.6}"
            )));
        }
    }
    if !has_two_floats(window, around, notes) {
        return Ok(None);
    }
    let values = window.values;
    let (mut before, mut smoothed) = (0.0, values[0]);
    let mut slope = values[1] - values[0];
    for (nth, value) in values.iter().enumerate().skip(1) {
        if nth > 1 {
            slope = trend * (smoothed - before) + (1.0 - trend) * slope;
        }
        let next = smoothing * value + (1.0 - smoothing) * (smoothed + slope);
        (before, smoothed) = (smoothed, next);
    }
    Ok(Some(Value::Float(smoothed)))
}
