//! Answering queries: lines, and numbers over time.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use kymo_logql::ast::Expr;
use kymo_logql::error::{EvalError, PlanError};
use kymo_logql::plan::{
    Leaf, LeafWorker, LogPlan, MetricPlan, Plan, Streams as Lines, Value, plan,
};
use kymo_logql::request::{Direction, Request};
use kymo_logql::selection::{Selection, Tested};

use super::answer::{LogqlAnswer, LogqlStats, LogqlValue};
use super::count;
use super::level;
use super::streams::Streams;
use super::view::View;
use crate::error::EngineError;
use crate::limits::LOG_FIRST_ROWS;

/// A window has so many times the length of the one before.
const WINDOW_GROWTH: i64 = 4;

/// Answers a query.
pub(super) fn answer(
    view: &View,
    expr: &Expr,
    request: &Request,
) -> Result<LogqlAnswer, EngineError> {
    let value = match plan(expr, request).map_err(unplanned)? {
        Plan::Log(plan) => LogqlValue::Lines(lines(view, &plan, request.direction)?),
        Plan::Metric(plan) => LogqlValue::Numbers(numbers(view, &plan)?),
    };
    let done = view.done();
    Ok(LogqlAnswer { value, stats: LogqlStats::of(&done, view.bytes_of(done.rows_scanned)) })
}

/// Lines, from the end of the range that is asked for first: windows that grow are read one after
/// the other until there are enough.
fn lines(view: &View, plan: &LogPlan, direction: Direction) -> Result<Lines, EngineError> {
    let selection = plan.selection();
    let mut streams = Streams::new(&view.options().index_labels);
    let mut workers: Vec<_> = (0..view.threads()).map(|_| (plan.worker(Tested::No), 0)).collect();
    let held_bytes = AtomicUsize::new(0);
    let (needs, detects_level) = level::needs(&selection.needs, view.options());
    for window in windows(view, selection, direction) {
        view.check()?;
        let candidates = view.candidates(&mut streams, selection, window)?;
        let pieces = view.pieces(candidates, &needs)?;
        view.read(&pieces, &mut workers, |(worker, counted), batch| {
            batch.each_entry(&needs, detects_level, |entry| {
                worker.push(entry).map(drop).map_err(failed)
            })?;
            // Lines may be long: all threads together hold what a query may.
            let now = worker.held_bytes();
            let before = held_bytes.fetch_add(now.wrapping_sub(*counted), Ordering::Relaxed);
            let all = before.wrapping_add(now.wrapping_sub(*counted));
            *counted = now;
            view.hold(all)
        })?;
        // What was not read yet is all later in the order.
        if workers.iter().any(|(worker, _)| worker.worst_time_nanos().is_some()) {
            break;
        }
    }
    plan.finish(workers.into_iter().map(|(worker, _)| worker).collect()).map_err(failed)
}

/// Times to be read, one after the other, which together are all that may have rows.
fn windows(view: &View, selection: &Selection, direction: Direction) -> Vec<Range<i64>> {
    let asked = selection.start_nanos..selection.end_nanos;
    let Some((extent, rows)) = view.extent(&asked) else { return Vec::new() };
    let length = extent.end.saturating_sub(extent.start).max(1);
    let share = LOG_FIRST_ROWS as f64 / rows.max(1) as f64;
    let mut step = ((length as f64 * share) as i64).clamp(1, length);
    let mut windows = Vec::new();
    let mut left = extent;
    while !left.is_empty() {
        let window = match direction {
            Direction::Backward => {
                let start = left.end.saturating_sub(step).max(left.start);
                start..std::mem::replace(&mut left.end, start)
            }
            Direction::Forward => {
                let end = left.start.saturating_add(step).min(left.end);
                std::mem::replace(&mut left.start, end)..end
            }
        };
        windows.push(window);
        step = step.saturating_mul(WINDOW_GROWTH);
    }
    windows
}

/// Numbers over time.
fn numbers(view: &View, plan: &MetricPlan) -> Result<Value, EngineError> {
    let mut streams = Streams::new(&view.options().index_labels);
    let leaves = plan.leaves().iter();
    let workers = leaves
        .map(|leaf| read_leaf(view, &mut streams, leaf))
        .collect::<Result<Vec<Vec<LeafWorker>>, EngineError>>()?;
    plan.finish(workers).map_err(failed)
}

fn read_leaf(
    view: &View,
    streams: &mut Streams<'_>,
    leaf: &Leaf,
) -> Result<Vec<LeafWorker>, EngineError> {
    let selection = leaf.selection();
    let asked = selection.start_nanos..selection.end_nanos;
    let time = view.extent(&asked).map_or(0..0, |(extent, _)| extent);
    let candidates = view.candidates(streams, selection, time)?;
    let tested = candidates.tested();
    let needs = match tested {
        Tested::Exact => &selection.needs_if_tested,
        Tested::No => &selection.needs,
    };
    let (needs, detects_level) = level::needs(needs, view.options());
    let pieces = view.pieces(candidates, &needs)?;
    let mut workers: Vec<LeafWorker> = (0..view.threads()).map(|_| leaf.worker(tested)).collect();
    let counting = leaf.counting().filter(|_| tested == Tested::Exact && !detects_level);
    match counting {
        Some(counting) => {
            view.read(&pieces, &mut workers, |worker, batch| {
                count::add(leaf, counting, worker, batch, &needs).map_err(failed)
            })?;
        }
        None => view.read(&pieces, &mut workers, |worker, batch| {
            batch.each_entry(&needs, detects_level, |entry| worker.push(entry).map_err(failed))
        })?,
    }
    Ok(workers)
}

/// What an error of the language is to the engine: something that whoever asked can mend.
pub(super) fn failed(error: EvalError) -> EngineError {
    EngineError::Invalid(error.to_string().into())
}

fn unplanned(error: PlanError) -> EngineError {
    EngineError::Invalid(error.to_string().into())
}
