//! `/api/ci`: where the time of CI goes. `docs/ci.md` describes what is answered.
//!
//! Everything is counted from spans that `kymo ci` and webhooks make, when somebody asks; every
//! query has a bound of time or names a trace, and of rows.
//!
//! | path | module | what |
//! |---|---|---|
//! | `/api/ci/pipelines` | `pipelines` | workflows, against the time before |
//! | `/api/ci/pipelines/{workflow}/runs` | `workflow`, `jobs`, `failures`, `caches` | one, over time |
//! | `/api/ci/pipelines/{workflow}/branches` | `branches` | two branches of one |
//! | `/api/ci/runs/{traceId}` | `run`, `spans`, `earlier` | one run, against earlier ones |
//! | `/api/ci/runs/{traceId}/below` | `spans` | targets, tests and commands of a step |
//! | `/api/ci/compare` | `compare` | two runs |
//!
//! `asked` reads what is asked, `rows` what is stored, `figures` has small sums.

mod asked;
mod branches;
mod caches;
mod compare;
mod earlier;
mod failures;
mod figures;
mod jobs;
mod limits;
mod pipelines;
mod rows;
mod run;
mod spans;
#[cfg(test)]
mod tests;
mod workflow;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Response;
use axum::routing::get;
use serde::Deserialize;

use crate::Page;
use crate::answer::{Failed, Query, Whose, json, made};
use asked::{Parameters, span_id, trace_id};

pub(crate) fn over_http() -> Router<Page> {
    Router::new()
        .route("/api/ci/pipelines", get(all_pipelines))
        .route("/api/ci/pipelines/{workflow}/runs", get(one_workflow))
        .route("/api/ci/pipelines/{workflow}/branches", get(two_branches))
        .route("/api/ci/runs/{trace_id}", get(one_run))
        .route("/api/ci/runs/{trace_id}/below", get(below))
        .route("/api/ci/compare", get(two_runs))
}

async fn all_pipelines(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(parameters): Query<Parameters>,
) -> Result<Response, Failed> {
    let filter = parameters.filter(None)?;
    let told = pipelines::all(&page.engine, &tenants, &filter).await?;
    made(&page.engine, move || told).await
}

async fn one_workflow(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Path(workflow): Path<String>,
    Query(parameters): Query<Parameters>,
) -> Result<Response, Failed> {
    let filter = parameters.filter(Some(workflow))?;
    let told = workflow::of(&page.engine, &tenants, &filter).await?;
    made(&page.engine, move || told).await
}

async fn two_branches(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Path(workflow): Path<String>,
    Query(parameters): Query<branches::Parameters>,
) -> Result<Response, Failed> {
    json(&branches::of(&page.engine, &tenants, workflow, parameters).await?)
}

async fn one_run(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Path(trace): Path<String>,
) -> Result<Response, Failed> {
    let told = run::of(&page.engine, &tenants, &trace_id(&trace)?).await?;
    made(&page.engine, move || told).await
}

/// Which span.
#[derive(Debug, Deserialize)]
struct Below {
    span: String,
}

async fn below(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Path(trace): Path<String>,
    Query(Below { span }): Query<Below>,
) -> Result<Response, Failed> {
    let (trace, span) = (trace_id(&trace)?, span_id(&span)?);
    json(&spans::below(&page.engine, &tenants, &trace, &span).await?)
}

/// Which runs.
#[derive(Debug, Deserialize)]
struct Two {
    a: String,
    b: String,
}

async fn two_runs(
    State(page): State<Page>,
    Whose(tenants): Whose,
    Query(Two { a, b }): Query<Two>,
) -> Result<Response, Failed> {
    let (a, b) = (trace_id(&a)?, trace_id(&b)?);
    let told = compare::of(&page.engine, &tenants, &a, &b).await?;
    made(&page.engine, move || told).await
}
