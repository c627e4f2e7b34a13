//! `target_info`: one series for each resource, with its attributes as labels.
//!
//! It has no points of its own. It is 1 from the first to the last point of any
//! series of its resource, as often as it takes to be seen at any time between.

use std::sync::Arc;

use hashbrown::HashMap;
use kymo_promql::labels::Labels;
use kymo_promql::sample::Samples;
use kymo_promql::source::Series;

use super::find::{Conditions, Found, TimeRange};

/// The distance of samples: half of how long a sample is current.
const STEP_MILLIS: i64 = 150_000;
const NANOS_PER_MILLI: i64 = 1_000_000;

/// The series of targets that were found.
pub(crate) fn series(conditions: &Conditions<'_>, found: &Found, range: TimeRange) -> Vec<Series> {
    let mut spans: HashMap<&Labels, Vec<(i64, i64)>> = HashMap::new();
    for piece in &found.pieces {
        let Some(labels) = &piece.series.target else { continue };
        let fulfils = |m: &kymo_promql::matcher::LabelMatcher| {
            m.matches(labels.get(&m.name).unwrap_or_default())
        };
        if conditions.all().iter().all(fulfils) {
            // Nobody sees what lies outside, and rows may be long.
            let start = piece.min_time_nanos.max(range.start).div_euclid(NANOS_PER_MILLI);
            let end = piece.max_time_nanos.min(range.end).div_euclid(NANOS_PER_MILLI);
            spans.entry(labels).or_default().push((start, end));
        }
    }
    let mut all: Vec<Series> = spans
        .into_iter()
        .map(|(labels, spans)| {
            let times = times_of(spans);
            let samples = Samples { values: vec![1.0; times.len()], times, ..Samples::default() };
            Series { labels: labels.clone(), samples: Arc::new(samples) }
        })
        .collect();
    all.sort_by(|a, b| a.labels.cmp(&b.labels));
    all
}

/// Times within spans, which may overlap.
fn times_of(mut spans: Vec<(i64, i64)>) -> Vec<i64> {
    spans.sort_unstable();
    let mut times: Vec<i64> = Vec::new();
    let mut end = i64::MIN;
    for (start, until) in spans {
        let mut time = start.max(end);
        while time <= until {
            if times.last().is_none_or(|last| *last < time) {
                times.push(time);
            }
            time += STEP_MILLIS;
        }
        if times.last().is_none_or(|last| *last < until) {
            times.push(until);
        }
        end = end.max(until);
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_there_as_long_as_its_series() {
        assert_eq!(times_of(vec![(0, 0)]), [0]);
        assert_eq!(times_of(vec![(0, 200_000)]), [0, 150_000, 200_000]);
        let several = times_of(vec![(100, 200_000), (0, 10), (150_000, 160_000)]);
        assert!(several.is_sorted_by(|a, b| a < b));
        assert_eq!((several[0], *several.last().unwrap()), (0, 200_000));
        assert!(several.windows(2).all(|pair| pair[1] - pair[0] <= STEP_MILLIS));
    }
}
