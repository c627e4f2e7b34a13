//! What a search shows of the traces that match: their spans, with what the query names or selects.
//!
//! What is needed to evaluate a trace is read of all its spans; the rest only of spans that are
//! shown, when it is known which.

use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_store::block::source::RowRef;
use kymo_store::scan::{ColumnRef, Prepared, TraceReader};
use kymo_store::tables::spans::field;
use kymo_traceql::ast::{Attribute, Expr, Intrinsic, Name, Pipeline};
use kymo_traceql::eval::{Expression, List, Slots, Spanset, Structure, Trace};
use kymo_traceql::value::{OwnedValue, Value};

use super::answer::{FoundSet, FoundSpan, FoundTrace, ServiceStats};
use super::element::Wanted;
use super::evaluate::invalid;
use super::group::Loaded;
use super::layout::{From, Layout};
use super::look::Look;
use super::table::Table;
use crate::error::EngineError;

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

/// How an attribute is shown.
enum Shown {
    /// Read for the spans that are shown, from this slot.
    Late(usize),
    /// Computed while the whole trace is there.
    Now(Expression),
    /// That of one event or link, from this slot.
    Element(List, usize),
}

/// An attribute that is shown.
struct ShownAttribute {
    key: String,
    /// What the query calls it: the same key may be shown of several scopes.
    name: Arc<str>,
    how: Shown,
    /// Whether it is told that a span lacks it: that is what it may have been found for.
    even_nil: bool,
}

impl ShownAttribute {
    fn tells(&self, value: &OwnedValue) -> bool {
        self.even_nil || *value != OwnedValue::Nil
    }
}

/// What is shown of spans.
pub(super) struct Show {
    attributes: Vec<ShownAttribute>,
    with_name: bool,
    needs_structure: bool,
    /// Which event or link is shown.
    elements: Wanted,
    pub(super) late: Layout,
    late_rows: Arc<Prepared>,
}

impl Show {
    pub(super) fn new(
        look: &Look,
        pipeline: &Pipeline,
        slots: &mut Slots,
    ) -> Result<Self, EngineError> {
        let failed = |error| look.failed(error);
        let mut late_names: Vec<Name> = Vec::new();
        let mut attributes = Vec::new();
        let mut with_name = false;
        let lacked = pipeline.lacked();
        for attribute in pipeline.attributes() {
            if attribute.of_parent {
                continue;
            }
            let name = attribute.name.clone();
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
            let full_name: Arc<str> = attribute.to_string().into();
            let layout = Layout::new(look, &[], std::slice::from_ref(&name)).map_err(failed)?;
            let how = match layout.slots.first() {
                Some(From::Span(_) | From::SpanOr(..)) => {
                    late_names.push(name);
                    Shown::Late(late_names.len() - 1)
                }
                Some(From::Events(_)) => Shown::Element(List::Events, slots.slot_of(&name)),
                Some(From::Links(_)) => Shown::Element(List::Links, slots.slot_of(&name)),
                _ => {
                    let expr = Expr::Attribute(Attribute { of_parent: false, name });
                    Shown::Now(Expression::new(&expr, slots).map_err(invalid)?)
                }
            };
            let even_nil = lacked.contains(&attribute);
            attributes.push(ShownAttribute { key, name: full_name, how, even_nil });
        }
        let late = Layout::new(look, &BASE, &late_names).map_err(failed)?;
        let late_rows = look.prepare(late.columns.clone(), None).map_err(failed)?;
        let needs_structure = attributes.iter().any(
            |shown| matches!(&shown.how, Shown::Now(expression) if expression.needs_structure()),
        );
        let elements = Wanted::of(pipeline, slots)?;
        Ok(Self { attributes, with_name, needs_structure, elements, late, late_rows })
    }
}

impl Show {
    /// Whether something that is shown are numbers of nested spans.
    pub(super) fn needs_structure(&self) -> bool {
        self.needs_structure
    }
}

/// A trace that matches, whose spans are still to be read.
pub(super) struct Pending {
    trace: FoundTrace,
    /// The root, or a span of the trace, then the spans that are shown.
    rows: Vec<RowRef>,
    has_root: bool,
}

