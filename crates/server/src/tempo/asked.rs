//! What every question over HTTP has, and how it ends.

use std::future::Future;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::header::ACCEPT;
use http::{HeaderMap, Request, StatusCode};
use kymo_engine::{EngineError, Tenants};
use kymo_traceql::ast::Query;
use prost::Message;

use super::llm;
use crate::answer::Failure;
use crate::body::{self, Bounds, Reservation};
use crate::format::Format;
use crate::grpc;
use crate::limits::{BODY_PAUSE_TIMEOUT, MAX_QUERY_BYTES};
use crate::parameters::{Parameters, is_form};
use crate::reply::{self, plain, typed};
use crate::router::Shared;
use crate::telemetry::Timed;
use crate::tenant;

/// Why a question is not answered.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// It is wrong: what is said about it.
    Wrong(String),
    /// Its form could not be read.
    Unread(Failure),
    /// The engine could not answer it.
    Engine(EngineError),
}

impl From<String> for Unanswered {
    fn from(message: String) -> Self {
        Self::Wrong(message)
    }
}

impl From<EngineError> for Unanswered {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl Unanswered {
    /// A word for metrics.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Wrong(_) | Self::Unread(_) => "invalid",
            Self::Engine(error) => error.kind(),
        }
    }

    /// As HTTP says it, in plain text.
    fn response(self) -> Response {
        match self {
            Self::Wrong(message) => plain(StatusCode::BAD_REQUEST, message),
            Self::Unread(failure) => plain(failure.status, failure.message),
            Self::Engine(error) => reply::failed(&error, plain),
        }
    }
}

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
        let (head, body) = request.into_parts();
        let tenants = tenant::readable(&head.headers)?;
        let parameters = Parameters::of(&head.uri)?;
        let parameters = match is_form(&head.headers) {
            true => parameters.and(form(shared, body).await?),
            false => parameters,
        };
        Ok(Self { tenants, parameters, form: Form::of(&head.headers) })
    }
}

async fn form(shared: &Shared, body: Body) -> Result<Parameters, Unanswered> {
    let (text, _reservation) = text(shared, body, MAX_QUERY_BYTES).await?;
    Ok(Parameters::of_form(&text)?)
}

/// The body of a question, and the memory that it takes.
pub(super) async fn text(
    shared: &Shared,
    body: Body,
    max_bytes: usize,
) -> Result<(Bytes, Reservation), Unanswered> {
    let bounds = Bounds::new(max_bytes, BODY_PAUSE_TIMEOUT);
    let read = body::read(body, bounds, &shared.receiver.budget).await;
    read.map_err(|error| Unanswered::Unread(error.into()))
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
    counted(shared, kind, async { answer(Asked::read(shared, request).await?).await }).await
}

/// Waits for an answer, and counts it.
pub(super) async fn counted(
    shared: &Shared,
    kind: &'static str,
    answered: impl Future<Output = Result<Response, Unanswered>>,
) -> Response {
    let timed = Timed::new(&shared.telemetry, kind);
    let answered = answered.await;
    timed.ended(outcome(&answered));
    answered.unwrap_or_else(Unanswered::response)
}

/// A word for metrics.
pub(super) fn outcome<T>(answered: &Result<T, Unanswered>) -> &'static str {
    answered.as_ref().err().map_or("ok", Unanswered::kind)
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
