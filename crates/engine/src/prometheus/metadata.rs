//! What metrics mean: their type, unit and help.
//!
//! Every row says it of its series. What the rows of a block say is gathered once, as blocks never
//! change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashSet;
use kymo_store::StoreError;
use kymo_store::block::source::Source;
use kymo_store::series::Description;
use kymo_store::series::identity::{MetricKind, MetricType};
use kymo_store::series::read::describe_rows;
use kymo_store::series::{TYPE_KEY, UNIT_KEY};
use kymo_wire::{AnyValueView, kvlist_entries, text};

use super::catalog::SeriesQuery;
use super::find::TimeRange;
use super::naming::Naming;
use super::view::View;
use crate::error::EngineError;

/// What is known of a metric.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metadata {
    /// The type, as Prometheus names them.
    pub metric_type: String,
    /// What it means.
    pub help: String,
    /// The unit.
    pub unit: String,
}

/// What a row says of its metric.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KnownMetric {
    kind: MetricKind,
    name: Box<[u8]>,
    unit: Box<[u8]>,
    description: Box<[u8]>,
    metadata: Box<[u8]>,
}

impl KnownMetric {
    fn of(description: &Description<'_>) -> Self {
        Self {
            kind: description.kind,
            name: description.name.into(),
            unit: description.unit.into(),
            description: description.description.into(),
            metadata: description.metadata.into(),
        }
    }

    fn heap_bytes(&self) -> usize {
        let texts = [&self.name, &self.unit, &self.description, &self.metadata];
        size_of::<Self>() + texts.into_iter().map(|text| text.len()).sum::<usize>()
    }

    /// The metric's name in Prometheus and what is known of it; nothing if nothing is.
    fn shown(&self, naming: &Naming) -> Option<(String, Metadata)> {
        let name = naming.name_of(&self.name, &self.unit, self.kind)?;
        let metadata = self.metadata();
        let is_known = metadata.metric_type != "unknown"
            || !metadata.help.is_empty()
            || !metadata.unit.is_empty();
        // Prometheus' own series have suffixes, of which their family knows nothing.
        let family = match self.kind.metric_type.is_prometheus() {
            true => family(&name, &metadata.metric_type).to_owned(),
            false => name,
        };
        is_known.then_some((family, metadata))
    }

    fn metadata(&self) -> Metadata {
        let help = text(&self.description).into_owned();
        if self.kind.metric_type.is_prometheus() {
            let value = |key: &str| {
                let mut entries = kvlist_entries(&self.metadata).flatten();
                let entry = entries.find(|entry| entry.key == key.as_bytes());
                entry.and_then(|entry| match entry.value {
                    AnyValueView::String(value) => Some(text(value).into_owned()),
                    _ => None,
                })
            };
            let metric_type = value(TYPE_KEY).unwrap_or_else(|| "unknown".to_owned());
            return Metadata { metric_type, help, unit: value(UNIT_KEY).unwrap_or_default() };
        }
        let metric_type = match (self.kind.metric_type, self.kind.monotonic) {
            (MetricType::Sum, Some(true)) => "counter",
            (MetricType::Sum | MetricType::Gauge, _) => "gauge",
            (MetricType::Histogram | MetricType::ExponentialHistogram, _) => "histogram",
            (MetricType::Summary, _) => "summary",
            _ => "unknown",
        };
        let unit = text(&self.unit).into_owned();
        Metadata { metric_type: metric_type.to_owned(), help, unit }
    }
}

impl View {
    /// What is known of metrics, by name in Prometheus; all of them, or one.
    pub(crate) fn metadata(
        &self,
        metric: Option<&str>,
        query: &SeriesQuery,
    ) -> Result<BTreeMap<String, BTreeSet<Metadata>>, EngineError> {
        let mut all: HashSet<KnownMetric> = HashSet::new();
        let caches = self.caches();
        let range = TimeRange::of_millis(query.start, query.end);
        self.for_each_block(range, |source, indexed| {
            let known = match caches.metadata.get(indexed.id) {
                Some(known) => known,
                None => {
                    let known = described(&source)?;
                    let bytes = known.iter().map(KnownMetric::heap_bytes).sum();
                    caches.metadata.put_all([(indexed.id, known.clone(), bytes)].into_iter());
                    known
                }
            };
            all.extend(known.iter().cloned());
            Ok(())
        })?;
        self.snapshot().for_each_head(&mut |head| {
            for rows in &head.rows {
                all.extend(described(&Source::Chunk(rows.clone()))?.iter().cloned());
            }
            let mut attributes = Vec::new();
            head.for_each(&mut |_, _, _| true, &mut |open| {
                all.insert(KnownMetric::of(&open.describe(&mut attributes)));
            });
            Ok(())
        })?;
        let mut by_name: BTreeMap<String, BTreeSet<Metadata>> = BTreeMap::new();
        let shown = all.iter().filter_map(|known| known.shown(self.naming()));
        for (name, metadata) in shown {
            if metric.is_none_or(|wanted| wanted == name) {
                by_name.entry(name).or_default().insert(metadata);
            }
        }
        Ok(by_name)
    }
}

/// What the rows of a source say of metrics, each thing once.
fn described(source: &Source) -> Result<Arc<[KnownMetric]>, StoreError> {
    let rows: Vec<u32> = (0..source.rows() as u32).collect();
    let mut all: HashSet<KnownMetric> = HashSet::new();
    describe_rows(source, &rows, &mut |_, description| {
        all.insert(KnownMetric::of(description));
    })?;
    Ok(all.into_iter().collect())
}

/// The name of the family that a series belongs to, where a series has a suffix.
fn family<'a>(name: &'a str, metric_type: &str) -> &'a str {
    let suffixes: &[&str] = match metric_type {
        "histogram" | "gaugehistogram" => &["_bucket", "_sum", "_count"],
        "summary" => &["_sum", "_count"],
        _ => &[],
    };
    suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}
