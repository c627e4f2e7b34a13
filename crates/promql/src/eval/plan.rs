//! A query, ready to run: durations are numbers, times are fixed, parentheses gone.

use super::error::EvalError;
use crate::ast::{
    Aggregate, At, Binary, BinaryOp, Duration, DurationNode, Edges, Expr, Matching, Node, Selector,
    Span, TimeShift, ValueType,
};
use crate::ast::{AggregateOp, Grouping};
use crate::function::Function;
use crate::matcher::LabelMatcher;

/// The times of a query, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// The first.
    pub start: i64,
    /// The last, or before the last step behind it.
    pub end: i64,
    /// From one to the next; 0 if there is one time only.
    pub step: i64,
}

impl Times {
    /// One time only.
    pub fn instant(time: i64) -> Self {
        Self { start: time, end: time, step: 0 }
    }

    /// Whether there is one time only.
    pub fn is_instant(&self) -> bool {
        self.step == 0
    }
}

/// An expression, ready to run.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) node: PlanNode,
    pub(crate) span: Span,
    pub(crate) value_type: ValueType,
    /// The result is the same at every step.
    pub(crate) is_constant: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum PlanNode {
    Number(f64),
    Text(String),
    Selector(SelectorPlan),
    Range(RangePlan),
    Subquery(Box<SubqueryPlan>),
    Aggregate(Box<AggregatePlan>),
    Call(CallPlan),
    Binary(Box<BinaryPlan>),
    Negative(Box<Plan>),
}

/// When something is looked at, given the time of a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct When {
    pub(crate) at: Option<i64>,
    pub(crate) offset: i64,
}

impl When {
    pub(crate) fn time(&self, step_time: i64) -> i64 {
        self.at.unwrap_or(step_time) - self.offset
    }
}

#[derive(Debug, Clone)]
pub(crate) struct SelectorPlan {
    pub(crate) matchers: Vec<LabelMatcher>,
    pub(crate) when: When,
    pub(crate) edges: Edges,
    /// Only count and sum of histograms matter in the end. Then every sample says
    /// whether its counter began anew, so that no reset is overlooked.
    pub(crate) only_totals: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct RangePlan {
    pub(crate) selector: SelectorPlan,
    pub(crate) range: i64,
}

#[derive(Debug, Clone)]
pub(crate) struct SubqueryPlan {
    pub(crate) expr: Plan,
    pub(crate) range: i64,
    pub(crate) step: Option<i64>,
    pub(crate) when: When,
}

#[derive(Debug, Clone)]
pub(crate) struct AggregatePlan {
    pub(crate) op: AggregateOp,
    pub(crate) expr: Plan,
    pub(crate) param: Option<Plan>,
    pub(crate) grouping: Grouping,
}

#[derive(Debug, Clone)]
pub(crate) struct CallPlan {
    pub(crate) function: &'static Function,
    pub(crate) args: Vec<Plan>,
}

#[derive(Debug, Clone)]
pub(crate) struct BinaryPlan {
    pub(crate) op: BinaryOp,
    pub(crate) left: Plan,
    pub(crate) right: Plan,
    pub(crate) matching: Matching,
    pub(crate) returns_bool: bool,
}

/// Functions whose result changes with the time of the step, even if what they are
/// given does not.
const TIME_DEPENDENT: [&str; 11] = [
    "day_of_month",
    "day_of_week",
    "day_of_year",
    "days_in_month",
    "hour",
    "minute",
    "month",
    "predict_linear",
    "time",
    "timestamp",
    "year",
];

/// What the expressions around one make of histograms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Nothing in particular.
    Any,
    /// Only their count and sum are looked at.
    Totals,
    /// Buckets are looked at, or were looked at by a subquery.
    Buckets,
}

impl Use {
    fn within_call(self, function: &str) -> Self {
        match (self, function) {
            (Self::Buckets, _) => self,
            (_, "histogram_quantile" | "histogram_quantiles" | "histogram_fraction") => {
                Self::Buckets
            }
            (_, "histogram_avg" | "histogram_count" | "histogram_sum") => Self::Totals,
            _ => self,
        }
    }
}

