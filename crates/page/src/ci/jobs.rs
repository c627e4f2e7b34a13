//! Jobs over many runs: which are slow, which fail, which decide how long runs take, and what
//! runners they keep.

use std::collections::{BTreeMap, HashMap};

use kymo_ci::report::{Lasted, chain};
use serde::Serialize;

use super::figures::{median, quantile_of, share};
use super::limits::MAX_RUN_JOBS;
use super::rows::{self, Job};

/// A job over its runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct JobFigures {
    pub(super) job: String,
    /// Times that it ran.
    pub(super) runs: usize,
    pub(super) failures: usize,
    pub(super) failure_rate: Option<f64>,
    /// Runs in which it failed in one attempt and went well in another.
    pub(super) flaky: usize,
    pub(super) median_seconds: Option<f64>,
    pub(super) p95_seconds: Option<f64>,
    pub(super) queue_p95_seconds: Option<f64>,
    pub(super) runner_minutes: f64,
    /// Runs whose critical path it is on.
    pub(super) on_path: usize,
    /// How much earlier these would have ended without it, in the middle.
    pub(super) saves_seconds: Option<f64>,
}

/// Runners with some labels.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Runners {
    pub(super) labels: String,
    pub(super) jobs: usize,
    pub(super) runner_minutes: f64,
    pub(super) billed_minutes: f64,
    pub(super) queue_median_seconds: Option<f64>,
    pub(super) queue_p95_seconds: Option<f64>,
    pub(super) queue_max_seconds: Option<f64>,
}

/// Minutes that runners worked, and those that are billed: every job is rounded up.
pub(super) fn minutes<'a>(jobs: impl Iterator<Item = &'a Job>) -> (f64, f64) {
    jobs.filter(|job| job.has_run()).filter_map(|job| job.run_seconds).fold(
        (0.0, 0.0),
        |(worked, billed), seconds| {
            let minutes = seconds.max(0.0) / 60.0;
            (worked + minutes, billed + minutes.ceil())
        },
    )
}

/// Jobs that keep runners longest first.
pub(super) fn figures(jobs: &[Job]) -> Vec<JobFigures> {
    let saved = saved(jobs);
    let mut by_name: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
    for job in jobs.iter().filter(|job| job.has_run()) {
        by_name.entry(&job.name).or_default().push(job);
    }
    let mut figures: Vec<JobFigures> = by_name
        .into_iter()
        .map(|(name, jobs)| {
            let failures = jobs.iter().filter(|job| job.is_failure()).count();
            let went_well = |job: &&&Job| job.conclusion.as_deref() == Some("success");
            let ended = failures + jobs.iter().filter(went_well).count();
            let seconds: Vec<f64> = jobs.iter().filter_map(|job| job.run_seconds).collect();
            let saved = saved.get(name).cloned().unwrap_or_default();
            JobFigures {
                job: name.to_owned(),
                runs: jobs.len(),
                failures,
                failure_rate: share(failures as f64, ended as f64),
                flaky: flaky(&jobs),
                median_seconds: median(seconds.clone()),
                p95_seconds: quantile_of(seconds, 0.95),
                queue_p95_seconds: quantile_of(
                    jobs.iter().filter_map(|job| job.queue_seconds).collect(),
                    0.95,
                ),
                runner_minutes: minutes(jobs.iter().copied()).0,
                on_path: saved.len(),
                saves_seconds: median(saved),
            }
        })
        .collect();
    figures.sort_by(|one, other| other.runner_minutes.total_cmp(&one.runner_minutes));
    figures
}

/// Runs in which a job failed and went well, in attempts of one commit.
fn flaky(jobs: &[&Job]) -> usize {
    let mut ends: HashMap<i64, (bool, bool)> = HashMap::new();
    for job in jobs {
        let Some(run) = job.run_id else { continue };
        let (failed, went_well) = ends.entry(run).or_default();
        *failed |= job.is_failure();
        *went_well |= job.conclusion.as_deref() == Some("success");
    }
    ends.values().filter(|(failed, went_well)| *failed && *went_well).count()
}

