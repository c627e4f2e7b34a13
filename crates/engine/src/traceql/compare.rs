//! `compare()`: how the values of every attribute are spread over a selection of spans and over all
//! others.
//!
//! Where the pipeline is one filter that the store tests exactly, and the selection looks at the
//! span's own row, rows are counted as they are scanned, an attribute at a time, by numbers that
//! stand for their values. Else traces are read and evaluated.

use hashbrown::HashMap;
use kymo_store::scan::{ColumnRef, Prepared, Scan, Scope as StoreScope, Walk};
use kymo_store::schema::Signal;
use kymo_store::tables::spans::field;
use kymo_traceql::ast::{Attribute, Intrinsic, MetricsFunction, Name, Scope};
use kymo_traceql::eval::{Expression, Slots, Structure, Trace};
use kymo_traceql::metrics::{AttributeNumber, Comparison, Grid, Series, ValueNumber};
use kymo_traceql::value::{OwnedValue, Value};

use super::answer::SearchStats;
use super::columns::{Cell, Column, NOT_COUNTED, Scratch};
use super::evaluate::{Evaluation, each_matching, invalid};
use super::layout::{From, Layout};
use super::look::Look;
use super::measure::Leaf;
use super::near::Near;
use super::plan::Candidates;
use super::rows::Rows;
use super::table::Table;
use super::tags;
use super::threads::on_each;
use crate::error::EngineError;
use crate::limits::{COMPARE_MAX_ATTRIBUTES, POINT_BYTES};

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

const BASE: [ColumnRef; 1] = [ColumnRef::Field(field::START_TIME)];
const START: usize = 0;

/// What is compared, and with what.
struct Comparing<'c> {
    look: &'c Look,
    grid: &'c Grid,
    top: usize,
    range: Option<(i64, i64)>,
    selection: Expression,
    /// Attributes by slot.
    names: Vec<(usize, Name)>,
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
    let failed = |error| look.failed(error);
    let mut slots = Slots::default();
    let selection = Expression::new(selection, &mut slots).map_err(invalid)?;
    let mut names = Vec::new();
    for name in attributes(look, &grid.time())? {
        names.push((slots.slot_of(&name), name));
    }
    let comparing = Comparing { look, grid, top: *top, range: *range, selection, names };
    let candidates = Candidates::of(look, leaf.pipeline).map_err(failed)?;
    // A selection by events, parents or the shape of traces needs whole traces.
    let by_row = match candidates.is_answer && comparing.selection.reads_row_only() {
        true => Layout::of_rows(look, &BASE, slots.names()).map_err(failed)?,
        false => None,
    };
    let parts = match by_row {
        Some(layout) => comparing.rows(&layout, &candidates, stats)?,
        None => comparing.traces(leaf, slots, &candidates, stats)?,
    };
    let held = look.memory("comparison");
    let mut all = Comparison::new(*top, grid);
    for part in parts {
        all.merge(part);
        held.hold(all.bytes())?;
    }
    look.check()?;
    // Points that nothing was counted for are made now.
    held.hold(all.bytes() + all.finished_points().saturating_mul(POINT_BYTES))?;
    Ok(all.finish())
}

/// Names that are compared.
fn attributes(look: &Look, time: &std::ops::Range<i64>) -> Result<Vec<Name>, EngineError> {
    let mut names: Vec<Name> = INTRINSICS.iter().map(|i| Name::Intrinsic(*i)).collect();
    for (scope, key) in tags::keys(look, Some(time))? {
        let scope = match scope {
            StoreScope::Own => Scope::Span,
            StoreScope::Resource => Scope::Resource,
            StoreScope::Scope => Scope::Instrumentation,
            _ => continue,
        };
        names.push(Name::Keyed { scope, key });
        if names.len() > COMPARE_MAX_ATTRIBUTES {
            return Err(EngineError::Invalid(format!(
                "spans have more than {COMPARE_MAX_ATTRIBUTES} attributes: too many to compare"
            )));
        }
    }
    Ok(names)
}

