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

impl Failed {
    fn status(&self) -> StatusCode {
        match self {
            Self::Invalid(_) => StatusCode::BAD_REQUEST,
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

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Engine(EngineError::Busy { retry_after }) => Some(*retry_after),
            _ => None,
        }
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let body = serde_json::json!({ "error": self.to_string() }).to_string();
        let mut response = typed(self.status(), "application/json", body);
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
