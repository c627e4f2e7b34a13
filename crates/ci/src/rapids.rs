//! The summary exactly as RAPIDS' `send_trace.py` makes it, errors included: for those who compare,
//! or whose dashboards lean on them.
//!
//! What it does, and [`summary`](crate::summary) does otherwise: the run ends with its first job;
//! delays and skipped jobs may end before they begin; steps of one name share an id; every slash
//! divides a job's name; steps of a second or less are left out; cancelled looks like skipped.
//! Where the script would stop with an error, there is a warning here.

use std::path::{Path, PathBuf};

use crate::attributes::Attributes;
use crate::environment::Environment;
use crate::identity::{Asked, Identity};
use crate::ids::SpanId;
use crate::limits::RAPIDS_MAX_ATTRIBUTES;
use crate::model::{Conclusion, Job, Nanos, Run};
use crate::span::{Group, Span, Status, Trace};
use crate::stash;
use crate::steps::is_rapids_build;
use crate::warnings::Warnings;

const SCOPE: (&str, &str) = ("GitHub Actions parser", "0.0.1");
const ONE_SECOND_NANOS: u64 = 1_000_000_000;

/// What the script makes of a run, with its `telemetry-artifacts` in a directory.
#[must_use]
pub fn summarize(
    run: &Run,
    asked: &Asked,
    environment: &Environment,
    artifacts: &Path,
    warnings: &mut Warnings,
) -> (Identity, Trace) {
    let first = first_folder(artifacts);
    let lines = |file: PathBuf, warnings: &mut Warnings| key_values(&file, warnings);
    let (attributes, variables) = match &first {
        Some(folder) => (
            lines(folder.join("attrs"), warnings),
            lines(folder.join("telemetry-env-vars"), warnings),
        ),
        None => (Vec::new(), lines(artifacts.join("telemetry-env-vars"), warnings)),
    };
    let variable = |name: &str| {
        variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    };
    // Variables of the process come before those of the file.
    let mut known = environment.clone();
    for name in ["OTEL_SERVICE_NAME", "TRACEPARENT"] {
        if let (None, Some(value)) = (known.get(name), variable(name)) {
            known.set(name, value);
        }
    }
    let asked = Asked { follows_traceparent: true, ..asked.clone() };
    let identity = Identity::resolve(&asked, &known, run, warnings);
    let times = Times::of(run);
    let root_id = SpanId::of_rapids(identity.trace, &[&identity.service]);
    let mut root = Span::new(root_id, None, "Top-level workflow root", times.first);
    root.end_nanos = run.jobs.first().and_then(|job| job.completed_nanos).unwrap_or(0);
    let mut resource: Attributes = attributes.into_iter().collect();
    resource.retain(|name| name.starts_with("git."));
    resource.set("service.name", identity.service.as_str());
    let mut groups = vec![Group { resource, spans: vec![root] }];
    for job in &run.jobs {
        if Some(job.name.as_str()) == variable("OTEL_SERVICE_NAME") {
            continue;
        }
        let id = job.id.map_or_else(|| "None".to_owned(), |id| id.to_string());
        let folder = artifacts.join(format!("{}{id}", stash::FOLDER));
        groups.extend(summarize_job(&identity, root_id, job, &times, &folder, warnings));
    }
    (identity.clone(), Trace { id: identity.trace, scope: SCOPE, groups })
}

/// The folder that a directory names first, which is where the run's attributes come from.
fn first_folder(artifacts: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(artifacts).ok()?.flatten();
    entries.map(|entry| entry.path()).find(|path| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with(stash::FOLDER))
    })
}

fn key_values(file: &Path, warnings: &mut Warnings) -> Vec<(String, String)> {
    let Ok(bytes) = std::fs::read(file) else { return Vec::new() };
    let text = String::from_utf8_lossy(&bytes);
    stash::key_values(&text, &file.display().to_string(), warnings)
}

/// Moments that stand in for those that are missing.
struct Times {
    /// When the first job was created.
    first: Nanos,
    /// The same for jobs without that time, if none has it: `gh` does not tell it.
    created: Option<Nanos>,
}

impl Times {
    fn of(run: &Run) -> Self {
        let is_told = run.jobs.iter().any(|job| job.created_nanos.is_some());
        let earliest = || run.jobs.iter().filter_map(|job| job.started_nanos).min();
        let created = if is_told { None } else { earliest() };
        let first = run.jobs.first().and_then(|job| job.created_nanos).or(created).unwrap_or(0);
        Self { first, created }
    }
}

fn summarize_job(
    identity: &Identity,
    root: SpanId,
    job: &Job,
    times: &Times,
    folder: &Path,
    warnings: &mut Warnings,
) -> Option<Group> {
    let (service, matrix) = match job.name.split_once('/') {
        Some((service, matrix)) => (service.trim(), matrix.trim()),
        None => (job.name.as_str(), ""),
    };
    let created = job.created_nanos.or(times.created).unwrap_or(times.first);
    let started = job.started_nanos.unwrap_or(times.first);
    if started == 0 {
        return None;
    }
    let mut end = job.completed_nanos.unwrap_or(started).max(started);
    let mut resource: Attributes =
        key_values(&folder.join("attrs"), warnings).into_iter().collect();
    resource.set("service.name", service);

    let id = SpanId::of_rapids(identity.trace, &[&job.name]);
    let name = if matrix.is_empty() { job.name.as_str() } else { matrix };
    let mut span = Span::new(id, Some(root), name, created);
    span.status = status(job.conclusion.as_ref());
    let child = |name: &str, start: Nanos, end: Nanos| {
        let child_id = SpanId::of_rapids(identity.trace, &[&job.name, name]);
        Span { end_nanos: end, ..Span::new(child_id, Some(id), name, start) }
    };
    let mut children = vec![child("Start delay time", created, started)];
    // Read when the first step wants it: most jobs have none.
    let mut statistics = None;
    for step in &job.steps {
        let step_start = step.started_nanos.unwrap_or(end);
        let step_end = step.completed_nanos.unwrap_or(step_start);
        end = end.max(step_end);
        if step_end.saturating_sub(step_start) <= ONE_SECOND_NANOS {
            continue;
        }
        let mut span = child(&step.name, step_start, step_end);
        span.status = status(step.conclusion.as_ref());
        if is_rapids_build(&step.name) {
            let all = statistics.get_or_insert_with(|| stash::rapids(folder, warnings));
            let surplus = all.len().saturating_sub(RAPIDS_MAX_ATTRIBUTES);
            span.attributes = all.clone();
            span.attributes.drop_first(surplus);
            span.dropped_attributes = u32::try_from(surplus).unwrap_or(u32::MAX);
        }
        children.push(span);
    }
    span.end_nanos = end;
    children.insert(0, span);
    Some(Group { resource, spans: children })
}

fn status(conclusion: Option<&Conclusion>) -> Status {
    match conclusion {
        Some(Conclusion::Success) => Status::Ok,
        Some(Conclusion::Failure) => Status::Error(String::new()),
        _ => Status::Unset,
    }
}
