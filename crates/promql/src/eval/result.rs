//! What a query comes to.

use std::sync::Arc;

use super::error::EvalError;
use super::grid::{Grid, Steps, is_absent};
use crate::annotations::Annotations;
use crate::histogram::Histogram;
use crate::labels::Labels;
use crate::sample::Value;

/// A result and what is said of it.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The result.
    pub outcome: Outcome,
    /// Warnings and infos.
    pub annotations: Annotations,
    /// Samples that were read.
    pub samples_read: usize,
}

/// The kinds of results.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// A number.
    Scalar {
        /// The time of the query.
        time: i64,
        /// The number.
        value: f64,
    },
    /// A text.
    Text {
        /// The time of the query.
        time: i64,
        /// The text.
        value: String,
    },
    /// A sample of each series, all at one time.
    Vector {
        /// The time of the query.
        time: i64,
        /// The samples. Their order has a meaning if the query sorted them.
        samples: Vec<VectorSample>,
    },
    /// Samples over time, by labels.
    Matrix(Vec<MatrixSeries>),
}

/// A sample of a series.
#[derive(Debug, Clone)]
pub struct VectorSample {
    /// The labels of the series.
    pub labels: Labels,
    /// The value.
    pub value: Value,
}

/// A series with samples over time.
#[derive(Debug, Clone, Default)]
pub struct MatrixSeries {
    /// The labels of the series.
    pub labels: Labels,
    /// Times and floats.
    pub floats: Vec<(i64, f64)>,
    /// Times and histograms.
    pub histograms: Vec<(i64, Arc<Histogram>)>,
}

/// A vector of the only column of a grid.
pub(super) fn vector(grid: &Grid, time: i64) -> Outcome {
    let sample = |row: usize| {
        // If there are both, the histogram counts.
        let histogram = grid.histogram(row, 0).cloned().map(Value::Histogram);
        let value = histogram.or_else(|| grid.get(row, 0))?;
        Some(VectorSample { labels: grid.rows[row].labels.clone(), value })
    };
    Outcome::Vector { time, samples: (0..grid.rows.len()).filter_map(sample).collect() }
}

/// A matrix of a grid, by labels.
pub(super) fn matrix(grid: &Grid, steps: &Steps) -> Outcome {
    let mut series = Vec::with_capacity(grid.rows.len());
    for row in 0..grid.rows.len() {
        let cells = grid.floats(row).iter().enumerate().filter(|(_, float)| !is_absent(**float));
        let floats = cells.map(|(step, float)| (steps.time(step), *float)).collect();
        let histogram = |step| grid.histogram(row, step).map(|h| (steps.time(step), h.clone()));
        let histograms = match grid.has_histograms() {
            true => (0..steps.count).filter_map(histogram).collect(),
            false => Vec::new(),
        };
        series.push(MatrixSeries { labels: grid.rows[row].labels.clone(), floats, histograms });
    }
    series.retain(|series| !series.floats.is_empty() || !series.histograms.is_empty());
    sorted(series)
}

/// A matrix by labels.
pub(super) fn sorted(mut series: Vec<MatrixSeries>) -> Outcome {
    series.sort_by(|a, b| a.labels.cmp(&b.labels));
    Outcome::Matrix(series)
}

/// Takes the names away that functions took away, and joins rows that are then
/// alike; floats of one and histograms of another go together, as in Prometheus.
pub(super) fn without_dropped_names(mut grid: Grid) -> Result<Grid, EvalError> {
    for row in grid.rows.iter_mut().filter(|row| row.drops_name) {
        row.labels = row.labels.without_metadata();
    }
    grid.merged_by_kind()
}
