//! Loki's API, under `/loki`.
//!
//! | module | what it holds |
//! |---|---|
//! | `push` | what is pushed, and OTLP |

mod push;

use axum::Router;
use axum::routing::post;

use crate::router::Shared;

/// The paths that take data in.
pub(crate) fn receiving() -> Router<Shared> {
    Router::new()
        .route("/loki/api/v1/push", post(push::push))
        // As it was called before.
        .route("/loki/api/prom/push", post(push::push))
        .route("/loki/otlp/v1/logs", post(push::otlp))
}
