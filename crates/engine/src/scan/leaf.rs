//! Leaves of plans that are not rows of the store as they are: what makes them reads on a thread
//! that may wait.
//!
//! Whoever drops the stream ends the work at its next granule.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
};

use super::handing::Handed;
use super::reading::{Stop, Take};
use crate::plan::visit_each;
use crate::state::QueryState;

/// What a leaf does.
pub(crate) trait LeafWork: fmt::Debug + fmt::Display + Send + Sync + Any {
    /// The name of the operator.
    fn name(&self) -> &'static str;

    /// The schema of the batches.
    fn schema(&self) -> SchemaRef;

    /// The query that it is done for.
    fn state(&self) -> &Arc<QueryState>;

    /// Makes the batches. `cancel` is set when nobody wants more; what is held for a while is
    /// reserved in `memory`.
    fn run(
        &self,
        cancel: &Arc<AtomicBool>,
        memory: &MemoryReservation,
        take: &mut Take<'_>,
    ) -> Result<(), Stop>;

    /// Expressions that are tested.
    fn tests(&self) -> &[Arc<dyn PhysicalExpr>] {
        &[]
    }

    /// The same, of which the first rows by the column at `place` are enough; `None` if that is
    /// nothing that it can make use of.
    fn with_top(&self, place: usize, descending: bool, rows: usize) -> Option<Arc<dyn LeafWork>> {
        let _ = (place, descending, rows);
        None
    }
}

/// The operator.
#[derive(Debug)]
pub(crate) struct Leaf {
    work: Arc<dyn LeafWork>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl Leaf {
    pub(crate) fn new(work: Arc<dyn LeafWork>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(work.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Self { work, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The same, of which the first rows by a column are enough; `None` if that helps nothing.
    pub(crate) fn with_top(&self, place: usize, descending: bool, rows: usize) -> Option<Self> {
        self.work.with_top(place, descending, rows).map(Self::new)
    }
}

impl DisplayAs for Leaf {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.work.name(), self.work)
    }
}

impl ExecutionPlan for Leaf {
    fn name(&self) -> &str {
        self.work.name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        visit_each(self.work.tests(), visit)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        if partition > 0 {
            return internal_err!("{} has one partition, not {partition}", self.work.name());
        }
        let memory = MemoryConsumer::new(self.work.name()).register(context.memory_pool());
        let ended = Ended::default();
        let (work, cancel) = (self.work.clone(), ended.0.clone());
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let handed = Handed::begin(self.work.state(), memory, metrics, move |memory, take| {
            work.run(&cancel, memory, take)
        });
        Ok(handed.stream(self.work.schema(), ended))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Ends the work when it is dropped.
#[derive(Default)]
struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
