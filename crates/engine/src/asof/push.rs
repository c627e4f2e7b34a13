//! Filters over as-of joins: those on the left side go below it.
//!
//! A row of the left side is in the answer whatever its match is, so a filter on it may as well be
//! tested before. One on the right side may not: without the row that it takes away, another would
//! be the match. But what a filter says of the left side's time bounds the right side's: nothing
//! after the latest can be before any of them, and with a distance nothing long before the
//! earliest either.

use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Extension, Filter, LogicalPlan, Operator, binary_expr, lit,
};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::Direction;
use super::node::AsOfJoin;

/// The rule.
#[derive(Debug)]
pub(crate) struct PushBelowAsOf;

impl OptimizerRule for PushBelowAsOf {
    fn name(&self) -> &str {
        "push_below_as_of"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = &plan else { return Ok(Transformed::no(plan)) };
        let LogicalPlan::Extension(extension) = &*filter.input else {
            return Ok(Transformed::no(plan));
        };
        let Some(join) = extension.node.as_any().downcast_ref::<AsOfJoin>() else {
            return Ok(Transformed::no(plan));
        };
        let is_of_left = |expr: &Expr| {
            let columns = expr.column_refs();
            let schema = join.left.schema();
            !expr.is_volatile()
                && !columns.is_empty()
                && columns.iter().all(|column| schema.has_column(column))
        };
        let (pushed, kept): (Vec<Expr>, Vec<Expr>) =
            split_conjunction_owned(filter.predicate.clone()).into_iter().partition(is_of_left);
        if pushed.is_empty() {
            return Ok(Transformed::no(plan));
        }
        let of_right = pushed.iter().filter_map(|expr| bound_of_right(join, expr)).collect();
        let left = filtered(join.left.clone(), pushed)?;
        let right = filtered(join.right.clone(), of_right)?;
        let node = Arc::new(join.over(left, right)?);
        let below = LogicalPlan::Extension(Extension { node });
        Ok(Transformed::yes(filtered(below, kept)?))
    }
}

fn filtered(plan: LogicalPlan, filters: Vec<Expr>) -> Result<LogicalPlan> {
    Ok(match conjunction(filters) {
        Some(filter) => LogicalPlan::Filter(Filter::try_new(filter, Arc::new(plan))?),
        None => plan,
    })
}

/// What a comparison of the left side's time says of the right side's.
fn bound_of_right(join: &AsOfJoin, filter: &Expr) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = filter else { return None };
    let (op, nanos) = match (&**left, &**right) {
        (time, Expr::Literal(ScalarValue::TimestampNanosecond(Some(nanos), _), _))
            if *time == join.times.0 =>
        {
            (*op, *nanos)
        }
        (Expr::Literal(ScalarValue::TimestampNanosecond(Some(nanos), _), _), time)
            if *time == join.times.0 =>
        {
            (op.swap()?, *nanos)
        }
        _ => return None,
    };
    // Types are settled already: the right side may have another zone.
    let Ok(DataType::Timestamp(TimeUnit::Nanosecond, zone)) =
        join.times.1.get_type(&**join.right.schema())
    else {
        return None;
    };
    let (is_most, is_least) = match op {
        Operator::Lt | Operator::LtEq => (true, false),
        Operator::Gt | Operator::GtEq => (false, true),
        Operator::Eq => (true, true),
        _ => return None,
    };
    let within = join.matching.within_nanos;
    let bound = |op, nanos| {
        let value = ScalarValue::TimestampNanosecond(Some(nanos), zone.clone());
        binary_expr(join.times.1.clone(), op, lit(value))
    };
    let bounds = match join.matching.direction {
        Direction::Before => [
            is_most.then(|| bound(Operator::LtEq, nanos)),
            within.filter(|_| is_least).map(|w| bound(Operator::GtEq, nanos.saturating_sub(w))),
        ],
        Direction::After => [
            is_least.then(|| bound(Operator::GtEq, nanos)),
            within.filter(|_| is_most).map(|w| bound(Operator::LtEq, nanos.saturating_add(w))),
        ],
    };
    conjunction(bounds.into_iter().flatten())
}
