//! Ids are bytes and are compared with hex text: `trace_id = '5b8efff798038103d269b633813fc60c'`.
//!
//! Text that stands beside an id is turned into bytes before DataFusion looks for a common type of
//! the two, at the two places where it does: comparisons when they are planned, lists and ranges
//! when the plan is analysed.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::error::Refusal;

/// Turns hex text into ids.
#[derive(Debug)]
pub(crate) struct HexIds;

impl ExprPlanner for HexIds {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let is_comparison = matches!(
            expr.op,
            BinaryOperator::Eq
                | BinaryOperator::NotEq
                | BinaryOperator::Lt
                | BinaryOperator::LtEq
                | BinaryOperator::Gt
                | BinaryOperator::GtEq
                | BinaryOperator::Spaceship
        );
        if is_comparison {
            if let Some(width) = id_width(&expr.left, schema) {
                to_id(&mut expr.right, &expr.left, width)?;
            } else if let Some(width) = id_width(&expr.right, schema) {
                to_id(&mut expr.left, &expr.right, width)?;
            }
        }
        Ok(PlannerResult::Original(expr))
    }
}

impl AnalyzerRule for HexIds {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let mut schema = merge_schema(&plan.inputs());
            if let LogicalPlan::TableScan(scan) = &plan {
                schema.merge(&scan.projected_schema);
            }
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                let rewritten = expr.transform_up(|expr| rewrite(expr, &schema))?;
                Ok(rewritten.update_data(|expr| name.restore(expr)))
            })
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        "hex_ids"
    }
}

fn rewrite(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    match expr {
        Expr::InList(InList { expr, mut list, negated }) => {
            let width = id_width(&expr, schema);
            let mut changed = false;
            for value in &mut list {
                if let Some(width) = width {
                    changed |= to_id(value, &expr, width)?;
                }
            }
            let rewritten = Expr::InList(InList { expr, list, negated });
            Ok(Transformed::new_transformed(rewritten, changed))
        }
        Expr::Between(mut between) => {
            let changed = match id_width(&between.expr, schema) {
                Some(width) => {
                    let Between { expr, low, high, .. } = &mut between;
                    to_id(low, expr, width)? | to_id(high, expr, width)?
                }
                None => false,
            };
            Ok(Transformed::new_transformed(Expr::Between(between), changed))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// The bytes of an id; `None` if it is something else, or a constant already.
fn id_width(expr: &Expr, schema: &DFSchema) -> Option<i32> {
    match expr.get_type(schema) {
        Ok(DataType::FixedSizeBinary(width)) if !matches!(expr, Expr::Literal(..)) => Some(width),
        _ => None,
    }
}

/// Turns text into the bytes of an id; says whether it was text.
fn to_id(value: &mut Expr, id: &Expr, width: i32) -> Result<bool> {
    let Expr::Literal(scalar, _) = value else { return Ok(false) };
    let text = match scalar {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => {
            text.as_deref()
        }
        _ => return Ok(false),
    };
    let bytes = match text {
        None => None,
        Some(text) => Some(bytes_of(text, width as usize).ok_or_else(|| {
            let digits = width * 2;
            Refusal::error(format!(
                "`{text}` cannot be compared with {id}: an id has {digits} hex digits"
            ))
        })?),
    };
    *value = Expr::Literal(ScalarValue::FixedSizeBinary(width, bytes), None);
    Ok(true)
}

/// The bytes that `width * 2` hex digits stand for.
pub(crate) fn bytes_of(text: &str, width: usize) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
    let digits = digits.filter(|digits| digits.len() == width * 2)?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_digits_become_bytes_in_either_case_and_nothing_else_does() {
        assert_eq!(bytes_of("00fF", 2), Some(vec![0, 255]));
        for wrong in ["", "0", "00f", "00fff", "00fg", "00é0", " 00f", "+0ff"] {
            assert_eq!(bytes_of(wrong, 2), None, "{wrong}");
        }
    }
}
