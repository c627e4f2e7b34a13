//! What every question has, and how it ends.

use std::future::Future;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{Request, StatusCode};
use kymo_engine::{EngineError, Tenants};
use kymo_promql::ast::Expr;
use kymo_promql::eval::EvalError;
use kymo_promql::matcher::LabelMatcher;
use kymo_promql::parser::{parse_selector, parse_with};
use serde_json::json;

use super::times;
use crate::answer::Failure;
use crate::limits::MAX_QUERY_BYTES;
use crate::parameters::Parameters;
use crate::question::{self, Question};
use crate::reply::{refused, retry, typed};
use crate::router::Shared;
use crate::tenant;

/// Why a question is not answered.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// It is wrong: what is said about it.
    Wrong(String),
    /// It could not be read.
    Unread(Failure),
    /// The engine could not answer it.
    Engine(EngineError),
    /// It is switched off, or not there yet.
    Unavailable(String),
}

impl From<EngineError> for Unanswered {
    fn from(error: EngineError) -> Self {
        Self::Engine(error)
    }
}

impl Unanswered {
    /// A parameter that is not what it should be, in Prometheus' words.
    pub(super) fn parameter(name: &str, why: impl std::fmt::Display) -> Self {
        Self::Wrong(format!("invalid parameter {name:?}: {why}"))
    }
}

impl From<Failure> for Unanswered {
    fn from(failure: Failure) -> Self {
        Self::Unread(failure)
    }
}

impl question::Unanswered for Unanswered {
    fn kind(&self) -> &'static str {
        match self {
            Self::Wrong(_) | Self::Unread(_) => "invalid",
            Self::Unavailable(_) => "unavailable",
            Self::Engine(error) => error.kind(),
        }
    }

    fn response(self) -> Response {
        let say = |status: StatusCode, kind: &str, message: &str| {
            let body = json!({ "status": "error", "errorType": kind, "error": message });
            typed(status, JSON, body.to_string())
        };
        let error = match self {
            Self::Wrong(message) => return say(StatusCode::BAD_REQUEST, "bad_data", &message),
            Self::Unread(failure) => {
                return refused(failure, |status, message| say(status, "bad_data", &message));
            }
            Self::Unavailable(message) => {
                return say(StatusCode::INTERNAL_SERVER_ERROR, "unavailable", &message);
            }
            Self::Engine(error) => error,
        };
        let message = error.to_string();
        let (status, kind) = match &error {
            EngineError::Evaluation(evaluation) => match **evaluation {
                EvalError::Timeout => (StatusCode::SERVICE_UNAVAILABLE, "timeout"),
                EvalError::Canceled => (CLIENT_CLOSED_REQUEST, "canceled"),
                EvalError::NotOverTime(_) => (StatusCode::BAD_REQUEST, "bad_data"),
                _ => (StatusCode::UNPROCESSABLE_ENTITY, "execution"),
            },
            EngineError::Invalid(_) => (StatusCode::BAD_REQUEST, "bad_data"),
            EngineError::Memory { .. } | EngineError::Rows { .. } => {
                (StatusCode::UNPROCESSABLE_ENTITY, "execution")
            }
            EngineError::Timeout { .. } => (StatusCode::SERVICE_UNAVAILABLE, "timeout"),
            EngineError::Busy { .. } => (StatusCode::TOO_MANY_REQUESTS, "unavailable"),
            EngineError::Cancelled => (StatusCode::SERVICE_UNAVAILABLE, "canceled"),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        };
        let response = say(status, kind, &message);
        match error {
            EngineError::Busy { retry_after } => retry(response, retry_after),
            _ => response,
        }
    }
}

/// Who asked has gone: nginx's number, which Prometheus uses.
const CLIENT_CLOSED_REQUEST: StatusCode = match StatusCode::from_u16(499) {
    Ok(status) => status,
    Err(_) => StatusCode::SERVICE_UNAVAILABLE,
};

const JSON: &str = "application/json";

/// A question: whose, and its parameters, from the URL or a form.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) tenants: Tenants,
    pub(super) parameters: Parameters,
}

impl Asked {
    async fn read(shared: &Shared, request: Request<Body>) -> Result<Self, Unanswered> {
        let Question { tenants, parameters, .. } = Question::read(shared, request).await?;
        Ok(Self { tenants, parameters })
    }

