//! A search: traces that match, newest first or in another order.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::Instant;

use hashbrown::HashSet;
use kymo_store::block::trace_index::trace_hash;
use kymo_store::scan::{Walk, Walked};
use kymo_traceql::ast::{Body, Metrics, Pipeline, Query};
use kymo_traceql::eval::{Slots, Spanset};

use super::answer::{Found, FoundTrace, SearchStats};
use super::evaluate::{Evaluation, Worker};
use super::group::Loaded;
use super::layout::Layout;
use super::look::{Held, Look};
use super::plan::Candidates;
use super::request::{Cursor, Search, Sort};
use super::show::{Show, Shower};
use super::threads::on_traces;
use crate::error::EngineError;
use crate::limits::{SEARCH_STEP_TRACES, SEARCH_TELLS_EVERY};

/// What a search tells.
pub(super) enum Told {
    /// A part of the answer.
    Part(Found),
    /// What was done so far, where nothing was found for a while. Nobody has to take it.
    Progress(SearchStats),
}

/// Takes what is told.
pub(super) type Give<'g> = dyn FnMut(Told) -> Result<(), EngineError> + 'g;

/// The spans that a query is about.
pub(super) fn pipeline_of(query: &Query) -> Result<&Pipeline, EngineError> {
    fn first(metrics: &Metrics) -> Option<&Pipeline> {
        match metrics {
            Metrics::Query { pipeline, .. } => Some(pipeline),
            Metrics::Literal(_) => None,
            Metrics::Binary { left, right, .. } => first(left).or_else(|| first(right)),
        }
    }
    match &query.body {
        Body::Spans(pipeline) => Ok(pipeline),
        Body::Metrics(metrics) => {
            first(metrics).ok_or_else(|| EngineError::Invalid("the query is about no spans".into()))
        }
    }
}

/// A search that is ready to run.
pub(super) struct Searcher<'l> {
    look: &'l Look,
    search: Search,
    pub(super) candidates: Candidates,
    pub(super) evaluation: Evaluation<'l>,
    show: Show,
}

impl<'l> Searcher<'l> {
    pub(super) fn new(look: &'l Look, search: Search) -> Result<Self, EngineError> {
        let pipeline = pipeline_of(&search.query)?.clone();
        let candidates = Candidates::of(look, &pipeline).map_err(|error| look.failed(error))?;
        let mut slots = Slots::default();
        let show = Show::new(look, &pipeline, &mut slots)?;
        let evaluation = Evaluation::new(look, &pipeline, slots, show.needs_structure())?;
        Ok(Self { look, search, candidates, evaluation, show })
    }

    /// What is read of spans that are shown.
    pub(super) fn late_layout(&self) -> &Layout {
        &self.show.late
    }

    /// Runs the search; `give` gets its parts.
    pub(super) fn run(&self, give: &mut Give<'_>) -> Result<(), EngineError> {
        let look = self.look;
        if self.candidates.is_never() || self.search.limit == 0 {
            return give(Told::Part(Found { stats: self.stats(None, 0), ..Found::default() }));
        }
        let time = self.search.time.as_ref();
        let failed = |error| look.failed(error);
        let required = self.candidates.required_traces(look, time).map_err(failed)?;
        let mut walk = self.candidates.walk(look, time).map_err(failed)?;
        let mut workers = Vec::with_capacity(look.threads());
        for _ in 0..look.threads() {
            workers.push(Finder::new(self)?);
        }
        let mut steps = Steps {
            held: look.memory("search"),
            required,
            inspected: 0,
            answer_bytes: 0,
            told: Instant::now(),
        };
        let ended = match self.search.sort {
            Sort::Newest => self.newest(&mut walk, &mut workers, &mut steps, give),
            sort => self.sorted(sort, &mut walk, &mut workers, &mut steps, give),
        };
        look.count(&walk.stats());
        ended
    }

