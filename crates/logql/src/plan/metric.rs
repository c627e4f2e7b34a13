//! Metric queries: range aggregations, and what is computed of them.

use std::sync::Arc;

use regex::Regex;

use super::binary;
use super::grid::{self, GridSeries};
use super::leaf::{Leaf, LeafPlan, LeafWorker, folds};
use super::rolling;
use super::series::too_many_series;
use super::state::State;
use super::value::{Sample, Series, Value};
use super::windows::Windows;
use crate::ast::{Binary, MetricExpr, RangeOp, VectorAggregation, VectorOp};
use crate::error::{EvalError, PlanError};
use crate::labels::Labels;
use crate::limits::{MAX_PATTERN_BYTES, MAX_POINTS};
use crate::request::{Request, Times};

/// A metric query, ready to be answered.
#[derive(Debug, Clone)]
pub struct MetricPlan {
    root: Arc<Node>,
    leaves: Vec<Leaf>,
    request: Request,
    /// The steps.
    windows: Windows,
}

/// A query with its range aggregations by number.
#[derive(Debug)]
enum Node {
    Leaf(usize),
    Literal(f64),
    VectorOf(f64),
    Aggregate(VectorAggregation, Box<Node>),
    Binary(Box<Binary>, Box<Node>, Box<Node>),
    Replace(Replace, Box<Node>),
}

/// `label_replace`
#[derive(Debug)]
struct Replace {
    to: String,
    replacement: String,
    from: String,
    pattern: Regex,
}

/// What a part of a query gives.
enum Operand {
    Number(f64),
    Series(Vec<GridSeries>),
}

impl MetricPlan {
    pub(super) fn new(expr: &MetricExpr, request: &Request) -> Result<Self, PlanError> {
        if let Times::Range { start_nanos, end_nanos, step_nanos } = request.times {
            if step_nanos <= 0 {
                return Err(PlanError::BadStep);
            }
            if end_nanos < start_nanos {
                return Err(PlanError::EndBeforeStart);
            }
            if end_nanos.saturating_sub(start_nanos) / step_nanos >= MAX_POINTS as i64 {
                return Err(PlanError::TooManyPoints { max: MAX_POINTS });
            }
        }
        let mut leaves = Vec::new();
        let root = Arc::new(node(expr, request, &mut leaves)?);
        let windows = Windows::new(request.times, 0, 0);
        Ok(Self { root, leaves, request: *request, windows })
    }

    /// The range aggregations of the query. Each wants entries of its own.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// The answer, from the workers of each leaf.
    pub fn finish(&self, workers: Vec<Vec<LeafWorker>>) -> Result<Value, EvalError> {
        let mut workers = workers.into_iter();
        let mut found = Vec::with_capacity(self.leaves.len());
        for leaf in &self.leaves {
            found.push(Some(leaf_series(leaf, workers.next().unwrap_or_default())?));
        }
        let root = self.eval(&self.root, &mut found)?;
        self.value(root)
    }

    fn eval(
        &self,
        node: &Node,
        leaves: &mut [Option<Vec<GridSeries>>],
    ) -> Result<Operand, EvalError> {
        Ok(match node {
            Node::Leaf(nth) => {
                // Each leaf stands at one place.
                let series = leaves.get_mut(*nth).and_then(Option::take);
                Operand::Series(series.unwrap_or_default())
            }
            Node::Literal(value) => Operand::Number(*value),
            Node::VectorOf(value) => Operand::Series(vec![self.constant(*value)]),
            Node::Aggregate(aggregation, inner) => {
                let series = self.series(inner, leaves)?;
                Operand::Series(grid::aggregate(aggregation, series))
            }
            Node::Replace(replace, inner) => {
                let mut series = self.series(inner, leaves)?;
                series.iter_mut().for_each(|series| replace.apply(&mut series.labels));
                Operand::Series(series)
            }
            Node::Binary(binary, left, right) => {
                let left = self.eval(left, leaves)?;
                let right = self.eval(right, leaves)?;
                Operand::Series(match (left, right) {
                    (Operand::Series(left), Operand::Series(right)) => {
                        binary::with_series(binary, left, right)?
                    }
                    (Operand::Series(left), Operand::Number(number)) => {
                        binary::with_number(binary, left, number, false)
                    }
                    (Operand::Number(number), Operand::Series(right)) => {
                        binary::with_number(binary, right, number, true)
                    }
                    (Operand::Number(left), Operand::Number(right)) => {
                        return Ok(Operand::Number(crate::operate::operate(
                            binary.op, left, right,
                        )));
                    }
                })
            }
        })
    }