    /// Whether what is collected here may be told of: targets, rules and alerts are the tenant
    /// `default`'s, as their samples are.
    pub(super) fn is_of_collected(&self) -> bool {
        self.tenants.names().any(|name| name == tenant::DEFAULT)
    }

    /// A moment, in milliseconds.
    pub(super) fn time(&self, name: &str) -> Result<Option<i64>, Unanswered> {
        let Some(text) = self.parameters.get(name) else { return Ok(None) };
        let cannot = || format!("cannot parse {text:?} to a valid timestamp: give {}", times::TIME);
        let time = times::moment(text).ok_or_else(|| Unanswered::parameter(name, cannot()))?;
        Ok(Some(time))
    }

    /// A duration, in milliseconds.
    pub(super) fn duration(&self, name: &str) -> Result<Option<i64>, Unanswered> {
        let Some(text) = self.parameters.get(name) else { return Ok(None) };
        let cannot =
            || format!("cannot parse {text:?} to a valid duration: give {}", times::DURATION);
        let duration =
            times::duration(text).ok_or_else(|| Unanswered::parameter(name, cannot()))?;
        Ok(Some(duration))
    }

    /// How many items are asked for; 0 is as many as there are.
    pub(super) fn limit(&self) -> Result<usize, Unanswered> {
        let limit = self.parameters.number::<usize>("limit");
        Ok(limit.map_err(Unanswered::Wrong)?.unwrap_or(0))
    }

    /// The expression.
    pub(super) fn expression(&self, shared: &Shared) -> Result<(String, Expr), Unanswered> {
        let text = self.parameters.text("query");
        let options = shared.engine.prometheus().parsing();
        let expr = parse_with(&text, &options).map_err(|e| Unanswered::parameter("query", e))?;
        Ok((text, expr))
    }

    /// The conditions of all `match[]`.
    pub(super) fn matchers(&self) -> Result<Vec<Vec<LabelMatcher>>, Unanswered> {
        let selectors = self.parameters.all("match[]");
        let parse = |text: &str| {
            let matchers =
                parse_selector(text).map_err(|error| Unanswered::parameter("match[]", error))?;
            if matchers.iter().all(|matcher| matcher.matches("")) {
                let why = "match[] must contain at least one non-empty matcher";
                return Err(Unanswered::Wrong(why.to_owned()));
            }
            Ok(matchers)
        };
        selectors.map(parse).collect()
    }
}

/// Reads a question that is a message, whole, and answers it.
pub(super) async fn ask_with<F: Future<Output = Result<Response, Unanswered>>>(
    shared: Shared,
    request: Request<Body>,
    api: &'static str,
    answer: impl FnOnce(Shared, Tenants, Bytes) -> F,
) -> Response {
    let answering = async {
        let (head, body) = request.into_parts();
        let tenants = tenant::readable(&head.headers).map_err(Unanswered::Wrong)?;
        let (body, _reservation) = question::read_body(&shared, body, MAX_QUERY_BYTES).await?;
        answer(shared.clone(), tenants, body).await
    };
    question::counted(&shared, api, answering).await
}

/// Reads a question and answers it.
pub(super) async fn ask<F: Future<Output = Result<Response, Unanswered>>>(
    shared: Shared,
    request: Request<Body>,
    api: &'static str,
    answer: impl FnOnce(Shared, Asked) -> F,
) -> Response {
    let answering = async { answer(shared.clone(), Asked::read(&shared, request).await?).await };
    question::counted(&shared, api, answering).await
}

/// An answer that went well. `data` is JSON.
pub(super) fn success(data: &str) -> Response {
    said(data, &[], &[])
}

/// The same with warnings and infos.
pub(super) fn said(data: &str, warnings: &[String], infos: &[String]) -> Response {
    typed(StatusCode::OK, JSON, enveloped(data, warnings, infos))
}

/// What an answer that went well is wrapped in.
pub(super) fn enveloped(data: &str, warnings: &[String], infos: &[String]) -> String {
    let mut body = String::with_capacity(data.len() + 64);
    body.push_str("{\"status\":\"success\",\"data\":");
    body.push_str(data);
    for (name, texts) in [("warnings", warnings), ("infos", infos)] {
        if !texts.is_empty() {
            body.push_str(&format!(",{:?}:{}", name, json!(texts)));
        }
    }
    body.push('}');
    body
}
