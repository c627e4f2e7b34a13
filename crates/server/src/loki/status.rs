//! What this server is and allows, and queries in a tidy form.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{Request, StatusCode};
use kymo_logql::parser::parse;
use serde_json::json;

use super::asked::{ask, json as answered};
use crate::limits::LOKI_MAX_VOLUMES;
use crate::reply::typed;
use crate::router::Shared;

/// The version of Loki whose API this is: clients choose by it what they ask for.
const LOKI_VERSION: &str = "3.7.6";

/// `/api/v1/status/buildinfo`
pub(super) async fn build_info(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "loki_status", async |_, _| {
        let body = json!({
            "version": LOKI_VERSION,
            "revision": concat!("kymograph-", env!("CARGO_PKG_VERSION")),
            "branch": "",
            "buildUser": "",
            "buildDate": "",
            "goVersion": "",
        });
        Ok(answered(body.to_string()))
    })
    .await
}

/// `/api/v1/drilldown-limits`: what Grafana's page for logs wants to know first.
pub(super) async fn drilldown(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "loki_status", async |shared, _| {
        let options = shared.engine.logql_options();
        let body = json!({
            "limits": {
                "discover_log_levels": options.detects_level,
                "discover_service_name": [],
                "log_level_fields": ["level", "severity", "severity_text"],
                "max_entries_limit_per_query": options.max_lines,
                "max_line_size_truncate": false,
                "max_query_bytes_read": "0B",
                "max_query_length": "0s",
                "max_query_lookback": "0s",
                "max_query_range": "0s",
                "max_query_series": options.max_series,
                "metric_aggregation_enabled": false,
                "otlp_config": { "resource_attributes": { "attributes_config": [
                    { "action": "index_label", "attributes": options.index_labels },
                ]}},
                "pattern_persistence_enabled": true,
                "query_timeout": "0s",
                "retention_period": "0s",
                "retention_stream": [],
                "volume_enabled": true,
                "volume_max_series": LOKI_MAX_VOLUMES,
            },
            "pattern_ingester_enabled": true,
            "version": LOKI_VERSION,
        });
        Ok(answered(body.to_string()))
    })
    .await
}

/// `/api/v1/format_query`
pub(super) async fn format(State(shared): State<Shared>, request: Request<Body>) -> Response {
    ask(shared, request, "loki_format_query", async |_, asked| {
        let say =
            |status, body: serde_json::Value| typed(status, "application/json", body.to_string());
        Ok(match parse(&asked.parameters.text("query")) {
            Ok(expr) => {
                say(StatusCode::OK, json!({ "status": "success", "data": expr.to_string() }))
            }
            Err(error) => {
                let body = json!({ "status": "invalid-query", "error": error.to_string() });
                say(StatusCode::BAD_REQUEST, body)
            }
        })
    })
    .await
}
