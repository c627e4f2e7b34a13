//! `BlockScan`: the leaf of every plan, rows of a snapshot as a stream of batches.
//!
//! ```text
//!  filters ──> translate ──> time range, predicate ──> store's scan (its own threads)
//!                  └──> what is left ──────────────┐        │ batches, bounded
//!                                                  └──> partitions of the plan: test, project
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`translate`], `operands`, `pattern` | filters of SQL to predicates of the store |
//! | [`reading`] | the store's scan on a thread that may wait |
//! | `stream`, `handing` | its batches as partitions of the plan |
//! | `convert` | batches to the types that the plan was made with |
//! | [`leaf`] | leaves that are made of what scans read |
//! | `display` | how `EXPLAIN` shows it |

pub(crate) mod convert;
mod display;
mod handing;
pub(crate) mod leaf;
mod operands;
mod pattern;
pub(crate) mod reading;
mod stream;
pub(crate) mod translate;

use std::sync::{Arc, Mutex, PoisonError};

use arrow_schema::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, CardinalityEffect, EmissionType, SchedulingType,
};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PlanProperties};
use kymo_store::scan::{ColumnRef, Order};
use kymo_store::snapshot::Snapshot;

use crate::limits::TOP_MAX_ROWS;
use crate::plan::visit_each;
use crate::state::{QueryState, Reading};
use crate::tables::{Column, METRIC_PARTS, TableShape, duration_column, time_column};
use stream::Started;
use translate::Pushed;

/// Filters that the store does not test, for its batches.
#[derive(Debug, Clone, Default)]
pub(crate) struct Residual {
    pub(crate) tests: Vec<Arc<dyn PhysicalExpr>>,
    /// Columns that the plan asked for; those behind are for the tests.
    pub(crate) columns_out: usize,
}

/// The first rows by time are enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Top {
    pub(crate) order: Order,
    pub(crate) rows: usize,
}

/// Rows of a snapshot.
#[derive(Debug)]
pub(crate) struct BlockScan {
    plan: Arc<ScanPlan>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    started: Mutex<Option<Started>>,
}

/// What a scan is to do.
#[derive(Debug, Clone)]
pub(crate) struct ScanPlan {
    pub(crate) shape: Arc<TableShape>,
    pub(crate) snapshot: Arc<Snapshot>,
    /// Columns to read, by place in the table.
    pub(crate) read: Vec<usize>,
    /// Their names and types.
    pub(crate) read_schema: SchemaRef,
    pub(crate) pushed: Pushed,
    pub(crate) residual: Residual,
    pub(crate) limit: Option<usize>,
    pub(crate) top: Option<Top>,
    pub(crate) reading: Reading,
    pub(crate) state: Arc<QueryState>,
}

impl ScanPlan {
    /// Columns that the store reads: those that are stored as they are, then what a metric's name
    /// is made of.
    pub(crate) fn store_columns(&self) -> Vec<ColumnRef> {
        let read = || self.read.iter().map(|place| &self.shape.columns[*place]);
        let mut columns: Vec<ColumnRef> = read().filter_map(Column::stored).cloned().collect();
        if read().any(|column| *column == Column::Metric) {
            columns.extend(METRIC_PARTS.map(ColumnRef::Field));
        }
        columns
    }
}

impl BlockScan {
    #[allow(clippy::too_many_arguments, reason = "what a scan is, once, from the table")]
    pub(crate) fn new(
        shape: Arc<TableShape>,
        snapshot: Arc<Snapshot>,
        read: Vec<usize>,
        pushed: Pushed,
        residual: Residual,
        limit: Option<usize>,
        reading: Reading,
        state: Arc<QueryState>,
    ) -> Result<Self> {
        let read_schema = Arc::new(shape.schema.project(&read)?);
        Self::with_plan(ScanPlan {
            shape,
            snapshot,
            read,
            read_schema,
            pushed,
            residual,
            limit,
            top: None,
            reading,
            state,
        })
    }

    fn with_plan(plan: ScanPlan) -> Result<Self> {
        let asked: Vec<usize> = (0..plan.residual.columns_out).collect();
        let schema = Arc::new(plan.read_schema.project(&asked)?);
        let partitions = if plan.top.is_some() { 1 } else { plan.reading.threads.max(1) };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        )
        .with_scheduling_type(SchedulingType::Cooperative);
        Ok(Self {
            plan: Arc::new(plan),
            schema,
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            started: Mutex::default(),
        })
    }

    pub(crate) fn plan(&self) -> &ScanPlan {
        &self.plan
    }

    /// The same scan, of which the first rows by the column at `place` are enough; `None` if that
    /// is neither the table's time nor its duration, or if they are too many.
    pub(crate) fn with_top(&self, place: usize, descending: bool, rows: usize) -> Option<Self> {
        let table = self.plan.shape.name;
        let column = self.plan.read.get(place).map(|read| &self.plan.shape.columns[*read])?;
        let is_ordered = table.elements().is_none();
        if !is_ordered || rows > TOP_MAX_ROWS || self.plan.limit.is_some() {
            return None;
        }
        let stored = column.stored()?;
        let order = if Some(stored) == time_column(table).as_ref() {
            if descending { Order::NewestFirst } else { Order::OldestFirst }
        } else if Some(stored) == duration_column(table).as_ref() {
            if descending { Order::LongestFirst } else { Order::ShortestFirst }
        } else {
            return None;
        };
        let plan = ScanPlan { top: Some(Top { order, rows }), ..ScanPlan::clone(&self.plan) };
        Self::with_plan(plan).ok()
    }
}

impl ExecutionPlan for BlockScan {
    fn name(&self) -> &str {
        "BlockScan"
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
        visit_each(&self.plan.residual.tests, visit)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    /// A scan that has not run yet.
    fn reset_state(self: Arc<Self>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self::with_plan(ScanPlan::clone(&self.plan))?))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let partitions = self.properties.partitioning.partition_count();
        if partition >= partitions {
            return internal_err!("a scan of {partitions} partitions has no {partition}");
        }
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let started = match &mut *started {
            Some(started) if !started.was_taken(partition) => started,
            slot => slot.insert(Started::new(partitions)),
        };
        Ok(started.stream(partition, &self.plan, &self.schema, &self.metrics, &context))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn fetch(&self) -> Option<usize> {
        self.plan.limit
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        if self.plan.top.is_some() {
            return None;
        }
        let plan = ScanPlan { limit, ..ScanPlan::clone(&self.plan) };
        Some(Arc::new(Self::with_plan(plan).ok()?))
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::LowerEqual
    }
}
