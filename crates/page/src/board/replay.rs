//! A session as it was at a moment: what was not known then is taken away.

use kymo_report::Session;
use kymo_report::recording::{Status, Task};
use serde::Serialize;

use super::limits::DENSITY_BINS;
use crate::times::{self, millis};

/// The time of a session, and how much happened when: what a slider shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Replay {
    pub(super) start_ms: f64,
    pub(super) end_ms: f64,
    /// Tasks that started, ended well or failed, in equal parts of that time.
    started: Vec<u32>,
    ended: Vec<u32>,
    failed: Vec<u32>,
}

pub(super) const NANOS_PER_MILLI: u64 = times::NANOS_PER_MILLI.unsigned_abs();

/// The time of a session, from the first thing that is known of it to the last, in nanoseconds since
/// 1970. Both ends are whole milliseconds: a slider asks for those, and at its end all is known.
pub(super) fn bounds(session: &Session) -> (u64, u64) {
    let tasks = session.tasks.iter().flat_map(|task| [task.first_nanos(), last(task)]);
    let samples = [session.samples.first(), session.samples.last()];
    let samples = samples.into_iter().map(|sample| sample.map(|sample| sample.time_nanos));
    let all = tasks.chain(samples).chain([session.start_nanos, session.end_nanos]).flatten();
    let (start, end) = all.fold((u64::MAX, 0), |(start, end), at| (start.min(at), end.max(at)));
    let start = start.min(end);
    (start - start % NANOS_PER_MILLI, end.div_ceil(NANOS_PER_MILLI).saturating_mul(NANOS_PER_MILLI))
}

fn last(task: &Task) -> Option<u64> {
    let states = [
        task.ended_nanos,
        task.started_nanos,
        task.queued_nanos,
        task.submitted_nanos,
        task.created_nanos,
    ];
    states.into_iter().flatten().max()
}

/// What a slider shows.
pub(super) fn replay(session: &Session) -> Replay {
    let (start, end) = bounds(session);
    let length = end.saturating_sub(start).max(1) as f64;
    let place = |at: u64| {
        let part = at.saturating_sub(start) as f64 / length;
        ((part * DENSITY_BINS as f64) as usize).min(DENSITY_BINS - 1)
    };
    let (mut started, mut ended, mut failed) =
        (vec![0; DENSITY_BINS], vec![0; DENSITY_BINS], vec![0; DENSITY_BINS]);
    for task in &session.tasks {
        if let Some(at) = task.started_nanos {
            started[place(at)] += 1;
        }
        match (task.status, task.ended_nanos) {
            (Status::Failed, Some(at)) => failed[place(at)] += 1,
            (_, Some(at)) => ended[place(at)] += 1,
            _ => {}
        }
    }
    Replay { start_ms: millis(start), end_ms: millis(end), started, ended, failed }
}

/// The session as it was known at a moment.
pub(super) fn as_of(session: &Session, at_nanos: u64) -> Session {
    let is_known = |at: &u64| *at <= at_nanos;
    let begun =
        session.tasks.iter().filter(|task| task.first_nanos().is_some_and(|at| is_known(&at)));
    let has_ended = session.has_ended && session.end_nanos.is_some_and(|at| is_known(&at));
    let samples = session.samples.partition_point(|sample| is_known(&sample.time_nanos));
    let events = session.events.partition_point(|event| is_known(&event.time_nanos));
    Session {
        id: session.id.clone(),
        name: session.name.clone(),
        origin: session.origin,
        service: session.service.clone(),
        host: session.host.clone(),
        backend: session.backend.clone(),
        trace_id: session.trace_id.clone(),
        start_nanos: session.start_nanos,
        end_nanos: session.end_nanos.map(|end| end.min(at_nanos)).or(Some(at_nanos)),
        said_duration_secs: session.said_duration_secs.filter(|_| has_ended),
        has_ended,
        error: session.error.clone().filter(|_| has_ended),
        process: session.process.clone().filter(|_| has_ended),
        tasks: begun.map(|task| task_as_of(task, at_nanos)).collect(),
        are_tasks_spans: session.are_tasks_spans,
        samples: session.samples[..samples].to_vec(),
        events: session.events[..events].to_vec(),
        event_counts: session.event_counts.clone(),
        emit_nanos: Vec::new(),
        counters: session.counters.clone(),
        spans: session.spans,
        span_errors: session.span_errors,
        repeated: session.repeated,
        events_after_end: session.events_after_end,
        left_out: session.left_out,
        limits: session.limits,
    }
}

fn task_as_of(task: &Task, at_nanos: u64) -> Task {
    let known = |time: Option<u64>| time.filter(|time| *time <= at_nanos);
    let mut then = Task {
        created_nanos: known(task.created_nanos),
        submitted_nanos: known(task.submitted_nanos),
        queued_nanos: known(task.queued_nanos),
        started_nanos: known(task.started_nanos),
        ended_nanos: known(task.ended_nanos),
        span_nanos: task.span_nanos.filter(|(_, end)| *end <= at_nanos),
        ..task.clone()
    };
    let has_ended = task.status.is_end() && then.ended_nanos == task.ended_nanos;
    if !has_ended {
        let reached = [
            (then.submitted_nanos, Status::Submitted),
            (then.queued_nanos, Status::Queued),
            (then.started_nanos, Status::Running),
        ];
        let reached = reached.into_iter().filter(|(at, _)| at.is_some()).map(|(_, status)| status);
        then.status = reached.fold(Status::Created, Status::max);
        (then.error_type, then.error_message) = (None, None);
    }
    then
}
