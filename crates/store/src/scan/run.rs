//! The way of a scan: granules that may hold rows, the rows that pass, and the
//! batches made of them, on as many threads as are allowed.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;

use arrow_array::RecordBatch;

use super::compile::{Compiled, time_fields};
use super::int_test::Verdict;
use super::mask::Mask;
use super::part::Part;
use super::project::Projection;
use super::reader::Reader;
use super::top::Top;
use super::{Order, ScanContext, ScanStats, Sink};
use crate::block::read::Block;
use crate::block::source::{RowRef, Source};
use crate::column::Values;
use crate::error::StoreError;
use crate::limits::SCAN_BATCH_ROWS;
use crate::objects::ObjectsError;
use crate::schema::Table;

/// Granules for which another thread is worth starting.
const UNITS_PER_THREAD: usize = 8;
/// Granules that a search for the first rows visits before it starts threads:
/// most such searches end there.
const UNITS_BEFORE_THREADS: usize = 4;

/// A granule that may hold rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unit {
    pub(super) part: u32,
    pub(super) granule: u32,
    /// The best rank that one of its rows can have; see [`Order::rank`].
    pub(super) best: i64,
}

/// The units of a scan, handed out one by one.
pub(super) struct Queue<'u> {
    units: &'u [Unit],
    next: AtomicUsize,
    stop: AtomicBool,
}

impl<'u> Queue<'u> {
    fn new(units: &'u [Unit]) -> Self {
        Self { units, next: AtomicUsize::new(0), stop: AtomicBool::new(false) }
    }

    fn take(&self) -> Option<Unit> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        self.units.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Readers of all parts, for one thread.
pub(super) struct Readers<'a> {
    parts: &'a [Part<'a>],
    context: &'a ScanContext<'a>,
    readers: Vec<Option<Reader<'a>>>,
}

impl<'a> Readers<'a> {
    fn new(parts: &'a [Part<'a>], context: &'a ScanContext<'a>) -> Self {
        Self { parts, context, readers: parts.iter().map(|_| None).collect() }
    }

    pub(super) fn of(&mut self, part: usize) -> &mut Reader<'a> {
        self.readers[part].get_or_insert_with(|| Reader::new(&self.parts[part], self.context))
    }
}

/// A scan under way.
pub(super) struct Run<'a> {
    pub(super) table: &'static Table,
    pub(super) compiled: &'a Compiled,
    pub(super) projection: &'a Projection,
    pub(super) parts: &'a [Part<'a>],
    pub(super) context: &'a ScanContext<'a>,
    pub(super) order: Order,
    pub(super) limit: Option<usize>,
}

/// Whether an error says that a file is not what was written.
pub(super) fn is_damage(error: &StoreError) -> bool {
    matches!(error, StoreError::Corrupt(_) | StoreError::Objects(ObjectsError::OutOfRange { .. }))
}

/// Whether no row of a block can be within `time`.
pub(super) fn is_outside(block: &Block, table: &Table, time: Option<&Range<i64>>) -> bool {
    let Some(time) = time else { return false };
    let (earliest, latest) = time_fields(table.signal);
    // The footer tells the range of the earliest times only.
    let starts_late = block.footer().min_time_nanos >= time.end;
    let ended = if earliest == latest {
        block.footer().max_time_nanos < time.start
    } else {
        (0..block.granules()).all(|granule| {
            let bounds = block.int_bounds(latest, granule);
            bounds.is_some_and(|bounds| bounds.is_none_or(|(_, high)| high < time.start))
        })
    };
    time.is_empty() || starts_late || ended
}

impl<'a> Run<'a> {
    /// Runs the scan.
    pub(super) fn run(&self, sink: &mut Sink<'_>) -> Result<ScanStats, StoreError> {
        let mut stats = ScanStats::default();
        if self.limit == Some(0) {
            return Ok(stats);
        }
        let mut units = self.units(&mut stats);
        if self.order == Order::Any {
            self.stream(&units, sink, &mut stats)?;
        } else {
            units.sort_by_key(|unit| (unit.best, unit.part, unit.granule));
            self.ordered(&units, sink, &mut stats)?;
        }
        let damaged = self.parts.iter().filter(|part| part.damaged.load(Ordering::Relaxed));
        stats.blocks_skipped_damaged += damaged.count();
        Ok(stats)
    }

    /// Granules that may hold rows.
    fn units(&self, stats: &mut ScanStats) -> Vec<Unit> {
        let mut units = Vec::new();
        for (nth, part) in self.parts.iter().enumerate() {
            for granule in 0..part.granules() {
                if part.verdict(self.compiled, &self.compiled.root, granule) == Verdict::None {
                    stats.granules_pruned += 1;
                    continue;
                }
                let best = self.best_rank(part, granule);
                units.push(Unit { part: nth as u32, granule: granule as u32, best });
            }
        }
        units
    }

