//! The critical path: the jobs that decided how long a run took.
//!
//! GitHub does not say which job waited for which. But it creates a job when those that it needs
//! have ended. So the path is walked back from the job that ended last: before it came the one that
//! had ended last when it was created.

use super::Row;
use crate::model::Nanos;

/// Times are whole seconds, and a job may be created in the second in which the one before ends.
const SLACK_NANOS: Nanos = 2_000_000_000;

/// A job on the path.
#[derive(Debug, Clone, PartialEq)]
pub struct PathJob {
    /// Its whole name.
    pub job: String,
    /// When it was created, in seconds from the beginning of the path.
    pub after_seconds: f64,
    /// How long it waited for a runner.
    pub queue_seconds: f64,
    /// How long it ran.
    pub run_seconds: f64,
}

/// The path through these jobs.
pub(super) fn critical(jobs: &[&Row]) -> Vec<PathJob> {
    let mut path: Vec<&Row> = Vec::new();
    let mut next = jobs.iter().max_by_key(|job| job.end_nanos).copied();
    while let Some(job) = next {
        path.push(job);
        let before = jobs.iter().filter(|other| {
            other.end_nanos <= job.start_nanos.saturating_add(SLACK_NANOS)
                // Time goes back with every job, so that the walk has an end.
                && other.end_nanos < job.end_nanos
                && other.start_nanos < job.start_nanos
        });
        next = before.max_by_key(|other| other.end_nanos).copied();
    }
    path.reverse();
    let first = path.first().map_or(0, |job| job.start_nanos);
    path.iter()
        .map(|job| {
            let queue_seconds = job.queue_seconds.unwrap_or(0.0);
            PathJob {
                job: job.job_name().to_owned(),
                after_seconds: job.start_nanos.saturating_sub(first) as f64 / 1e9,
                queue_seconds,
                run_seconds: (job.seconds() - queue_seconds).max(0.0),
            }
        })
        .collect()
}
