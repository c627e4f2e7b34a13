//! What whoever looks after a server wants to know, for admins of all tenants.
//!
//! | path | module | what |
//! |---|---|---|
//! | `GET /api/admin/storage` | `storage` | blocks and bytes by tenant, signal and day; heads, journal, retention |
//! | `GET /api/admin/ingest` | `ingest` | what came in by which protocol; what was refused, why, and what to do |
//! | `GET /api/admin/cardinality` | `cardinality` | metrics with most series, labels with most values, keys of attributes |
//! | `GET /api/admin/queries` | `queries` | what runs and what was slow |
//! | `POST /api/admin/queries/{id}/cancel` | `queries` | ends a query |
//! | `GET /api/admin/config` | here | the configuration that holds, without secrets |

mod cardinality;
mod ingest;
mod queries;
mod storage;

use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;
use kymo_engine::EngineError;
use serde_json::{Value, json};

use crate::reply::{failed, json_error, typed};
use crate::router::Shared;

/// The paths.
pub(crate) fn over_http() -> Router<Shared> {
    Router::new()
        .route("/api/admin/storage", get(storage::show))
        .route("/api/admin/ingest", get(ingest::show))
        .route("/api/admin/cardinality", get(cardinality::show))
        .route("/api/admin/queries", get(queries::show))
        .route("/api/admin/queries/{id}/cancel", post(queries::cancel))
        .route("/api/admin/config", get(config))
}

/// The configuration. One that was put together by a program and not by the command has no text.
async fn config(State(shared): State<Shared>) -> Response {
    let about = &shared.about;
    document(&json!({
        "yaml": about.config,
        "data": about.data,
        "recording": about.is_recording,
        "store": about.has_store,
    }))
}

/// Now, in milliseconds since 1970.
fn now_millis() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis() as i64
}

fn document(document: &Value) -> Response {
    typed(StatusCode::OK, "application/json", document.to_string())
}

fn answered(answer: Result<Value, EngineError>) -> Response {
    match answer {
        Ok(answer) => document(&answer),
        Err(error) => failed(&error, |status, message| json_error(status, &message)),
    }
}
