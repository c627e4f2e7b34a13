//! `target_info`: one series for each resource, with its attributes as labels.
//!
//! It has no points of its own. It is 1 from the first to the last point of any
//! series of its resource, as often as it takes to be seen at any time between.

use std::sync::Arc;

use hashbrown::HashMap;
use kymo_promql::labels::Labels;
use kymo_promql::matcher::LabelMatcher;
use kymo_promql::sample::Samples;
use kymo_promql::source::Series;

use super::find::{Conditions, Found, Piece, TimeRange};
use super::view::View;
use crate::error::EngineError;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// The targets that were found, each as often as there are pieces of it.
pub(super) fn found<'f>(
    conditions: &'f Conditions<'_>,
    found: &'f Found,
) -> impl Iterator<Item = (&'f Labels, &'f Piece)> {
    let fulfils = |labels: &Labels| {
        let matches = |m: &LabelMatcher| m.matches(labels.get(&m.name).unwrap_or_default());
        conditions.all().iter().all(matches)
    };
    let targets =
        found.pieces.iter().filter_map(|piece| Some((piece.series.target.as_ref()?, piece)));
    targets.filter(move |(labels, _)| fulfils(labels))
}

impl View {
    /// The series of targets that were found.
    pub(super) fn targets(
        &self,
        conditions: &Conditions<'_>,
        of: &Found,
        range: TimeRange,
    ) -> Result<Vec<Series>, EngineError> {
        let mut spans: HashMap<&Labels, Vec<(i64, i64)>> = HashMap::new();
        for (labels, piece) in found(conditions, of) {
            // Nobody sees what lies outside, and rows may be long.
            let start = piece.min_time_nanos.max(range.start).div_euclid(NANOS_PER_MILLI);
            let end = piece.max_time_nanos.min(range.end).div_euclid(NANOS_PER_MILLI);
            spans.entry(labels).or_default().push((start, end));
        }
        // Half of how long a sample is current, so that there is always one.
        let step = (self.lookback_millis() / 2).max(1);
        let mut all = Vec::with_capacity(spans.len());
        for (labels, spans) in spans {
            let longest: i64 = spans.iter().map(|(start, end)| (end - start) / step + 2).sum();
            self.reserve(usize::try_from(longest).unwrap_or(0).saturating_mul(16))?;
            let times = times_of(spans, step);
            let samples = Samples { values: vec![1.0; times.len()], times, ..Samples::default() };
            all.push(Series { labels: labels.clone(), samples: Arc::new(samples) });
        }
        Ok(all)
    }
}

/// Times within spans, which may overlap.
fn times_of(mut spans: Vec<(i64, i64)>, step: i64) -> Vec<i64> {
    spans.sort_unstable();
    let mut times: Vec<i64> = Vec::new();
    let mut end = i64::MIN;
    for (start, until) in spans {
        let mut time = start.max(end);
        while time <= until {
            if times.last().is_none_or(|last| *last < time) {
                times.push(time);
            }
            time += step;
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
        const STEP: i64 = 150_000;
        assert_eq!(times_of(vec![(0, 0)], STEP), [0]);
        assert_eq!(times_of(vec![(0, 200_000)], STEP), [0, 150_000, 200_000]);
        let several = times_of(vec![(100, 200_000), (0, 10), (150_000, 160_000)], STEP);
        assert!(several.is_sorted_by(|a, b| a < b));
        assert_eq!((several[0], *several.last().unwrap()), (0, 200_000));
        assert!(several.windows(2).all(|pair| pair[1] - pair[0] <= STEP));
    }
}
