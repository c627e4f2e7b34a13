//! Answers and failures, the same for all paths: JSON, and `{"error": "…"}`.

use std::time::Duration;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, StatusCode};
use kymo_engine::{EngineError, Tenants};
use serde::Serialize;

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
            Self::Engine(error) => match error {
                EngineError::Invalid(_) => StatusCode::BAD_REQUEST,
                EngineError::NotAllowed(_) => StatusCode::FORBIDDEN,
                EngineError::Memory { .. } | EngineError::Rows { .. } => {
                    StatusCode::UNPROCESSABLE_ENTITY
                }
                EngineError::Timeout { .. } => StatusCode::GATEWAY_TIMEOUT,
                EngineError::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
                EngineError::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
                _ => StatusCode::INTERNAL_SERVER_ERROR,
            },
        }
    }

    /// What is told: the error and, of a query, where in it.
    pub(crate) fn document(&self) -> serde_json::Value {
        let mut document = serde_json::json!({ "error": self.to_string() });
        if let Self::Query { position, .. } = self {
            document["position"] = serde_json::json!(position);
        }
        document
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Engine(EngineError::Busy { retry_after }) => Some(*retry_after),
            _ => None,
        }
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let mut response = typed(self.status(), "application/json", self.document().to_string());
        if let Some(after) = self.retry_after() {
            let secs = HeaderValue::from(after.as_secs().max(1));
            response.headers_mut().insert(RETRY_AFTER, secs);
        }
        response
    }
}

/// An answer of some type.
pub(crate) fn typed(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Body>,
) -> Response {
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
