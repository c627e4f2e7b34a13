//! A search: traces that match, newest first or in another order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use kymo_store::block::source::RowRef;
use kymo_store::scan::{ColumnRef, Prepared, TraceReader, Walk, Walked};
use kymo_store::tables::spans::field;
use kymo_traceql::ast::{Attribute, Body, Expr, Intrinsic, Metrics, Name, Pipeline, Query};
use kymo_traceql::eval::{Expression, Slots, Spanset, Structure, Trace};
use kymo_traceql::value::{OwnedValue, Value};

use super::answer::{Found, FoundSet, FoundSpan, FoundTrace, SearchStats, ServiceStats};
use super::evaluate::{Evaluation, Worker, invalid, on_threads};
use super::group::Loaded;
use super::layout::{From, Layout};
use super::look::Look;
use super::plan::Candidates;
use super::request::{Cursor, Search, Sort};
use super::table::Table;
use crate::error::EngineError;
use crate::limits::SEARCH_STEP_TRACES;

/// Columns that are read of spans that are shown, by place.
const BASE: [ColumnRef; 5] = [
    ColumnRef::Field(field::TRACE_ID),
    ColumnRef::Field(field::SPAN_ID),
    ColumnRef::Field(field::START_TIME),
    ColumnRef::Field(field::DURATION),
    ColumnRef::Field(field::NAME),
];
const TRACE_ID: usize = 0;
const SPAN_ID: usize = 1;
const START: usize = 2;
const DURATION: usize = 3;
const NAME: usize = 4;

/// Takes parts of the answer.
pub(super) type Give<'g> = dyn FnMut(Found) -> Result<(), EngineError> + 'g;

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
        Body::Metrics(metrics) => first(metrics)
            .ok_or_else(|| EngineError::Invalid("the query is about no spans".to_owned())),
    }
}

/// How an attribute is shown.
enum Shown {
    /// Read for the spans that are shown, from this slot.
    Late(usize),
    /// Computed while the whole trace is there.
    Now(Expression),
    /// That of the first event or link that has it.
    Element(usize),
}

/// What is shown of spans.
struct Show {
    attributes: Vec<(String, Shown)>,
    with_name: bool,
    needs_structure: bool,
    late: Layout,
    late_rows: Arc<Prepared>,
}

impl Show {
    fn new(look: &Look, pipeline: &Pipeline, slots: &mut Slots) -> Result<Self, EngineError> {
        let failed = |error| look.failed(error);
        let mut late_names: Vec<Name> = Vec::new();
        let mut attributes = Vec::new();
        let mut with_name = false;
        for attribute in pipeline.attributes() {
            if attribute.of_parent {
                continue;
            }
            let name = plain(&attribute.name);
            match name {
                Name::Intrinsic(Intrinsic::Name) => {
                    with_name = true;
                    continue;
                }
                // Shown in fields of their own, or of the trace.
                Name::Intrinsic(
                    Intrinsic::Duration
                    | Intrinsic::SpanId
                    | Intrinsic::TraceId
                    | Intrinsic::TraceDuration
                    | Intrinsic::RootName
                    | Intrinsic::RootServiceName
                    | Intrinsic::Parent,
                ) => continue,
                _ => {}
            }
            let key = attribute.bare_name().into_owned();
            let layout = Layout::new(look, &[], std::slice::from_ref(&name)).map_err(failed)?;
            let shown = match layout.slots.first() {
                Some(From::Span(_) | From::SpanOr(..)) => {
                    late_names.push(name);
                    Shown::Late(late_names.len() - 1)
                }
                Some(From::Events(_) | From::Links(_)) => Shown::Element(slots.slot_of(&name)),
                _ => {
                    let expr = Expr::Attribute(Attribute { of_parent: false, name });
                    Shown::Now(Expression::new(&expr, slots).map_err(invalid)?)
                }
            };
            attributes.push((key, shown));
        }
        let late = Layout::new(look, &BASE, &late_names).map_err(failed)?;
        let late_rows = look.prepare(late.columns.clone(), None).map_err(failed)?;
        let needs_structure = attributes.iter().any(
            |(_, shown)| matches!(shown, Shown::Now(expression) if expression.needs_structure()),
        );
        Ok(Self { attributes, with_name, needs_structure, late, late_rows })
    }
}

