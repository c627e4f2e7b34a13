//! Grouping by codes: `GROUP BY "resource.service.name"` without touching the texts row by row.
//!
//! Scans hand out texts as codes into a dictionary that all batches of a block share. DataFusion's
//! own grouping makes a byte string of every row and hashes it; here each entry of a dictionary is
//! looked up once, and rows are grouped by their codes. The aggregates are DataFusion's own, and
//! so is the second step, which joins what the partitions found.
//!
//! | module | what it holds |
//! |---|---|
//! | `keys` | values of a grouping column to numbers |
//! | `groups` | numbers of several columns to groups |
//! | `exec` | the operator |

mod exec;
mod groups;
mod keys;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};

use crate::tables::is_text;
use exec::CodeGroups;
use keys::KeyColumn;

/// The rule.
#[derive(Debug)]
pub(super) struct GroupByCode;

impl PhysicalOptimizerRule for GroupByCode {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| match by_code(&plan)? {
            Some(changed) => Ok(Transformed::yes(changed)),
            None => Ok(Transformed::no(plan)),
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        "group_by_code"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The first step of an aggregate, by code; `None` if that is not possible, or not better.
fn by_code(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else { return Ok(None) };
    let groups = aggregate.group_expr();
    let is_plain = *aggregate.mode() == AggregateMode::Partial
        && groups.is_single()
        && !groups.is_empty()
        && aggregate.limit_options().is_none();
    if !is_plain {
        return Ok(None);
    }
    let schema = aggregate.input().schema();
    let mut has_text = false;
    for (expr, _) in groups.expr() {
        let data_type = expr.data_type(&schema)?;
        if KeyColumn::new(&data_type).is_none() {
            return Ok(None);
        }
        has_text |= is_text(&data_type);
    }
    let is_known =
        |aggregate: &Arc<datafusion::physical_expr::aggregate::AggregateFunctionExpr>| {
            aggregate.groups_accumulator_supported() && aggregate.order_bys().is_empty()
        };
    // Numbers alone are grouped well by DataFusion itself.
    if !has_text || !aggregate.aggr_expr().iter().all(is_known) {
        return Ok(None);
    }
    Ok(Some(Arc::new(CodeGroups::new(aggregate))))
}
