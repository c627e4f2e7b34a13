//! Which stored series a question is about: rows of blocks, rows and points of heads.
//!
//! Metrics are tested first, by name; then the labels of their series, which are
//! known by identity from query to query. Nothing of what describes or holds a
//! series is read before.

use std::sync::Arc;

use hashbrown::HashMap;
use kymo_promql::labels::NAME;
use kymo_promql::matcher::LabelMatcher;
use kymo_store::StoreError;
use kymo_store::block::source::Source;
use kymo_store::series::codec::Points;
use kymo_store::series::identity::MetricKind;
use kymo_store::series::index::{IndexedMetric, SeriesIndex};
use kymo_store::series::open::OpenHead;
use kymo_store::series::read::describe_rows;

use super::caches::IndexedBlock;
use super::translate::{TARGET_INFO, Translated};
use super::view::View;
use crate::error::EngineError;

/// Times in nanoseconds, both ends included.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimeRange {
    pub(crate) start: i64,
    pub(crate) end: i64,
}

impl TimeRange {
    /// Of times in milliseconds.
    pub(crate) fn of_millis(start: i64, end: i64) -> Self {
        let nanos = |millis: i64| millis.saturating_mul(1_000_000);
        Self { start: nanos(start), end: nanos(end).saturating_add(999_999) }
    }
}

/// Where the points of a piece lie.
#[derive(Debug)]
pub(crate) enum Place {
    /// A row of one of the sources.
    Row {
        /// Which source.
        source: usize,
        /// Which row.
        row: u32,
    },
    /// Points of a head, copied.
    Open(Box<Points>),
}

/// Some of a series.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) series: Arc<Translated>,
    pub(crate) place: Place,
    /// How many points it has.
    pub(crate) count: usize,
    pub(crate) min_time_nanos: i64,
    pub(crate) max_time_nanos: i64,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) sources: Vec<FoundSource>,
    pub(crate) pieces: Vec<Piece>,
}

/// A source that pieces lie in.
#[derive(Debug)]
pub(crate) struct FoundSource {
    pub(crate) source: Source,
    /// The number of a block; none of rows in memory.
    pub(crate) block: Option<u64>,
}

/// Conditions, taken apart.
pub(crate) struct Conditions<'m> {
    all: &'m [LabelMatcher],
    names: Vec<&'m LabelMatcher>,
    /// Whether series that describe targets are asked for.
    pub(crate) wants_targets: bool,
}

impl<'m> Conditions<'m> {
    pub(crate) fn new(all: &'m [LabelMatcher], view: &View) -> Self {
        let names: Vec<&LabelMatcher> = all.iter().filter(|matcher| matcher.name == NAME).collect();
        let namespace = &view.naming().namespace;
        let target = match namespace.is_empty() {
            true => TARGET_INFO.to_owned(),
            false => format!("{namespace}_{TARGET_INFO}"),
        };
        let wants_targets = names.iter().all(|matcher| matcher.matches(&target));
        Self { all, names, wants_targets }
    }

    pub(crate) fn all(&self) -> &'m [LabelMatcher] {
        self.all
    }

    /// Whether series of a metric may be asked for.
    fn wants(&self, view: &View, name: &[u8], unit: &[u8], kind: MetricKind) -> bool {
        if self.wants_targets && !kind.metric_type.is_prometheus() {
            return true;
        }
        let name = view.naming().name_of(name, unit, kind);
        name.is_some_and(|name| view.naming().may_match(&name, kind, &self.names))
    }

    /// Whether a series may be asked for, or its target.
    fn wants_series(&self, series: &Translated) -> bool {
        series.may_match(self.all) || (self.wants_targets && series.target.is_some())
    }
}

impl View {
    /// Finds series. Points of heads are copied only if they are wanted.
    pub(crate) fn find(
        &self,
        conditions: &Conditions<'_>,
        range: TimeRange,
        wants_points: bool,
    ) -> Result<Found, EngineError> {
        let mut found = Found::default();
        self.for_each_block(range, |source, indexed| {
            let before = found.pieces.len();
            let number = Some(indexed.id);
            let added =
                self.find_rows(&mut found, conditions, range, source, &indexed.index, number);
            if added.is_err() {
                found.pieces.truncate(before);
            }
            added
        })?;
        self.find_in_heads(&mut found, conditions, range, wants_points)?;
        Ok(found)
    }

    /// Finds series in memory.
    pub(super) fn find_in_heads(
        &self,
        found: &mut Found,
        conditions: &Conditions<'_>,
        range: TimeRange,
        wants_points: bool,
    ) -> Result<(), EngineError> {
        let mut copied = Ok(());
        self.snapshot().for_each_head(&mut |head| {
            for rows in &head.rows {
                let source = Source::Chunk(rows.clone());
                let index = SeriesIndex::read(&source)?;
                self.find_rows(found, conditions, range, source, &index, None)?;
            }
            if copied.is_ok() {
                copied = self.find_open(found, conditions, range, head, wants_points);
            }
            Ok(())
        })?;
        copied
    }

    /// Does something with all blocks of some time. A damaged one is left out.
    pub(super) fn for_each_block(
        &self,
        range: TimeRange,
        mut visit: impl FnMut(Source, &IndexedBlock) -> Result<(), StoreError>,
    ) -> Result<(), EngineError> {
        let blocks = self.snapshot().blocks();
        let nanos = range.start..range.end.saturating_add(1);
        for source in self.store().sources(blocks, Some(nanos))? {
            self.check()?;
            let Source::Block(block) = &source else { continue };
            let path = block.path().to_owned();
            let visited = self.index_of(&path, &source).and_then(|indexed| visit(source, &indexed));
            match visited {
                Err(error @ StoreError::Corrupt(_)) => warn_damaged(&path, &error),
                visited => visited?,
            }
        }
        Ok(())
    }

