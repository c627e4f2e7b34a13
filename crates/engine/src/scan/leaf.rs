//! Leaves of plans that are not rows of the store as they are: what makes them reads on a thread
//! that may wait, and hands batches over by a bounded channel.
//!
//! Whoever drops the stream ends the work at its next granule.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties,
    ReplaceChildrenOptions,
};
use futures::stream;
use kymo_store::StoreError;
use tokio::sync::mpsc;

use super::reading::{Stop, Take};
use super::stream::{failure, reserve};
use crate::answer::Held;
use crate::limits::SCAN_BATCHES_WAITING;
use crate::memory::Weigher;
use crate::runtime::panic_message;
use crate::state::QueryState;
use crate::stats::Running;

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
        for test in self.work.tests() {
            if visit(test)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
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
        let cancel = Arc::default();
        let share = Share {
            batches: begin(&self.work, memory, &cancel),
            state: self.work.state().clone(),
            cancel,
            metrics: BaselineMetrics::new(&self.metrics, partition),
        };
        let batches = stream::try_unfold(share, |mut share| async move {
            Ok(share.next().await?.map(|batch| (batch, share)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.work.schema(), batches)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// What the thread hands over: batches, then `None`.
type Message = Result<Option<Held>>;

/// The one partition of a leaf.
struct Share {
    batches: mpsc::Receiver<Message>,
    state: Arc<QueryState>,
    cancel: Arc<AtomicBool>,
    metrics: BaselineMetrics,
}

impl Share {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let held = match self.batches.recv().await.transpose()? {
            Some(Some(held)) => held,
            Some(None) => return Ok(None),
            // The thread is gone and has not said that it is done: the engine is shut down.
            None => return Err(failure(StoreError::Cancelled, &self.state)),
        };
        let batch = held.take();
        self.metrics.record_output(batch.num_rows());
        Ok(Some(batch))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

fn begin(
    work: &Arc<dyn LeafWork>,
    memory: MemoryReservation,
    cancel: &Arc<AtomicBool>,
) -> mpsc::Receiver<Message> {
    let (sender, batches) = mpsc::channel(SCAN_BATCHES_WAITING);
    let (work, cancel) = (work.clone(), cancel.clone());
    drop(tokio::task::spawn_blocking(move || {
        let _running = Running::new(work.state().counters());
        let mut weigher = Weigher::default();
        let mut take = |batch: RecordBatch| {
            let memory = memory.new_empty();
            reserve(&memory, weigher.weigh(&batch), &|| sender.is_closed())?;
            sender.blocking_send(Ok(Some(Held::new(batch, memory)))).map_err(|_| Stop::Enough)
        };
        let held = memory.new_empty();
        let ran = AssertUnwindSafe(|| work.run(&cancel, &held, &mut take));
        let ended = catch_unwind(ran).unwrap_or_else(|panic| {
            Err(Stop::Batch(DataFusionError::Internal(panic_message(panic))))
        });
        let end = match ended {
            Ok(()) | Err(Stop::Enough) => Ok(None),
            Err(Stop::Batch(error)) => Err(error),
            // Nobody listens.
            Err(Stop::Store(StoreError::Cancelled)) => return,
            Err(Stop::Store(error)) => Err(failure(error, work.state())),
        };
        // If nobody listens, nobody needs to know.
        let _ = sender.blocking_send(end);
    }));
    batches
}
