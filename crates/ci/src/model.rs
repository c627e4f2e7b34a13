//! A run, its jobs and their steps, as GitHub tells of them in all its forms.

use std::fmt;

/// Nanoseconds since 1970.
pub type Nanos = u64;

/// One attempt of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// `owner/name`.
    pub repository: Option<String>,
    /// Its number.
    pub id: Option<u64>,
    /// Which attempt, from 1.
    pub attempt: Option<u64>,
    /// Name of the workflow.
    pub workflow: Option<String>,
    /// What people read in lists: title of the commit or pull request.
    pub title: Option<String>,
    /// Why it runs: `push`, `pull_request`, …
    pub event: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit.
    pub sha: Option<String>,
    /// Where it can be seen.
    pub url: Option<String>,
    /// Who set it off.
    pub actor: Option<String>,
    /// Number of the pull request that it is for.
    pub pull_request: Option<u64>,
    /// The branch that pull request is for.
    pub base_branch: Option<String>,
    /// What it does now.
    pub status: Option<String>,
    /// How it ended.
    pub conclusion: Option<Conclusion>,
    /// When its first attempt was asked for.
    pub created_nanos: Option<Nanos>,
    /// When this attempt began.
    pub started_nanos: Option<Nanos>,
    /// When it last changed, which is its end once it has ended.
    pub updated_nanos: Option<Nanos>,
    /// Its jobs, in the order of the file.
    pub jobs: Vec<Job>,
}

/// A job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Job {
    /// File and place that tell of it, for warnings.
    pub place: String,
    /// Its number.
    pub id: Option<u64>,
    /// The run's number.
    pub run_id: Option<u64>,
    /// The attempt in which it ran. Jobs that a later attempt took over keep theirs.
    pub attempt: Option<u64>,
    /// Its whole name, such as `tests / build (12.9, amd64)`.
    pub name: String,
    /// Name of the workflow.
    pub workflow: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The commit.
    pub sha: Option<String>,
    /// Where it can be seen.
    pub url: Option<String>,
    /// What it does now: `queued`, `in_progress`, `completed`, `waiting`.
    pub status: Option<String>,
    /// How it ended.
    pub conclusion: Option<Conclusion>,
    /// When it was to run.
    pub created_nanos: Option<Nanos>,
    /// When a runner took it.
    pub started_nanos: Option<Nanos>,
    /// When it was done.
    pub completed_nanos: Option<Nanos>,
    /// What was asked of the runner.
    pub labels: Vec<String>,
    /// Which runner took it.
    pub runner: Option<String>,
    /// The group which that is of.
    pub runner_group: Option<String>,
    /// Its steps.
    pub steps: Vec<Step>,
}

impl Job {
    /// The parts of its name: what calls it, and which of those it is. A slash inside a matrix value
    /// (`shard 8/20`) divides nothing.
    #[must_use]
    pub fn parts(&self) -> (&str, Option<&str>) {
        match self.name.split_once(" / ") {
            Some((group, rest)) => (group.trim(), Some(rest.trim())),
            None => (&self.name, None),
        }
    }

    /// Whether it has come to an end.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.conclusion.is_some() || self.status.as_deref() == Some("completed")
    }

    /// When a runner took it, if one did. GitHub gives that time to jobs that still wait, too.
    #[must_use]
    pub fn taken_nanos(&self) -> Option<Nanos> {
        let waits = ["queued", "waiting", "pending", "requested"];
        let is_waiting = self.status.as_deref().is_some_and(|status| waits.contains(&status));
        let is_skipped = self.conclusion == Some(Conclusion::Skipped);
        self.started_nanos.filter(|_| !is_skipped && (self.has_ended() || !is_waiting))
    }

    /// How far it has come, to tell older news from newer.
    #[must_use]
    pub fn progress(&self) -> u8 {
        match self.status.as_deref() {
            _ if self.has_ended() => 3,
            Some("in_progress") => 2,
            Some(_) => 1,
            None => 0,
        }
    }
}

/// A step of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// Its name.
    pub name: String,
    /// Its place in the job, from 1.
    pub number: Option<u64>,
    /// What it does now.
    pub status: Option<String>,
    /// How it ended.
    pub conclusion: Option<Conclusion>,
    /// When it began.
    pub started_nanos: Option<Nanos>,
    /// When it ended.
    pub completed_nanos: Option<Nanos>,
}

/// How something ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conclusion {
    /// It went well.
    Success,
    /// It did not.
    Failure,
    /// It took longer than it may.
    TimedOut,
    /// It could not begin.
    StartupFailure,
    /// Somebody or something stopped it.
    Cancelled,
    /// It was not to run.
    Skipped,
    /// It neither passed nor failed.
    Neutral,
    /// Somebody has to do something first.
    ActionRequired,
    /// GitHub gave it up.
    Stale,
    /// A word that this version does not know.
    Other(String),
}

impl Conclusion {
    /// What a word means.
    #[must_use]
    pub fn of(word: &str) -> Self {
        match word {
            "success" => Self::Success,
            "failure" => Self::Failure,
            "timed_out" => Self::TimedOut,
            "startup_failure" => Self::StartupFailure,
            "cancelled" | "canceled" => Self::Cancelled,
            "skipped" => Self::Skipped,
            "neutral" => Self::Neutral,
            "action_required" => Self::ActionRequired,
            "stale" => Self::Stale,
            other => Self::Other(other.to_owned()),
        }
    }

    /// GitHub's word.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::TimedOut => "timed_out",
            Self::StartupFailure => "startup_failure",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::Neutral => "neutral",
            Self::ActionRequired => "action_required",
            Self::Stale => "stale",
            Self::Other(word) => word,
        }
    }

    /// The word of OpenTelemetry's conventions, where it has one.
    #[must_use]
    pub fn result(&self) -> Option<&'static str> {
        match self {
            Self::Success => Some("success"),
            Self::Failure => Some("failure"),
            Self::StartupFailure => Some("error"),
            Self::TimedOut => Some("timeout"),
            Self::Cancelled | Self::Stale => Some("cancellation"),
            Self::Skipped => Some("skip"),
            Self::Neutral | Self::ActionRequired | Self::Other(_) => None,
        }
    }

    /// Whether something is broken.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Failure | Self::TimedOut | Self::StartupFailure)
    }
}

impl fmt::Display for Conclusion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_divided_at_slashes_between_spaces_only() {
        let parts = |name: &str| {
            let job = Job { name: name.to_owned(), ..Job::default() };
            let (group, rest) = job.parts();
            (group.to_owned(), rest.map(str::to_owned))
        };
        let rest = |rest: &str| Some(rest.to_owned());
        assert_eq!(parts("a / b / c"), ("a".into(), rest("b / c")));
        assert_eq!(parts("test (ubuntu, 8/20)"), ("test (ubuntu, 8/20)".into(), None));
        assert_eq!(parts("build"), ("build".into(), None));
    }
}
