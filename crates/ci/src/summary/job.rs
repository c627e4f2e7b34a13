//! One job: its span, how long it waited, its steps, and what it left behind.

use super::unique::Unique;
use super::{QUEUE_NAME, Summary, describe, of_run, resource, root, seconds};
use crate::attributes::{Attributes, Value};
use crate::ids::{SpanId, TraceParent};
use crate::model::{Conclusion, Job, Nanos, Step};
use crate::resource_attributes;
use crate::span::{Group, Span, Status};
use crate::stash::{Child, ChildStatus, Start, Stash};
use crate::steps;
use crate::warnings::Warnings;

/// When a job was to run, ran, and ended.
struct Times {
    /// When it was to run.
    begun: Nanos,
    /// When a runner took it, if one did.
    taken: Option<Nanos>,
    /// When it ended, as far as itself tells.
    ended: Nanos,
}

/// A job with all below it.
pub(super) fn group(
    summary: &Summary<'_>,
    job: &Job,
    has_queue: bool,
    unique: &mut Unique,
    warnings: &mut Warnings,
) -> Group {
    let stash = (summary.stash)(job, warnings);
    let times = times(summary, job, warnings);
    let id = own_id(summary, job, &stash, unique);
    let mut span = Span::new(id, Some(summary.identity.root()), shown_name(job), times.begun);
    describe(&mut span, "job", job.conclusion.as_ref());
    span.attributes.extend(&of_run(summary));
    span.attributes.set("ci.job", job.name.as_str());
    span.attributes.set("ci.attempt", job.attempt.unwrap_or(summary.identity.attempt));
    if !job.labels.is_empty() {
        span.attributes.set("ci.labels", job.labels.join(" "));
    }
    span.attributes.set_some("ci.runner", job.runner.as_deref());
    span.attributes.set_some("ci.runner_group", job.runner_group.as_deref());
    span.attributes.set("cicd.pipeline.task.name", job.name.as_str());
    span.attributes.set_some("cicd.pipeline.task.run.id", job.id.map(|id| id.to_string()));
    span.attributes.set_some("cicd.pipeline.task.run.url.full", job.url.as_deref());
    let result = job.conclusion.as_ref().and_then(Conclusion::result);
    span.attributes.set_some("cicd.pipeline.task.run.result", result);
    if !job.has_ended() {
        span.attributes.set_some("ci.state", job.status.as_deref());
    }
    span.attributes.extend(&stash.job);

    let mut below = steps(job, id, &times, unique);
    let built = steps::build_step(&job.steps);
    let tested = steps::test_step(&job.steps);
    let (children, builds, tests) = (&stash.targets, &stash.build, &stash.test);
    attach(&mut span, &mut below, built, builds);
    attach(&mut span, &mut below, tested, tests);
    let targets = leaves(&span, &below, built, ("target", children), &job.name, unique);
    let tests = leaves(&span, &below, tested, ("test", &stash.tests), &job.name, unique);
    below.extend(targets);
    below.extend(tests);

    cover(&mut span, &below, times.ended);
    if let Some(taken) = times.taken {
        let queued = taken.saturating_sub(times.begun);
        span.attributes.set("ci.queue_seconds", seconds(queued));
        span.attributes.set("ci.run_seconds", seconds(span.end_nanos.saturating_sub(taken)));
        if has_queue && job.created_nanos.is_some() && taken > times.begun {
            below.insert(0, queue(summary, job, id, times.begun, taken, unique));
        }
    }
    let resource = resource::of_job(summary, job, &decoded(&stash));
    below.insert(0, span);
    Group { resource, spans: below }
}

/// A job that ran in an earlier attempt: a moment at the beginning of this one, with a link to where
/// it can be seen. Its time counts there.
pub(super) fn carried_over(
    summary: &Summary<'_>,
    job: &Job,
    root: &Span,
    unique: &mut Unique,
) -> Group {
    let attempt = job.attempt.unwrap_or(1);
    let id = unique.id(&[&job.name]);
    let mut span = Span::new(id, Some(root.id), shown_name(job), root.start_nanos);
    describe(&mut span, "job", job.conclusion.as_ref());
    span.attributes.extend(&of_run(summary));
    span.attributes.set("ci.job", job.name.as_str());
    span.attributes.set("ci.attempt", attempt);
    span.attributes.set("ci.carried_over", true);
    span.links.extend(root::link(summary, attempt, |trace| SpanId::of(trace, &[&job.name])));
    Group { resource: resource::of_job(summary, job, &Attributes::new()), spans: vec![span] }
}