    fn best_rank(&self, part: &Part<'_>, granule: usize) -> i64 {
        let Some(field) = self.order.field(self.table.signal) else { return 0 };
        let bounds = match part.source {
            Source::Block(block) => block.int_bounds(field, granule).flatten(),
            Source::Chunk(chunk) => {
                match chunk.fields[field].as_ref().map(|column| &column.values) {
                    Some(Values::Int(times)) => {
                        let times = &times[part.rows(granule)];
                        times.iter().min().copied().zip(times.iter().max().copied())
                    }
                    _ => None,
                }
            }
        };
        bounds.map_or(i64::MIN, |(low, high)| self.order.rank(low).min(self.order.rank(high)))
    }

    fn check_cancelled(&self) -> Result<(), StoreError> {
        match self.context.cancel.load(Ordering::Relaxed) {
            true => Err(StoreError::Cancelled),
            false => Ok(()),
        }
    }

    fn threads(&self, units: usize) -> usize {
        self.context.threads.min(units / UNITS_PER_THREAD).max(1)
    }

    /// Damage is told once and the rest of the part passed over; other errors
    /// are the caller's.
    fn tolerate(&self, part: usize, error: StoreError) -> Result<(), StoreError> {
        if !is_damage(&error) {
            return Err(error);
        }
        let part = &self.parts[part];
        if !part.damaged.swap(true, Ordering::Relaxed) {
            let source = part.nth;
            tracing::warn!(source, %error, "a damaged block is left out of the answer");
        }
        Ok(())
    }

    /// Rows of a unit that pass; none if the part is damaged.
    fn find(
        &self,
        unit: Unit,
        readers: &mut Readers<'_>,
        stats: &mut ScanStats,
    ) -> Result<Mask, StoreError> {
        self.check_cancelled()?;
        let (nth, granule) = (unit.part as usize, unit.granule as usize);
        if self.parts[nth].damaged.load(Ordering::Relaxed) {
            return Ok(Mask::NONE);
        }
        let rows = self.parts[nth].rows(granule);
        stats.granules_read += 1;
        stats.rows_scanned += rows.len();
        let mut alive = Mask::first(rows.len());
        if let Some(hidden) = self.parts[nth].source.hidden() {
            alive.and_not(&Mask::of_marks(&hidden[rows]));
        }
        let reader = readers.of(nth);
        match reader.evaluate(self.compiled, &self.compiled.root, granule, &alive, stats) {
            Ok(mask) => Ok(mask),
            Err(error) => self.tolerate(nth, error).map(|()| Mask::NONE),
        }
    }

    /// The batch of `rows`, less those of parts that turn out to be damaged.
    fn batch(
        &self,
        rows: &mut Vec<RowRef>,
        readers: &mut Readers<'_>,
        stats: &mut ScanStats,
    ) -> Result<Option<RecordBatch>, StoreError> {
        loop {
            self.check_cancelled()?;
            rows.retain(|row| !self.parts[row.source as usize].damaged.load(Ordering::Relaxed));
            if rows.is_empty() {
                return Ok(None);
            }
            match self.projection.batch(rows, readers, stats) {
                Ok(batch) => return Ok(Some(batch)),
                Err((part, error)) => self.tolerate(part as usize, error)?,
            }
        }
    }