/// Makes a query ready to run. An error, if a duration in it makes no sense.
pub(crate) fn plan(expr: &Expr, times: &Times) -> Result<Plan, EvalError> {
    plan_used(expr, times, Use::Any)
}

fn plan_used(expr: &Expr, times: &Times, used: Use) -> Result<Plan, EvalError> {
    let value_type = expr.value_type();
    let (node, is_constant) = match &expr.node {
        Node::Paren(inner) => return plan_used(inner, times, used),
        Node::Unary(unary) if !unary.is_negative => {
            return Ok(Plan { span: expr.span, ..plan_used(&unary.expr, times, used)? });
        }
        Node::Unary(unary) => {
            let inner = plan_used(&unary.expr, times, used)?;
            let is_constant = inner.is_constant;
            (PlanNode::Negative(Box::new(inner)), is_constant)
        }
        Node::Number(number) => (PlanNode::Number(number.value), true),
        Node::Text(text) => (PlanNode::Text(text.clone()), true),
        Node::Selector(selector) => {
            let selector = plan_selector(selector, times, used)?;
            let is_constant = selector.when.at.is_some();
            (PlanNode::Selector(selector), is_constant)
        }
        Node::Range(range) => {
            let selector = plan_selector(&range.selector, times, used)?;
            let is_constant = selector.when.at.is_some();
            let range = positive(&range.range, times)?;
            (PlanNode::Range(RangePlan { selector, range }), is_constant)
        }
        Node::Subquery(subquery) => {
            let inner = SubqueryPlan {
                expr: plan_used(&subquery.expr, times, Use::Buckets)?,
                range: positive(&subquery.range, times)?,
                step: subquery.step.as_ref().map(|step| positive(step, times)).transpose()?,
                when: when(&subquery.shift, times)?,
            };
            let is_constant = inner.when.at.is_some();
            (PlanNode::Subquery(Box::new(inner)), is_constant)
        }
        Node::Aggregate(aggregate) => plan_aggregate(aggregate, times, used)?,
        Node::Call(call) => match query_constant(call.function.name, times) {
            Some(value) => (PlanNode::Number(value), true),
            None => {
                let used = used.within_call(call.function.name);
                let args = call.args.iter().map(|arg| plan_used(arg, times, used));
                let args: Vec<Plan> = args.collect::<Result<_, _>>()?;
                let is_constant = args.iter().all(|arg| arg.is_constant)
                    && !TIME_DEPENDENT.contains(&call.function.name);
                (PlanNode::Call(CallPlan { function: call.function, args }), is_constant)
            }
        },
        Node::Binary(binary) => plan_binary(binary, times, used)?,
    };
    Ok(Plan { node, span: expr.span, value_type, is_constant })
}

fn plan_aggregate(
    aggregate: &Aggregate,
    times: &Times,
    used: Use,
) -> Result<(PlanNode, bool), EvalError> {
    let expr = plan_used(&aggregate.expr, times, used)?;
    let param = aggregate.param.as_ref().map(|param| plan_used(param, times, used)).transpose()?;
    let is_constant = expr.is_constant && param.as_ref().is_none_or(|param| param.is_constant);
    let (op, grouping) = (aggregate.op, aggregate.grouping.clone());
    Ok((PlanNode::Aggregate(Box::new(AggregatePlan { op, expr, param, grouping })), is_constant))
}

fn plan_binary(binary: &Binary, times: &Times, used: Use) -> Result<(PlanNode, bool), EvalError> {
    let is_trim = matches!(binary.op, BinaryOp::TrimLower | BinaryOp::TrimUpper);
    let used = if is_trim { Use::Buckets } else { used };
    let left = plan_used(&binary.left, times, used)?;
    let right = plan_used(&binary.right, times, used)?;
    let is_constant = left.is_constant && right.is_constant;
    let matching = binary.matching.clone().unwrap_or_default();
    let (op, returns_bool) = (binary.op, binary.returns_bool);
    let planned = BinaryPlan { op, left, right, matching, returns_bool };
    Ok((PlanNode::Binary(Box::new(planned)), is_constant))
}

