//! A question over HTTP as Prometheus and Loki have it: whose data it is about, and its parameters,
//! from the URL or a form; and how what becomes of it is counted.

use std::future::Future;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, Request};
use kymo_engine::Tenants;

use crate::answer::Failure;
use crate::body::{self, Bounds};
use crate::limits::{BODY_PAUSE_TIMEOUT, MAX_QUERY_BYTES};
use crate::parameters::{Parameters, is_form};
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
            let bounds = Bounds::new(MAX_QUERY_BYTES, BODY_PAUSE_TIMEOUT);
            let (form, _reservation) = body::read(body, bounds, &shared.receiver.budget).await?;
            // The body counts before the URL, as in Go.
            parameters = Parameters::of_form(&form).map_err(unreadable)?.and(parameters);
        }
        Ok(Self { tenants, parameters, headers: head.headers })
    }
}

/// Why a question is not answered, as an API says it.
pub(crate) trait Unanswered {
    /// A word for metrics.
    fn kind(&self) -> &'static str;

    /// What whoever asked is told.
    fn response(self) -> Response;
}

/// Waits for an answer, and counts it.
pub(crate) async fn counted<U: Unanswered>(
    shared: &Shared,
    api: &'static str,
    answering: impl Future<Output = Result<Response, U>>,
) -> Response {
    let timed = Timed::new(&shared.telemetry, api);
    match answering.await {
        Ok(response) => {
            timed.ended("ok");
            response
        }
        Err(unanswered) => {
            timed.ended(unanswered.kind());
            unanswered.response()
        }
    }
}
