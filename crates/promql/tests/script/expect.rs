//! Comparing results with what is expected.

use kymo_promql::annotations::{Annotations, Severity};
use kymo_promql::eval::{Outcome, Times};
use kymo_promql::histogram::Histogram;
use kymo_promql::labels::Labels;
use kymo_promql::sample::Value;

use super::values::Item;
use super::{Case, Wanted};

/// Whether two numbers are equal but for rounding.
fn almost(a: f64, b: f64) -> bool {
    const EPSILON: f64 = 1e-6;
    if (a.is_nan() && b.is_nan()) || a == b {
        return true;
    }
    let (sum, difference) = (a.abs() + b.abs(), (a - b).abs());
    if a == 0.0 || b == 0.0 || sum < f64::MIN_POSITIVE {
        return difference < EPSILON * f64::MIN_POSITIVE;
    }
    if a.is_infinite() || b.is_infinite() {
        return false;
    }
    difference / sum.min(f64::MAX) < EPSILON
}

fn same_histogram(a: &Histogram, b: &Histogram) -> bool {
    let (left, right) = (a.json_buckets(), b.json_buckets());
    almost(a.count, b.count)
        && almost(a.sum, b.sum)
        && left.len() == right.len()
        && left
            .iter()
            .zip(&right)
            .all(|(x, y)| almost(x.1, y.1) && almost(x.2, y.2) && almost(x.3, y.3))
}

fn compare(expected: &Item, value: &Value) -> Result<(), String> {
    let is_equal = match (expected, value) {
        (Item::Float(a), Value::Float(b)) => almost(*a, *b),
        (Item::Histogram(a), Value::Histogram(b)) => same_histogram(a, b),
        _ => false,
    };
    match is_equal {
        true => Ok(()),
        false => Err(format!("expected {}, got {}", shown(expected), shown_value(value))),
    }
}

fn shown(item: &Item) -> String {
    match item {
        Item::Absent => "nothing".to_owned(),
        Item::Stale => "stale".to_owned(),
        Item::Float(value) => value.to_string(),
        Item::Histogram(histogram) => format!("{histogram:?}"),
    }
}

fn shown_value(value: &Value) -> String {
    match value {
        Value::Float(value) => value.to_string(),
        Value::Histogram(histogram) => format!("{histogram:?}"),
    }
}

fn check_vector(case: &Case, samples: &[(Labels, Value)]) -> Result<(), String> {
    let mut seen = vec![false; case.series.len()];
    for (place, (labels, value)) in samples.iter().enumerate() {
        let Some(nth) = case.series.iter().position(|(expected, _)| expected == labels) else {
            return Err(format!("unexpected {labels} {}", shown_value(value)));
        };
        if std::mem::replace(&mut seen[nth], true) {
            return Err(format!("{labels} comes twice"));
        }
        if case.ordered && nth != place {
            return Err(format!("{labels} comes at place {place}, not {nth}"));
        }
        compare(&case.series[nth].1[0], value).map_err(|why| format!("{labels}: {why}"))?;
    }
    match seen.iter().position(|seen| !seen) {
        Some(nth) => Err(format!("{} is missing", case.series[nth].0)),
        None => Ok(()),
    }
}

