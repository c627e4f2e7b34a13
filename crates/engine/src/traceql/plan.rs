//! Which traces have to be looked into for a pipeline.
//!
//! A trace is a candidate if one of its spans passes a predicate that all spans pass which the
//! pipeline gives: of `{ a } >> { b }`, that of `b`. So no trace is missed, whatever the time of the
//! others. If another part promises fewer traces, it is looked at first which have a span for it.

use std::ops::Range;

use hashbrown::HashSet;
use kymo_store::StoreError;
use kymo_store::scan::{
    ColumnRef, Op, Predicate, Scalar, Scan, Scope as StoreScope, Walk, traces_with,
};
use kymo_store::tables::spans::field;
use kymo_traceql::ast::{Expr, Mode, Pipeline, SpansetOp, Spansets, Stage};

use super::look::Look;
use super::predicate::Translator;
use super::tested::Tested;
use crate::limits::TRACE_REACH_NANOS;

/// Which traces are looked into.
#[derive(Debug, Clone)]
pub(super) struct Candidates {
    /// What all spans pass that the pipeline gives.
    pub(super) tested: Tested,
    /// What a span of each trace passes, if that promises less: anywhere in the trace.
    pub(super) required: Option<Tested>,
    /// Whether the pipeline is one filter, which the store tests exactly: then the spans that pass
    /// are the answer.
    pub(super) is_answer: bool,
}

impl Candidates {
    pub(super) fn of(look: &Look, pipeline: &Pipeline) -> Result<Self, StoreError> {
        let translator = Translator { look };
        let tested = results_of_pipeline(&translator, pipeline)?;
        let is_answer = filter_of(pipeline).is_some() && tested.is_exact;
        let required = match is_answer {
            true => None,
            false => Some(needed_by_pipeline(&translator, pipeline)?),
        };
        let is_better = |required: &Tested| {
            promise(&required.predicate) > promise(&tested.predicate).saturating_add(BETTER_PROMISE)
        };
        Ok(Self { required: required.filter(is_better), tested, is_answer })
    }

    /// Whether no trace can match.
    pub(super) fn is_never(&self) -> bool {
        self.tested.is_never() || self.required.as_ref().is_some_and(Tested::is_never)
    }

    /// Traces that have what is required, if something is; `time` is that of the spans that are
    /// looked for.
    pub(super) fn required_traces(
        &self,
        look: &Look,
        time: Option<&Range<i64>>,
    ) -> Result<Option<HashSet<u64>>, StoreError> {
        let Some(required) = &self.required else { return Ok(None) };
        let predicate = Some(required.predicate.clone());
        let scan = Scan { predicate, time: time.map(reach), ..Scan::default() };
        traces_with(&look.sources, &scan, look.context()).map(Some)
    }

    /// The scan of the spans that began within `time`.
    pub(super) fn started(&self, time: &Range<i64>) -> Scan {
        let predicate = Some(self.tested.predicate.clone());
        Scan { predicate, time: Some(time.clone()), ..Scan::default() }
    }

    /// The scan of the spans, in so far as they ran within `time`.
    pub(super) fn scan(&self, time: Option<&Range<i64>>) -> Scan {
        let mut parts = Vec::new();
        if let Some(time) = time {
            // A span that ends before it begins has begun all the same.
            let times = [ColumnRef::EndTime, ColumnRef::Field(field::START_TIME)];
            let reaches = times.map(|column| {
                let value = Scalar::Int(time.start);
                Predicate::Compare { column, op: Op::Ge, value }
            });
            parts.push(Predicate::Or(reaches.into()));
        }
        match &self.tested.predicate {
            Predicate::And(tests) => parts.extend(tests.clone()),
            other => parts.push(other.clone()),
        }
        let predicate = match parts.is_empty() {
            true => None,
            false => Some(Predicate::And(parts)),
        };
        let began = time.map(|time| reach(time).start..time.end);
        Scan { predicate, time: began, ..Scan::default() }
    }

    /// A walk over them, newest first.
    pub(super) fn walk(&self, look: &Look, time: Option<&Range<i64>>) -> Result<Walk, StoreError> {
        Walk::new(&look.sources, &self.scan(time), look.context())
    }
}

/// How much more another part of a pipeline must promise to be looked at first: it is a scan more.
const BETTER_PROMISE: u32 = 4;

/// The times in which spans of a trace are looked for that has one within `time`.
pub(super) fn reach(time: &Range<i64>) -> Range<i64> {
    time.start.saturating_sub(TRACE_REACH_NANOS)..time.end.saturating_add(TRACE_REACH_NANOS)
}

