//! The critical path: the jobs that decided how long a run took.
//!
//! GitHub does not say which job waited for which. But it creates a job when those that it needs
//! have ended. So the path is walked back from the job that ended last: before it came the one that
//! had ended last when it was created.
//!
//! What may need a job is every job that was created after it ended. So slack is what is certain: so
//! much later a job may end without holding up any of those.

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

/// When a job was created, and when it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lasted {
    /// When it was created.
    pub start_nanos: Nanos,
    /// When it ended.
    pub end_nanos: Nanos,
}

impl Lasted {
    /// Whether it had ended when another was created. Time goes back from job to job, so that a walk
    /// over those before has an end.
    fn is_before(self, other: Self) -> bool {
        self.end_nanos <= other.start_nanos.saturating_add(SLACK_NANOS)
            && self.end_nanos < other.end_nanos
            && self.start_nanos < other.start_nanos
    }
}

/// A place on the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which job.
    pub job: usize,
    /// How much earlier the run would have ended, had this job taken no time.
    pub saves_nanos: Nanos,
}

/// The path through these jobs, the first first.
#[must_use]
pub fn chain(jobs: &[Lasted]) -> Vec<Place> {
    let mut path = Vec::new();
    let mut next = (0..jobs.len()).max_by_key(|nth| jobs[*nth].end_nanos);
    // Those that could have been in its place.
    let mut rivals: Vec<usize> = (0..jobs.len()).collect();
    while let Some(job) = next {
        let others = rivals.iter().filter(|nth| **nth != job).map(|nth| jobs[*nth].end_nanos);
        let instead = others.chain([jobs[job].start_nanos]).max().unwrap_or(0);
        path.push(Place { job, saves_nanos: jobs[job].end_nanos.saturating_sub(instead) });
        rivals = (0..jobs.len()).filter(|nth| jobs[*nth].is_before(jobs[job])).collect();
        next = rivals.iter().copied().max_by_key(|nth| jobs[*nth].end_nanos);
    }
    path.reverse();
    path
}

/// How much later each job may have ended without making the run longer.
#[must_use]
pub fn slack(jobs: &[Lasted]) -> Vec<Nanos> {
    let last = jobs.iter().map(|job| job.end_nanos).max().unwrap_or(0);
    let mut latest_first: Vec<usize> = (0..jobs.len()).collect();
    latest_first.sort_by_key(|nth| std::cmp::Reverse(jobs[*nth].end_nanos));
    let mut slack = vec![0; jobs.len()];
    for (place, &nth) in latest_first.iter().enumerate() {
        let job = jobs[nth];
        let held_up = latest_first[..place].iter().filter(|other| job.is_before(jobs[**other]));
        let until_held_up = held_up
            .map(|other| slack[*other] + jobs[*other].start_nanos.saturating_sub(job.end_nanos));
        slack[nth] = until_held_up.chain([last - job.end_nanos]).min().unwrap_or(0);
    }
    slack
}

/// The path through these jobs.
pub(super) fn critical(jobs: &[&Row]) -> Vec<PathJob> {
    let lasted: Vec<Lasted> = jobs
        .iter()
        .map(|job| Lasted { start_nanos: job.start_nanos, end_nanos: job.end_nanos })
        .collect();
    let path: Vec<&Row> = chain(&lasted).into_iter().map(|place| jobs[place.job]).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = 1_000_000_000;

    fn jobs(times: &[(u64, u64)]) -> Vec<Lasted> {
        let lasted = |&(from, to): &(u64, u64)| Lasted {
            start_nanos: from * SECOND,
            end_nanos: to * SECOND,
        };
        times.iter().map(lasted).collect()
    }

    /// Two builds, then two tests, and a check beside them all.
    const RUN: [(u64, u64); 5] = [(0, 100), (0, 130), (131, 200), (131, 260), (0, 20)];

    #[test]
    fn the_path_goes_over_what_ended_last_and_tells_what_each_job_costs() {
        let path = chain(&jobs(&RUN));
        let told: Vec<(usize, u64)> =
            path.iter().map(|place| (place.job, place.saves_nanos / SECOND)).collect();
        // Without the longer build the other one would have held up the tests.
        assert_eq!(told, [(1, 30), (3, 60)]);
        assert!(chain(&[]).is_empty());
    }

    #[test]
    fn slack_is_what_holds_up_none_of_those_that_came_later() {
        let slack: Vec<u64> = slack(&jobs(&RUN)).iter().map(|nanos| nanos / SECOND).collect();
        // The longer build has the second that passed until the tests were created.
        assert_eq!(slack, [31, 1, 60, 0, 111]);
    }
}
