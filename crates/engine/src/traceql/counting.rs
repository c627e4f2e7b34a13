//! Counting spans: row by row while they are scanned, or over the spans of evaluated traces.
//!
//! Where the pipeline is one filter that the store tests exactly, and all that is asked for lies in
//! the span's own row, rows are counted as they are scanned, by the codes of their dictionaries.
//! Else traces are read and evaluated, and their matching spans counted.

use kymo_store::block::source::RowRef;
use kymo_store::scan::{BatchRows, ColumnRef, Partition, Prepared, Scan};
use kymo_store::schema::Signal;
use kymo_store::tables::spans::field;
use kymo_traceql::ast::{Attribute, Expr, Name};
use kymo_traceql::eval::{Slots, SpanValue, Structure};
use kymo_traceql::metrics::{Aggregation, Grid};
use kymo_traceql::value::{OwnedValue, Value};

use super::answer::SearchStats;
use super::evaluate::{Evaluation, each_started, invalid};
use super::group::Loaded;
use super::groups::Groups;
use super::layout::{From, Layout, Place};
use super::look::Look;
use super::measure::{Leaf, measured_of};
use super::near::Near;
use super::plan::Candidates;
use super::table::{Table, View};
use crate::error::EngineError;
use crate::threads::on_each;

/// Columns that are read of spans that are counted, by place.
const BASE: [ColumnRef; 1] = [ColumnRef::Field(field::START_TIME)];
const START: usize = 0;

/// A number in the unit of answers: durations in seconds.
fn number(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(value) => Some(value as f64),
        Value::Float(value) => Some(value),
        Value::Duration(nanos) => Some(nanos as f64 / 1e9),
        _ => None,
    }
}

/// One query under way.
pub(super) struct Counting<'a> {
    pub(super) look: &'a Look,
    pub(super) leaf: &'a Leaf<'a>,
    pub(super) grid: &'a Grid,
    pub(super) candidates: Candidates,
    /// Whether spans are remembered that may be shown as examples.
    pub(super) keeps_candidates: bool,
}

