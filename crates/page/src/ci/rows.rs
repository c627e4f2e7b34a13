//! Runs and jobs as they are stored, the newest first.
//!
//! A run has a span when it has ended; before, its jobs tell of it. What was sent twice, by a webhook
//! and by a summary, is read once.

use std::collections::{BTreeMap, HashSet};

use kymo_engine::table::Table;
use kymo_engine::{Engine, Tenants};
use serde::Serialize;

use super::asked::{Filter, times_within};
use super::figures::{is_failure, is_telling, seconds};
use super::limits::{MAX_JOBS, MAX_RUNNING, MAX_RUNS, SILENCE_NANOS};
use crate::answer::Failed;
use crate::times::{millis, now_nanos};

/// A run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Run {
    pub(super) trace_id: String,
    pub(super) repository: Option<String>,
    pub(super) workflow: String,
    pub(super) branch: Option<String>,
    pub(super) event: Option<String>,
    pub(super) title: Option<String>,
    pub(super) actor: Option<String>,
    pub(super) run_id: Option<i64>,
    pub(super) attempt: Option<i64>,
    pub(super) start_ms: f64,
    pub(super) seconds: f64,
    /// GitHub's word for how it ended; none while it runs.
    pub(super) conclusion: Option<String>,
    pub(super) jobs: i64,
    pub(super) failed_jobs: i64,
    #[serde(skip)]
    pub(super) start_nanos: i64,
}

impl Run {
    pub(super) fn is_failure(&self) -> bool {
        self.conclusion.as_deref().is_some_and(is_failure)
    }

    pub(super) fn is_telling(&self) -> bool {
        self.conclusion.as_deref().is_some_and(is_telling)
    }
}

/// A job of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Job {
    pub(super) trace_id: String,
    pub(super) name: String,
    pub(super) start_nanos: i64,
    pub(super) duration_nanos: i64,
    pub(super) conclusion: Option<String>,
    pub(super) labels: Option<String>,
    pub(super) queue_seconds: Option<f64>,
    pub(super) run_seconds: Option<f64>,
    pub(super) run_id: Option<i64>,
    /// An earlier attempt ran it.
    pub(super) is_carried_over: bool,
}

impl Job {
    pub(super) fn is_failure(&self) -> bool {
        self.conclusion.as_deref().is_some_and(is_failure)
    }

    /// Whether a runner worked on it in this attempt.
    pub(super) fn has_run(&self) -> bool {
        !self.is_carried_over && self.conclusion.as_deref() != Some("skipped")
    }
}

/// Runs with a span, the newest first, and whether there are more.
pub(super) async fn runs(
    engine: &Engine,
    tenants: &Tenants,
    filter: &Filter,
) -> Result<(Vec<Run>, bool), Failed> {
    let condition = filter.of_kind("run");
    let query = runs_query(&condition, MAX_RUNS + 1);
    let table = Table::ask(engine, tenants, &query).await?;
    let mut runs = read_runs(&table)?;
    let is_truncated = runs.len() > MAX_RUNS;
    runs.truncate(MAX_RUNS);
    Ok((once(runs), is_truncated))
}

/// A query for runs.
pub(super) fn runs_query(condition: &str, limit: usize) -> String {
    format!(
        "SELECT trace_id, start_time, duration_nanos, \"span.ci.repository\" AS repository, \
         \"span.ci.workflow\" AS workflow, \"span.ci.branch\" AS branch, \"span.ci.event\" AS event, \
         \"span.ci.title\" AS title, \"span.ci.actor\" AS actor, \"span.ci.run_id\" AS run_id, \
         \"span.ci.attempt\" AS attempt, \"span.ci.conclusion\" AS conclusion, \
         \"span.ci.jobs\" AS jobs, \"span.ci.failed_jobs\" AS failed_jobs \
         FROM spans WHERE {condition} ORDER BY start_time DESC LIMIT {limit}"
    )
}

