//! Tempo's API, under `/tempo` over HTTP, and as `tempopb.StreamingQuerier` over gRPC.
//!
//! | module | what it holds |
//! |---|---|
//! | `asked` | what every question has: tenants, parameters, a form; and how it ends |
//! | `range` | the time that is asked about |
//! | `search`, `tag_search` | a search, in TraceQL and as it was of old |
//! | `tags`, `metrics` | names and values of tags; series |
//! | `traces`, `subset`, `prune`, `complete` | traces by id, whole, in part, or with summaries |
//! | `diff` | the differences between two traces |
//! | `overrides` | what tenants set for themselves |
//! | `explain` | how a query would be answered; not Tempo's |
//! | `streaming` | the same questions over gRPC |
//! | `messages`, `convert`, `fit` | the messages of that, and answers made into them |
//! | `json`, `llm`, `table` | answers as JSON, as JSON for language models, and as tables |

mod asked;
mod complete;
mod convert;
mod diff;
mod explain;
mod fit;
mod json;
mod llm;
mod messages;
mod metrics;
mod overrides;
mod prune;
mod range;
mod search;
mod streaming;
mod subset;
mod table;
mod tag_search;
mod tags;
mod traces;

use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use http::StatusCode;

use crate::reply::typed;
use crate::router::Shared;
pub use json::NO_ROOT;
pub use search::{DAMAGED_BLOCKS, NEXT_CURSOR};
pub(crate) use streaming::over_grpc;
pub use table::pieces as spans_table;

/// The paths over HTTP. Questions that may be long can be sent as a form too.
pub(crate) fn over_http(has_overrides: bool) -> Router<Shared> {
    Router::new()
        .route("/tempo/ready", get(|| async { "ready\n" }))
        .route("/tempo/api/echo", get(|| async { "echo" }))
        .route("/tempo/api/status/buildinfo", get(build_info))
        .route("/tempo/api/traces/{id}", get(traces::by_id))
        .route("/tempo/api/v2/traces/{id}", get(traces::by_id_v2))
        .route("/tempo/api/v2/traces/diff", post(diff::answer))
        .route("/tempo/api/search", get(search::answer).post(search::answer))
        .route("/tempo/api/search/tags", get(tags::names))
        .route("/tempo/api/v2/search/tags", get(tags::names_v2))
        .route("/tempo/api/search/tag/{*tag}", get(tags::values))
        .route("/tempo/api/v2/search/tag/{*tag}", get(tags::values_v2))
        .route("/tempo/api/metrics/query_range", get(metrics::range).post(metrics::range))
        .route("/api/traceql/explain", get(explain::answer).post(explain::answer))
        .route("/tempo/api/metrics/query", get(metrics::instant).post(metrics::instant))
        .merge(overrides::over_http(has_overrides))
}

/// The version of Tempo whose API this is: clients choose by it what they ask for.
const TEMPO_VERSION: &str = "3.0.3";

async fn build_info() -> Response {
    let document = serde_json::json!({
        "version": TEMPO_VERSION,
        "revision": concat!("kymograph-", env!("CARGO_PKG_VERSION")),
        "branch": "",
        "buildDate": "",
        "buildUser": "",
        "goVersion": "",
    });
    typed(StatusCode::OK, "application/json", document.to_string())
}
