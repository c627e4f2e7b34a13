//! Series with their samples, for PromQL.

use std::sync::Arc;

use hashbrown::{HashMap, HashTable};
use kymo_promql::labels::Labels;
use kymo_promql::sample::{HistogramSample, Samples};
use kymo_promql::source::{Select, Series, Source as SeriesSource, SourceError};
use kymo_store::series::data::{SeriesChunk, in_order};
use kymo_store::series::identity::DELTA;
use kymo_store::series::read::read_points;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::caches::samples_bytes;
use super::find::{Conditions, Found, Place, TimeRange};
use super::reading::{following, keep_later, put, without_empty_starts};
use super::rows::Bounds;
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
    /// Numbers of pieces, and where the series is in what they unfold to.
    pieces: Vec<(usize, usize)>,
}

impl View {
    /// The series that all matchers let through, with their samples.
    pub(crate) fn select_series(&self, select: &Select) -> Result<Vec<Series>, EngineError> {
        let conditions = Conditions::new(&select.matchers, self);
        let range = TimeRange::of_millis(select.start, select.end);
        let found = self.find(&conditions, range, true)?;
        let bounds = found.is_large().then_some(Bounds { start: select.start, end: select.end });
        let unfolded = self.unfold(&conditions, &found, bounds)?;
        let groups = self.group(&conditions, &found, &unfolded)?;
        let mut series = self.assemble(&found, &unfolded, groups, bounds)?;
        if conditions.wants_targets {
            series.extend(self.targets(&conditions, &found, range)?);
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
        // Hashes beside numbers: a table that grows needs them again.
        let mut by_labels: HashTable<(u64, usize)> = HashTable::new();
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
                        group.pieces.push((nth, place));
                    }
                    continue;
                }
                let labels = piece.series.labels_of(variant);
                let mut number = usize::MAX;
                if matches(&labels) {
                    let hash = hash_of(&labels);
                    let entry = by_labels.entry(
                        hash,
                        |(of, group)| *of == hash && groups[*group].labels == labels,
                        |(of, _)| *of,
                    );
                    number = entry.or_insert((hash, groups.len())).get().1;
                    if number == groups.len() {
                        let variant = variant.clone();
                        groups.push(Group { labels, variant, pieces: Vec::new() });
                    }
                    groups[number].pieces.push((nth, place));
                }
                by_series.insert(key, number);
            }
        }
        Ok(groups)
    }

    /// Joins the pieces of each group.
    fn assemble(
        &self,
        found: &Found,
        unfolded: &[Arc<Unfolded>],
        groups: Vec<Group>,
        bounds: Option<Bounds>,
    ) -> Result<Vec<Series>, EngineError> {
        self.divided(groups.len(), |part| {
            groups[part]
                .iter()
                .map(|group| {
                    let samples = self.samples_of(found, unfolded, group, bounds)?;
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
        bounds: Option<Bounds>,
    ) -> Result<Arc<Samples>, EngineError> {
        let samples = |(nth, place): &(usize, usize)| {
            unfolded[*nth].get(*place).map(|(_, samples)| samples.clone()).unwrap_or_default()
        };
        if let [only] = &group.pieces[..] {
            return Ok(samples(only));
        }
        let mut pieces = group.pieces.clone();
        pieces.sort_by_key(|(nth, _)| found.pieces[*nth].min_time_nanos);
        let numbers: Vec<usize> = pieces.iter().map(|(nth, _)| *nth).collect();
        let key = match bounds {
            None => self.joined_key(found, &numbers, &group.variant),
            // What is left of a row for one question is of no use to the next.
            Some(_) => None,
        };
        let caches = self.caches();
        if let Some(key) = key
            && let Some(known) = caches.joined.get(key)
        {
            return Ok(known);
        }
        let piece = |nth: &usize| &found.pieces[*nth];
        let pairs = || numbers.windows(2).map(|pair| (piece(&pair[0]), piece(&pair[1])));
        let is_divided = pairs().all(|(one, next)| one.max_time_nanos < next.min_time_nanos);
        let is_alike = pairs().all(|(one, next)| Arc::ptr_eq(&one.series, &next.series));
        let accumulates = is_alike && piece(&numbers[0]).series.kind.temporality == Some(DELTA);
        let joined = if is_divided {
            concatenated(pieces.iter().map(samples), accumulates)
        } else if is_alike {
            let whole = self.overlapping(found, &numbers, &group.variant)?;
            bounds.and_then(|bounds| bounds.cut(&whole)).unwrap_or(whole)
        } else {
            merged(pieces.iter().map(samples))
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

fn hash_of(labels: &Labels) -> u64 {
    let mut hash = 0u64;
    for label in labels {
        hash = hash.rotate_left(5) ^ xxh3_64(label.name.as_bytes());
        hash = hash.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ^ xxh3_64(label.value.as_bytes());
    }
    hash
}

/// One after the other; what accumulates goes on from one to the next.
fn concatenated(parts: impl Iterator<Item = Arc<Samples>>, accumulates: bool) -> Samples {
    let parts: Vec<Arc<Samples>> = parts.collect();
    let count = parts.iter().map(|part| part.times.len()).sum();
    let has_starts = parts.iter().any(|part| !part.starts.is_empty());
    let mut all = Samples {
        times: Vec::with_capacity(count),
        values: Vec::with_capacity(count),
        ..Samples::default()
    };
    for part in &parts {
        let continued = accumulates.then(|| following(&all, part));
        let part = continued.as_ref().unwrap_or(part);
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
        put(&mut all, time, start, value);
    }
    without_empty_starts(&mut all);
    settle(&mut all);
    all
}

/// What histograms say of those before them, which may have been in another part.
fn settle(samples: &mut Samples) {
    if !samples.histograms.is_empty() {
        keep_later(&mut samples.histograms);
        samples.settle_hints();
    }
}
