//! From the node to the operator.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::Result;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};

use super::exec::AsOfExec;
use super::node::AsOfJoin;

/// DataFusion's planner, which knows our nodes too.
#[derive(Debug)]
pub(crate) struct AsOfQueryPlanner;

#[async_trait]
impl QueryPlanner for AsOfQueryPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner =
            DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(AsOfExtension)]);
        planner.create_physical_plan(plan, session).await
    }
}

struct AsOfExtension;

#[async_trait]
impl ExtensionPlanner for AsOfExtension {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        planning: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let (Some(join), [left, right]) = (node.as_any().downcast_ref::<AsOfJoin>(), inputs) else {
            return Ok(None);
        };
        let (of_left, of_right) = (join.left.schema(), join.right.schema());
        let both = |(a, b): &(Expr, Expr)| -> Result<_> {
            Ok((
                planner.create_physical_expr(a, of_left, session, planning)?,
                planner.create_physical_expr(b, of_right, session, planning)?,
            ))
        };
        let on = join.on.iter().map(both).collect::<Result<_>>()?;
        let times = both(&join.times)?;
        let schema = Arc::new(node.schema().as_arrow().clone());
        let exec = AsOfExec::new(left.clone(), right.clone(), on, times, join.matching, schema);
        Ok(Some(Arc::new(exec)))
    }
}
