//! Runs that are measured as they go, such as trainings: what there is, and several of them overlaid.
//!
//! | path | what |
//! |---|---|
//! | `GET /api/runs?start&end` | sessions that sent metrics in that time, with the last values and their parameters; names of their metrics |
//! | `GET /api/runs/compare?id&ids&metrics&x&points` | metrics of some runs, over `time` since their start or over `step`; what GPUs of their hosts did; parameters that differ |
//! | `GET /api/runs/steps?id&start&end` | the longest steps of a run in that time, as spans |
//!
//! A run is a session: whatever has one resource attribute `session_id`. Its parameters are the
//! attributes of its `SessionStarted`, or of its span, and its resource.

mod compare;
mod gpus;
mod list;
mod parameters;
mod steps;

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use serde::Deserialize;

use crate::Page;
use crate::answer::{Failed, Query, Whose, json, made};
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
struct AskedSteps {
    id: String,
    start: Option<String>,
    end: Option<String>,
}

#[derive(Debug, Default)]
struct AskedCompared {
    ids: Vec<String>,
    metrics: Vec<String>,
    x: Option<String>,
    points: Option<usize>,
}

impl AskedCompared {
    /// Pairs of an address: an `id` may have commas in it and comes as often as there are runs, `ids`
    /// and `metrics` are several with commas between them.
    fn read(pairs: Vec<(String, String)>) -> Result<Self, Failed> {
        let split = |text: &str| -> Vec<String> {
            let parts = text.split(',').map(str::trim).filter(|one| !one.is_empty());
            parts.map(str::to_owned).collect()
        };
        let mut asked = Self::default();
        for (name, value) in pairs {
            match name.as_str() {
                "id" if !value.is_empty() => asked.ids.push(value),
                "ids" => asked.ids.extend(split(&value)),
                "metrics" => asked.metrics.extend(split(&value)),
                "x" => asked.x = Some(value),
                "points" => {
                    let points = value.parse::<usize>().map_err(|_| {
                        Failed::Invalid(format!("points is {value:?}: expected a whole number"))
                    })?;
                    asked.points = Some(points);
                }
                _ => {}
            }
        }
        Ok(asked)
    }
}

pub(crate) fn over_http() -> Router<Page> {
    Router::new()
        .route("/api/runs", get(runs))
        .route("/api/runs/compare", get(compared))
        .route("/api/runs/steps", get(longest_steps))
}

async fn runs(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(asked): Query<Asked>,
) -> Result<Response, Failed> {
    let range = range(asked.start.as_deref(), asked.end.as_deref(), USUAL_NANOS)?;
    let told = list::runs(&page.engine, &tenants, &range).await?;
    made(&page.engine, move || told).await
}

async fn compared(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(pairs): Query<Vec<(String, String)>>,
) -> Result<Response, Failed> {
    let AskedCompared { ids, metrics, x, points } = AskedCompared::read(pairs)?;
    if ids.is_empty() || ids.len() > MAX_COMPARED {
        return Err(Failed::Invalid(format!(
            "{} runs are named: expected 1 to {MAX_COMPARED}, each by id, or by ids with commas \
             between them",
            ids.len()
        )));
    }
    if metrics.len() > MAX_METRICS {
        return Err(Failed::Invalid(format!(
            "metrics names {}: expected at most {MAX_METRICS}",
            metrics.len()
        )));
    }
    let by_step = match x.as_deref().unwrap_or("step") {
        "step" => true,
        "time" => false,
        other => {
            return Err(Failed::Invalid(format!("x is {other:?}: expected step or time")));
        }
    };
    let asking = compare::Asking { engine: &page.engine, tenants: &tenants, ids: &ids };
    let told = asking.compare(&metrics, by_step, points).await?;
    made(&page.engine, move || told).await
}

async fn longest_steps(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(asked): Query<AskedSteps>,
) -> Result<Response, Failed> {
    let range = range(asked.start.as_deref(), asked.end.as_deref(), USUAL_NANOS)?;
    json(&steps::longest(&page.engine, &tenants, &asked.id, &range).await?)
}