    /// The index of a block.
    fn index_of(&self, path: &str, source: &Source) -> Result<Arc<IndexedBlock>, StoreError> {
        let caches = self.caches();
        let path: Arc<str> = path.into();
        if let Some(indexed) = caches.indexes.get(path.clone()) {
            return Ok(indexed);
        }
        let indexed = Arc::new(IndexedBlock::new(caches.next_block(), SeriesIndex::read(source)?));
        let bytes = indexed.index.heap_bytes();
        caches.indexes.put_all([(path, indexed.clone(), bytes)].into_iter());
        Ok(indexed)
    }

    pub(super) fn find_rows(
        &self,
        found: &mut Found,
        conditions: &Conditions<'_>,
        range: TimeRange,
        source: Source,
        index: &SeriesIndex,
        block: Option<u64>,
    ) -> Result<(), StoreError> {
        let wants = |metric: &IndexedMetric| {
            conditions.wants(self, &metric.name, &metric.unit, metric.kind)
        };
        let wanted: Vec<bool> = index.metrics.iter().map(wants).collect();
        if !wanted.contains(&true) {
            return Ok(());
        }
        let hidden = source.hidden();
        let is_candidate = |(number, row): &(usize, &_)| {
            let row: &kymo_store::series::index::IndexedRow = row;
            wanted[row.metric as usize]
                && row.min_time_nanos <= range.end
                && row.max_time_nanos >= range.start
                && hidden.is_none_or(|hidden| !hidden[*number])
        };
        let rows = index.rows.iter().enumerate().filter(is_candidate);
        let rows: Vec<u32> = rows.map(|(number, _)| number as u32).collect();
        let series = self.series_of(&source, index, &rows)?;
        let number = found.sources.len();
        for (row, series) in rows.into_iter().zip(series) {
            let Some(series) = series.filter(|series| conditions.wants_series(series)) else {
                continue;
            };
            let indexed = &index.rows[row as usize];
            found.pieces.push(Piece {
                series,
                place: Place::Row { source: number, row },
                count: indexed.count as usize,
                min_time_nanos: indexed.min_time_nanos,
                max_time_nanos: indexed.max_time_nanos,
            });
        }
        found.sources.push(FoundSource { source, block });
        Ok(())
    }

    /// What describes the series of some rows, each read once for all queries.
    fn series_of(
        &self,
        source: &Source,
        index: &SeriesIndex,
        rows: &[u32],
    ) -> Result<Vec<Option<Arc<Translated>>>, StoreError> {
        let identity = |row: &u32| index.rows[*row as usize].identity;
        let caches = self.caches();
        let known = caches.series.get_all(rows.iter().map(identity));
        let unknown: Vec<u32> = rows
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_none())
            .map(|(row, _)| *row)
            .collect();
        let mut read: HashMap<[u8; 16], Option<Arc<Translated>>> = HashMap::new();
        describe_rows(source, &unknown, &mut |_, description| {
            let translated = || self.naming().translate(description).map(Arc::new);
            read.entry(description.identity).or_insert_with(translated);
        })?;
        let size = |series: &Option<Arc<Translated>>| series.as_ref().map_or(0, |s| s.heap_bytes());
        caches.series.put_all(read.iter().map(|(key, value)| (*key, value.clone(), size(value))));
        let of = |(row, known): (&u32, Option<Option<Arc<Translated>>>)| {
            known.unwrap_or_else(|| read.get(&identity(row)).cloned().flatten())
        };
        Ok(rows.iter().zip(known).map(of).collect())
    }

    fn find_open(
        &self,
        found: &mut Found,
        conditions: &Conditions<'_>,
        range: TimeRange,
        head: &OpenHead<'_>,
        wants_points: bool,
    ) -> Result<(), EngineError> {
        let caches = self.caches();
        let mut reserved = Ok(());
        let mut attributes = Vec::new();
        head.for_each(
            &mut |name, unit, kind| conditions.wants(self, name, unit, kind),
            &mut |open| {
                if reserved.is_err() {
                    return;
                }
                let times = &open.points().times_nanos;
                let min_time_nanos = times.iter().copied().min().unwrap_or(0);
                let max_time_nanos = times.iter().copied().max().unwrap_or(0);
                if min_time_nanos > range.end || max_time_nanos < range.start {
                    return;
                }
                let identity = open.identity();
                let series = caches.series.get(identity).unwrap_or_else(|| {
                    let description = open.describe(&mut attributes);
                    let series = self.naming().translate(&description).map(Arc::new);
                    let bytes = series.as_ref().map_or(0, |series| series.heap_bytes());
                    caches.series.put_all([(identity, series.clone(), bytes)].into_iter());
                    series
                });
                let Some(series) = series.filter(|series| conditions.wants_series(series)) else {
                    return;
                };
                // What unfolds to several is told by its points.
                let is_needed = wants_points || series.labels.metric_name().is_empty();
                let points = match is_needed && series.may_match(conditions.all) {
                    true => {
                        reserved = self.reserve(open.points_bytes());
                        open.points().clone()
                    }
                    false => Points::new(open.points().values.empty()),
                };
                let (place, count) = (Place::Open(Box::new(points)), times.len());
                found.pieces.push(Piece { series, place, count, min_time_nanos, max_time_nanos });
            },
        );
        reserved
    }
}

pub(super) fn warn_damaged(path: &str, error: &StoreError) {
    tracing::warn!(block = path, %error, "left a damaged block out of a query");
}
