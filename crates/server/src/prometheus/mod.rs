//! Prometheus' API, under `/prometheus`.
//!
//! | module | what it holds |
//! |---|---|
//! | `asked` | what every question has: tenants, parameters, a form; and how it ends |
//! | `times` | moments and durations as Prometheus writes them |
//! | `query`, `json` | expressions, at one time or many; results as JSON |
//! | `labels`, `exemplars` | series, labels, values, metadata; exemplars |
//! | `syntax` | expressions as trees and in a tidy form |
//! | `write` | remote-write 1.0 and 2.0 |
//! | `read` | remote read |
//! | `expose` | newest samples, as targets show theirs |
//! | `status`, `targets`, `rules` | what this server is, scrapes and evaluates |

mod asked;
mod exemplars;
mod expose;
mod json;
mod labels;
mod query;
mod read;
mod rules;
mod status;
mod syntax;
mod targets;
mod times;
mod write;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};
use kymo_admit::Signal;

pub(crate) use expose::exposition;
pub(crate) use json::{write_list, write_point, write_text};
pub use query::prometheus_json;

use crate::otlp::http as otlp_http;
use crate::router::Shared;

/// The paths that answer questions.
pub(crate) fn over_http() -> Router<Shared> {
    let api = "/prometheus/api/v1";
    let path = |rest: &str| format!("{api}/{rest}");
    Router::new()
        .route("/prometheus/-/ready", get(|| async { "Prometheus Server is Ready.\n" }))
        .route("/prometheus/-/healthy", get(|| async { "Prometheus Server is Healthy.\n" }))
        .route("/prometheus/-/reload", post(status::reload).put(status::reload))
        .route(&path("query"), get(query::instant).post(query::instant))
        .route(&path("query_range"), get(query::range).post(query::range))
        .route(&path("query_exemplars"), get(exemplars::answer).post(exemplars::answer))
        .route(&path("format_query"), get(syntax::format).post(syntax::format))
        .route(&path("parse_query"), get(syntax::parse).post(syntax::parse))
        .route(&path("series"), get(labels::series).post(labels::series))
        .route(&path("labels"), get(labels::names).post(labels::names))
        .route(&path("label/{name}/values"), get(labels::values))
        .route(&path("metadata"), get(labels::metadata))
        .route(&path("read"), post(read::answer))
        .merge(status::over_http())
        .merge(targets::over_http())
        .merge(rules::over_http())
        .route("/prometheus/federate", get(expose::federate))
}

/// The paths that take data in.
pub(crate) fn receiving() -> Router<Shared> {
    let otlp = |State(shared), request| otlp_http::answer(shared, Signal::Metrics, request);
    Router::new()
        .route("/prometheus/api/v1/write", post(write::answer))
        .route("/prometheus/api/v1/otlp/v1/metrics", post(otlp))
}
