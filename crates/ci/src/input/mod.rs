//! Files that tell of a run, in all forms in which people have them.
//!
//! | form | where from |
//! |---|---|
//! | `{"total_count": …, "jobs": […]}`, one or several | the REST API, page by page |
//! | `[…]` of jobs, or of such pages | `github.paginate`, `gh api --paginate --slurp` |
//! | `{"jobs": […], "workflowName": …}` | `gh run view --json` |
//! | `{"workflow_job": …}`, `{"workflow_run": …}` | webhooks |
//! | `{"run_started_at": …}` | the REST API's run |
//!
//! A field that is not what it should be is a warning that names file and field; the rest is used.
//! News of one job that come several times become one: the one that has come farthest.

mod documents;
mod fields;

use std::collections::HashMap;

use serde_json::Value;

use crate::limits::{MAX_JOBS, MAX_STEPS};
use crate::model::{Job, Run, Step};
use crate::text;
use crate::warnings::Warnings;
use fields::Fields;

/// Reads a file; `name` is what warnings call it. Adds to what earlier files of the run told.
pub fn read(run: &mut Run, bytes: &[u8], name: &str, warnings: &mut Warnings) {
    let documents = documents::read(&text::decode(bytes));
    if let Some(problem) = &documents.problem {
        warnings.add(format!(
            "{name} is not JSON to its end ({problem}): what comes before that is used"
        ));
    }
    if documents.values.is_empty() {
        warnings.add(format!("{name} tells of no jobs: expected what GitHub's API or gh answers"));
    }
    for (nth, document) in documents.values.iter().enumerate() {
        let place = if documents.values.len() == 1 { String::new() } else { format!("[{nth}]") };
        add_document(run, document, &Fields::new(document, name, &place), warnings);
    }
    let before = run.jobs.len();
    keep_newest(&mut run.jobs);
    if run.jobs.len() > MAX_JOBS {
        warnings.add(format!(
            "{name} has {before} jobs: those after the first {MAX_JOBS} are left out"
        ));
        run.jobs.truncate(MAX_JOBS);
    }
    complete(run);
}

fn add_document(run: &mut Run, document: &Value, fields: &Fields<'_>, warnings: &mut Warnings) {
    if let Value::Array(elements) = document {
        for (nth, element) in elements.iter().enumerate() {
            add_document(run, element, &fields.element(nth, element), warnings);
        }
        return;
    }
    let has = |name: &str| document.get(name).is_some();
    if has("workflow_job") || has("workflow_run") {
        add_event(run, fields, warnings);
    } else if let Some(jobs) = document.get("jobs").and_then(Value::as_array) {
        add_run(run, fields, warnings);
        let list = fields.child("jobs");
        for (nth, job) in jobs.iter().enumerate() {
            run.jobs.extend(read_job(&list.element(nth, job), warnings));
        }
    } else if has("jobs_url") || has("run_started_at") || has("workflowDatabaseId") {
        add_run(run, fields, warnings);
    } else if has("name") {
        run.jobs.extend(read_job(fields, warnings));
    } else if !has("total_count") {
        warnings.add(format!("{} is neither a run nor a job: left out", fields.place()));
    }
}

/// A payload of a webhook.
fn add_event(run: &mut Run, fields: &Fields<'_>, warnings: &mut Warnings) {
    let repository = fields.child("repository").text(&["full_name"], warnings);
    run.repository = run.repository.take().or(repository);
    if fields.has("workflow_job") {
        run.jobs.extend(read_job(&fields.child("workflow_job"), warnings));
    }
    if fields.has("workflow_run") {
        add_run(run, &fields.child("workflow_run"), warnings);
    }
}

/// What is said of the run itself; what is said later wins.
fn add_run(run: &mut Run, fields: &Fields<'_>, warnings: &mut Warnings) {
    let repository = fields.child("repository").text(&["full_name"], warnings);
    let pull_request = fields.child("pull_requests").first();
    let told = Run {
        repository,
        id: fields.number(&["id", "databaseId"], warnings),
        attempt: fields.number(&["run_attempt", "attempt"], warnings),
        workflow: fields.text(&["workflowName", "name"], warnings),
        title: fields.text(&["display_title", "displayTitle"], warnings),
        event: fields.text(&["event"], warnings),
        branch: fields.text(&["head_branch", "headBranch"], warnings),
        sha: fields.text(&["head_sha", "headSha"], warnings),
        url: fields.text(&["html_url", "url"], warnings),
        actor: fields.child("triggering_actor").text(&["login"], warnings),
        pull_request: pull_request.number(&["number"], warnings),
        base_branch: pull_request.child("base").text(&["ref"], warnings),
        status: fields.text(&["status"], warnings),
        conclusion: fields.conclusion(warnings),
        created_nanos: fields.time(&["created_at", "createdAt"], warnings),
        started_nanos: fields.time(&["run_started_at", "startedAt"], warnings),
        updated_nanos: fields.time(&["updated_at", "updatedAt"], warnings),
        jobs: Vec::new(),
    };
    macro_rules! take {
        ($($field:ident)*) => { $(if told.$field.is_some() { run.$field = told.$field; })* };
    }
    take!(repository id attempt workflow title event branch sha url actor pull_request base_branch);
    take!(status conclusion created_nanos started_nanos updated_nanos);
}