/// The condition of a pipeline that is just one filter, whatever it selects.
pub(super) fn filter_of(pipeline: &Pipeline) -> Option<&Expr> {
    let mut filters = pipeline.stages.iter().filter(|stage| !matches!(stage, Stage::Select(_)));
    match (filters.next(), filters.next()) {
        (Some(Stage::Spansets(Spansets::Filter(expr))), None) => Some(expr),
        _ => None,
    }
}

/// What a span of each trace passes that a pipeline gives anything of.
fn needed_by_pipeline(
    translator: &Translator<'_>,
    pipeline: &Pipeline,
) -> Result<Tested, StoreError> {
    let mut best: Option<Tested> = None;
    for stage in &pipeline.stages {
        let Stage::Spansets(spansets) = stage else { continue };
        let tested = needed_by(translator, spansets)?;
        best = Some(match best {
            None => tested,
            Some(best) => better(best, tested),
        });
    }
    Ok(best.unwrap_or_else(Tested::open))
}

fn needed_by(translator: &Translator<'_>, spansets: &Spansets) -> Result<Tested, StoreError> {
    Ok(match spansets {
        Spansets::Filter(expr) => translator.condition(expr)?,
        Spansets::Pipeline(pipeline) => {
            Tested { is_exact: false, ..needed_by_pipeline(translator, pipeline)? }
        }
        Spansets::Binary { op, left, right } => {
            let (left, right) = (needed_by(translator, left)?, needed_by(translator, right)?);
            let tested = match op {
                SpansetOp::Or => left.or(right).bounded(),
                SpansetOp::Structural { mode: Mode::Unrelated, .. } => right,
                SpansetOp::And | SpansetOp::Structural { .. } => better(left, right),
            };
            Tested { is_exact: false, ..tested }
        }
    })
}

/// What all spans pass that a pipeline gives.
fn results_of_pipeline(
    translator: &Translator<'_>,
    pipeline: &Pipeline,
) -> Result<Tested, StoreError> {
    let mut results: Option<Tested> = None;
    for stage in &pipeline.stages {
        let Stage::Spansets(spansets) = stage else { continue };
        let tested = results_of(translator, spansets)?;
        results = Some(match results {
            None => tested,
            Some(results) => Tested { is_exact: false, ..results.and(tested) },
        });
    }
    Ok(results.unwrap_or_else(Tested::open).bounded())
}

fn results_of(translator: &Translator<'_>, spansets: &Spansets) -> Result<Tested, StoreError> {
    Ok(match spansets {
        Spansets::Filter(expr) => translator.condition(expr)?,
        Spansets::Pipeline(pipeline) => {
            Tested { is_exact: false, ..results_of_pipeline(translator, pipeline)? }
        }
        Spansets::Binary { op, left, right } => {
            let right = results_of(translator, right)?;
            let tested = match op {
                SpansetOp::Structural { mode: Mode::Related | Mode::Unrelated, .. } => right,
                _ => results_of(translator, left)?.or(right),
            };
            Tested { is_exact: false, ..tested.bounded() }
        }
    })
}

/// That of two predicates which promises fewer spans.
fn better(first: Tested, second: Tested) -> Tested {
    if first.is_never() {
        return first;
    }
    match promise(&second.predicate) >= promise(&first.predicate) {
        true => second,
        false => first,
    }
}

/// How few spans a predicate promises: a guess, greater for fewer.
fn promise(predicate: &Predicate) -> u32 {
    match predicate {
        Predicate::And(parts) => parts.iter().map(promise).sum(),
        Predicate::Or(parts) if parts.is_empty() => u32::MAX / 1024,
        Predicate::Or(parts) => parts.iter().map(promise).min().unwrap_or(0) / 2,
        Predicate::Not(_) => 1,
        Predicate::Exists(_) => 2,
        Predicate::Match { negated: true, .. } | Predicate::Contains { negated: true, .. } => 1,
        Predicate::Compare { op: Op::Ne, .. } => 1,
        Predicate::Compare { column, op: Op::Eq, value } => match (column, value) {
            (ColumnRef::Field(field::TRACE_ID | field::SPAN_ID | field::PARENT_SPAN_ID), _) => 1000,
            (ColumnRef::Field(field::STATUS), Scalar::String(status)) if status == "error" => 20,
            (ColumnRef::Field(field::STATUS | field::KIND), _) => 3,
            (ColumnRef::Field(_), _) => 12,
            (ColumnRef::Attribute { scope: StoreScope::Own, .. }, _) => 15,
            _ => 8,
        },
        Predicate::In { .. } | Predicate::Match { .. } | Predicate::Contains { .. } => 7,
        Predicate::Compare { .. } => 5,
    }
}
