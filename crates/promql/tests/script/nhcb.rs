//! Classic histograms as native ones with custom buckets.

use std::collections::BTreeMap;

use kymo_promql::histogram::{BucketSpan, CUSTOM_SCHEMA, Histogram};
use kymo_promql::labels::{Labels, NAME};
use kymo_promql::sample::is_stale;

use super::memory::Memory;
use super::values::{Item, parse_number};

#[derive(Default)]
struct Parts {
    buckets: Vec<(f64, f64)>,
    count: Option<f64>,
    sum: f64,
}

/// Adds a native histogram for each classic one.
pub(crate) fn add(memory: &mut Memory) {
    let mut found: BTreeMap<Labels, BTreeMap<i64, Parts>> = BTreeMap::new();
    for (labels, samples) in &memory.series {
        let name = labels.metric_name();
        let suffix = ["_bucket", "_sum", "_count"].into_iter().find(|s| name.ends_with(s));
        let Some(suffix) = suffix else { continue };
        let base = labels.with(NAME, name.strip_suffix(suffix).unwrap()).with("le", "");
        let bound = labels.get("le").and_then(parse_number);
        if suffix == "_bucket" && bound.is_none_or(f64::is_nan) {
            continue;
        }
        let times = found.entry(base).or_default();
        for (time, value) in samples.times.iter().zip(&samples.values) {
            if is_stale(*value) {
                continue;
            }
            let parts = times.entry(*time).or_default();
            match (suffix, bound) {
                ("_bucket", Some(bound)) => {
                    if parts.buckets.iter().all(|(known, _)| *known != bound) {
                        parts.buckets.push((bound, *value));
                    }
                }
                ("_count", _) => parts.count = Some(*value),
                _ => parts.sum = *value,
            }
        }
    }
    for (labels, times) in found {
        for (time, mut parts) in times {
            parts.buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            let last = parts.buckets.last().map_or(0.0, |(_, count)| *count);
            let count = parts.count.unwrap_or(last);
            if parts.buckets.last().is_none_or(|(bound, _)| *bound != f64::INFINITY) {
                parts.buckets.push((f64::INFINITY, count));
            }
            let finite = parts.buckets.iter().map(|(bound, _)| *bound).filter(|b| b.is_finite());
            let mut before = 0.0;
            let own = |(_, count): &(f64, f64)| count - std::mem::replace(&mut before, *count);
            let histogram = Histogram {
                schema: CUSTOM_SCHEMA,
                count,
                sum: parts.sum,
                custom_bounds: finite.collect(),
                positive_spans: vec![BucketSpan { offset: 0, length: parts.buckets.len() as u32 }],
                positive: parts.buckets.iter().map(own).collect(),
                ..Histogram::default()
            };
            memory.add(&labels, time, 0, Item::Histogram(histogram.compacted(0)));
        }
    }
}
