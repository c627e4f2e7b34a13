//! How workflows fare: how often they run and fail, how long they take, against the time before.
//!
//! Figures are made of runs that ended in success or failure; what was cancelled or skipped is
//! counted as a run and tells nothing more.

use std::collections::{BTreeMap, BTreeSet};

use futures::try_join;
use kymo_engine::table::Table;
use kymo_engine::{Engine, Tenants};
use serde::Serialize;

use super::asked::Filter;
use super::caches;
use super::figures::{Cached, change, median, quantile_of, share};
use super::limits::{LAST_RUNS, MAX_CHOICES};
use super::rows::{self, Job, Run};
use crate::answer::Failed;
use crate::times::millis;

/// Repository and name.
pub(super) type Key = (Option<String>, String);

/// All workflows of a time.
#[derive(Debug, Serialize)]
pub(super) struct Pipelines {
    start_ms: f64,
    end_ms: f64,
    /// Those that ran last first.
    pipelines: Vec<Pipeline>,
    /// What can be chosen from, whatever is chosen.
    repositories: Vec<String>,
    branches: Vec<String>,
    /// Whether there were more runs than figures are made of.
    is_truncated: bool,
}

/// One workflow.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Pipeline {
    pub(super) repository: Option<String>,
    pub(super) workflow: String,
    pub(super) runs: usize,
    /// Those that go on.
    pub(super) running: usize,
    pub(super) failures: usize,
    /// Of those that ended in success or failure.
    pub(super) failure_rate: Option<f64>,
    pub(super) median_seconds: Option<f64>,
    pub(super) p95_seconds: Option<f64>,
    /// How much longer the median is than in the time before, as a part of that.
    pub(super) median_change: Option<f64>,
    /// Runs of the time before.
    pub(super) runs_before: usize,
    pub(super) queue_p95_seconds: Option<f64>,
    pub(super) hit_rate: Option<f64>,
    /// How much more caches serve than in the time before, in parts of all.
    pub(super) hit_rate_change: Option<f64>,
    /// The oldest first.
    pub(super) last_runs: Vec<LastRun>,
}

/// A run, as small as it can be drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct LastRun {
    trace_id: String,
    start_ms: f64,
    seconds: f64,
    conclusion: Option<String>,
    branch: Option<String>,
    run_id: Option<i64>,
    attempt: Option<i64>,
}

/// What workflows are described by, beside their runs.
#[derive(Debug, Default)]
pub(super) struct Beside {
    pub(super) queues: BTreeMap<Key, f64>,
    pub(super) cached: BTreeMap<Key, Cached>,
    pub(super) cached_before: BTreeMap<Key, Cached>,
}

/// The same of one workflow, or of several together.
#[derive(Debug, Clone, Copy, Default)]
struct BesideOne {
    queue_p95_seconds: Option<f64>,
    hit_rate: Option<f64>,
    hit_rate_before: Option<f64>,
}

impl Beside {
    fn of(&self, key: &Key) -> BesideOne {
        let rate = |of: &BTreeMap<Key, Cached>| of.get(key).and_then(|cached| cached.rate());
        BesideOne {
            queue_p95_seconds: self.queues.get(key).copied(),
            hit_rate: rate(&self.cached),
            hit_rate_before: rate(&self.cached_before),
        }
    }

    /// All that it tells of, whose jobs these are.
    fn of_all(&self, jobs: &[Job]) -> BesideOne {
        let rate = |of: &BTreeMap<Key, Cached>| of.values().copied().sum::<Cached>().rate();
        BesideOne {
            // Of one alone it is the same number that all workflows are listed with.
            queue_p95_seconds: match self.queues.len() {
                1 => self.queues.values().next().copied(),
                _ => quantile_of(jobs.iter().filter_map(|job| job.queue_seconds).collect(), 0.95),
            },
            hit_rate: rate(&self.cached),
            hit_rate_before: rate(&self.cached_before),
        }
    }

