//! Series with their samples, for PromQL.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::{HashMap, HashTable};
use kymo_promql::labels::Labels;
use kymo_promql::sample::{HistogramSample, Samples};
use kymo_promql::source::{Select, Series, Source as SeriesSource, SourceError};
use kymo_store::StoreError;
use kymo_store::block::source::Source;
use kymo_store::series::codec::Points;
use kymo_store::series::data::{SeriesChunk, in_order};
use kymo_store::series::read::read_points;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::caches::samples_bytes;
use super::find::{Conditions, Found, Place, TimeRange, warn_damaged};
use super::target;
use super::unfold::{Unfolded, Variant, unfold};
use super::view::View;
use crate::error::EngineError;

impl SeriesSource for View {
    fn select(&self, select: &Select) -> Result<Vec<Series>, SourceError> {
        Ok(self.select_series(select)?)
    }
}

/// Pieces of the series with one set of labels.
struct Group {
    labels: Labels,
    variant: Variant,
    pieces: Vec<usize>,
}

impl View {
    /// The series that all matchers let through, with their samples.
    pub(crate) fn select_series(&self, select: &Select) -> Result<Vec<Series>, EngineError> {
        let conditions = Conditions::new(&select.matchers, self);
        let range = TimeRange::of_millis(select.start, select.end);
        let found = self.find(&conditions, range, true)?;
        let everything: Vec<usize> = (0..found.pieces.len()).collect();
        let unfolded = self.unfold_some(&found, &everything)?;
        let groups = self.group(&conditions, &found, &unfolded)?;
        let mut series = self.assemble(&found, &unfolded, groups)?;
        if conditions.wants_targets {
            series.extend(target::series(&conditions, &found, range));
        }
        // Where series lie is nobody's business: answers are always in the same order.
        series.sort_unstable_by(|a, b| a.labels.cmp(&b.labels));
        Ok(series)
    }

    /// Groups pieces by the labels they have in the end.
    fn group(
        &self,
        conditions: &Conditions<'_>,
        found: &Found,
        unfolded: &[Arc<Unfolded>],
    ) -> Result<Vec<Group>, EngineError> {
        let matches = |labels: &Labels| {
            let fulfils = |matcher: &kymo_promql::matcher::LabelMatcher| {
                matcher.matches(labels.get(&matcher.name).unwrap_or_default())
            };
            conditions.all().iter().all(fulfils)
        };
        let mut groups: Vec<Group> = Vec::new();
        let mut by_labels: HashTable<usize> = HashTable::new();
        let mut by_series: HashMap<(usize, usize), usize> = HashMap::new();
        for (nth, piece) in found.pieces.iter().enumerate() {
            for (place, (variant, samples)) in unfolded[nth].iter().enumerate() {
                if samples.is_empty() {
                    continue;
                }
                // Most pieces of a series share what describes it.
                let is_single = *variant == Variant::Whole;
                let key = (Arc::as_ptr(&piece.series) as usize, place);
                if is_single && let Some(group) = by_series.get(&key) {
                    if let Some(group) = groups.get_mut(*group) {
                        group.pieces.push(nth);
                    }
                    continue;
                }
                let labels = piece.series.labels_of(variant);
                let mut number = usize::MAX;
                if matches(&labels) {
                    let hash = hash_of(&labels);
                    let entry = by_labels.entry(
                        hash,
                        |group| groups[*group].labels == labels,
                        |group| hash_of(&groups[*group].labels),
                    );
                    number = *entry.or_insert(groups.len()).get();
                    if number == groups.len() {
                        let variant = variant.clone();
                        groups.push(Group { labels, variant, pieces: Vec::new() });
                    }
                    groups[number].pieces.push(nth);
                }
                by_series.insert(key, number);
            }
        }
        Ok(groups)
    }

