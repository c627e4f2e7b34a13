//! The variables of one job: what it is described by, its service and its span.

use super::Variable;
use crate::attributes::Attributes;
use crate::environment::Environment;
use crate::identity::{Asked, Identity};
use crate::ids::{SpanId, TraceParent};
use crate::model::{Job, Run};
use crate::resource_attributes;
use crate::warnings::Warnings;

/// What is known of the job beside its environment.
#[derive(Debug, Clone, Default)]
pub struct Known {
    /// Its whole name.
    pub name: Option<String>,
    /// Its number.
    pub id: Option<u64>,
    /// What was asked of its runner.
    pub labels: Vec<String>,
}

impl Known {
    /// What GitHub tells of a job.
    #[must_use]
    pub fn of(job: &Job) -> Self {
        Self { name: Some(job.name.clone()), id: job.id, labels: job.labels.clone() }
    }

    /// The job that runs here: the one that this runner took in this attempt.
    #[must_use]
    pub fn of_runner<'a>(run: &'a Run, environment: &Environment) -> Option<&'a Job> {
        let runner = environment.get("RUNNER_NAME")?;
        let attempt: Option<u64> =
            environment.get("GITHUB_RUN_ATTEMPT").and_then(|a| a.parse().ok());
        let is_here = |job: &&Job| {
            job.runner.as_deref() == Some(runner)
                && (attempt.is_none() || job.attempt.is_none() || job.attempt == attempt)
        };
        // A runner that has done one job of the run may be at its next.
        run.jobs.iter().filter(is_here).find(|job| !job.has_ended())
    }
}

/// `JOB_ID`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and `TRACEPARENT` of a job.
#[must_use]
pub fn variables(
    known: &Known,
    more: &Attributes,
    environment: &Environment,
    warnings: &mut Warnings,
) -> Vec<Variable> {
    let mut variables = Vec::new();
    let mut set = |name: &str, value: String| variables.push((name.to_owned(), value));
    if let Some(id) = known.id {
        set("JOB_ID", id.to_string());
    }
    if let Some(name) = &known.name {
        set("OTEL_SERVICE_NAME", name.clone());
        let identity = Identity::resolve(&Asked::default(), environment, &Run::default(), warnings);
        let span = SpanId::of(identity.trace, &[name]);
        set("TRACEPARENT", TraceParent { trace: identity.trace, span }.to_string());
    }
    set("OTEL_RESOURCE_ATTRIBUTES", attributes(known, more, environment));
    variables
}

/// What is set already, with labels, address of the job, and what is added. A later value of a name
/// replaces the earlier.
fn attributes(known: &Known, more: &Attributes, environment: &Environment) -> String {
    let set = environment.get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let mut attributes = resource_attributes::parse(set);
    if !known.labels.is_empty() {
        attributes.set("rapids.labels", known.labels.join(" "));
    }
    attributes.extend(more);
    let url = attributes.text("git.job_url").map(str::to_owned);
    if let (Some(url), Some(id)) = (url, known.id)
        && !url.contains("/job/")
    {
        attributes.set("git.job_url", format!("{url}/job/{id}"));
    }
    resource_attributes::write(&attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        [
            ("GITHUB_REPOSITORY", "rapidsai/cudf"),
            ("GITHUB_RUN_ID", "777"),
            ("GITHUB_RUN_ATTEMPT", "2"),
            ("RUNNER_NAME", "runner-3"),
            ("OTEL_RESOURCE_ATTRIBUTES", "git.repository=rapidsai/cudf,git.job_url=https://github.com/rapidsai/cudf/actions/runs/777"),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn a_job_has_its_labels_its_address_and_its_span() {
        let known = Known {
            name: Some("cpp / build".into()),
            id: Some(102),
            labels: vec!["linux".into(), "gpu".into()],
        };
        let more = [("rapids.CUDA_VER", "12.9.1"), ("list", "a,b")].into_iter().collect();
        let mut warnings = Warnings::new();
        let variables = variables(&known, &more, &environment(), &mut warnings);
        let get = |name: &str| variables.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(get("JOB_ID"), Some("102"));
        assert_eq!(get("OTEL_SERVICE_NAME"), Some("cpp / build"));
        assert_eq!(
            get("OTEL_RESOURCE_ATTRIBUTES"),
            Some(
                "git.repository=rapidsai/cudf,\
                 git.job_url=https://github.com/rapidsai/cudf/actions/runs/777/job/102,\
                 rapids.labels=linux gpu,rapids.CUDA_VER=12.9.1,list=a%2Cb"
            )
        );
        let parent: TraceParent = get("TRACEPARENT").unwrap().parse().unwrap();
        assert_eq!(parent.span, SpanId::of(parent.trace, &["cpp / build"]));
        assert_eq!(parent.trace.to_string(), "b32e21fdbca9c03f05dc7b268c84d791");
    }

    #[test]
    fn the_job_of_this_runner_is_the_one_that_runs() {
        let job = |id, attempt, runner: &str, status: &str| Job {
            id: Some(id),
            attempt: Some(attempt),
            runner: Some(runner.to_owned()),
            status: Some(status.to_owned()),
            ..Job::default()
        };
        let run = Run {
            jobs: vec![
                job(1, 1, "runner-3", "completed"),
                job(2, 2, "runner-1", "in_progress"),
                job(3, 2, "runner-3", "completed"),
                job(4, 2, "runner-3", "in_progress"),
            ],
            ..Run::default()
        };
        assert_eq!(Known::of_runner(&run, &environment()).and_then(|job| job.id), Some(4));
        assert!(Known::of_runner(&run, &Environment::default()).is_none());
    }
}
