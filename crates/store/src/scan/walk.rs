//! A walk over the traces that have rows which pass, those with the newest first.
//!
//! Granules are visited by the time of their newest row. What was found is handed
//! out as soon as no unread granule can hold a newer row: so each trace comes
//! once, with its newest row, in an order that does not depend on where rows
//! lie, and who has enough reads no further.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::packed::Slice;
use super::part::Leaf;
use super::run::on_threads;
use super::trace_map::TraceMap;
use super::work::{Readers, Unit, Work};
use super::{Order, Prepared, Scan, ScanContext, ScanStats};
use crate::block::source::Source;
use crate::error::StoreError;
use crate::limits::{
    WALK_FIRST_GRANULES, WALK_GRANULES_PER_THREAD, WALK_MOST_GRANULES, WALK_READERS_BYTES,
};
use crate::schema::Signal;
use crate::tables::spans;

/// A trace with rows that pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walked {
    /// Hash of its id, see [`crate::block::trace_index::trace_hash`].
    pub hash: u64,
    /// The start of its newest row that passes.
    pub newest_nanos: i64,
}

/// A walk under way.
#[derive(Debug)]
pub struct Walk {
    work: Arc<Work>,
    maps: Vec<Option<TraceMap>>,
    readers: Vec<Readers>,
    next_unit: usize,
    round: usize,
    /// The newest row of each trace that was found and not handed out.
    newest: HashMap<u64, i64>,
    /// The same by time, then by hash; entries may be outdated.
    queue: BinaryHeap<(i64, Reverse<u64>)>,
    given: HashSet<u64>,
    stats: ScanStats,
}

impl Walk {
    /// Begins a walk over the traces of spans that pass the predicate of `scan` and lie in its time.
    pub fn new(sources: &[Source], scan: &Scan, context: ScanContext) -> Result<Self, StoreError> {
        let scan = Scan {
            columns: Vec::new(),
            order: Order::NewestFirst,
            limit: None,
            elements: None,
            ..scan.clone()
        };
        let threads = context.threads.max(1);
        let prepared = Prepared::new(sources, Signal::Spans, &scan, context)?;
        let work = prepared.start();
        Ok(Self {
            maps: prepared.parts.iter().map(|_| None).collect(),
            readers: (0..threads).map(|_| Readers::new(&prepared)).collect(),
            work,
            next_unit: 0,
            round: WALK_FIRST_GRANULES,
            newest: HashMap::new(),
            queue: BinaryHeap::new(),
            given: HashSet::new(),
            stats: ScanStats::default(),
        })
    }

    /// Reads a few granules more and returns the traces that are sure to come next: perhaps none.
    /// `None` when all were handed out. Each is newer than those of the next call.
    pub fn next(&mut self, wanted: usize) -> Result<Option<Vec<Walked>>, StoreError> {
        let mut ready = self.ready(wanted);
        if ready.is_empty() {
            if self.next_unit >= self.work.units.len() {
                return Ok(None);
            }
            self.read_round()?;
            ready = self.ready(wanted);
        }
        Ok(Some(ready))
    }

    /// Granules that may hold rows, and how many of them were read.
    pub fn progress(&self) -> (usize, usize) {
        (self.work.units.len(), self.next_unit.min(self.work.units.len()))
    }

    /// What was done so far.
    pub fn stats(&self) -> ScanStats {
        let mut stats = self.work.stats();
        stats.add(&self.stats);
        stats
    }

    /// Bytes that are held to know what was handed out.
    pub fn held_bytes(&self) -> usize {
        let entry = size_of::<(u64, i64)>();
        self.given.capacity() * (size_of::<u64>() + 1)
            + self.newest.capacity() * (entry + 1)
            + self.queue.capacity() * entry
    }

    /// Takes what no unread granule can precede.
    fn ready(&mut self, wanted: usize) -> Vec<Walked> {
        // Ranks are inverted times; see `Order::rank`.
        let bound = self.work.units.get(self.next_unit).map(|unit| !unit.best);
        let mut ready = Vec::new();
        while ready.len() < wanted
            && let Some((newest_nanos, Reverse(hash))) = self.queue.peek().copied()
        {
            if bound.is_some_and(|bound| newest_nanos <= bound) {
                break;
            }
            self.queue.pop();
            if self.newest.get(&hash) == Some(&newest_nanos) {
                self.newest.remove(&hash);
                self.given.insert(hash);
                ready.push(Walked { hash, newest_nanos });
            }
        }
        ready
    }

