//! The newest sample of each series at each step.

use std::sync::Arc;

use super::error::EvalError;
use super::evaluator::Evaluator;
use super::extended;
use super::grid::{Grid, Row, Steps, present};
use super::parallel;
use super::plan::{SelectorPlan, When};
use crate::annotations::Annotations;
use crate::ast::{Edges, Span};
use crate::histogram::Histogram;
use crate::sample::{Samples, Value, is_stale};
use crate::source::{Select, Series};

/// A walk over a series from step to step. Times asked for must not fall.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    samples: &'a Samples,
    lookback: i64,
    /// Floats and histograms up to the time asked for last.
    floats: usize,
    histograms: usize,
}

/// A sample that is current.
pub(crate) struct Current<'a> {
    pub(crate) time: i64,
    pub(crate) start: i64,
    pub(crate) value: CurrentValue<'a>,
}

pub(crate) enum CurrentValue<'a> {
    Float(f64),
    Histogram(&'a Arc<Histogram>),
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(samples: &'a Samples, lookback: i64) -> Self {
        Self { samples, lookback, floats: 0, histograms: 0 }
    }

    /// The newest sample at a time, if it is not too old and the series did not end.
    #[inline]
    pub(crate) fn at(&mut self, time: i64) -> Option<Current<'a>> {
        let samples = self.samples;
        while samples.times.get(self.floats).is_some_and(|t| *t <= time) {
            self.floats += 1;
        }
        while samples.histograms.get(self.histograms).is_some_and(|s| s.time <= time) {
            self.histograms += 1;
        }
        let float = self.floats.checked_sub(1);
        let histogram = self.histograms.checked_sub(1).map(|nth| &samples.histograms[nth]);
        let oldest = time - self.lookback;
        match (float, histogram) {
            (float, Some(sample)) if float.is_none_or(|nth| samples.times[nth] < sample.time) => {
                let is_current = sample.time > oldest && !sample.value.is_stale();
                is_current.then_some(Current {
                    time: sample.time,
                    start: sample.start,
                    value: CurrentValue::Histogram(&sample.value),
                })
            }
            (Some(nth), _) => {
                let (at, value) = (samples.times[nth], samples.values[nth]);
                (at > oldest && !is_stale(value)).then(|| Current {
                    time: at,
                    start: samples.starts.get(nth).copied().unwrap_or(0),
                    value: CurrentValue::Float(value),
                })
            }
            (None, _) => None,
        }
    }
}

impl Evaluator<'_> {
    /// The samples of a selector at all steps.
    pub(crate) fn eval_selector(
        &self,
        selector: &SelectorPlan,
        span: Span,
        steps: &Steps,
    ) -> Result<Grid, EvalError> {
        let lookback = self.options.lookback;
        let (first, last) = (selector.when.time(steps.start), selector.when.time(steps.end()));
        let end = if selector.edges == Edges::Smoothed { last + lookback } else { last };
        let select = Select {
            matchers: selector.matchers.clone(),
            start: first - lookback + 1,
            end,
            only_totals: selector.only_totals,
        };
        let series = self.select(&select)?;
        if selector.edges == Edges::Smoothed {
            return self.smoothed(&series, selector.when, span, steps);
        }
        self.newest(&series, selector.when, steps)
    }

    /// The newest sample of each series at each step.
    pub(crate) fn newest(
        &self,
        series: &[Series],
        when: When,
        steps: &Steps,
    ) -> Result<Grid, EvalError> {
        let mut grid = self.grid(steps, rows(series))?;
        let lookback = self.options.lookback;
        let fill = |first: usize, cells: &mut [f64]| {
            let mut histograms = Vec::new();
            for (nth, row) in cells.chunks_mut(steps.count.max(1)).enumerate() {
                let number = first + nth;
                let mut cursor = Cursor::new(&series[number].samples, lookback);
                for (step, cell) in row.iter_mut().enumerate() {
                    match cursor.at(when.time(steps.time(step))).map(|current| current.value) {
                        Some(CurrentValue::Float(value)) => *cell = present(value),
                        Some(CurrentValue::Histogram(histogram)) => {
                            histograms.push((number * steps.count + step, histogram.clone()));
                        }
                        None => {}
                    }
                }
            }
            histograms
        };
        let threads = self.options.threads;
        for part in parallel::fill(threads, grid.all_floats_mut(), steps.count, fill) {
            for (cell, histogram) in part {
                grid.set_histogram(cell, histogram);
            }
        }
        Ok(grid.without_empty_rows())
    }

    /// The value at each step, between the samples before and behind it.
    fn smoothed(
        &self,
        series: &[Series],
        when: When,
        span: Span,
        steps: &Steps,
    ) -> Result<Grid, EvalError> {
        let mut grid = self.grid(steps, rows(series))?;
        let mut notes = Annotations::default();
        for (row, series) in series.iter().enumerate() {
            let samples = series.samples.without_stale();
            for step in 0..steps.count {
                let time = when.time(steps.time(step));
                let name = series.labels.metric_name();
                let lookback = self.options.lookback;
                let value =
                    extended::smoothed_value(&samples, time, lookback, name, span, &mut notes);
                if let Some(value) = value {
                    grid.set(row, step, value);
                }
            }
        }
        self.note(notes);
        Ok(grid.without_empty_rows())
    }

    /// When the newest sample was taken, or since when it counts, at each step.
    pub(crate) fn eval_timestamps(
        &self,
        selector: &SelectorPlan,
        of_start: bool,
        steps: &Steps,
    ) -> Result<Grid, EvalError> {
        let lookback = self.options.lookback;
        let (first, last) = (selector.when.time(steps.start), selector.when.time(steps.end()));
        let series = self.select(&Select {
            matchers: selector.matchers.clone(),
            start: first - lookback + 1,
            end: last,
            only_totals: true,
        })?;
        let mut rows = rows(&series);
        rows.iter_mut().for_each(|row| self.drop_name(row));
        let mut grid = self.grid(steps, rows)?;
        for (row, series) in series.iter().enumerate() {
            let mut cursor = Cursor::new(&series.samples, lookback);
            for step in 0..steps.count {
                let shifted = selector.when.time(steps.time(step));
                // Of a fixed time the sample is told that is current then, whatever
                // the offset, as in Prometheus; but it must be among those that the
                // offset lets through.
                let at = selector.when.at.unwrap_or(shifted);
                let oldest = at.max(shifted) - lookback;
                let found = cursor.at(at.min(shifted)).filter(|current| current.time > oldest);
                if let Some(current) = found {
                    let millis = if of_start { current.start } else { current.time };
                    grid.set(row, step, Value::Float(millis as f64 / 1000.0));
                }
            }
        }
        self.finished(grid)
    }
}

fn rows(series: &[Series]) -> Vec<Row> {
    series.iter().map(|s| Row { labels: s.labels.clone(), drops_name: false }).collect()
}
