//! What earlier runs of a workflow were like, for one to be held against.

use std::collections::{BTreeMap, BTreeSet};

use futures::try_join;
use kymo_engine::table::Table;
use kymo_engine::{Engine, Tenants};
use serde::Serialize;

use super::asked::Filter;
use super::caches;
use super::figures::{Cached, change, cut, median};
use super::limits::{EARLIER_RUNS, MAX_LISTED};
use super::rows;
use super::run::{Job, Run};
use crate::answer::Failed;

/// How far back earlier runs are looked for.
const LOOKBACK_NANOS: i64 = 90 * 24 * 3_600 * 1_000_000_000;

/// What is usual for a workflow.
#[derive(Debug, Default)]
pub(super) struct Usual {
    runs: usize,
    run_seconds: Option<f64>,
    /// How long each job ran, in the middle.
    pub(super) seconds: BTreeMap<String, f64>,
    /// Jobs that at least half of the runs had.
    common: BTreeSet<String>,
    /// What caches did for each job.
    pub(super) cached: BTreeMap<String, Cached>,
}

/// A run beside earlier ones.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Earlier {
    /// How many it is held against.
    runs: usize,
    median_seconds: Option<f64>,
    /// How much longer this one took, as a part of that.
    change: Option<f64>,
    /// Jobs that none of them had, and those that most had and this one has not; how many there are,
    /// of which as many as are listed are named.
    new_jobs: Vec<String>,
    new_jobs_total: usize,
    missing_jobs: Vec<String>,
    missing_jobs_total: usize,
}

impl Usual {
    pub(super) fn beside(&self, jobs: &[Job], run_seconds: f64, is_running: bool) -> Earlier {
        let (mut new_jobs, mut missing_jobs) = (Vec::new(), Vec::new());
        if self.runs > 0 {
            let is_new = |job: &&Job| !job.is_carried_over && !self.seconds.contains_key(&job.name);
            let new: BTreeSet<String> =
                jobs.iter().filter(is_new).map(|job| job.name.clone()).collect();
            new_jobs.extend(new);
        }
        // What a run that goes on has not had may still come.
        if !is_running {
            let names: BTreeSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
            let missing = self.common.iter().filter(|job| !names.contains(job.as_str()));
            missing_jobs.extend(missing.cloned());
        }
        let (new_jobs, new_jobs_total) = cut(new_jobs, MAX_LISTED);
        let (missing_jobs, missing_jobs_total) = cut(missing_jobs, MAX_LISTED);
        let ended = (!is_running).then_some(run_seconds);
        Earlier {
            runs: self.runs,
            median_seconds: self.run_seconds,
            change: change(ended, self.run_seconds),
            new_jobs,
            new_jobs_total,
            missing_jobs,
            missing_jobs_total,
        }
    }
}

/// What the runs before this one were like: those that ended in success or failure.
pub(super) async fn of(engine: &Engine, tenants: &Tenants, run: &Run) -> Result<Usual, Failed> {
    let Some(workflow) = run.workflow.clone() else { return Ok(Usual::default()) };
    let filter = Filter {
        range: run.start_nanos.saturating_sub(LOOKBACK_NANOS).max(0)..run.start_nanos,
        repository: run.repository.clone(),
        branch: None,
        workflow: Some(workflow),
    };
    let condition =
        format!("{} AND \"span.ci.conclusion\" IN ('success', 'failure')", filter.of_kind("run"));
    let query = rows::runs_query(&condition, EARLIER_RUNS);
    let runs = rows::read_runs(&Table::ask(engine, tenants, &query).await?)?;
    let Some(first) = runs.iter().map(|run| run.start_nanos).min() else {
        return Ok(Usual::default());
    };
    let traces: Vec<&str> = runs.iter().map(|run| run.trace_id.as_str()).collect();
    // A job may have been created a little before its run, by another clock; and where many runs go
    // on at once, jobs of an earlier one begin after this one has.
    const HOUR_NANOS: i64 = 3_600 * 1_000_000_000;
    let until = run.start_nanos.saturating_add(24 * HOUR_NANOS);
    let range = first.saturating_sub(HOUR_NANOS).max(0)..until;
    let of_jobs = rows::of_traces(&traces, &range);
    let filter = filter.within(range);
    let ((jobs, _), (cached, _)) = try_join!(
        rows::jobs(engine, tenants, &of_jobs),
        caches::by_job(engine, tenants, &filter),
    )?;
    let mut seconds: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for job in jobs.iter().filter(|job| job.has_run()) {
        seconds.entry(job.name.clone()).or_default().extend(job.run_seconds);
    }
    let mut of_caches: BTreeMap<String, Cached> = BTreeMap::new();
    for row in cached.iter().filter(|row| traces.contains(&row.trace_id.as_str())) {
        of_caches.entry(row.job.clone()).or_default().add(row.cached);
    }
    let is_common = |(_, seconds): &(&String, &Vec<f64>)| seconds.len() * 2 >= runs.len();
    Ok(Usual {
        runs: runs.len(),
        run_seconds: median(runs.iter().map(|run| run.seconds).collect()),
        common: seconds.iter().filter(is_common).map(|(job, _)| job.clone()).collect(),
        seconds: seconds
            .into_iter()
            .filter_map(|(job, seconds)| Some((job, median(seconds)?)))
            .collect(),
        cached: of_caches,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_carried_over_or_may_still_come_is_not_missing() {
        let job = |name, is_carried_over| Job::of(name, 60.0, is_carried_over);
        let names = || ["build".to_owned(), "test".to_owned()];
        let usual = Usual {
            runs: 3,
            seconds: names().map(|name| (name, 60.0)).into(),
            common: names().into(),
            ..Usual::default()
        };
        let jobs = [job("build", true), job("lint", false), job("docs", true)];
        let ended = usual.beside(&jobs, 9.0, false);
        assert_eq!(ended.new_jobs, ["lint"]);
        assert_eq!(ended.missing_jobs, ["test"]);
        let running = usual.beside(&jobs, 9.0, true);
        assert_eq!((running.new_jobs_total, running.missing_jobs_total), (1, 0));
    }
}
