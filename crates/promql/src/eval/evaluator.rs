//! The walk over a plan.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::error::EvalError;
use super::grid::{Grid, Row, Steps, is_absent};
use super::plan::{CallPlan, Plan, PlanNode, RangePlan, SelectorPlan, SubqueryPlan, Times, plan};
use super::result::{
    Evaluation, MatrixSeries, Outcome, matrix, sorted, vector, without_dropped_names,
};
use super::{EvalOptions, Interrupt};
use crate::annotations::Annotations;
use crate::ast::{Edges, Expr, Span, ValueType};
use crate::histogram::ResetHint;
use crate::sample::{HistogramSample, Samples};
use crate::source::{Select, Series, Source};

/// Evaluates an expression.
///
/// An expression that gives a range (`a[5m]`, a subquery) or a text can be
/// evaluated at one time only.
pub fn evaluate(
    expr: &Expr,
    times: Times,
    source: &dyn Source,
    options: &EvalOptions,
    interrupt: &dyn Interrupt,
) -> Result<Evaluation, EvalError> {
    if !times.is_instant() {
        match expr.value_type() {
            ValueType::Matrix => return Err(EvalError::NotOverTime("range vector")),
            ValueType::Text => return Err(EvalError::NotOverTime("string")),
            _ => {}
        }
    }
    let plan = plan(expr, &times)?;
    let steps = match times.is_instant() {
        true => Steps::instant(times.start),
        false => Steps::new(times.start, times.end, times.step),
    };
    let evaluator = Evaluator::new(source, options, interrupt);
    let outcome = evaluator.outcome(&plan, &steps, times.is_instant())?;
    Ok(Evaluation {
        outcome,
        annotations: evaluator.annotations.into_inner(),
        samples_read: evaluator.samples_read.get(),
    })
}

/// What a node comes to.
#[derive(Debug)]
pub(crate) enum Evaluated {
    /// A number at each step.
    Scalar(Vec<f64>),
    Text(String),
    Grid(Grid),
}

/// A series whose samples a range function looks at.
#[derive(Debug, Clone)]
pub(crate) struct RangeRow {
    pub(crate) row: Row,
    pub(crate) samples: Arc<Samples>,
}

/// Everything an evaluation needs, and what it has come to.
pub(crate) struct Evaluator<'a> {
    source: &'a dyn Source,
    pub(crate) options: &'a EvalOptions,
    interrupt: &'a dyn Interrupt,
    annotations: RefCell<Annotations>,
    /// Selections that were made, as a query often asks for one thing twice.
    selected: RefCell<Vec<(Select, Arc<[Series]>)>>,
    samples_read: Cell<usize>,
}

impl<'a> Evaluator<'a> {
    fn new(source: &'a dyn Source, options: &'a EvalOptions, interrupt: &'a dyn Interrupt) -> Self {
        Self {
            source,
            options,
            interrupt,
            annotations: RefCell::default(),
            selected: RefCell::default(),
            samples_read: Cell::new(0),
        }
    }

    fn outcome(&self, plan: &Plan, steps: &Steps, is_instant: bool) -> Result<Outcome, EvalError> {
        let time = steps.start;
        if plan.value_type == ValueType::Matrix {
            return self.range_outcome(plan, steps);
        }
        match self.eval(plan, steps)? {
            Evaluated::Text(value) => Ok(Outcome::Text { time, value }),
            Evaluated::Scalar(values) if is_instant => {
                let value = values.first().copied().unwrap_or(f64::NAN);
                Ok(Outcome::Scalar { time, value })
            }
            Evaluated::Scalar(values) => Ok(matrix(&Grid::unlabelled(values), steps)),
            Evaluated::Grid(grid) => {
                let grid = without_dropped_names(grid)?;
                Ok(if is_instant { vector(&grid, time) } else { matrix(&grid, steps) })
            }
        }
    }

