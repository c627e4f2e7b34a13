//! Aggregations over series.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;

use super::accumulate::{HistogramSum, Mean};
use super::error::EvalError;
use super::evaluator::Evaluator;
use super::grid::{Grid, Row, Steps, is_absent, present};
use super::over_time::quantile_of;
use super::parallel;
use super::plan::{AggregatePlan, Plan, PlanNode, go_max, go_min};
use crate::annotations::{Annotations, Operation};
use crate::ast::{AggregateOp, Grouping, Span};
use crate::histogram::{Histogram, ResetHint};
use crate::kahan::Sum;
use crate::labels::{Labels, NAME};
use crate::number::format_float;
use crate::sample::Value;

/// Which group each row belongs to.
pub(crate) struct Groups {
    pub(crate) of_row: Vec<usize>,
    pub(crate) labels: Vec<Labels>,
}

impl Groups {
    /// Groups rows by labels.
    pub(crate) fn of(rows: &[Row], grouping: &Grouping) -> Self {
        let mut numbers: HashMap<Labels, usize> = HashMap::new();
        let mut labels = Vec::new();
        let mut of_row = Vec::with_capacity(rows.len());
        for row in rows {
            let group = grouped(&row.labels, grouping);
            let number = *numbers.entry(group.clone()).or_insert(labels.len());
            if number == labels.len() {
                labels.push(group);
            }
            of_row.push(number);
        }
        Self { of_row, labels }
    }
}

/// The labels of the group that a series belongs to.
fn grouped(labels: &Labels, grouping: &Grouping) -> Labels {
    let is_named = |name: &str| grouping.labels.iter().any(|label| label == name);
    match grouping.is_without {
        true => labels.filtered(|name| name != NAME && !is_named(name)),
        false => labels.filtered(is_named),
    }
}

/// The parameter of an aggregation at each step, and its bounds.
pub(crate) struct Param {
    pub(crate) values: Vec<f64>,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) span: Span,
}

impl Param {
    fn new(values: Vec<f64>, span: Span) -> Self {
        let min = values.iter().copied().reduce(go_min).unwrap_or(f64::NAN);
        let max = values.iter().copied().reduce(go_max).unwrap_or(f64::NAN);
        Self { values, min, max, span }
    }

    pub(crate) fn has_nan(&self) -> bool {
        self.values.iter().any(|value| value.is_nan())
    }
}

