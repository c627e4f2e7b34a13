//! What run and jobs are described by.

use super::Summary;
use crate::attributes::Attributes;
use crate::model::Job;
use crate::resource_attributes;

const BRANCHES: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";

/// Attributes of the run's resource.
pub(super) fn of_run(summary: &Summary<'_>) -> Attributes {
    let mut resource = common(summary);
    // What a job was told of the repository holds for the run; what it says of itself does not.
    let told = summary.environment.get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
    let mut told = resource_attributes::parse(told);
    told.retain(|name| name.starts_with("git.") && name != "git.job_url");
    resource.extend(&told);
    resource.set_some("git.job_url", url(summary));
    resource.set("service.name", summary.identity.service.as_str());
    resource
}

/// Attributes of a job's resource: what is known of it, and what it says of itself.
pub(super) fn of_job(summary: &Summary<'_>, job: &Job, stashed: &Attributes) -> Attributes {
    let mut resource = common(summary);
    resource.set_some("git.job_url", job.url.as_deref());
    if !job.labels.is_empty() {
        resource.set("rapids.labels", job.labels.join(" "));
    }
    resource.set_some("cicd.worker.name", job.runner.as_deref());
    resource.extend(stashed);
    resource.set("service.name", job.parts().0);
    resource
}

/// The branch, or what else is checked out.
pub(super) fn branch<'a>(summary: &'a Summary<'_>) -> Option<&'a str> {
    let environment = summary.environment;
    // For a pull request GITHUB_REF_NAME is `12/merge`, which says little.
    let head = environment.get("GITHUB_HEAD_REF").or_else(|| environment.get("GITHUB_REF_NAME"));
    summary.run.branch.as_deref().or(head)
}

/// What all jobs have in common.
fn common(summary: &Summary<'_>) -> Attributes {
    let (run, identity, environment) = (summary.run, summary.identity, summary.environment);
    let mut resource = Attributes::new();
    let repository = identity.repository.as_deref();
    let branch = branch(summary);
    let of_branch = || branch.map(|branch| format!("{BRANCHES}{branch}"));
    let reference = environment.get("GITHUB_REF").map(str::to_owned).or_else(of_branch);
    let sha = environment.get("GITHUB_SHA").or(run.sha.as_deref());
    resource.set_some("git.repository", repository);
    resource.set_some("git.ref", reference.as_deref());
    resource.set_some("git.sha", sha);
    resource.set("vcs.provider.name", "github");
    if let Some((owner, name)) = repository.and_then(|name| name.split_once('/')) {
        resource.set("vcs.owner.name", owner);
        resource.set("vcs.repository.name", name);
    }
    let page = url(summary);
    let home = page.as_deref().and_then(|page| page.split_once("/actions/runs/"));
    resource.set_some("vcs.repository.url.full", home.map(|(home, _)| home));
    resource.set_some("vcs.ref.head.name", branch);
    resource.set_some("vcs.ref.head.revision", sha);
    let is_tag = reference.as_deref().is_some_and(|reference| reference.starts_with(TAGS));
    resource.set_some("vcs.ref.head.type", branch.map(|_| if is_tag { "tag" } else { "branch" }));
    resource.set_some("vcs.ref.base.name", run.base_branch.as_deref());
    resource.set_some("vcs.change.id", run.pull_request.map(|number| number.to_string()));
    let workflow = run.workflow.as_deref().or_else(|| environment.get("GITHUB_WORKFLOW"));
    resource.set_some("cicd.pipeline.name", workflow);
    resource.set_some("cicd.pipeline.run.id", identity.run.as_deref());
    resource.set_some("cicd.pipeline.run.url.full", page);
    resource
}

/// Where the run can be seen.
fn url(summary: &Summary<'_>) -> Option<String> {
    let of_environment = || {
        let server = summary.environment.get("GITHUB_SERVER_URL")?;
        let (repository, run) =
            (summary.identity.repository.as_ref()?, summary.identity.run.as_ref()?);
        Some(format!("{server}/{repository}/actions/runs/{run}"))
    };
    summary.run.url.clone().or_else(of_environment)
}
