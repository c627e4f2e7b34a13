//! How far samples of a metric are apart: what `$__rate_interval` spans four of.
//!
//! Grafana has a data source that says how often metrics come. Here each metric comes as often as who
//! sends it likes, every 15 s by scrapes and every 60 s from OpenTelemetry's SDKs, and a rate over less
//! than two samples is nothing. So the newest samples of a few of its series are looked at, and what
//! they tell is remembered for a while. What cannot be told soon is not waited for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kymo_engine::prometheus::{PromQuery, SeriesQuery};
use kymo_engine::{Engine, Tenants};
use kymo_pattern::matcher::{LabelMatcher, MatchOp};
use kymo_promql::ast::{Expr, Node, Selector};
use kymo_promql::eval::{Outcome, Times};
use kymo_promql::labels::Labels;
use kymo_promql::walk::selectors;

use crate::Page;
use crate::times::{NANOS_PER_MILLI, now_nanos};

/// Metrics of a query whose pace is found out, and series of each: they mostly come from the same sender.
const MAX_PACED_METRICS: usize = 3;
const MAX_PACED_SERIES: usize = 4;
/// For so long the pace of a metric holds.
const PACE_FRESH: Duration = Duration::from_secs(60);
/// For so long finding it out may take, of all metrics of a query: a panel waits for it.
const PACE_WITHIN: Duration = Duration::from_secs(2);
/// Metrics whose pace is remembered, a few hundred bytes each at the most.
const MAX_PACES: usize = 10_000;
/// Bytes of a metric's name. Longer ones are none that anybody gave.
const MAX_NAME_BYTES: usize = 256;

/// Samples are looked at so far before the end of the time: three of those that come every 5 minutes.
const LOOKED_AT: &str = "x[15m]";
const LOOKED_AT_MILLIS: i64 = 15 * 60 * 1_000;
/// Ends of times that share an answer.
const HOUR_MILLIS: i64 = 60 * 60 * 1_000;

/// Whose metric, which one, and about when.
type Key = (String, String, i64);

/// What was found out lately; `None` where nothing could be told.
#[derive(Default)]
pub(crate) struct Paces {
    known: Mutex<BTreeMap<Key, (Instant, Option<i64>)>>,
}

impl Paces {
    fn known(&self, key: &Key) -> Option<Option<i64>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (found, pace) = known.get(key)?;
        (found.elapsed() < PACE_FRESH).then_some(*pace)
    }

    fn remember(&self, key: Key, pace: Option<i64>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MAX_PACES {
            known.clear();
        }
        known.insert(key, (Instant::now(), pace));
    }
}

/// The longest usual distance of samples, in milliseconds, of the metrics that an expression names, at the
/// end of a time.
pub(crate) async fn pace(
    page: &Page,
    tenants: &Tenants,
    end_millis: i64,
    expr: &Expr,
) -> Option<i64> {
    let names: BTreeSet<&str> = selectors(expr).into_iter().filter_map(name_of).collect();
    let names = names.into_iter().filter(|name| name.len() <= MAX_NAME_BYTES);
    let latest = tokio::time::Instant::now() + PACE_WITHIN;
    // What is shown may end in the future, as a day does, where there are no samples yet.
    let end = end_millis.min(now_nanos() / NANOS_PER_MILLI);
    let mut longest = None;
    for name in names.take(MAX_PACED_METRICS) {
        longest = longest.max(of_metric(page, tenants, end, name, latest).await);
    }
    longest
}

/// The metric of a selector, also if it is named in braces.
fn name_of(selector: &Selector) -> Option<&str> {
    let is_name =
        |matcher: &&LabelMatcher| matcher.name == "__name__" && matcher.op == MatchOp::Equal;
    selector.matchers.iter().find(is_name).map(|matcher| matcher.value.as_str())
}

async fn of_metric(
    page: &Page,
    tenants: &Tenants,
    end: i64,
    name: &str,
    latest: tokio::time::Instant,
) -> Option<i64> {
    let paces = &page.dashboards.paces;
    let key = (tenants.to_string(), name.to_owned(), end.div_euclid(HOUR_MILLIS));
    if let Some(known) = paces.known(&key) {
        return known;
    }
    let measuring = measured(&page.engine, tenants, &key.1, end);
    let pace = tokio::time::timeout_at(latest, measuring).await.ok().flatten();
    paces.remember(key, pace);
    pace
}

async fn measured(engine: &Engine, tenants: &Tenants, name: &str, end: i64) -> Option<i64> {
    let matchers = vec![vec![LabelMatcher::equal("__name__", name)]];
    let query = SeriesQuery { matchers, start: end.saturating_sub(LOOKED_AT_MILLIS), end };
    let series = engine.prom_series(tenants, query).await.ok()?;
    // From all over the list: neighbours come from the same sender.
    let apart = (series.len() / MAX_PACED_SERIES).max(1);
    let mut longest = None;
    for labels in series.iter().step_by(apart).take(MAX_PACED_SERIES) {
        let (expr, times) = (samples_of(labels)?, Times::instant(end));
        let query = PromQuery { expr, times, lookback: None, timeout: None };
        let done = engine.promql(tenants, query).await.ok()?;
        let Outcome::Matrix(matrix) = done.outcome else { continue };
        for found in matrix {
            let histograms = found.histograms.iter().map(|(time, _)| *time);
            let times: Vec<i64> =
                found.floats.iter().map(|(time, _)| *time).chain(histograms).collect();
            longest = longest.max(usual_gap(times));
        }
    }
    longest
}

/// The expression that gives the samples of one series.
fn samples_of(labels: &Labels) -> Option<Expr> {
    let mut expr = kymo_promql::parser::parse(LOOKED_AT).ok()?;
    if let Node::Range(range) = &mut expr.node {
        let equal = labels.iter().map(|label| LabelMatcher::equal(&label.name, &label.value));
        range.selector.name = None;
        range.selector.matchers = equal.collect();
    }
    Some(expr)
}

/// The middle one of the distances, in whole seconds: senders are not exact, and some samples are lost.
fn usual_gap(mut times: Vec<i64>) -> Option<i64> {
    times.sort_unstable();
    let mut gaps: Vec<i64> = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    gaps.sort_unstable();
    let middle = gaps.get(gaps.len() / 2)?;
    Some((middle.saturating_add(500) / 1_000 * 1_000).max(1_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_distance_is_that_of_most_samples() {
        for (times, expected) in [
            (vec![], None),
            (vec![5_000], None),
            (vec![0, 60_012, 119_990, 180_001], Some(60_000)),
            (vec![30_000, 0, 15_000, 600_000], Some(15_000)),
            (vec![0, 100, 200], Some(1_000)),
        ] {
            assert_eq!(usual_gap(times.clone()), expected, "{times:?}");
        }
    }

    #[test]
    fn what_was_found_out_is_remembered() {
        let paces = Paces::default();
        let key = |name: &str| ("t".to_owned(), name.to_owned(), 1);
        assert_eq!(paces.known(&key("a")), None);
        paces.remember(key("a"), Some(60_000));
        paces.remember(key("b"), None);
        assert_eq!(
            (paces.known(&key("a")), paces.known(&key("b"))),
            (Some(Some(60_000)), Some(None))
        );
    }
}
