//! Numbers over time: spans to series.
//!
//! Where the pipeline is one filter that the store tests exactly, and all that is asked for lies in
//! the span's own row, rows are counted as they are scanned, by the codes of their dictionaries.
//! Else traces are read and evaluated, and their matching spans counted.

use kymo_store::block::source::RowRef;
use kymo_store::scan::{
    BatchRows, ColumnRef, Partition, Prepared, Scan, ScanStats, TraceReader, Walk,
};
use kymo_store::schema::Signal;
use kymo_store::tables::spans::field;
use kymo_traceql::ast::{Attribute, Body, Expr, Metrics, MetricsFunction, Name, Pipeline};
use kymo_traceql::eval::{Expression, Slots};
use kymo_traceql::metrics::{Aggregation, Candidate, Exemplar, Grid, Measured, Series, combine};
use kymo_traceql::value::{OwnedValue, Value};

use super::answer::{MetricsAnswer, SearchStats};
use super::compare;
use super::evaluate::{Evaluation, each_matching, invalid};
use super::groups::Groups;
use super::layout::{From, Layout, Place};
use super::look::Look;
use super::plan::Candidates;
use super::request::MetricsQuery;
use super::table::{Table, View, id_text};
use crate::error::EngineError;

/// Columns that are read of spans that are counted, by place.
const BASE: [ColumnRef; 1] = [ColumnRef::Field(field::START_TIME)];
const START: usize = 0;

/// One `{ … } | function() by (…)` of a query.
pub(super) struct Leaf<'q> {
    pub(super) pipeline: &'q Pipeline,
    pub(super) function: &'q MetricsFunction,
    pub(super) by: &'q [Attribute],
}

/// The grid of an answer.
pub(super) fn grid_of(query: &MetricsQuery) -> Result<Grid, EngineError> {
    let grid = match query.step_nanos {
        Some(step) => Grid::range(query.start_nanos, query.end_nanos, step),
        None => Grid::instant(query.start_nanos, query.end_nanos),
    };
    grid.map_err(|error| EngineError::Invalid(error.to_string()))
}

/// The queries that a metrics expression is made of, in order.
pub(super) fn leaves<'q>(metrics: &'q Metrics, found: &mut Vec<Leaf<'q>>) {
    match metrics {
        Metrics::Query { pipeline, function, by, .. } => {
            found.push(Leaf { pipeline, function, by })
        }
        Metrics::Literal(_) => {}
        Metrics::Binary { left, right, .. } => {
            leaves(left, found);
            leaves(right, found);
        }
    }
}

/// Answers a query for series.
pub(super) fn answer(look: &Look, query: &MetricsQuery) -> Result<MetricsAnswer, EngineError> {
    let Body::Metrics(metrics) = &query.query.body else {
        return Err(EngineError::Invalid(
            "not a metrics query: add a function, as in { … } | rate()".to_owned(),
        ));
    };
    let grid = grid_of(query)?;
    let mut found = Vec::new();
    leaves(metrics, &mut found);
    let mut stats = SearchStats::default();
    let mut answers = Vec::with_capacity(found.len());
    for leaf in &found {
        answers.push(measure(look, leaf, &grid, query.exemplars, &mut stats)?);
    }
    let series = combine(metrics, &mut answers.into_iter(), &grid)
        .map_err(|error| EngineError::Invalid(error.to_string()))?;
    Ok(MetricsAnswer { series, stats })
}

fn measure(
    look: &Look,
    leaf: &Leaf<'_>,
    grid: &Grid,
    exemplars: usize,
    stats: &mut SearchStats,
) -> Result<Vec<Series>, EngineError> {
    if let MetricsFunction::Compare { .. } = leaf.function {
        return compare::answer(look, leaf, grid, stats);
    }
    let candidates =
        Candidates::of_results(look, leaf.pipeline).map_err(|error| look.failed(error))?;
    let count = Counting { look, leaf, grid, candidates, exemplars };
    let aggregation = count.count_all(stats)?;
    count.finish(aggregation)
}

/// Counts the spans that a query gives, by group.
pub(super) fn count_groups(
    look: &Look,
    leaf: &Leaf<'_>,
    grid: &Grid,
    candidates: Candidates,
    stats: &mut SearchStats,
) -> Result<Aggregation, EngineError> {
    Counting { look, leaf, grid, candidates, exemplars: 0 }.count_all(stats)
}