    fn read_round(&mut self) -> Result<(), StoreError> {
        let end = (self.next_unit + self.round).min(self.work.units.len());
        let units = &self.work.units[self.next_unit..end];
        self.round = (self.round * 4).min(WALK_MOST_GRANULES);
        self.next_unit = end;
        let prepared = &self.work.prepared;
        for unit in units {
            let part = unit.part as usize;
            if self.maps[part].is_none() && !prepared.is_damaged(unit.part) {
                match TraceMap::of(&prepared.parts[part].source, &prepared.context.cache) {
                    Ok(map) => self.maps[part] = Some(map),
                    Err(error) => prepared.tolerate(unit.part, error)?,
                }
            }
        }
        let threads = self.readers.len().min(units.len() / WALK_GRANULES_PER_THREAD).max(1);
        let (maps, share) = (&self.maps, units.len().div_ceil(threads));
        let visit = |units: &[Unit], readers: &mut Readers| {
            let mut found = Vec::new();
            let mut stats = ScanStats::default();
            for unit in units {
                let Some(map) = &maps[unit.part as usize] else { continue };
                if let Err(error) = visit(prepared, *unit, map, readers, &mut found, &mut stats) {
                    prepared.tolerate(unit.part, error)?;
                }
            }
            Ok::<_, StoreError>((found, stats))
        };
        let results: Vec<Result<_, StoreError>> = if threads == 1 {
            vec![visit(units, &mut self.readers[0])]
        } else {
            std::thread::scope(|scope| {
                let workers: Vec<_> = units
                    .chunks(share)
                    .zip(&mut self.readers)
                    .map(|(units, readers)| scope.spawn(move || visit(units, readers)))
                    .collect();
                let joined = workers.into_iter().map(|worker| match worker.join() {
                    Ok(result) => result,
                    Err(panic) => std::panic::resume_unwind(panic),
                });
                joined.collect()
            })
        };
        self.readers.iter_mut().for_each(|readers| readers.trim(WALK_READERS_BYTES));
        for result in results {
            let (found, stats) = result?;
            self.stats.add(&stats);
            found.into_iter().for_each(|(hash, newest)| self.offer(hash, newest));
        }
        Ok(())
    }

    fn offer(&mut self, hash: u64, newest_nanos: i64) {
        if self.given.contains(&hash) {
            return;
        }
        let known = self.newest.entry(hash).or_insert(i64::MIN);
        if newest_nanos > *known || *known == i64::MIN {
            *known = newest_nanos;
            self.queue.push((newest_nanos, Reverse(hash)));
        }
    }
}

/// Hashes of all traces that have a row which passes the predicate of `scan` and lies in its time.
pub fn traces_with(
    sources: &[Source],
    scan: &Scan,
    context: ScanContext,
) -> Result<HashSet<u64>, StoreError> {
    let scan = Scan { columns: Vec::new(), limit: None, elements: None, ..scan.clone() };
    let threads = context.threads.max(1);
    let prepared = Prepared::new(sources, Signal::Spans, &scan, context)?;
    let work = prepared.start();
    let collect = || {
        let mut readers = Readers::new(&prepared);
        let mut found = Vec::new();
        let mut hashes = HashSet::new();
        let mut stats = ScanStats::default();
        while let Some(unit) = work.take_unit() {
            let source = &prepared.parts[unit.part as usize].source;
            let visited = TraceMap::of(source, &prepared.context.cache)
                .and_then(|map| visit(&prepared, unit, &map, &mut readers, &mut found, &mut stats));
            if let Err(error) = visited {
                prepared.tolerate(unit.part, error)?;
            }
            hashes.extend(found.drain(..).map(|(hash, _)| hash));
            readers.trim(WALK_READERS_BYTES);
        }
        Ok(hashes)
    };
    Ok(on_threads(threads, collect)?.into_iter().flatten().collect())
}

/// Finds the traces of one granule's rows that pass, with the newest row of each.
fn visit(
    prepared: &Arc<Prepared>,
    unit: Unit,
    map: &TraceMap,
    readers: &mut Readers,
    found: &mut Vec<(u64, i64)>,
    stats: &mut ScanStats,
) -> Result<(), StoreError> {
    let mask = prepared.find(unit, readers, stats)?;
    if !mask.any() {
        return Ok(());
    }
    let granule = unit.granule as usize;
    let no_times = || StoreError::corrupt("spans without times");
    let reader = readers.of(unit.part as usize);
    let starts = Leaf::Field(spans::field::START_TIME);
    let loaded = reader.load(starts, granule, stats)?.ok_or_else(no_times)?;
    let rows = reader.part().rows(granule);
    let first = rows.start as u32;
    let piece = loaded.piece(granule, rows);
    let Slice::Int(starts) = piece.values else { return Err(no_times()) };
    let passing: Vec<u32> = mask.rows().map(|row| row + first).collect();
    stats.rows_matched += passing.len();
    map.each_trace(&passing, |hash, rows| {
        let newest = rows.iter().map(|row| starts.get((row - first) as usize)).max();
        let newest = newest.unwrap_or(i64::MIN);
        match found.last_mut() {
            Some((last, known)) if *last == hash => *known = newest.max(*known),
            _ => found.push((hash, newest)),
        }
    });
    Ok(())
}
