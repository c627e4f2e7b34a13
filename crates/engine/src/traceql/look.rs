//! What one question about traces reads, and how it is held in check.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use hashbrown::HashMap;
use kymo_store::StoreError;
use kymo_store::block::source::Source;
use kymo_store::limits::SCAN_MAX_JOINED_TRACES;
use kymo_store::scan::{
    ColumnRef, Elements, Prepared, Scan, ScanContext, ScanStats, Scope, value_types,
};
use kymo_store::schema::{Signal, ValueType};
use kymo_store::snapshot::Snapshot;
use kymo_store::tables::spans::list;

use super::answer::SearchStats;
use super::plan::reach;
use crate::clock::Clock;
use crate::engine::Core;
use crate::error::EngineError;
use crate::memory::QueryMemory;
use crate::tenants::Tenants;

/// A question that has its turn: what it sees, its time and its memory.
pub(crate) struct Look {
    pub(super) core: Arc<Core>,
    pub(super) snapshot: Snapshot,
    /// Rows that may belong to traces in question.
    pub(super) sources: Vec<Source>,
    pub(super) clock: Arc<Clock>,
    memory: Arc<QueryMemory>,
    /// Whether the store may test conditions; only a test of that says no.
    pub(super) pushes_down: bool,
    /// Types of attributes that were asked for.
    types: Mutex<HashMap<(Scope, String), Vec<ValueType>>>,
}

impl Look {
    /// Looks at what is visible now, of traces that may reach into `time`.
    pub(crate) fn new(
        core: &Arc<Core>,
        tenants: &Tenants,
        time: Option<&Range<i64>>,
        clock: &Arc<Clock>,
        pushes_down: bool,
    ) -> Result<Self, EngineError> {
        let store = &core.reading.store;
        let snapshot = store.snapshot_of(tenants.names(), Signal::Spans)?;
        let sources = store.sources(&snapshot, time.map(reach))?;
        let memory = core.query_memory();
        Ok(Self {
            core: core.clone(),
            snapshot,
            sources,
            clock: clock.clone(),
            memory: Arc::new(memory),
            pushes_down,
            types: Mutex::default(),
        })
    }

    pub(super) fn threads(&self) -> usize {
        self.core.options.threads.max(1)
    }

    pub(super) fn context(&self) -> ScanContext {
        ScanContext {
            cache: self.core.reading.store.column_cache().clone(),
            cancel: self.clock.gone().clone(),
            threads: self.threads(),
        }
    }

    /// Whether what the store derives of whole traces (root, duration) is right in every row: not if
    /// there are too many traces to join, nor if some spans were deleted.
    pub(super) fn knows_whole_traces(&self) -> bool {
        let mut traces = 0;
        self.sources.iter().all(|source| {
            if let Source::Block(block) = source {
                traces += block.footer().groups as usize;
            }
            source.hidden().is_none() && traces <= SCAN_MAX_JOINED_TRACES
        })
    }

    /// Whether blocks have rows that were deleted and are only hidden.
    pub(super) fn has_deleted_rows(&self) -> bool {
        self.sources.iter().any(|source| source.hidden().is_some())
    }

    /// Binds columns of spans, or of their elements, to the sources.
    pub(super) fn prepare(
        &self,
        columns: Vec<ColumnRef>,
        elements: Option<Elements>,
    ) -> Result<Arc<Prepared>, StoreError> {
        let scan = Scan { columns, elements, ..Scan::default() };
        Prepared::new(&self.sources, Signal::Spans, &scan, self.context())
    }

    /// Types that values of an attribute have anywhere.
    pub(super) fn types(&self, scope: Scope, key: &str) -> Result<Vec<ValueType>, StoreError> {
        let known = || self.types.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(types) = known().get(&(scope, key.to_owned())) {
            return Ok(types.clone());
        }
        let elements = match scope {
            Scope::Event => Some(Elements::List(list::EVENTS)),
            Scope::Link => Some(Elements::List(list::LINKS)),
            _ => None,
        };
        let column = ColumnRef::attribute(scope, key);
        let cache = self.core.reading.store.column_cache();
        let types = value_types(&self.sources, Signal::Spans, &column, elements, cache)?;
        known().insert((scope, key.to_owned()), types.clone());
        Ok(types)
    }

    /// Memory for something that is held for a while.
    pub(super) fn memory(&self, what: &str) -> Held {
        let pool: Arc<dyn MemoryPool> = self.memory.clone();
        Held { reserved: MemoryConsumer::new(what).register(&pool), memory: self.memory.clone() }
    }

    /// Counts what was done for a question, once.
    pub(super) fn count(&self, done: &ScanStats) {
        self.core.counters.scanned(&ScanStats::default(), done);
        self.clock.scanned(done.rows_scanned);
    }

    /// What was done, as answers tell it.
    pub(super) fn stats(&self, done: &ScanStats) -> SearchStats {
        let (total_blocks, total_block_bytes) = self
            .snapshot
            .blocks()
            .fold((0, 0), |(blocks, bytes), block| (blocks + 1, bytes + block.size_bytes));
        // What of the blocks was looked into, by rows.
        let rows: usize = self.sources.iter().map(Source::rows).sum();
        let share = done.rows_scanned as u128 * u128::from(total_block_bytes);
        SearchStats {
            inspected_spans: done.rows_scanned,
            inspected_bytes: (share / rows.max(1) as u128) as u64,
            total_blocks,
            total_block_bytes,
            total_jobs: done.granules_read,
            completed_jobs: done.granules_read,
            damaged_blocks: done.blocks_skipped_damaged,
            ..SearchStats::default()
        }
    }

    /// Whether to go on, or why not.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.clock.check()
    }

    /// Whether to go on with so many bytes held; for what the store does at length. [`Self::failed`]
    /// knows why not.
    pub(super) fn go_on(&self, held: &Held, bytes: usize) -> Result<(), StoreError> {
        match self.check().and_then(|()| held.hold(bytes)) {
            Ok(()) => Ok(()),
            Err(_) => Err(StoreError::Cancelled),
        }
    }

    /// An error of the store, as whoever asked is told of it.
    pub(super) fn failed(&self, error: StoreError) -> EngineError {
        EngineError::of_scan(error, &self.memory, &self.clock)
    }
}

/// Memory that is held; given back when it is dropped.
pub(super) struct Held {
    reserved: MemoryReservation,
    memory: Arc<QueryMemory>,
}

impl Held {
    /// So much is held now.
    pub(super) fn hold(&self, bytes: usize) -> Result<(), EngineError> {
        self.reserved
            .try_resize(bytes)
            .map_err(|error| self.memory.error().unwrap_or_else(|| EngineError::of_plan(&error)))
    }
}
