//! Which series, labels and values there are, and what metrics mean.

use std::collections::{BTreeMap, BTreeSet};

use hashbrown::{HashMap, HashSet};
use kymo_promql::labels::{Label, Labels, NAME};
use kymo_promql::matcher::LabelMatcher;
use kymo_store::series::Description;
use kymo_store::series::identity::MetricType;
use kymo_store::series::read::describe_rows;
use kymo_store::series::{TYPE_KEY, UNIT_KEY};
use kymo_wire::{kvlist_entries, text};

use super::find::{Conditions, Found, Place, TimeRange};
use super::target;
use super::view::View;
use crate::error::EngineError;

/// Which series a question about labels is about: those that one of several sets of conditions
/// lets through, or all if there is none.
#[derive(Debug, Clone, Default)]
pub struct SeriesQuery {
    /// Sets of conditions.
    pub matchers: Vec<Vec<LabelMatcher>>,
    /// First time, in milliseconds since 1970.
    pub start: i64,
    /// Last time.
    pub end: i64,
}

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

/// How many series there are, by what.
#[derive(Debug, Clone, Default)]
pub struct Cardinality {
    /// Series.
    pub series: usize,
    /// Series by name of the metric.
    pub by_name: Vec<(String, usize)>,
    /// Distinct values by label.
    pub values_by_label: Vec<(String, usize)>,
    /// Bytes of distinct values by label.
    pub bytes_by_label: Vec<(String, usize)>,
    /// Series by label and value: `name=value`.
    pub by_pair: Vec<(String, usize)>,
}

impl View {
    /// Counts series by what they have.
    pub(crate) fn cardinality(&self, query: &SeriesQuery) -> Result<Cardinality, EngineError> {
        let mut pairs: HashMap<Label, usize> = HashMap::new();
        let series = self.series(query)?;
        for label in series.iter().flatten() {
            *pairs.entry(label.clone()).or_default() += 1;
        }
        let mut values: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for label in pairs.keys() {
            let known = values.entry(label.name.to_string()).or_default();
            known.0 += 1;
            known.1 += label.value.len();
        }
        let of_name = |(label, _): &(&Label, &usize)| &*label.name == NAME;
        Ok(Cardinality {
            series: series.len(),
            by_name: pairs
                .iter()
                .filter(of_name)
                .map(|(label, count)| (label.value.to_string(), *count))
                .collect(),
            values_by_label: values.iter().map(|(name, (n, _))| (name.clone(), *n)).collect(),
            bytes_by_label: values.into_iter().map(|(name, (_, bytes))| (name, bytes)).collect(),
            by_pair: pairs
                .iter()
                .map(|(label, count)| (format!("{}={}", label.name, label.value), *count))
                .collect(),
        })
    }

    /// The label sets of series, in order.
    pub(crate) fn series(&self, query: &SeriesQuery) -> Result<Vec<Labels>, EngineError> {
        let mut all: HashSet<Labels> = HashSet::new();
        self.for_each_series(query, &mut |labels| {
            if !all.contains(labels) {
                all.insert(labels.clone());
            }
        })?;
        let mut all: Vec<Labels> = all.into_iter().collect();
        all.sort();
        Ok(all)
    }