/// What each job on a critical path cost its run, in seconds.
fn saved(jobs: &[Job]) -> HashMap<&str, Vec<f64>> {
    let mut saved: HashMap<&str, Vec<f64>> = HashMap::new();
    for jobs in rows::by_run(jobs).into_values() {
        let mut ran: Vec<&Job> = jobs.into_iter().filter(|job| job.has_run()).collect();
        ran.truncate(MAX_RUN_JOBS);
        let lasted: Vec<Lasted> = ran.iter().map(|job| lasted(job)).collect();
        for place in chain(&lasted) {
            let name = ran[place.job].name.as_str();
            saved.entry(name).or_default().push(place.saves_nanos as f64 / 1e9);
        }
    }
    saved
}

fn lasted(job: &Job) -> Lasted {
    let nanos = |value: i64| u64::try_from(value).unwrap_or(0);
    let end = job.start_nanos.saturating_add(job.duration_nanos);
    Lasted { start_nanos: nanos(job.start_nanos), end_nanos: nanos(end) }
}

/// Runners by label, those that worked longest first.
pub(super) fn runners<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> Vec<Runners> {
    let mut by_labels: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
    for job in jobs.into_iter().filter(|job| job.has_run()) {
        by_labels.entry(job.labels.as_deref().unwrap_or("")).or_default().push(job);
    }
    let mut runners: Vec<Runners> = by_labels
        .into_iter()
        .map(|(labels, jobs)| {
            let queues: Vec<f64> = jobs.iter().filter_map(|job| job.queue_seconds).collect();
            let (runner_minutes, billed_minutes) = minutes(jobs.iter().copied());
            Runners {
                labels: labels.to_owned(),
                jobs: jobs.len(),
                runner_minutes,
                billed_minutes,
                queue_max_seconds: queues.iter().copied().reduce(f64::max),
                queue_median_seconds: median(queues.clone()),
                queue_p95_seconds: quantile_of(queues, 0.95),
            }
        })
        .collect();
    runners.sort_by(|one, other| other.runner_minutes.total_cmp(&one.runner_minutes));
    runners
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(trace: &str, name: &str, start: i64, seconds: f64, conclusion: &str) -> Job {
        Job {
            trace_id: trace.into(),
            name: name.into(),
            start_nanos: start * 1_000_000_000,
            duration_nanos: (seconds * 1e9) as i64,
            conclusion: Some(conclusion.into()),
            labels: Some("gpu".into()),
            queue_seconds: Some(0.0),
            run_seconds: Some(seconds),
            run_id: Some(1),
            is_carried_over: false,
        }
    }

    #[test]
    fn a_job_that_fails_and_then_goes_well_in_one_run_is_flaky() {
        let jobs = [
            job("a", "test", 0, 60.0, "failure"),
            job("b", "test", 100, 30.0, "success"),
            job("b", "lint", 100, 10.0, "success"),
            Job { is_carried_over: true, ..job("b", "build", 100, 0.0, "success") },
        ];
        let figures = figures(&jobs);
        assert_eq!(figures.len(), 2, "what an earlier attempt ran is not counted");
        let test = &figures[0];
        assert_eq!((test.job.as_str(), test.runs, test.failures), ("test", 2, 1));
        assert_eq!((test.flaky, test.failure_rate), (1, Some(0.5)));
        assert_eq!((test.on_path, test.saves_seconds), (2, Some(40.0)));
        assert_eq!((figures[1].flaky, figures[1].on_path), (0, 0));
    }

    #[test]
    fn minutes_are_billed_by_job() {
        let jobs = [job("a", "x", 0, 61.0, "success"), job("a", "y", 0, 30.0, "failure")];
        let runners = runners(&jobs);
        assert_eq!(runners.len(), 1);
        assert!((runners[0].runner_minutes - 91.0 / 60.0).abs() < 1e-9);
        assert_eq!((runners[0].billed_minutes, runners[0].jobs), (3.0, 2));
        let skipped = [job("a", "x", 0, 61.0, "skipped")];
        assert_eq!(minutes(skipped.iter()), (0.0, 0.0));
    }
}