/// What a function measures, if it is more than that there is a span.
pub(super) fn measured_of(function: &MetricsFunction) -> Option<&Attribute> {
    match function {
        MetricsFunction::MinOverTime(attribute)
        | MetricsFunction::MaxOverTime(attribute)
        | MetricsFunction::SumOverTime(attribute)
        | MetricsFunction::AvgOverTime(attribute)
        | MetricsFunction::QuantileOverTime(attribute, _)
        | MetricsFunction::HistogramOverTime(attribute) => Some(attribute),
        _ => None,
    }
}

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
    pub(super) exemplars: usize,
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

    fn count_all(&self, stats: &mut SearchStats) -> Result<Aggregation, EngineError> {
        match self.row_layout()? {
            Some(layout) => self.rows(&layout, stats),
            None => self.traces(stats),
        }
    }

    fn aggregation(&self) -> Aggregation {
        Aggregation::new(self.leaf.function, self.leaf.by, self.grid, self.exemplars > 0)
    }

    /// The scan of the spans that count.
    fn scan(&self, columns: Vec<ColumnRef>) -> Scan {
        let predicate = Some(self.candidates.tested.predicate.clone());
        Scan { columns, predicate, time: Some(self.grid.time()), ..Scan::default() }
    }

    /// Counts rows as they are scanned.
    fn rows(&self, layout: &Layout, stats: &mut SearchStats) -> Result<Aggregation, EngineError> {
        let look = self.look;
        let failed = |error| look.failed(error);
        let scan = self.scan(layout.columns.clone());
        let prepared = Prepared::new(&look.sources, Signal::Spans, &scan, look.context());
        let prepared = prepared.map_err(failed)?;
        let work = prepared.start();
        let counted = parallel(look.threads(), |_| self.count(layout, work.partition()))?;
        add_stats(look, stats, &work.stats());
        let mut all = self.aggregation();
        let held = look.memory("series");
        for part in counted {
            all.merge(part);
            held.hold(all.bytes())?;
        }
        Ok(all)
    }

    /// Counts a share of the rows.
    fn count(&self, layout: &Layout, mut partition: Partition) -> Result<Aggregation, EngineError> {
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
        let keeps_rows = self.exemplars > 0;
        let mut near = Near { begin: i64::MAX, end: i64::MIN, point: 0 };
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
            Expression::new(&Expr::Attribute(attribute.clone()), &mut slots).map_err(invalid)
        };
        let by: Vec<Expression> =
            self.leaf.by.iter().map(&mut compile).collect::<Result<_, _>>()?;
        let measured = measured_of(self.leaf.function).map(&mut compile).transpose()?;
        let evaluation = Evaluation::new(look, self.leaf.pipeline, slots)?;
        let time = self.grid.time();
        let scan = self.candidates.started(&time);
        let walk = Walk::new(&look.sources, &scan, look.context());
        let mut walk = walk.map_err(|error| look.failed(error))?;
        let make = || self.aggregation();
        let aggregations = each_matching(&evaluation, &mut walk, make, |all, trace, spans| {
            let mut key = Vec::with_capacity(by.len());
            for span in spans {
                let span = *span as usize;
                let start = trace.start_of(span);
                let Some(point) = self.grid.point_of(start) else { continue };
                let value = match &measured {
                    None => 0.0,
                    Some(expression) => match number(expression.value(trace, span)) {
                        Some(value) => value,
                        None => continue,
                    },
                };
                key.clear();
                key.extend(by.iter().map(|by| OwnedValue::from(by.value(trace, span))));
                let group = all.group(&key);
                all.add(group, point, value, start, token(trace.row(span)));
            }
            Ok(all.bytes())
        })?;
        add_stats(look, stats, &walk.stats());
        let mut total = self.aggregation();
        let held = look.memory("series");
        for part in aggregations {
            total.merge(part);
            held.hold(total.bytes())?;
        }
        Ok(total)
    }

    /// Makes series, with examples.
    fn finish(&self, aggregation: Aggregation) -> Result<Vec<Series>, EngineError> {
        let measured = aggregation.finish();
        if self.exemplars == 0 {
            return Ok(measured.into_iter().map(|measured| measured.series).collect());
        }
        self.with_exemplars(measured, &self.names())
    }

    /// Chooses examples, evenly over all points, and reads what is shown of them.
    fn with_exemplars(
        &self,
        measured: Vec<Measured>,
        names: &[Name],
    ) -> Result<Vec<Series>, EngineError> {
        let look = self.look;
        let failed = |error| look.failed(error);
        let mut chosen: Vec<(usize, Candidate)> = Vec::new();
        for (nth, measured) in measured.iter().enumerate() {
            chosen.extend(measured.candidates.iter().map(|candidate| (nth, *candidate)));
        }
        chosen.sort_by_key(|(nth, candidate)| (candidate.point, candidate.token, *nth));
        let every = chosen.len().div_ceil(self.exemplars.max(1)).max(1);
        let chosen: Vec<(usize, Candidate)> =
            chosen.into_iter().step_by(every).take(self.exemplars).collect();
        let mut series: Vec<Series> = measured.into_iter().map(|m| m.series).collect();
        let base = [ColumnRef::Field(field::TRACE_ID)];
        let layout = Layout::new(look, &base, names).map_err(failed)?;
        let prepared = look.prepare(layout.columns.clone(), None).map_err(failed)?;
        let rows: Vec<RowRef> = chosen.iter().map(|(_, c)| row_of(c.token)).collect();
        let Some(batches) = TraceReader::new(&prepared).read(&rows).map_err(failed)? else {
            // Examples are not worth more.
            return Ok(series);
        };
        let table = Table::new(&batches, layout.slots.iter().flat_map(From::span_places));
        for (row, (nth, candidate)) in chosen.into_iter().enumerate() {
            let mut labels = Vec::new();
            for (name, from) in names.iter().zip(&layout.slots) {
                let value = table.first(row, from.span_places(), 0);
                let attribute = Attribute { of_parent: false, name: name.clone() };
                if value != Value::Nil {
                    labels.push((attribute.to_string(), OwnedValue::from(value)));
                }
            }
            let id = table.id(row, 0).map(id_text).unwrap_or_default();
            labels.push(("trace:id".to_owned(), OwnedValue::Text(id)));
            let value = match measured_of(self.leaf.function) {
                Some(_) => candidate.value,
                // What is counted has no value of its own: the point's is shown.
                None => {
                    let time = self.grid.time_of(candidate.point);
                    let point = series[nth].points.iter().find(|point| point.0 == time);
                    point.map_or(0.0, |point| point.1)
                }
            };
            let time_nanos = candidate.start_nanos;
            series[nth].exemplars.push(Exemplar { labels, time_nanos, value });
        }
        Ok(series)
    }
}