fn plain(name: &Name) -> Name {
    match name {
        Name::Intrinsic(intrinsic) => Name::Intrinsic(intrinsic.plain()),
        keyed => keyed.clone(),
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
        let evaluation = Evaluation::new(look, &pipeline, slots)?;
        Ok(Self { look, search, candidates, evaluation, show })
    }

    /// What is read of spans that are shown.
    pub(super) fn late_layout(&self) -> &Layout {
        &self.show.late
    }

    /// Runs the search; `give` gets its parts.
    pub(super) fn run(&self, give: &mut Give<'_>) -> Result<(), EngineError> {
        let look = self.look;
        if self.candidates.tested.is_never() || self.search.limit == 0 {
            return give(Found { stats: self.stats(None, 0), ..Found::default() });
        }
        let walk = self.candidates.walk(look, self.search.time.as_ref());
        let mut walk = walk.map_err(|error| look.failed(error))?;
        let mut workers = Vec::with_capacity(look.threads());
        for _ in 0..look.threads() {
            workers.push(Finder::new(self)?);
        }
        match self.search.sort {
            Sort::Newest => self.newest(&mut walk, &mut workers, give),
            sort => self.sorted(sort, &mut walk, &mut workers, give),
        }
    }

    /// Traces as they are found.
    fn newest(
        &self,
        walk: &mut Walk,
        workers: &mut [Finder<'_>],
        give: &mut Give<'_>,
    ) -> Result<(), EngineError> {
        let held = self.look.memory("search");
        let mut left = self.search.limit;
        let mut inspected = 0;
        // Whoever asks may put all parts together before any is sent on.
        let mut answer_bytes = 0;
        let mut is_first = true;
        while left > 0 {
            self.look.check()?;
            // If candidates are the answer, there is no need for more than are asked for.
            let wanted = match self.candidates.is_answer {
                true => left.min(SEARCH_STEP_TRACES),
                false => SEARCH_STEP_TRACES,
            };
            let Some(mut traces) = walk.next(wanted).map_err(|error| self.look.failed(error))?
            else {
                break;
            };
            held.hold(walk.held_bytes() + answer_bytes)?;
            if let Some(cursor) = self.search.after {
                traces.retain(|trace| {
                    (Reverse(trace.newest_nanos), trace.hash) > (Reverse(cursor.key), cursor.hash)
                });
            }
            if traces.is_empty() {
                continue;
            }
            inspected += traces.len();
            let found = on_threads(workers, &traces, |finder, some| finder.find(some))?;
            let mut found: Vec<(Walked, FoundTrace)> = found.into_iter().flatten().collect();
            found.truncate(left);
            if found.is_empty() {
                continue;
            }
            left -= found.len();
            let last = found.last().filter(|_| left == 0).map(|(trace, _)| *trace);
            let next = last.map(|trace| Cursor { key: trace.newest_nanos, hash: trace.hash });
            let traces: Vec<FoundTrace> = found.into_iter().map(|(_, found)| found).collect();
            answer_bytes += traces.iter().map(FoundTrace::bytes).sum::<usize>();
            give(Found { traces, stats: self.stats(Some(walk), inspected), next })?;
            is_first = false;
        }
        match is_first || left > 0 {
            true => give(Found { stats: self.stats(Some(walk), inspected), ..Found::default() }),
            false => Ok(()),
        }
    }

    /// All traces are looked at, and the first by `sort` kept.
    fn sorted(
        &self,
        sort: Sort,
        walk: &mut Walk,
        workers: &mut [Finder<'_>],
        give: &mut Give<'_>,
    ) -> Result<(), EngineError> {
        let held = self.look.memory("search");
        // The worst on top; by key descending, then by hash ascending.
        let mut kept: BinaryHeap<(Reverse<i64>, u64, i64)> = BinaryHeap::new();
        let mut inspected = 0;
        let mut is_cut = false;
        while let Some(traces) =
            walk.next(SEARCH_STEP_TRACES).map_err(|error| self.look.failed(error))?
        {
            self.look.check()?;
            let entry_bytes = size_of::<(Reverse<i64>, u64, i64)>();
            held.hold(walk.held_bytes() + kept.capacity() * entry_bytes)?;
            inspected += traces.len();
            let keys = on_threads(workers, &traces, |finder, some| finder.keys(some, sort))?;
            for (trace, key) in keys.into_iter().flatten() {
                let entry = (Reverse(key), trace.hash, trace.newest_nanos);
                let is_before =
                    |cursor: Cursor| (entry.0, entry.1) <= (Reverse(cursor.key), cursor.hash);
                if self.search.after.is_some_and(is_before) {
                    continue;
                }
                kept.push(entry);
                if kept.len() > self.search.limit {
                    kept.pop();
                    is_cut = true;
                }
            }
        }
        let kept = kept.into_sorted_vec();
        let next = kept.last().filter(|_| is_cut);
        let next = next.map(|(Reverse(key), hash, _)| Cursor { key: *key, hash: *hash });
        let traces: Vec<Walked> = kept
            .iter()
            .map(|(_, hash, newest_nanos)| Walked { hash: *hash, newest_nanos: *newest_nanos })
            .collect();
        let found = on_threads(workers, &traces, |finder, some| finder.find(some))?;
        let traces: Vec<FoundTrace> = found.into_iter().flatten().map(|(_, found)| found).collect();
        held.hold(walk.held_bytes() + traces.iter().map(FoundTrace::bytes).sum::<usize>())?;
        give(Found { traces, stats: self.stats(Some(walk), inspected), next })
    }

    fn stats(&self, walk: Option<&Walk>, inspected_traces: usize) -> SearchStats {
        let blocks = self.look.snapshot.blocks();
        let (total_blocks, total_block_bytes) =
            blocks.fold((0, 0), |(blocks, bytes), block| (blocks + 1, bytes + block.size_bytes));
        let mut stats =
            SearchStats { inspected_traces, total_blocks, total_block_bytes, ..Default::default() };
        let Some(walk) = walk else { return stats };
        let done = walk.stats();
        (stats.total_jobs, stats.completed_jobs) = walk.progress();
        stats.inspected_spans = done.rows_scanned;
        stats.damaged_blocks = done.blocks_skipped_damaged;
        // What of the blocks was looked into, by rows.
        let rows: usize = self.look.sources.iter().map(|source| source.rows()).sum();
        let share = done.rows_scanned as u128 * u128::from(total_block_bytes);
        stats.inspected_bytes = (share / rows.max(1) as u128) as u64;
        stats
    }
}

/// Looks into traces on one thread.
struct Finder<'s> {
    searcher: &'s Searcher<'s>,
    worker: Worker<'s>,
    late: TraceReader,
}

/// A trace that matches, whose spans are still to be read.
struct Pending {
    walked: Walked,
    trace: FoundTrace,
    /// The root, or a span of the trace, then the spans that are shown.
    rows: Vec<RowRef>,
    has_root: bool,
}

impl<'s> Finder<'s> {
    fn new(searcher: &'s Searcher<'_>) -> Result<Self, EngineError> {
        let late = TraceReader::new(&searcher.show.late_rows);
        Ok(Self { searcher, worker: searcher.evaluation.worker()?, late })
    }

    /// Those of the traces that match.
    fn find(&mut self, traces: &[Walked]) -> Result<Vec<(Walked, FoundTrace)>, EngineError> {
        let mut pending = Vec::new();
        let searcher = self.searcher;
        self.worker.run(traces, |nth, trace, sets| {
            pending.push(searcher.look_at(traces[nth], &trace, sets));
            Ok(())
        })?;
        self.complete(pending)
    }

    /// Those of the traces that match, with what they are ordered by.
    fn keys(&mut self, traces: &[Walked], sort: Sort) -> Result<Vec<(Walked, i64)>, EngineError> {
        let mut keys = Vec::new();
        self.worker.run(traces, |nth, trace, sets| {
            let key = match sort {
                Sort::Newest => traces[nth].newest_nanos,
                Sort::Start => trace.start_nanos(),
                Sort::Duration => trace.duration_nanos(),
                Sort::Spans => sets.iter().map(|set| set.spans.len() as i64).sum(),
            };
            keys.push((traces[nth], key));
            Ok(())
        })?;
        Ok(keys)
    }

    /// Reads what is shown of spans.
    fn complete(
        &mut self,
        mut pending: Vec<Pending>,
    ) -> Result<Vec<(Walked, FoundTrace)>, EngineError> {
        let look = self.searcher.look;
        let rows: Vec<RowRef> = pending.iter().flat_map(|p| p.rows.iter().copied()).collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let held = look.memory("spans");
        let Some(batches) = self.late.read(&rows).map_err(|error| look.failed(error))? else {
            if pending.len() == 1 {
                tracing::warn!("a trace is left out of an answer, for its block is damaged");
                return Ok(Vec::new());
            }
            // One of them is in a block that just turned out to be damaged.
            let mut found = Vec::new();
            while let Some(one) = pending.pop() {
                found.extend(self.complete(vec![one])?);
            }
            found.reverse();
            return Ok(found);
        };
        let places = self.searcher.show.late.slots.iter().flat_map(From::span_places);
        let table = Table::new(&batches, places);
        held.hold(table.bytes)?;
        let mut row = 0;
        let complete = pending.into_iter().map(|mut pending| {
            self.searcher.show.fill(&table, row, &mut pending);
            row += pending.rows.len();
            (pending.walked, pending.trace)
        });
        Ok(complete.collect())
    }
}

impl Searcher<'_> {
    /// What is known of a trace while all of it is there.
    fn look_at(&self, walked: Walked, trace: &Loaded<'_>, sets: Vec<Spanset>) -> Pending {
        let mut rows = vec![trace.root().unwrap_or_else(|| trace.row(0))];
        let structure = match self.show.needs_structure {
            true => Structure::of(trace),
            false => Structure::default(),
        };
        let mut span_sets = Vec::with_capacity(sets.len());
        for set in sets {
            let matched = set.spans.len();
            let mut spans = set.spans;
            spans.sort_by_key(|span| trace.start_of(*span as usize));
            spans.truncate(self.search.spans_per_set);
            let shown = spans.into_iter().map(|span| {
                let span = span as usize;
                rows.push(trace.row(span));
                let attributes = self.show.attributes.iter().filter_map(|(key, shown)| {
                    let value = match shown {
                        Shown::Late(_) => return None,
                        Shown::Now(expression) => {
                            OwnedValue::from(expression.value_in(trace, &structure, span))
                        }
                        Shown::Element(slot) => OwnedValue::from(trace.first_element(span, *slot)),
                    };
                    (value != OwnedValue::Nil).then(|| (key.clone(), value))
                });
                FoundSpan {
                    span_id: [0; 8],
                    name: None,
                    start_nanos: 0,
                    duration_nanos: 0,
                    attributes: attributes.collect(),
                }
            });
            let spans = shown.collect();
            span_sets.push(FoundSet { matched, attributes: set.attributes, spans });
        }
        let has_root = trace.root().is_some();
        let trace = FoundTrace {
            trace_id: [0; 16],
            root_service: trace.root_service().map(str::to_owned),
            root_name: None,
            start_nanos: trace.start_nanos(),
            duration_nanos: trace.duration_nanos(),
            span_sets,
            services: services_of(trace),
            newest_nanos: walked.newest_nanos,
        };
        Pending { walked, trace, rows, has_root }
    }
}

