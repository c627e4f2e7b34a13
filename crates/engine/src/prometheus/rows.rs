//! Rows of series, read: from memory where they are known, on several threads where there are many.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashMap;
use kymo_promql::sample::{HistogramSample, Samples};
use kymo_store::StoreError;
use kymo_store::block::source::Source;
use kymo_store::series::codec::Points;
use kymo_store::series::data::SeriesChunk;
use kymo_store::series::read::read_points;

use super::caches::{BlockRow, samples_bytes};
use super::find::{Conditions, Found, Place, warn_damaged};
use super::unfold::{Unfolded, Variant, unfold};
use super::view::View;
use crate::error::EngineError;
use crate::limits::PROMETHEUS_WHOLE_ROWS_BYTES;

/// Bytes that are read before memory is taken for them, by each thread.
const UNRESERVED_BYTES: usize = 1 << 20;
/// Bytes of a decoded sample.
const SAMPLE_BYTES: usize = 16;

/// Times that a question is about, in milliseconds, both included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) start: i64,
    pub(super) end: i64,
}

impl Bounds {
    /// What of some samples lies within; nothing if that is all of them.
    pub(super) fn cut(self, samples: &Samples) -> Option<Samples> {
        let within = |count: usize, time: &dyn Fn(usize) -> i64| -> Range<usize> {
            let first = partition(count, |nth| time(nth) < self.start);
            first..partition(count, |nth| time(nth) <= self.end).max(first)
        };
        let floats = within(samples.times.len(), &|nth| samples.times[nth]);
        let histograms = within(samples.histograms.len(), &|nth| samples.histograms[nth].time);
        if floats.len() == samples.times.len() && histograms.len() == samples.histograms.len() {
            return None;
        }
        let histograms: &[HistogramSample] = &samples.histograms[histograms];
        Some(Samples {
            times: samples.times[floats.clone()].to_vec(),
            values: samples.values[floats.clone()].to_vec(),
            starts: samples.starts.get(floats).unwrap_or_default().to_vec(),
            histograms: histograms.to_vec(),
            ..Samples::default()
        })
    }

    fn cut_all(self, unfolded: &Arc<Unfolded>) -> Arc<Unfolded> {
        let cuts: Vec<Option<Samples>> =
            unfolded.iter().map(|(_, samples)| self.cut(samples)).collect();
        if cuts.iter().all(Option::is_none) {
            return unfolded.clone();
        }
        let cut = |((variant, samples), cut): (&(Variant, Arc<Samples>), Option<Samples>)| {
            (variant.clone(), cut.map_or_else(|| samples.clone(), Arc::new))
        };
        Arc::new(unfolded.iter().zip(cuts).map(cut).collect())
    }
}

