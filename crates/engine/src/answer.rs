//! Handing an answer over: batch by batch, to someone who may be slow.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use tokio::sync::mpsc::Sender;

use crate::clock::Clock;
use crate::error::EngineError;
use crate::limits::{ANSWER_BATCHES_WAITING, LARGE_BATCH_BYTES};
use crate::memory::{QueryMemory, Weigher};
use crate::query::Message;

/// A batch and the memory that is reserved for it while it waits.
#[derive(Debug)]
pub(crate) struct Held {
    batch: RecordBatch,
    /// Given back when the batch is taken.
    _memory: MemoryReservation,
}

impl Held {
    pub(crate) fn new(batch: RecordBatch, memory: MemoryReservation) -> Self {
        Self { batch, _memory: memory }
    }

    pub(crate) fn take(self) -> RecordBatch {
        self.batch
    }
}

/// How long a query may still wait for whoever reads its answer. It does not count as running, but
/// has the same limit, for the whole answer: whoever waits keeps a turn.
pub(crate) struct Patience<'a> {
    clock: &'a Clock,
    left: Duration,
}

impl<'a> Patience<'a> {
    pub(crate) fn new(clock: &'a Clock, most: Duration) -> Self {
        Self { clock, left: most }
    }

    /// Waits for room, but not for ever.
    pub(crate) async fn wait<T>(&mut self, room: impl Future<Output = T>) -> Option<T> {
        let begun = Instant::now();
        self.clock.extend(self.left);
        let room = tokio::time::timeout(self.left, room).await;
        let left = self.left.saturating_sub(begun.elapsed());
        self.clock.shorten(left);
        self.left = left;
        room.ok()
    }
}

/// An answer on its way.
pub(crate) struct Answer<'a> {
    sender: &'a Sender<Message>,
    patience: Patience<'a>,
    weigher: Weigher,
}

impl<'a> Answer<'a> {
    pub(crate) fn new(sender: &'a Sender<Message>, clock: &'a Clock, wait_most: Duration) -> Self {
        Self { sender, patience: Patience::new(clock, wait_most), weigher: Weigher::default() }
    }

    /// Hands a batch over, once there is room for it.
    pub(crate) async fn send(
        &mut self,
        batch: RecordBatch,
        memory: &Arc<QueryMemory>,
    ) -> Result<(), EngineError> {
        let bytes = self.weigher.weigh(&batch);
        // A large batch waits alone.
        let places = if bytes < LARGE_BATCH_BYTES { 1 } else { ANSWER_BATCHES_WAITING };
        let room = self.patience.wait(self.sender.reserve_many(places)).await;
        let Some(Ok(mut room)) = room else { return Err(EngineError::Cancelled) };
        let pool: Arc<dyn MemoryPool> = memory.clone();
        let reserved = MemoryConsumer::new("answer").register(&pool);
        // It is there already: to refuse it now would free nothing that sending it does not.
        reserved.grow(bytes);
        if let Some(place) = room.next() {
            place.send(Ok(Some(Held::new(batch, reserved))));
        }
        Ok(())
    }
}
