//! Batches of the store's scan as partitions of the plan.
//!
//! Each partition has a thread that takes granules from what is left to do and hands batches over
//! by a bounded channel. When the last partition is dropped, the scan ends at its next granule.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::EmptyRecordBatchStream;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, Gauge, MetricBuilder, MetricValue,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use kymo_store::StoreError;
use kymo_store::scan::ScanStats;
use tokio::sync::mpsc;

use super::ScanPlan;
use super::reading::{SharedScan, Stop};
use crate::answer::Held;
use crate::limits::{LARGE_BATCH_BYTES, MEMORY_WAIT, SCAN_BATCHES_WAITING};
use crate::memory::Weigher;
use crate::state::QueryState;

/// How often a scan that waits for memory looks again.
const MEMORY_LOOK: Duration = Duration::from_millis(2);

/// A scan that was begun.
#[derive(Debug)]
pub(super) struct Started {
    /// Whose stream was handed out already.
    taken: Vec<bool>,
    /// Gone when all partitions are.
    feed: Option<Weak<Feed>>,
}

/// What the partitions of a scan share.
#[derive(Debug)]
struct Feed {
    scan: Arc<SharedScan>,
    cancel: Arc<AtomicBool>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

impl Started {
    pub(super) fn new(partitions: usize) -> Self {
        Self { taken: vec![false; partitions], feed: None }
    }

    pub(super) fn was_taken(&self, partition: usize) -> bool {
        self.taken[partition]
    }

    /// The stream of a partition.
    pub(super) fn stream(
        &mut self,
        partition: usize,
        plan: &Arc<ScanPlan>,
        schema: &SchemaRef,
        metrics: &ExecutionPlanMetricsSet,
        context: &TaskContext,
    ) -> SendableRecordBatchStream {
        self.taken[partition] = true;
        let feed = match &self.feed {
            None => {
                let cancel = Arc::default();
                let scan = Arc::new(SharedScan::new(plan, &cancel));
                let feed = Arc::new(Feed { scan, cancel });
                self.feed = Some(Arc::downgrade(&feed));
                feed
            }
            Some(feed) => match feed.upgrade() {
                Some(feed) => feed,
                // The others took everything, or wanted no more.
                None => return Box::pin(EmptyRecordBatchStream::new(schema.clone())),
            },
        };
        let memory = MemoryConsumer::new("scan").register(context.memory_pool());
        let share = Share {
            batches: begin(&feed.scan, memory, Counts::new(metrics)),
            state: plan.state.clone(),
            _feed: feed,
            metrics: BaselineMetrics::new(metrics, partition),
        };
        let batches = stream::try_unfold(share, |mut share| async move {
            let next = share.next().await?;
            Ok(next.map(|batch| (batch, share)))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema.clone(), batches))
    }
}

/// A partition of the plan.
struct Share {
    batches: mpsc::Receiver<Message>,
    state: Arc<QueryState>,
    /// When the last share lets go of it, the scan ends.
    _feed: Arc<Feed>,
    metrics: BaselineMetrics,
}

impl Share {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let held = match self.batches.recv().await.transpose()? {
            Some(Some(held)) => held,
            Some(None) => return Ok(None),
            // The thread is gone and has not said that it is done: the engine is shut down.
            None => {
                self.state.fail(StoreError::Cancelled);
                return Err(DataFusionError::Execution("a scan was ended".to_owned()));
            }
        };
        let batch = held.take();
        self.metrics.record_output(batch.num_rows());
        Ok(Some(batch))
    }
}

/// What a thread of a scan hands over: batches, then `None`.
type Message = Result<Option<Held>>;

/// Begins a share of a scan on a thread of its own.
fn begin(
    scan: &Arc<SharedScan>,
    memory: MemoryReservation,
    counts: Counts,
) -> mpsc::Receiver<Message> {
    let (sender, batches) = mpsc::channel(SCAN_BATCHES_WAITING);
    let scan = scan.clone();
    drop(tokio::task::spawn_blocking(move || {
        let mut weigher = Weigher::default();
        let ended = scan.run(&memory.new_empty(), &mut |batch| {
            let memory = memory.new_empty();
            reserve(&memory, weigher.weigh(&batch), &|| sender.is_closed())?;
            sender.blocking_send(Ok(Some(Held::new(batch, memory)))).map_err(|_| Stop::Enough)
        });
        let end = match ended {
            Ok(stats) => {
                counts.set(&stats);
                Ok(None)
            }
            Err(Stop::Enough) => Ok(None),
            Err(Stop::Batch(error)) => Err(error),
            // Nobody listens.
            Err(Stop::Store(StoreError::Cancelled)) => return,
            Err(Stop::Store(error)) => Err(failure(error, &scan.plan().state)),
        };
        // If nobody listens, nobody needs to know.
        let _ = sender.blocking_send(end);
    }));
    batches
}

/// Reserves memory for a batch. For a large one it waits a while: what it waits for may be held by
/// other batches of the query, which are soon taken.
pub(super) fn reserve(
    memory: &MemoryReservation,
    bytes: usize,
    is_enough: &dyn Fn() -> bool,
) -> Result<()> {
    let begun = Instant::now();
    loop {
        let reserved = memory.try_grow(bytes);
        let waits = bytes >= LARGE_BATCH_BYTES && begun.elapsed() < MEMORY_WAIT && !is_enough();
        if reserved.is_ok() || !waits {
            return reserved;
        }
        std::thread::sleep(MEMORY_LOOK);
    }
}

/// The error for DataFusion; the store's own is kept aside, for on the way it may lose its type.
pub(super) fn failure(error: StoreError, state: &QueryState) -> DataFusionError {
    let message = error.to_string();
    state.fail(error);
    DataFusionError::Execution(message)
}

/// What a scan did, for `EXPLAIN ANALYZE`. Shares overwrite each other: what the last one knows
/// is the whole.
struct Counts([(Gauge, CountOf); 7]);

/// One of the numbers of a scan.
type CountOf = fn(&ScanStats) -> usize;

impl Counts {
    fn new(metrics: &ExecutionPlanMetricsSet) -> Self {
        let values: [(&'static str, CountOf); 7] = [
            ("rows_scanned", |stats| stats.rows_scanned),
            ("granules_read", |stats| stats.granules_read),
            ("granules_pruned", |stats| stats.granules_pruned),
            ("blocks_pruned", |stats| stats.blocks_pruned),
            ("pages_read", |stats| stats.pages_read),
            ("cache_hits", |stats| stats.cache_hits),
            ("cache_misses", |stats| stats.cache_misses),
        ];
        let known = metrics.clone_inner();
        Self(values.map(|(name, value)| {
            let gauge = known.iter().find_map(|metric| match metric.value() {
                MetricValue::Gauge { name: found, gauge } if found == name => Some(gauge.clone()),
                _ => None,
            });
            let gauge = gauge.unwrap_or_else(|| MetricBuilder::new(metrics).global_gauge(name));
            (gauge, value)
        }))
    }

    fn set(&self, stats: &ScanStats) {
        for (gauge, value) in &self.0 {
            gauge.set_max(value(stats));
        }
    }
}
