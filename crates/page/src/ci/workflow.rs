//! One workflow over time: its runs, its jobs, runners, caches and failures.

use std::collections::BTreeMap;

use futures::try_join;
use kymo_engine::{Engine, Tenants};
use serde::Serialize;

use super::asked::Filter;
use super::caches::{self, OfJob, Trend};
use super::failures::{self, Failing};
use super::figures::{Cached, cut, median, quantile_of};
use super::jobs::{self, JobFigures, Runners};
use super::limits::{MAX_LISTED, MAX_LISTED_JOBS, MAX_LISTED_RUNS, TREND_BINS};
use super::pipelines::{self, Beside, Pipeline};
use super::rows::{self, Job, Run};
use crate::answer::Failed;
use crate::times::millis;

/// A workflow and its runs.
#[derive(Debug, Serialize)]
pub(super) struct Workflow {
    start_ms: f64,
    end_ms: f64,
    /// All of it; none if it did not run.
    figures: Option<Pipeline>,
    /// One for each repository that has such a workflow.
    pipelines: Vec<Pipeline>,
    /// The newest first.
    runs: Vec<Listed>,
    trend: Vec<Bin>,
    jobs: Vec<JobFigures>,
    runners: Vec<Runners>,
    caches: Vec<Trend>,
    failures: Vec<Failing>,
    /// How many there are of each, of which the lists have the first.
    totals: Totals,
    /// Whether there are more runs, jobs, failures or statistics of caches than are counted: figures
    /// are of the newest.
    is_of_newest: bool,
    /// Whether figures or lists leave anything out.
    is_truncated: bool,
}

/// How many there are of what is listed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Totals {
    runs: usize,
    jobs: usize,
    runners: usize,
    caches: usize,
    failures: usize,
}

/// A run in a list.
#[derive(Debug, Serialize)]
struct Listed {
    #[serde(flatten)]
    run: Run,
    /// The longest that a job of it waited.
    queue_seconds: Option<f64>,
    /// Minutes that runners worked, and those that are billed: GitHub rounds every job up.
    runner_minutes: f64,
    billed_minutes: f64,
    hit_rate: Option<f64>,
}

/// Runs that began in a part of the time.
#[derive(Debug, Serialize)]
struct Bin {
    start_ms: f64,
    runs: usize,
    failures: usize,
    median_seconds: Option<f64>,
    p95_seconds: Option<f64>,
    queue_p95_seconds: Option<f64>,
    hit_rate: Option<f64>,
    runner_minutes: f64,
}

/// What is asked of a workflow.
pub(super) async fn of(
    engine: &Engine,
    tenants: &Tenants,
    filter: &Filter,
) -> Result<Workflow, Failed> {
    let with_before = filter.within(filter.before().start..filter.range.end);
    let of_jobs = filter.of_kind("job");
    let (of_runs, of_jobs, beside, of_caches, of_failures) = try_join!(
        rows::runs(engine, tenants, &with_before),
        rows::jobs(engine, tenants, &of_jobs),
        Beside::ask(engine, tenants, filter),
        caches::by_job(engine, tenants, filter),
        failures::of_workflow(engine, tenants, filter),
    )?;
    let ((mut runs, has_more_runs), (jobs, has_more_jobs)) = (of_runs, of_jobs);
    let ((cached, has_more_cached), (failed, has_more_failed)) = (of_caches, of_failures);
    let is_of_newest = has_more_runs || has_more_jobs || has_more_cached || has_more_failed;
    let running = rows::going_on(engine, tenants, filter, &runs).await?;
    let filter = filter.clone();
    // There may be many jobs, and nobody's acknowledgement is to wait for them.
    let made = move || {
        let pipelines = pipelines::pipelines(&filter, &runs, &running, &beside);
        let figures = pipelines::together(&filter, &runs, &running, &beside, &jobs);
        runs.retain(|run| run.start_nanos >= filter.range.start);
        runs.extend(running);
        runs.sort_by_key(|run| std::cmp::Reverse(run.start_nanos));
        let (job_figures, all_jobs) = cut(jobs::figures(&jobs), MAX_LISTED_JOBS);
        let (runners, all_runners) = cut(jobs::runners(&jobs), MAX_LISTED);
        let (caches, all_caches) = cut(caches::trends(&cached), MAX_LISTED_JOBS);
        let (failures, all_failures) = cut(failed, MAX_LISTED);
        let is_truncated = is_of_newest
            || runs.len() > MAX_LISTED_RUNS
            || all_jobs > job_figures.len()
            || all_runners > runners.len()
            || all_caches > caches.len()
            || all_failures > failures.len();
        let totals = Totals {
            runs: runs.len(),
            jobs: all_jobs,
            runners: all_runners,
            caches: all_caches,
            failures: all_failures,
        };
        Workflow {
            start_ms: millis(filter.range.start),
            end_ms: millis(filter.range.end),
            trend: trend(&filter, &runs, &jobs, &cached),
            jobs: job_figures,
            runners,
            runs: listed(runs, &jobs, &cached),
            figures,
            pipelines,
            caches,
            failures,
            totals,
            is_of_newest,
            is_truncated,
        }
    };
    Ok(engine.blocking(made).await?)
}

