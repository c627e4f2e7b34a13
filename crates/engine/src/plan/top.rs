//! `ORDER BY start_time LIMIT n`, `ORDER BY duration_nanos LIMIT n`: the scan is told that the first rows are enough.
//!
//! It then visits the granules that can hold them first and stops early. The sort above it stays:
//! it puts few rows in order, and is still right where the scan could not keep to it.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use crate::scan::BlockScan;
use crate::scan::leaf::Leaf;

/// The rule.
#[derive(Debug)]
pub(super) struct FirstRows;

impl PhysicalOptimizerRule for FirstRows {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|plan| match told(&plan)? {
            Some(changed) => Ok(Transformed::yes(changed)),
            None => Ok(Transformed::no(plan)),
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        "first_rows"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The sort over a scan that was told; `None` if this is no such plan.
fn told(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(None) };
    let Some(rows) = sort.fetch() else { return Ok(None) };
    let [by] = sort.expr().as_ref() else { return Ok(None) };
    let Some(column) = by.expr.downcast_ref::<Column>() else { return Ok(None) };
    let input = with_top(sort.input(), column.index(), by.options.descending, rows)?;
    input.map(|input| replace_children_if_necessary(plan.clone(), vec![input])).transpose()
}

/// The plan below a sort, of which the first rows are enough.
fn with_top(
    plan: &Arc<dyn ExecutionPlan>,
    place: usize,
    descending: bool,
    rows: usize,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<BlockScan>() {
        let told = scan.with_top(place, descending, rows);
        return Ok(told.map(|scan| Arc::new(scan) as Arc<dyn ExecutionPlan>));
    }
    if let Some(leaf) = plan.downcast_ref::<Leaf>() {
        let told = leaf.with_top(place, descending, rows);
        return Ok(told.map(|leaf| Arc::new(leaf) as Arc<dyn ExecutionPlan>));
    }
    let Some(projection) = plan.downcast_ref::<ProjectionExec>() else { return Ok(None) };
    let Some(column) = projection.expr()[place].expr.downcast_ref::<Column>() else {
        return Ok(None);
    };
    let input = with_top(projection.input(), column.index(), descending, rows)?;
    input.map(|input| replace_children_if_necessary(plan.clone(), vec![input])).transpose()
}
