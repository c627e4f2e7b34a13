//! `/api/board`: sessions as they run, and as they ran. `docs/sessions/api.md` describes what is
//! answered.
//!
//! A session is read whole and analysed as a report is (crate `report`), as it was at any moment:
//! what was not known then is taken away. Who wants to hear when it goes on listens to
//! `/api/sessions/{id}/events` and asks again.
//!
//! | path | module | what |
//! |---|---|---|
//! | `/api/board/{session}` | `document`, `lanes`, `stragglers`, `replay` | all that is drawn |
//! | `/api/board/{session}/tasks` | `tasks` | the table of tasks, in portions |
//! | `/api/board/compare?a&b` | `compare` | two sessions |
//!
//! `held` keeps what was read for a moment, `turns` says who reads next, `stored` reads it, `gpus` adds
//! what metrics tell of GPUs.

mod compare;
mod document;
mod gpus;
mod held;
mod lanes;
mod limits;
mod replay;
mod stored;
mod stragglers;
mod tasks;
#[cfg(test)]
mod tests;
mod turns;

use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use axum::{Extension, Router};
use serde::Deserialize;

use crate::Page;
use crate::answer::{Failed, Query, Whose, json};
use crate::times::{moment, now_nanos};
use document::When;
use held::Held;

pub use stored::{StoredError, StoredSession};

pub(crate) fn over_http() -> Router<Page> {
    Router::new()
        .route("/api/board/compare", get(two_sessions))
        .route("/api/board/{session}", get(one_session))
        .route("/api/board/{session}/tasks", get(tasks_of))
        .layer(Extension(Held::new()))
}

/// A moment, if one is named.
fn chosen(name: &str, text: Option<&str>) -> Result<Option<u64>, Failed> {
    let text = text.filter(|text| !text.is_empty());
    let nanos = text.map(|text| moment(name, text)).transpose()?;
    Ok(nanos.and_then(|nanos| u64::try_from(nanos).ok()))
}

fn now() -> u64 {
    u64::try_from(now_nanos()).unwrap_or(0)
}

/// Which moment, and which part of the time lanes are drawn of.
#[derive(Debug, Default, Deserialize)]
struct Parameters {
    at: Option<String>,
    from: Option<String>,
    to: Option<String>,
}

async fn one_session(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Extension(held): Extension<Held>,
    Path(id): Path<String>,
    Query(asked): Query<Parameters>,
) -> Result<Response, Failed> {
    let when = When {
        at: chosen("at", asked.at.as_deref())?,
        from: chosen("from", asked.from.as_deref())?,
        to: chosen("to", asked.to.as_deref())?,
        now: now(),
    };
    let session = held.session(&page.engine, &tenants, &id).await?;
    page.engine.blocking(move || json(&document::board(&session, when))).await?
}

async fn tasks_of(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Extension(held): Extension<Held>,
    Path(id): Path<String>,
    Query(asked): Query<tasks::Parameters>,
) -> Result<Response, Failed> {
    let at = chosen("at", asked.at.as_deref())?;
    let when = When { at, now: now(), ..When::default() };
    let session = held.session(&page.engine, &tenants, &id).await?;
    let told = move || json(&tasks::tasks(&document::then(&session, when), &asked)?);
    page.engine.blocking(told).await?
}

/// The name of the path of two sessions, which may be that of a session, too.
const COMPARE: &str = "compare";

/// Which sessions.
#[derive(Debug, Deserialize)]
struct Two {
    a: Option<String>,
    b: Option<String>,
}

/// Two sessions; without their names, the one that is called as the path is.
async fn two_sessions(
    page: State<Page>,
    whose: Whose,
    held: Extension<Held>,
    Query(two): Query<Two>,
    asked: Query<Parameters>,
) -> Result<Response, Failed> {
    let (a, b) = match (two.a, two.b) {
        (Some(a), Some(b)) => (a, b),
        (None, None) => {
            return one_session(page, whose, held, Path(COMPARE.to_owned()), asked).await;
        }
        _ => {
            let expected = "expected two sessions to compare: a and b".to_owned();
            return Err(Failed::Invalid(expected));
        }
    };
    let (State(page), Whose(tenants), Extension(held)) = (page, whose, held);
    let a = held.session(&page.engine, &tenants, &a).await?;
    let b = held.session(&page.engine, &tenants, &b).await?;
    page.engine.blocking(move || json(&compare::compared(&a, &b))).await?
}
