//! A scan under way: the granules that may hold rows, handed out one by one to
//! whoever reads, and what is common to all readers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;

use super::int_test::Verdict;
use super::mask::Mask;
use super::part::Part;
use super::partition::Partition;
use super::points::SeriesRows;
use super::predicate::Elements;
use super::project::BatchError;
use super::reader::Reader;
use super::{Prepared, ScanStats};
use crate::block::source::{RowRef, Source};
use crate::column::Values;
use crate::error::StoreError;
use crate::objects::ObjectsError;
use crate::tables::spans;

/// A granule that may hold rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub(super) part: u32,
    pub(super) granule: u32,
    /// The best rank that one of its rows can have; see [`super::Order`].
    pub(super) best: i64,
}

/// A scan under way. Any number of [`Partition`]s share it, each on a thread of
/// its caller; together they give each row once.
#[derive(Debug)]
pub struct Work {
    pub(super) prepared: Arc<Prepared>,
    pub(super) units: Vec<Unit>,
    next: AtomicUsize,
    stop: AtomicBool,
    /// Rows handed out.
    emitted: AtomicUsize,
    /// Whether a partition has taken on what cannot be divided: an order.
    is_ordered_taken: AtomicBool,
    /// The rows of each series, in a scan of points.
    pub(super) series: Mutex<Option<Arc<SeriesRows>>>,
    stats: Mutex<ScanStats>,
}

impl Work {
    pub(super) fn new(prepared: Arc<Prepared>) -> Self {
        let mut stats = ScanStats::default();
        let mut units = match prepared.limit {
            Some(0) => Vec::new(),
            _ => prepared.units(&mut stats),
        };
        if prepared.order.field(prepared.table.signal).is_some() {
            units.sort_by_key(|unit| (unit.best, unit.part, unit.granule));
        }
        Self {
            prepared,
            units,
            next: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            emitted: AtomicUsize::new(0),
            is_ordered_taken: AtomicBool::new(false),
            series: Mutex::default(),
            stats: Mutex::new(stats),
        }
    }

    /// A share of the scan. It takes what is left to do as it comes to it, so
    /// shares need not be drawn at once, nor all be used.
    pub fn partition(self: &Arc<Self>) -> Partition {
        Partition::new(self.clone())
    }

    /// What was done by all partitions that have ended.
    pub fn stats(&self) -> ScanStats {
        let mut stats = self.prepared.stats;
        stats.add(&self.stats.lock().unwrap_or_else(PoisonError::into_inner));
        let parts = self.prepared.parts.iter();
        let damaged = parts.filter(|part| part.damaged.load(Ordering::Relaxed));
        stats.blocks_skipped_damaged += damaged.count();
        stats
    }

    pub(super) fn add_stats(&self, stats: &ScanStats) {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner).add(stats);
    }

    /// The number of the next piece of work, if there is one below `end`.
    pub(super) fn take(&self, end: usize) -> Option<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        (next < end).then_some(next)
    }

    pub(super) fn take_unit(&self) -> Option<Unit> {
        self.take(self.units.len()).map(|nth| self.units[nth])
    }

    /// Whether the caller is the first who asks.
    pub(super) fn take_order(&self) -> bool {
        !self.is_ordered_taken.swap(true, Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// How many more rows are wanted; `None` if there is no limit.
    pub(super) fn wanted(&self) -> Option<usize> {
        let emitted = self.emitted.load(Ordering::Relaxed);
        self.prepared.limit.map(|limit| limit.saturating_sub(emitted))
    }

    /// As many rows of the batch as are still wanted; `None` if none is.
    pub(super) fn claim(&self, batch: RecordBatch) -> Option<RecordBatch> {
        let rows = batch.num_rows();
        let before = self.emitted.fetch_add(rows, Ordering::Relaxed);
        let wanted = self.prepared.limit.map_or(rows, |limit| limit.saturating_sub(before));
        if wanted <= rows && self.prepared.limit.is_some() {
            self.stop();
        }
        (wanted > 0).then(|| if wanted < rows { batch.slice(0, wanted) } else { batch })
    }
}

/// Readers of all parts, for one thread.
#[derive(Debug)]
pub(super) struct Readers {
    prepared: Arc<Prepared>,
    readers: Vec<Option<Reader>>,
}

impl Readers {
    pub(super) fn new(prepared: &Arc<Prepared>) -> Self {
        let readers = prepared.parts.iter().map(|_| None).collect();
        Self { prepared: prepared.clone(), readers }
    }

    pub(super) fn of(&mut self, part: usize) -> &mut Reader {
        let prepared = &self.prepared;
        self.readers[part].get_or_insert_with(|| {
            Reader::new(prepared.parts[part].clone(), prepared.context.cache.clone())
        })
    }

    /// Forgets what readers hold, if that is much. The cache may still have it.
    pub(super) fn trim(&mut self, max_bytes: usize) {
        let bytes: usize = self.readers.iter().flatten().map(Reader::held_bytes).sum();
        if bytes > max_bytes {
            self.readers.iter_mut().for_each(|reader| *reader = None);
        }
    }

    /// Forgets a part that is not read any more.
    pub(super) fn forget_all_but(&mut self, part: usize) {
        for (nth, reader) in self.readers.iter_mut().enumerate() {
            if nth != part {
                *reader = None;
            }
        }
    }
}

/// Whether an error says that a file is not what was written.
pub(crate) fn is_damage(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Corrupt(_)
            | StoreError::Wire(_)
            | StoreError::Objects(ObjectsError::OutOfRange { .. })
    )
}

