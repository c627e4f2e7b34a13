//! The end of a recording: which records are a session, and what they say together.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use super::add::{Recording, keep_first};
use super::sessions::{Draft, Room, SpanDraft};
use super::task::TaskDraft;
use super::values::{hex, moment};
use super::{CustomEvent, Found, LeftOut, Origin, Sample, Session, Status, Task};
use crate::limits::Limits;

/// The span of a session, in our library and in RHAPSODY.
const SESSION_SPAN: &str = "session";

pub(super) fn finish(recording: Recording) -> (Vec<Session>, Found) {
    let Recording { drafts, mut room, mut found, records_without_session, .. } = recording;
    let (mut sessions, traces): (Vec<Draft>, Vec<Draft>) =
        drafts.into_iter().partition(|draft| draft.session_id.is_some());
    let by_trace = by_trace(&sessions);
    let mut others = Vec::new();
    for trace in traces {
        match trace.trace_id().and_then(|id| by_trace.get(&id)) {
            Some(at) => join(&mut sessions[*at], trace, &mut room),
            None => others.push(trace),
        }
    }
    found.traces = others.len() as u64;
    let mut settled: Vec<Session> =
        sessions.into_iter().map(|draft| settle(draft, Origin::SessionId, room.limits)).collect();
    if settled.is_empty() {
        let of_traces = others.into_iter().filter_map(|draft| {
            let origin = origin(&draft)?;
            Some(settle(draft, origin, room.limits))
        });
        settled.extend(of_traces);
    }
    if let Some(first) = settled.first_mut() {
        first.left_out.sessions = records_without_session;
    }
    (settled, found)
}

/// The session of each trace. Of several in one trace it is the one that began first.
fn by_trace(sessions: &[Draft]) -> HashMap<[u8; 16], usize> {
    let mut order: Vec<usize> = (0..sessions.len()).collect();
    order.sort_by_cached_key(|at| {
        let draft = &sessions[*at];
        let begin = draft.started_nanos.or_else(|| seen_nanos(draft).map(|(first, _)| first));
        (begin.is_none(), begin, draft.session_id.clone())
    });
    let mut by_trace = HashMap::new();
    for at in order {
        if let Some(trace) = sessions[at].trace_id() {
            by_trace.entry(trace).or_insert(at);
        }
    }
    by_trace
}

/// The first and the last moment of anything in it.
fn seen_nanos(draft: &Draft) -> Option<(u64, u64)> {
    let of_spans = draft.spans.iter().flat_map(|span| [span.start_nanos, span.end_nanos]);
    let of_events = draft.seen_nanos.into_iter().flat_map(|(first, last)| [first, last]);
    bounds(of_spans.chain(of_events))
}

/// What a program wrote below a session with an SDK of its own, in the session's trace.
fn join(session: &mut Draft, trace: Draft, room: &mut Room) {
    session.left_out.add(trace.left_out);
    session.tasks_without_room.extend(trace.tasks_without_room);
    for span in trace.spans {
        if session.span_ids.insert(span.id) {
            session.spans.push(span);
        }
    }
    // They take their room along.
    room.tasks = room.tasks.saturating_sub(trace.tasks.len());
    for theirs in trace.tasks {
        let id = theirs.id.clone();
        if let Some(ours) = session.task(&id, room)
            && ours.spans.is_empty()
            && !ours.has_events
        {
            *ours = theirs;
        }
    }
    for (name, count) in trace.event_counts {
        *session.event_counts.entry(name).or_default() += count;
    }
    session.repeated += trace.repeated;
    if let Some((first, last)) = trace.seen_nanos {
        session.saw(first);
        session.saw(last);
    }
}

/// What makes a session of a trace without a session's id, if something does.
fn origin(draft: &Draft) -> Option<Origin> {
    if !draft.tasks.is_empty() {
        return Some(Origin::TasksOfTrace);
    }
    (roots(draft).count() == 1).then_some(Origin::Trace)
}

/// Spans whose parent is not there.
fn roots(draft: &Draft) -> impl Iterator<Item = &SpanDraft> {
    draft
        .spans
        .iter()
        .filter(|span| span.parent.is_none_or(|parent| !draft.span_ids.contains(&parent)))
}