impl Evaluator<'_> {
    /// Evaluates an aggregation.
    pub(crate) fn eval_aggregate(
        &self,
        aggregate: &AggregatePlan,
        span: Span,
        steps: &Steps,
    ) -> Result<Grid, EvalError> {
        if aggregate.op == AggregateOp::CountValues {
            return self.count_values(aggregate, steps);
        }
        let param = match &aggregate.param {
            Some(param) => Some(Param::new(self.scalar_of(param, steps)?, param.span)),
            None => None,
        };
        let grid = self.grid_of(&aggregate.expr, steps)?;
        if let (op, Some(param)) = (aggregate.op, &param)
            && op != AggregateOp::Quantile
        {
            return self.pick(op, param, &grid, &aggregate.grouping, span);
        }
        let groups = Groups::of(&grid.rows, &aggregate.grouping);
        let input = Input { grid: &grid, groups: &groups, span: aggregate.expr.span };
        match (aggregate.op, &param) {
            (AggregateOp::Sum, _) => self.accumulate(&input, &Total { is_mean: false }),
            (AggregateOp::Avg, _) => self.accumulate(&input, &Total { is_mean: true }),
            (AggregateOp::Count, _) => self.accumulate(&input, &Count),
            (AggregateOp::Group, _) => self.accumulate(&input, &Group),
            (AggregateOp::Max, _) => self.accumulate(&input, &Extreme { is_max: true }),
            (AggregateOp::Min, _) => self.accumulate(&input, &Extreme { is_max: false }),
            (AggregateOp::Stddev, _) => self.accumulate(&input, &Variance { is_root: true }),
            (AggregateOp::Stdvar, _) => self.accumulate(&input, &Variance { is_root: false }),
            (AggregateOp::Quantile, Some(param)) => {
                self.note_quantile(param);
                self.accumulate(&input, &Quantile { param })
            }
            (op, _) => Err(EvalError::Execution(format!("aggregation {op:?} needs a parameter"))),
        }
    }

    fn note_quantile(&self, param: &Param) {
        let mut notes = Annotations::default();
        if param.has_nan() {
            notes.invalid_quantile(f64::NAN, param.span);
        }
        if param.max > 1.0 {
            notes.invalid_quantile(param.max, param.span);
        }
        if param.min < 0.0 {
            notes.invalid_quantile(param.min, param.span);
        }
        self.note(notes);
    }

    /// One row for each group. Steps are divided among threads, so that the order
    /// in which values are added, and so the result, is always the same.
    fn accumulate<A: Aggregation>(
        &self,
        input: &Input<'_>,
        aggregation: &A,
    ) -> Result<Grid, EvalError> {
        let (grid, groups) = (input.grid, input.groups);
        let mut drops_name = vec![false; groups.labels.len()];
        for (row, group) in grid.rows.iter().zip(&groups.of_row) {
            drops_name[*group] |= row.drops_name;
        }
        let rows = groups.labels.iter().zip(drops_name);
        let rows: Vec<Row> =
            rows.map(|(labels, drops_name)| Row { labels: labels.clone(), drops_name }).collect();
        self.check_samples(rows.len() * grid.steps)?;
        let parts = parallel::divide(self.options.threads, grid.steps, grid.cells(), |steps| {
            (steps.clone(), input.states(aggregation, steps))
        });
        let mut result = Grid::new(grid.steps, rows);
        let mut notes = Annotations::default();
        for (steps, (states, said)) in parts {
            notes.merge(said);
            let width = steps.len();
            for (nth, state) in states.into_iter().enumerate() {
                let step = steps.start + nth % width;
                let value = state.and_then(|s| aggregation.finish(s, step, input.span, &mut notes));
                if let Some(value) = value {
                    result.set(nth / width, step, value);
                }
            }
        }
        self.note(notes);
        Ok(result.without_empty_rows())
    }

    /// `count_values("label", expr)`: one row for each value of each group.
    fn count_values(&self, aggregate: &AggregatePlan, steps: &Steps) -> Result<Grid, EvalError> {
        let Some(Plan { node: PlanNode::Text(label), .. }) = &aggregate.param else {
            return Err(EvalError::Execution("count_values needs the name of a label".to_owned()));
        };
        if label.is_empty() {
            return Err(EvalError::Execution(format!("invalid label name {label:?}")));
        }
        let grid = self.grid_of(&aggregate.expr, steps)?;
        let mut grouping = aggregate.grouping.clone();
        if !grouping.is_without {
            grouping.labels.push(label.clone());
        }
        let mut counts: HashMap<Labels, usize> = HashMap::new();
        let mut result = Grid::new(grid.steps, Vec::new());
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for row in 0..grid.rows.len() {
            for step in 0..grid.steps {
                let text = match grid.get(row, step) {
                    Some(Value::Float(value)) => format_float(value),
                    Some(Value::Histogram(histogram)) => histogram.to_string(),
                    None => continue,
                };
                let labels = grouped(&grid.rows[row].labels.with(label, &text), &grouping);
                let number = *counts.entry(labels.clone()).or_insert(columns.len());
                if number == columns.len() {
                    columns.push(vec![0.0; grid.steps]);
                    self.check_samples(columns.len() * grid.steps)?;
                    result.rows.push(Row { labels, drops_name: false });
                }
                columns[number][step] += 1.0;
            }
        }
        let mut counted = Grid::new(grid.steps, result.rows);
        for (row, column) in columns.iter().enumerate() {
            for (step, count) in column.iter().enumerate().filter(|(_, count)| **count > 0.0) {
                counted.set(row, step, Value::Float(*count));
            }
        }
        Ok(counted)
    }
}

/// What is aggregated.
struct Input<'a> {
    grid: &'a Grid,
    groups: &'a Groups,
    /// Where it stands in the query.
    span: Span,
}

