//! What one question about logs sees, and how it is held in check.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use kymo_store::block::source::Source;
use kymo_store::chunk::Chunk;
use kymo_store::column::Values;
use kymo_store::scan::{ScanContext, ScanStats};
use kymo_store::schema::Signal;
use kymo_store::snapshot::Snapshot;
use kymo_store::tables::logs::field;
use kymo_store::{Store, StoreError};

use super::options::LogqlOptions;
use crate::clock::Clock;
use crate::engine::Core;
use crate::error::EngineError;
use crate::memory::QueryMemory;
use crate::tenants::Tenants;

/// A question that has its turn: what it sees, its time and its memory.
pub(crate) struct View {
    core: Arc<Core>,
    snapshot: Snapshot,
    clock: Arc<Clock>,
    memory: Arc<QueryMemory>,
    reserved: MemoryReservation,
    done: Mutex<ScanStats>,
}

impl View {
    /// Looks at what is visible now.
    pub(crate) fn new(
        core: &Arc<Core>,
        tenants: &Tenants,
        clock: &Arc<Clock>,
    ) -> Result<Self, EngineError> {
        let snapshot = core.reading.store.snapshot_of(tenants.names(), Signal::Logs)?;
        let memory = Arc::new(core.query_memory());
        let pool: Arc<dyn MemoryPool> = memory.clone();
        let reserved = MemoryConsumer::new("entries").register(&pool);
        let (core, clock) = (core.clone(), clock.clone());
        Ok(Self { core, snapshot, clock, memory, reserved, done: Mutex::default() })
    }

    fn store(&self) -> &Store {
        &self.core.reading.store
    }

    pub(super) fn options(&self) -> &LogqlOptions {
        &self.core.options.logql
    }

    pub(super) fn threads(&self) -> usize {
        self.core.options.threads.max(1)
    }

    /// Rows that may lie within `time`: those of blocks, then those in memory, which came later.
    pub(super) fn sources(&self, time: &Range<i64>) -> Result<Vec<Source>, EngineError> {
        let mut sources = self.store().sources(&self.snapshot, Some(time.clone()))?;
        sources.sort_by_key(|source| matches!(source, Source::Chunk(_)));
        Ok(sources)
    }

    /// The part of a time range that rows lie in, and about how many there are; `None` if none.
    pub(super) fn extent(&self, asked: &Range<i64>) -> Option<(Range<i64>, usize)> {
        let mut extent: Option<Range<i64>> = None;
        let mut rows = 0usize;
        let mut add = |min: i64, max: i64, count: usize| {
            let (start, end) = (min.max(asked.start), max.saturating_add(1).min(asked.end));
            if start < end {
                rows += count;
                extent = Some(match &extent {
                    Some(known) => known.start.min(start)..known.end.max(end),
                    None => start..end,
                });
            }
        };
        for block in self.snapshot.blocks() {
            add(block.min_time_nanos, block.max_time_nanos, block.rows as usize);
        }
        for chunk in self.snapshot.chunks() {
            if let Some((min, max)) = times(chunk) {
                add(min, max, chunk.rows);
            }
        }
        extent.map(|extent| (extent, rows))
    }

    pub(super) fn context(&self) -> ScanContext {
        ScanContext {
            cache: self.store().column_cache().clone(),
            cancel: self.clock.gone().clone(),
            threads: self.threads(),
        }
    }

    /// An error if the question has to end.
    pub(super) fn check(&self) -> Result<(), EngineError> {
        self.clock.check()
    }

    /// So much is held now, by all threads together.
    pub(super) fn hold(&self, bytes: usize) -> Result<(), EngineError> {
        self.reserved.try_resize(bytes).map_err(|error| match self.memory.error() {
            Some(error) => error,
            None => EngineError::of_plan(&error),
        })
    }

    /// Counts what a scan did.
    pub(super) fn count(&self, done: &ScanStats) {
        self.core.counters.scanned(&ScanStats::default(), done);
        self.clock.scanned(done.rows_scanned);
        let mut sum = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        sum.rows_scanned += done.rows_scanned;
        sum.rows_matched += done.rows_matched;
        sum.granules_read += done.granules_read;
        sum.granules_pruned += done.granules_pruned;
        sum.blocks_skipped_damaged += done.blocks_skipped_damaged;
    }

    /// About how many bytes so many rows have, unpacked: as many as rows have on average of all that
    /// is seen. To count them would be to read them.
    pub(super) fn bytes_of(&self, rows: usize) -> u64 {
        let blocks = self.snapshot.blocks().map(|block| (block.rows, block.plain_bytes));
        let chunks = self.snapshot.chunks();
        let chunks = chunks.map(|chunk| (chunk.rows as u64, chunk.heap_bytes() as u64));
        let (all_rows, bytes) = blocks
            .chain(chunks)
            .fold((0, 0), |(rows, bytes), (more_rows, more)| (rows + more_rows, bytes + more));
        let bytes = rows as u128 * u128::from(bytes) / u128::from(all_rows.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// What all scans did so far.
    pub(super) fn done(&self) -> ScanStats {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error of the store, as whoever asked is told of it.
    pub(super) fn failed(&self, error: StoreError) -> EngineError {
        EngineError::of_scan(error, &self.memory, &self.clock)
    }
}

/// The least and the greatest time of some rows.
fn times(chunk: &Chunk) -> Option<(i64, i64)> {
    match &chunk.fields.get(field::TIME)?.as_ref()?.values {
        Values::Int(times) => times.iter().copied().min().zip(times.iter().copied().max()),
        _ => None,
    }
}
