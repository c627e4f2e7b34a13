//! Two branches of a workflow beside each other: what their last runs were like, and the median of each
//! job over them.

use std::collections::{BTreeMap, BTreeSet};

use futures::try_join;
use kymo_engine::table::Table;
use kymo_engine::{Engine, Tenants};
use serde::{Deserialize, Serialize};

use super::asked::Filter;
use super::figures::{change, median};
use super::limits::BRANCH_RUNS;
use super::rows::{self, Job, Run};
use crate::answer::Failed;
use crate::times;

const HOUR_NANOS: i64 = 3_600 * 1_000_000_000;
/// How far back runs are looked for.
const LOOKBACK_NANOS: i64 = 90 * 24 * HOUR_NANOS;

/// Which branches, and until when.
#[derive(Debug, Deserialize)]
pub(super) struct Parameters {
    a: String,
    b: String,
    repository: Option<String>,
    end: Option<String>,
}

/// Two branches.
#[derive(Debug, Serialize)]
pub(super) struct Branches {
    a: Branch,
    b: Branch,
    /// How much longer runs of the second take, in the middle.
    delta_seconds: Option<f64>,
    change: Option<f64>,
    /// What differs most first.
    jobs: Vec<JobPair>,
}

/// The last runs of a branch that ended in success or failure.
#[derive(Debug, Serialize)]
struct Branch {
    branch: String,
    runs: usize,
    failures: usize,
    median_seconds: Option<f64>,
    /// When the first and the last of them began, and the trace of the last.
    first_ms: Option<f64>,
    last_ms: Option<f64>,
    last_trace_id: Option<String>,
}

/// A job of both branches, or of one.
#[derive(Debug, Serialize)]
struct JobPair {
    job: String,
    a: Option<Side>,
    b: Option<Side>,
    delta_seconds: Option<f64>,
    change: Option<f64>,
}

/// A job over the runs of a branch.
#[derive(Debug, Clone, Copy, Serialize)]
struct Side {
    runs: usize,
    failures: usize,
    median_seconds: Option<f64>,
    queue_median_seconds: Option<f64>,
}

/// Two branches beside each other.
pub(super) async fn of(
    engine: &Engine,
    tenants: &Tenants,
    workflow: String,
    asked: Parameters,
) -> Result<Branches, Failed> {
    let Parameters { a, b, repository, end } = asked;
    for (name, branch) in [("a", &a), ("b", &b)] {
        if branch.is_empty() {
            return Err(Failed::Invalid(format!("{name} is empty: expected the name of a branch")));
        }
    }
    let end = end.as_deref().map(|text| times::moment("end", text)).transpose()?;
    let end = end.unwrap_or_else(times::now_nanos);
    let filter = |branch: &str| Filter {
        range: end.saturating_sub(LOOKBACK_NANOS).max(0)..end,
        repository: repository.clone().filter(|repository| !repository.is_empty()),
        branch: Some(branch.to_owned()),
        workflow: Some(workflow.clone()),
    };
    let (of_a, of_b) = (filter(&a), filter(&b));
    let (of_a, of_b) =
        try_join!(last_runs(engine, tenants, &of_a), last_runs(engine, tenants, &of_b))?;
    let (a, b) = (branch(a, &of_a.0), branch(b, &of_b.0));
    Ok(Branches {
        delta_seconds: a.median_seconds.zip(b.median_seconds).map(|(a, b)| b - a),
        change: change(b.median_seconds, a.median_seconds),
        jobs: pairs(&sides(&of_a.1), &sides(&of_b.1)),
        a,
        b,
    })
}

/// The last runs of a branch, the newest first, and their jobs.
async fn last_runs(
    engine: &Engine,
    tenants: &Tenants,
    filter: &Filter,
) -> Result<(Vec<Run>, Vec<Job>), Failed> {
    let condition = format!(
        "{} AND \"span.ci.conclusion\" IN ('success', 'failure', 'timed_out', 'startup_failure')",
        filter.of_kind("run")
    );
    // Some may have been sent twice.
    let query = rows::runs_query(&condition, 2 * BRANCH_RUNS);
    let mut runs = rows::once(rows::read_runs(&Table::ask(engine, tenants, &query).await?)?);
    runs.truncate(BRANCH_RUNS);
    let Some(first) = runs.iter().map(|run| run.start_nanos).min() else {
        return Ok((runs, Vec::new()));
    };
    let traces: Vec<&str> = runs.iter().map(|run| run.trace_id.as_str()).collect();
    // A job may have been created a little before its run, by another clock, and begins while it goes on.
    let until = filter.range.end.saturating_add(24 * HOUR_NANOS);
    let of_jobs = rows::of_traces(&traces, &(first.saturating_sub(HOUR_NANOS).max(0)..until));
    let (jobs, _) = rows::jobs(engine, tenants, &of_jobs).await?;
    Ok((runs, jobs))
}

fn branch(branch: String, runs: &[Run]) -> Branch {
    Branch {
        branch,
        runs: runs.len(),
        failures: runs.iter().filter(|run| run.is_failure()).count(),
        median_seconds: median(runs.iter().map(|run| run.seconds).collect()),
        first_ms: runs.last().map(|run| run.start_ms),
        last_ms: runs.first().map(|run| run.start_ms),
        last_trace_id: runs.first().map(|run| run.trace_id.clone()),
    }
}

fn sides(jobs: &[Job]) -> BTreeMap<&str, Side> {
    let mut by_name: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
    for job in jobs.iter().filter(|job| job.has_run()) {
        by_name.entry(&job.name).or_default().push(job);
    }
    let side = |jobs: &[&Job]| Side {
        runs: jobs.len(),
        failures: jobs.iter().filter(|job| job.is_failure()).count(),
        median_seconds: median(jobs.iter().filter_map(|job| job.run_seconds).collect()),
        queue_median_seconds: median(jobs.iter().filter_map(|job| job.queue_seconds).collect()),
    };
    by_name.into_iter().map(|(name, jobs)| (name, side(&jobs))).collect()
}

fn pairs<'a>(a: &BTreeMap<&'a str, Side>, b: &BTreeMap<&'a str, Side>) -> Vec<JobPair> {
    let names: BTreeSet<&'a str> = a.keys().chain(b.keys()).copied().collect();
    let pair = |name: &str| {
        let (a, b) = (a.get(name).copied(), b.get(name).copied());
        let seconds = |side: Option<Side>| side.and_then(|side| side.median_seconds);
        let (of_a, of_b) = (seconds(a), seconds(b));
        let delta_seconds = of_a.zip(of_b).map(|(a, b)| b - a);
        JobPair { job: name.to_owned(), a, b, delta_seconds, change: change(of_b, of_a) }
    };
    let mut pairs: Vec<JobPair> = names.into_iter().map(pair).collect();
    let weight = |pair: &JobPair| {
        let seconds = |side: Option<Side>| side.and_then(|side| side.median_seconds).unwrap_or(0.0);
        (seconds(pair.b) - seconds(pair.a)).abs()
    };
    pairs.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    pairs
}
