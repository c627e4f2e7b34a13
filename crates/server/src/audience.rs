//! Who is recorded: flags over our API, which the page asks too, for admins, and over OFREP, for those
//! who send.
//!
//! Flags are one document (`durable`). A change is made to a copy, made durable, and put in force.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::{get, post};
use bytes::Bytes;
use http::header::{ETAG, IF_NONE_MATCH};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use kymo_admit::audience::limits::MAX_REQUEST_BYTES;
use kymo_admit::audience::{Answer, AudienceSettings, Author, FlagBook, api, ofrep};
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
    make(shared, None, request).await
}

async fn change(
    State(shared): State<Shared>,
    Path(key): Path<String>,
    request: Request<Body>,
) -> Response {
    make(shared, Some(key), request).await
}

/// A change that somebody asks for.
struct Asked {
    /// The flag in the path.
    key: Option<String>,
    method: Method,
    by: String,
    body: Bytes,
}

async fn make(shared: Shared, key: Option<String>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let by = head.extensions.get::<Grant>().map_or("anonymous", |grant| &grant.name).to_owned();
    let body = match body::small(body, MAX_REQUEST_BYTES).await {
        Ok(body) => body,
        Err(response) => return response,
    };
    let asked = Asked { key, method: head.method, by, body };
    durable::apart(async move { asked.make(&shared).await }).await
}

impl Asked {
    /// Makes the change: to a copy, durable, in force.
    async fn make(self, shared: &Shared) -> Response {
        // One after another: flags are put in force in the order in which they were made durable.
        let _turn = shared.changing.lock().await;
        let changed = durable::change(&shared.engine, Setting::Audience, |document| {
            let mut book = read(document)
                .map_err(|why| Box::new(json_error(StatusCode::SERVICE_UNAVAILABLE, &why)))?;
            let answer = self.apply(&mut book, &shared.audience);
            if !answer.is_success() {
                return Err(Box::new(respond(answer)));
            }
            let document = book.to_json().map_err(|error| {
                Box::new(json_error(StatusCode::BAD_REQUEST, &error.to_string()))
            })?;
            Ok((document, (book, answer)))
        });
        match changed.await {
            Ok((book, answer)) => {
                let newest = || book.audit().next().map(|entry| entry.key.clone());
                let flag = self.key.clone().or_else(newest).unwrap_or_default();
                shared.receiver.audience().replace(book);
                let (by, method) = (&self.by, &self.method);
                tracing::info!(by, %method, flag, "the audience was changed");
                respond(answer)
            }
            Err(response) => *response,
        }
    }

    fn apply(&self, book: &mut FlagBook, settings: &AudienceSettings) -> Answer {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let author = Author { by: &self.by, at_millis: since.as_millis() as u64 };
        match (&self.key, &self.method) {
            (None, _) => api::create(book, &self.body, settings, &author),
            (Some(key), &Method::PUT) => api::put(book, key, &self.body, settings, &author),
            (Some(key), &Method::PATCH) => api::patch(book, key, &self.body, &author),
            (Some(key), _) => api::delete(book, key, &author),
        }
    }
}

async fn evaluate(
    State(shared): State<Shared>,
    Path(key): Path<String>,
    request: Request<Body>,
) -> Response {
    match question(request.into_body()).await {
        Ok(body) => respond(ofrep::evaluate(&shared.receiver.audience().book(), &key, &body)),
        Err(response) => *response,
    }
}

async fn evaluate_all(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    let known = text(&head.headers, IF_NONE_MATCH.as_str()).map(str::to_owned);
    match question(body).await {
        Ok(body) => {
            let book = shared.receiver.audience().book();
            respond(ofrep::evaluate_all(&book, &body, known.as_deref()))
        }
        Err(response) => *response,
    }
}

/// What is asked over OFREP. A body that cannot be read is told in its words too.
async fn question(body: Body) -> Result<Bytes, Box<Response>> {
    body::small(body, MAX_REQUEST_BYTES).await.map_err(|response| {
        let details = format!(
            "the question cannot be read: send it whole, at most {MAX_REQUEST_BYTES} bytes"
        );
        Box::new(respond(ofrep::failed(response.status().as_u16(), details)))
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::router::tests::shared;
    use std::time::Duration;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_change_is_in_force_even_if_who_asked_for_it_has_gone() {
        let place = tempfile::tempdir().unwrap();
        let shared = shared(place.path());
        let body = r#"{"key": "flag_ot_traces"}"#;
        let request = Request::builder().method(Method::POST).body(Body::from(body)).unwrap();
        // It is asked for once, which reads the small body and begins, and dropped. It cannot end
        // before it has its turn.
        let turn = shared.changing.clone().lock_owned().await;
        let asked = tokio::time::timeout(Duration::ZERO, make(shared.clone(), None, request)).await;
        assert!(asked.is_err(), "it is under way");
        drop(turn);
        let deadline = tokio::time::Instant::now() + Duration::from_secs(60);
        while shared.receiver.audience().book().flag("flag_ot_traces").is_none() {
            assert!(tokio::time::Instant::now() < deadline, "it is not in force");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(load(&shared.engine).await.unwrap().1.flag("flag_ot_traces").is_some());
    }

    #[tokio::test]
    async fn a_question_that_is_too_long_is_told_in_the_words_of_ofrep() {
        let body = Body::from(vec![b' '; MAX_REQUEST_BYTES + 1]);
        let response = *question(body).await.unwrap_err();
        assert_eq!(response.status(), StatusCode::PAYLOAD_TOO_LARGE);
        let body = axum::body::to_bytes(response.into_body(), 1 << 10).await.unwrap();
        assert!(body.starts_with(br#"{"errorCode":"GENERAL","errorDetails":""#), "{body:?}");
    }
}