    /// A range as a result, of a query at one time.
    fn range_outcome(&self, plan: &Plan, steps: &Steps) -> Result<Outcome, EvalError> {
        if let PlanNode::Subquery(subquery) = &plan.node {
            let steps = self.subquery_steps(subquery, steps);
            let grid = without_dropped_names(self.grid_of(&subquery.expr, &steps)?)?;
            return Ok(matrix(&grid, &steps));
        }
        let PlanNode::Range(range) = &plan.node else {
            return Err(EvalError::Execution("this expression gives no range".to_owned()));
        };
        let end = range.selector.when.time(steps.start);
        let start = end - range.range;
        let mut series = Vec::new();
        for found in self.range_rows(range, steps)? {
            let samples = found.samples.without_stale();
            let samples = self.window_of(&samples, start, end, range.selector.edges)?;
            let floats: Vec<_> = samples.times.into_iter().zip(samples.values).collect();
            let histograms: Vec<_> =
                samples.histograms.into_iter().map(|s| (s.time, s.value)).collect();
            if !floats.is_empty() || !histograms.is_empty() {
                series.push(MatrixSeries { labels: found.row.labels, floats, histograms });
            }
        }
        Ok(sorted(series))
    }

    /// The samples of a range, with its edges as asked for.
    fn window_of(
        &self,
        samples: &Samples,
        start: i64,
        end: i64,
        edges: Edges,
    ) -> Result<Samples, EvalError> {
        let lookback = self.options.lookback;
        let (from, to) = match edges {
            Edges::Plain => (start, end),
            Edges::Anchored => (start - lookback, end),
            Edges::Smoothed => (start - lookback, end + lookback),
        };
        let floats = samples.times.partition_point(|t| *t <= from)
            ..samples.times.partition_point(|t| *t <= to);
        let is_inside = |sample: &&HistogramSample| sample.time > from && sample.time <= to;
        let window = Samples {
            times: samples.times[floats.clone()].to_vec(),
            values: samples.values[floats].to_vec(),
            histograms: samples.histograms.iter().filter(is_inside).cloned().collect(),
            ..Samples::default()
        };
        if edges == Edges::Plain {
            return Ok(window);
        }
        if !window.histograms.is_empty() {
            let word = if edges == Edges::Anchored { "anchored" } else { "smoothed" };
            let text = format!("{word} modifier is not supported with histograms");
            return Err(EvalError::Execution(text));
        }
        Ok(super::extended::with_edges(&window, start, end, edges))
    }

    /// Evaluates a node at all steps.
    pub(crate) fn eval(&self, plan: &Plan, steps: &Steps) -> Result<Evaluated, EvalError> {
        self.interrupt.check()?;
        if plan.is_constant && steps.is_range && steps.count > 0 {
            let once = self.eval_node(plan, &Steps::instant(steps.start))?;
            return Ok(match once {
                Evaluated::Grid(grid) => {
                    self.check_samples(grid.rows.len() * steps.count)?;
                    Evaluated::Grid(grid.repeated(steps.count))
                }
                Evaluated::Scalar(values) => {
                    let value = values.first().copied().unwrap_or(f64::NAN);
                    Evaluated::Scalar(vec![value; steps.count])
                }
                text => text,
            });
        }
        self.eval_node(plan, steps)
    }

    fn eval_node(&self, plan: &Plan, steps: &Steps) -> Result<Evaluated, EvalError> {
        if steps.count == 0 && plan.value_type != ValueType::Text {
            return Ok(match plan.value_type {
                ValueType::Scalar => Evaluated::Scalar(Vec::new()),
                _ => Evaluated::Grid(Grid::new(0, Vec::new())),
            });
        }
        Ok(match &plan.node {
            PlanNode::Number(value) => Evaluated::Scalar(vec![*value; steps.count]),
            PlanNode::Text(text) => Evaluated::Text(text.clone()),
            PlanNode::Selector(selector) => {
                Evaluated::Grid(self.eval_selector(selector, plan.span, steps)?)
            }
            PlanNode::Range(_) | PlanNode::Subquery(_) => {
                let text = "a range can only be an argument of a function here";
                return Err(EvalError::Execution(text.to_owned()));
            }
            PlanNode::Aggregate(aggregate) => {
                Evaluated::Grid(self.eval_aggregate(aggregate, plan.span, steps)?)
            }
            PlanNode::Call(call) => self.eval_call(call, plan.span, steps)?,
            PlanNode::Binary(binary) => self.eval_binary(binary, plan.span, steps)?,
            PlanNode::Negative(inner) => self.eval_negative(inner, steps)?,
        })
    }

