//! The operator: the right side is held in memory, the left side passes.
//!
//! The right side is collected once for all partitions of the left side, by whichever asks first.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties,
};
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, StreamExt, TryFutureExt};

use super::Matching;
use super::index::{Collected, Compared, Index};
use crate::plan::visit_each;

/// An expression of each side.
type Pair = (Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>);
/// The right side, once it is there.
type Building = Shared<BoxFuture<'static, Result<Arc<Index>, Arc<DataFusionError>>>>;

/// The operator.
pub(super) struct AsOfExec {
    left: Arc<dyn ExecutionPlan>,
    right: Arc<dyn ExecutionPlan>,
    on: Vec<Pair>,
    times: Pair,
    matching: Matching,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    building: Mutex<Option<Building>>,
}

impl AsOfExec {
    pub(super) fn new(
        left: Arc<dyn ExecutionPlan>,
        right: Arc<dyn ExecutionPlan>,
        on: Vec<Pair>,
        times: Pair,
        matching: Matching,
        schema: SchemaRef,
    ) -> Self {
        let partitions = left.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::NonCooperative);
        Self {
            left,
            right,
            on,
            times,
            matching,
            schema,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            building: Mutex::default(),
        }
    }

    /// The right side, collected by the first that asks for it.
    fn building(&self, context: &Arc<TaskContext>) -> Result<Building> {
        let mut building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(building) = &*building {
            return Ok(building.clone());
        }
        let memory = MemoryConsumer::new("as-of join").register(context.memory_pool());
        let mut batches = self.right.execute(0, context.clone())?;
        let schema = self.right.schema();
        let keys: Vec<_> = self.on.iter().map(|(_, right)| right.clone()).collect();
        let time = self.times.1.clone();
        let collect = async move {
            let types: Vec<DataType> =
                keys.iter().map(|key| key.data_type(&schema)).collect::<Result<_>>()?;
            let mut collected = Collected::new(memory);
            while let Some(batch) = batches.next().await.transpose()? {
                let compared = compared(&batch, &keys, &time)?;
                collected.add(batch, compared)?;
            }
            Ok(Arc::new(collected.index(&schema, &types)?))
        };
        let shared = collect.map(|built: Result<_>| built.map_err(Arc::new)).boxed().shared();
        Ok(building.insert(shared).clone())
    }

    fn over(&self, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        let (Some(right), Some(left), true) = (children.pop(), children.pop(), children.is_empty())
        else {
            return internal_err!("an as-of join has two sides");
        };
        let (on, times) = (self.on.clone(), self.times.clone());
        Ok(Arc::new(Self::new(left, right, on, times, self.matching, self.schema.clone())))
    }
}

fn compared(
    batch: &RecordBatch,
    keys: &[Arc<dyn PhysicalExpr>],
    time: &Arc<dyn PhysicalExpr>,
) -> Result<Compared> {
    let evaluate =
        |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(batch)?.into_array(batch.num_rows());
    Ok(Compared { keys: keys.iter().map(evaluate).collect::<Result<_>>()?, times: evaluate(time)? })
}

impl fmt::Debug for AsOfExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AsOfExec")
            .field("on", &self.on)
            .field("times", &self.times)
            .field("matching", &self.matching)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for AsOfExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AsOfExec: {} {} {}", self.times.0, self.matching, self.times.1)?;
        self.on.iter().try_for_each(|(left, right)| write!(f, ", {left} = {right}"))
    }
}

impl ExecutionPlan for AsOfExec {
    fn name(&self) -> &str {
        "AsOfExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![
            Distribution::UnspecifiedDistribution,
            Distribution::SinglePartition,
        ])
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.left, &self.right]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let pairs = self.on.iter().chain([&self.times]);
        visit_each(pairs.flat_map(|(left, right)| [left, right]), visit)
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
        let building = self.building(&context)?;
        let left = self.left.execute(partition, context)?;
        let keys: Vec<_> = self.on.iter().map(|(left, _)| left.clone()).collect();
        let (time, matching, schema) = (self.times.0.clone(), self.matching, self.schema.clone());
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let joined = async move {
            let index = building.await.map_err(DataFusionError::Shared)?;
            Ok::<_, DataFusionError>(left.map(move |batch| {
                let batch = batch?;
                let of_right = index.matches(&compared(&batch, &keys, &time)?, matching)?;
                let columns = batch.columns().iter().cloned().chain(of_right).collect();
                metrics.record_output(batch.num_rows());
                let options =
                    arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
            }))
        };
        let batches = joined.try_flatten_stream();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
