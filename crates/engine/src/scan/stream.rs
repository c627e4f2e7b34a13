//! Batches of the store's scan as partitions of the plan.
//!
//! Each partition has a thread that takes granules from what is left to do. When the last partition
//! is dropped, the scan ends at its next granule.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use arrow_schema::SchemaRef;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::EmptyRecordBatchStream;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, Gauge, MetricBuilder, MetricValue,
};
use kymo_store::scan::ScanStats;

use super::ScanPlan;
use super::handing::Handed;
use super::reading::SharedScan;

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
        let (scan, counts) = (feed.scan.clone(), Counts::new(metrics));
        let metrics = BaselineMetrics::new(metrics, partition);
        let handed = Handed::begin(&plan.state, memory, metrics, move |memory, take| {
            counts.set(&scan.run(memory, take)?);
            Ok(())
        });
        // When the last partition lets go of the feed, the scan ends.
        handed.stream(schema.clone(), feed)
    }
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