/// Compares a result.
pub(crate) fn value(case: &Case, outcome: &Outcome, times: &Times) -> Result<(), String> {
    match outcome {
        Outcome::Scalar { value, .. } => match case.scalar {
            Some(expected) if almost(expected, *value) => Ok(()),
            expected => Err(format!("expected {expected:?}, got {value}")),
        },
        Outcome::Text { value, .. } => match &case.text {
            Some(expected) if expected == value => Ok(()),
            expected => Err(format!("expected {expected:?}, got {value:?}")),
        },
        Outcome::Vector { samples, .. } => {
            if case.scalar.is_some() || case.text.is_some() {
                return Err("expected a scalar or text, got a vector".to_owned());
            }
            let samples = samples.iter().map(|s| (s.labels.clone(), s.value.clone()));
            check_vector(case, &samples.collect::<Vec<_>>())
        }
        Outcome::Matrix(series) => {
            let (start, step) = match (&case.range, times.is_instant()) {
                (Some(range), _) => *range,
                (None, false) => (times.start, times.step),
                (None, true) => return Err("a range was not expected".to_owned()),
            };
            if !series.is_sorted_by(|a, b| a.labels < b.labels) {
                return Err("series are not in order".to_owned());
            }
            let mut missing: Vec<&Labels> = case.series.iter().map(|(labels, _)| labels).collect();
            for found in series {
                let expected = case.series.iter().find(|(labels, _)| *labels == found.labels);
                let Some((labels, items)) = expected else {
                    return Err(format!("unexpected {} {:?}", found.labels, found.floats));
                };
                missing.retain(|missing| *missing != labels);
                let mut expected = items.iter().enumerate().filter_map(|(nth, item)| {
                    let time = start + nth as i64 * step;
                    (!matches!(item, Item::Absent)).then_some((time, item))
                });
                let floats = found.floats.iter().map(|(t, v)| (*t, Value::Float(*v)));
                let histograms =
                    found.histograms.iter().map(|(t, h)| (*t, Value::Histogram(h.clone())));
                let mut values: Vec<(i64, Value)> = floats.chain(histograms).collect();
                values.sort_by_key(|(time, _)| *time);
                for (time, value) in values {
                    let Some((expected_time, item)) = expected.next() else {
                        return Err(format!("{labels}: one more at {time}"));
                    };
                    if expected_time != time {
                        return Err(format!("{labels}: at {time}, expected {expected_time}"));
                    }
                    compare(item, &value).map_err(|why| format!("{labels} at {time}: {why}"))?;
                }
                if let Some((time, _)) = expected.next() {
                    return Err(format!("{labels}: nothing at {time}"));
                }
            }
            match missing.first() {
                Some(labels) => Err(format!("{labels} is missing")),
                None => Ok(()),
            }
        }
    }
}

/// Compares the middle of a range.
pub(crate) fn middle(case: &Case, outcome: &Outcome, time: i64) -> Result<(), String> {
    let Outcome::Matrix(series) = outcome else { return Err("no range".to_owned()) };
    let mut samples = Vec::new();
    for series in series {
        for (_, value) in series.floats.iter().filter(|(t, _)| *t == time) {
            samples.push((series.labels.clone(), Value::Float(*value)));
        }
        for (_, histogram) in series.histograms.iter().filter(|(t, _)| *t == time) {
            samples.push((series.labels.clone(), Value::Histogram(histogram.clone())));
        }
    }
    match (case.scalar, &samples[..]) {
        (Some(expected), [(_, Value::Float(value))]) if almost(expected, *value) => Ok(()),
        (Some(expected), found) => Err(format!("expected {expected}, got {found:?}")),
        (None, _) => check_vector(case, &samples),
    }
}

/// Compares what was said beside the result.
pub(crate) fn annotations(case: &Case, annotations: &Annotations) -> Result<(), String> {
    let warnings = annotations.texts(Severity::Warning, &case.query, 0);
    let infos = annotations.texts(Severity::Info, &case.query, 0);
    for (expected, found, none) in
        [(&case.warnings, &warnings, case.no_warnings), (&case.infos, &infos, case.no_infos)]
    {
        if none && !found.is_empty() {
            return Err(format!("unexpected {found:?}"));
        }
        if expected.is_empty() {
            continue;
        }
        let is_missing = |wanted: &&Wanted| !found.iter().any(|text| wanted.matches(text));
        if let Some(wanted) = expected.iter().find(is_missing) {
            return Err(format!("{wanted:?} is not among {found:?}"));
        }
        let is_unexpected = |text: &&String| !expected.iter().any(|wanted| wanted.matches(text));
        if let Some(text) = found.iter().find(is_unexpected) {
            return Err(format!("unexpected {text}"));
        }
    }
    Ok(())
}
