//! A run as a trace: the run itself, its jobs, how long each waited, its steps, and what jobs left
//! behind (targets of a build, tests).
//!
//! ```text
//!  Top-level workflow root                     kind run
//!  ├─ conda-cpp-build / build / 12.9, amd64    kind job, its own resource
//!  │  ├─ Start delay time                      kind queue
//!  │  ├─ C++ build                             kind step
//!  │  │  └─ src/copying/gather.cu.o            kind target
//!  │  └─ Run tests                             kind step
//!  │     └─ test_gather.TestAll                kind test
//! ```
//!
//! What holds for every trace, whatever the input: the root covers its children and a job its own;
//! nothing ends before it begins; no two spans have one id; every span says by `ci.kind` what it is
//! and by `ci.conclusion` how it ended, in GitHub's word.
//!
//! | module | what is there |
//! |---|---|
//! | `job` | one job with all below it |
//! | `resource` | what run and jobs are described by: `git.*`, `rapids.*`, `vcs.*`, `cicd.*` |
//! | `root` | the run |
//! | `unique` | ids |

mod job;
mod resource;
mod root;
mod unique;

use std::path::Path;

use crate::attributes::Attributes;
use crate::environment::Environment;
use crate::identity::{Asked, Identity};
use crate::model::{Conclusion, Job, Nanos, Run};
use crate::span::{Span, Status, Trace};
use crate::stash::{self, Stash};
use crate::warnings::Warnings;
use unique::Unique;

/// The library that says so.
pub const SCOPE: (&str, &str) = ("kymo.ci", env!("CARGO_PKG_VERSION"));

/// Names that spans of every run have, as in the existing system: dashboards ask for them.
pub const ROOT_NAME: &str = "Top-level workflow root";
/// How long a job waited for a runner.
pub const QUEUE_NAME: &str = "Start delay time";

/// What summaries need to know.
pub struct Summary<'a> {
    /// Which run it is.
    pub identity: &'a Identity,
    /// What is known of it.
    pub run: &'a Run,
    /// Variables of the process.
    pub environment: &'a Environment,
    /// What a job left behind.
    pub stash: &'a dyn Fn(&Job, &mut Warnings) -> Stash,
}

/// A run with what its jobs left behind in a directory.
#[must_use]
pub fn summarize(
    run: &Run,
    asked: &Asked,
    environment: &Environment,
    artifacts: &Path,
    warnings: &mut Warnings,
) -> (Identity, Trace) {
    let mut environment = asked.environment(environment);
    if environment.get("OTEL_SERVICE_NAME").is_none()
        && let Some(service) = stash::service(artifacts)
    {
        environment.set("OTEL_SERVICE_NAME", &service);
    }
    let identity = Identity::resolve(asked, &environment, run, warnings);
    let stash = |job: &Job, warnings: &mut Warnings| match job.id {
        Some(id) => stash::read(&stash::folder_of(artifacts, id), warnings),
        None => Stash::default(),
    };
    let summary = Summary { identity: &identity, run, environment: &environment, stash: &stash };
    let trace = summary.trace(warnings);
    (identity, trace)
}

/// What is stored of a run's jobs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredJobs {
    /// When the first span of them began.
    pub from_nanos: Nanos,
    /// When the last ended.
    pub to_nanos: Nanos,
    /// How the jobs ended, one for each.
    pub conclusions: Vec<Option<Conclusion>>,
}

impl Summary<'_> {
    /// The whole trace. It is there also if there are no jobs.
    #[must_use]
    pub fn trace(&self, warnings: &mut Warnings) -> Trace {
        if self.run.jobs.is_empty() {
            warnings.add("the run has no jobs: its trace has one span");
        }
        let mut unique = Unique::new(self.identity);
        let mut groups: Vec<_> = self
            .run
            .jobs
            .iter()
            .filter(|job| !self.is_carried_over(job))
            .map(|job| job::group(self, job, true, &mut unique, warnings))
            .collect();
        let root = root::span(self, groups.iter().filter_map(|group| group.spans.first()));
        let carried = self.run.jobs.iter().filter(|job| self.is_carried_over(job));
        groups.extend(carried.map(|job| job::carried_over(self, job, &root, &mut unique)));
        groups.insert(0, root::group(self, root));
        Trace { id: self.identity.trace, scope: SCOPE, groups }
    }

    /// The spans of one job that has ended, of a run that goes on; without that of its waiting,
    /// which [`Summary::queue`] gave when it began.
    #[must_use]
    pub fn job(&self, job: &Job, warnings: &mut Warnings) -> Trace {
        let mut unique = Unique::new(self.identity);
        let group = job::group(self, job, false, &mut unique, warnings);
        Trace { id: self.identity.trace, scope: SCOPE, groups: vec![group] }
    }

    /// How long a job waited that a runner has just taken, if it did.
    #[must_use]
    pub fn queue(&self, job: &Job) -> Option<Trace> {
        let group = job::waiting(self, job)?;
        Some(Trace { id: self.identity.trace, scope: SCOPE, groups: vec![group] })
    }

    /// The span of the run alone, which covers its jobs and counts them, as far as they are stored.
    #[must_use]
    pub fn run(&self, jobs: Option<&StoredJobs>) -> Trace {
        let mut root = root::span(self, std::iter::empty());
        if let Some(jobs) = jobs {
            root.start_nanos = root.start_nanos.min(jobs.from_nanos);
            root.end_nanos = root.end_nanos.max(jobs.to_nanos);
            root::count(&mut root, &jobs.conclusions);
        }
        Trace { id: self.identity.trace, scope: SCOPE, groups: vec![root::group(self, root)] }
    }

    /// Whether a job ran in an earlier attempt and this one only took over how it ended. If no job
    /// is of this attempt, the file is of that earlier one.
    fn is_carried_over(&self, job: &Job) -> bool {
        let of_this =
            |job: &Job| job.attempt.is_none_or(|attempt| attempt >= self.identity.attempt);
        !of_this(job) && self.run.jobs.iter().any(of_this)
    }
}

/// What a span is, and how it ended.
fn describe(span: &mut Span, kind: &str, conclusion: Option<&Conclusion>) {
    span.attributes.set("ci.kind", kind);
    span.attributes.set_some("ci.conclusion", conclusion.map(Conclusion::word));
    span.status = match conclusion {
        Some(Conclusion::Success) => Status::Ok,
        Some(other) if other.is_failure() => Status::Error(other.word().replace('_', " ")),
        _ => Status::Unset,
    };
}

/// Seconds of a time in nanoseconds.
fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / 1e9
}

/// Attributes that say which run a span is of, on spans that are counted over many runs: resources
/// are many, and slower to group by.
fn of_run(summary: &Summary<'_>) -> Attributes {
    let mut attributes = Attributes::new();
    let run = summary.run;
    attributes.set_some(
        "ci.workflow",
        run.workflow.as_deref().or(summary.environment.get("GITHUB_WORKFLOW")),
    );
    attributes.set_some("ci.repository", summary.identity.repository.as_deref());
    attributes.set_some("ci.branch", resource::branch(summary));
    let number = summary.identity.run.as_ref().and_then(|run| run.parse::<u64>().ok());
    attributes.set_some("ci.run_id", number);
    attributes.set("ci.attempt", summary.identity.attempt);
    attributes
}

#[cfg(test)]
mod tests;
