//! Who is recorded: flags over our API, for admins, and over OFREP, for those who send.
//!
//! Flags are one document (`durable`). A change is made to a copy, made durable, and put in force.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::header::{ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use kymo_admit::audience::limits::MAX_REQUEST_BYTES;
use kymo_admit::audience::{Answer, Author, FlagBook, api, ofrep};
use kymo_engine::Engine;
use kymo_identity::Grant;
use kymo_store::settings::Setting;

use crate::reply::{json_error, typed};
use crate::router::Shared;
use crate::{body, durable};

const JSON: &str = "application/json";

/// Our own API.
pub(crate) fn over_http() -> Router<Shared> {
    Router::new()
        .route("/api/audience/flags", get(list).post(change_all))
        .route("/api/audience/flags/{key}", get(one).put(change).patch(change).delete(change))
        .route("/api/audience/audit", get(audit))
}

/// OFREP.
pub(crate) fn ofrep_over_http() -> Router<Shared> {
    Router::new()
        .route("/ofrep/v1/evaluate/flags", post(evaluate_all))
        .route("/ofrep/v1/evaluate/flags/{key}", post(evaluate))
}

/// Flags as they were last made durable, and their version.
pub(crate) async fn load(engine: &Engine) -> Result<(u64, FlagBook), String> {
    let (version, document) =
        durable::get(engine, Setting::Audience).await.map_err(|error| error.to_string())?;
    Ok((version, read(document.as_deref())?))
}

fn read(document: Option<&[u8]>) -> Result<FlagBook, String> {
    let book = document.map(FlagBook::from_json).transpose();
    let book =
        book.map_err(|error| format!("the flags of the audience cannot be read: {error}"))?;
    Ok(book.unwrap_or_default())
}

async fn list(State(shared): State<Shared>) -> Response {
    respond(api::list(&shared.receiver.audience().book()))
}

async fn one(State(shared): State<Shared>, Path(key): Path<String>) -> Response {
    respond(api::get(&shared.receiver.audience().book(), &key))
}

async fn audit(State(shared): State<Shared>) -> Response {
    respond(api::audit(&shared.receiver.audience().book()))
}

async fn change_all(State(shared): State<Shared>, request: Request<Body>) -> Response {
    make(&shared, None, request).await
}

async fn change(
    State(shared): State<Shared>,
    Path(key): Path<String>,
    request: Request<Body>,
) -> Response {
    make(&shared, Some(key), request).await
}

/// Makes a change: to a copy, durable, in force.
async fn make(shared: &Shared, key: Option<String>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let by = head.extensions.get::<Grant>().map_or("anonymous", |grant| &grant.name).to_owned();
    let body = match body::small(body, MAX_REQUEST_BYTES).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    // One after another: flags are put in force in the order in which they were made durable.
    let _turn = shared.changing.lock().await;
    let changed = durable::change(&shared.engine, Setting::Audience, |document| {
        let mut book = read(document)
            .map_err(|why| Box::new(json_error(StatusCode::SERVICE_UNAVAILABLE, &why)))?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let author = Author { by: &by, at_millis: since.as_millis() as u64 };
        let settings = &shared.audience;
        let answer = match (&key, &head.method) {
            (None, _) => api::create(&mut book, &body, settings, &author),
            (Some(key), &Method::PUT) => api::put(&mut book, key, &body, settings, &author),
            (Some(key), &Method::PATCH) => api::patch(&mut book, key, &body, &author),
            (Some(key), _) => api::delete(&mut book, key, &author),
        };
        if !answer.is_success() {
            return Err(Box::new(respond(answer)));
        }
        let document = book.to_json();
        let document = document
            .map_err(|error| Box::new(json_error(StatusCode::BAD_REQUEST, &error.to_string())))?;
        Ok((document, (book, answer)))
    });
    match changed.await {
        Ok((book, answer)) => {
            shared.receiver.audience().replace(book);
            let key = key.as_deref().unwrap_or_default();
            tracing::info!(by, method = %head.method, flag = key, "the audience was changed");
            respond(answer)
        }
        Err(response) => *response,
    }
}

async fn evaluate(
    State(shared): State<Shared>,
    Path(key): Path<String>,
    request: Request<Body>,
) -> Response {
    match body::small(request.into_body(), MAX_REQUEST_BYTES).await {
        Ok(body) => respond(ofrep::evaluate(&shared.receiver.audience().book(), &key, &body)),
        Err(response) => response,
    }
}

async fn evaluate_all(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let known = text(&head.headers, IF_NONE_MATCH.as_str()).map(str::to_owned);
    match body::small(body, MAX_REQUEST_BYTES).await {
        Ok(body) => {
            let book = shared.receiver.audience().book();
            respond(ofrep::evaluate_all(&book, &body, known.as_deref()))
        }
        Err(response) => response,
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn respond(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = typed(status, JSON, answer.body);
    if let Some(etag) = answer.etag.and_then(|etag| HeaderValue::from_str(&etag).ok()) {
        response.headers_mut().insert(ETAG, etag);
    }
    response
}
