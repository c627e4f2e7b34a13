//! `compare()`: how the values of every attribute are spread over a selection of spans and over all
//! others.
//!
//! Where the pipeline is one filter that the store tests exactly, and the selection looks at the
//! span's own row, rows are counted as they are scanned, an attribute at a time, by numbers that
//! stand for their values; just what is no row's own is then read from traces. Else all is.

use std::ops::Range;

use hashbrown::HashMap;
use kymo_store::scan::{ColumnRef, Prepared, Scan, Scope as StoreScope};
use kymo_store::schema::Signal;
use kymo_store::tables::spans::field;
use kymo_traceql::ast::{Attribute, Expr, Intrinsic, MetricsFunction, Name, Scope};
use kymo_traceql::eval::{Expression, Slots, Structure, Trace};
use kymo_traceql::metrics::{AttributeNumber, Comparison, Grid, Series, ValueNumber};
use kymo_traceql::value::{OwnedValue, Value};

use super::answer::SearchStats;
use super::columns::{Cell, Column, NOT_COUNTED, Scratch};
use super::evaluate::{Evaluation, each_started, invalid};
use super::group::Loaded;
use super::layout::{From, Layout};
use super::look::Look;
use super::measure::Leaf;
use super::near::Near;
use super::plan::Candidates;
use super::rows::Rows;
use super::table::Table;
use super::tags;
use crate::error::EngineError;
use crate::limits::{COMPARE_MAX_ATTRIBUTES, POINT_BYTES};
use crate::threads::on_each;

/// Intrinsics that are compared: those of few values.
const INTRINSICS: [Intrinsic; 8] = [
    Intrinsic::Name,
    Intrinsic::Kind,
    Intrinsic::Status,
    Intrinsic::StatusMessage,
    Intrinsic::RootName,
    Intrinsic::RootServiceName,
    Intrinsic::InstrumentationName,
    Intrinsic::InstrumentationVersion,
];

/// What is compared and depends on the other spans of a trace.
const OF_SHAPE: [Intrinsic; 1] = [Intrinsic::SpanChildCount];

const BASE: [ColumnRef; 1] = [ColumnRef::Field(field::START_TIME)];
const START: usize = 0;

/// What is compared, and with what.
struct Comparing<'c> {
    look: &'c Look,
    leaf: &'c Leaf<'c>,
    grid: &'c Grid,
    candidates: Candidates,
    selection: &'c Expr,
    top: usize,
    range: Option<(i64, i64)>,
}

/// Answers `compare()`.
pub(super) fn answer(
    look: &Look,
    leaf: &Leaf<'_>,
    grid: &Grid,
    stats: &mut SearchStats,
) -> Result<Vec<Series>, EngineError> {
    let MetricsFunction::Compare { selection, top, range } = leaf.function else {
        return Ok(Vec::new());
    };
    let candidates = Candidates::of(look, leaf.pipeline).map_err(|error| look.failed(error))?;
    let (top, range) = (*top, *range);
    let comparing = Comparing { look, leaf, grid, candidates, selection, top, range };
    let mut names = attributes(look, Some(&grid.time()))?;
    let of_shape = OF_SHAPE.map(Name::Intrinsic);
    let held = look.memory("comparison");
    let mut all = Comparison::new(top, grid);
    let mut add = |parts: Vec<Comparison>| {
        parts.into_iter().try_for_each(|part| {
            all.merge(part);
            held.hold(all.bytes())
        })
    };
    match ByRow::new(look, &comparing.candidates, selection, &names)? {
        Some(by_row) => {
            add(comparing.rows(&names, &by_row, stats)?)?;
            add(comparing.traces(&of_shape, stats)?)?;
        }
        None => {
            names.extend(of_shape);
            add(comparing.traces(&names, stats)?)?;
        }
    }
    look.check()?;
    // Points that nothing was counted for are made now.
    held.hold(all.bytes() + all.finished_points().saturating_mul(POINT_BYTES))?;
    Ok(all.finish())
}

/// The columns that rows are compared by as they are scanned, if they can be.
pub(super) fn row_layout(
    look: &Look,
    selection: &Expr,
    candidates: &Candidates,
    time: Option<&Range<i64>>,
) -> Result<Option<Layout>, EngineError> {
    let by_row = ByRow::new(look, candidates, selection, &attributes(look, time)?)?;
    Ok(by_row.map(|by_row| by_row.layout))
}