impl Counting<'_> {
    /// What is grouped by, then what is measured.
    fn names(&self) -> Vec<Name> {
        let measured = measured_of(self.leaf.function);
        self.leaf.by.iter().chain(measured).map(|attribute| attribute.name.clone()).collect()
    }

    /// The columns that rows can be counted by as they are scanned, if they can be.
    pub(super) fn row_layout(&self) -> Result<Option<Layout>, EngineError> {
        let measured = measured_of(self.leaf.function);
        let has_parents = self.leaf.by.iter().chain(measured).any(|named| named.of_parent);
        match self.candidates.is_answer && !has_parents {
            true => Layout::of_rows(self.look, &BASE, &self.names())
                .map_err(|error| self.look.failed(error)),
            false => Ok(None),
        }
    }

    pub(super) fn count(&self, stats: &mut SearchStats) -> Result<Aggregation, EngineError> {
        match self.row_layout()? {
            Some(layout) => self.rows(&layout, stats),
            None => self.traces(stats),
        }
    }

    fn aggregation(&self) -> Aggregation {
        Aggregation::new(self.leaf.function, self.leaf.by, self.grid, self.keeps_candidates)
    }

    /// Counts rows as they are scanned.
    fn rows(&self, layout: &Layout, stats: &mut SearchStats) -> Result<Aggregation, EngineError> {
        let look = self.look;
        let failed = |error| look.failed(error);
        let columns = layout.columns.clone();
        let scan = Scan { columns, ..self.candidates.started(&self.grid.time()) };
        let prepared = Prepared::new(&look.sources, Signal::Spans, &scan, look.context());
        let prepared = prepared.map_err(failed)?;
        let work = prepared.start();
        let shares = (0..look.threads()).map(|_| work.partition());
        let counted = on_each(shares, |share| self.count_share(layout, share))?;
        look.count(&work.stats());
        stats.add(&look.stats(&work.stats()));
        let mut all = self.aggregation();
        let held = look.memory("series");
        for part in counted {
            all.merge(part);
            held.hold(all.bytes())?;
        }
        Ok(all)
    }

    /// Counts a share of the rows.
    fn count_share(
        &self,
        layout: &Layout,
        mut partition: Partition,
    ) -> Result<Aggregation, EngineError> {
        let look = self.look;
        let mut aggregation = self.aggregation();
        let held = look.memory("groups");
        let mut groups = Groups::new(layout, self.leaf.by.len());
        let mut numbers = Vec::new();
        let mut run = Run::default();
        let measured = layout
            .slots
            .get(self.leaf.by.len())
            .filter(|_| measured_of(self.leaf.function).is_some());
        let places = measured.map_or(&[][..], From::span_places);
        let keeps_rows = self.keeps_candidates;
        let mut near = Near::default();
        while let Some((batch, rows)) =
            partition.next_rows(keeps_rows).map_err(|error| look.failed(error))?
        {
            look.check()?;
            let shown = layout.slots.iter().flat_map(From::span_places);
            let table = Table::new(std::slice::from_ref(&batch), shown);
            let (views, _) = table.at(0);
            let Some(View::Times(starts)) = views.get(START) else { continue };
            let starts = starts.values();
            // They are copied, for what is new in them is put where they come from.
            numbers.clear();
            numbers.extend_from_slice(groups.of_batch(views, starts.len()));
            if measured.is_none() {
                for (row, (start, number)) in starts.iter().zip(&numbers).enumerate() {
                    if !near.holds(*start) {
                        run.end(near.point, &rows, &mut groups, &mut aggregation);
                        if !near.find(*start, self.grid) {
                            continue;
                        }
                    }
                    run.add(*number, *start, row);
                }
                run.end(near.point, &rows, &mut groups, &mut aggregation);
            } else {
                for (row, (start, number)) in starts.iter().zip(&numbers).enumerate() {
                    if !near.holds(*start) && !near.find(*start, self.grid) {
                        continue;
                    }
                    let Some(value) = first_number(views, places, row) else { continue };
                    let group = groups.group(*number, &mut aggregation);
                    let token = if keeps_rows { token(rows.at(row)) } else { 0 };
                    aggregation.add(group, near.point, value, *start, token);
                }
            }
            held.hold(aggregation.bytes() + groups.bytes())?;
        }
        Ok(aggregation)
    }

    /// Evaluates traces and counts the spans that match.
    fn traces(&self, stats: &mut SearchStats) -> Result<Aggregation, EngineError> {
        let look = self.look;
        let mut slots = Slots::default();
        let mut compile = |attribute: &Attribute| {
            let of = Expr::Attribute(attribute.clone());
            SpanValue::new(&of, self.leaf.pipeline, &mut slots).map_err(invalid)
        };
        let by: Vec<SpanValue> = self.leaf.by.iter().map(&mut compile).collect::<Result<_, _>>()?;
        let measured = measured_of(self.leaf.function).map(&mut compile).transpose()?;
        let needs_structure = by.iter().chain(&measured).any(SpanValue::needs_structure);
        let evaluation = Evaluation::new(look, self.leaf.pipeline, slots, needs_structure)?;
        let make = || self.aggregation();
        let each = |all: &mut Aggregation, trace: &Loaded<'_>, spans: &[u32]| {
            let mut key = Vec::with_capacity(by.len());
            let structure =
                if needs_structure { Structure::of(trace) } else { Structure::default() };
            for span in spans {
                let span = *span as usize;
                let start = trace.start_of(span);
                let Some(point) = self.grid.point_of(start) else { continue };
                let value = match &measured {
                    None => 0.0,
                    Some(measured) => match number(measured.of(trace, &structure, span)) {
                        Some(value) => value,
                        None => continue,
                    },
                };
                key.clear();
                key.extend(by.iter().map(|by| OwnedValue::from(by.of(trace, &structure, span))));
                let group = all.group(&key);
                all.add(group, point, value, start, token(trace.row(span)));
            }
            Ok(all.bytes())
        };
        let time = self.grid.time();
        let aggregations = each_started(&evaluation, &self.candidates, &time, stats, make, each)?;
        let mut total = self.aggregation();
        let held = look.memory("series");
        for part in aggregations {
            total.merge(part);
            held.hold(total.bytes())?;
        }
        Ok(total)
    }
}

/// Spans that follow each other and count for the same point, by the number of their group.
#[derive(Default)]
struct Run {
    /// How many, and the start and row of the newest.
    counts: Vec<(u32, u32, i64)>,
    touched: Vec<u32>,
}

impl Run {
    #[inline]
    fn add(&mut self, number: u32, start: i64, row: usize) {
        let place = number as usize;
        if place >= self.counts.len() {
            self.counts.resize(place + 1, (0, 0, i64::MIN));
        }
        let (count, newest_row, newest) = &mut self.counts[place];
        if *count == 0 {
            self.touched.push(number);
        }
        *count += 1;
        if start > *newest {
            (*newest_row, *newest) = (row as u32, start);
        }
    }

    /// Hands over what was counted for a point.
    fn end(
        &mut self,
        point: usize,
        rows: &BatchRows,
        groups: &mut Groups,
        aggregation: &mut Aggregation,
    ) {
        for number in self.touched.drain(..) {
            let counted = &mut self.counts[number as usize];
            let (count, row, start) = std::mem::replace(counted, (0, 0, i64::MIN));
            let group = groups.group(number, aggregation);
            let token = token(rows.at(row as usize));
            aggregation.add_many(group, point, u64::from(count), start, token);
        }
    }
}

/// The first value that a row has in one of the places, if it is a number.
#[inline]
fn first_number(views: &[View], places: &[Place], row: usize) -> Option<f64> {
    for (column, how) in places {
        let Some(view) = views.get(*column) else { continue };
        match view.value(row, *how, 0) {
            Value::Nil => {}
            value => return number(value),
        }
    }
    None
}

/// A row as a number, and back.
pub(super) fn token(row: RowRef) -> u64 {
    u64::from(row.source) << 32 | u64::from(row.row)
}

pub(super) fn row_of(token: u64) -> RowRef {
    RowRef { source: (token >> 32) as u32, row: token as u32 }
}
