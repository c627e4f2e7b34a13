//! How queries are answered: errors, small texts, and what is sent piece by piece.

use std::io;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::StatusCode;
use kymo_engine::EngineError;
use kymo_page::status_of;

use crate::answer::Failure;

/// Says when to try again; an answer of some type.
pub(crate) use kymo_page::{retry, typed};

/// An answer that is sent piece by piece. Who packs it asks once more after the last piece, which
/// not every stream allows.
pub(crate) fn streamed(
    content_type: &'static str,
    pieces: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> Response {
    typed(StatusCode::OK, content_type, Body::from_stream(pieces.fuse()))
}

/// An answer in plain text, as Tempo gives its errors.
pub(crate) fn plain(status: StatusCode, text: String) -> Response {
    typed(status, "text/plain; charset=utf-8", text)
}

/// An error as our own API says it: `{"error": "…"}`.
pub(crate) fn json_error(status: StatusCode, message: &str) -> Response {
    typed(status, "application/json", serde_json::json!({ "error": message }).to_string())
}

/// A query that failed, in the way of its API.
pub(crate) fn failed(
    error: &EngineError,
    say: impl FnOnce(StatusCode, String) -> Response,
) -> Response {
    let response = say(status_of(error), error.to_string());
    match error {
        EngineError::Busy { retry_after } => retry(response, *retry_after),
        _ => response,
    }
}

/// A request that was not accepted, in the way of its API.
pub(crate) fn refused(
    failure: Failure,
    say: impl FnOnce(StatusCode, String) -> Response,
) -> Response {
    let response = say(failure.status, failure.message);
    match failure.retry_after {
        Some(after) => retry(response, after),
        None => response,
    }
}