/// How rows are compared.
struct ByRow {
    selection: Expression,
    layout: Layout,
    /// Of the names that are compared, in their order.
    slots: Vec<usize>,
}

impl ByRow {
    /// `None` if traces have to be read: a selection by events, parents or the shape of traces needs
    /// them whole.
    fn new(
        look: &Look,
        candidates: &Candidates,
        selection: &Expr,
        names: &[Name],
    ) -> Result<Option<Self>, EngineError> {
        let mut all = Slots::default();
        let selection = Expression::new(selection, &mut all).map_err(invalid)?;
        if !candidates.is_answer || !selection.reads_row_only() {
            return Ok(None);
        }
        let slots = names.iter().map(|name| all.slot_of(name)).collect();
        let layout = Layout::of_rows(look, &BASE, all.names());
        let layout = layout.map_err(|error| look.failed(error))?;
        Ok(layout.map(|layout| Self { selection, layout, slots }))
    }
}

/// Names that are compared and lie in rows.
fn attributes(look: &Look, time: Option<&Range<i64>>) -> Result<Vec<Name>, EngineError> {
    let mut names: Vec<Name> = INTRINSICS.iter().map(|i| Name::Intrinsic(*i)).collect();
    for (scope, key) in tags::keys(look, time)? {
        let scope = match scope {
            StoreScope::Own => Scope::Span,
            StoreScope::Resource => Scope::Resource,
            StoreScope::Scope => Scope::Instrumentation,
            _ => continue,
        };
        names.push(Name::Keyed { scope, key });
        if names.len() > COMPARE_MAX_ATTRIBUTES {
            return Err(EngineError::Invalid(
                format!(
                    "spans have more than {COMPARE_MAX_ATTRIBUTES} attributes: too many to compare"
                )
                .into(),
            ));
        }
    }
    Ok(names)
}