/// How many of the first of so many things are something.
fn partition(count: usize, is_so: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if is_so(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

fn unfolded_bytes(unfolded: &Unfolded) -> usize {
    unfolded.iter().map(|(_, samples)| samples_bytes(samples)).sum()
}

impl Found {
    /// Whether the rows, whole, would take more memory than a question should: then only what lies
    /// in the time asked for is held. What is held whole is of use to the next question.
    pub(super) fn is_large(&self) -> bool {
        let counts = self.pieces.iter().map(|piece| piece.count);
        counts.sum::<usize>() * SAMPLE_BYTES > PROMETHEUS_WHOLE_ROWS_BYTES
    }

    /// What is kept of a piece is kept under, if it is a row of a block.
    fn key(&self, piece: usize) -> Option<BlockRow> {
        match self.pieces[piece].place {
            Place::Row { source, row } => self.sources[source].block.map(|block| (block, row)),
            Place::Open(_) => None,
        }
    }

    fn keys(&self, pieces: &[usize]) -> impl Iterator<Item = BlockRow> {
        // What has no number is no block's, and so not kept.
        pieces.iter().map(|piece| self.key(*piece).unwrap_or((u64::MAX, 0)))
    }
}

impl View {
    /// The samples of all pieces that the conditions are about, within bounds if there are any;
    /// nothing of others.
    pub(super) fn unfold(
        &self,
        conditions: &Conditions<'_>,
        found: &Found,
        bounds: Option<Bounds>,
    ) -> Result<Vec<Arc<Unfolded>>, EngineError> {
        let may_match = |nth: &usize| found.pieces[*nth].series.may_match(conditions.all());
        let wanted: Vec<usize> = (0..found.pieces.len()).filter(may_match).collect();
        let caches = self.caches();
        let mut all: Vec<Arc<Unfolded>> = vec![Arc::default(); found.pieces.len()];
        let mut missing = Vec::new();
        for (nth, known) in wanted.iter().zip(caches.rows.get_all(found.keys(&wanted))) {
            match (known, bounds) {
                (Some(known), None) => all[*nth] = known,
                (Some(known), Some(bounds)) => {
                    all[*nth] = bounds.cut_all(&known);
                    self.reserve(unfolded_bytes(&all[*nth]))?;
                }
                (None, _) => missing.push(*nth),
            }
        }
        let read = self.divided(missing.len(), |part| {
            let mut pending = Pending::new(self);
            let read = self.read(found, &missing[part], |nth, points| {
                let whole = Arc::new(unfold(found.pieces[nth].series.kind, points));
                let held = bounds.map_or_else(|| whole.clone(), |bounds| bounds.cut_all(&whole));
                pending.add(found.key(nth), whole, unfolded_bytes(&held))?;
                Ok(held)
            })?;
            pending.settle()?;
            Ok(read)
        })?;
        for (nth, unfolded) in missing.into_iter().zip(read) {
            all[nth] = unfolded;
        }
        Ok(all)
    }

    /// Which series some pieces unfold to.
    pub(super) fn variants(
        &self,
        found: &Found,
        pieces: &[usize],
    ) -> Result<Vec<Arc<[Variant]>>, EngineError> {
        let caches = self.caches();
        let mut all = caches.variants.get_all(found.keys(pieces));
        let missing: Vec<usize> = (0..pieces.len()).filter(|nth| all[*nth].is_none()).collect();
        let to_read: Vec<usize> = missing.iter().map(|nth| pieces[*nth]).collect();
        let read = self.divided(to_read.len(), |part| {
            self.read(found, &to_read[part], |nth, points| {
                let unfolded = unfold(found.pieces[nth].series.kind, points);
                let there = unfolded.into_iter().filter(|(_, samples)| !samples.is_empty());
                Ok(Some(there.map(|(variant, _)| variant).collect::<Arc<[Variant]>>()))
            })
        })?;
        let keep = |(place, variants): (&usize, &Option<Arc<[Variant]>>)| {
            let variants = variants.clone()?;
            let bytes = variants.iter().map(|variant| 40 + variant.heap_bytes()).sum();
            Some((found.key(pieces[*place])?, variants, bytes))
        };
        caches.variants.put_all(missing.iter().zip(&read).filter_map(keep));
        for (place, variants) in missing.into_iter().zip(read) {
            all[place] = variants;
        }
        Ok(all.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Does something with parts of many things on several threads, and gives what each came to,
    /// in order.
    pub(super) fn divided<T: Send>(
        &self,
        count: usize,
        work: impl Fn(Range<usize>) -> Result<Vec<T>, EngineError> + Sync,
    ) -> Result<Vec<T>, EngineError> {
        /// Series for which a thread is worth its while.
        const MIN_PER_THREAD: usize = 64;
        let parts = self.threads().min(count / MIN_PER_THREAD).max(1);
        if parts == 1 {
            return work(0..count);
        }
        let range = |part: usize| count * part / parts..count * (part + 1) / parts;
        let done: Vec<Result<Vec<T>, EngineError>> = std::thread::scope(|scope| {
            let work = &work;
            let others: Vec<_> =
                (1..parts).map(|part| scope.spawn(move || work(range(part)))).collect();
            let first = work(range(0));
            let join = |other: std::thread::ScopedJoinHandle<'_, _>| match other.join() {
                Ok(done) => done,
                Err(fault) => std::panic::resume_unwind(fault),
            };
            std::iter::once(first).chain(others.into_iter().map(join)).collect()
        });
        let mut all = Vec::with_capacity(count);
        for part in done {
            all.extend(part?);
        }
        Ok(all)
    }

    /// Reads the points of some pieces and gives what `take` makes of each; nothing of those in
    /// damaged blocks.
    fn read<T: Clone + Default>(
        &self,
        found: &Found,
        wanted: &[usize],
        mut take: impl FnMut(usize, &Points) -> Result<T, EngineError>,
    ) -> Result<Vec<T>, EngineError> {
        self.check()?;
        let mut all: Vec<T> = vec![T::default(); wanted.len()];
        let mut by_source: HashMap<usize, Vec<(u32, usize)>> = HashMap::new();
        for (place, nth) in wanted.iter().enumerate() {
            match &found.pieces[*nth].place {
                Place::Row { source, row } => {
                    by_source.entry(*source).or_default().push((*row, place));
                }
                Place::Open(points) if points.times_nanos.is_sorted_by(|a, b| a < b) => {
                    all[place] = take(*nth, points)?;
                }
                Place::Open(points) => {
                    let ordered = SeriesChunk::of_points(points, 0)?.points_in_order()?;
                    all[place] = take(*nth, &ordered)?;
                }
            }
        }
        for (source, mut rows) in by_source {
            rows.sort_unstable();
            let numbers: Vec<u32> = rows.iter().map(|(row, _)| *row).collect();
            let mut places = rows.iter().map(|(_, place)| *place);
            let source = &found.sources[source].source;
            let mut failed = None;
            let read = read_points(source, &numbers, false, &mut |_, chunk| {
                let Some(place) = places.next().filter(|_| failed.is_none()) else {
                    return Ok(());
                };
                match take(wanted[place], &chunk.points_in_order()?) {
                    Ok(taken) => all[place] = taken,
                    Err(error) => failed = Some(error),
                }
                Ok(())
            });
            if let Some(error) = failed {
                return Err(error);
            }
            match (read, source) {
                (Err(error @ StoreError::Corrupt(_)), Source::Block(block)) => {
                    warn_damaged(block.path(), &error);
                }
                (read, _) => read?,
            }
            self.check()?;
        }
        Ok(all)
    }
}

/// Rows that a thread has read, until memory is taken for them and they are kept for the next
/// question.
struct Pending<'v> {
    view: &'v View,
    kept: Vec<(BlockRow, Arc<Unfolded>, usize)>,
    kept_bytes: usize,
    held_bytes: usize,
}

impl<'v> Pending<'v> {
    fn new(view: &'v View) -> Self {
        Self { view, kept: Vec::new(), kept_bytes: 0, held_bytes: 0 }
    }

    /// Adds a row, of which so many bytes are held by the question.
    fn add(
        &mut self,
        key: Option<BlockRow>,
        whole: Arc<Unfolded>,
        held_bytes: usize,
    ) -> Result<(), EngineError> {
        if let Some(key) = key {
            let bytes = unfolded_bytes(&whole);
            self.kept.push((key, whole, bytes));
            self.kept_bytes += bytes;
        }
        self.held_bytes += held_bytes;
        if self.held_bytes.max(self.kept_bytes) > UNRESERVED_BYTES {
            self.view.check()?;
            self.settle()?;
        }
        Ok(())
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        self.view.reserve(std::mem::take(&mut self.held_bytes))?;
        self.view.caches().rows.put_all(self.kept.drain(..));
        self.kept_bytes = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_cut_to_the_time_asked_for() {
        let samples = Samples {
            times: vec![1, 2, 3, 4],
            values: vec![1.0, 2.0, 3.0, 4.0],
            starts: vec![9, 9, 9, 9],
            ..Samples::default()
        };
        let cut = |start, end| Bounds { start, end }.cut(&samples);
        assert!(cut(1, 4).is_none() && cut(0, 9).is_none());
        let some = cut(2, 3).unwrap();
        assert_eq!((some.times, some.values, some.starts.len()), (vec![2, 3], vec![2.0, 3.0], 2));
        assert!(cut(5, 9).unwrap().times.is_empty() && cut(3, 2).unwrap().times.is_empty());
    }
}