    fn series(
        &self,
        node: &Node,
        leaves: &mut [Option<Vec<GridSeries>>],
    ) -> Result<Vec<GridSeries>, EvalError> {
        Ok(match self.eval(node, leaves)? {
            Operand::Series(series) => series,
            Operand::Number(value) => vec![self.constant(value)],
        })
    }

    /// A series without labels that has a value at each step.
    fn constant(&self, value: f64) -> GridSeries {
        let steps = 0..u32::try_from(self.windows.count()).unwrap_or(u32::MAX);
        GridSeries { labels: Labels::default(), points: steps.map(|step| (step, value)).collect() }
    }

    /// Whether the order of series is part of the answer.
    fn keeps_order(&self) -> bool {
        matches!(self.request.times, Times::Instant { .. }) && self.root.is_sorted()
    }

    fn value(&self, root: Operand) -> Result<Value, EvalError> {
        let mut series = match (root, self.request.times) {
            (Operand::Number(value), Times::Instant { time_nanos }) => {
                return Ok(Value::Scalar { time_nanos, value });
            }
            (Operand::Number(value), Times::Range { .. }) => vec![self.constant(value)],
            (Operand::Series(series), _) => series,
        };
        series.retain(|series| !series.points.is_empty());
        let max = self.request.bounds.max_series;
        if series.len() > max {
            let labels: Vec<Labels> = series.into_iter().map(|series| series.labels).collect();
            return Err(too_many_series(max, &labels));
        }
        if !self.keeps_order() {
            series.sort_by(|a, b| a.labels.cmp(&b.labels));
        }
        Ok(match self.request.times {
            Times::Instant { time_nanos } => Value::Vector {
                time_nanos,
                samples: series
                    .into_iter()
                    .filter_map(|series| {
                        let (_, value) = *series.points.first()?;
                        Some(Sample { labels: series.labels, value })
                    })
                    .collect(),
            },
            Times::Range { .. } => {
                let time = |step: u32| self.windows.time(step as usize);
                let series = series.into_iter().map(|series| Series {
                    labels: series.labels,
                    points: series.points.iter().map(|(step, v)| (time(*step), *v)).collect(),
                });
                Value::Matrix(series.collect())
            }
        })
    }
}

impl Node {
    /// Whether its series come in an order that was asked for. What is done to each of them leaves
    /// the order.
    fn is_sorted(&self) -> bool {
        match self {
            Self::Aggregate(aggregation, _) => matches!(
                aggregation.op,
                VectorOp::Sort | VectorOp::SortDesc | VectorOp::Topk | VectorOp::Bottomk
            ),
            Self::Binary(_, left, right) => {
                (left.is_sorted() && right.is_number()) || (left.is_number() && right.is_sorted())
            }
            Self::Replace(_, inner) => inner.is_sorted(),
            Self::Leaf(_) | Self::Literal(_) | Self::VectorOf(_) => false,
        }
    }

    fn is_number(&self) -> bool {
        match self {
            Self::Literal(_) => true,
            Self::Binary(_, left, right) => left.is_number() && right.is_number(),
            _ => false,
        }
    }
}

