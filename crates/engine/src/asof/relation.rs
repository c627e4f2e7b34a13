//! As-of joins of a statement to nodes of the plan: what is compared, by which columns, how far.

use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};
use datafusion::common::{DFSchema, Result};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::type_coercion::binary::BinaryTypeCoercer;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, ExprSchemable, Extension, Filter, LogicalPlan, Operator};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr as SqlExpr, Join, JoinConstraint, JoinOperator, TableFactor,
    TableWithJoins,
};

use super::node::AsOfJoin;
use super::syntax::has_as_of;
use super::{Direction, Matching};
use crate::error::Refusal;
use crate::functions::interval::Span;

/// Expressions of both sides, the left one's first.
type Pairs = Vec<(Expr, Expr)>;

/// Plans relations that are as-of joins.
#[derive(Debug)]
pub(crate) struct AsOfRelations;

impl RelationPlanner for AsOfRelations {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let (from, alias) = match relation {
            TableFactor::NestedJoin { table_with_joins, alias } if has_as_of(&table_with_joins) => {
                (*table_with_joins, alias)
            }
            other => return Ok(RelationPlanning::Original(Box::new(other))),
        };
        let plan = plan(from, context)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
    }
}

/// Plans joins of which one is an as-of join: what stands before it is its left side, and it is
/// itself the left side of what stands behind.
fn plan(mut from: TableWithJoins, context: &mut dyn RelationPlannerContext) -> Result<LogicalPlan> {
    let is_as_of = |join: &Join| matches!(join.join_operator, JoinOperator::AsOf { .. });
    let last = from.joins.iter().rposition(is_as_of).unwrap_or(0);
    let behind = from.joins.split_off(last + 1);
    if !behind.is_empty() {
        return context
            .plan(bracketed(TableWithJoins { relation: bracketed(from), joins: behind }));
    }
    let Some(Join {
        relation,
        join_operator: JoinOperator::AsOf { match_condition, constraint },
        ..
    }) = from.joins.pop()
    else {
        return Err(wrong_match());
    };
    let left = context.plan(if from.joins.is_empty() { from.relation } else { bracketed(from) })?;
    let right = context.plan(relation)?;
    let both = left.schema().join(right.schema())?;
    let mut sides = Sides { left: left.schema(), right: right.schema(), both: &both, context };
    let (times, matching) = sides.times(match_condition)?;
    let (on, of_right) = sides.keys(constraint)?;
    let right = match conjunction(of_right) {
        Some(filter) => LogicalPlan::Filter(Filter::try_new(filter, Arc::new(right))?),
        None => right,
    };
    let node = AsOfJoin::new(left, right, on, times, matching)?;
    Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
}

fn bracketed(inside: TableWithJoins) -> TableFactor {
    TableFactor::NestedJoin { table_with_joins: Box::new(inside), alias: None }
}

fn wrong_match() -> DataFusionError {
    Refusal::error(
        "MATCH_CONDITION of an as-of join compares a time of the left side with one of the right: \
         MATCH_CONDITION (l.time >= r.time), and may say how far they are apart: \
         AND l.time - r.time <= INTERVAL '5 minutes'",
    )
}

fn wrong_on() -> DataFusionError {
    Refusal::error(
        "ON of an as-of join compares columns of both sides by `=`, and may say which rows of the \
         right side count: ON l.host = r.host AND r.name = 'x'; conditions on the left side belong \
         into WHERE",
    )
}

/// The two sides, and how their expressions are planned.
struct Sides<'a> {
    left: &'a DFSchema,
    right: &'a DFSchema,
    both: &'a DFSchema,
    context: &'a mut dyn RelationPlannerContext,
}