    /// The samples of some pieces, from memory where they are known.
    pub(super) fn unfold_some(
        &self,
        found: &Found,
        pieces: &[usize],
    ) -> Result<Vec<Arc<Unfolded>>, EngineError> {
        let caches = self.caches();
        let key = |piece: usize| match found.pieces[piece].place {
            Place::Row { source, row } => found.sources[source].block.map(|block| (block, row)),
            Place::Open(_) => None,
        };
        // What has no number is no block's, and so not kept.
        let keys = pieces.iter().map(|piece| key(*piece).unwrap_or((u64::MAX, 0)));
        let mut unfolded: Vec<Option<Arc<Unfolded>>> = caches.rows.get_all(keys);
        let is_missing = |place: &usize| unfolded[*place].is_none();
        let missing: Vec<usize> = (0..pieces.len()).filter(is_missing).collect();
        let to_read: Vec<usize> = missing.iter().map(|place| pieces[*place]).collect();
        let read = self.divided(to_read.len(), |part| self.read(found, &to_read[part]))?;
        let mut to_keep = Vec::new();
        for (place, series) in missing.into_iter().zip(read) {
            let bytes: usize = series.iter().map(|(_, samples)| samples_bytes(samples)).sum();
            self.reserve(bytes)?;
            if let Some(key) = key(pieces[place]) {
                to_keep.push((key, series.clone(), bytes));
            }
            unfolded[place] = Some(series);
        }
        caches.rows.put_all(to_keep.into_iter());
        Ok(unfolded.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Does something with parts of many things on several threads, and gives what each came to,
    /// in order.
    fn divided<T: Send>(
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

    /// Reads and unfolds some pieces.
    fn read(&self, found: &Found, wanted: &[usize]) -> Result<Vec<Arc<Unfolded>>, EngineError> {
        self.check()?;
        let mut all: Vec<Arc<Unfolded>> = vec![Arc::default(); wanted.len()];
        let mut by_source: HashMap<usize, Vec<(u32, usize)>> = HashMap::new();
        for (place, nth) in wanted.iter().enumerate() {
            let piece = &found.pieces[*nth];
            match &piece.place {
                Place::Row { source, row } => {
                    by_source.entry(*source).or_default().push((*row, place));
                }
                Place::Open(points) => {
                    let points = ordered(points)?;
                    all[place] = Arc::new(unfold(piece.series.kind, &points));
                }
            }
        }
        for (source, mut rows) in by_source {
            rows.sort_unstable();
            let numbers: Vec<u32> = rows.iter().map(|(row, _)| *row).collect();
            let mut places = rows.iter().map(|(_, place)| *place);
            let source = &found.sources[source].source;
            let read = read_points(source, &numbers, false, &mut |_, chunk| {
                let Some(place) = places.next() else { return Ok(()) };
                let kind = found.pieces[wanted[place]].series.kind;
                all[place] = Arc::new(unfold(kind, &chunk.points_in_order()?));
                Ok(())
            });
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

    /// Joins the pieces of each group.
    fn assemble(
        &self,
        found: &Found,
        unfolded: &[Arc<Unfolded>],
        groups: Vec<Group>,
    ) -> Result<Vec<Series>, EngineError> {
        self.divided(groups.len(), |part| {
            groups[part]
                .iter()
                .map(|group| {
                    let samples = self.samples_of(found, unfolded, group)?;
                    Ok(Series { labels: group.labels.clone(), samples })
                })
                .collect()
        })
    }

    fn samples_of(
        &self,
        found: &Found,
        unfolded: &[Arc<Unfolded>],
        group: &Group,
    ) -> Result<Arc<Samples>, EngineError> {
        let samples = |piece: usize| {
            let of_variant = unfolded[piece].iter().find(|(variant, _)| *variant == group.variant);
            of_variant.map(|(_, samples)| samples.clone()).unwrap_or_default()
        };
        if let [only] = group.pieces[..] {
            return Ok(samples(only));
        }
        let mut pieces = group.pieces.clone();
        pieces.sort_by_key(|nth| found.pieces[*nth].min_time_nanos);
        let key = self.joined_key(found, &pieces, &group.variant);
        let caches = self.caches();
        if let Some(key) = key
            && let Some(known) = caches.joined.get(key)
        {
            return Ok(known);
        }
        let is_divided = pieces.windows(2).all(|pair| {
            found.pieces[pair[0]].max_time_nanos < found.pieces[pair[1]].min_time_nanos
        });
        let is_alike = pieces
            .windows(2)
            .all(|pair| Arc::ptr_eq(&found.pieces[pair[0]].series, &found.pieces[pair[1]].series));
        let joined = if is_divided {
            concatenated(pieces.iter().map(|nth| samples(*nth)))
        } else if is_alike {
            self.overlapping(found, &pieces, &group.variant)?
        } else {
            merged(pieces.iter().map(|nth| samples(*nth)))
        };
        let joined = Arc::new(joined);
        let bytes = samples_bytes(&joined);
        self.reserve(bytes)?;
        if let Some(key) = key {
            caches.joined.put_all([(key, joined.clone(), bytes)].into_iter());
        }
        Ok(joined)
    }

    /// What is kept under, if all pieces are rows of blocks.
    fn joined_key(&self, found: &Found, pieces: &[usize], variant: &Variant) -> Option<u128> {
        let mut bytes = Vec::with_capacity(pieces.len() * 12 + 16);
        for nth in pieces {
            let Place::Row { source, row } = found.pieces[*nth].place else { return None };
            bytes.extend_from_slice(&found.sources[source].block?.to_le_bytes());
            bytes.extend_from_slice(&row.to_le_bytes());
        }
        bytes.extend_from_slice(variant.suffix().as_bytes());
        bytes.extend_from_slice(variant.label().map_or("", |(_, value)| value).as_bytes());
        Some(xxh3_128(&bytes))
    }

    /// Samples of pieces of one series that overlap in time: of those of equal time the one that
    /// came last counts, so the points are put in order before they are unfolded.
    fn overlapping(
        &self,
        found: &Found,
        pieces: &[usize],
        variant: &Variant,
    ) -> Result<Samples, EngineError> {
        let mut chunks: Vec<SeriesChunk> = Vec::new();
        let mut latest = i64::MIN;
        for nth in pieces {
            if let Place::Row { source, row } = found.pieces[*nth].place {
                let source = &found.sources[source].source;
                read_points(source, &[row], false, &mut |_, chunk| {
                    latest = latest.max(chunk.sequence);
                    chunks.push(chunk);
                    Ok(())
                })?;
            }
        }
        let kind = found.pieces[pieces[0]].series.kind;
        for nth in pieces {
            if let Place::Open(points) = &found.pieces[*nth].place {
                // What is not in rows yet came after all that is.
                chunks.push(SeriesChunk::of_points(points, latest.saturating_add(1))?);
            }
        }
        let points = in_order(&chunks)?;
        let unfolded = unfold(kind, &points);
        let of_variant = unfolded.into_iter().find(|(of, _)| of == variant);
        Ok(of_variant.map(|(_, samples)| Arc::unwrap_or_clone(samples)).unwrap_or_default())
    }
}

/// Points in order of time, each time once.
fn ordered(points: &Points) -> Result<Points, EngineError> {
    if points.times_nanos.is_sorted_by(|a, b| a < b) {
        return Ok(points.clone());
    }
    let chunk = SeriesChunk::of_points(points, 0)?;
    Ok(chunk.points_in_order()?)
}

fn hash_of(labels: &Labels) -> u64 {
    let mut hash = 0u64;
    for label in labels {
        hash = hash.rotate_left(5) ^ xxh3_64(label.name.as_bytes());
        hash = hash.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ xxh3_64(label.value.as_bytes());
    }
    hash
}

/// One after the other.
fn concatenated(parts: impl Iterator<Item = Arc<Samples>>) -> Samples {
    let parts: Vec<Arc<Samples>> = parts.collect();
    let count = parts.iter().map(|part| part.times.len()).sum();
    let has_starts = parts.iter().any(|part| !part.starts.is_empty());
    let mut all = Samples {
        times: Vec::with_capacity(count),
        values: Vec::with_capacity(count),
        ..Samples::default()
    };
    for part in &parts {
        // Neighbours within one millisecond are one: the later.
        if all.times.last().is_some_and(|last| part.times.first() == Some(last)) {
            all.times.pop();
            all.values.pop();
            all.starts.pop();
        }
        all.times.extend_from_slice(&part.times);
        all.values.extend_from_slice(&part.values);
        if has_starts {
            all.starts.extend_from_slice(&part.starts);
            all.starts.resize(all.times.len(), 0);
        }
        all.histograms.extend_from_slice(&part.histograms);
    }
    settle(&mut all);
    all
}

/// Merged by time; of two of one time the later part's.
fn merged(parts: impl Iterator<Item = Arc<Samples>>) -> Samples {
    let mut floats: Vec<(i64, f64, i64)> = Vec::new();
    let mut histograms: Vec<HistogramSample> = Vec::new();
    for part in parts {
        for (nth, (time, value)) in part.times.iter().zip(&part.values).enumerate() {
            floats.push((*time, *value, part.starts.get(nth).copied().unwrap_or(0)));
        }
        histograms.extend_from_slice(&part.histograms);
    }
    floats.sort_by_key(|(time, ..)| *time);
    histograms.sort_by_key(|sample| sample.time);
    let mut all = Samples { histograms, ..Samples::default() };
    for (time, value, start) in floats {
        if all.times.last() == Some(&time) {
            all.times.pop();
            all.values.pop();
            all.starts.pop();
        }
        all.times.push(time);
        all.values.push(value);
        all.starts.push(start);
    }
    if all.starts.iter().all(|start| *start == 0) {
        all.starts = Vec::new();
    }
    settle(&mut all);
    all
}

/// What histograms say of those before them, which may have been in another part.
fn settle(samples: &mut Samples) {
    if !samples.histograms.is_empty() {
        samples.histograms.dedup_by_key(|sample| sample.time);
        samples.settle_hints();
    }
}
