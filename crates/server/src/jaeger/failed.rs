//! What went wrong, before an API says it in its own way.

use axum::response::Response;
use http::StatusCode;
use kymo_engine::EngineError;
use kymo_wire::WireError;

use crate::answer::Code;
use crate::grpc::{Status, of_engine};
use crate::reply;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failed {
    /// The request is wrong.
    Invalid(String),
    /// What is asked for cannot be read.
    Damaged(&'static str),
    /// There is no such trace.
    Unknown(&'static str),
    /// The body could not be read.
    Unread(crate::answer::Failure),
    /// The engine could not answer.
    Engine(EngineError),
}

impl From<EngineError> for Failed {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl Failed {
    /// A response over HTTP, with status and text as `say` writes them.
    pub(super) fn response(&self, say: impl FnOnce(StatusCode, String) -> Response) -> Response {
        match self {
            Self::Engine(error) => reply::failed(error, say),
            Self::Unread(failure) => reply::refused(failure.clone(), say),
            Self::Invalid(message) => say(StatusCode::BAD_REQUEST, message.clone()),
            Self::Unknown(message) => say(StatusCode::NOT_FOUND, (*message).to_owned()),
            Self::Damaged(message) => say(StatusCode::INTERNAL_SERVER_ERROR, (*message).to_owned()),
        }
    }
}

impl From<Failed> for Status {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Engine(error) => of_engine(&error),
            Failed::Unread(failure) => failure.into(),
            Failed::Invalid(message) => Self::invalid(message),
            Failed::Unknown(message) => Self::new(Code::NotFound, message),
            Failed::Damaged(message) => Self::new(Code::Internal, message),
        }
    }
}

/// A trace that was stored and cannot be read: a fault of ours.
pub(super) fn unreadable(error: WireError) -> EngineError {
    tracing::error!(%error, "a stored trace cannot be read");
    EngineError::Internal(format!("a stored trace cannot be read: {error}"))
}
