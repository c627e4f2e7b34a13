//! Which series, labels and values there are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use kymo_promql::labels::{Label, Labels, NAME};
use kymo_promql::matcher::LabelMatcher;

use super::find::{Conditions, Found, TimeRange};
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

/// Labels that tell the series apart that a histogram or summary unfolds to.
const OWN_LABELS: [&str; 3] = [NAME, "le", "quantile"];

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
        self.for_each_series(query, true, &mut |labels| {
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
        self.for_each_series(query, true, &mut |labels| {
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
        let is_own = |name: &str| OWN_LABELS.contains(&name);
        let in_matchers =
            query.matchers.iter().flatten().any(|m| m.name != NAME && is_own(&m.name));
        let is_unfolded = is_own(name) || in_matchers;
        if query.matchers.is_empty() {
            return self.all_label_values(name, query, is_unfolded);
        }
        let mut values: BTreeSet<String> = BTreeSet::new();
        self.for_each_series(query, is_unfolded, &mut |labels| {
            add_value(&mut values, labels, name)
        })?;
        Ok(values.into_iter().collect())
    }

    /// The values of a label of all series. Those of blocks that lie within the time are kept from
    /// one question to the next.
    fn all_label_values(
        &self,
        name: &str,
        query: &SeriesQuery,
        is_unfolded: bool,
    ) -> Result<Vec<String>, EngineError> {
        let range = TimeRange::of_millis(query.start, query.end);
        let conditions = Conditions::new(&[], self);
        let caches = self.caches();
        let mut all: BTreeSet<String> = BTreeSet::new();
        let values_of = |found: &Found| {
            let mut values: BTreeSet<String> = BTreeSet::new();
            let visit = &mut |labels: &Labels| add_value(&mut values, labels, name);
            self.for_each_label_set(&conditions, found, is_unfolded, visit)?;
            Ok::<_, EngineError>(values)
        };
        let mut others = Found::default();
        let mut whole = Vec::new();
        self.for_each_block(range, |source, indexed| {
            let is_whole = indexed.lies_within(range) && source.hidden().is_none();
            let key = (indexed.id, Box::from(name));
            if is_whole && let Some(known) = caches.values.get(key.clone()) {
                all.extend(known.iter().cloned());
                return Ok(());
            }
            let number = Some(indexed.id);
            if !is_whole {
                let index = &indexed.index;
                return self.find_rows(&mut others, &conditions, range, source, index, number);
            }
            let mut found = Found::default();
            self.find_rows(&mut found, &conditions, range, source, &indexed.index, number)?;
            whole.push((key, found));
            Ok(())
        })?;
        for (key, found) in whole {
            let values = Arc::new(values_of(&found)?);
            all.extend(values.iter().cloned());
            let bytes = values.iter().map(|value| value.len() + 40).sum();
            caches.values.put_all([(key, values, bytes)].into_iter());
        }
        self.find_in_heads(&mut others, &conditions, range, false)?;
        all.extend(values_of(&others)?);
        Ok(all.into_iter().collect())
    }

    /// Visits the labels of all series that are asked for. What unfolds to several is visited once
    /// unless it is to be unfolded.
    fn for_each_series(
        &self,
        query: &SeriesQuery,
        is_unfolded: bool,
        visit: &mut dyn FnMut(&Labels),
    ) -> Result<(), EngineError> {
        let range = TimeRange::of_millis(query.start, query.end);
        let everything = [Vec::new()];
        let sets = if query.matchers.is_empty() { &everything[..] } else { &query.matchers };
        for matchers in sets {
            let conditions = Conditions::new(matchers, self);
            let found = self.find(&conditions, range, false)?;
            self.for_each_label_set(&conditions, &found, is_unfolded, visit)?;
        }
        Ok(())
    }

    fn for_each_label_set(
        &self,
        conditions: &Conditions<'_>,
        found: &Found,
        is_unfolded: bool,
        visit: &mut dyn FnMut(&Labels),
    ) -> Result<(), EngineError> {
        let matches = |labels: &Labels| {
            let fulfils = |m: &LabelMatcher| m.matches(labels.get(&m.name).unwrap_or_default());
            conditions.all().iter().all(fulfils)
        };
        let (mut several, single): (Vec<usize>, Vec<usize>) = (0..found.pieces.len())
            .partition(|nth| found.pieces[*nth].series.labels.get(NAME).is_none());
        for nth in single {
            let labels = &found.pieces[nth].series.labels;
            if matches(labels) {
                visit(labels);
            }
        }
        if conditions.wants_targets {
            target::found(conditions, found).for_each(|(labels, _)| visit(labels));
        }
        several.retain(|nth| found.pieces[*nth].series.may_match(conditions.all()));
        if !is_unfolded {
            several.iter().for_each(|nth| visit(&found.pieces[*nth].series.labels));
            return Ok(());
        }
        // What unfolds to several series is told by its points.
        for (nth, variants) in several.iter().zip(self.variants(found, &several)?) {
            let series = &found.pieces[*nth].series;
            for labels in variants.iter().map(|variant| series.labels_of(variant)) {
                if matches(&labels) {
                    visit(&labels);
                }
            }
        }
        Ok(())
    }
}

fn add_value(values: &mut BTreeSet<String>, labels: &Labels, name: &str) {
    if let Some(value) = labels.get(name)
        && !values.contains(value)
    {
        values.insert(value.to_owned());
    }
}