impl Prepared {
    /// Granules that may hold rows.
    fn units(&self, stats: &mut ScanStats) -> Vec<Unit> {
        let mut units = Vec::new();
        for (nth, part) in self.parts.iter().enumerate() {
            for granule in 0..part.granules() {
                let verdict = part.verdict(&self.compiled, &self.compiled.root, granule);
                if verdict == Verdict::None || self.has_no_elements(part, granule) {
                    stats.granules_pruned += 1;
                    continue;
                }
                let best = self.best_rank(part, granule);
                units.push(Unit { part: nth as u32, granule: granule as u32, best });
            }
        }
        units
    }

    /// Whether the page index says that no row has an element.
    fn has_no_elements(&self, part: &Part, granule: usize) -> bool {
        let Source::Block(block) = &part.source else { return false };
        // The first member of events, their time, is the only one with bounds.
        self.elements == Some(Elements::List(spans::list::EVENTS))
            && block.int_bounds(part.table.fields.len(), granule) == Some(None)
    }

    fn best_rank(&self, part: &Part, granule: usize) -> i64 {
        let Some(field) = self.order.field(self.table.signal) else { return 0 };
        let bounds = match &part.source {
            Source::Block(block) => block.int_bounds(field, granule).flatten(),
            Source::Chunk(chunk) => {
                match chunk.fields[field].as_ref().map(|column| &column.values) {
                    Some(Values::Int(values)) => {
                        let values = &values[part.rows(granule)];
                        values.iter().min().copied().zip(values.iter().max().copied())
                    }
                    _ => None,
                }
            }
        };
        bounds.map_or(i64::MIN, |(low, high)| self.order.rank(low).min(self.order.rank(high)))
    }

    pub(super) fn check_cancelled(&self) -> Result<(), StoreError> {
        match self.context.cancel.load(Ordering::Relaxed) {
            true => Err(StoreError::Cancelled),
            false => Ok(()),
        }
    }

    pub(crate) fn is_damaged(&self, part: u32) -> bool {
        self.parts[part as usize].damaged.load(Ordering::Relaxed)
    }

    /// Damage is told once and the rest of the part passed over; other errors
    /// are the caller's.
    pub(super) fn tolerate(&self, part: u32, error: StoreError) -> Result<(), StoreError> {
        if !is_damage(&error) {
            return Err(error);
        }
        let part = &self.parts[part as usize];
        if !part.damaged.swap(true, Ordering::Relaxed) {
            let source = part.nth;
            tracing::warn!(source, %error, "a damaged block is left out of the answer");
        }
        Ok(())
    }

    /// Rows of a unit that pass; none if the part is damaged.
    pub(super) fn find(
        &self,
        unit: Unit,
        readers: &mut Readers,
        stats: &mut ScanStats,
    ) -> Result<Mask, StoreError> {
        self.check_cancelled()?;
        if self.is_damaged(unit.part) {
            return Ok(Mask::NONE);
        }
        let (nth, granule) = (unit.part as usize, unit.granule as usize);
        let rows = self.parts[nth].rows(granule);
        stats.granules_read += 1;
        stats.rows_scanned += rows.len();
        let mut alive = Mask::first(rows.len());
        if let Some(hidden) = self.parts[nth].source.hidden() {
            alive.and_not(&Mask::of_marks(&hidden[rows]));
        }
        let reader = readers.of(nth);
        match reader.evaluate(&self.compiled, &self.compiled.root, granule, &alive, stats) {
            Ok(mask) => Ok(mask),
            Err(error) => self.tolerate(unit.part, error).map(|()| Mask::NONE),
        }
    }

    /// The batch of `rows`, less those of parts that turn out to be damaged.
    /// `Err` within if there is too much of it.
    pub(super) fn batch(
        &self,
        rows: &mut Vec<RowRef>,
        readers: &mut Readers,
        stats: &mut ScanStats,
    ) -> Result<Result<Option<RecordBatch>, TooLarge>, StoreError> {
        loop {
            self.check_cancelled()?;
            rows.retain(|row| !self.is_damaged(row.source));
            if rows.is_empty() {
                return Ok(Ok(None));
            }
            match self.projection.batch(rows, readers, stats) {
                Ok(batch) => return Ok(Ok(Some(batch))),
                Err(BatchError::TooLarge) => return Ok(Err(TooLarge)),
                Err(BatchError::Part(part, error)) => self.tolerate(part, error)?,
            }
        }
    }
}

/// A batch must be made of fewer rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct TooLarge;
