//! The store's scan: its columns, its batches, on threads that may wait.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::MemoryReservation;
use kymo_store::StoreError;
use kymo_store::block::source::Source;
use kymo_store::scan::{ColumnRef, Order, Partition, Prepared, Scan, ScanContext, ScanStats, Work};
use kymo_store::snapshot::Snapshot;

use super::convert::Converter;
use super::{ScanPlan, Top};
use crate::memory::Weigher;
use crate::state::{QueryState, Reading};
use crate::tables::TableName;

/// Names and types of columns over what is visible.
pub(crate) fn schema(
    reading: &Reading,
    snapshot: &Snapshot,
    table: TableName,
    columns: Vec<ColumnRef>,
    state: &QueryState,
) -> Result<SchemaRef, StoreError> {
    // Only the types of attributes depend on the data.
    let has_attributes = columns.iter().any(|c| matches!(c, ColumnRef::Attribute { .. }));
    let sources = match has_attributes {
        true => reading.store.sources(snapshot, None)?,
        false => Vec::new(),
    };
    let scan = Scan { columns, elements: table.elements(), ..Scan::default() };
    let context = context(reading, state.clock().gone().clone());
    Ok(Prepared::new(&sources, table.signal(), &scan, context)?.schema())
}

pub(crate) fn context(reading: &Reading, cancel: Arc<AtomicBool>) -> ScanContext {
    let cache = reading.store.column_cache().clone();
    ScanContext { cache, cancel, threads: reading.threads }
}

