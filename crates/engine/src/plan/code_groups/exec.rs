//! The operator: the first step of an aggregate, partition by partition.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, stream};

use super::groups::Groups;
use crate::limits::{BATCH_ROWS, CODE_GROUPS_MAX};
use crate::plan::visit_each;

/// Groups rows by codes and aggregates each group, to be joined by a second step.
#[derive(Debug, Clone)]
pub(super) struct CodeGroups {
    input: Arc<dyn ExecutionPlan>,
    grouping: Arc<Grouping>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

#[derive(Debug)]
struct Grouping {
    by: Vec<(Arc<dyn PhysicalExpr>, String)>,
    aggregates: Vec<Arc<AggregateFunctionExpr>>,
    filters: Vec<Option<Arc<dyn PhysicalExpr>>>,
    schema: SchemaRef,
}

impl CodeGroups {
    /// Instead of that first step.
    pub(super) fn new(aggregate: &AggregateExec) -> Self {
        let grouping = Grouping {
            by: aggregate.group_expr().expr().to_vec(),
            aggregates: aggregate.aggr_expr().to_vec(),
            filters: aggregate.filter_expr().to_vec(),
            schema: aggregate.schema(),
        };
        Self {
            input: aggregate.input().clone(),
            grouping: Arc::new(grouping),
            properties: aggregate.properties().clone(),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn over(&self, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next();
        let input = input.ok_or_else(|| internal_datafusion_err!("grouping has one input"))?;
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Arc::new(Self { input, metrics, ..self.clone() }))
    }
}

impl DisplayAs for CodeGroups {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by: Vec<&str> = self.grouping.by.iter().map(|(_, name)| name.as_str()).collect();
        let aggregates: Vec<&str> = self.grouping.aggregates.iter().map(|a| a.name()).collect();
        write!(f, "CodeGroups: by=[{}], aggregates=[{}]", by.join(", "), aggregates.join(", "))
    }
}

impl ExecutionPlan for CodeGroups {
    fn name(&self) -> &str {
        "CodeGroups"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let by = self.grouping.by.iter().map(|(expr, _)| expr);
        let filters = self.grouping.filters.iter().flatten();
        visit_each(by.chain(filters), visit)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.over(children)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, context.clone())?;
        let memory = MemoryConsumer::new("grouping").register(context.memory_pool());
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let working =
            Working { grouping: self.grouping.clone(), input, memory, metrics, state: None };
        let batches = stream::try_unfold(working, |mut working| async move {
            let next = working.next().await?;
            Ok(next.map(|batches| (batches, working)))
        });
        let batches = batches.flat_map(|found| match found {
            Ok(batches) => stream::iter(batches.into_iter().map(Ok).collect::<Vec<_>>()),
            Err(error) => stream::iter(vec![Err(error)]),
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.grouping.schema.clone(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// A partition at work.
struct Working {
    grouping: Arc<Grouping>,
    input: SendableRecordBatchStream,
    memory: MemoryReservation,
    metrics: BaselineMetrics,
    state: Option<State>,
}

/// Groups and their aggregates so far.
struct State {
    groups: Groups,
    accumulators: Vec<Box<dyn GroupsAccumulator>>,
    of_rows: Vec<usize>,
}

impl Working {
    /// What was grouped until there was no more input, or until it became too much to hold: the
    /// second step joins groups that come more than once.
    async fn next(&mut self) -> Result<Option<Vec<RecordBatch>>> {
        while let Some(batch) = self.input.next().await.transpose()? {
            let timer = self.metrics.elapsed_compute().clone();
            let _timer = timer.timer();
            let mut state = match self.state.take() {
                Some(state) => state,
                None => State::new(&self.grouping, &self.input.schema())?,
            };
            state.add(&self.grouping, &batch)?;
            let is_full = state.groups.len() > CODE_GROUPS_MAX
                || self.memory.try_resize(state.size()).is_err();
            self.state = Some(state);
            if is_full {
                return self.finish();
            }
        }
        self.finish()
    }

    fn finish(&mut self) -> Result<Option<Vec<RecordBatch>>> {
        let Some(state) = self.state.take() else { return Ok(None) };
        let batch = state.finish(&self.grouping.schema)?;
        self.memory.free();
        let rows = batch.num_rows();
        self.metrics.record_output(rows);
        let parts = (0..rows).step_by(BATCH_ROWS);
        let part = |from: usize| batch.slice(from, BATCH_ROWS.min(rows - from));
        Ok(Some(parts.map(part).collect()))
    }
}

impl State {
    fn new(grouping: &Grouping, input: &SchemaRef) -> Result<Self> {
        let types = grouping.by.iter().map(|(expr, _)| expr.data_type(input));
        let types = types.collect::<Result<Vec<DataType>>>()?;
        let groups = Groups::new(&types)
            .ok_or_else(|| internal_datafusion_err!("grouping by code of {types:?}"))?;
        let accumulators = grouping.aggregates.iter().map(|a| a.create_groups_accumulator());
        let accumulators = accumulators.collect::<Result<Vec<_>>>()?;
        Ok(Self { groups, accumulators, of_rows: Vec::new() })
    }

    fn add(&mut self, grouping: &Grouping, batch: &RecordBatch) -> Result<()> {
        let value_of = |expr: &Arc<dyn PhysicalExpr>| -> Result<ArrayRef> {
            expr.evaluate(batch)?.into_array(batch.num_rows())
        };
        let keys = grouping.by.iter().map(|(expr, _)| value_of(expr));
        self.groups.of_rows(&keys.collect::<Result<Vec<_>>>()?, &mut self.of_rows)?;
        let aggregates = grouping.aggregates.iter().zip(&grouping.filters);
        for ((aggregate, filter), accumulator) in aggregates.zip(&mut self.accumulators) {
            let values =
                aggregate.expressions().iter().map(value_of).collect::<Result<Vec<_>>>()?;
            let passing: Option<BooleanArray> = match filter {
                Some(filter) => Some(as_boolean_array(&value_of(filter)?)?.clone()),
                None => None,
            };
            accumulator.update_batch(
                &values,
                &self.of_rows,
                passing.as_ref(),
                self.groups.len(),
            )?;
        }
        Ok(())
    }

    fn size(&self) -> usize {
        let accumulators: usize = self.accumulators.iter().map(|a| a.size()).sum();
        self.groups.size() + accumulators + self.of_rows.capacity() * size_of::<usize>()
    }

    /// The groups, each with the state of its aggregates.
    fn finish(mut self, schema: &SchemaRef) -> Result<RecordBatch> {
        let mut columns = self.groups.values()?;
        for accumulator in &mut self.accumulators {
            columns.extend(accumulator.state(EmitTo::All)?);
        }
        Ok(RecordBatch::try_new(schema.clone(), columns)?)
    }
}
