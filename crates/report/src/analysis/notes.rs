//! What a reader should know about the figures of a session, in sentences.

use super::Analysis;
use crate::recording::{Origin, Session};
use crate::units::{count, plural};

pub(super) fn notes(session: &Session, analysis: &Analysis) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |is_so: bool, text: String| {
        if is_so {
            notes.push(text);
        }
    };
    match session.origin {
        Origin::SessionId => note(
            session.are_tasks_spans && !session.tasks.is_empty(),
            "no record has a task_id: the spans below the session are taken for tasks".into(),
        ),
        Origin::TasksOfTrace => note(
            true,
            "no resource has a session_id: the trace is taken for a session, since its spans have \
             task_id"
                .into(),
        ),
        Origin::Trace => note(
            true,
            "neither session_id nor task_id: the trace is taken for a session, and the spans below \
             its root for tasks"
                .into(),
        ),
    }
    note(!session.has_ended, "the session has not ended: figures are as of its last record".into());
    let assumed = session.tasks.iter().filter(|task| task.is_start_assumed).count() as u64;
    note(
        assumed > 0 && !session.are_tasks_spans,
        format!(
            "the start of {} is not recorded: the state before it, or the begin of the span, is \
             taken for it, and no wait is computed",
            plural(assumed, "task")
        ),
    );
    let clock = analysis.clock.total();
    note(
        clock > 0,
        format!(
            "{} came out negative, since clocks step back or differ, and {} as 0",
            plural(clock, "time"),
            if clock == 1 { "counts" } else { "count" }
        ),
    );
    // Those that were recorded, and those that the session itself did not take.
    let refused = session.counters.get("session_events_after_end").copied().unwrap_or_default();
    let after_end = session.events_after_end.saturating_add(refused as u64);
    note(
        after_end > 0,
        format!(
            "{} came after the end of {} and changed nothing",
            plural(after_end, "event"),
            if after_end == 1 { "its task" } else { "their tasks" }
        ),
    );
    let disagree = analysis.counters.iter().filter(|check| !check.agrees).count() as u64;
    // Before the end counters are ahead of events, or behind them.
    let is_told = session.has_ended && disagree > 0;
    note(is_told, format!("{} with what was counted from tasks", disagreeing(disagree)));
    let dropped = session.counters.get("session_events_dropped").copied().unwrap_or_default();
    note(
        dropped > 0.0,
        format!(
            "the session dropped {} since its queue was full: figures are too low",
            plural(dropped as u64, "event")
        ),
    );
    let (left_out, room) = (session.left_out, session.limits);
    note(
        left_out.is_any(),
        format!(
            "not all of it is here: {} tasks, {} spans, {} resource updates, {} events, {} points \
             of counters and {} records of other sessions or more were left out; there is room for \
             {} tasks, {} spans, {} resource updates and {} events with numbers",
            count(left_out.tasks),
            count(left_out.spans),
            count(left_out.samples),
            count(left_out.events),
            count(left_out.points),
            count(left_out.sessions),
            count(room.tasks as u64),
            count(room.spans as u64),
            count(room.samples as u64),
            count(room.events as u64)
        ),
    );
    notes
}

fn disagreeing(count: u64) -> String {
    match count {
        1 => "1 counter disagrees".into(),
        _ => format!("{count} counters disagree"),
    }
}