/// How long a job waited that has just begun.
pub(super) fn waiting(summary: &Summary<'_>, job: &Job) -> Option<Group> {
    let begun = job.created_nanos?;
    // Also where that was no time: nothing else tells of a job that runs.
    let taken = job.taken_nanos()?.max(begun);
    let mut unique = Unique::new(summary.identity);
    let parent = unique.id(&[&job.name]);
    let span = queue(summary, job, parent, begun, taken, &mut unique);
    let resource = resource::of_job(summary, job, &Attributes::new());
    Some(Group { resource, spans: vec![span] })
}

fn shown_name(job: &Job) -> &str {
    job.parts().1.unwrap_or(&job.name)
}

/// The id that the job itself gave to what it started; else the one that everybody can compute.
fn own_id(summary: &Summary<'_>, job: &Job, stash: &Stash, unique: &mut Unique) -> SpanId {
    let told = stash.traceparent.as_deref().and_then(|text| text.parse::<TraceParent>().ok());
    let told = told.filter(|parent| parent.trace == summary.identity.trace);
    told.and_then(|parent| unique.chosen(parent.span)).unwrap_or_else(|| unique.id(&[&job.name]))
}

/// Values in a file of attributes are written as in OTEL_RESOURCE_ATTRIBUTES, which it is made of.
fn decoded(stash: &Stash) -> Attributes {
    let decode = |value: &Value| resource_attributes::unescape(&value.to_string());
    stash.resource.iter().map(|(name, value)| (name, decode(value))).collect()
}

fn times(summary: &Summary<'_>, job: &Job, warnings: &mut Warnings) -> Times {
    let is_skipped = job.conclusion == Some(Conclusion::Skipped);
    let mut missing = |field: &str, instead: &str| {
        if !is_skipped {
            warnings.add(format!("{}.{field} is missing: {instead} is used", job.place));
        }
    };
    let of_steps = || job.steps.iter().filter_map(|step| step.started_nanos).min();
    let known = job.created_nanos.into_iter().chain(job.started_nanos).min().or_else(of_steps);
    let begun = known.unwrap_or_else(|| {
        missing("created_at", "the beginning of the run");
        let jobs = summary.run.jobs.iter();
        let first = jobs.filter_map(|job| job.created_nanos.or(job.started_nanos)).min();
        summary.run.started_nanos.or(first).unwrap_or(0)
    });
    if job.started_nanos.is_none() && job.has_ended() {
        missing("started_at", "created_at");
    }
    if !job.has_ended() {
        let status = job.status.as_deref().unwrap_or("unknown");
        warnings.add(format!(
            "{}.status is {status}: the job {:?} has not ended, what it has done so far is used",
            job.place, job.name
        ));
    } else if job.completed_nanos.is_none() {
        missing("completed_at", "the end of its last step");
    }
    let taken = job.taken_nanos();
    let ended = job.completed_nanos.or(job.started_nanos).unwrap_or(begun);
    // A skipped job took no time, whatever order GitHub writes its times in.
    let ended = if is_skipped { begun } else { ended.max(taken.unwrap_or(begun)) };
    Times { begun, taken, ended }
}

fn steps(job: &Job, parent: SpanId, times: &Times, unique: &mut Unique) -> Vec<Span> {
    let mut last = times.taken.unwrap_or(times.begun);
    let mut spans = Vec::with_capacity(job.steps.len() + 1);
    for step in &job.steps {
        let start = step.started_nanos.or(step.completed_nanos).unwrap_or(last);
        let end = step.completed_nanos.unwrap_or(start).max(start);
        last = last.max(end);
        let id = unique.id(&[&job.name, &step.name]);
        spans.push(step_span(
            job,
            step,
            Span { end_nanos: end, ..Span::new(id, Some(parent), &step.name, start) },
        ));
    }
    spans
}

