//! Series of numbers for people: what they are at least, at most and on average, and how they run.

use kymo_report::spark;

use crate::frame::{Frame, Unit};

/// Columns of a drawing.
const DRAWN_COLUMNS: usize = 40;

/// Points of a series: nanoseconds since 1970 and numbers, in order of time.
pub(crate) type Points<'a> = &'a [(i64, f64)];

impl Frame {
    /// Columns that tell of each series what it is at least, at most, on average and at last; on a
    /// terminal also how it runs.
    pub(crate) fn runs(&mut self, series: &[Points<'_>], unit: Unit, step_nanos: i64) {
        let known = |points: &Points<'_>| -> Vec<f64> {
            points.iter().map(|(_, value)| *value).filter(|value| value.is_finite()).collect()
        };
        type Summary = fn(&[f64]) -> Option<f64>;
        let summaries: [(&str, Summary); 4] = [
            ("min", |values| values.iter().copied().reduce(f64::min)),
            ("avg", |values| {
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            }),
            ("max", |values| values.iter().copied().reduce(f64::max)),
            ("last", |values| values.last().copied()),
        ];
        for (name, summary) in summaries {
            let values = series.iter().map(|points| summary(&known(points))).collect();
            self.numbers(name, unit, values);
        }
        if self.is_for_terminal() {
            self.drawn("", series, step_nanos);
        }
    }

    /// A column that draws how each series runs.
    pub(crate) fn drawn(&mut self, name: &str, series: &[Points<'_>], step_nanos: i64) {
        self.texts(name, drawings(series, step_nanos).into_iter().map(Some).collect());
    }

    /// Numbers of one column, on a terminal with bars beside them.
    pub(crate) fn measures(&mut self, name: &str, unit: Unit, values: Vec<Option<f64>>) {
        self.numbers(name, unit, values.clone());
        if self.is_for_terminal() {
            self.bars(&values);
        }
    }

    /// Bars of numbers beside each other.
    pub(crate) fn bars(&mut self, values: &[Option<f64>]) {
        let most = values.iter().flatten().copied().filter(|value| value.is_finite());
        let most = most.fold(0.0, f64::max);
        let bar =
            |value: &Option<f64>| Some(spark::bar(value.unwrap_or(0.0), most, DRAWN_COLUMNS / 2));
        self.texts("", values.iter().map(bar).collect());
    }
}

/// Spark lines over the same time.
fn drawings(series: &[Points<'_>], step_nanos: i64) -> Vec<String> {
    let times = || series.iter().flat_map(|points| points.iter()).map(|(time, _)| *time);
    let (Some(first), Some(last)) = (times().min(), times().max()) else {
        return vec![String::new(); series.len()];
    };
    let place = |time: i64| usize::try_from((time - first) / step_nanos.max(1)).unwrap_or(0);
    let draw = |points: &Points<'_>| {
        let mut drawn = vec![None; place(last) + 1];
        for (time, value) in *points {
            if let Some(point) = drawn.get_mut(place(*time)) {
                *point = Some(*value);
            }
        }
        spark::line(&drawn, DRAWN_COLUMNS)
    };
    series.iter().map(draw).collect()
}