/// The span of the session itself: the one its events name, the one with its name, or the only
/// root.
fn session_span(draft: &Draft) -> Option<&SpanDraft> {
    if let Some(id) = draft.session_span.or(draft.ended_span) {
        return draft.spans.iter().find(|span| span.id == id);
    }
    if let Some(span) = roots(draft).find(|span| &*span.name == SESSION_SPAN) {
        return Some(span);
    }
    let mut roots = roots(draft);
    let only = roots.next()?;
    let is_task = || draft.tasks.iter().any(|task| task.has_span(only.id));
    (roots.next().is_none() && !is_task()).then_some(only)
}

fn settle(mut draft: Draft, origin: Origin, limits: Limits) -> Session {
    // Whatever is looked for among them is found in the same place in every order of records.
    draft.spans.sort_unstable_by_key(|span| (span.start_nanos, span.id));
    let root = session_span(&draft);
    let root_id = root.map(|span| span.id);
    let root_nanos = root.and_then(|span| Some((moment(span.start_nanos)?, span.end_nanos)));
    let root_name = root.map(|span| span.name.clone());
    let error = root.filter(|span| span.is_error).map(|span| {
        let said = span.error_message.clone().or_else(|| span.error_type.clone());
        said.unwrap_or_else(|| "the session's span has the status error".into())
    });
    let process = root.and_then(|span| span.process.as_deref().cloned());
    let are_tasks_spans = draft.tasks.is_empty();
    let (mut tasks, mut events_after_end) = (Vec::with_capacity(draft.tasks.len()), 0);
    for (task, after_end) in draft.tasks.drain(..).map(TaskDraft::settle) {
        tasks.push(task);
        events_after_end += after_end;
    }
    if are_tasks_spans {
        tasks = spans_as_tasks(&draft.spans, root_id, origin);
    }
    tasks.sort_by_cached_key(|task| (task.first_nanos(), task.id.clone()));
    let seen = seen_nanos(&draft);
    // A session that was started again has not ended before.
    let is_over = |end: &u64| draft.restarted_nanos.is_none_or(|again| again <= *end);
    let root_end = root_nanos.map(|(_, end)| end);
    let ended = draft.ended_nanos.filter(is_over).or(root_end.filter(is_over));
    let is_run_again = draft.restarted_nanos > draft.started_nanos;
    let start_nanos =
        draft.started_nanos.or(root_nanos.map(|(start, _)| start)).or(seen.map(|(first, _)| first));
    let span_duration = root_nanos.map(|(start, end)| end.saturating_sub(start) as f64 / 1e9);
    let counters = counters(&draft);
    let trace_id = draft.trace_id().map(|id| hex(&id));
    let id = draft.session_id.clone().or_else(|| trace_id.as_deref().map(Arc::from));
    let id = id.unwrap_or_else(|| "unknown".into());
    let mut name = draft.name.or(draft.called);
    if origin != Origin::SessionId {
        keep_first(&mut name, &root_name);
    }
    keep_first(&mut name, &draft.service);
    let span_errors = draft.spans.iter().filter(|span| span.is_error).count() as u64;
    draft.samples.sort_by(by_time_and_device);
    draft.events.sort_by(by_time_and_content);
    Session {
        name: name.unwrap_or_else(|| id.clone()),
        id,
        origin,
        service: draft.service,
        host: draft.host,
        backend: draft.backend,
        trace_id,
        start_nanos,
        end_nanos: ended.or(seen.map(|(_, last)| last)),
        // Of several runs each says how long it took itself.
        said_duration_secs: draft.said_duration_secs.or(span_duration).filter(|_| !is_run_again),
        // A trace says nothing of what is still to come.
        has_ended: ended.is_some() || origin != Origin::SessionId,
        error,
        process,
        tasks,
        are_tasks_spans,
        samples: draft.samples,
        events: draft.events,
        event_counts: draft.event_counts,
        emit_nanos: draft.emit_nanos,
        counters,
        spans: draft.spans.len() as u64,
        span_errors,
        repeated: draft.repeated,
        events_after_end,
        left_out: LeftOut { tasks: draft.tasks_without_room.len() as u64, ..draft.left_out },
        limits,
    }
}