impl Input<'_> {
    /// The state of each group at each of some steps, group after group.
    fn states<A: Aggregation>(
        &self,
        aggregation: &A,
        steps: Range<usize>,
    ) -> (Vec<Option<A::State>>, Annotations) {
        let width = steps.len();
        let mut states: Vec<Option<A::State>> = Vec::new();
        states.resize_with(self.groups.labels.len() * width, || None);
        let mut notes = Annotations::default();
        for (row, group) in self.groups.of_row.iter().enumerate() {
            let states = &mut states[group * width..(group + 1) * width];
            let floats = &self.grid.floats(row)[steps.clone()];
            for (state, float) in states.iter_mut().zip(floats) {
                if !is_absent(*float) {
                    aggregation.add_float(state, *float);
                }
            }
            if self.grid.has_histograms() {
                for (state, step) in states.iter_mut().zip(steps.clone()) {
                    let Some(histogram) = self.grid.histogram(row, step) else { continue };
                    let name = self.grid.rows[row].labels.metric_name();
                    let said = Said { notes: &mut notes, name, span: self.span };
                    aggregation.add_histogram(state, histogram, said);
                }
            }
        }
        (states, notes)
    }
}

/// Where an aggregation says what it noticed, and of what.
struct Said<'a> {
    notes: &'a mut Annotations,
    name: &'a str,
    span: Span,
}

/// How values of a group become one. A state is none until something was added.
trait Aggregation: Sync {
    type State: Send;

    fn add_float(&self, state: &mut Option<Self::State>, value: f64);

    fn add_histogram(&self, state: &mut Option<Self::State>, histogram: &Histogram, said: Said<'_>);

    fn finish(
        &self,
        state: Self::State,
        step: usize,
        span: Span,
        notes: &mut Annotations,
    ) -> Option<Value>;
}

/// `sum` and `avg`.
struct Total {
    is_mean: bool,
}

#[derive(Default)]
struct TotalState {
    sum: Option<Sum>,
    mean: Option<Mean>,
    /// Boxed, as most queries have none.
    histograms: Option<Box<HistogramTotal>>,
    /// A histogram came after a float, where it cannot be added.
    has_late_histogram: bool,
}

struct HistogramTotal {
    sum: HistogramSum,
    is_incompatible: bool,
    has_reset: bool,
    has_not_reset: bool,
}

impl Aggregation for Total {
    type State = TotalState;

    #[inline]
    fn add_float(&self, state: &mut Option<TotalState>, value: f64) {
        let state = state.get_or_insert_default();
        if state.histograms.as_ref().is_some_and(|total| total.is_incompatible) {
            return;
        }
        match (self.is_mean, &mut state.sum, &mut state.mean) {
            (false, Some(sum), _) => sum.add(value),
            (false, none, _) => *none = Some(Sum::new(value)),
            (true, _, Some(mean)) => mean.add(value),
            (true, _, none) => *none = Some(Mean::new(value)),
        }
    }

    fn add_histogram(&self, state: &mut Option<TotalState>, histogram: &Histogram, said: Said<'_>) {
        let state = state.get_or_insert_default();
        let total = match &mut state.histograms {
            Some(total) if total.is_incompatible => return,
            Some(total) => {
                if total.sum.add(histogram).is_err() {
                    total.is_incompatible = true;
                    said.notes.mixed_exponential_custom(said.name, said.span);
                }
                if std::mem::take(&mut total.sum.bounds_reconciled) {
                    said.notes.bounds_reconciled(Operation::Aggregation, said.span);
                }
                total
            }
            // There is no sum of it and the floats before, so nothing else is
            // worth telling.
            None if state.sum.is_some() || state.mean.is_some() => {
                state.has_late_histogram = true;
                return;
            }
            none => none.insert(Box::new(HistogramTotal {
                sum: HistogramSum::new(histogram, self.is_mean),
                is_incompatible: false,
                has_reset: false,
                has_not_reset: false,
            })),
        };
        total.has_reset |= histogram.hint == ResetHint::Reset;
        total.has_not_reset |= histogram.hint == ResetHint::NotReset;
    }