/// Why a scan ended early.
pub(crate) enum Stop {
    /// Nobody wants more.
    Enough,
    /// The store failed.
    Store(StoreError),
    /// A batch could not be tested or held.
    Batch(DataFusionError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<DataFusionError> for Stop {
    fn from(error: DataFusionError) -> Self {
        Self::Batch(error)
    }
}

/// Takes batches of the plan's output.
pub(crate) type Take<'t> = dyn FnMut(RecordBatch) -> Result<(), Stop> + 't;

/// A scan that several threads share, begun by the first.
#[derive(Debug)]
pub(super) struct SharedScan {
    plan: Arc<ScanPlan>,
    cancel: Arc<AtomicBool>,
    begun: Mutex<Begun>,
    /// Rows handed out by all shares, if the plan has a limit.
    taken: AtomicUsize,
}

#[derive(Debug, Default)]
enum Begun {
    #[default]
    NotYet,
    /// With what was counted already of what was done.
    Working(Arc<Work>, ScanStats),
    /// The first that tried has told why.
    Failed,
}

impl SharedScan {
    pub(super) fn new(plan: &Arc<ScanPlan>, cancel: &Arc<AtomicBool>) -> Self {
        Self {
            plan: plan.clone(),
            cancel: cancel.clone(),
            begun: Mutex::default(),
            taken: AtomicUsize::new(0),
        }
    }

    /// Does a share of the scan on this thread; `take` gets its batches. What has to be kept for
    /// a while is reserved in `memory`. Returns what was done by all so far.
    pub(super) fn run(
        &self,
        memory: &MemoryReservation,
        take: &mut Take<'_>,
    ) -> Result<ScanStats, Stop> {
        let mut limited = |batch: RecordBatch| match self.wanted(batch) {
            Some(batch) if batch.num_rows() == 0 => Ok(()),
            Some(batch) => take(batch),
            None => Err(Stop::Enough),
        };
        match self.plan.top {
            Some(top) => self.run_top(top, memory, &mut limited),
            None => self.run_share(&mut limited),
        }
    }

    /// Of a batch, the rows that are within the plan's limit; `None` if there were enough before.
    fn wanted(&self, batch: RecordBatch) -> Option<RecordBatch> {
        let Some(limit) = self.plan.limit else { return Some(batch) };
        let before = self.taken.fetch_add(batch.num_rows(), Ordering::Relaxed);
        let left = limit.checked_sub(before).filter(|left| *left > 0)?;
        Some(batch.slice(0, batch.num_rows().min(left)))
    }

    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run_share(&self, take: &mut Take<'_>) -> Result<ScanStats, Stop> {
        let Some(work) = self.begin()? else { return Ok(ScanStats::default()) };
        let result = drain_share(&mut work.partition(), &mut Converter::new(&self.plan), take);
        let mut stats = ScanStats::default();
        if let Begun::Working(work, counted) = &mut *self.begun() {
            stats = work.stats();
            self.plan.state.scanned(counted, &stats);
            *counted = stats;
        }
        result.map(|()| stats)
    }

    /// What there is to do; `None` if another could not begin it.
    fn begin(&self) -> Result<Option<Arc<Work>>, StoreError> {
        let mut begun = self.begun();
        match &*begun {
            Begun::Working(work, _) => return Ok(Some(work.clone())),
            Begun::Failed => return Ok(None),
            Begun::NotYet => *begun = Begun::Failed,
        }
        let limit = self.plan.limit.filter(|_| self.plan.residual.tests.is_empty());
        let work = self.prepare(&self.sources()?, Order::Any, limit)?.start();
        *begun = Begun::Working(work.clone(), ScanStats::default());
        Ok(Some(work))
    }

    /// The first rows by time.
    fn run_top(
        &self,
        top: Top,
        memory: &MemoryReservation,
        take: &mut Take<'_>,
    ) -> Result<ScanStats, Stop> {
        let sources = self.sources()?;
        let mut first = Vec::new();
        let mut converter = Converter::new(&self.plan);
        let mut weigher = Weigher::default();
        let mut are_all_passing = true;
        let found = self.prepare(&sources, top.order, Some(top.rows))?;
        let stats = self.drain(&found, &mut |batch| {
            let rows = batch.num_rows();
            let batch = converter.convert(batch)?;
            are_all_passing &= batch.num_rows() == rows;
            let bytes = weigher.weigh(&batch);
            memory.try_grow(bytes)?;
            first.push((batch, bytes));
            Ok(())
        })?;
        // If all of them pass the tests that the store does not make, they are the first of those
        // that do. Otherwise it is for others to find the first among all.
        if are_all_passing {
            // Each is reserved again by whoever takes it.
            for (batch, bytes) in first {
                memory.try_shrink(bytes)?;
                take(batch)?;
            }
            return Ok(stats);
        }
        drop(first);
        memory.free();
        let all = self.prepare(&sources, Order::Any, None)?;
        self.drain(&all, &mut |batch| take(converter.convert(batch)?))
    }

    fn sources(&self) -> Result<Vec<Source>, StoreError> {
        let plan = &self.plan;
        plan.reading.store.sources(&plan.snapshot, plan.pushed.time.clone())
    }

    fn prepare(
        &self,
        sources: &[Source],
        order: Order,
        limit: Option<usize>,
    ) -> Result<Arc<Prepared>, StoreError> {
        let plan = &self.plan;
        let scan = Scan {
            columns: plan.store_columns(),
            predicate: plan.pushed.predicate.clone(),
            time: plan.pushed.time.clone(),
            order,
            limit,
            elements: plan.shape.name.elements(),
        };
        let context = context(&plan.reading, self.cancel.clone());
        Prepared::new(sources, plan.shape.name.signal(), &scan, context)
    }

    /// Runs a scan to its end, on as many threads as it may.
    fn drain(&self, prepared: &Arc<Prepared>, take: &mut Take<'_>) -> Result<ScanStats, Stop> {
        let mut stop = None;
        let stats = prepared.run(&mut |batch| {
            Ok(match take(batch) {
                Ok(()) => ControlFlow::Continue(()),
                Err(reason) => {
                    stop = Some(reason);
                    ControlFlow::Break(())
                }
            })
        })?;
        self.plan.state.scanned(&ScanStats::default(), &stats);
        match stop {
            None => Ok(stats),
            Some(reason) => Err(reason),
        }
    }
}

fn drain_share(
    share: &mut Partition,
    converter: &mut Converter,
    take: &mut Take<'_>,
) -> Result<(), Stop> {
    while let Some(batch) = share.next_batch()? {
        let taken = converter.convert(batch).map_err(Stop::Batch).and_then(&mut *take);
        if taken.is_err() {
            share.stop();
            return taken;
        }
    }
    Ok(())
}