fn bounds(moments: impl Iterator<Item = u64>) -> Option<(u64, u64)> {
    moments.filter_map(moment).fold(None, |known, nanos| {
        let (first, last) = known.unwrap_or((nanos, nanos));
        Some((first.min(nanos), last.max(nanos)))
    })
}

/// Counters, added up over their series from the smallest: sums of doubles depend on the order.
fn counters(draft: &Draft) -> BTreeMap<Arc<str>, f64> {
    let mut points: Vec<(&str, f64)> =
        draft.series.iter().map(|((name, _), point)| (*name, point.value)).collect();
    points.sort_unstable_by(|one, other| one.0.cmp(other.0).then(one.1.total_cmp(&other.1)));
    let mut counters: BTreeMap<Arc<str>, f64> = BTreeMap::new();
    for (name, value) in points {
        match counters.get_mut(name) {
            Some(sum) => *sum += value,
            None => _ = counters.insert(name.into(), value),
        }
    }
    counters
}

/// By what they are about, then by their numbers in any order that is always the same.
fn by_time_and_device(one: &Sample, other: &Sample) -> Ordering {
    fn key(of: &Sample) -> (u64, &str, Option<&str>, Option<&str>) {
        (of.time_nanos, &of.node, of.gpu.as_deref(), of.backend.as_deref())
    }
    let bits = |of: &Sample| of.values.map(|value| value.map(f64::to_bits));
    key(one).cmp(&key(other)).then_with(|| bits(one).cmp(&bits(other)))
}

fn by_time_and_content(one: &CustomEvent, other: &CustomEvent) -> Ordering {
    let by_name = one.time_nanos.cmp(&other.time_nanos).then_with(|| one.name.cmp(&other.name));
    by_name.then_with(|| {
        let pairs = one.numbers.iter().zip(&other.numbers);
        let mut orders =
            pairs.map(|(one, other)| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        let by_length = one.numbers.len().cmp(&other.numbers.len());
        orders.find(|order| order.is_ne()).unwrap_or(by_length)
    })
}

/// Where no record has a task's id: the spans below the session's span or, if that has a single
/// child, below that; the roots if there are several.
fn spans_as_tasks(spans: &[SpanDraft], root: Option<[u8; 8]>, origin: Origin) -> Vec<Task> {
    let mut children: HashMap<Option<[u8; 8]>, Vec<&SpanDraft>> = HashMap::new();
    let known: HashSet<[u8; 8]> = spans.iter().map(|span| span.id).collect();
    for span in spans {
        let parent = span.parent.filter(|parent| known.contains(parent) && *parent != span.id);
        children.entry(parent).or_default().push(span);
    }
    let below = |id: Option<[u8; 8]>| children.get(&id).map_or(&[][..], Vec::as_slice);
    let mut level = match (root, origin) {
        (Some(root), _) => below(Some(root)),
        (None, Origin::SessionId) => below(None),
        (None, _) => &[],
    };
    // Each step goes to a span not seen before: a circle of parents has no root to come from.
    for _ in 0..spans.len() {
        match level {
            [only] if !below(Some(only.id)).is_empty() => level = below(Some(only.id)),
            _ => break,
        }
    }
    level.iter().map(|span| span_as_task(span)).collect()
}

fn span_as_task(span: &SpanDraft) -> Task {
    let mut task = Task::new(hex(&span.id).into(), span.name.clone());
    task.span_id = Some(span.id);
    task.backend.clone_from(&span.service);
    task.created_nanos = moment(span.start_nanos);
    task.started_nanos = task.created_nanos;
    task.ended_nanos = moment(span.end_nanos);
    task.span_nanos = task.started_nanos.zip(task.ended_nanos).filter(|(start, end)| start <= end);
    task.status = match (span.is_error, task.ended_nanos) {
        (true, Some(_)) => Status::Failed,
        (false, Some(_)) => Status::Completed,
        (_, None) => Status::Running,
    };
    if span.is_error {
        task.error_type.clone_from(&span.error_type);
        task.error_message.clone_from(&span.error_message);
    }
    task
}