/// What a function says of the query itself.
fn query_constant(function: &str, times: &Times) -> Option<f64> {
    let secs = |millis: i64| millis as f64 / 1000.0;
    match function {
        "start" => Some(secs(times.start)),
        "end" => Some(secs(times.end)),
        "range" => Some(secs(times.end - times.start)),
        "step" if times.start == times.end => Some(0.0),
        "step" => Some(secs(times.step)),
        _ => None,
    }
}

fn plan_selector(selector: &Selector, times: &Times, used: Use) -> Result<SelectorPlan, EvalError> {
    Ok(SelectorPlan {
        matchers: selector.matchers.clone(),
        when: when(&selector.shift, times)?,
        edges: selector.edges,
        only_totals: used == Use::Totals,
    })
}

fn when(shift: &TimeShift, times: &Times) -> Result<When, EvalError> {
    let at = shift.at.map(|at| match at {
        At::Time(time) => time,
        At::Start => times.start,
        At::End => times.end,
    });
    let offset = shift.offset.as_ref().map(|offset| millis(offset, times)).transpose()?;
    Ok(When { at, offset: offset.unwrap_or(0) })
}

fn positive(duration: &Duration, times: &Times) -> Result<i64, EvalError> {
    let secs = seconds(duration, times)?;
    if secs <= 0.0 {
        return Err(misplaced(duration.span, "duration must be greater than 0"));
    }
    millis(duration, times)
}

/// The greatest duration, in seconds: what fits nanoseconds of 64 bits.
const MAX_SECS: f64 = (i64::MAX as f64) / 1e9;

fn millis(duration: &Duration, times: &Times) -> Result<i64, EvalError> {
    let secs = seconds(duration, times)?;
    if !secs.is_finite() {
        return Err(misplaced(duration.span, "duration is NaN or infinite"));
    }
    if secs.abs() > MAX_SECS {
        return Err(misplaced(duration.span, "duration is out of range"));
    }
    // A literal of milliseconds may come as 0.30000000000000004 seconds.
    let millis = secs * 1000.0;
    let rounded = millis.round();
    Ok(if (millis - rounded).abs() < 1e-6 { rounded as i64 } else { millis as i64 })
}

fn seconds(duration: &Duration, times: &Times) -> Result<f64, EvalError> {
    let secs = |inner: &Duration| seconds(inner, times);
    Ok(match &duration.node {
        DurationNode::Number(number) => number.value,
        DurationNode::Step => times.step as f64 / 1000.0,
        DurationNode::Range => (times.end - times.start) as f64 / 1000.0,
        DurationNode::MinOf(a, b) => go_min(secs(a)?, secs(b)?),
        DurationNode::MaxOf(a, b) => go_max(secs(a)?, secs(b)?),
        DurationNode::Negative(inner) => -secs(inner)?,
        DurationNode::Positive(inner) | DurationNode::Paren(inner) => secs(inner)?,
        DurationNode::Binary(op, left, right) => {
            let (left, right) = (secs(left)?, secs(right)?);
            match op {
                BinaryOp::Div if right == 0.0 => {
                    return Err(misplaced(duration.span, "division by zero"));
                }
                BinaryOp::Mod if right == 0.0 => {
                    return Err(misplaced(duration.span, "modulo by zero"));
                }
                _ => super::arithmetic::scalar(*op, left, right),
            }
        }
    })
}

/// The greater of two; a NaN wins, but not over infinity.
pub(crate) fn go_max(a: f64, b: f64) -> f64 {
    match (a, b) {
        (f64::INFINITY, _) | (_, f64::INFINITY) => f64::INFINITY,
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        _ => a.max(b),
    }
}

/// The lesser of two; a NaN wins, but not over minus infinity.
pub(crate) fn go_min(a: f64, b: f64) -> f64 {
    match (a, b) {
        (f64::NEG_INFINITY, _) | (_, f64::NEG_INFINITY) => f64::NEG_INFINITY,
        _ if a.is_nan() || b.is_nan() => f64::NAN,
        _ => a.min(b),
    }
}

fn misplaced(span: Span, text: &str) -> EvalError {
    EvalError::Execution(format!("{}:{}: {text}", span.start, span.end))
}
