//! The run.

use super::{ROOT_NAME, Summary, describe, of_run, resource};
use crate::ids::SpanId;
use crate::model::{Conclusion, Job, Nanos};
use crate::span::{Group, Kind, Link, Span};

/// The run's span, which covers those of its jobs.
pub(super) fn span<'a>(
    summary: &Summary<'_>,
    jobs: impl Iterator<Item = &'a Span> + Clone,
) -> Span {
    let run = summary.run;
    let is_first = summary.identity.attempt <= 1;
    // A run is created once, however often it is attempted.
    let begun = run.started_nanos.or(run.created_nanos.filter(|_| is_first));
    let ended = run.updated_nanos.filter(|_| run.conclusion.is_some());
    let start = jobs.clone().map(|job| job.start_nanos).chain(begun).min().unwrap_or(0);
    let end = jobs.map(|job| job.end_nanos).chain(ended).max().unwrap_or(start);
    let mut root = Span::new(summary.identity.root(), None, ROOT_NAME, start);
    root.end_nanos = end.max(start);
    root.kind = Kind::Server;
    let conclusion = run.conclusion.clone().or_else(|| conclusion(summary));
    describe(&mut root, "run", conclusion.as_ref());
    root.attributes.extend(&of_run(summary));
    root.attributes.set("cicd.pipeline.action.name", "RUN");
    root.attributes
        .set_some("cicd.pipeline.result", conclusion.as_ref().and_then(Conclusion::result));
    root.attributes.set_some(
        "ci.event",
        run.event.as_deref().or_else(|| summary.environment.get("GITHUB_EVENT_NAME")),
    );
    root.attributes.set_some("ci.title", run.title.as_deref());
    root.attributes.set_some(
        "ci.actor",
        run.actor.as_deref().or_else(|| summary.environment.get("GITHUB_TRIGGERING_ACTOR")),
    );
    count_jobs(summary, &mut root);
    if !is_first {
        root.links.extend(link(summary, summary.identity.attempt - 1, |trace| {
            SpanId::of(trace, &[&summary.identity.service])
        }));
    }
    root
}

/// The run's span with its resource.
pub(super) fn group(summary: &Summary<'_>, root: Span) -> Group {
    Group { resource: resource::of_run(summary), spans: vec![root] }
}

/// A link to the same thing in an earlier attempt.
pub(super) fn link(
    summary: &Summary<'_>,
    attempt: u64,
    span: impl FnOnce(crate::ids::TraceId) -> SpanId,
) -> Option<Link> {
    let trace = summary.identity.trace_of_attempt(attempt)?;
    let attributes = [("ci.link", "earlier attempt")].into_iter().collect();
    let mut link = Link { trace, span: span(trace), attributes };
    link.attributes.set("ci.attempt", attempt);
    Some(link)
}

/// How a run ended, as far as its jobs tell. The job that asks is still running.
fn conclusion(summary: &Summary<'_>) -> Option<Conclusion> {
    let conclusions = || summary.run.jobs.iter().filter_map(|job| job.conclusion.as_ref());
    if conclusions().any(Conclusion::is_failure) {
        return Some(Conclusion::Failure);
    }
    if conclusions().any(|conclusion| *conclusion == Conclusion::Cancelled) {
        return Some(Conclusion::Cancelled);
    }
    conclusions().next().map(|_| Conclusion::Success)
}

/// Counts the jobs of this attempt.
fn count_jobs(summary: &Summary<'_>, root: &mut Span) {
    let jobs: Vec<&Job> =
        summary.run.jobs.iter().filter(|job| !summary.is_carried_over(job)).collect();
    if jobs.is_empty() {
        return;
    }
    let conclusions: Vec<Option<Conclusion>> =
        jobs.iter().map(|job| job.conclusion.clone()).collect();
    count(root, &conclusions);
    let busy = |job: &&Job| -> Nanos {
        let (Some(from), Some(to)) = (job.taken_nanos(), job.completed_nanos) else { return 0 };
        to.saturating_sub(from)
    };
    root.attributes.set("ci.runner_seconds", super::seconds(jobs.iter().map(busy).sum()));
}

/// Says how many jobs ended how; those without a conclusion run.
pub(super) fn count(root: &mut Span, conclusions: &[Option<Conclusion>]) {
    let ended = |is_counted: &dyn Fn(&Conclusion) -> bool| {
        conclusions.iter().flatten().filter(|conclusion| is_counted(conclusion)).count() as u64
    };
    let is = |wanted: Conclusion| move |conclusion: &Conclusion| *conclusion == wanted;
    root.attributes.set("ci.jobs", conclusions.len() as u64);
    root.attributes.set("ci.failed_jobs", ended(&Conclusion::is_failure));
    root.attributes.set("ci.cancelled_jobs", ended(&is(Conclusion::Cancelled)));
    root.attributes.set("ci.skipped_jobs", ended(&is(Conclusion::Skipped)));
    let running = conclusions.iter().filter(|conclusion| conclusion.is_none()).count();
    root.attributes.set("ci.running_jobs", running as u64);
}