fn read_job(fields: &Fields<'_>, warnings: &mut Warnings) -> Option<Job> {
    let Some(name) = fields.text(&["name"], warnings) else {
        warnings.add(format!("{} is a job without a name: left out", fields.place()));
        return None;
    };
    let mut job = Job {
        place: fields.place(),
        id: fields.number(&["id", "databaseId"], warnings),
        run_id: fields.number(&["run_id"], warnings),
        attempt: fields.number(&["run_attempt"], warnings),
        name,
        workflow: fields.text(&["workflow_name"], warnings),
        branch: fields.text(&["head_branch"], warnings),
        sha: fields.text(&["head_sha"], warnings),
        url: fields.text(&["html_url", "url"], warnings),
        status: fields.text(&["status"], warnings),
        conclusion: fields.conclusion(warnings),
        created_nanos: fields.time(&["created_at", "createdAt"], warnings),
        started_nanos: fields.time(&["started_at", "startedAt"], warnings),
        completed_nanos: fields.time(&["completed_at", "completedAt"], warnings),
        labels: fields.texts("labels", warnings),
        runner: fields.text(&["runner_name"], warnings),
        runner_group: fields.text(&["runner_group_name"], warnings),
        steps: Vec::new(),
    };
    let list = fields.child("steps");
    for (nth, step) in list.elements().iter().enumerate().take(MAX_STEPS) {
        job.steps.extend(read_step(&list.element(nth, step), warnings));
    }
    Some(job)
}

fn read_step(fields: &Fields<'_>, warnings: &mut Warnings) -> Option<Step> {
    let Some(name) = fields.text(&["name"], warnings) else {
        warnings.add(format!("{} is a step without a name: left out", fields.place()));
        return None;
    };
    Some(Step {
        name,
        number: fields.number(&["number"], warnings),
        status: fields.text(&["status"], warnings),
        conclusion: fields.conclusion(warnings),
        started_nanos: fields.time(&["started_at", "startedAt"], warnings),
        completed_nanos: fields.time(&["completed_at", "completedAt"], warnings),
    })
}

/// Of news about one job those that have come farthest, at the place of the first.
fn keep_newest(jobs: &mut Vec<Job>) {
    let mut places: HashMap<(u64, Option<u64>), usize> = HashMap::new();
    let mut kept: Vec<Job> = Vec::with_capacity(jobs.len());
    for job in jobs.drain(..) {
        let known = job.id.and_then(|id| places.get(&(id, job.attempt)).copied());
        match known {
            Some(place) if job.progress() >= kept[place].progress() => kept[place] = job,
            Some(_) => {}
            None => {
                if let Some(id) = job.id {
                    places.insert((id, job.attempt), kept.len());
                }
                kept.push(job);
            }
        }
    }
    *jobs = kept;
}

/// What jobs tell of their run, where nothing else does.
fn complete(run: &mut Run) {
    let Some(job) = run.jobs.first() else { return };
    run.id = run.id.or(job.run_id).or_else(|| run_of_url(job.url.as_deref()?));
    run.attempt = run.attempt.or_else(|| run.jobs.iter().filter_map(|job| job.attempt).max());
    let of_url = || repository_of_url(job.url.as_deref()?);
    run.repository = run.repository.take().or_else(of_url);
    run.workflow = run.workflow.take().or_else(|| job.workflow.clone());
    run.branch = run.branch.take().or_else(|| job.branch.clone());
    run.sha = run.sha.take().or_else(|| job.sha.clone());
    let of_job = || job.url.as_deref()?.split_once("/job/").map(|(url, _)| url.to_owned());
    run.url = run.url.take().or_else(of_job);
}

/// `owner/name` of `https://HOST/owner/name/actions/runs/…`.
fn repository_of_url(url: &str) -> Option<String> {
    let (before, _) = url.split_once("/actions/runs/")?;
    let mut parts = before.rsplit('/');
    let (name, owner) = (parts.next()?, parts.next()?);
    (!name.is_empty() && !owner.is_empty()).then(|| format!("{owner}/{name}"))
}

fn run_of_url(url: &str) -> Option<u64> {
    let (_, after) = url.split_once("/actions/runs/")?;
    after.split('/').next()?.parse().ok()
}

#[cfg(test)]
mod tests;
