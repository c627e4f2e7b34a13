//! Series in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use kymo_promql::labels::Labels;
use kymo_promql::sample::{HistogramSample, STALE_NAN, Samples};
use kymo_promql::source::{Select, Series, Source, SourceError};

use super::values::Item;

/// Series with their samples.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) series: BTreeMap<Labels, Samples>,
}

impl Memory {
    /// Adds a sample. Times of one series must grow.
    pub(crate) fn add(&mut self, labels: &Labels, time: i64, start: i64, item: Item) {
        let value = match item {
            Item::Absent => return,
            Item::Stale => STALE_NAN,
            Item::Float(value) => value,
            Item::Histogram(histogram) => {
                let samples = self.series.entry(labels.clone()).or_default();
                let value = Arc::new(histogram);
                samples.histograms.push(HistogramSample { time, start, value });
                return;
            }
        };
        let samples = self.series.entry(labels.clone()).or_default();
        samples.times.push(time);
        samples.values.push(value);
        samples.starts.push(start);
    }

    /// Adds all series of another, instead of those that are there.
    pub(crate) fn merge(&mut self, other: Self) {
        for (labels, mut samples) in other.series {
            if samples.starts.iter().all(|start| *start == 0) {
                samples.starts.clear();
            }
            let known = self.series.entry(labels).or_default();
            if known.is_empty() {
                *known = samples;
                continue;
            }
            for (nth, time) in samples.times.iter().enumerate() {
                let at = known.times.partition_point(|t| t < time);
                if known.times.get(at) == Some(time) {
                    known.values[at] = samples.values[nth];
                } else {
                    known.times.insert(at, *time);
                    known.values.insert(at, samples.values[nth]);
                }
            }
            known.histograms.extend(samples.histograms);
            known.histograms.sort_by_key(|sample| sample.time);
        }
    }
}

impl Source for Memory {
    fn select(&self, select: &Select) -> Result<Vec<Series>, SourceError> {
        let is_selected = |labels: &Labels| {
            select.matchers.iter().all(|m| m.matches(labels.get(&m.name).unwrap_or_default()))
        };
        let is_inside = |time: &i64| *time >= select.start && *time <= select.end;
        let has_samples = |samples: &Samples| {
            samples.times.iter().any(is_inside)
                || samples.histograms.iter().any(|sample| is_inside(&sample.time))
        };
        let found = self.series.iter().filter(|(labels, _)| is_selected(labels));
        let found = found.filter(|(_, samples)| has_samples(samples));
        Ok(found
            .map(|(labels, samples)| {
                let mut samples = samples.clone();
                samples.settle_hints();
                Series { labels: labels.clone(), samples: Arc::new(samples) }
            })
            .collect())
    }
}
