//! A question over HTTP as Prometheus, Loki and Tempo have it: whose data it is about, and its
//! parameters, from the URL or a form; and how what becomes of it is counted and told.

use std::future::Future;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use kymo_engine::{EngineError, Tenants};

use crate::answer::Failure;
use crate::body::{self, Bounds, Reservation};
use crate::limits::{BODY_PAUSE_TIMEOUT, MAX_QUERY_BYTES};
use crate::parameters::{Parameters, is_form};
use crate::reply::{failed, plain, refused};
use crate::router::Shared;
use crate::telemetry::Timed;
use crate::tenant;

/// A question as it came.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) tenants: Tenants,
    pub(crate) parameters: Parameters,
    pub(crate) headers: HeaderMap,
}

impl Question {
    pub(crate) async fn read(shared: &Shared, request: Request<Body>) -> Result<Self, Failure> {
        let unreadable = |why: String| Failure::invalid("bad_parameters", why);
        let (head, body) = request.into_parts();
        let tenants = tenant::readable(&head.headers);
        let tenants = tenants.map_err(|why| Failure::invalid("bad_tenant", why))?;
        let mut parameters = Parameters::of(&head.uri).map_err(unreadable)?;
        if is_form(&head.headers) {
            let (form, _reservation) = read_body(shared, body, MAX_QUERY_BYTES).await?;
            // The body counts before the URL, as in Go.
            parameters = Parameters::of_form(&form).map_err(unreadable)?.and(parameters);
        }
        Ok(Self { tenants, parameters, headers: head.headers })
    }
}

/// The body of a question, and the memory that it takes.
pub(crate) async fn read_body(
    shared: &Shared,
    body: Body,
    max_bytes: usize,
) -> Result<(Bytes, Reservation), Failure> {
    let bounds = Bounds::new(max_bytes, BODY_PAUSE_TIMEOUT);
    Ok(body::read(body, bounds, &shared.receiver.budget).await?)
}

/// Why a question is not answered, as an API says it.
pub(crate) trait Unanswered {
    /// A word for metrics.
    fn kind(&self) -> &'static str;

    /// What whoever asked is told.
    fn response(self) -> Response;
}

/// Why a question is not answered, in plain text, as Loki and Tempo say it.
#[derive(Debug)]
pub(crate) enum PlainUnanswered {
    /// It is wrong: what is said about it.
    Wrong(String),
    /// It could not be read.
    Unread(Failure),
    /// The engine could not answer it.
    Engine(EngineError),
}

impl From<String> for PlainUnanswered {
    fn from(why: String) -> Self {
        Self::Wrong(why)
    }
}

impl From<Failure> for PlainUnanswered {
    fn from(failure: Failure) -> Self {
        Self::Unread(failure)
    }
}

impl From<EngineError> for PlainUnanswered {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl Unanswered for PlainUnanswered {
    fn kind(&self) -> &'static str {
        match self {
            Self::Wrong(_) | Self::Unread(_) => "invalid",
            Self::Engine(error) => error.kind(),
        }
    }

    fn response(self) -> Response {
        match self {
            Self::Wrong(message) => plain(StatusCode::BAD_REQUEST, message),
            Self::Unread(failure) => refused(failure, plain),
            Self::Engine(error) => failed(&error, plain),
        }
    }
}

/// Waits for an answer, and counts it.
pub(crate) async fn counted<U: Unanswered>(
    shared: &Shared,
    api: &'static str,
    answering: impl Future<Output = Result<Response, U>>,
) -> Response {
    let timed = Timed::new(&shared.telemetry, api);
    let answered = answering.await;
    timed.ended(outcome(&answered));
    answered.unwrap_or_else(U::response)
}

/// A word for metrics.
pub(crate) fn outcome<T, U: Unanswered>(answered: &Result<T, U>) -> &'static str {
    answered.as_ref().err().map_or("ok", U::kind)
}
