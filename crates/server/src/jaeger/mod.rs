//! Jaeger's query APIs, so that Jaeger UI, Grafana's data source and scripts find traces here.
//!
//! ```text
//!  /jaeger/api/…             legacy ──┐                      ┌──> ui: Jaeger's own JSON
//!  /jaeger/api/v3/…          v3 ──────┼─> Question ─> reader ─┼──> OTLP/JSON, summaries
//!  jaeger.api_v3 over gRPC   grpc ────┘   (TraceQL)  (engine) └──> OTLP in chunks
//! ```
//!
//! A search is a [`Question`](question::Question) of one of three spellings. It becomes a TraceQL
//! query, whose traces are fetched whole, a few at a time, and written as they come. A service need
//! not be named.
//!
//! | module | what it holds |
//! |---|---|
//! | `question`, `tags`, `service` | what a search asks for, and how that is said in TraceQL |
//! | `ids`, `units` | ids and moments as Jaeger writes them |
//! | `reader`, `fetch` | the engine, asked for some tenants; whole traces, within bounds |
//! | `legacy`, `envelope`, `ui` | the JSON API of Jaeger's first version |
//! | `archive` | its traces that are kept beyond retention |
//! | `monitor`, `family` | its numbers over time |
//! | `v3`, `summary` | the API over HTTP of the third |
//! | `grpc`, `messages`, `chunks` | the same over gRPC |
//! | `document`, `pretty` | answers that are written trace by trace |
//! | `failed` | what went wrong, for all three |

mod archive;
mod chunks;
mod document;
mod envelope;
mod failed;
mod family;
mod fetch;
mod grpc;
mod ids;
mod legacy;
mod messages;
mod monitor;
mod pretty;
mod question;
mod reader;
mod service;
mod summary;
mod tags;
mod ui;
mod units;
mod v3;

use axum::Router;
use axum::routing::{get, post};

use crate::router::Shared;
pub(crate) use fetch::Room;

/// The paths over HTTP.
pub(crate) fn over_http() -> Router<Shared> {
    Router::new()
        .route("/jaeger/api/services", get(legacy::services))
        .route("/jaeger/api/services/{*service}", get(legacy::operation_names))
        .route("/jaeger/api/operations", get(legacy::operations))
        .route("/jaeger/api/traces", get(legacy::search))
        .route("/jaeger/api/traces/{id}", get(legacy::trace))
        .route("/jaeger/api/dependencies", get(legacy::dependencies))
        .route("/jaeger/api/transform", post(legacy::transform))
        .route("/jaeger/api/archive", get(archive::list))
        .route("/jaeger/api/archive/{id}", post(archive::keep).delete(archive::give_up))
        .route("/jaeger/api/metrics/{which}", get(legacy::metrics))
        .route("/jaeger/api/v3/services", get(v3::services))
        .route("/jaeger/api/v3/operations", get(v3::operations))
        .route("/jaeger/api/v3/traces", get(v3::search).post(v3::search_by_body))
        .route("/jaeger/api/v3/traces/{id}", get(v3::trace))
        .route("/jaeger/api/v3/trace-summaries", get(v3::summaries).post(v3::summaries_by_body))
        .route("/jaeger/api/v3/dependencies", get(v3::dependencies))
}

/// The methods over gRPC.
pub(crate) fn over_grpc() -> Router<Shared> {
    grpc::methods()
}