impl Comparing<'_> {
    /// Nothing counted yet, and the numbers of the attributes in their order.
    fn begin(&self) -> (Comparison, Vec<AttributeNumber>) {
        let mut comparison = Comparison::new(self.top, self.grid);
        let attributes = self.names.iter().map(|(_, name)| {
            let attribute = Attribute { of_parent: false, name: name.clone() };
            comparison.attribute(&attribute.to_string())
        });
        let attributes = attributes.collect();
        (comparison, attributes)
    }

    /// Whether a span is in the selection.
    fn selects(
        &self,
        trace: &impl Trace,
        structure: &Structure,
        span: usize,
        start_nanos: i64,
    ) -> bool {
        let is_in_range =
            self.range.is_none_or(|(begin, end)| begin <= start_nanos && start_nanos <= end);
        is_in_range && self.selection.matches_in(trace, structure, span)
    }

    /// Counts rows as they are scanned.
    fn rows(
        &self,
        layout: &Layout,
        candidates: &Candidates,
        stats: &mut SearchStats,
    ) -> Result<Vec<Comparison>, EngineError> {
        let look = self.look;
        let scan =
            Scan { columns: layout.columns.clone(), ..candidates.started(&self.grid.time()) };
        let prepared = Prepared::new(&look.sources, Signal::Spans, &scan, look.context());
        let work = prepared.map_err(|error| look.failed(error))?.start();
        let shares = (0..look.threads()).map(|_| work.partition());
        let parts = on_each(shares, |mut partition| {
            let (mut comparison, attributes) = self.begin();
            let of_slots = self.names.iter().map(|(slot, _)| &layout.slots[*slot]);
            let mut columns: Vec<Column> = attributes
                .into_iter()
                .zip(of_slots)
                .map(|(a, from)| Column::new(a, from))
                .collect();
            let held = look.memory("comparison");
            let (mut cells, mut scratch) = (Vec::new(), Scratch::default());
            while let Some(batch) = partition.next_batch().map_err(|error| look.failed(error))? {
                look.check()?;
                let places = layout.slots.iter().flat_map(From::span_places);
                let table = Table::new(std::slice::from_ref(&batch), places);
                self.find_cells(&Rows { layout, table: &table }, &mut cells);
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
    fn find_cells(&self, rows: &Rows<'_>, cells: &mut Vec<Cell>) {
        let structure = Structure::default();
        let mut near = Near::default();
        cells.clear();
        cells.extend((0..rows.spans()).map(|row| {
            let start = rows.table.int(row, START).unwrap_or(0);
            if !near.holds(start) && !near.find(start, self.grid) {
                return NOT_COUNTED;
            }
            let is_selected = self.selects(rows, &structure, row, start);
            Cell { point: near.point as u32, is_selected }
        }));
    }

    /// Evaluates traces and counts the spans that match.
    fn traces(
        &self,
        leaf: &Leaf<'_>,
        slots: Slots,
        candidates: &Candidates,
        stats: &mut SearchStats,
    ) -> Result<Vec<Comparison>, EngineError> {
        let look = self.look;
        let needs_structure = self.selection.needs_structure();
        let evaluation = Evaluation::new(look, leaf.pipeline, slots, needs_structure)?;
        let scan = candidates.started(&self.grid.time());
        let walk = Walk::new(&look.sources, &scan, look.context());
        let mut walk = walk.map_err(|error| look.failed(error))?;
        let make = || Counted::new(self);
        let parts = each_matching(&evaluation, &mut walk, make, |counted, trace, spans| {
            let structure = match needs_structure {
                true => Structure::of(trace),
                false => Structure::default(),
            };
            for span in spans {
                let span = *span as usize;
                counted.add(self, trace, &structure, span, trace.start_of(span));
            }
            Ok(counted.bytes())
        })?;
        look.count(&walk.stats());
        stats.add(&look.stats(&walk.stats()));
        Ok(parts.into_iter().map(|counted| counted.comparison).collect())
    }
}

/// What one thread counts of evaluated traces.
struct Counted {
    comparison: Comparison,
    attributes: Vec<AttributeNumber>,
    /// Numbers of texts, which are looked up without being copied, and their bytes.
    texts: Vec<(HashMap<String, ValueNumber>, usize)>,
}

impl Counted {
    fn new(comparing: &Comparing<'_>) -> Self {
        let (comparison, attributes) = comparing.begin();
        let texts = attributes.iter().map(|_| (HashMap::new(), 0)).collect();
        Self { comparison, attributes, texts }
    }

    fn bytes(&self) -> usize {
        self.comparison.bytes() + self.texts.iter().map(|(_, bytes)| bytes).sum::<usize>()
    }

    /// Counts a span.
    fn add(
        &mut self,
        comparing: &Comparing<'_>,
        trace: &impl Trace,
        structure: &Structure,
        span: usize,
        start_nanos: i64,
    ) {
        let Some(point) = comparing.grid.point_of(start_nanos) else { return };
        let is_selected = comparing.selects(trace, structure, span, start_nanos);
        for (nth, (slot, _)) in comparing.names.iter().enumerate() {
            let value = trace.value(span, *slot);
            if value == Value::Nil {
                continue;
            }
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
