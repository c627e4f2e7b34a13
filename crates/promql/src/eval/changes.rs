//! How often a series changed or began anew: `changes`, `resets`.

use super::error::EvalError;
use super::window::{Around, Window, is_start_reset};
use crate::annotations::Annotations;
use crate::ast::Edges;
use crate::histogram::Histogram;
use crate::sample::Value;

/// A sample, of either kind.
#[derive(Debug, Clone, Copy)]
struct Mixed<'a> {
    time: i64,
    start: i64,
    value: MixedValue<'a>,
}

#[derive(Debug, Clone, Copy)]
enum MixedValue<'a> {
    Float(f64),
    Histogram(&'a Histogram),
}

/// The samples of a window in order of time. Of an anchored range those before its
/// beginning but the last are left out; `None` if then nothing lies within.
fn in_order<'a>(window: &Window<'a>, around: &Around<'_>) -> Option<Vec<Mixed<'a>>> {
    let float = |nth: usize| Mixed {
        time: window.times[nth],
        start: window.starts.get(nth).copied().unwrap_or(0),
        value: MixedValue::Float(window.values[nth]),
    };
    let mut samples: Vec<Mixed<'a>> = (0..window.times.len()).map(float).collect();
    samples.extend(window.histograms.iter().map(|sample| Mixed {
        time: sample.time,
        start: around.start_of(sample),
        value: MixedValue::Histogram(&sample.value),
    }));
    if !window.histograms.is_empty() {
        samples.sort_by_key(|sample| sample.time);
    }
    if around.edges == Edges::Anchored {
        let inside = samples.partition_point(|sample| sample.time <= around.start);
        if inside == samples.len() {
            return None;
        }
        samples.drain(..inside.saturating_sub(1));
    }
    Some(samples)
}

fn count(
    window: &Window<'_>,
    around: &Around<'_>,
    is_counted: impl Fn(&Mixed<'_>, &Mixed<'_>) -> bool,
) -> Option<Value> {
    let samples = in_order(window, around)?;
    let pairs = samples.windows(2).filter(|pair| is_counted(&pair[0], &pair[1]));
    Some(Value::Float(pairs.count() as f64))
}

/// `changes(range)`
pub(crate) fn changes(
    window: &Window<'_>,
    around: &Around<'_>,
    _: &mut Annotations,
) -> Result<Option<Value>, EvalError> {
    Ok(count(window, around, |before, now| match (before.value, now.value) {
        (MixedValue::Float(a), MixedValue::Float(b)) => a != b && !(a.is_nan() && b.is_nan()),
        (MixedValue::Histogram(a), MixedValue::Histogram(b)) => !b.equals(a),
        _ => true,
    }))
}

/// `resets(range)`
pub(crate) fn resets(
    window: &Window<'_>,
    around: &Around<'_>,
    _: &mut Annotations,
) -> Result<Option<Value>, EvalError> {
    Ok(count(window, around, |before, now| {
        let is_start = is_start_reset((before.start, before.time), (now.start, now.time));
        match (before.value, now.value) {
            (MixedValue::Float(a), MixedValue::Float(b)) => b < a || is_start,
            (MixedValue::Histogram(a), MixedValue::Histogram(b)) => is_start || b.detect_reset(a),
            _ => true,
        }
    }))
}