fn listed(runs: Vec<Run>, jobs: &[Job], cached: &[OfJob]) -> Vec<Listed> {
    let by_run = rows::by_run(jobs);
    let mut cached_by_run: BTreeMap<&str, Cached> = BTreeMap::new();
    for row in cached {
        cached_by_run.entry(&row.trace_id).or_default().add(row.cached);
    }
    let list = |run: Run| {
        let jobs = by_run.get(run.trace_id.as_str()).map(Vec::as_slice).unwrap_or_default();
        let (runner_minutes, billed_minutes) = jobs::minutes(jobs.iter().copied());
        let queues = jobs.iter().filter_map(|job| job.queue_seconds);
        Listed {
            queue_seconds: queues.reduce(f64::max),
            runner_minutes,
            billed_minutes,
            hit_rate: cached_by_run.get(run.trace_id.as_str()).and_then(|cached| cached.rate()),
            run,
        }
    };
    runs.into_iter().take(MAX_LISTED_RUNS).map(list).collect()
}

/// Equal parts of the time, from the first run on.
fn trend(filter: &Filter, runs: &[Run], jobs: &[Job], cached: &[OfJob]) -> Vec<Bin> {
    let Some(first) = runs.iter().map(|run| run.start_nanos).min() else { return Vec::new() };
    let length = (filter.range.end - first).max(1);
    let width = (length / TREND_BINS as i64).max(1);
    let place =
        |nanos: i64| usize::try_from((nanos - first) / width).unwrap_or(0).min(TREND_BINS - 1);
    let mut runs_of: Vec<Vec<&Run>> = vec![Vec::new(); TREND_BINS];
    let mut jobs_of: Vec<Vec<&Job>> = vec![Vec::new(); TREND_BINS];
    let mut cached_of = [Cached::default(); TREND_BINS];
    runs.iter().for_each(|run| runs_of[place(run.start_nanos)].push(run));
    jobs.iter().for_each(|job| jobs_of[place(job.start_nanos)].push(job));
    cached.iter().for_each(|row| cached_of[place(row.start_nanos)].add(row.cached));
    let bins = runs_of.iter().zip(&jobs_of).zip(cached_of).enumerate();
    bins.map(|(nth, ((runs, jobs), cached))| {
        let telling = runs.iter().filter(|run| run.is_telling());
        let seconds: Vec<f64> = telling.map(|run| run.seconds).collect();
        let queues = jobs.iter().filter_map(|job| job.queue_seconds).collect();
        Bin {
            start_ms: millis(first + nth as i64 * width),
            runs: runs.len(),
            failures: runs.iter().filter(|run| run.is_failure()).count(),
            median_seconds: median(seconds.clone()),
            p95_seconds: quantile_of(seconds, 0.95),
            queue_p95_seconds: quantile_of(queues, 0.95),
            hit_rate: cached.rate(),
            runner_minutes: jobs::minutes(jobs.iter().copied()).0,
        }
    })
    .collect()
}
