//! One host over time: measures of it and of its GPUs, at common times.

use std::ops::Range;

use kymo_promql::eval::Times;
use serde::Serialize;

use super::ask::{Asking, Found};
use crate::answer::Failed;
use crate::machines::{LEAST_STEP_MILLIS, Measure, OF_GPUS, OF_HOSTS};
use crate::times::NANOS_PER_MILLI;

/// Times of an answer, unless it is asked for others.
const USUAL_POINTS: i64 = 240;
const MAX_POINTS: i64 = 2_000;
/// A name of a host has at most so many bytes.
const MAX_NAME_BYTES: usize = 256;
/// Measures that are figures, and no lines.
const CONSTANT: [&str; 3] = ["memory_total", "cores", "booted"];

/// What a host did.
#[derive(Debug, Serialize)]
pub(super) struct History {
    name: String,
    /// Milliseconds since 1970.
    times: Vec<i64>,
    measures: Vec<Lines>,
}

/// A measure with its series.
#[derive(Debug, Serialize)]
struct Lines {
    of: &'static str,
    name: &'static str,
    unit: &'static str,
    /// What was asked, to be explored.
    query: String,
    series: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    label: String,
    /// A value at each time, or none.
    values: Vec<Option<f64>>,
}

pub(super) async fn host(
    asking: &Asking<'_>,
    name: &str,
    range: &Range<i64>,
    points: Option<i64>,
) -> Result<History, Failed> {
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return Err(Failed::Invalid(format!(
            "name is {} bytes long: expected the name of a host, of 1 to {MAX_NAME_BYTES}",
            name.len()
        )));
    }
    let points = points.unwrap_or(USUAL_POINTS).clamp(2, MAX_POINTS);
    let (from, to) = (range.start / NANOS_PER_MILLI, range.end / NANOS_PER_MILLI);
    let step = ((to - from) / points).max(LEAST_STEP_MILLIS);
    // Whole steps, so that a range that moves asks for the same times again.
    let start = from - from.rem_euclid(step) + step;
    let times: Vec<i64> =
        (0..).map(|at| start + at * step).take_while(|time| *time <= to).collect();
    let asked = Times { start, end: times.last().copied().unwrap_or(start), step };
    let mut measures = Vec::new();
    for (of_what, list) in [("host", OF_HOSTS.as_slice()), ("gpu", OF_GPUS.as_slice())] {
        for measure in list.iter().filter(|measure| !CONSTANT.contains(&measure.name)) {
            let query = measure.of_hosts(&[name]);
            let found = asking.series(&query, asked).await?;
            if !found.is_empty() {
                measures.push(lines(of_what, measure, query, &found, asked, times.len()));
            }
        }
    }
    Ok(History { name: name.to_owned(), times, measures })
}

fn lines(
    of_what: &'static str,
    measure: &Measure,
    query: String,
    found: &[Found],
    asked: Times,
    count: usize,
) -> Lines {
    let mut series: Vec<Line> = found
        .iter()
        .map(|found| {
            let label = match found.labels.get("gpu") {
                Some(gpu) => format!("GPU {gpu}"),
                None => measure.name.to_owned(),
            };
            let mut values = vec![None; count];
            for (time, value) in &found.points {
                let at = usize::try_from((time - asked.start) / asked.step.max(1)).ok();
                if let Some(place) = at.and_then(|at| values.get_mut(at)) {
                    *place = Some(*value);
                }
            }
            Line { label, values }
        })
        .collect();
    series.sort_by(|a, b| a.label.cmp(&b.label));
    Lines { of: of_what, name: measure.name, unit: measure.unit, query, series }
}