    pub(super) async fn ask(
        engine: &Engine,
        tenants: &Tenants,
        filter: &Filter,
    ) -> Result<Self, Failed> {
        let (queues, (cached, cached_before)) = try_join!(
            queues(engine, tenants, filter),
            caches::by_workflow(engine, tenants, filter),
        )?;
        Ok(Self { queues, cached, cached_before })
    }
}

/// All workflows that a filter lets through.
pub(super) async fn all(
    engine: &Engine,
    tenants: &Tenants,
    filter: &Filter,
) -> Result<Pipelines, Failed> {
    let with_before = filter.within(filter.before().start..filter.range.end);
    let ((runs, is_truncated), beside, chosen) = try_join!(
        rows::runs(engine, tenants, &with_before),
        Beside::ask(engine, tenants, filter),
        choices(engine, tenants, filter),
    )?;
    let running = rows::going_on(engine, tenants, filter, &runs).await?;
    let (repositories, branches) = chosen.unwrap_or_else(|| choices_of(filter, &runs));
    let filter = filter.clone();
    // There may be many runs, and nobody's acknowledgement is to wait for them.
    let made = move || Pipelines {
        start_ms: millis(filter.range.start),
        end_ms: millis(filter.range.end),
        pipelines: pipelines(&filter, &runs, &running, &beside),
        repositories,
        branches,
        is_truncated,
    };
    Ok(engine.blocking(made).await?)
}

/// Workflows, those that ran last first. Runs are the newest first, with those of the time before.
pub(super) fn pipelines(
    filter: &Filter,
    runs: &[Run],
    running: &[Run],
    beside: &Beside,
) -> Vec<Pipeline> {
    let mut by_key: BTreeMap<Key, Vec<&Run>> = BTreeMap::new();
    for run in running.iter().chain(runs) {
        by_key.entry((run.repository.clone(), run.workflow.clone())).or_default().push(run);
    }
    let mut all: Vec<(i64, Pipeline)> = by_key
        .into_iter()
        .filter_map(|(key, runs)| {
            let (now, before): (Vec<&Run>, Vec<&Run>) =
                runs.into_iter().partition(|run| run.start_nanos >= filter.range.start);
            let newest = now.iter().map(|run| run.start_nanos).max()?;
            let beside = beside.of(&key);
            Some((newest, pipeline(key, &now, &before, beside)))
        })
        .collect();
    all.sort_by_key(|(newest, _)| std::cmp::Reverse(*newest));
    all.into_iter().map(|(_, pipeline)| pipeline).collect()
}

/// One workflow that several repositories have, as if it were one of one; none if it did not run.
pub(super) fn together(
    filter: &Filter,
    runs: &[Run],
    running: &[Run],
    beside: &Beside,
    jobs: &[Job],
) -> Option<Pipeline> {
    let (now, before): (Vec<&Run>, Vec<&Run>) =
        running.iter().chain(runs).partition(|run| run.start_nanos >= filter.range.start);
    let key = (filter.repository.clone(), now.first()?.workflow.clone());
    Some(pipeline(key, &now, &before, beside.of_all(jobs)))
}

fn pipeline(key: Key, now: &[&Run], before: &[&Run], beside: BesideOne) -> Pipeline {
    let telling = |runs: &[&Run]| -> Vec<f64> {
        runs.iter().filter(|run| run.is_telling()).map(|run| run.seconds).collect()
    };
    let seconds = telling(now);
    let failures = now.iter().filter(|run| run.is_failure()).count();
    let BesideOne { queue_p95_seconds, hit_rate, hit_rate_before } = beside;
    let median_seconds = median(seconds.clone());
    let mut last_runs: Vec<LastRun> = now.iter().map(|run| last_run(run)).collect();
    last_runs.sort_by(|one, other| other.start_ms.total_cmp(&one.start_ms));
    last_runs.truncate(LAST_RUNS);
    last_runs.reverse();
    Pipeline {
        runs: now.len(),
        running: now.iter().filter(|run| run.conclusion.is_none()).count(),
        failures,
        failure_rate: share(failures as f64, seconds.len() as f64),
        median_seconds,
        p95_seconds: quantile_of(seconds, 0.95),
        median_change: change(median_seconds, median(telling(before))),
        runs_before: before.len(),
        queue_p95_seconds,
        hit_rate,
        hit_rate_change: hit_rate.zip(hit_rate_before).map(|(now, before)| now - before),
        last_runs,
        repository: key.0,
        workflow: key.1,
    }
}

