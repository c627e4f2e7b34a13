//! How much there is: `/index/stats`, `/index/volume`, `/index/volume_range`.

use std::ops::Range;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::Request;
use kymo_engine::logql::{VolumeBy, VolumeQuery};
use kymo_logql::limits::MAX_POINTS;
use kymo_logql::parser::parse_selector;
use serde_json::json;

use super::asked::{Asked, Unanswered, ask, json as answered};
use super::json::{write_sample, write_series};
use crate::limits::{LOKI_DEFAULT_LINES, LOKI_MAX_VOLUMES};
use crate::prometheus::write_list;
use crate::router::Shared;

const NANOS_PER_MILLI: i64 = 1_000_000;

/// `/api/v1/index/stats`
pub(super) async fn stats(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "loki_index_stats", async |shared, asked| {
        let range = asked.range()?;
        let Some(matchers) = asked.selector()? else {
            return Err("query is empty: expected a selector such as {app=\"shop\"}"
                .to_owned()
                .into());
        };
        let stats = shared.engine.log_stats(asked.tenants, matchers, range).await?;
        let body = json!({
            "streams": stats.streams,
            "chunks": stats.chunks,
            "bytes": stats.bytes,
            "entries": stats.entries,
        });
        Ok(answered(body.to_string()))
    })
    .await
}

/// `/api/v1/index/volume`
pub(super) async fn volume(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "loki_index_volume", async |shared, asked| {
        let range = asked.range()?;
        let query = volume_query(&asked, range.clone(), None)?;
        let volumes = shared.engine.log_volume(asked.tenants, query).await?;
        let mut out = start_of("vector");
        write_list(&volumes, &mut out, |volume, out| {
            let bytes = volume.bytes.iter().sum::<u64>();
            write_sample(&volume.labels, range.end / NANOS_PER_MILLI, bytes as f64, out);
        });
        out.push_str("}}");
        Ok(answered(out))
    })
    .await
}

/// `/api/v1/index/volume_range`
pub(super) async fn volume_range(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "loki_index_volume", async |shared, asked| {
        let range = asked.range()?;
        let step = asked.step(&range)?;
        let start = range.start.saturating_sub(range.start.rem_euclid(step));
        if (range.end.saturating_sub(start)) / step > MAX_POINTS as i64 {
            let why = format!(
                "exceeded maximum resolution of {MAX_POINTS} points per time series: take a \
                 larger step or a shorter range"
            );
            return Err(why.into());
        }
        let query = volume_query(&asked, start..range.end, Some(step))?;
        let volumes = shared.engine.log_volume(asked.tenants, query).await?;
        let mut out = start_of("matrix");
        write_list(&volumes, &mut out, |volume, out| {
            let steps = volume.bytes.iter().enumerate().filter(|(_, bytes)| **bytes > 0);
            let points: Vec<(i64, f64)> = steps
                .map(|(nth, bytes)| {
                    // The last millisecond of the step.
                    let end = start.saturating_add((nth as i64 + 1).saturating_mul(step));
                    (end - NANOS_PER_MILLI, *bytes as f64)
                })
                .collect();
            write_series(&volume.labels, &points, out);
        });
        out.push_str("}}");
        Ok(answered(out))
    })
    .await
}

fn start_of(kind: &str) -> String {
    format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"{kind}\",\"result\":")
}

/// What volume is asked for: by the labels that are named, or those of the selector.
fn volume_query(
    asked: &Asked,
    time: Range<i64>,
    step_nanos: Option<i64>,
) -> Result<VolumeQuery, Unanswered> {
    // All streams may be asked for here.
    let text = asked.parameters.get("query").unwrap_or("{}");
    let matchers = parse_selector(text).map_err(|error| error.to_string())?;
    let targets = asked.parameters.get("targetLabels").unwrap_or_default();
    let mut names: Vec<String> = targets
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect();
    if names.is_empty() {
        names = matchers.iter().map(|matcher| matcher.name.clone()).collect();
    }
    let by = asked.parameters.read("aggregateBy", "series or labels", |text| match text {
        "series" => Some(VolumeBy::Series(names.clone())),
        "labels" => Some(VolumeBy::Labels(names.clone())),
        _ => None,
    })?;
    let limit = asked.count("limit", LOKI_DEFAULT_LINES)?.min(LOKI_MAX_VOLUMES);
    let by = by.unwrap_or(VolumeBy::Series(names));
    Ok(VolumeQuery { matchers, time, step_nanos, by, limit })
}
