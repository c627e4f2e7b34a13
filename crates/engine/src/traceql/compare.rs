//! `compare()`: how the values of every attribute are spread over a selection of spans and over all
//! others.

use hashbrown::HashMap;
use kymo_store::scan::{ColumnRef, Prepared, Scan, Scope as StoreScope, Walk};
use kymo_store::schema::Signal;
use kymo_store::tables::spans::field;
use kymo_traceql::ast::{Attribute, Expr, Intrinsic, MetricsFunction, Name, Scope};
use kymo_traceql::eval::{Expression, Slots, Trace};
use kymo_traceql::metrics::{AttributeNumber, Comparison, Grid, Series, ValueNumber};
use kymo_traceql::value::{OwnedValue, Value};

use super::answer::SearchStats;
use super::evaluate::{Evaluation, each_matching, invalid};
use super::layout::{From, Layout};
use super::look::Look;
use super::measure::{Leaf, add_stats, parallel};
use super::plan::Candidates;
use super::rows::Rows;
use super::table::Table;
use super::tags;
use crate::error::EngineError;
use crate::limits::COMPARE_MAX_ATTRIBUTES;

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

/// What one thread counts.
struct Counted {
    comparison: Comparison,
    attributes: Vec<AttributeNumber>,
    texts: Vec<HashMap<String, ValueNumber>>,
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
    let selection_slots = slots.names().len();
    let mut names = Vec::new();
    for name in attributes(look, &grid.time())? {
        names.push((slots.slot_of(&name), name));
    }
    let comparing = Comparing { look, grid, top: *top, range: *range, selection, names };
    let candidates = Candidates::of_results(look, leaf.pipeline).map_err(failed)?;
    let by_row = match candidates.is_answer {
        false => None,
        true => {
            // A selection by parents or by the shape of traces needs these.
            let is_plain = !reads_parents(leaf.function)
                && Layout::of_rows(look, &BASE, &slots.names()[..selection_slots])
                    .map_err(failed)?
                    .is_some();
            match is_plain {
                true => Layout::of_rows(look, &BASE, slots.names()).map_err(failed)?,
                false => None,
            }
        }
    };
    let parts = match by_row {
        Some(layout) => comparing.rows(&layout, &candidates, stats)?,
        None => {
            let evaluation = Evaluation::new(look, leaf.pipeline, slots)?;
            let scan = candidates.started(&grid.time());
            let walk = Walk::new(&look.sources, &scan, look.context());
            let mut walk = walk.map_err(failed)?;
            let make = || comparing.counted();
            let parts = each_matching(&evaluation, &mut walk, make, |counted, trace, spans| {
                for span in spans {
                    let span = *span as usize;
                    comparing.add(counted, trace, span, trace.start_of(span));
                }
                Ok(counted.comparison.bytes())
            })?;
            add_stats(look, stats, &walk.stats());
            parts
        }
    };
    let held = look.memory("comparison");
    let mut all = Comparison::new(*top, grid);
    for part in parts {
        all.merge(part.comparison);
        held.hold(all.bytes())?;
    }
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

fn reads_parents(function: &MetricsFunction) -> bool {
    fn reads(expr: &Expr) -> bool {
        match expr {
            Expr::Literal(_) => false,
            Expr::Attribute(attribute) => attribute.of_parent,
            Expr::Not(inner) | Expr::Negate(inner) => reads(inner),
            Expr::Binary { left, right, .. } => reads(left) || reads(right),
        }
    }
    matches!(function, MetricsFunction::Compare { selection, .. } if reads(selection))
}

impl Comparing<'_> {
    fn counted(&self) -> Counted {
        let mut comparison = Comparison::new(self.top, self.grid);
        let attributes = self.names.iter().map(|(_, name)| {
            let attribute = Attribute { of_parent: false, name: name.clone() };
            comparison.attribute(&attribute.to_string())
        });
        let attributes: Vec<AttributeNumber> = attributes.collect();
        let texts = attributes.iter().map(|_| HashMap::new()).collect();
        Counted { comparison, attributes, texts }
    }

    /// Counts rows as they are scanned.
    fn rows(
        &self,
        layout: &Layout,
        candidates: &Candidates,
        stats: &mut SearchStats,
    ) -> Result<Vec<Counted>, EngineError> {
        let look = self.look;
        let scan =
            Scan { columns: layout.columns.clone(), ..candidates.started(&self.grid.time()) };
        let prepared = Prepared::new(&look.sources, Signal::Spans, &scan, look.context());
        let work = prepared.map_err(|error| look.failed(error))?.start();
        let parts = parallel(look.threads(), |_| {
            let mut partition = work.partition();
            let mut counted = self.counted();
            let held = look.memory("comparison");
            while let Some(batch) = partition.next_batch().map_err(|error| look.failed(error))? {
                look.check()?;
                let places = layout.slots.iter().flat_map(From::span_places);
                let table = Table::new(std::slice::from_ref(&batch), places);
                let rows = Rows { layout, table: &table };
                for row in 0..table.rows() {
                    self.add(&mut counted, &rows, row, table.int(row, START).unwrap_or(0));
                }
                held.hold(counted.comparison.bytes())?;
            }
            Ok(counted)
        })?;
        add_stats(look, stats, &work.stats());
        Ok(parts)
    }

    /// Counts a span.
    fn add(&self, counted: &mut Counted, trace: &impl Trace, span: usize, start_nanos: i64) {
        let Some(point) = self.grid.point_of(start_nanos) else { return };
        let is_in_range =
            self.range.is_none_or(|(begin, end)| begin <= start_nanos && start_nanos <= end);
        let is_selected = is_in_range && self.selection.matches(trace, span);
        for (nth, (slot, _)) in self.names.iter().enumerate() {
            let value = trace.value(span, *slot);
            if value == Value::Nil {
                continue;
            }
            let attribute = counted.attributes[nth];
            let comparison = &mut counted.comparison;
            let number = match value {
                // Texts are looked up without being copied.
                Value::Text(text) => match counted.texts[nth].get(text) {
                    Some(number) => *number,
                    None => {
                        let number = comparison.value(attribute, OwnedValue::from(value));
                        counted.texts[nth].insert(text.to_owned(), number);
                        number
                    }
                },
                value => comparison.value(attribute, OwnedValue::from(value)),
            };
            comparison.add(attribute, number, is_selected, point, 1);
        }
    }
}