pub(super) fn read_runs(table: &Table) -> Result<Vec<Run>, Failed> {
    let (traces, starts) = (table.texts("trace_id")?, table.integers("start_time")?);
    let (durations, repositories) = (table.integers("duration_nanos")?, table.texts("repository")?);
    let (workflows, branches) = (table.texts("workflow")?, table.texts("branch")?);
    let (events, titles) = (table.texts("event")?, table.texts("title")?);
    let (actors, ids) = (table.texts("actor")?, table.integers("run_id")?);
    let (attempts, conclusions) = (table.integers("attempt")?, table.texts("conclusion")?);
    let (jobs, failed) = (table.integers("jobs")?, table.integers("failed_jobs")?);
    let runs = (0..table.len()).map(|nth| {
        let start_nanos = starts[nth].unwrap_or(0);
        Run {
            trace_id: traces[nth].clone().unwrap_or_default(),
            repository: repositories[nth].clone(),
            workflow: workflows[nth].clone().unwrap_or_default(),
            branch: branches[nth].clone(),
            event: events[nth].clone(),
            title: titles[nth].clone(),
            actor: actors[nth].clone(),
            run_id: ids[nth],
            attempt: attempts[nth],
            start_ms: millis(start_nanos),
            seconds: seconds(durations[nth].unwrap_or(0).max(0)),
            conclusion: conclusions[nth].clone(),
            jobs: jobs[nth].unwrap_or(0),
            failed_jobs: failed[nth].unwrap_or(0),
            start_nanos,
        }
    });
    Ok(runs.collect())
}

/// Each run once.
pub(super) fn once(mut runs: Vec<Run>) -> Vec<Run> {
    let mut seen = HashSet::with_capacity(runs.len());
    runs.retain(|run| seen.insert(run.trace_id.clone()));
    runs
}