    /// Traces as they are found. Candidates come by the time of spans that may match; a trace is
    /// handed out when no other can have a newer span that does.
    fn newest(
        &self,
        walk: &mut Walk,
        workers: &mut [Finder<'_>],
        steps: &mut Steps,
        give: &mut Give<'_>,
    ) -> Result<(), EngineError> {
        let mut left = self.search.limit;
        let mut found: BinaryHeap<Ranked> = BinaryHeap::new();
        let mut is_first = true;
        let mut is_over = false;
        while left > 0 && !is_over {
            // If candidates are the answer, there is no need for more than are asked for.
            let wanted = match self.candidates.is_answer {
                true => left.min(SEARCH_STEP_TRACES),
                false => SEARCH_STEP_TRACES,
            };
            let (mut traces, frontier) = match steps.next(self.look, walk, wanted)? {
                Some(step) => step,
                None => {
                    is_over = true;
                    (Vec::new(), i64::MIN)
                }
            };
            if let (true, Some(cursor)) = (self.candidates.is_answer, self.search.after) {
                // Their place is known; those of other answers need not be read again.
                traces.retain(|trace| cursor.precedes(trace.newest_nanos, trace.hash));
            }
            for trace in self.find(workers, &traces, steps)? {
                let (key, hash) = (trace.newest_nanos, trace_hash(&trace.trace_id));
                if self.search.after.is_none_or(|cursor| cursor.precedes(key, hash)) {
                    found.push(Ranked { key, hash: Reverse(hash), trace });
                }
            }
            let mut ready = Vec::new();
            let mut last = None;
            let is_answer = self.candidates.is_answer;
            // Of others with the same time, one may come before it.
            let is_ready = |key: i64| is_over || key > frontier || is_answer && key == frontier;
            while ready.len() < left
                && let Some(best) = found.peek()
                && is_ready(best.key)
                && let Some(best) = found.pop()
            {
                last = Some(Cursor { key: best.key, hash: best.hash.0 });
                ready.push(best.trace);
            }
            if ready.is_empty() {
                self.tell_progress(walk, steps, give)?;
                continue;
            }
            left -= ready.len();
            is_first = false;
            let next = last.filter(|_| left == 0);
            let stats = self.stats(Some(walk), steps.inspected);
            give(Told::Part(Found { traces: ready, stats, next }))?;
            steps.told = Instant::now();
        }
        match is_first || left > 0 {
            true => {
                let stats = self.stats(Some(walk), steps.inspected);
                give(Told::Part(Found { stats, ..Found::default() }))
            }
            false => Ok(()),
        }
    }

    /// Tells what was done, if nothing was told for a while.
    fn tell_progress(
        &self,
        walk: &Walk,
        steps: &mut Steps,
        give: &mut Give<'_>,
    ) -> Result<(), EngineError> {
        if steps.told.elapsed() < SEARCH_TELLS_EVERY {
            return Ok(());
        }
        steps.told = Instant::now();
        give(Told::Progress(self.stats(Some(walk), steps.inspected)))
    }

    /// All traces are looked at, and the first by `sort` kept.
    fn sorted(
        &self,
        sort: Sort,
        walk: &mut Walk,
        workers: &mut [Finder<'_>],
        steps: &mut Steps,
        give: &mut Give<'_>,
    ) -> Result<(), EngineError> {
        // The worst on top; by key descending, then by hash ascending.
        let mut kept: BinaryHeap<(Reverse<i64>, u64)> = BinaryHeap::new();
        let mut is_cut = false;
        while let Some((traces, _)) = steps.next(self.look, walk, SEARCH_STEP_TRACES)? {
            let keys = on_traces(workers, &traces, |finder, some| finder.keys(some, sort))?;
            for (hash, key) in keys.into_iter().flatten() {
                if self.search.after.is_some_and(|cursor| !cursor.precedes(key, hash)) {
                    continue;
                }
                kept.push((Reverse(key), hash));
                if kept.len() > self.search.limit {
                    kept.pop();
                    is_cut = true;
                }
            }
            steps.answer_bytes = kept.capacity() * size_of::<(Reverse<i64>, u64)>();
            self.tell_progress(walk, steps, give)?;
        }
        let kept = kept.into_sorted_vec();
        let next = kept.last().filter(|_| is_cut);
        let next = next.map(|(Reverse(key), hash)| Cursor { key: *key, hash: *hash });
        let kept: Vec<Walked> =
            kept.iter().map(|(_, hash)| Walked { hash: *hash, newest_nanos: 0 }).collect();
        let mut traces = Vec::with_capacity(kept.len());
        for some in kept.chunks(SEARCH_STEP_TRACES) {
            traces.extend(self.find(workers, some, steps)?);
            steps.hold(walk)?;
            self.tell_progress(walk, steps, give)?;
        }
        let stats = self.stats(Some(walk), steps.inspected);
        give(Told::Part(Found { traces, stats, next }))
    }

    /// Those of some traces that match.
    fn find(
        &self,
        workers: &mut [Finder<'_>],
        traces: &[Walked],
        steps: &mut Steps,
    ) -> Result<Vec<FoundTrace>, EngineError> {
        let found = on_traces(workers, traces, |finder, some| finder.find(some))?;
        let found: Vec<FoundTrace> = found.into_iter().flatten().collect();
        steps.answer_bytes += found.iter().map(FoundTrace::bytes).sum::<usize>();
        Ok(found)
    }

    fn stats(&self, walk: Option<&Walk>, inspected_traces: usize) -> SearchStats {
        let done = walk.map(Walk::stats).unwrap_or_default();
        let mut stats = SearchStats { inspected_traces, ..self.look.stats(&done) };
        (stats.total_jobs, stats.completed_jobs) = walk.map(Walk::progress).unwrap_or_default();
        stats
    }
}

/// A search step by step.
struct Steps {
    held: Held,
    /// Traces that others need not be looked into.
    required: Option<HashSet<u64>>,
    inspected: usize,
    /// Bytes of what was found: whoever asks may put all parts together before any is sent on.
    answer_bytes: usize,
    /// When anything was told last.
    told: Instant,
}

impl Steps {
    /// The next candidates, and a time: the spans that make others candidates are not newer. `None`
    /// after the last.
    fn next(
        &mut self,
        look: &Look,
        walk: &mut Walk,
        wanted: usize,
    ) -> Result<Option<(Vec<Walked>, i64)>, EngineError> {
        look.check()?;
        let Some(mut traces) = walk.next(wanted).map_err(|error| look.failed(error))? else {
            return Ok(None);
        };
        self.hold(walk)?;
        let frontier = traces.last().map_or(i64::MAX, |trace| trace.newest_nanos);
        if let Some(required) = &self.required {
            traces.retain(|trace| required.contains(&trace.hash));
        }
        self.inspected += traces.len();
        Ok(Some((traces, frontier)))
    }

    fn hold(&self, walk: &Walk) -> Result<(), EngineError> {
        let required = self.required.as_ref().map_or(0, |hashes| hashes.capacity() * 9);
        self.held.hold(walk.held_bytes() + required + self.answer_bytes)
    }
}

/// A trace in the order of the answer: the newest is the greatest, of equal ones the least hash.
struct Ranked {
    key: i64,
    hash: Reverse<u64>,
    trace: FoundTrace,
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        (self.key, self.hash) == (other.key, other.hash)
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.key, self.hash).cmp(&(other.key, other.hash))
    }
}

/// Looks into traces on one thread.
struct Finder<'s> {
    searcher: &'s Searcher<'s>,
    worker: Worker<'s>,
    shower: Shower<'s>,
}