    fn finish(
        &self,
        state: TotalState,
        _: usize,
        span: Span,
        notes: &mut Annotations,
    ) -> Option<Value> {
        let float = match (state.sum, state.mean) {
            (Some(sum), _) if sum.sum.is_infinite() => Some(sum.sum),
            (Some(sum), _) => Some(sum.total()),
            (None, mean) => mean.map(|mean| mean.value()),
        };
        if float.is_some() && (state.has_late_histogram || state.histograms.is_some()) {
            notes.mixed_in_aggregation(span);
            return None;
        }
        let Some(total) = state.histograms else { return float.map(Value::Float) };
        if total.is_incompatible {
            return None;
        }
        if total.has_reset && total.has_not_reset {
            notes.reset_collision(Operation::Aggregation, span);
        }
        let mut histogram = total.sum.finish();
        histogram.compact(0);
        Some(Value::Histogram(Arc::new(histogram)))
    }
}

/// `count`.
struct Count;

impl Aggregation for Count {
    type State = f64;

    fn add_float(&self, state: &mut Option<f64>, _: f64) {
        *state.get_or_insert(0.0) += 1.0;
    }

    fn add_histogram(&self, state: &mut Option<f64>, _: &Histogram, _: Said<'_>) {
        *state.get_or_insert(0.0) += 1.0;
    }

    fn finish(&self, count: f64, _: usize, _: Span, _: &mut Annotations) -> Option<Value> {
        Some(Value::Float(count))
    }
}

/// `group`.
struct Group;

impl Aggregation for Group {
    type State = ();

    fn add_float(&self, state: &mut Option<()>, _: f64) {
        *state = Some(());
    }

    fn add_histogram(&self, state: &mut Option<()>, _: &Histogram, _: Said<'_>) {
        *state = Some(());
    }

    fn finish(&self, (): (), _: usize, _: Span, _: &mut Annotations) -> Option<Value> {
        Some(Value::Float(1.0))
    }
}

/// `min` and `max`.
struct Extreme {
    is_max: bool,
}

impl Aggregation for Extreme {
    type State = f64;

    fn add_float(&self, state: &mut Option<f64>, value: f64) {
        let Some(best) = state else {
            *state = Some(value);
            return;
        };
        let is_better = if self.is_max { value > *best } else { value < *best };
        if is_better || best.is_nan() {
            *best = value;
        }
    }

    fn add_histogram(&self, _: &mut Option<f64>, _: &Histogram, said: Said<'_>) {
        said.notes.ignored_in_aggregation(if self.is_max { "max" } else { "min" }, said.span);
    }

    fn finish(&self, best: f64, _: usize, _: Span, _: &mut Annotations) -> Option<Value> {
        Some(Value::Float(present(best)))
    }
}

/// `stddev` and `stdvar`.
struct Variance {
    is_root: bool,
}

struct VarianceState {
    count: f64,
    mean: f64,
    squares: f64,
}

impl Aggregation for Variance {
    type State = VarianceState;

    fn add_float(&self, state: &mut Option<VarianceState>, value: f64) {
        let Some(state) = state else {
            let squares = if value.is_finite() { 0.0 } else { f64::NAN };
            *state = Some(VarianceState { count: 1.0, mean: value, squares });
            return;
        };
        state.count += 1.0;
        let from_mean = value - state.mean;
        state.mean += from_mean / state.count;
        state.squares += from_mean * (value - state.mean);
    }

    fn add_histogram(&self, _: &mut Option<VarianceState>, _: &Histogram, said: Said<'_>) {
        let word = if self.is_root { "stddev" } else { "stdvar" };
        said.notes.ignored_in_aggregation(word, said.span);
    }

    fn finish(
        &self,
        state: VarianceState,
        _: usize,
        _: Span,
        _: &mut Annotations,
    ) -> Option<Value> {
        let variance = state.squares / state.count;
        Some(Value::Float(if self.is_root { variance.sqrt() } else { variance }))
    }
}

/// `quantile`.
struct Quantile<'a> {
    param: &'a Param,
}

impl Aggregation for Quantile<'_> {
    type State = Vec<f64>;

    fn add_float(&self, state: &mut Option<Vec<f64>>, value: f64) {
        state.get_or_insert_default().push(value);
    }

    fn add_histogram(&self, _: &mut Option<Vec<f64>>, _: &Histogram, said: Said<'_>) {
        said.notes.ignored_in_aggregation("quantile", said.span);
    }

    fn finish(
        &self,
        mut values: Vec<f64>,
        step: usize,
        _: Span,
        _: &mut Annotations,
    ) -> Option<Value> {
        let q = self.param.values.get(step).copied().unwrap_or(f64::NAN);
        Some(Value::Float(quantile_of(q, &mut values)))
    }
}
