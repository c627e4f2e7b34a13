//! What is remembered of a target between scrapes: labels of its series, which of them live, and
//! what is known of its metrics.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::labels::Labels;
use crate::limits::{MAX_EXTRA_CACHED, METADATA_SCRAPES};
use crate::sink::{MetricMetadata, ScrapedSeries};

/// A series with the hash of its labels, so that it is found without hashing them again.
#[derive(Debug, Clone)]
pub(crate) struct SeriesRef {
    pub(crate) labels: Arc<Labels>,
    hash: u64,
}

impl SeriesRef {
    pub(crate) fn new(labels: Labels) -> Self {
        Self { hash: labels.stable_hash(), labels: Arc::new(labels) }
    }
}

impl PartialEq for SeriesRef {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash
            && (Arc::ptr_eq(&self.labels, &other.labels) || self.labels == other.labels)
    }
}

impl Eq for SeriesRef {}

impl Hash for SeriesRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// What a line of a target's answer became; `None` if relabeling drops it.
#[derive(Debug)]
struct Cached {
    series: Option<SeriesRef>,
    scrape: u64,
}

/// A series that has no end yet.
#[derive(Debug, Clone, Copy)]
struct Live {
    /// The scrape that had it last.
    scrape: u64,
    /// Whether a sample of it was handed on; if not, it needs no end.
    is_sent: bool,
}

#[derive(Debug)]
struct Known {
    metadata: Arc<MetricMetadata>,
    scrape: u64,
}

/// The memory of one target.
#[derive(Debug, Default)]
pub(crate) struct SeriesCache {
    /// Counts scrapes.
    scrape: u64,
    cached: HashMap<Box<[u8]>, Cached>,
    live: HashMap<SeriesRef, Live>,
    metadata: BTreeMap<String, Known>,
    is_metadata_changed: bool,
    /// How many lines the last good scrape left here.
    good_count: usize,
}

/// Whether a line is known.
pub(crate) enum Lookup {
    New,
    Dropped,
    Series(SeriesRef),
}

impl SeriesCache {
    /// Begins a scrape.
    pub(crate) fn begin(&mut self) {
        self.scrape += 1;
    }

    /// What is known of a line.
    pub(crate) fn lookup(&mut self, key: &[u8]) -> Lookup {
        let Some(cached) = self.cached.get_mut(key) else { return Lookup::New };
        cached.scrape = self.scrape;
        cached.series.clone().map_or(Lookup::Dropped, Lookup::Series)
    }

    /// Remembers what a line became.
    pub(crate) fn remember(&mut self, key: &[u8], series: Option<SeriesRef>) {
        self.cached.insert(key.into(), Cached { series, scrape: self.scrape });
    }

    /// Whether this scrape had a sample of the series already.
    pub(crate) fn is_duplicate(&self, series: &SeriesRef) -> bool {
        self.live.get(series).is_some_and(|live| live.scrape == self.scrape)
    }

    /// Notes that this scrape has the series, so that its end is told when it is gone.
    pub(crate) fn track(&mut self, series: &SeriesRef) {
        let live = self.live.entry(series.clone()).or_insert(Live { scrape: 0, is_sent: false });
        live.scrape = self.scrape;
    }

    /// Ends a good scrape. Series it did not have get their end.
    pub(crate) fn commit(&mut self, time_millis: i64, out: &mut Vec<ScrapedSeries>) {
        let current = self.scrape;
        self.live.retain(|series, live| {
            if live.scrape == current {
                live.is_sent = true;
                return true;
            }
            if live.is_sent {
                out.push(ScrapedSeries::stale(series.labels.clone(), time_millis));
            }
            false
        });
        self.cached.retain(|_, cached| cached.scrape == current);
        self.good_count = self.cached.len();
        let known = self.metadata.len();
        self.metadata.retain(|_, known| current - known.scrape <= METADATA_SCRAPES);
        self.is_metadata_changed |= self.metadata.len() != known;
    }

    /// Ends all series: the scrape failed, or the target is gone.
    pub(crate) fn end_all(&mut self, time_millis: i64) -> Vec<ScrapedSeries> {
        let sent = self.live.drain().filter(|(_, live)| live.is_sent);
        let ends =
            sent.map(|(series, _)| ScrapedSeries::stale(series.labels, time_millis)).collect();
        // A target whose labels change while it fails must not fill the memory.
        if self.cached.len() > 2 * self.good_count + MAX_EXTRA_CACHED {
            let current = self.scrape;
            self.cached.retain(|_, cached| cached.scrape == current);
        }
        ends
    }

    /// Forgets what lines became, since the rules changed. Series live on until a scrape lacks
    /// them.
    pub(crate) fn forget_lines(&mut self) {
        self.cached.clear();
    }

    /// Changes what is known of a family, and gives what is known then.
    pub(crate) fn update_metadata(
        &mut self,
        family: &str,
        is_same: impl Fn(&MetricMetadata) -> bool,
        change: impl FnOnce(&mut MetricMetadata),
    ) -> Arc<MetricMetadata> {
        let scrape = self.scrape;
        let known = match self.metadata.get_mut(family) {
            Some(known) => known,
            None => {
                let metadata =
                    MetricMetadata { family: family.to_owned(), ..MetricMetadata::default() };
                let known = Known { metadata: Arc::new(metadata), scrape };
                self.is_metadata_changed = true;
                self.metadata.entry(family.to_owned()).or_insert(known)
            }
        };
        known.scrape = scrape;
        if !is_same(&known.metadata) {
            change(Arc::make_mut(&mut known.metadata));
            self.is_metadata_changed = true;
        }
        known.metadata.clone()
    }

    /// All that is known of metrics, if it changed since the last call.
    pub(crate) fn changed_metadata(&mut self) -> Option<Vec<Arc<MetricMetadata>>> {
        if !std::mem::take(&mut self.is_metadata_changed) {
            return None;
        }
        Some(self.metadata.values().map(|known| known.metadata.clone()).collect())
    }
}