    fn eval_negative(&self, inner: &Plan, steps: &Steps) -> Result<Evaluated, EvalError> {
        let mut grid = match self.eval(inner, steps)? {
            Evaluated::Scalar(values) => {
                return Ok(Evaluated::Scalar(values.into_iter().map(|value| -value).collect()));
            }
            Evaluated::Grid(grid) => grid,
            text => return Ok(text),
        };
        for float in grid.all_floats_mut().iter_mut().filter(|float| !is_absent(**float)) {
            *float = -*float;
        }
        grid.change_histograms(|histogram| histogram.multiply(-1.0));
        grid.rows.iter_mut().for_each(|row| self.drop_name(row));
        if !self.options.delayed_name_removal {
            grid = grid.merged_by_kind()?;
        }
        Ok(Evaluated::Grid(grid))
    }

    fn eval_call(
        &self,
        call: &CallPlan,
        span: Span,
        steps: &Steps,
    ) -> Result<Evaluated, EvalError> {
        let name = call.function.name;
        if let (
            "timestamp" | "start_timestamp",
            Some(Plan { node: PlanNode::Selector(selector), .. }),
        ) = (name, call.args.first())
        {
            let of_start = name == "start_timestamp";
            if of_start && !self.options.start_timestamps {
                return Ok(Evaluated::Grid(Grid::new(steps.count, Vec::new())));
            }
            return Ok(Evaluated::Grid(self.eval_timestamps(selector, of_start, steps)?));
        }
        let is_range = |arg: &&Plan| arg.value_type == ValueType::Matrix;
        if let Some(range) = call.args.iter().find(is_range) {
            return Ok(Evaluated::Grid(self.eval_range_call(call, range, steps)?));
        }
        match name {
            "label_replace" => Ok(Evaluated::Grid(self.label_replace(&call.args, steps)?)),
            "label_join" => Ok(Evaluated::Grid(self.label_join(&call.args, steps)?)),
            "info" => Ok(Evaluated::Grid(self.info(&call.args, steps)?)),
            _ => self.eval_instant_call(call, span, steps),
        }
    }

    /// The series of a range, or of a subquery, with the samples that all steps need.
    pub(crate) fn rows_of(&self, arg: &Plan, steps: &Steps) -> Result<Vec<RangeRow>, EvalError> {
        match &arg.node {
            PlanNode::Range(range) => self.range_rows(range, steps),
            PlanNode::Subquery(subquery) => self.subquery_rows(subquery, steps),
            _ => Err(EvalError::Execution("a range was expected here".to_owned())),
        }
    }

    fn range_rows(&self, range: &RangePlan, steps: &Steps) -> Result<Vec<RangeRow>, EvalError> {
        let SelectorPlan { matchers, when, edges, only_totals } = &range.selector;
        let lookback = self.options.lookback;
        let (before, behind) = match edges {
            Edges::Plain => (0, 0),
            Edges::Anchored => (lookback, 0),
            Edges::Smoothed => (lookback, lookback),
        };
        let select = Select {
            matchers: matchers.clone(),
            start: when.time(steps.start) - range.range - before + 1,
            end: when.time(steps.end()) + behind,
            only_totals: *only_totals,
        };
        let row = |series: &Series| RangeRow {
            row: Row { labels: series.labels.clone(), drops_name: false },
            samples: series.samples.clone(),
        };
        Ok(self.select(&select)?.iter().map(row).collect())
    }

    /// The steps at which a subquery is evaluated: multiples of its own step.
    fn subquery_steps(&self, subquery: &SubqueryPlan, steps: &Steps) -> Steps {
        let step = subquery.step.unwrap_or(self.options.subquery_step).max(1);
        let begin = subquery.when.time(steps.start) - subquery.range;
        let end = subquery.when.time(steps.end());
        // The beginning is not part of the range.
        let start = (begin.div_euclid(step) + 1) * step;
        Steps::new(start, end, step)
    }