impl<'s> Finder<'s> {
    fn new(searcher: &'s Searcher<'_>) -> Result<Self, EngineError> {
        let shower = Shower::new(searcher.look, &searcher.show);
        Ok(Self { searcher, worker: searcher.evaluation.worker()?, shower })
    }

    /// Those of the traces that match.
    fn find(&mut self, traces: &[Walked]) -> Result<Vec<FoundTrace>, EngineError> {
        let mut pending = Vec::new();
        let (show, search) = (&self.searcher.show, &self.searcher.search);
        self.worker.run(traces, |_, trace, sets| {
            if let Some(newest_nanos) = newest_within(&trace, &sets, search.time.as_ref()) {
                pending.push(show.look_at(&trace, sets, search.spans_per_set, newest_nanos));
            }
            Ok(())
        })?;
        self.shower.complete(pending)
    }

    /// Hashes of those of the traces that match, with what they are ordered by.
    fn keys(&mut self, traces: &[Walked], sort: Sort) -> Result<Vec<(u64, i64)>, EngineError> {
        let mut keys = Vec::new();
        let time = self.searcher.search.time.as_ref();
        self.worker.run(traces, |nth, trace, sets| {
            let Some(newest_nanos) = newest_within(&trace, &sets, time) else { return Ok(()) };
            let key = match sort {
                Sort::Newest => newest_nanos,
                Sort::Start => trace.start_nanos(),
                Sort::Duration => trace.duration_nanos(),
                Sort::Spans => sets.iter().map(|set| set.spans.len() as i64).sum(),
            };
            keys.push((traces[nth].hash, key));
            Ok(())
        })?;
        Ok(keys)
    }
}

/// When the newest of the matching spans began that ran within `time`; `None` if none did.
fn newest_within(trace: &Loaded<'_>, sets: &[Spanset], time: Option<&Range<i64>>) -> Option<i64> {
    let spans = sets.iter().flat_map(|set| set.spans.iter().copied());
    let times = spans.map(|span| (trace.start_of(span as usize), trace.end_of(span as usize)));
    let within = times.filter(|(start, end)| {
        time.is_none_or(|time| *start < time.end && *start.max(end) >= time.start)
    });
    within.map(|(start, _)| start).max()
}