/// The point that the last span belonged to: the next is likely to be near.
struct Near {
    begin: i64,
    end: i64,
    point: usize,
}

impl Near {
    #[inline]
    fn holds(&self, start: i64) -> bool {
        start > self.begin && start <= self.end
    }

    fn find(&mut self, start: i64, grid: &Grid) -> bool {
        let Some(point) = grid.point_of(start) else { return false };
        let end = grid.time_of(point);
        *self = Self { begin: end.saturating_sub(grid.step_nanos), end, point };
        // What lies before a single point's own time belongs to it all the same.
        if grid.points == 1 {
            self.begin = grid.time().start.saturating_sub(1);
        }
        true
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

#[inline]
fn first_number(views: &[View], places: &[Place], row: usize) -> Option<f64> {
    places.iter().find_map(|(column, how)| number(views.get(*column)?.value(row, *how, 0)))
}

/// A row as a number, and back.
pub(super) fn token(row: RowRef) -> u64 {
    u64::from(row.source) << 32 | u64::from(row.row)
}

pub(super) fn row_of(token: u64) -> RowRef {
    RowRef { source: (token >> 32) as u32, row: token as u32 }
}

pub(super) fn add_stats(look: &Look, stats: &mut SearchStats, done: &ScanStats) {
    let blocks = look.snapshot.blocks();
    (stats.total_blocks, stats.total_block_bytes) =
        blocks.fold((0, 0), |(blocks, bytes), block| (blocks + 1, bytes + block.size_bytes));
    stats.inspected_spans += done.rows_scanned;
    stats.total_jobs += done.granules_read;
    stats.completed_jobs += done.granules_read;
    stats.damaged_blocks = stats.damaged_blocks.max(done.blocks_skipped_damaged);
    let rows: usize = look.sources.iter().map(|source| source.rows()).sum();
    let share = done.rows_scanned as u128 * u128::from(stats.total_block_bytes);
    stats.inspected_bytes += (share / rows.max(1) as u128) as u64;
}

/// Runs work on several threads.
pub(super) fn parallel<T: Send>(
    threads: usize,
    work: impl Fn(usize) -> Result<T, EngineError> + Sync,
) -> Result<Vec<T>, EngineError> {
    let work = &work;
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|nth| scope.spawn(move || work(nth))).collect();
        let mut results = vec![work(0)];
        for other in others {
            results.push(match other.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            });
        }
        results.into_iter().collect()
    })
}
