//! `/api/sessions`: what programs tell of their runs.
//!
//! A session is whatever has one resource attribute `session_id`, on spans, on log records or on
//! metrics, from any client; `docs/sessions/api.md` describes what is answered. There is no table
//! of sessions: they are counted from what is stored when somebody asks, by queries that group in
//! the engine and whose answers are bounded.
//!
//! | path | module | what |
//! |---|---|---|
//! | `/api/sessions` | `find`, `summary` | sessions of some time, the newest first |
//! | `/api/sessions/{id}` | `document`, `tasks` | one, with tasks, resources, events, open spans |
//! | `/api/sessions/{id}/events` | `watch`, `heard` | the same as it happens |
//! | `/api/sessions/{id}/report` | crates `page` and `report` | its analysis, as a page |
//!
//! `asked` reads what is asked and says what is wrong with it, `sql` has the queries.

mod asked;
mod document;
mod find;
mod heard;
mod sql;
mod summary;
mod tasks;
mod watch;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use kymo_page::{StoredError, StoredSession};
use kymo_report::limits::Limits;
use tokio::sync::Semaphore;

use crate::limits::{REPORT_PAGE_TASKS, REPORT_PAGE_WAIT, REPORT_PAGES};
use crate::reply::typed;
use crate::router::Shared;
use crate::telemetry::Timed;
use asked::{Asked, Failed};

/// Turns of those who make a page.
static PAGES: Semaphore = Semaphore::const_new(REPORT_PAGES);

pub(crate) fn over_http() -> Router<Shared> {
    Router::new()
        .route("/api/sessions", get(list))
        .route("/api/sessions/{id}", get(one))
        .route("/api/sessions/{id}/events", get(events))
        .route("/api/sessions/{id}/report", get(report))
}

/// How many sessions run now, of the tenants that headers name; nothing if that cannot be told.
pub(crate) async fn running(shared: &Shared, headers: &HeaderMap) -> Option<usize> {
    let question = Request::builder().uri("/api/sessions?since=15m&state=running");
    let mut question = question.body(Body::empty()).ok()?;
    *question.headers_mut() = headers.clone();
    let asked = Asked::of(&question).ok()?;
    find::count(shared, &asked).await.ok()
}

async fn list(State(shared): State<Shared>, request: Request<Body>) -> Response {
    let timed = Timed::new(&shared.telemetry, "sessions");
    let asked = Asked::of(&request);
    let listed = async {
        let asked = asked?;
        let listing = find::list(&shared, &asked).await?;
        Ok(json(&shared, listing).await)
    };
    let listed = listed.await;
    timed.ended(Failed::outcome(&listed));
    listed.unwrap_or_else(Failed::response)
}

async fn one(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Response {
    let timed = Timed::new(&shared.telemetry, "session");
    let asked = Asked::of(&request);
    let found = async {
        let asked = asked?;
        let document = document::of(&shared, &asked, asked::session_id(&id)?).await?;
        Ok(json(&shared, document).await)
    };
    let found = found.await;
    timed.ended(Failed::outcome(&found));
    found.unwrap_or_else(Failed::response)
}

async fn events(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Response {
    let timed = Timed::new(&shared.telemetry, "session_events");
    let asked = Asked::of(&request);
    let watched = async {
        let asked = asked?;
        watch::watch(&shared, &asked, asked::session_id(&id)?).await
    };
    let watched = watched.await;
    timed.ended(Failed::outcome(&watched));
    watched.unwrap_or_else(Failed::response)
}

async fn report(
    State(shared): State<Shared>,
    Path(id): Path<String>,
    request: Request<Body>,
) -> Response {
    let timed = Timed::new(&shared.telemetry, "session_report");
    let asked = Asked::of(&request);
    let reported = async {
        let asked = asked?;
        let id = asked::session_id(&id)?;
        let turn = tokio::time::timeout(REPORT_PAGE_WAIT, PAGES.acquire()).await;
        let turn = turn.map_err(|_| Failed::Busy)?;
        let session = stored(&shared, &asked, id).await?;
        // Until the page is made, all of the session is in memory.
        let make = move || {
            let _turn = turn;
            page(&session)
        };
        Ok(shared.encode(make).await)
    };
    let reported = reported.await;
    timed.ended(Failed::outcome(&reported));
    reported.unwrap_or_else(Failed::response)
}

/// All of a session that a page has room for.
async fn stored(shared: &Shared, asked: &Asked, id: &str) -> Result<kymo_report::Session, Failed> {
    let stored = StoredSession::new(id, asked.now, Limits::for_tasks(REPORT_PAGE_TASKS));
    let stored = stored.within(asked.since, asked.until);
    let finished = stored.read(&shared.engine, &asked.tenants).await;
    let finished = finished.map_err(|error| match error {
        StoredError::Engine(error) => Failed::from(error),
        error => Failed::Internal(error.to_string()),
    })?;
    finished.ok_or_else(|| Failed::Unknown(id.to_owned()))
}

/// The page of a session. It loads nothing, and its own script is the only one it may run.
fn page(session: &kymo_report::Session) -> Response {
    let analysis = kymo_report::Analysis::of(session);
    let page = kymo_report::render::html::render(&[analysis], None);
    let policy = format!(
        "default-src 'none'; script-src {}; style-src 'unsafe-inline'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'self'",
        hash_of_script(&page)
    );
    let mut response = typed(StatusCode::OK, "text/html; charset=utf-8", page);
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// The only script of a page, as a policy names it.
fn hash_of_script(page: &str) -> String {
    let text = page.split_once("<script>").and_then(|(_, rest)| rest.split_once("</script>"));
    let text = text.map_or("", |(text, _)| text);
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    format!("'sha256-{}'", STANDARD.encode(digest))
}

/// A document, written on the engine's threads.
async fn json(shared: &Shared, document: impl serde::Serialize + Send + 'static) -> Response {
    let make = move || match serde_json::to_vec(&document) {
        Ok(text) => typed(StatusCode::OK, "application/json", text),
        Err(error) => Failed::Internal(error.to_string()).response(),
    };
    shared.encode(make).await
}
