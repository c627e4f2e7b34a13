//! The series that an [`Aggregation`] becomes in the end.
//!
//! Where a window slides, the cells of a series are joined now, so that only one series at a time
//! takes the memory of its windows.

use std::borrow::Cow;

use super::aggregation::{Aggregation, Measured, State, scaled};
use super::buckets::bucket_of;
use super::candidates::Candidate;
use super::cells::Cells;
use super::labels::{NAME, compare_labels};
use super::sketch::Sketch;
use super::sum::Sum;
use super::window::slide;
use super::{Grid, Series};
use crate::ast::MetricsFunction;
use crate::value::OwnedValue;

/// The label that tells which quantile a series is.
const QUANTILE: &str = "p";

/// The label that tells which bucket of a histogram a series is.
const BUCKET: &str = "__bucket";

type Labels = Vec<(String, OwnedValue)>;

impl Aggregation {
    /// How many points [`Aggregation::finish`] gives at most, over all series, known without
    /// counting them. They take far more memory than what they are made of, where most are zeros.
    #[must_use]
    pub fn finished_points(&self) -> usize {
        let points = self.grid.points;
        match (&self.state, &self.function) {
            // Without groups there is one series even if there was no span.
            (State::Counts(_), _) => self.groups.len().max(1).saturating_mul(points),
            (State::Least(_) | State::Greatest(_) | State::Sums(_), _)
                if self.grid.window() > 1 =>
            {
                self.groups.len().saturating_mul(points)
            }
            (State::Least(cells) | State::Greatest(cells), _) => cells.touched(),
            (State::Sums(cells), _) => cells.touched(),
            (State::Sketches(_), MetricsFunction::QuantileOverTime(_, quantiles)) => {
                self.groups.len().saturating_mul(quantiles.len()).saturating_mul(points)
            }
            (State::Sketches(_), _) => 0,
            (State::Buckets(buckets), _) => buckets.len().saturating_mul(points),
        }
    }

    /// The series, sorted by their labels.
    ///
    /// Rates, counts, quantiles and buckets are zero where nothing was measured; all others have
    /// no point there. Without groups there is a rate or count even if there was no span at all.
    #[must_use]
    pub fn finish(mut self) -> Vec<Measured> {
        if self.by.is_empty() && matches!(self.state, State::Counts(_)) {
            self.group(&[]);
        }
        let mut measured = Vec::with_capacity(self.groups.len());
        for (group, key) in self.groups.values().iter().enumerate() {
            let mut candidates =
                self.candidates.as_ref().map_or_else(Vec::new, |all| all.of(group));
            candidates.retain(|candidate| self.grid.shown().contains(&candidate.point));
            match &self.state {
                State::Sketches(cells) => {
                    self.finish_quantiles(cells, group, key, candidates, &mut measured);
                }
                State::Buckets(_) => {
                    self.finish_buckets(group, key, candidates, &mut measured);
                }
                _ => measured.extend(self.finish_one(group, key, candidates)),
            }
        }
        measured.sort_by(|a, b| compare_labels(&a.series.labels, &b.series.labels));
        measured
    }

    /// The series of a group, for functions that have one for each.
    fn finish_one(
        &self,
        group: usize,
        key: &[OwnedValue],
        mut candidates: Vec<Candidate>,
    ) -> Option<Measured> {
        let values: Vec<(usize, f64)> = match &self.state {
            State::Counts(counts) => {
                if counts.is_untouched(group) && !self.by.is_empty() {
                    return None;
                }
                let unit = match self.function {
                    MetricsFunction::Rate => self.grid.seconds(),
                    _ => 1.0,
                };
                let counts = self.windows(counts.whole_row(group).map(|(_, count)| *count));
                let values: Vec<_> =
                    counts.into_iter().map(|count| count as f64 / unit).enumerate().collect();
                for candidate in &mut candidates {
                    candidate.value = values[candidate.point].1;
                }
                values
            }
            State::Least(cells) => {
                let least = self.row(cells, group, |into, from| *into = into.min(from));
                least.into_iter().map(|(point, value)| (point, *value)).collect()
            }
            State::Greatest(cells) => {
                let greatest = self.row(cells, group, |into, from| *into = into.max(from));
                greatest.into_iter().map(|(point, value)| (point, *value)).collect()
            }
            State::Sums(cells) => {
                let join = |into: &mut Sum, from| {
                    into.merge(from);
                };
                let sums = self.row(cells, group, join);
                let value = |(point, sum): (usize, Cow<'_, Sum>)| match self.function {
                    MetricsFunction::AvgOverTime(_) => {
                        (point, sum.total() / (sum.count() as f64 * self.scale))
                    }
                    _ => (point, sum.total() / self.scale),
                };
                sums.into_iter().filter(|(_, sum)| sum.count() > 0).map(value).collect()
            }
            State::Sketches(_) | State::Buckets(_) => return None,
        };
        let mut labels = self.labels_of(key);
        if labels.is_empty() {
            labels.push((NAME.to_owned(), OwnedValue::Text(name_of(&self.function).to_owned())));
        }
        let series = series(labels, values, &self.grid);
        (!series.points.is_empty()).then_some(Measured { series, candidates })
    }