impl Comparing<'_> {
    /// Nothing counted yet, and the numbers of the attributes in their order.
    fn begin(&self, names: &[Name]) -> (Comparison, Vec<AttributeNumber>) {
        let mut comparison = Comparison::new(self.top, self.grid);
        let numbers = names.iter().map(|name| comparison.attribute(&of_span(name).to_string()));
        let numbers = numbers.collect();
        (comparison, numbers)
    }

    /// Whether a span that began then can be in the selection.
    fn is_in_range(&self, start_nanos: i64) -> bool {
        self.range.is_none_or(|(begin, end)| begin <= start_nanos && start_nanos <= end)
    }

    /// Counts rows as they are scanned.
    fn rows(
        &self,
        names: &[Name],
        ByRow { selection, layout, slots }: &ByRow,
        stats: &mut SearchStats,
    ) -> Result<Vec<Comparison>, EngineError> {
        let look = self.look;
        let failed = |error| look.failed(error);
        let scan =
            Scan { columns: layout.columns.clone(), ..self.candidates.started(&self.grid.time()) };
        let prepared = Prepared::new(&look.sources, Signal::Spans, &scan, look.context());
        let work = prepared.map_err(failed)?.start();
        let shares = (0..look.threads()).map(|_| work.partition());
        let parts = on_each(shares, |mut partition| {
            let (mut comparison, attributes) = self.begin(names);
            let mut columns: Vec<Column> = attributes
                .into_iter()
                .zip(slots)
                .map(|(attribute, slot)| Column::new(attribute, &layout.slots[*slot]))
                .collect();
            let held = look.memory("comparison");
            let (mut cells, mut scratch) = (Vec::new(), Scratch::default());
            while let Some(batch) = partition.next_batch().map_err(failed)? {
                look.check()?;
                let places = layout.slots.iter().flat_map(From::span_places);
                let table = Table::new(std::slice::from_ref(&batch), places);
                self.find_cells(selection, &Rows { layout, table: &table }, &mut cells);
                let (views, _) = table.at(0);
                for column in &mut columns {
                    column.count(views, &cells, &mut scratch, &mut comparison);
                }
                let columns_bytes: usize = columns.iter().map(Column::bytes).sum();
                held.hold(comparison.bytes() + columns_bytes + scratch.bytes())?;
            }
            Ok(comparison)
        })?;
        look.count(&work.stats());
        stats.add(&look.stats(&work.stats()));
        Ok(parts)
    }

    /// Where each row of a batch is counted.
    fn find_cells(&self, selection: &Expression, rows: &Rows<'_>, cells: &mut Vec<Cell>) {
        let mut near = Near::default();
        cells.clear();
        cells.extend((0..rows.spans()).map(|row| {
            let start = rows.table.int(row, START).unwrap_or(0);
            if !near.holds(start) && !near.find(start, self.grid) {
                return NOT_COUNTED;
            }
            let is_selected = self.is_in_range(start) && selection.matches(rows, row);
            Cell { point: near.point as u32, is_selected }
        }));
    }

    /// Evaluates traces and counts the spans that match.
    fn traces(
        &self,
        names: &[Name],
        stats: &mut SearchStats,
    ) -> Result<Vec<Comparison>, EngineError> {
        let look = self.look;
        let mut slots = Slots::default();
        let selection = Expression::new(self.selection, &mut slots).map_err(invalid)?;
        let values = names.iter().map(|name| {
            Expression::new(&Expr::Attribute(of_span(name)), &mut slots).map_err(invalid)
        });
        let values: Vec<Expression> = values.collect::<Result<_, _>>()?;
        let needs_structure =
            values.iter().chain([&selection]).any(|expression| expression.needs_structure());
        // Children are counted in any order.
        let numbers_spans = selection.needs_structure();
        let evaluation = Evaluation::new(look, self.leaf.pipeline, slots, numbers_spans)?;
        let make = || {
            let (comparison, attributes) = self.begin(names);
            Counted::new(comparison, attributes)
        };
        let each = |counted: &mut Counted, trace: &Loaded<'_>, spans: &[u32]| {
            let structure =
                if needs_structure { Structure::of(trace) } else { Structure::default() };
            for span in spans {
                let span = *span as usize;
                let start = trace.start_of(span);
                let Some(point) = self.grid.point_of(start) else { continue };
                let is_selected =
                    self.is_in_range(start) && selection.matches_in(trace, &structure, span);
                for (nth, value) in values.iter().enumerate() {
                    counted.add(nth, value.value_in(trace, &structure, span), is_selected, point);
                }
            }
            Ok(counted.bytes())
        };
        let time = self.grid.time();
        let parts = each_started(&evaluation, &self.candidates, &time, stats, make, each)?;
        Ok(parts.into_iter().map(|counted| counted.comparison).collect())
    }
}

/// The attribute of a span, not of its parent.
fn of_span(name: &Name) -> Attribute {
    Attribute { of_parent: false, name: name.clone() }
}

/// What one thread counts of evaluated traces.
struct Counted {
    comparison: Comparison,
    attributes: Vec<AttributeNumber>,
    /// Numbers of texts, which are looked up without being copied, and their bytes.
    texts: Vec<(HashMap<String, ValueNumber>, usize)>,
}

impl Counted {
    fn new(comparison: Comparison, attributes: Vec<AttributeNumber>) -> Self {
        let texts = attributes.iter().map(|_| (HashMap::new(), 0)).collect();
        Self { comparison, attributes, texts }
    }

    fn bytes(&self) -> usize {
        self.comparison.bytes() + self.texts.iter().map(|(_, bytes)| bytes).sum::<usize>()
    }

    /// Counts a value of the attribute at that place.
    fn add(&mut self, nth: usize, value: Value<'_>, is_selected: bool, point: usize) {
        if value != Value::Nil {
            let number = self.number_of(nth, value);
            self.comparison.add(self.attributes[nth], number, is_selected, point, 1);
        }
    }

    fn number_of(&mut self, nth: usize, value: Value<'_>) -> ValueNumber {
        let attribute = self.attributes[nth];
        if self.comparison.has_too_many(attribute) {
            // They all have the same number, which is none.
            self.texts[nth] = Default::default();
            return self.comparison.value(attribute, &OwnedValue::Nil);
        }
        let Value::Text(text) = value else {
            return self.comparison.value(attribute, &OwnedValue::from(value));
        };
        let (texts, bytes) = &mut self.texts[nth];
        if let Some(number) = texts.get(text) {
            return *number;
        }
        let number = self.comparison.value(attribute, &OwnedValue::from(value));
        texts.insert(text.to_owned(), number);
        *bytes += text.len() + 64;
        number
    }
}
