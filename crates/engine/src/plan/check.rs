//! What is refused once a plan is known: what takes more than it may, whatever the data is.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, InListExpr, LikeExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;

use crate::error::Refusal;
use crate::limits::{CONSTANTS_MAX_BYTES, QUERY_MAX_SCANS};
use crate::scan::BlockScan;
use crate::scan::leaf::Leaf;

/// Checks a plan.
pub(crate) fn check(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    let mut scans = 0;
    let mut constant_bytes = 0;
    plan.apply(|node| {
        scans += usize::from(node.is::<BlockScan>() || node.is::<Leaf>());
        node.apply_expressions(&mut |expr| {
            check_patterns(expr)?;
            constant_bytes += written_bytes(expr);
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    if scans > QUERY_MAX_SCANS {
        return Err(Refusal::error(format!(
            "the query reads tables {scans} times, at most {QUERY_MAX_SCANS} times are possible"
        )));
    }
    if constant_bytes > CONSTANTS_MAX_BYTES {
        return Err(Refusal::error(format!(
            "the query adds texts of {constant_bytes} bytes to its rows, at most \
             {CONSTANTS_MAX_BYTES} are possible"
        )));
    }
    Ok(())
}

/// Refuses regular expressions that differ from row to row: each would be compiled, and kept
/// until the batch is done.
fn check_patterns(expr: &Arc<dyn PhysicalExpr>) -> Result<()> {
    expr.apply(|expr| {
        let pattern = if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            is_match(binary.op()).then(|| binary.right())
        } else {
            expr.downcast_ref::<ScalarFunctionExpr>()
                .filter(|call| call.fun().name().starts_with("regexp_"))
                .and_then(|call| call.args().get(1))
        };
        match pattern {
            Some(pattern) if pattern.downcast_ref::<Literal>().is_none() => {
                Err(Refusal::error("a regular expression has to be a constant"))
            }
            _ => Ok(TreeNodeRecursion::Continue),
        }
    })
    .map(|_| ())
}

fn is_match(op: &Operator) -> bool {
    matches!(
        op,
        Operator::RegexMatch
            | Operator::RegexIMatch
            | Operator::RegexNotMatch
            | Operator::RegexNotIMatch
    )
}

/// Bytes of the constants that are not only compared with.
fn written_bytes(expr: &Arc<dyn PhysicalExpr>) -> usize {
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        return literal.value().try_as_str().flatten().map_or(0, str::len);
    }
    let compares = expr.is::<LikeExpr>()
        || expr.is::<InListExpr>()
        || expr
            .downcast_ref::<BinaryExpr>()
            .is_some_and(|binary| binary.op().supports_propagation() || is_match(binary.op()));
    let children = expr.children().into_iter();
    children.filter(|child| !(compares && child.is::<Literal>())).map(written_bytes).sum()
}
