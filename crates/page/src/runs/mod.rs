//! Runs that are measured as they go, such as trainings: what there is, and several of them overlaid.
//!
//! | path | what |
//! |---|---|
//! | `GET /api/runs?start&end` | sessions that sent metrics in that time, with the last values and their parameters; names of their metrics |
//! | `GET /api/runs/compare?ids&metrics&x&points` | metrics of some runs, over `time` since their start or over `step`; parameters that differ |
//!
//! A run is a session: whatever has one resource attribute `session_id`. Its parameters are the
//! attributes of its `SessionStarted`, or of its span, and its resource.

mod compare;
mod list;
mod parameters;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::get;
use serde::Deserialize;

use crate::Page;
use crate::answer::{Failed, Whose, json};
use crate::times::range;

/// Time that is looked at unless something else is said.
const USUAL_NANOS: i64 = 24 * 3_600_000_000_000;
/// Runs that are listed.
const MAX_RUNS: usize = 200;
/// Runs that are overlaid: more lines than that nobody tells apart.
const MAX_COMPARED: usize = 20;
/// Metrics that are asked for at once.
const MAX_METRICS: usize = 20;

#[derive(Debug, Deserialize)]
struct Asked {
    start: Option<String>,
    end: Option<String>,
}

#[derive(Debug, Deserialize)]
struct AskedCompared {
    /// Between commas.
    ids: String,
    /// Between commas.
    metrics: Option<String>,
    x: Option<String>,
    points: Option<usize>,
}

pub(crate) fn over_http() -> Router<Page> {
    Router::new().route("/api/runs", get(runs)).route("/api/runs/compare", get(compared))
}

async fn runs(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(asked): Query<Asked>,
) -> Result<Response, Failed> {
    let range = range(asked.start.as_deref(), asked.end.as_deref(), USUAL_NANOS)?;
    json(&list::runs(&page.engine, &tenants, &range).await?)
}

async fn compared(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(asked): Query<AskedCompared>,
) -> Result<Response, Failed> {
    let split = |text: &str| -> Vec<String> {
        text.split(',').map(str::trim).filter(|one| !one.is_empty()).map(str::to_owned).collect()
    };
    let ids = split(&asked.ids);
    let metrics = split(asked.metrics.as_deref().unwrap_or_default());
    if ids.is_empty() || ids.len() > MAX_COMPARED {
        return Err(Failed::Invalid(format!(
            "ids names {} runs: expected 1 to {MAX_COMPARED}, with commas between them",
            ids.len()
        )));
    }
    if metrics.len() > MAX_METRICS {
        return Err(Failed::Invalid(format!(
            "metrics names {}: expected at most {MAX_METRICS}",
            metrics.len()
        )));
    }
    let by_step = match asked.x.as_deref().unwrap_or("step") {
        "step" => true,
        "time" => false,
        other => {
            return Err(Failed::Invalid(format!("x is {other:?}: expected step or time")));
        }
    };
    let asking = compare::Asking { engine: &page.engine, tenants: &tenants, ids: &ids };
    json(&asking.compare(&metrics, by_step, asked.points).await?)
}