    /// A series for each quantile. An example goes to the one that it is nearest to.
    fn finish_quantiles(
        &self,
        cells: &Cells<Option<Box<Sketch>>>,
        group: usize,
        key: &[OwnedValue],
        candidates: Vec<Candidate>,
        measured: &mut Vec<Measured>,
    ) {
        let MetricsFunction::QuantileOverTime(_, quantiles) = &self.function else { return };
        if cells.is_untouched(group) {
            return;
        }
        let mut quantiles = quantiles.clone();
        quantiles.sort_by(f64::total_cmp);
        quantiles.dedup();
        let mut values = vec![vec![0.0; self.grid.points]; quantiles.len()];
        for (point, sketch) in self.row(cells, group, join_sketches) {
            let told = (*sketch).as_ref().and_then(|sketch| sketch.quantiles(&quantiles));
            for (values, told) in values.iter_mut().zip(told.unwrap_or_default()) {
                values[point] = told;
            }
        }
        let mut examples = vec![Vec::new(); quantiles.len()];
        for candidate in candidates {
            let distance = |values: &Vec<f64>| (values[candidate.point] - candidate.value).abs();
            let nearest =
                values.iter().map(distance).enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((nearest, _)) = nearest {
                examples[nearest].push(candidate);
            }
        }
        for ((quantile, values), candidates) in quantiles.iter().zip(values).zip(examples) {
            let mut labels = self.labels_of(key);
            labels.push((QUANTILE.to_owned(), OwnedValue::Float(*quantile)));
            let series = series(labels, values.into_iter().enumerate().collect(), &self.grid);
            measured.push(Measured { series, candidates });
        }
    }

    /// A series for each bucket. An example goes to the one that it is in.
    fn finish_buckets(
        &self,
        group: usize,
        key: &[OwnedValue],
        candidates: Vec<Candidate>,
        measured: &mut Vec<Measured>,
    ) {
        let State::Buckets(buckets) = &self.state else { return };
        for (bucket, counts) in buckets.of(group) {
            let mut labels = self.labels_of(key);
            labels.push((BUCKET.to_owned(), OwnedValue::Float(bucket / self.scale)));
            let counts = self.windows(counts.into_iter());
            let values = counts.into_iter().map(|count| count as f64).enumerate().collect();
            let is_in =
                |candidate: &&Candidate| bucket_of(scaled(candidate.value, self.scale)) == bucket;
            measured.push(Measured {
                series: series(labels, values, &self.grid),
                candidates: candidates.iter().filter(is_in).copied().collect(),
            });
        }
    }

    /// What each point of a group tells: its cell, or all cells of its window. Cells that were
    /// not touched may be left out.
    fn row<'c, T: Clone>(
        &self,
        cells: &'c Cells<T>,
        group: usize,
        join: impl Fn(&mut T, T),
    ) -> Vec<(usize, Cow<'c, T>)> {
        match self.grid.window() {
            1 => cells.row(group).map(|(point, cell)| (point, Cow::Borrowed(cell))).collect(),
            width => {
                let row: Vec<T> = cells.whole_row(group).map(|(_, cell)| cell.clone()).collect();
                slide(&row, width, join).into_iter().map(Cow::Owned).enumerate().collect()
            }
        }
    }

    /// The same for counts of all points.
    fn windows(&self, counts: impl Iterator<Item = u64>) -> Vec<u64> {
        let counts: Vec<u64> = counts.collect();
        match self.grid.window() {
            1 => counts,
            width => slide(&counts, width, |into, from| *into += from),
        }
    }

    /// What is grouped by, with its values where there are any.
    fn labels_of(&self, key: &[OwnedValue]) -> Labels {
        let mut labels = Labels::with_capacity(key.len() + 1);
        for (name, value) in self.by.iter().zip(key) {
            let is_repeated = labels.iter().any(|(other, _)| other == name);
            if *value != OwnedValue::Nil && !is_repeated {
                labels.push((name.clone(), value.clone()));
            }
        }
        labels
    }
}

fn join_sketches(into: &mut Option<Box<Sketch>>, from: Option<Box<Sketch>>) {
    match (&mut *into, from) {
        (Some(into), Some(from)) => {
            into.merge(*from);
        }
        (None, from) => *into = from,
        (Some(_), None) => {}
    }
}

/// A series of what is known.
fn series(labels: Labels, values: Vec<(usize, f64)>, grid: &Grid) -> Series {
    let is_shown = |point: &usize| grid.shown().contains(point);
    let known = values.into_iter().filter(|(point, value)| is_shown(point) && !value.is_nan());
    let points = known.map(|(point, value)| (grid.time_of(point), value)).collect();
    Series { labels, points, exemplars: Vec::new() }
}

fn name_of(function: &MetricsFunction) -> &'static str {
    match function {
        MetricsFunction::Rate => "rate",
        MetricsFunction::CountOverTime => "count_over_time",
        MetricsFunction::MinOverTime(_) => "min_over_time",
        MetricsFunction::MaxOverTime(_) => "max_over_time",
        MetricsFunction::SumOverTime(_) => "sum_over_time",
        MetricsFunction::AvgOverTime(_) => "avg_over_time",
        MetricsFunction::QuantileOverTime(..) => "quantile_over_time",
        MetricsFunction::HistogramOverTime(_) => "histogram_over_time",
        MetricsFunction::Compare { .. } => "compare",
    }
}