fn node(expr: &MetricExpr, request: &Request, leaves: &mut Vec<Leaf>) -> Result<Node, PlanError> {
    Ok(match expr {
        MetricExpr::Range(range) => leaf(LeafPlan::new(range, None, request)?, leaves),
        MetricExpr::Vector(aggregation) => match &*aggregation.inner {
            MetricExpr::Range(range) if folds(aggregation, range) => {
                leaf(LeafPlan::new(range, Some(aggregation), request)?, leaves)
            }
            inner => {
                let inner = Box::new(node(inner, request, leaves)?);
                Node::Aggregate(aggregation.clone(), inner)
            }
        },
        MetricExpr::Binary(binary) => {
            let left = Box::new(node(&binary.left, request, leaves)?);
            let right = Box::new(node(&binary.right, request, leaves)?);
            Node::Binary(binary.clone(), left, right)
        }
        MetricExpr::Literal(value) => Node::Literal(*value),
        MetricExpr::VectorOf(value) => Node::VectorOf(*value),
        MetricExpr::LabelReplace(replace) => {
            let inner = Box::new(node(&replace.inner, request, leaves)?);
            let pattern = kymo_pattern::compile(&replace.pattern, MAX_PATTERN_BYTES)
                .map_err(PlanError::BadStage)?;
            let replace = Replace {
                to: replace.to.clone(),
                replacement: replace.replacement.clone(),
                from: replace.from.clone(),
                pattern,
            };
            Node::Replace(replace, inner)
        }
    })
}

fn leaf(plan: LeafPlan, leaves: &mut Vec<Leaf>) -> Node {
    leaves.push(Leaf(Arc::new(plan)));
    Node::Leaf(leaves.len() - 1)
}

impl Replace {
    fn apply(&self, labels: &mut Labels) {
        let source = labels.get(&self.from).unwrap_or_default();
        let Some(captures) = self.pattern.captures(source) else { return };
        let mut value = String::new();
        captures.expand(&self.replacement, &mut value);
        *labels = labels.with(&self.to, &value);
    }
}

/// The series of a leaf, from those who worked at it.
fn leaf_series(leaf: &Leaf, workers: Vec<LeafWorker>) -> Result<Vec<GridSeries>, EvalError> {
    let plan = &*leaf.0;
    let mut workers = workers.into_iter();
    let mut all = workers.next().unwrap_or_else(|| leaf.worker(crate::selection::Tested::No));
    for worker in workers {
        all.merge(worker)?;
    }
    let mut states: Vec<((u32, i64), State)> = all.states.into_iter().collect();
    states.sort_unstable_by_key(|(place, _)| *place);
    let mut pieces: Vec<(i64, State)> = Vec::new();
    let mut found = Vec::with_capacity(all.series.labels().len());
    let mut states = states.into_iter().peekable();
    for (number, labels) in (0..).zip(all.series.labels()) {
        pieces.clear();
        while let Some(((_, piece), state)) = states.next_if(|((series, _), _)| *series == number) {
            pieces.push((piece, state));
        }
        let points = rolling::points(plan, &pieces);
        found.push(GridSeries { labels: labels.clone(), points });
    }
    if plan.op == RangeOp::AbsentOverTime {
        return Ok(vec![absence(plan, &found)]);
    }
    found.retain(|series| !series.points.is_empty());
    Ok(found)
}

/// A one at each step that has no line.
fn absence(plan: &LeafPlan, found: &[GridSeries]) -> GridSeries {
    let mut present = found.iter().flat_map(|series| series.points.iter()).map(|(step, _)| *step);
    let mut next = present.next();
    let steps = 0..u32::try_from(plan.windows.count()).unwrap_or(u32::MAX);
    let points = steps.filter(|step| {
        let is_there = next == Some(*step);
        if is_there {
            next = present.next();
        }
        !is_there
    });
    GridSeries { labels: plan.absent.clone(), points: points.map(|step| (step, 1.0)).collect() }
}
