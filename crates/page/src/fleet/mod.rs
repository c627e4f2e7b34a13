//! Hosts and GPUs: what there is, how it does now, and how it did.
//!
//! | path | what |
//! |---|---|
//! | `GET /api/fleet?start&end` | hosts of that time with their GPUs, with the figures of its end |
//! | `GET /api/fleet/host?name&start&end&points` | one host over that time: measures with their series |
//!
//! Figures are those of [`machines`](crate::machines). A host is known by its `instance` without a port;
//! GPUs belong to the host that their label `Hostname` names, if there is one.

pub(crate) mod ask;
mod history;
mod now;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use serde::Deserialize;

use crate::Page;
use crate::answer::{Failed, Query, Whose, json};
use crate::times::range;

/// Time that is looked at unless something else is said.
const USUAL_NANOS: i64 = 3_600_000_000_000;

#[derive(Debug, Deserialize)]
struct Asked {
    start: Option<String>,
    end: Option<String>,
}

#[derive(Debug, Deserialize)]
struct AskedHost {
    name: String,
    start: Option<String>,
    end: Option<String>,
    points: Option<i64>,
}

pub(crate) fn over_http() -> Router<Page> {
    Router::new().route("/api/fleet", get(fleet)).route("/api/fleet/host", get(host))
}

async fn fleet(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(asked): Query<Asked>,
) -> Result<Response, Failed> {
    let range = range(asked.start.as_deref(), asked.end.as_deref(), USUAL_NANOS)?;
    let asking = ask::Asking { engine: &page.engine, tenants: &tenants };
    json(&now::fleet(&asking, &range).await?)
}

async fn host(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(asked): Query<AskedHost>,
) -> Result<Response, Failed> {
    let range = range(asked.start.as_deref(), asked.end.as_deref(), USUAL_NANOS)?;
    let asking = ask::Asking { engine: &page.engine, tenants: &tenants };
    json(&history::host(&asking, &asked.name, &range, asked.points).await?)
}