impl Sides<'_> {
    /// The times that are compared, and how.
    fn times(&mut self, condition: SqlExpr) -> Result<((Expr, Expr), Matching)> {
        let mut compared = None;
        let mut distance = None;
        for conjunct in conjuncts(condition) {
            let SqlExpr::BinaryOp { left, op, right } = conjunct else { return Err(wrong_match()) };
            match (&*left, &op) {
                (SqlExpr::BinaryOp { op: BinaryOperator::Minus, .. }, BinaryOperator::LtEq)
                    if distance.is_none() =>
                {
                    distance = Some((*left, *right));
                }
                _ if compared.is_none() => compared = Some((*left, op, *right)),
                _ => return Err(wrong_match()),
            }
        }
        let (left, op, right) = compared.ok_or_else(wrong_match)?;
        let (times, is_swapped) = self.pair(left, right)?.ok_or_else(wrong_match)?;
        let (is_before, allows_equal) = match op {
            BinaryOperator::GtEq => (!is_swapped, true),
            BinaryOperator::Gt => (!is_swapped, false),
            BinaryOperator::LtEq => (is_swapped, true),
            BinaryOperator::Lt => (is_swapped, false),
            _ => return Err(wrong_match()),
        };
        let direction = if is_before { Direction::Before } else { Direction::After };
        let within_nanos = match distance {
            Some((difference, most)) => Some(self.within(difference, most, &times, direction)?),
            None => None,
        };
        let times = (as_time(times.0, self.left)?, as_time(times.1, self.right)?);
        Ok((times, Matching { direction, allows_equal, within_nanos }))
    }

    /// How far the times may be apart.
    fn within(
        &mut self,
        difference: SqlExpr,
        most: SqlExpr,
        times: &(Expr, Expr),
        direction: Direction,
    ) -> Result<i64> {
        let SqlExpr::BinaryOp { left, op: BinaryOperator::Minus, right } = difference else {
            return Err(wrong_match());
        };
        let later = self.context.sql_to_expr(*left, self.both)?;
        let earlier = self.context.sql_to_expr(*right, self.both)?;
        let is_right = match direction {
            Direction::Before => later == times.0 && earlier == times.1,
            Direction::After => later == times.1 && earlier == times.0,
        };
        let most = self.context.sql_to_expr(most, self.both)?;
        match most {
            Expr::Literal(value, _) if is_right => match Span::of_scalar(&value)? {
                Some(Span::Nanos(nanos)) => Ok(nanos),
                _ => Err(wrong_match()),
            },
            _ => Err(wrong_match()),
        }
    }

    /// The columns that have to be equal, brought to one type, and conditions on the right side.
    fn keys(&mut self, constraint: JoinConstraint) -> Result<(Pairs, Vec<Expr>)> {
        let condition = match constraint {
            JoinConstraint::None => return Ok((Vec::new(), Vec::new())),
            JoinConstraint::On(condition) => condition,
            JoinConstraint::Using(_) | JoinConstraint::Natural => return Err(wrong_on()),
        };
        let (mut keys, mut of_right) = (Vec::new(), Vec::new());
        for conjunct in conjuncts(condition) {
            let pair = match &conjunct {
                SqlExpr::BinaryOp { left, op: BinaryOperator::Eq, right } => {
                    self.pair((**left).clone(), (**right).clone())?
                }
                _ => None,
            };
            let Some(((left, right), _)) = pair else {
                let filter = self.context.sql_to_expr(conjunct, self.both)?;
                if !is_of(&filter, self.right) {
                    return Err(wrong_on());
                }
                of_right.push(filter);
                continue;
            };
            let types = (left.get_type(self.left)?, right.get_type(self.right)?);
            let (to_left, to_right) =
                BinaryTypeCoercer::new(&types.0, &Operator::Eq, &types.1).get_input_types()?;
            keys.push((left.cast_to(&to_left, self.left)?, right.cast_to(&to_right, self.right)?));
        }
        Ok((keys, of_right))
    }

    /// Two expressions, the left side's first; whether they stood the other way round. `None` if
    /// they are not of one side each.
    fn pair(&mut self, a: SqlExpr, b: SqlExpr) -> Result<Option<((Expr, Expr), bool)>> {
        let a = self.context.sql_to_expr(a, self.both)?;
        let b = self.context.sql_to_expr(b, self.both)?;
        if is_of(&a, self.left) && is_of(&b, self.right) {
            return Ok(Some(((a, b), false)));
        }
        if is_of(&a, self.right) && is_of(&b, self.left) {
            return Ok(Some(((b, a), true)));
        }
        Ok(None)
    }
}

/// Whether an expression is about one side alone.
fn is_of(expr: &Expr, side: &DFSchema) -> bool {
    let columns = expr.column_refs();
    !columns.is_empty() && columns.iter().all(|column| side.has_column(column))
}

/// A time in nanoseconds.
fn as_time(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    match expr.get_type(schema)? {
        DataType::Timestamp(_, zone) => {
            expr.cast_to(&DataType::Timestamp(TimeUnit::Nanosecond, zone), schema)
        }
        DataType::Date32 | DataType::Date64 => {
            expr.cast_to(&DataType::Timestamp(TimeUnit::Nanosecond, None), schema)
        }
        other => Err(Refusal::error(format!(
            "MATCH_CONDITION of an as-of join compares times, `{expr}` is {other}"
        ))),
    }
}

/// What is joined by AND, without its brackets.
fn conjuncts(condition: SqlExpr) -> Vec<SqlExpr> {
    let mut found = Vec::new();
    let mut left = vec![condition];
    while let Some(next) = left.pop() {
        match next {
            SqlExpr::Nested(inner) => left.push(*inner),
            SqlExpr::BinaryOp { left: a, op: BinaryOperator::And, right: b } => {
                left.push(*b);
                left.push(*a);
            }
            other => found.push(other),
        }
    }
    found
}
