//! What is remembered of a target between scrapes: labels of its series, which of them live, and
//! what is known of its metrics.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::labels::Labels;
use crate::limits::{MAX_EXTRA_CACHED, MAX_FAMILIES, METADATA_SCRAPES};
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
    /// The family that came last of those that are too many to be kept.
    beyond: Option<Arc<MetricMetadata>>,
    is_metadata_changed: bool,
    /// How many lines the last good scrape left here.
    good_count: usize,
    /// The time of the last scrape, also of a target that this was taken over from: its series go
    /// on until then. `None` if there was none, and nothing to end.
    pub(crate) last_scrape_millis: Option<i64>,
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
        self.forget_metadata();
    }

    /// Forgets families that have not been there for long.
    fn forget_metadata(&mut self) {
        let (current, known) = (self.scrape, self.metadata.len());
        self.metadata.retain(|_, known| current - known.scrape <= METADATA_SCRAPES);
        self.is_metadata_changed |= self.metadata.len() != known;
        self.beyond = None;
    }

    /// Ends all series: the scrape failed, or the target is gone.
    pub(crate) fn end_all(&mut self, time_millis: i64) -> Vec<ScrapedSeries> {
        let sent = self.live.drain().filter(|(_, live)| live.is_sent);
        let ends =
            sent.map(|(series, _)| ScrapedSeries::stale(series.labels, time_millis)).collect();
        // A target whose labels or families change while it fails must not fill the memory.
        self.forget_metadata();
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

    /// Changes what is known of a family, and gives what is known then. Of more families than may
    /// be kept only the last is known.
    pub(crate) fn update_metadata(
        &mut self,
        family: &str,
        is_same: impl Fn(&MetricMetadata) -> bool,
        change: impl FnOnce(&mut MetricMetadata),
    ) -> Arc<MetricMetadata> {
        let scrape = self.scrape;
        let is_full = self.metadata.len() >= MAX_FAMILIES;
        let new = || MetricMetadata { family: family.to_owned(), ..MetricMetadata::default() };
        let known = match self.metadata.get_mut(family) {
            Some(known) => known,
            None if is_full => {
                let before = self.beyond.take().filter(|beyond| beyond.family == family);
                let mut metadata = before.unwrap_or_else(|| Arc::new(new()));
                change(Arc::make_mut(&mut metadata));
                return self.beyond.insert(metadata).clone();
            }
            None => {
                let known = Known { metadata: Arc::new(new()), scrape };
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

#[cfg(test)]
mod tests {
    use super::*;

    fn describe(cache: &mut SeriesCache, family: &str, help: &str) -> Arc<MetricMetadata> {
        cache.update_metadata(family, |known| known.help == help, |known| known.help = help.into())
    }

    #[test]
    fn a_target_that_fails_with_ever_new_families_does_not_fill_the_memory() {
        let mut cache = SeriesCache::default();
        for scrape in 0..50 {
            cache.begin();
            for family in 0..10 {
                describe(&mut cache, &format!("f_{scrape}_{family}"), "x");
            }
            cache.end_all(scrape);
        }
        assert!(cache.metadata.len() <= 10 * (METADATA_SCRAPES as usize + 1));
    }

    #[test]
    fn families_beyond_the_limit_are_told_with_their_samples_and_not_kept() {
        let mut cache = SeriesCache::default();
        cache.begin();
        for family in 0..MAX_FAMILIES {
            describe(&mut cache, &format!("f{family}"), "x");
        }
        describe(&mut cache, "more", "y");
        let unit = cache.update_metadata("more", |_| false, |known| known.unit = "s".into());
        assert_eq!((unit.help.as_str(), unit.unit.as_str()), ("y", "s"));
        assert_eq!(describe(&mut cache, "most", "z").unit, "", "another one");
        assert_eq!(cache.metadata.len(), MAX_FAMILIES);
        assert_eq!(describe(&mut cache, "f1", "z").help, "z", "those that are kept still change");
    }
}
