//! What the parts of one running query share.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::error::DataFusionError;
use kymo_store::scan::ScanStats;
use kymo_store::{Store, StoreError};

use crate::clock::Clock;
use crate::error::EngineError;
use crate::memory::QueryMemory;
use crate::stats::Counters;

/// A running query.
#[derive(Debug)]
pub(crate) struct QueryState {
    memory: Arc<QueryMemory>,
    clock: Arc<Clock>,
    failure: Mutex<Option<EngineError>>,
    counters: Arc<Counters>,
    /// Whether scans may test rows themselves; only a test of that says no.
    pub(crate) pushes_down: bool,
}

impl QueryState {
    pub(crate) fn new(
        memory: QueryMemory,
        clock: &Arc<Clock>,
        counters: &Arc<Counters>,
        pushes_down: bool,
    ) -> Self {
        Self {
            memory: Arc::new(memory),
            clock: clock.clone(),
            failure: Mutex::default(),
            counters: counters.clone(),
            pushes_down,
        }
    }

    pub(crate) fn memory(&self) -> &Arc<QueryMemory> {
        &self.memory
    }

    pub(crate) fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Counts what a scan did since it was last counted.
    pub(crate) fn scanned(&self, counted: &ScanStats, stats: &ScanStats) {
        self.counters.scanned(counted, stats);
        self.clock.scanned(stats.rows_scanned.saturating_sub(counted.rows_scanned));
    }

    /// Remembers why a scan failed; the first reason counts.
    pub(crate) fn fail(&self, error: StoreError) {
        let error = match error {
            StoreError::Query(message) => EngineError::Invalid(message.into()),
            StoreError::Cancelled => EngineError::Cancelled,
            other => EngineError::Store(other),
        };
        self.slot().get_or_insert(error);
    }

    /// Whether the query may go on; if not, the reason is remembered.
    pub(crate) fn check(&self) -> Result<(), DataFusionError> {
        self.clock.check().map_err(|error| {
            let message = error.to_string();
            self.slot().get_or_insert(error);
            DataFusionError::Execution(message)
        })
    }

    /// Why the query failed, if a part of it said so.
    pub(crate) fn take_failure(&self) -> Option<EngineError> {
        self.slot().take()
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<EngineError>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where queries read, and on how many threads.
#[derive(Clone)]
pub(crate) struct Reading {
    pub(crate) store: Arc<Store>,
    pub(crate) threads: usize,
}

impl std::fmt::Debug for Reading {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("threads", &self.threads).finish_non_exhaustive()
    }
}