fn step_span(job: &Job, step: &Step, mut span: Span) -> Span {
    describe(&mut span, "step", step.conclusion.as_ref());
    span.attributes.set("ci.job", job.name.as_str());
    span.attributes.set_some("ci.step_number", step.number);
    span.attributes.set("cicd.pipeline.task.name", step.name.as_str());
    let result = step.conclusion.as_ref().and_then(Conclusion::result);
    span.attributes.set_some("cicd.pipeline.task.run.result", result);
    if step.conclusion.is_none() {
        span.attributes.set_some("ci.state", step.status.as_deref());
    }
    span
}

fn queue(
    summary: &Summary<'_>,
    job: &Job,
    parent: SpanId,
    begun: Nanos,
    taken: Nanos,
    unique: &mut Unique,
) -> Span {
    let id = unique.id(&[&job.name, QUEUE_NAME]);
    let mut queue = Span { end_nanos: taken, ..Span::new(id, Some(parent), QUEUE_NAME, begun) };
    describe(&mut queue, "queue", None);
    queue.attributes.extend(&of_run(summary));
    queue.attributes.set("ci.job", job.name.as_str());
    if !job.labels.is_empty() {
        queue.attributes.set("ci.labels", job.labels.join(" "));
    }
    queue.attributes.set("ci.queue_seconds", seconds(taken.saturating_sub(begun)));
    queue
}

/// Gives attributes to the step that they are of, or to the job.
fn attach(job: &mut Span, steps: &mut [Span], step: Option<usize>, attributes: &Attributes) {
    let span = step.and_then(|nth| steps.get_mut(nth)).unwrap_or(job);
    span.attributes.extend(attributes);
}

/// What becomes a span below a step, or below the job.
fn leaves(
    job: &Span,
    steps: &[Span],
    step: Option<usize>,
    (kind, children): (&str, &[Child]),
    job_name: &str,
    unique: &mut Unique,
) -> Vec<Span> {
    let parent = step.and_then(|nth| steps.get(nth)).unwrap_or(job);
    let leaf = |child: &Child| {
        let id = unique.id(&[job_name, &parent.name, &child.name]);
        let (start, end) = within(parent, child);
        let mut span =
            Span { end_nanos: end, ..Span::new(id, Some(parent.id), &child.name, start) };
        span.attributes.set("ci.kind", kind);
        span.attributes.set("ci.job", job_name);
        span.attributes.extend(&child.attributes);
        span.status = match &child.status {
            ChildStatus::Unset => Status::Unset,
            ChildStatus::Ok => Status::Ok,
            ChildStatus::Error(message) => Status::Error(message.clone()),
        };
        span
    };
    children.iter().map(leaf).collect()
}

/// When something below a step was, inside of that. Files tell it roughly: in local time, or as if
/// one test had waited for the other.
fn within(parent: &Span, child: &Child) -> (Nanos, Nanos) {
    let start = match child.start {
        Start::At(nanos) => nanos,
        Start::AfterParent(nanos) => parent.start_nanos.saturating_add(nanos),
    };
    if parent.duration_nanos() == 0 {
        return (parent.start_nanos, parent.start_nanos.saturating_add(child.duration_nanos));
    }
    let latest = parent.end_nanos.saturating_sub(child.duration_nanos);
    let start = start.min(latest).max(parent.start_nanos);
    (start, start.saturating_add(child.duration_nanos).min(parent.end_nanos))
}

/// Makes a job's span as long as what is below it. Clean-up often goes on after a job was called
/// complete, and runners' clocks differ from GitHub's.
fn cover(job: &mut Span, below: &[Span], ended: Nanos) {
    let first = below.iter().map(|span| span.start_nanos).min();
    let last = below.iter().map(|span| span.end_nanos).max();
    job.start_nanos = first.map_or(job.start_nanos, |first| first.min(job.start_nanos));
    job.end_nanos = last.unwrap_or(ended).max(ended).max(job.start_nanos);
}
