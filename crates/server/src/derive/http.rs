//! `/api/span-metrics`: how it is, and writing at once.
//!
//! | request | answer |
//! |---|---|
//! | `GET /api/span-metrics` | what was counted of each tenant, as of the last write |
//! | `POST /api/span-metrics/flush` | the same, after what was acknowledged before is counted and stored |

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;

use super::Deriving;
use crate::reply::{json_error, typed};
use crate::router::Shared;

pub(crate) fn over_http() -> Router<Shared> {
    Router::new()
        .route("/api/span-metrics", get(look))
        .route("/api/span-metrics/flush", post(flush))
}

async fn look(State(shared): State<Shared>) -> Response {
    match &shared.deriving {
        Some(deriving) => document(deriving),
        None => off(),
    }
}

async fn flush(State(shared): State<Shared>) -> Response {
    let Some(deriving) = &shared.deriving else { return off() };
    match deriving.write().await {
        Ok(()) => document(deriving),
        Err(why) => json_error(StatusCode::SERVICE_UNAVAILABLE, &why),
    }
}

fn document(deriving: &Deriving) -> Response {
    let status = deriving.status();
    let tenants: serde_json::Map<String, serde_json::Value> = status
        .tenants()
        .iter()
        .map(|(tenant, status)| (tenant.to_string(), serde_json::json!(status)))
        .collect();
    let document = serde_json::json!({
        "tenants": tenants,
        "lag_bytes": status.lag_bytes(),
        "left_out_requests": status.left_out(),
        "failed_writes": status.failed_writes(),
    });
    typed(StatusCode::OK, "application/json", document.to_string())
}

fn off() -> Response {
    let why = "span metrics are switched off here: span_metrics.enabled, store.enabled or \
               recording.enabled is false";
    json_error(StatusCode::NOT_FOUND, why)
}
