//! Numbers over time: the answer to a query for series.

use kymo_traceql::ast::{Attribute, Body, Metrics, MetricsFunction, Pipeline};
use kymo_traceql::metrics::{Aggregation, Grid, Series, combine};

use super::answer::{MetricsAnswer, SearchStats};
use super::counting::Counting;
use super::look::Look;
use super::plan::Candidates;
use super::request::{MetricsQuery, Points};
use super::{compare, exemplars};
use crate::error::EngineError;
use crate::limits::POINT_BYTES;

/// One `{ … } | function() by (…)` of a query.
pub(super) struct Leaf<'q> {
    pub(super) pipeline: &'q Pipeline,
    pub(super) function: &'q MetricsFunction,
    pub(super) by: &'q [Attribute],
}

/// The grid of an answer.
pub(super) fn grid_of(query: &MetricsQuery) -> Result<Grid, EngineError> {
    let MetricsQuery { start_nanos: start, end_nanos: end, .. } = *query;
    let grid = match query.points {
        Points::One => Grid::instant(start, end),
        Points::Every(step) => Grid::range(start, end, step),
        Points::Sliding { step_nanos, window } => Grid::sliding(start, end, step_nanos, window),
    };
    grid.map_err(|error| EngineError::Invalid(error.to_string().into()))
}

/// The queries that a metrics expression is made of, in order.
pub(super) fn leaves<'q>(metrics: &'q Metrics, found: &mut Vec<Leaf<'q>>) {
    match metrics {
        Metrics::Query { pipeline, function, by, .. } => {
            found.push(Leaf { pipeline, function, by })
        }
        Metrics::Literal(_) => {}
        Metrics::Binary { left, right, .. } => {
            leaves(left, found);
            leaves(right, found);
        }
    }
}

/// Answers a query for series.
pub(super) fn answer(look: &Look, query: &MetricsQuery) -> Result<MetricsAnswer, EngineError> {
    let Body::Metrics(metrics) = &query.query.body else {
        return Err(EngineError::Invalid(
            "not a metrics query: add a function, as in { … } | rate()".into(),
        ));
    };
    let grid = grid_of(query)?;
    let mut found = Vec::new();
    leaves(metrics, &mut found);
    let mut stats = SearchStats::default();
    let mut answers = Vec::with_capacity(found.len());
    for leaf in &found {
        answers.push(measure(look, leaf, &grid, query.exemplars, &mut stats)?);
    }
    let series = combine(metrics, &mut answers.into_iter(), &grid)
        .map_err(|error| EngineError::Invalid(error.to_string().into()))?;
    Ok(MetricsAnswer { series, stats })
}

fn measure(
    look: &Look,
    leaf: &Leaf<'_>,
    grid: &Grid,
    exemplars: usize,
    stats: &mut SearchStats,
) -> Result<Vec<Series>, EngineError> {
    if let MetricsFunction::Compare { .. } = leaf.function {
        if grid.window() > 1 {
            return Err(EngineError::Invalid("compare() has no sliding windows".into()));
        }
        return compare::answer(look, leaf, grid, stats);
    }
    let candidates = Candidates::of(look, leaf.pipeline).map_err(|error| look.failed(error))?;
    let counting = Counting { look, leaf, grid, candidates, keeps_candidates: exemplars > 0 };
    let aggregation = counting.count(stats)?;
    // Points that nothing was counted for are made now.
    let held = look.memory("points");
    held.hold(aggregation.finished_points().saturating_mul(POINT_BYTES))?;
    let measured = aggregation.finish();
    look.check()?;
    match exemplars {
        0 => Ok(measured.into_iter().map(|measured| measured.series).collect()),
        most => exemplars::add(look, leaf, grid, measured, most),
    }
}

/// Counts the spans that a query gives, by group.
pub(super) fn count_groups(
    look: &Look,
    leaf: &Leaf<'_>,
    grid: &Grid,
    candidates: Candidates,
    stats: &mut SearchStats,
) -> Result<Aggregation, EngineError> {
    Counting { look, leaf, grid, candidates, keeps_candidates: false }.count(stats)
}

/// What a function measures, if it is more than that there is a span.
pub(super) fn measured_of(function: &MetricsFunction) -> Option<&Attribute> {
    match function {
        MetricsFunction::MinOverTime(attribute)
        | MetricsFunction::MaxOverTime(attribute)
        | MetricsFunction::SumOverTime(attribute)
        | MetricsFunction::AvgOverTime(attribute)
        | MetricsFunction::QuantileOverTime(attribute, _)
        | MetricsFunction::HistogramOverTime(attribute) => Some(attribute),
        _ => None,
    }
}
