//! Rows in an order: the best are found first, then made into batches.

use std::collections::VecDeque;

use arrow_array::RecordBatch;

use super::ScanStats;
use super::mask::Mask;
use super::packed::Slice;
use super::part::Leaf;
use super::reader::Reader;
use super::top::Top;
use super::work::{Readers, TooLarge, Unit, Work};
use crate::block::source::RowRef;
use crate::error::StoreError;
use crate::limits::SCAN_BATCH_ROWS;

/// Granules for which another thread is worth starting.
pub(super) const UNITS_PER_THREAD: usize = 8;
/// Granules that a search for the first rows visits before it starts threads:
/// most such searches end there.
const UNITS_BEFORE_THREADS: usize = 4;

/// Rows that were found, and what of them is still to be handed out.
#[derive(Debug, Default)]
pub(super) struct Ordered {
    /// `None` before the search.
    found: Option<VecDeque<Vec<RowRef>>>,
    is_first_out: bool,
}

impl Ordered {
    /// The next batch. If a block turns out to be damaged before the first batch
    /// is out, its rows must not have cost others their place: once more.
    pub(super) fn next(
        &mut self,
        work: &Work,
        readers: &mut Readers,
        stats: &mut ScanStats,
    ) -> Result<Option<RecordBatch>, StoreError> {
        let prepared = &work.prepared;
        loop {
            if self.found.is_none() {
                let found = find(work, stats)?;
                self.found = Some(found.chunks(SCAN_BATCH_ROWS).map(<[_]>::to_vec).collect());
            }
            let Some(mut rows) = self.found.as_mut().and_then(VecDeque::pop_front) else {
                return Ok(None);
            };
            let wanted = rows.len();
            let batch = prepared.batch(&mut rows, readers, stats)?;
            if !self.is_first_out && rows.len() < wanted {
                self.found = None;
                continue;
            }
            match batch {
                Err(TooLarge) => {
                    let second = rows.split_off(rows.len() / 2);
                    let left = self.found.get_or_insert_default();
                    left.push_front(second);
                    left.push_front(rows);
                }
                Ok(None) => {}
                Ok(Some(batch)) => {
                    self.is_first_out = true;
                    return Ok(Some(batch));
                }
            }
        }
    }
}

/// The rows, in order, up to the limit.
fn find(work: &Work, stats: &mut ScanStats) -> Result<Vec<RowRef>, StoreError> {
    let (units, prepared) = (&work.units[..], &work.prepared);
    let top = Top::new(prepared.limit);
    let few = match prepared.limit {
        Some(_) => UNITS_BEFORE_THREADS.min(units.len()),
        None => 0,
    };
    let next = |nth: usize| units.get(..few)?.get(nth).copied();
    visit(work, &Counter::default(), next, &top, stats)?;
    let rest = &units[few..];
    let counter = Counter::default();
    let next = |nth: usize| rest.get(nth).copied();
    let threads = prepared.context.threads.min(rest.len() / UNITS_PER_THREAD).max(1);
    if threads == 1 {
        visit(work, &counter, next, &top, stats)?;
        return top.finish();
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut stats = ScanStats::default();
                    visit(work, &counter, next, &top, &mut stats)?;
                    Ok(stats)
                })
            })
            .collect();
        super::run::join(workers, stats)
    })?;
    top.finish()
}

type Counter = std::sync::atomic::AtomicUsize;

/// Offers the rows of units, one after another, until none can be wanted.
fn visit(
    work: &Work,
    counter: &Counter,
    unit: impl Fn(usize) -> Option<Unit>,
    top: &Top,
    stats: &mut ScanStats,
) -> Result<(), StoreError> {
    let prepared = &work.prepared;
    let mut readers = Readers::new(prepared);
    while let Some(unit) = unit(counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
        // Units come best first: if this one is too late, so are the others.
        if top.is_beyond(unit.best) {
            break;
        }
        let mask = prepared.find(unit, &mut readers, stats)?;
        if !mask.any() {
            continue;
        }
        let reader = readers.of(unit.part as usize);
        if let Err(error) = rank(work, unit, &mask, reader, top, stats) {
            prepared.tolerate(unit.part, error)?;
        }
    }
    Ok(())
}

fn rank(
    work: &Work,
    unit: Unit,
    mask: &Mask,
    reader: &mut Reader,
    top: &Top,
    stats: &mut ScanStats,
) -> Result<(), StoreError> {
    let (granule, part, order) = (unit.granule as usize, reader.part(), work.prepared.order);
    let no_values = || StoreError::corrupt("rows without what they are ordered by");
    let field = order.field(work.prepared.table.signal).ok_or_else(no_values)?;
    let loaded = reader.load(Leaf::Field(field), granule, stats)?.ok_or_else(no_values)?;
    let rows = part.rows(granule);
    let first = rows.start as u32;
    let piece = loaded.piece(granule, rows);
    let Slice::Int(values) = piece.values else { return Err(no_values()) };
    top.offer(mask.rows().map(|row| {
        let place = RowRef { source: unit.part, row: first + row };
        (order.rank(values.get(row as usize)), place)
    }))
}
