//! Candidates to answers: traces are read, a few hundred at a time on each thread, and evaluated.

use kymo_store::scan::{Walk, Walked};
use kymo_traceql::ast::{Intrinsic, Name, Pipeline};
use kymo_traceql::eval::{Evaluator, Slots, Spanset};

use super::group::{Loaded, Loader, Loading};
use super::look::Look;
use crate::error::EngineError;
use crate::limits::{TRACES_PER_GROUP, WALK_STEP_TRACES};

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
    pub(super) fn new(
        look: &'l Look,
        pipeline: &Pipeline,
        mut slots: Slots,
    ) -> Result<Self, EngineError> {
        // Names what the pipeline reads.
        Evaluator::new(pipeline, &mut slots).map_err(invalid)?;
        let is_numbered = |name: &Name| {
            use Intrinsic::{NestedSetLeft, NestedSetParent, NestedSetRight};
            matches!(name, Name::Intrinsic(NestedSetLeft | NestedSetRight | NestedSetParent))
        };
        let is_ordered = pipeline.attributes().iter().any(|named| is_numbered(&named.name));
        let loading = Loading::new(look, slots.names(), is_ordered);
        let loading = loading.map_err(|error| look.failed(error))?;
        Ok(Self { look, pipeline: pipeline.clone(), slots, loading })
    }

    pub(super) fn worker(&self) -> Result<Worker<'_>, EngineError> {
        let mut slots = self.slots.clone();
        let evaluator = Evaluator::new(&self.pipeline, &mut slots).map_err(invalid)?;
        Ok(Worker { look: self.look, loader: self.loading.loader(), evaluator })
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
        let held = self.look.memory("traces");
        for (nth, some) in traces.chunks(TRACES_PER_GROUP).enumerate() {
            self.look.check()?;
            let hashes: Vec<u64> = some.iter().map(|trace| trace.hash).collect();
            let group = self.loader.load(&hashes).map_err(|error| self.look.failed(error))?;
            held.hold(group.bytes())?;
            for of_group in 0..group.traces() {
                let trace = group.trace(of_group);
                let found = self.evaluator.evaluate(&trace);
                if !found.is_empty() {
                    each(nth * TRACES_PER_GROUP + of_group, trace, found)?;
                }
            }
        }
        Ok(())
    }
}

pub(super) fn invalid(error: kymo_traceql::QueryError) -> EngineError {
    EngineError::Invalid(error.to_string())
}

/// Does work on several threads, each with a share of the traces that lies together, and returns
/// what each made of its share, in order.
pub(super) fn on_threads<W: Send, T: Send>(
    workers: &mut [W],
    traces: &[Walked],
    work: impl Fn(&mut W, &[Walked]) -> Result<T, EngineError> + Sync,
) -> Result<Vec<T>, EngineError> {
    /// Traces that are worth a thread.
    const LEAST: usize = 16;
    let threads = workers.len().min(traces.len() / LEAST).max(1);
    let share = traces.len().div_ceil(threads).max(1);
    if threads == 1 {
        return match workers.first_mut() {
            Some(worker) => Ok(vec![work(worker, traces)?]),
            None => Ok(Vec::new()),
        };
    }
    let work = &work;
    std::thread::scope(|scope| {
        let started: Vec<_> = traces
            .chunks(share)
            .zip(workers)
            .map(|(traces, worker)| scope.spawn(move || work(worker, traces)))
            .collect();
        let joined = started.into_iter().map(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        // All are waited for, whatever the first says.
        joined.collect::<Vec<_>>().into_iter().collect()
    })
}

/// Evaluates all candidates that have a span within `time`. Each thread makes a state of its own;
/// `each` puts into it what matches: a trace, and its spans of all spansets. It returns the bytes
/// that the state holds.
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
        on_threads(&mut workers, &traces, |(worker, state, held), some| {
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