    fn subquery_rows(
        &self,
        subquery: &SubqueryPlan,
        steps: &Steps,
    ) -> Result<Vec<RangeRow>, EvalError> {
        let inner = self.subquery_steps(subquery, steps);
        let grid = self.grid_of(&subquery.expr, &inner)?;
        let mut rows = Vec::with_capacity(grid.rows.len());
        for (number, row) in grid.rows.iter().enumerate() {
            let mut samples = Samples::default();
            for (step, float) in grid.floats(number).iter().enumerate() {
                if !is_absent(*float) {
                    samples.times.push(inner.time(step));
                    samples.values.push(*float);
                } else if let Some(histogram) = grid.histogram(number, step) {
                    let mut value = histogram.clone();
                    // Samples between those of the steps are not seen, and some may
                    // be seen twice: a hint about the one before would mislead.
                    if matches!(value.hint, ResetHint::Reset | ResetHint::NotReset) {
                        Arc::make_mut(&mut value).hint = ResetHint::Unknown;
                    }
                    let time = inner.time(step);
                    samples.histograms.push(HistogramSample { time, start: 0, value });
                }
            }
            rows.push(RangeRow { row: row.clone(), samples: Arc::new(samples) });
        }
        Ok(rows)
    }

    /// A node as a grid; a scalar as one row without labels.
    pub(crate) fn grid_of(&self, plan: &Plan, steps: &Steps) -> Result<Grid, EvalError> {
        match self.eval(plan, steps)? {
            Evaluated::Grid(grid) => Ok(grid),
            Evaluated::Scalar(values) => Ok(Grid::unlabelled(values)),
            Evaluated::Text(_) => Err(EvalError::Execution("a text has no samples".to_owned())),
        }
    }

    /// A node as a number at each step.
    pub(crate) fn scalar_of(&self, plan: &Plan, steps: &Steps) -> Result<Vec<f64>, EvalError> {
        match self.eval(plan, steps)? {
            Evaluated::Scalar(values) => Ok(values),
            _ => Err(EvalError::Execution("a scalar was expected here".to_owned())),
        }
    }

    /// An empty grid, if it is not too large.
    pub(crate) fn grid(&self, steps: &Steps, rows: Vec<Row>) -> Result<Grid, EvalError> {
        self.check_samples(rows.len() * steps.count)?;
        Ok(Grid::new(steps.count, rows))
    }

    /// An error if that many samples are too many, beside those that were read.
    pub(crate) fn check_samples(&self, samples: usize) -> Result<(), EvalError> {
        self.interrupt.check()?;
        let most = self.options.max_samples;
        if self.samples_read.get().saturating_add(samples) > most {
            return Err(EvalError::TooManySamples(most));
        }
        Ok(())
    }

    /// Reads series.
    pub(crate) fn select(&self, select: &Select) -> Result<Arc<[Series]>, EvalError> {
        self.interrupt.check()?;
        if let Some((_, known)) = self.selected.borrow().iter().find(|(made, _)| made == select) {
            return Ok(known.clone());
        }
        let mut series: Vec<Series> = self.source.select(select)?;
        if select.only_totals {
            for series in series.iter_mut().filter(|s| !s.samples.histograms.is_empty()) {
                Arc::make_mut(&mut series.samples).reduce_to_totals(select.start);
            }
        }
        let series: Arc<[Series]> = series.into();
        let count = |series: &Series| {
            let samples = &series.samples;
            let from = samples.times.partition_point(|time| *time < select.start);
            let to = samples.times.partition_point(|time| *time <= select.end);
            let is_asked = |time: i64| time >= select.start && time <= select.end;
            let histograms = samples.histograms.iter().filter(|sample| is_asked(sample.time));
            let sizes = histograms.map(|sample| sample.value.size());
            to - from + sizes.sum::<usize>()
        };
        let read = self.samples_read.get() + series.iter().map(count).sum::<usize>();
        self.samples_read.set(read);
        self.check_samples(0)?;
        self.selected.borrow_mut().push((select.clone(), series.clone()));
        Ok(series)
    }

    /// Remembers annotations.
    pub(crate) fn note(&self, annotations: Annotations) {
        self.annotations.borrow_mut().merge(annotations);
    }

    /// Takes the name from a row, now or when the query ends.
    pub(crate) fn drop_name(&self, row: &mut Row) {
        row.drops_name = true;
        if !self.options.delayed_name_removal {
            row.labels = row.labels.without_metadata();
        }
    }
}
