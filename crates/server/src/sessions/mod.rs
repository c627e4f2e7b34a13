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
//! | `/api/sessions/{id}/report` | crate `report` | its analysis, as a page |
//!
//! `asked` reads what is asked and says what is wrong with it, `sql` has the queries, `rows` their
//! answers.

mod asked;
mod document;
mod find;
mod heard;
mod rows;
mod sql;
mod summary;
mod tasks;
mod watch;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use http::{Request, StatusCode};

use crate::reply::typed;
use crate::router::Shared;
use crate::telemetry::Timed;
use asked::{Asked, Failed};

pub(crate) fn over_http() -> Router<Shared> {
    Router::new()
        .route("/api/sessions", get(list))
        .route("/api/sessions/{id}", get(one))
        .route("/api/sessions/{id}/events", get(events))
        .route("/api/sessions/{id}/report", get(report))
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
        let asked = asked?.for_all_rows();
        let document = document::of(&shared, &asked, asked::session_id(&id)?).await?;
        Ok(shared.encode(move || page(&document).unwrap_or_else(Failed::response)).await)
    };
    let reported = reported.await;
    timed.ended(Failed::outcome(&reported));
    reported.unwrap_or_else(Failed::response)
}

/// The page of a session. It loads nothing, and says so itself.
fn page(document: &document::Document) -> Result<Response, Failed> {
    let text = serde_json::to_vec(document).map_err(|error| Failed::Internal(error.to_string()))?;
    let session = kymo_report::Session::from_json(&text)
        .map_err(|error| Failed::Internal(error.to_string()))?;
    let analysis = kymo_report::Analysis::of(&session);
    let page = kymo_report::render::html::render(&[analysis], None);
    Ok(typed(StatusCode::OK, "text/html; charset=utf-8", page))
}

/// A document, written on the engine's threads.
async fn json(shared: &Shared, document: impl serde::Serialize + Send + 'static) -> Response {
    let make = move || match serde_json::to_vec(&document) {
        Ok(text) => typed(StatusCode::OK, "application/json", text),
        Err(error) => Failed::Internal(error.to_string()).response(),
    };
    shared.encode(make).await
}
