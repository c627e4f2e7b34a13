//! What every question over HTTP has, and how it ends.

use std::future::Future;

use axum::body::Body;
use axum::response::Response;
use http::header::ACCEPT;
use http::{HeaderMap, Request, StatusCode};
use kymo_engine::Tenants;
use kymo_traceql::ast::Query;
use prost::Message;

use super::llm;
use crate::format::Format;
use crate::grpc;
use crate::parameters::Parameters;
pub(super) use crate::question::PlainUnanswered as Unanswered;
use crate::question::{self, Question};
use crate::reply::{plain, typed};
use crate::router::Shared;

impl From<Unanswered> for grpc::Status {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Wrong(message) => Self::invalid(message),
            Unanswered::Unread(failure) => failure.into(),
            Unanswered::Engine(error) => grpc::of_engine(&error),
        }
    }
}

/// Why something is not done.
#[derive(Debug)]
pub(super) enum Failed {
    Unanswered(Unanswered),
    /// There is nothing wrong with the question.
    Refused(StatusCode, String),
}

impl<E: Into<Unanswered>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Unanswered(error.into())
    }
}

impl Failed {
    /// That something is refused is an answer.
    pub(super) fn told(self) -> Result<Response, Unanswered> {
        match self {
            Self::Unanswered(unanswered) => Err(unanswered),
            Self::Refused(status, message) => Ok(plain(status, message)),
        }
    }
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Protobuf,
    /// JSON for language models; where there is none, JSON.
    Llm,
    /// CSV or Arrow, where rows make sense.
    Table(Format),
}

impl Form {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("");
        if accept.contains("application/protobuf") {
            return Self::Protobuf;
        }
        let is_json = accept.contains("application/json");
        match Format::accepted(accept) {
            Format::Json if !is_json && accept.contains(llm::ACCEPTED) => Self::Llm,
            Format::Json => Self::Json,
            table => Self::Table(table),
        }
    }
}

/// A question.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) tenants: Tenants,
    pub(super) parameters: Parameters,
    pub(super) form: Form,
}

impl Asked {
    async fn read(shared: &Shared, request: Request<Body>) -> Result<Self, Unanswered> {
        let Question { tenants, parameters, headers } = Question::read(shared, request).await?;
        Ok(Self { tenants, parameters, form: Form::of(&headers) })
    }
}

/// Reads a question, has it answered, and counts it.
pub(super) async fn answer<A>(
    shared: &Shared,
    kind: &'static str,
    request: Request<Body>,
    answer: impl FnOnce(Asked) -> A,
) -> Response
where
    A: Future<Output = Result<Response, Unanswered>>,
{
    let answering = async { answer(Asked::read(shared, request).await?).await };
    question::counted(shared, kind, answering).await
}

/// Reads a query.
pub(super) async fn parse(
    shared: &Shared,
    text: String,
    say: impl FnOnce(String) -> String,
) -> Result<Query, Unanswered> {
    let parsed = shared.read(move || kymo_traceql::parse(&text)).await?;
    parsed.map_err(|error| Unanswered::Wrong(say(error.to_string())))
}

/// An answer as JSON, or as a message where protobuf is asked for. Made on the engine's threads.
pub(super) async fn encode<T: Send + 'static, M: Message>(
    shared: &Shared,
    form: Form,
    answer: T,
    json: impl FnOnce(&T) -> Vec<u8> + Send + 'static,
    message: impl FnOnce(T) -> M + Send + 'static,
) -> Response {
    let make = move || match form {
        Form::Protobuf => {
            typed(StatusCode::OK, "application/protobuf", message(answer).encode_to_vec())
        }
        Form::Json | Form::Llm | Form::Table(_) => {
            typed(StatusCode::OK, "application/json", json(&answer))
        }
    };
    shared.encode(make).await
}
