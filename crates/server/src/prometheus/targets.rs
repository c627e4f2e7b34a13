//! What is scraped: targets, their metadata, pools.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use http::Request;
use kymo_scrape::{Labels, TargetHealth, TargetState};
use serde_json::{Map, Value, json};

use super::asked::{Unanswered, ask, success};
use crate::router::Shared;

/// The paths.
pub(super) fn over_http() -> Router<Shared> {
    let path = |rest: &str| format!("/prometheus/api/v1/{rest}");
    Router::new()
        .route(&path("targets"), get(targets))
        .route(&path("targets/metadata"), get(metadata))
        .route(&path("scrape_pools"), get(pools))
}

/// `/api/v1/targets`
async fn targets(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_targets", async |shared, asked| {
        let state = asked.parameters.get("state").unwrap_or("any").to_lowercase();
        let pool = asked.parameters.get("scrapePool");
        let is_wanted = |of: &str| pool.is_none_or(|pool| pool == of);
        let (shows_active, shows_dropped) = match state.as_str() {
            "active" => (true, false),
            "dropped" => (false, true),
            _ => (true, true),
        };
        let (mut active, mut dropped, mut counts) = (Vec::new(), Vec::new(), Map::new());
        let scraper = shared.configured.scraper.as_ref().filter(|_| asked.is_of_collected());
        if let Some(scraper) = scraper {
            if shows_active {
                let targets = scraper.targets().into_iter();
                active.extend(targets.filter(|t| is_wanted(&t.scrape_pool)).map(|t| shown(&t)));
            }
            if shows_dropped {
                let targets = scraper.dropped_targets().into_iter();
                let targets = targets.filter(|target| is_wanted(&target.scrape_pool));
                dropped.extend(targets.map(|target| {
                    json!({
                        "discoveredLabels": object(&target.discovered_labels),
                        "scrapePool": target.scrape_pool,
                    })
                }));
            }
            for (pool, count) in scraper.dropped_target_counts() {
                counts.insert(pool, json!(count));
            }
        }
        let data = json!({
            "activeTargets": active,
            "droppedTargets": dropped,
            "droppedTargetCounts": counts,
        });
        Ok(success(&data.to_string()))
    })
    .await
}

fn shown(target: &TargetState) -> Value {
    json!({
        "discoveredLabels": object(&target.discovered_labels),
        "labels": object(&target.labels),
        "scrapePool": target.scrape_pool,
        "scrapeUrl": target.scrape_url,
        "globalUrl": target.global_url,
        "lastError": target.last_error,
        "lastScrape": rfc3339(target.last_scrape),
        "lastScrapeDuration": target.last_scrape_duration.as_secs_f64(),
        "health": match target.health {
            TargetHealth::Up => "up",
            TargetHealth::Down => "down",
            TargetHealth::Unknown => "unknown",
        },
        "scrapeInterval": target.scrape_interval,
        "scrapeTimeout": target.scrape_timeout,
    })
}

fn object(labels: &Labels) -> Map<String, Value> {
    labels.iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
}

/// A moment as Go writes it; that of the year 1 if there was none.
fn rfc3339(time: Option<SystemTime>) -> String {
    let none = "0001-01-01T00:00:00Z".to_owned();
    let Some(time) = time else { return none };
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let secs = i64::try_from(since.as_secs()).unwrap_or(0);
    let time = chrono::DateTime::from_timestamp(secs, since.subsec_nanos());
    time.map_or(none, |time| time.format("%Y-%m-%dT%H:%M:%S%.9fZ").to_string())
}

/// `/api/v1/targets/metadata`
async fn metadata(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_targets", async |shared, asked| {
        let limit = asked.parameters.number::<i64>("limit").map_err(Unanswered::Wrong)?;
        let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
        let metric = asked.parameters.get("metric");
        let selector =
            asked.parameters.get("match_target").map(kymo_promql::parser::parse_selector);
        let selector = selector.transpose();
        let selector = selector.map_err(|error| Unanswered::parameter("match_target", error))?;
        let mut all = Vec::new();
        let scraper = shared.configured.scraper.iter().filter(|_| asked.is_of_collected());
        for target in scraper.flat_map(|scraper| scraper.metadata()) {
            let value = |name: &str| target.target.get(name).to_owned();
            let is_wanted =
                selector.iter().flatten().all(|matcher| matcher.matches(&value(&matcher.name)));
            if !is_wanted {
                continue;
            }
            let of_metric = |family: &str| metric.is_none_or(|metric| metric == family);
            for known in target.metrics.iter().filter(|known| of_metric(&known.family)) {
                let mut entry = json!({
                    "target": object(&target.target),
                    "type": known.kind.name(),
                    "help": known.help,
                    "unit": known.unit,
                });
                if metric.is_none() {
                    entry["metric"] = json!(known.family);
                }
                all.push(entry);
            }
        }
        all.truncate(limit);
        Ok(success(&Value::Array(all).to_string()))
    })
    .await
}

/// `/api/v1/scrape_pools`
async fn pools(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_targets", async |shared, asked| {
        let scraper = shared.configured.scraper.as_ref().filter(|_| asked.is_of_collected());
        let pools = scraper.map(|scraper| scraper.scrape_pools());
        Ok(success(&json!({ "scrapePools": pools.unwrap_or_default() }).to_string()))
    })
    .await
}
