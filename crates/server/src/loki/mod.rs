//! Loki's API, under `/loki`.
//!
//! | module | what it holds |
//! |---|---|
//! | `push` | what is pushed, and OTLP |
//! | `asked` | what every question has: tenants, parameters, a form; and how it ends |
//! | `times` | moments and durations as Loki writes them |
//! | `query`, `json` | queries, at one time or over a range; results as JSON |
//! | `labels`, `index` | labels, values, streams; how much of them there is |
//! | `detected`, `patterns` | fields and templates that are found in lines |
//! | `tail` | lines as they come |
//! | `status` | what this server is and allows; queries in a tidy form |

mod asked;
mod detected;
mod index;
mod json;
mod labels;
mod patterns;
mod push;
mod query;
mod status;
mod tail;
mod times;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodRouter, get, post};

pub use json::loki_json;

use crate::router::Shared;

/// The paths that take data in.
pub(crate) fn receiving() -> Router<Shared> {
    Router::new()
        .route("/loki/api/v1/push", post(push::push))
        // As it was called before.
        .route("/loki/api/prom/push", post(push::push))
        .route("/loki/otlp/v1/logs", post(push::otlp))
}

/// The paths that answer questions.
pub(crate) fn over_http() -> Router<Shared> {
    let api = |rest: &str| format!("/loki/api/v1/{rest}");
    let old = |rest: &str| format!("/loki/api/prom/{rest}");
    Router::new()
        .route("/loki/ready", get(|| async { "ready\n" }))
        .route(&api("query"), question(query::instant))
        .route(&api("query_range"), question(query::range))
        .route(&api("labels"), question(labels::names))
        .route(&api("label"), question(labels::names))
        .route(&api("label/{name}/values"), question(labels::values))
        .route(&api("series"), question(labels::series))
        .route(&api("index/stats"), question(index::stats))
        .route(&api("index/volume"), question(index::volume))
        .route(&api("index/volume_range"), question(index::volume_range))
        .route(&api("detected_labels"), question(detected::detected_labels))
        .route(&api("detected_fields"), question(detected::detected_fields))
        .route(&api("detected_field/{name}/values"), question(detected::values))
        .route(&api("patterns"), question(patterns::answer))
        .route(&api("format_query"), question(status::format))
        .route(&api("status/buildinfo"), get(status::build_info))
        .route(&api("drilldown-limits"), get(status::drilldown))
        .route(&api("tail"), get(tail::answer))
        .route(&old("label"), question(labels::names))
        .route(&old("label/{name}/values"), question(labels::values))
        .route(&old("series"), question(labels::series))
        .route(&old("tail"), get(tail::answer))
}

/// A question, in the URL or as a form.
fn question<T: 'static, H: Handler<T, Shared>>(handler: H) -> MethodRouter<Shared> {
    get(handler.clone()).post(handler)
}