fn last_run(run: &Run) -> LastRun {
    LastRun {
        trace_id: run.trace_id.clone(),
        start_ms: run.start_ms,
        seconds: run.seconds,
        conclusion: run.conclusion.clone(),
        branch: run.branch.clone(),
        run_id: run.run_id,
        attempt: run.attempt,
    }
}

/// What 95 of a hundred jobs waited for a runner at most.
async fn queues(
    engine: &Engine,
    tenants: &Tenants,
    filter: &Filter,
) -> Result<BTreeMap<Key, f64>, Failed> {
    // What is no number, though a sender said so, is as good as nothing.
    let seconds = "TRY_CAST(\"span.ci.queue_seconds\" AS DOUBLE)";
    let query = format!(
        "SELECT \"span.ci.repository\" AS repository, \"span.ci.workflow\" AS workflow, \
         approx_percentile_cont(0.95) WITHIN GROUP (ORDER BY {seconds}) AS queue FROM spans \
         WHERE {} AND \"span.ci.queue_seconds\" IS NOT NULL AND {seconds} IS NOT NULL \
         GROUP BY 1, 2 LIMIT 10000",
        filter.of_kind("job")
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let keys = table.texts("repository")?.into_iter().zip(table.texts("workflow")?);
    let keys = keys.map(|(repository, workflow)| (repository, workflow.unwrap_or_default()));
    let known = keys.zip(table.numbers("queue")?);
    Ok(known.filter_map(|(key, queue)| Some((key, queue?))).collect())
}

/// Repositories and branches that ran in a time, each in order; none if all are asked about anyway,
/// so that the runs tell them.
async fn choices(
    engine: &Engine,
    tenants: &Tenants,
    filter: &Filter,
) -> Result<Option<(Vec<String>, Vec<String>)>, Failed> {
    if filter.repository.is_none() && filter.branch.is_none() {
        return Ok(None);
    }
    let of_all = Filter { repository: None, branch: None, ..filter.clone() };
    let query = format!(
        "SELECT \"span.ci.repository\" AS repository, \"span.ci.branch\" AS branch, \
         count(*) AS runs FROM spans WHERE {} GROUP BY 1, 2 ORDER BY 3 DESC LIMIT {MAX_CHOICES}",
        of_all.of_kind("run")
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let ordered = |values: Vec<Option<String>>| {
        let mut values: Vec<String> = values.into_iter().flatten().collect();
        values.sort_unstable();
        values.dedup();
        values
    };
    Ok(Some((ordered(table.texts("repository")?), ordered(table.texts("branch")?))))
}

/// The same of runs of all repositories and branches.
fn choices_of(filter: &Filter, runs: &[Run]) -> (Vec<String>, Vec<String>) {
    let start = filter.range.start;
    let of_time: Vec<&Run> = runs.iter().filter(|run| run.start_nanos >= start).collect();
    let repositories: BTreeSet<&String> =
        of_time.iter().filter_map(|run| run.repository.as_ref()).collect();
    let branches: BTreeSet<&String> =
        of_time.iter().filter_map(|run| run.branch.as_ref()).collect();
    let some = |names: BTreeSet<&String>| -> Vec<String> {
        names.into_iter().take(MAX_CHOICES).cloned().collect()
    };
    (some(repositories), some(branches))
}