/// Jobs of runs, the newest first, and whether there are more.
pub(super) async fn jobs(
    engine: &Engine,
    tenants: &Tenants,
    condition: &str,
) -> Result<(Vec<Job>, bool), Failed> {
    let query = format!(
        "SELECT trace_id, \"span.ci.job\" AS job, start_time, duration_nanos, \
         \"span.ci.conclusion\" AS conclusion, \"span.ci.labels\" AS labels, \
         \"span.ci.queue_seconds\" AS queue_seconds, \"span.ci.run_seconds\" AS run_seconds, \
         \"span.ci.run_id\" AS run_id, \"span.ci.carried_over\" AS carried_over \
         FROM spans WHERE {condition} ORDER BY start_time DESC LIMIT {}",
        MAX_JOBS + 1
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let mut jobs = read_jobs(&table)?;
    let is_truncated = jobs.len() > MAX_JOBS;
    jobs.truncate(MAX_JOBS);
    let mut seen = HashSet::with_capacity(jobs.len());
    jobs.retain(|job| seen.insert((job.trace_id.clone(), job.name.clone(), job.start_nanos)));
    Ok((jobs, is_truncated))
}

fn read_jobs(table: &Table) -> Result<Vec<Job>, Failed> {
    let (traces, names) = (table.texts("trace_id")?, table.texts("job")?);
    let (starts, durations) = (table.integers("start_time")?, table.integers("duration_nanos")?);
    let (conclusions, labels) = (table.texts("conclusion")?, table.texts("labels")?);
    let (queues, runs) = (table.numbers("queue_seconds")?, table.numbers("run_seconds")?);
    let (ids, carried) = (table.integers("run_id")?, table.texts("carried_over")?);
    let jobs = (0..table.len()).map(|nth| Job {
        trace_id: traces[nth].clone().unwrap_or_default(),
        name: names[nth].clone().unwrap_or_default(),
        start_nanos: starts[nth].unwrap_or(0),
        duration_nanos: durations[nth].unwrap_or(0).max(0),
        conclusion: conclusions[nth].clone(),
        labels: labels[nth].clone(),
        queue_seconds: queues[nth],
        run_seconds: runs[nth],
        run_id: ids[nth],
        is_carried_over: carried[nth].as_deref() == Some("true"),
    });
    Ok(jobs.collect())
}

/// Until when a run has lasted that has no end: now, unless nothing was heard of it for long.
pub(super) fn end_so_far(last_heard_nanos: i64, now_nanos: i64) -> i64 {
    let silence = now_nanos.saturating_sub(last_heard_nanos);
    if silence > SILENCE_NANOS { last_heard_nanos } else { now_nanos.max(last_heard_nanos) }
}

/// Runs that go on: jobs of theirs are there, and no span of their own. Those of which nothing was
/// heard for long are not looked at.
pub(super) async fn going_on(
    engine: &Engine,
    tenants: &Tenants,
    filter: &Filter,
    ended: &[Run],
) -> Result<Vec<Run>, Failed> {
    let lately = filter.range.start.max(filter.range.end.saturating_sub(SILENCE_NANOS));
    let filter = filter.within(lately..filter.range.end);
    // A job that waits or has ended: what a webhook tells as it happens.
    let kinds = filter.of_kinds(&["job", "queue"]);
    let query = format!(
        "SELECT trace_id, min(start_time) AS start_time, \
         min(\"span.ci.repository\") AS repository, min(\"span.ci.workflow\") AS workflow, \
         min(\"span.ci.branch\") AS branch, min(\"span.ci.run_id\") AS run_id, \
         max(\"span.ci.attempt\") AS attempt, max(end_time) AS end_time, \
         count(DISTINCT \"span.ci.job\") AS jobs, \
         count(*) FILTER (WHERE status = 'error') AS failed_jobs \
         FROM spans WHERE {kinds} GROUP BY trace_id ORDER BY 2 DESC LIMIT {MAX_RUNS}"
    );
    let table = Table::ask(engine, tenants, &query).await?;
    let mut known: HashSet<String> = ended.iter().map(|run| run.trace_id.clone()).collect();
    let candidates = table.texts("trace_id")?;
    let unknown = candidates.iter().flatten().filter(|trace| !known.contains(*trace));
    let unknown: HashSet<String> = unknown.take(MAX_RUNNING).cloned().collect();
    if unknown.is_empty() {
        return Ok(Vec::new());
    }
    // Their own span may have begun before the range.
    let query = format!(
        "SELECT trace_id FROM spans WHERE trace_id IN ({}) AND \"span.ci.kind\" = 'run'",
        crate::sql::list(&unknown.iter().collect::<Vec<_>>())
    );
    known.extend(
        Table::ask(engine, tenants, &query).await?.texts("trace_id")?.into_iter().flatten(),
    );
    let (starts, ends) = (table.integers("start_time")?, table.integers("end_time")?);
    let (repositories, workflows) = (table.texts("repository")?, table.texts("workflow")?);
    let (branches, ids) = (table.texts("branch")?, table.integers("run_id")?);
    let (attempts, jobs) = (table.integers("attempt")?, table.integers("jobs")?);
    let failed = table.integers("failed_jobs")?;
    let now = now_nanos();
    let mut runs = Vec::new();
    for (nth, trace) in candidates.into_iter().enumerate() {
        // What was not looked for may have ended.
        let goes_on = |trace: &String| unknown.contains(trace) && !known.contains(trace);
        let Some(trace_id) = trace.filter(goes_on) else { continue };
        let start_nanos = starts[nth].unwrap_or(0);
        let end_nanos = end_so_far(ends[nth].unwrap_or(start_nanos), now);
        runs.push(Run {
            trace_id,
            repository: repositories[nth].clone(),
            workflow: workflows[nth].clone().unwrap_or_default(),
            branch: branches[nth].clone(),
            run_id: ids[nth],
            attempt: attempts[nth],
            start_ms: millis(start_nanos),
            seconds: seconds(end_nanos.saturating_sub(start_nanos).max(0)),
            jobs: jobs[nth].unwrap_or(0),
            failed_jobs: failed[nth].unwrap_or(0),
            start_nanos,
            ..Run::default()
        });
    }
    Ok(runs)
}

/// Jobs by the trace of their run.
pub(super) fn by_run(jobs: &[Job]) -> BTreeMap<&str, Vec<&Job>> {
    let mut by_run: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
    for job in jobs {
        by_run.entry(&job.trace_id).or_default().push(job);
    }
    by_run
}

/// A condition for jobs of some runs.
pub(super) fn of_traces(traces: &[&str], range: &std::ops::Range<i64>) -> String {
    format!(
        "trace_id IN ({}) AND \"span.ci.kind\" = 'job' AND {}",
        crate::sql::list(traces),
        times_within(range)
    )
}
