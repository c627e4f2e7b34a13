//! `POST /api/ci/github`: webhooks of GitHub, as spans.
//!
//! | event | what becomes of it |
//! |---|---|
//! | `workflow_job`, taken by a runner | the span of its waiting |
//! | `workflow_job`, completed | the spans of the job and its steps |
//! | `workflow_run`, completed | the span of the run, which covers its jobs |
//! | `ping` | an answer |
//! | anything else | nothing |
//!
//! Ids are computed from what an event says, so nothing is remembered between two of them: it does
//! not matter which of several servers gets which, or that one was started again in between. An event
//! that GitHub delivers twice within ten minutes is known as the same by the journal.
//!
//! Only events with a right signature count. Without a secret there is nobody to believe.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::post;
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Request, StatusCode};
use kymo_admit::{Compression, Format, Signal};
use kymo_ci::encode;
use kymo_ci::model::Conclusion;
use kymo_ci::summary::StoredJobs;
use kymo_ci::webhook::{Event, is_signed};
use kymo_wire::{AnyValueView, TracesView, View, WireError, text};
use kymo_yaml::Secret;

use crate::answer::Failure;
use crate::body;
use crate::parameters::Parameters;
use crate::receive::{Content, Incoming};
use crate::reply::{json_error, refused, typed};
use crate::router::Shared;
use crate::telemetry::Protocol;
use crate::tenant;

const PATH: &str = "/api/ci/github";
const FORM: &str = "application/x-www-form-urlencoded";

/// The path, for those who know the secret.
pub(crate) fn over_http(secret: Option<Secret>) -> Router<Shared> {
    let secret = secret.map(Arc::new);
    let answer = move |State(shared), request| {
        let secret = secret.clone();
        async move { answer(&shared, secret.as_deref(), request).await }
    };
    Router::new().route(PATH, post(answer))
}

async fn answer(shared: &Shared, secret: Option<&Secret>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let Some(secret) = secret else {
        body::drain(body).await;
        let why = "webhooks are not taken here: set ci.github.webhook_secret to the secret of the \
                   webhook";
        return json_error(StatusCode::NOT_FOUND, why);
    };
    match receive(shared, secret, &head.headers, body).await {
        Ok(done) => done,
        Err(failure) => {
            shared.receiver.refused(tenant::DEFAULT, Signal::Traces, &failure);
            refused(failure, |status, message| json_error(status, &message))
        }
    }
}

async fn receive(
    shared: &Shared,
    secret: &Secret,
    headers: &HeaderMap,
    body: Body,
) -> Result<Response, Failure> {
    let tenant = tenant::of(headers).map_err(|why| Failure::invalid("bad_tenant", why))?;
    let receiver = &shared.receiver;
    let (body, _reservation) = body::read(body, receiver.bounds(tenant), &receiver.budget).await?;
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let signature = header("x-hub-signature-256").unwrap_or_default();
    if !is_signed(secret.reveal(), &body, signature) {
        return Err(Failure::unauthorized(
            "the signature (X-Hub-Signature-256) is missing or wrong: the webhook's secret must be \
             ci.github.webhook_secret",
        ));
    }
    let kind = header("x-github-event").unwrap_or_default().to_owned();
    if kind == "ping" {
        return Ok(said(StatusCode::OK, "pong"));
    }
    let payload = payload(headers, body)?;
    // It may have megabytes.
    let read = shared.read(move || Event::read(&kind, &payload)).await;
    let read = read.map_err(|_| Failure::stopping())?;
    let Some(mut event) = read.map_err(|why| Failure::invalid("bad_payload", why))? else {
        return Ok(said(StatusCode::ACCEPTED, "ignored: it tells nothing of runs"));
    };
    let jobs = if event.ends_run() { stored(shared, tenant, &event).await } else { None };
    let Some(trace) = event.trace(jobs.as_ref()) else {
        return Ok(said(StatusCode::ACCEPTED, "noted: nothing has come to an end"));
    };
    for warning in event.warnings.all() {
        tracing::warn!(trace = %trace.id, "{warning}");
    }
    for request in encode::requests(&trace) {
        let incoming = Incoming {
            tenant,
            signal: Signal::Traces,
            protocol: Protocol::Webhook,
            content: Content::Otlp(Format::Protobuf),
            compression: Compression::None,
            body: Bytes::from(request),
        };
        receiver.receive(incoming).await?;
    }
    let spans = trace.spans().count();
    let done = serde_json::json!({
        "message": "recorded", "trace_id": trace.id.to_string(), "spans": spans,
    });
    Ok(typed(StatusCode::OK, "application/json", done.to_string()))
}

/// The JSON of an event: the body, or a member of a form, whichever the webhook is set to.
fn payload(headers: &HeaderMap, body: Bytes) -> Result<Bytes, Failure> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_form = content_type.is_some_and(|value| value.starts_with(FORM));
    // curl calls everything a form unless told otherwise.
    if !is_form || body.trim_ascii_start().starts_with(b"{") {
        return Ok(body);
    }
    let form = Parameters::of_form(&body).map_err(|why| Failure::invalid("bad_payload", why))?;
    match form.get("payload") {
        Some(payload) => Ok(Bytes::copy_from_slice(payload.as_bytes())),
        None => Err(Failure::invalid("bad_payload", "the form has no payload")),
    }
}

/// What is stored of the jobs of a run.
async fn stored(shared: &Shared, tenant: &str, event: &Event) -> Option<StoredJobs> {
    match shared.engine.trace(tenant, event.identity().trace.0).await {
        Ok(found) => read_jobs(&found?.body).ok().flatten(),
        Err(error) => {
            // The run's own times are nearly right.
            tracing::warn!(%error, "the jobs of a run that has ended could not be read");
            None
        }
    }
}

fn read_jobs(traces: &[u8]) -> Result<Option<StoredJobs>, WireError> {
    let mut jobs: Option<StoredJobs> = None;
    for resource in TracesView::parse(traces)?.resources {
        for scope in resource?.scopes {
            for span in scope?.items {
                let span = span?;
                let (start, end) = (span.start_time_unix_nano, span.end_time_unix_nano);
                let jobs = jobs.get_or_insert_with(|| StoredJobs {
                    from_nanos: start,
                    to_nanos: end,
                    conclusions: Vec::new(),
                });
                jobs.from_nanos = jobs.from_nanos.min(start);
                jobs.to_nanos = jobs.to_nanos.max(end);
                let (mut is_job, mut conclusion) = (false, None);
                for attribute in span.attributes {
                    let attribute = attribute?;
                    match (attribute.key, attribute.value) {
                        (b"ci.kind", AnyValueView::String(kind)) => is_job = kind == b"job",
                        (b"ci.conclusion", AnyValueView::String(word)) => {
                            conclusion = Some(Conclusion::of(&text(word)));
                        }
                        _ => {}
                    }
                }
                if is_job {
                    jobs.conclusions.push(conclusion);
                }
            }
        }
    }
    Ok(jobs)
}

fn said(status: StatusCode, message: &str) -> Response {
    typed(status, "application/json", serde_json::json!({ "message": message }).to_string())
}
