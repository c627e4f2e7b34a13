//! Hit rates of compiler caches, of this run and of earlier ones.

use std::collections::BTreeMap;

use super::{History, Row};

/// What one cache did.
#[derive(Debug, Clone, PartialEq)]
pub struct Cache {
    /// The file that told it, such as `main_process`, with the language behind a dot if it is of one.
    pub name: String,
    /// Requests that it could serve or not.
    pub requests: f64,
    /// The part that it served.
    pub hit_rate: f64,
    /// That of earlier runs, in the middle.
    pub hit_rate_before: Option<f64>,
}

/// Hits and misses by name, over all spans with `sccache.<name>.hits` and `.misses`.
#[must_use]
pub fn totals<'a>(numbers: impl Iterator<Item = (&'a str, f64)>) -> BTreeMap<String, (f64, f64)> {
    let mut totals: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (name, value) in numbers {
        let Some(rest) = name.strip_prefix("sccache.") else { continue };
        if let Some(name) = rest.strip_suffix(".hits") {
            totals.entry(name.to_owned()).or_default().0 += value;
        } else if let Some(name) = rest.strip_suffix(".misses") {
            totals.entry(name.to_owned()).or_default().1 += value;
        }
    }
    totals.retain(|_, (hits, misses)| *hits + *misses > 0.0);
    totals
}

pub(super) fn caches(rows: &[Row], history: &History) -> Vec<Cache> {
    let numbers = rows.iter().flat_map(|row| &row.numbers);
    let totals = totals(numbers.map(|(name, value)| (name.as_str(), *value)));
    let before = |name: &str| {
        history.hit_rates.iter().find(|(known, _)| known == name).map(|(_, rate)| *rate)
    };
    // Files and languages; compilers are told in the trace.
    let is_listed = |name: &str| name.matches('.').count() <= 1;
    totals
        .into_iter()
        .filter(|(name, _)| is_listed(name))
        .map(|(name, (hits, misses))| Cache {
            hit_rate_before: before(&name),
            name,
            requests: hits + misses,
            hit_rate: hits / (hits + misses),
        })
        .collect()
}
