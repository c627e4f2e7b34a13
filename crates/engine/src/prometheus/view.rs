//! What one question about metrics sees, and how it is held in check.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use kymo_promql::eval::{EvalError, Interrupt};
use kymo_store::Store;
use kymo_store::snapshot::SeriesSnapshot;

use super::caches::Caches;
use super::naming::Naming;
use crate::clock::Clock;
use crate::engine::Core;
use crate::error::EngineError;
use crate::memory::QueryMemory;
use crate::tenants::Tenants;

/// A question that has its turn: what it sees, its time and its memory.
pub(crate) struct View {
    core: Arc<Core>,
    snapshot: SeriesSnapshot,
    clock: Arc<Clock>,
    memory: Arc<QueryMemory>,
    reserved: Mutex<MemoryReservation>,
    /// How old a sample may be to count as current.
    lookback: Duration,
}

impl View {
    /// Looks at what is visible now.
    pub(crate) fn new(
        core: &Arc<Core>,
        tenants: &Tenants,
        clock: &Arc<Clock>,
        lookback: Duration,
    ) -> Result<Self, EngineError> {
        let snapshot = core.reading.store.series_snapshot(tenants.names())?;
        let memory = Arc::new(core.query_memory());
        let pool: Arc<dyn MemoryPool> = memory.clone();
        let reserved = Mutex::new(MemoryConsumer::new("series").register(&pool));
        Ok(Self { core: core.clone(), snapshot, clock: clock.clone(), memory, reserved, lookback })
    }

    pub(super) fn store(&self) -> &Store {
        &self.core.reading.store
    }

    pub(super) fn snapshot(&self) -> &SeriesSnapshot {
        &self.snapshot
    }

    pub(super) fn naming(&self) -> &Naming {
        &self.core.options.prometheus.naming
    }

    pub(super) fn caches(&self) -> &Caches {
        &self.core.prometheus
    }

    pub(super) fn threads(&self) -> usize {
        self.core.options.threads.max(1)
    }

    pub(super) fn lookback_millis(&self) -> i64 {
        i64::try_from(self.lookback.as_millis()).unwrap_or(i64::MAX)
    }

    /// An error if the question has to end.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.clock.check()
    }

    /// Takes memory for something that is held until the question is answered.
    pub(super) fn reserve(&self, bytes: usize) -> Result<(), EngineError> {
        let reserved = self.reserved.lock().unwrap_or_else(PoisonError::into_inner);
        reserved.try_grow(bytes).map_err(|error| match self.memory.error() {
            Some(error) => error,
            None => EngineError::Internal(error.to_string()),
        })
    }
}

impl Interrupt for View {
    fn check(&self) -> Result<(), EvalError> {
        match self.clock.check() {
            Ok(()) => Ok(()),
            Err(EngineError::Timeout { .. }) => Err(EvalError::Timeout),
            Err(_) => Err(EvalError::Canceled),
        }
    }
}