    /// Rows in no order, handed out as they are found.
    fn stream(
        &self,
        units: &[Unit],
        sink: &mut Sink<'_>,
        stats: &mut ScanStats,
    ) -> Result<(), StoreError> {
        let queue = Queue::new(units);
        let emitted = AtomicUsize::new(0);
        let threads = self.threads(units.len());
        if threads == 1 {
            return self.stream_worker(&queue, &emitted, sink, stats);
        }
        std::thread::scope(|scope| {
            let (sender, batches) = sync_channel(threads);
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    let (sender, queue, emitted) = (sender.clone(), &queue, &emitted);
                    scope.spawn(move || {
                        let mut stats = ScanStats::default();
                        // If nobody takes batches any more, the scan is over.
                        let mut send = |batch| {
                            Ok(match sender.send(batch) {
                                Ok(()) => ControlFlow::Continue(()),
                                Err(_) => ControlFlow::Break(()),
                            })
                        };
                        self.stream_worker(queue, emitted, &mut send, &mut stats)?;
                        Ok(stats)
                    })
                })
                .collect();
            drop(sender);
            let mut taken = Ok(());
            for batch in batches {
                match sink(batch) {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(())) => break,
                    Err(error) => {
                        taken = Err(error);
                        break;
                    }
                }
            }
            queue.stop();
            taken.and(join(workers, stats))
        })
    }

    fn stream_worker(
        &self,
        queue: &Queue<'_>,
        emitted: &AtomicUsize,
        sink: &mut Sink<'_>,
        stats: &mut ScanStats,
    ) -> Result<(), StoreError> {
        let mut readers = Readers::new(self.parts, self.context);
        let mut pending: Vec<RowRef> = Vec::new();
        loop {
            let unit = queue.take();
            if let Some(unit) = unit {
                let mask = self.find(unit, &mut readers, stats)?;
                let first = self.parts[unit.part as usize].rows(unit.granule as usize).start as u32;
                pending
                    .extend(mask.rows().map(|row| RowRef { source: unit.part, row: first + row }));
            }
            loop {
                let left = self.limit.map(|l| l.saturating_sub(emitted.load(Ordering::Relaxed)));
                let enough = left.unwrap_or(usize::MAX).clamp(1, SCAN_BATCH_ROWS);
                if left == Some(0) {
                    queue.stop();
                    return Ok(());
                }
                if pending.is_empty() || (unit.is_some() && pending.len() < enough) {
                    break;
                }
                let mut rows: Vec<RowRef> = pending.drain(..enough.min(pending.len())).collect();
                let Some(batch) = self.batch(&mut rows, &mut readers, stats)? else { continue };
                let before = emitted.fetch_add(batch.num_rows(), Ordering::Relaxed);
                let wanted = self.limit.map_or(usize::MAX, |limit| limit.saturating_sub(before));
                let batch = batch.slice(0, wanted.min(batch.num_rows()));
                stats.rows_matched += batch.num_rows();
                if batch.num_rows() > 0 && sink(batch)?.is_break() {
                    queue.stop();
                    return Ok(());
                }
            }
            if unit.is_none() {
                return Ok(());
            }
        }
    }

    /// Rows in order. If a block turns out to be damaged before the first batch
    /// is out, its rows must not have cost others their place: once more.
    fn ordered(
        &self,
        units: &[Unit],
        sink: &mut Sink<'_>,
        stats: &mut ScanStats,
    ) -> Result<(), StoreError> {
        'again: loop {
            let found = self.find_ordered(units, stats)?;
            let mut readers = Readers::new(self.parts, self.context);
            for (nth, rows) in found.chunks(SCAN_BATCH_ROWS).enumerate() {
                let mut rows = rows.to_vec();
                let wanted = rows.len();
                let batch = self.batch(&mut rows, &mut readers, stats)?;
                if nth == 0 && rows.len() < wanted {
                    continue 'again;
                }
                let Some(batch) = batch else { continue };
                stats.rows_matched += batch.num_rows();
                if sink(batch)?.is_break() {
                    return Ok(());
                }
            }
            return Ok(());
        }
    }

    fn find_ordered(
        &self,
        units: &[Unit],
        stats: &mut ScanStats,
    ) -> Result<Vec<RowRef>, StoreError> {
        let top = Top::new(self.limit);
        let few = match self.limit {
            Some(_) => UNITS_BEFORE_THREADS.min(units.len()),
            None => 0,
        };
        self.order_worker(&Queue::new(&units[..few]), &top, stats)?;
        let queue = Queue::new(&units[few..]);
        let threads = self.threads(units.len() - few);
        if threads == 1 {
            self.order_worker(&queue, &top, stats)?;
            return top.finish();
        }
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| {
                        let mut stats = ScanStats::default();
                        self.order_worker(&queue, &top, &mut stats)?;
                        Ok(stats)
                    })
                })
                .collect();
            join(workers, stats)
        })?;
        top.finish()
    }

    fn order_worker(
        &self,
        queue: &Queue<'_>,
        top: &Top,
        stats: &mut ScanStats,
    ) -> Result<(), StoreError> {
        let mut readers = Readers::new(self.parts, self.context);
        while let Some(unit) = queue.take() {
            // Units come best first: if this one is too late, so are the others.
            if top.is_beyond(unit.best) {
                break;
            }
            let mask = self.find(unit, &mut readers, stats)?;
            if !mask.any() {
                continue;
            }
            let ranked = self.rank(unit, &mask, readers.of(unit.part as usize), top, stats);
            if let Err(error) = ranked {
                self.tolerate(unit.part as usize, error)?;
            }
        }
        Ok(())
    }

    fn rank(
        &self,
        unit: Unit,
        mask: &Mask,
        reader: &mut Reader<'_>,
        top: &Top,
        stats: &mut ScanStats,
    ) -> Result<(), StoreError> {
        let (granule, part) = (unit.granule as usize, reader.part());
        let no_times = || StoreError::corrupt("rows without times");
        let field = self.order.field(self.table.signal).ok_or_else(no_times)?;
        let leaf = super::part::Leaf::Field(field);
        let loaded = reader.load(leaf, granule, stats)?.ok_or_else(no_times)?;
        let rows = part.rows(granule);
        let first = rows.start as u32;
        let piece = loaded.piece(granule, rows);
        let super::packed::Slice::Int(times) = piece.values else { return Err(no_times()) };
        top.offer(mask.rows().map(|row| {
            let place = RowRef { source: unit.part, row: first + row };
            (self.order.rank(times.get(row as usize)), place)
        }))
    }
}

/// Waits for workers and adds up what they did; the first error counts.
fn join(
    workers: Vec<std::thread::ScopedJoinHandle<'_, Result<ScanStats, StoreError>>>,
    stats: &mut ScanStats,
) -> Result<(), StoreError> {
    let mut result = Ok(());
    for worker in workers {
        match worker.join() {
            Ok(Ok(done)) => stats.add(&done),
            Ok(Err(error)) => result = result.and(Err(error)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    result
}
