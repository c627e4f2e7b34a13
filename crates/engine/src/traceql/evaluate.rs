//! Candidates to answers: traces are read, a few hundred at a time on each thread, and evaluated.

use std::ops::Range;

use kymo_store::scan::{Walk, Walked};
use kymo_traceql::ast::{Intrinsic, Name, Pipeline};
use kymo_traceql::eval::{Evaluator, Slots, Spanset};

use super::answer::SearchStats;
use super::group::Loaded;
use super::loading::{Loader, Loading};
use super::look::Look;
use super::plan::Candidates;
use super::threads::on_traces;
use crate::error::EngineError;
use crate::limits::WALK_STEP_TRACES;

/// A pipeline, ready to be evaluated on many threads.
pub(super) struct Evaluation<'l> {
    look: &'l Look,
    pipeline: Pipeline,
    slots: Slots,
    pub(super) loading: Loading,
}

/// Evaluates on one thread.
pub(super) struct Worker<'e> {
    look: &'e Look,
    loader: Loader<'e>,
    evaluator: Evaluator,
}

impl<'l> Evaluation<'l> {
    /// `slots` may name more than the pipeline does; they are read as well.
    /// `numbers_spans` says that something beside the pipeline reads the numbers of nested spans.
    pub(super) fn new(
        look: &'l Look,
        pipeline: &Pipeline,
        mut slots: Slots,
        numbers_spans: bool,
    ) -> Result<Self, EngineError> {
        // Names what the pipeline reads.
        Evaluator::new(pipeline, &mut slots).map_err(invalid)?;
        let is_numbered = |name: &Name| {
            use Intrinsic::{NestedSetLeft, NestedSetParent, NestedSetRight};
            matches!(name, Name::Intrinsic(NestedSetLeft | NestedSetRight | NestedSetParent))
        };
        let is_ordered =
            numbers_spans || pipeline.attributes().iter().any(|named| is_numbered(&named.name));
        let loading = Loading::new(look, slots.names(), is_ordered);
        let loading = loading.map_err(|error| look.failed(error))?;
        Ok(Self { look, pipeline: pipeline.clone(), slots, loading })
    }

    pub(super) fn worker(&self) -> Result<Worker<'_>, EngineError> {
        let mut slots = self.slots.clone();
        let evaluator = Evaluator::new(&self.pipeline, &mut slots).map_err(invalid)?;
        Ok(Worker { look: self.look, loader: self.loading.loader(self.look), evaluator })
    }
}

impl Worker<'_> {
    /// Evaluates traces and calls `each` with those that match: which it is, the trace, and what
    /// matches.
    pub(super) fn run(
        &mut self,
        traces: &[Walked],
        mut each: impl FnMut(usize, Loaded<'_>, Vec<Spanset>) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        let hashes: Vec<u64> = traces.iter().map(|trace| trace.hash).collect();
        let mut done = 0;
        while done < hashes.len() {
            self.look.check()?;
            let group = self.loader.load(&hashes[done..])?;
            for nth in 0..group.traces() {
                let trace = group.trace(nth);
                let found = self.evaluator.evaluate(&trace);
                if !found.is_empty() {
                    each(done + nth, trace, found)?;
                }
            }
            done += group.traces();
        }
        Ok(())
    }
}

pub(super) fn invalid(error: kymo_traceql::QueryError) -> EngineError {
    EngineError::Invalid(error.to_string().into())
}

/// Evaluates all traces of a walk. Each thread makes a state of its own; `each` puts into it what
/// matches: a trace, and its spans of all spansets. It returns the bytes that the state holds.
pub(super) fn each_matching<S: Send>(
    evaluation: &Evaluation<'_>,
    walk: &mut Walk,
    make: impl Fn() -> S,
    each: impl Fn(&mut S, &Loaded<'_>, &[u32]) -> Result<usize, EngineError> + Sync,
) -> Result<Vec<S>, EngineError> {
    let look = evaluation.look;
    let held = look.memory("walk");
    let mut workers = Vec::with_capacity(look.threads());
    for _ in 0..look.threads() {
        workers.push((evaluation.worker()?, make(), look.memory("answer")));
    }
    while let Some(traces) = walk.next(WALK_STEP_TRACES).map_err(|error| look.failed(error))? {
        look.check()?;
        held.hold(walk.held_bytes())?;
        on_traces(&mut workers, &traces, |(worker, state, held), some| {
            worker.run(some, |_, trace, sets| {
                let bytes = match &sets[..] {
                    [set] => each(state, &trace, &set.spans)?,
                    sets => {
                        let mut spans: Vec<u32> =
                            sets.iter().flat_map(|set| set.spans.iter().copied()).collect();
                        spans.sort_unstable();
                        spans.dedup();
                        each(state, &trace, &spans)?
                    }
                };
                held.hold(bytes)
            })
        })?;
    }
    Ok(workers.into_iter().map(|(_, state, _)| state).collect())
}

/// Evaluates the traces with a candidate that began within `time`, and counts what that takes; see
/// [`each_matching`].
pub(super) fn each_started<S: Send>(
    evaluation: &Evaluation<'_>,
    candidates: &Candidates,
    time: &Range<i64>,
    stats: &mut SearchStats,
    make: impl Fn() -> S,
    each: impl Fn(&mut S, &Loaded<'_>, &[u32]) -> Result<usize, EngineError> + Sync,
) -> Result<Vec<S>, EngineError> {
    let look = evaluation.look;
    let walk = Walk::new(&look.sources, &candidates.started(time), look.context());
    let mut walk = walk.map_err(|error| look.failed(error))?;
    let found = each_matching(evaluation, &mut walk, make, each)?;
    look.count(&walk.stats());
    stats.add(&look.stats(&walk.stats()));
    Ok(found)
}
