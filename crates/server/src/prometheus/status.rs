//! What this server is: build, state, settings.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::{Request, StatusCode};
use kymo_engine::prometheus::SeriesQuery;
use serde_json::json;

use super::asked::{Unanswered, ask, success};
use super::query::now_millis;
use crate::limits::PROMETHEUS_TSDB_ITEMS;
use crate::reply::plain;
use crate::router::Shared;

/// The version of Prometheus whose API this is: clients choose by it what they ask for.
const PROMETHEUS_VERSION: &str = "3.14.0";

/// The paths.
pub(super) fn over_http() -> Router<Shared> {
    let path = |rest: &str| format!("/prometheus/api/v1/{rest}");
    Router::new()
        .route(&path("status/buildinfo"), get(build_info))
        .route(&path("status/runtimeinfo"), get(runtime_info))
        .route(&path("status/flags"), get(flags))
        .route(&path("status/config"), get(config))
        .route(&path("status/tsdb"), get(tsdb))
        .route(&path("status/walreplay"), get(wal_replay))
        .route(&path("admin/tsdb/{action}"), post(admin).put(admin))
}

/// `/api/v1/status/buildinfo`
async fn build_info(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_status", async |_, _| {
        let data = json!({
            "version": PROMETHEUS_VERSION,
            "revision": concat!("kymograph-", env!("CARGO_PKG_VERSION")),
            "branch": "",
            "buildUser": "",
            "buildDate": "",
            "goVersion": "",
        });
        Ok(success(&data.to_string()))
    })
    .await
}

/// `/api/v1/status/runtimeinfo`: what of it means something here.
async fn runtime_info(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_status", async |shared, _| {
        let rfc3339 = |millis: i64| {
            chrono::DateTime::from_timestamp_millis(millis)
                .map(|time| time.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
                .unwrap_or_default()
        };
        let reload = shared.configured.last_reload();
        let config_millis = reload.success_millis.unwrap_or(shared.started_millis);
        let data = json!({
            "startTime": rfc3339(shared.started_millis),
            "CWD": "",
            "hostname": "",
            "serverTime": rfc3339(now_millis()),
            "reloadConfigSuccess": !reload.has_failed,
            "lastConfigTime": rfc3339(config_millis),
            "corruptionCount": 0,
            "goroutineCount": 0,
            "GOMAXPROCS": std::thread::available_parallelism().map_or(1, usize::from),
            "GOMEMLIMIT": 0,
            "GOGC": "",
            "GODEBUG": "",
            "storageRetention": "",
        });
        Ok(success(&data.to_string()))
    })
    .await
}

/// `/api/v1/status/flags`: those of Prometheus that have a counterpart.
async fn flags(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_status", async |shared, _| {
        let options = shared.engine.prometheus();
        let data = json!({
            "query.lookback-delta": format!("{}s", options.lookback.as_secs()),
            "query.max-samples": options.max_samples.to_string(),
            "web.enable-remote-write-receiver": "true",
            "web.enable-otlp-receiver": "true",
            "web.enable-admin-api": "false",
            "web.enable-lifecycle": "true",
        });
        Ok(success(&data.to_string()))
    })
    .await
}

/// `/api/v1/status/config`
async fn config(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_status", async |_, _| {
        Ok(success(&json!({ "yaml": "" }).to_string()))
    })
    .await
}

/// `/api/v1/status/walreplay`: a server that answers has replayed all.
async fn wal_replay(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_status", async |_, _| {
        Ok(success(&json!({ "min": 0, "max": 0, "current": 0 }).to_string()))
    })
    .await
}

/// `/api/v1/status/tsdb`: how many series there are of the last hour, by what.
async fn tsdb(State(shared): State<Shared>, request: Request<Body>) -> Response {
    const HOUR_MILLIS: i64 = 3_600_000;
    ask(shared, request, "prometheus_status", async |shared, asked| {
        let limit = match asked.limit()? {
            0 => 10,
            limit if limit > PROMETHEUS_TSDB_ITEMS => {
                let why = format!("must not be greater than {PROMETHEUS_TSDB_ITEMS}");
                return Err(Unanswered::parameter("limit", why));
            }
            limit => limit,
        };
        let end = now_millis();
        let query = SeriesQuery { matchers: Vec::new(), start: end - HOUR_MILLIS, end };
        let counted = shared.engine.prom_cardinality(asked.tenants, query).await?;
        let top = |mut counts: Vec<(String, usize)>| {
            counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            counts.truncate(limit);
            let shown =
                counts.into_iter().map(|(name, value)| json!({ "name": name, "value": value }));
            shown.collect::<Vec<_>>()
        };
        let data = json!({
            "headStats": {
                "numSeries": counted.series,
                "numLabelPairs": counted.by_pair.len(),
                "chunkCount": counted.series,
                "minTime": end - HOUR_MILLIS,
                "maxTime": end,
            },
            "seriesCountByMetricName": top(counted.by_name),
            "labelValueCountByLabelName": top(counted.values_by_label),
            "memoryInBytesByLabelName": top(counted.bytes_by_label),
            "seriesCountByLabelValuePair": top(counted.by_pair),
        });
        Ok(success(&data.to_string()))
    })
    .await
}

/// `/api/v1/admin/tsdb/…`: deleting is not something to be done by an API without a key.
async fn admin(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "prometheus_admin", async |_, _| {
        Err(Unanswered::Unavailable("admin APIs disabled".to_owned()))
    })
    .await
}

/// `/-/reload`: reads the configuration again.
pub(super) async fn reload(State(shared): State<Shared>) -> Response {
    match shared.configured.reload().await {
        Ok(()) => plain(StatusCode::OK, String::new()),
        Err(why) => {
            let message = format!("failed to reload config: {why}");
            plain(StatusCode::INTERNAL_SERVER_ERROR, message)
        }
    }
}
