//! Batches from a thread that may wait to a stream of the plan, by a bounded channel.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::metrics::BaselineMetrics;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::stream;
use kymo_store::StoreError;
use tokio::sync::mpsc;

use super::reading::{Stop, Take};
use crate::answer::Held;
use crate::limits::{LARGE_BATCH_BYTES, MEMORY_WAIT, SCAN_BATCHES_WAITING};
use crate::memory::Weigher;
use crate::runtime::panic_message;
use crate::state::QueryState;
use crate::stats::Running;

/// How often a thread that waits for memory looks again.
const MEMORY_LOOK: Duration = Duration::from_millis(2);

/// What the thread hands over: batches, then `None`.
type Message = Result<Option<Held>>;

/// The end of the channel that takes.
pub(super) struct Handed {
    batches: mpsc::Receiver<Message>,
    state: Arc<QueryState>,
    metrics: BaselineMetrics,
}

impl Handed {
    /// Begins what makes batches, on a thread of its own. What that holds for a while it reserves in
    /// the memory that it is given.
    pub(super) fn begin(
        state: &Arc<QueryState>,
        memory: MemoryReservation,
        metrics: BaselineMetrics,
        make: impl FnOnce(&MemoryReservation, &mut Take<'_>) -> Result<(), Stop> + Send + 'static,
    ) -> Self {
        let (sender, batches) = mpsc::channel(SCAN_BATCHES_WAITING);
        let of_thread = state.clone();
        drop(tokio::task::spawn_blocking(move || {
            let _running = Running::new(of_thread.counters());
            let mut weigher = Weigher::default();
            let mut take = |batch: RecordBatch| {
                let memory = memory.new_empty();
                reserve(&memory, weigher.weigh(&batch), &|| sender.is_closed())?;
                sender.blocking_send(Ok(Some(Held::new(batch, memory)))).map_err(|_| Stop::Enough)
            };
            let held = memory.new_empty();
            let made = catch_unwind(AssertUnwindSafe(|| make(&held, &mut take)));
            let made = made.unwrap_or_else(|panic| {
                Err(Stop::Batch(DataFusionError::Internal(panic_message(panic))))
            });
            let end = match made {
                Ok(()) | Err(Stop::Enough) => Ok(None),
                Err(Stop::Batch(error)) => Err(error),
                // Nobody listens.
                Err(Stop::Store(StoreError::Cancelled)) => return,
                Err(Stop::Store(error)) => Err(failure(error, &of_thread)),
            };
            // If nobody listens, nobody needs to know.
            let _ = sender.blocking_send(end);
        }));
        Self { batches, state: state.clone(), metrics }
    }

    /// The batches as a stream. `kept` lives as long as that, and ends the work when it is dropped.
    pub(super) fn stream(
        self,
        schema: SchemaRef,
        kept: impl Send + 'static,
    ) -> SendableRecordBatchStream {
        let batches = stream::try_unfold((self, kept), |(mut handed, kept)| async move {
            let next = handed.next().await?;
            Ok(next.map(|batch| (batch, (handed, kept))))
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, batches))
    }

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

/// Reserves memory for a batch. For a large one it waits a while: what it waits for may be held by
/// other batches of the query, which are soon taken.
fn reserve(memory: &MemoryReservation, bytes: usize, is_enough: &dyn Fn() -> bool) -> Result<()> {
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
fn failure(error: StoreError, state: &QueryState) -> DataFusionError {
    let message = error.to_string();
    state.fail(error);
    DataFusionError::Execution(message)
}