/// Spans and errors by service.
fn services_of(trace: &Loaded<'_>) -> Vec<ServiceStats> {
    let mut services: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for span in 0..trace.spans() {
        let counts = services.entry(trace.service_of(span).unwrap_or("")).or_default();
        counts.0 += 1;
        counts.1 += usize::from(trace.is_error(span));
    }
    let stats = services.into_iter().map(|(service, (spans, errors))| ServiceStats {
        service: service.to_owned(),
        spans,
        errors,
    });
    stats.collect()
}

impl Show {
    /// Puts what was read into a trace; its rows begin at `row`.
    fn fill(&self, table: &Table, row: usize, pending: &mut Pending) {
        let trace = &mut pending.trace;
        if let Some(id) = table.id(row, TRACE_ID).and_then(|id| id.try_into().ok()) {
            trace.trace_id = id;
        }
        if pending.has_root {
            trace.root_name = table.text(row, NAME).map(str::to_owned);
        }
        let spans = trace.span_sets.iter_mut().flat_map(|set| &mut set.spans);
        for (row, span) in (row + 1..).zip(spans) {
            if let Some(id) = table.id(row, SPAN_ID).and_then(|id| id.try_into().ok()) {
                span.span_id = id;
            }
            span.start_nanos = table.int(row, START).unwrap_or(0);
            span.duration_nanos = table.int(row, DURATION).unwrap_or(0);
            if self.with_name {
                span.name = table.text(row, NAME).map(str::to_owned);
            }
            self.fill_attributes(table, row, span);
        }
    }

    /// Adds what was read late, and puts all in the order of the query.
    fn fill_attributes(&self, table: &Table, row: usize, span: &mut FoundSpan) {
        let mut early = std::mem::take(&mut span.attributes).into_iter().peekable();
        span.attributes.reserve(self.attributes.len());
        for (key, shown) in &self.attributes {
            match shown {
                Shown::Late(slot) => {
                    let value = match self.late.slots.get(*slot) {
                        Some(From::Span(places)) => table.first(row, places, 0),
                        Some(From::SpanOr(places, other)) => match table.first(row, places, 0) {
                            Value::Nil => Value::Text(other),
                            value => value,
                        },
                        _ => Value::Nil,
                    };
                    if value != Value::Nil {
                        span.attributes.push((key.clone(), OwnedValue::from(value)));
                    }
                }
                _ => {
                    if let Some(found) = early.next_if(|(known, _)| known == key) {
                        span.attributes.push(found);
                    }
                }
            }
        }
    }
}
