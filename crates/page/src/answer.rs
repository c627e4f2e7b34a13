//! Answers and failures, the same for all paths: JSON, and `{"error": "…"}`.

use std::time::Duration;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::extract::rejection::JsonRejection;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use kymo_engine::{Engine, EngineError, Tenants};
use kymo_promql::eval::EvalError;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// What was asked is wrong.
    #[error("{0}")]
    Invalid(String),
    /// The text of a query is wrong, and it is known where.
    #[error("{message}")]
    Query {
        /// What is wrong.
        message: String,
        /// Where.
        position: Position,
    },
    /// What one parameter of several like it asks is wrong, or failed.
    #[error("{failed}")]
    Of {
        /// Which.
        parameter: &'static str,
        /// Why.
        failed: Box<Failed>,
    },
    /// There is no such thing.
    #[error("{0}")]
    Unknown(String),
    /// It was changed meanwhile.
    #[error("{0}")]
    Conflict(String),
    /// It is more than there is room for.
    #[error("{0}")]
    TooLarge(String),
    /// The query failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A fault of ours.
    #[error("{0}")]
    Internal(String),
}

/// Where in a query something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct Position {
    /// Units of UTF-16 before it, as JavaScript counts.
    pub(crate) offset: usize,
    /// The line, from 1.
    pub(crate) line: usize,
    /// The character of the line, from 1.
    pub(crate) column: usize,
}

impl Position {
    /// The place of a line and column in a text.
    pub(crate) fn of(text: &str, line: usize, column: usize) -> Self {
        let before = text.split('\n').take(line.saturating_sub(1));
        let lines: usize = before.map(|line| line.encode_utf16().count() + 1).sum();
        let in_line = text.split('\n').nth(line.saturating_sub(1)).unwrap_or_default();
        let letters = in_line.chars().take(column.saturating_sub(1));
        Self { offset: lines + letters.map(char::len_utf16).sum::<usize>(), line, column }
    }
}

impl Failed {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Invalid(_) | Self::Query { .. } => StatusCode::BAD_REQUEST,
            Self::Unknown(_) => StatusCode::NOT_FOUND,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Engine(error) => status_of(error),
            Self::Of { failed, .. } => failed.status(),
        }
    }

    /// Says which of several parameters it is about.
    pub(crate) fn of(self, parameter: &'static str) -> Self {
        Self::Of { parameter, failed: Box::new(self) }
    }

    /// What is told: the error and, of a query, where in it; and which parameter it is about, if
    /// there are several like it.
    pub(crate) fn document(&self) -> serde_json::Value {
        if let Self::Of { parameter, failed } = self {
            let mut document = failed.document();
            document["parameter"] = serde_json::json!(parameter);
            return document;
        }
        let mut document = serde_json::json!({ "error": self.to_string() });
        if let Self::Query { position, .. } = self {
            document["position"] = serde_json::json!(position);
        }
        document
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Of { failed, .. } => failed.retry_after(),
            Self::Engine(EngineError::Busy { retry_after }) => Some(*retry_after),
            _ => None,
        }
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let response = typed(self.status(), "application/json", self.document().to_string());
        match self.retry_after() {
            Some(after) => retry(response, after),
            None => response,
        }
    }
}

impl From<JsonRejection> for Failed {
    fn from(rejection: JsonRejection) -> Self {
        match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Self::TooLarge(rejection.body_text()),
            _ => Self::Invalid(rejection.body_text()),
        }
    }
}

/// What HTTP says of a query that failed, whichever of our own APIs it was asked by.
pub fn status_of(error: &EngineError) -> StatusCode {
    match error {
        EngineError::Invalid(_) => StatusCode::BAD_REQUEST,
        EngineError::NotAllowed(_) => StatusCode::FORBIDDEN,
        EngineError::Memory { .. } | EngineError::Rows { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        EngineError::Evaluation(evaluation) => match **evaluation {
            EvalError::NotOverTime(_) => StatusCode::BAD_REQUEST,
            // The data do not fit the expression: Prometheus says 422 as well.
            EvalError::Execution(_) | EvalError::TooManySamples(_) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            EvalError::Timeout => StatusCode::GATEWAY_TIMEOUT,
            EvalError::Canceled => StatusCode::SERVICE_UNAVAILABLE,
            EvalError::Source(_) => StatusCode::INTERNAL_SERVER_ERROR,
        },
        EngineError::Timeout { .. } => StatusCode::GATEWAY_TIMEOUT,
        EngineError::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
        EngineError::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        EngineError::Store(_) | EngineError::Damaged { .. } | EngineError::Internal(_) => {
            StatusCode::INTERNAL_SERVER_ERROR
        }
    }
}

/// Says when to try again: in whole seconds, at least one.
pub fn retry(mut response: Response, after: Duration) -> Response {
    let secs = after.as_secs() + u64::from(after.subsec_nanos() > 0);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(secs.max(1)));
    response
}