impl Show {
    /// What is known of a trace while all of it is there.
    pub(super) fn look_at(
        &self,
        trace: &Loaded<'_>,
        sets: Vec<Spanset>,
        spans_per_set: usize,
        newest_nanos: i64,
    ) -> Pending {
        let mut rows = vec![trace.root().unwrap_or_else(|| trace.row(0))];
        let structure = match self.needs_structure {
            true => Structure::of(trace),
            false => Structure::default(),
        };
        let mut span_sets = Vec::with_capacity(sets.len());
        for set in sets {
            let matched = set.spans.len();
            let mut spans = set.spans;
            spans.sort_by_key(|span| trace.start_of(*span as usize));
            spans.truncate(spans_per_set);
            let shown = spans.into_iter().map(|span| {
                let span = span as usize;
                rows.push(trace.row(span));
                let told = self.attributes.iter().filter_map(|shown| {
                    let value = match &shown.how {
                        Shown::Late(_) => return None,
                        Shown::Now(expression) => {
                            OwnedValue::from(expression.value_in(trace, &structure, span))
                        }
                        Shown::Element(list, slot) => {
                            let even_nil = shown.even_nil;
                            let value = self.elements.value(trace, span, *list, *slot, even_nil);
                            OwnedValue::from(value)
                        }
                    };
                    let is_told = shown.tells(&value);
                    is_told.then(|| ((shown.key.clone(), value), shown.name.clone()))
                });
                let (attributes, names) = told.unzip();
                FoundSpan {
                    span_id: [0; 8],
                    name: None,
                    start_nanos: 0,
                    duration_nanos: 0,
                    attributes,
                    names,
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
            orphans: (0..trace.spans())
                .filter(|span| !trace.is_root(*span) && trace.parent(*span).is_none())
                .count(),
            newest_nanos,
        };
        Pending { trace, rows, has_root }
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
        let early = std::mem::take(&mut span.attributes).into_iter();
        let mut early = early.zip(std::mem::take(&mut span.names)).peekable();
        span.attributes.reserve(self.attributes.len());
        span.names.reserve(self.attributes.len());
        for shown in &self.attributes {
            match &shown.how {
                Shown::Late(slot) => {
                    let from = self.late.slots.get(*slot);
                    let value = from.map_or(Value::Nil, |from| table.get(row, from));
                    let value = OwnedValue::from(value);
                    if shown.tells(&value) {
                        span.attributes.push((shown.key.clone(), value));
                        span.names.push(shown.name.clone());
                    }
                }
                _ => {
                    if let Some((found, name)) = early.next_if(|(_, name)| *name == shown.name) {
                        span.attributes.push(found);
                        span.names.push(name);
                    }
                }
            }
        }
        if self.attributes.iter().any(|shown| shown.even_nil) {
            drop_hiding(span);
        }
    }
}

/// Drops what says that there is no value of a key where another scope has one.
fn drop_hiding(span: &mut FoundSpan) {
    let with_value = span.attributes.iter().filter(|(_, value)| *value != OwnedValue::Nil);
    let with_value: Vec<String> = with_value.map(|(key, _)| key.clone()).collect();
    let attributes = std::mem::take(&mut span.attributes).into_iter();
    let told = attributes
        .zip(std::mem::take(&mut span.names))
        .filter(|((key, value), _)| *value != OwnedValue::Nil || !with_value.contains(key));
    (span.attributes, span.names) = told.unzip();
}

/// Reads what is shown of spans, on one thread.
pub(super) struct Shower<'s> {
    look: &'s Look,
    show: &'s Show,
    late: TraceReader,
}

impl<'s> Shower<'s> {
    pub(super) fn new(look: &'s Look, show: &'s Show) -> Self {
        Self { look, show, late: TraceReader::new(&show.late_rows) }
    }

    /// Reads what is shown of spans.
    pub(super) fn complete(
        &mut self,
        mut pending: Vec<Pending>,
    ) -> Result<Vec<FoundTrace>, EngineError> {
        let look = self.look;
        let rows: Vec<RowRef> = pending.iter().flat_map(|p| p.rows.iter().copied()).collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let held = look.memory("spans");
        let mut go_on = |bytes| look.go_on(&held, bytes);
        let read = self.late.read(&rows, &mut go_on).map_err(|error| look.failed(error))?;
        let Some(batches) = read else {
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
        let places = self.show.late.slots.iter().flat_map(From::span_places);
        let table = Table::new(&batches, places);
        held.hold(table.bytes)?;
        let mut row = 0;
        let complete = pending.into_iter().map(|mut pending| {
            self.show.fill(&table, row, &mut pending);
            row += pending.rows.len();
            pending.trace
        });
        Ok(complete.collect())
    }
}
