//! Joins give way now and then, and end when they are to.
//!
//! What reads its rows from elsewhere waits for them now and then, and is cancelled there. A join
//! of few rows with many makes batch after batch from what it has: in a cross join of a table with
//! itself, minutes of them. So joins are wrapped in the operator that makes a stream give way.
//!
//! That one looks at the batches that come out. A join that finds few rows computes for as long
//! without any. So the condition of a join, which is computed for each batch of pairs, looks at
//! the query's clock; and joins that need not find all pairs have a condition for just that.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, FieldRef, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, Result, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::lit;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, NestedLoopJoinExecBuilder, SortMergeJoinExec,
};
use datafusion::physical_plan::unnest::UnnestExec;

use crate::state::QueryState;

/// The rule.
#[derive(Debug)]
pub(super) struct JoinsYield;

impl PhysicalOptimizerRule for JoinsYield {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| match multiplies(&plan) {
            true => Ok(Transformed::yes(Arc::new(CooperativeExec::new(plan)))),
            false => Ok(Transformed::no(plan)),
        })
        .map(|transformed| transformed.data)
    }

    fn name(&self) -> &str {
        "joins_yield"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether an operator can make many rows of few.
fn multiplies(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<CrossJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<HashJoinExec>()
        || plan.is::<SortMergeJoinExec>()
        || plan.is::<UnnestExec>()
}

/// The plan of a query whose joins look at its clock.
pub(crate) fn watched(
    plan: Arc<dyn ExecutionPlan>,
    state: &Arc<QueryState>,
) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| {
        if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
            let Some(filter) = watching(join.filter(), *join.join_type(), state) else {
                return Ok(Transformed::no(plan));
            };
            return Ok(Transformed::yes(join.builder().with_filter(Some(filter)).build_exec()?));
        }
        if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
            let Some(filter) = watching(join.filter(), *join.join_type(), state) else {
                return Ok(Transformed::no(plan));
            };
            let join = NestedLoopJoinExecBuilder::from(join).with_filter(Some(filter)).build()?;
            return Ok(Transformed::yes(Arc::new(join)));
        }
        Ok(Transformed::no(plan))
    })
    .map(|transformed| transformed.data)
}

/// The condition of a join, looking at the clock; `None` if its rows come out as it finds them.
fn watching(
    filter: Option<&JoinFilter>,
    join_type: JoinType,
    state: &Arc<QueryState>,
) -> Option<JoinFilter> {
    let finds_all_pairs =
        matches!(join_type, JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full);
    let watched = |inner: Arc<dyn PhysicalExpr>| Arc::new(Watched { inner, state: state.clone() });
    match filter {
        Some(filter) => Some(JoinFilter::new(
            watched(filter.expression().clone()),
            filter.column_indices().to_vec(),
            filter.schema().clone(),
        )),
        None if finds_all_pairs => None,
        None => Some(JoinFilter::new(watched(lit(true)), Vec::new(), Arc::new(Schema::empty()))),
    }
}

/// An expression that fails when its query is to end.
#[derive(Debug)]
struct Watched {
    inner: Arc<dyn PhysicalExpr>,
    state: Arc<QueryState>,
}

impl PhysicalExpr for Watched {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.inner.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.inner.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.inner.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.state.check()?;
        self.inner.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.inner]
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match (children.pop(), children.is_empty()) {
            (Some(inner), true) => Ok(Arc::new(Self { inner, state: self.state.clone() })),
            _ => internal_err!("one expression is watched"),
        }
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt_sql(f)
    }
}

impl fmt::Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl PartialEq for Watched {
    fn eq(&self, other: &Self) -> bool {
        self.inner.eq(&other.inner)
    }
}

impl Eq for Watched {}

impl Hash for Watched {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.inner.hash(hasher);
    }
}