    /// The names of all labels, in order.
    pub(crate) fn label_names(&self, query: &SeriesQuery) -> Result<Vec<String>, EngineError> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        self.for_each_series(query, &mut |labels| {
            for label in labels {
                if !names.contains(&*label.name) {
                    names.insert(label.name.to_string());
                }
            }
        })?;
        Ok(names.into_iter().collect())
    }

    /// The values of a label, in order.
    pub(crate) fn label_values(
        &self,
        name: &str,
        query: &SeriesQuery,
    ) -> Result<Vec<String>, EngineError> {
        let mut values: BTreeSet<String> = BTreeSet::new();
        self.for_each_series(query, &mut |labels| {
            if let Some(value) = labels.get(name)
                && !values.contains(value)
            {
                values.insert(value.to_owned());
            }
        })?;
        Ok(values.into_iter().collect())
    }

    fn for_each_series(
        &self,
        query: &SeriesQuery,
        visit: &mut dyn FnMut(&Labels),
    ) -> Result<(), EngineError> {
        let range = TimeRange::of_millis(query.start, query.end);
        let everything = [Vec::new()];
        let sets = if query.matchers.is_empty() { &everything[..] } else { &query.matchers };
        for matchers in sets {
            let conditions = Conditions::new(matchers, self);
            let found = self.find(&conditions, range, false)?;
            self.for_each_label_set(&conditions, &found, visit)?;
            if conditions.wants_targets {
                for series in target::series(&conditions, &found, range) {
                    visit(&series.labels);
                }
            }
        }
        Ok(())
    }

    fn for_each_label_set(
        &self,
        conditions: &Conditions<'_>,
        found: &Found,
        visit: &mut dyn FnMut(&Labels),
    ) -> Result<(), EngineError> {
        let matches = |labels: &Labels| {
            let fulfils = |m: &LabelMatcher| m.matches(labels.get(&m.name).unwrap_or_default());
            conditions.all().iter().all(fulfils)
        };
        // What unfolds to several series is told by its points.
        let (several, single): (Vec<usize>, Vec<usize>) = (0..found.pieces.len())
            .partition(|nth| found.pieces[*nth].series.labels.get(NAME).is_none());
        for nth in single {
            let labels = &found.pieces[nth].series.labels;
            if matches(labels) {
                visit(labels);
            }
        }
        let unfolded = self.unfold_some(found, &several)?;
        for (nth, unfolded) in several.iter().zip(unfolded) {
            let series = &found.pieces[*nth].series;
            for (variant, _) in unfolded.iter().filter(|(_, samples)| !samples.is_empty()) {
                let labels = series.labels_of(variant);
                if matches(&labels) {
                    visit(&labels);
                }
            }
        }
        Ok(())
    }

    /// What is known of metrics, by name in Prometheus; all of them, or one.
    pub(crate) fn metadata(
        &self,
        metric: Option<&str>,
        query: &SeriesQuery,
    ) -> Result<BTreeMap<String, BTreeSet<Metadata>>, EngineError> {
        let mut all: BTreeMap<String, BTreeSet<Metadata>> = BTreeMap::new();
        let mut seen: HashSet<(Vec<u8>, Vec<u8>, Vec<u8>)> = HashSet::new();
        let mut add = |description: &Description<'_>| {
            let key = (
                description.name.to_vec(),
                description.description.to_vec(),
                description.metadata.to_vec(),
            );
            if !seen.insert(key) {
                return;
            }
            let named = self.naming().name_of(description.name, description.unit, description.kind);
            let Some(name) = named else { return };
            let metadata = metadata_of(description);
            let name = family(&name, &metadata.metric_type).to_owned();
            let is_known = metadata.metric_type != "unknown"
                || !metadata.help.is_empty()
                || !metadata.unit.is_empty();
            if is_known && metric.is_none_or(|wanted| wanted == name) {
                all.entry(name).or_default().insert(metadata);
            }
        };
        let matchers = Vec::new();
        let conditions = Conditions::new(&matchers, self);
        let range = TimeRange::of_millis(query.start, query.end);
        let found = self.find(&conditions, range, false)?;
        let mut rows: Vec<Vec<u32>> = vec![Vec::new(); found.sources.len()];
        for piece in &found.pieces {
            if let Place::Row { source, row } = piece.place {
                rows[source].push(row);
            }
        }
        for (source, rows) in found.sources.iter().zip(&mut rows) {
            rows.sort_unstable();
            describe_rows(&source.source, rows, &mut |_, description| add(description))?;
        }
        self.snapshot().for_each_head(&mut |head| {
            let mut attributes = Vec::new();
            head.for_each(&mut |_, _, _| true, &mut |open| add(&open.describe(&mut attributes)));
            Ok(())
        })?;
        Ok(all)
    }
}

fn metadata_of(description: &Description<'_>) -> Metadata {
    let help = text(description.description).into_owned();
    if description.kind.metric_type.is_prometheus() {
        let value = |key: &str| {
            let mut entries = kvlist_entries(description.metadata).flatten();
            let entry = entries.find(|entry| entry.key == key.as_bytes());
            entry.and_then(|entry| match entry.value {
                kymo_wire::AnyValueView::String(value) => Some(text(value).into_owned()),
                _ => None,
            })
        };
        let metric_type = value(TYPE_KEY).unwrap_or_else(|| "unknown".to_owned());
        return Metadata { metric_type, help, unit: value(UNIT_KEY).unwrap_or_default() };
    }
    let metric_type = match (description.kind.metric_type, description.kind.monotonic) {
        (MetricType::Sum, Some(true)) => "counter",
        (MetricType::Sum | MetricType::Gauge, _) => "gauge",
        (MetricType::Histogram | MetricType::ExponentialHistogram, _) => "histogram",
        (MetricType::Summary, _) => "summary",
        _ => "unknown",
    };
    let unit = text(description.unit).into_owned();
    Metadata { metric_type: metric_type.to_owned(), help, unit }
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