/// An answer of some type.
pub fn typed(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// A document.
pub(crate) fn json(document: &impl Serialize) -> Result<Response, Failed> {
    let body = serde_json::to_vec(document).map_err(|error| Failed::Internal(error.to_string()))?;
    Ok(typed(StatusCode::OK, "application/json", body))
}

/// A document that takes a while to make or to write: on the engine's threads, where it delays no
/// acknowledgement.
pub(crate) async fn made<T: Serialize>(
    engine: &Engine,
    make: impl FnOnce() -> T + Send + 'static,
) -> Result<Response, Failed> {
    engine.blocking(move || json(&make())).await?
}

/// Parameters of an address. What is wrong with them is told as everything else is.
#[derive(Debug, Clone)]
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failed> {
        let read = axum::extract::Query::try_from_uri(&parts.uri);
        let read = read.map_err(|rejection| Failed::Invalid(rejection.body_text()))?;
        Ok(Self(read.0))
    }
}

/// Who asks, as the server has found: the name of a token or user.
#[derive(Debug, Clone)]
pub struct Asker(pub String);

/// Who asks; `anonymous` where nobody says.
#[derive(Debug, Clone)]
pub(crate) struct Who(pub(crate) String);

impl<S: Sync> FromRequestParts<S> for Who {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failed> {
        let asker = parts.extensions.get::<Asker>();
        Ok(Self(asker.map_or_else(|| "anonymous".to_owned(), |asker| asker.0.clone())))
    }
}

/// The one tenant that something is kept for.
pub(crate) fn one_tenant<'a>(tenants: &'a Tenants, what: &str) -> Result<&'a str, Failed> {
    let mut names = tenants.names();
    match (names.next(), names.next()) {
        (Some(tenant), None) => Ok(tenant),
        _ => Err(Failed::Invalid(format!("{what} is kept for one tenant: name just one"))),
    }
}

/// Whose data is meant, as the server has found.
#[derive(Debug, Clone)]
pub(crate) struct Whose(pub(crate) Tenants);

impl<S: Sync> FromRequestParts<S> for Whose {
    type Rejection = Failed;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failed> {
        let tenants = parts.extensions.get::<Tenants>().cloned();
        tenants.map(Self).ok_or_else(|| Failed::Internal("nobody said whose data is meant".into()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tested::Place;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_wrong_with_a_question_is_told_as_json() {
        let place = Place::new();
        for path in [
            "/api/fleet/host",
            "/api/runs/compare",
            "/api/ci/compare?a=1",
            "/api/traces/search?limit=many",
            "/api/board/s/tasks?limit=-1",
        ] {
            let (status, document) = place.ask(path).await;
            assert_eq!(status, StatusCode::BAD_REQUEST, "{path}");
            assert!(document["error"].is_string(), "{path}: {document}");
        }
        let (status, document) = place.post("/api/traces/search", &json!("all")).await;
        assert_eq!(status, StatusCode::BAD_REQUEST);
        assert!(document["error"].is_string(), "{document}");
    }

    #[test]
    fn an_expression_that_data_do_not_fit_is_no_fault_of_ours() {
        let error = EvalError::Execution(String::new());
        let error = EngineError::Evaluation(std::sync::Arc::new(error));
        assert_eq!(status_of(&error), StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(status_of(&EngineError::Cancelled), StatusCode::SERVICE_UNAVAILABLE);
        let internal = EngineError::Internal(String::new());
        assert_eq!(status_of(&internal), StatusCode::INTERNAL_SERVER_ERROR);
    }

    #[test]
    fn to_wait_a_part_of_a_second_is_to_wait_a_second() {
        for (millis, secs) in [(0, "1"), (10, "1"), (1_000, "1"), (1_001, "2")] {
            let retry_after = Duration::from_millis(millis);
            let response = Failed::Engine(EngineError::Busy { retry_after }).into_response();
            assert_eq!(response.headers()[RETRY_AFTER], secs, "{millis}");
        }
    }
}
