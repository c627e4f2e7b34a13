//! What there is no room for.

use serde_json::{Value, json};

use super::super::*;
use crate::fixture::{counter, recorded_in, span, task};
use crate::limits::MAX_COUNTER_SERIES;

/// What is recorded of the only session where there is so much room.
fn only_within(limits: Limits, lines: &[Value]) -> Session {
    let (mut sessions, _) = recorded_in(Recording::within(limits), lines).finish();
    assert_eq!(sessions.len(), 1);
    sessions.remove(0)
}

fn notes(session: &Session) -> String {
    crate::Analysis::of(session).notes.join("\n")
}

#[test]
fn what_there_is_no_room_for_is_counted_and_said() {
    let ids = ["t0", "t1", "t2", "t3", "t4"].into_iter();
    let lines: Vec<Value> = ids
        .flat_map(|id| task("s", id, [0.0, 1.0, 2.0, 3.0], "TaskCompleted", json!({})))
        .collect();
    let session = only_within(Limits { tasks: 2, ..Limits::default() }, &lines);
    assert_eq!((session.tasks.len(), session.left_out.tasks), (2, 3));
    let notes = notes(&session);
    assert!(notes.contains("3 tasks") && notes.contains("room for 2 tasks"), "{notes}");
}

#[test]
fn what_was_left_out_of_other_programs_is_said_of_their_session() {
    let theirs = |id: u64, task: &str| span("", (id, 1), "x", (1.0, 2.0), json!({"task_id": task}));
    let lines = [
        span("s", (1, 0), "session", (0.0, 5.0), json!({})),
        theirs(2, "a"),
        theirs(3, "b"),
        theirs(4, "b"),
        theirs(5, "c"),
    ];
    let session = only_within(Limits { tasks: 1, spans: 4, ..Limits::default() }, &lines);
    assert_eq!((session.left_out.tasks, session.left_out.spans), (1, 1));
    let notes = notes(&session);
    assert!(notes.contains("not all of it is here: 1 tasks, 1 spans"), "{notes}");
}

#[test]
fn tasks_of_other_programs_need_room_once() {
    let lines = [
        span("s", (1, 0), "session", (0.0, 5.0), json!({})),
        span("", (2, 1), "x", (1.0, 2.0), json!({"task_id": "a"})),
        span("", (3, 1), "x", (1.0, 2.0), json!({"task_id": "b"})),
    ];
    let session = only_within(Limits { tasks: 2, ..Limits::default() }, &lines);
    assert_eq!((session.tasks.len(), session.left_out.is_any()), (2, false));
}

#[test]
fn sessions_share_the_room_for_ids_of_tasks_without_room() {
    let mut lines = Vec::new();
    for session in ["one", "other"] {
        for id in ["a", "b", "c"] {
            lines.extend(task(session, id, [0.0, 1.0, 2.0, 3.0], "TaskCompleted", json!({})));
        }
    }
    let limits = Limits { tasks: 0, records: 4, ..Limits::default() };
    let (sessions, _) = recorded_in(Recording::within(limits), &lines).finish();
    let left_out: Vec<u64> = sessions.iter().map(|session| session.left_out.tasks).collect();
    assert_eq!(left_out, [3, 1]);
}

#[test]
fn points_of_counters_without_room_are_counted_and_said() {
    let mut recording = Recording::new();
    recording.room.series = MAX_COUNTER_SERIES - 1;
    let lines = [counter("s", "tasks_started", 1.0, 3), counter("s", "tasks_failed", 1.0, 3)];
    let session = recorded_in(recording, &lines).finish().0.remove(0);
    assert_eq!((session.counters.len(), session.left_out.points), (1, 1));
    let notes = notes(&session);
    assert!(notes.contains("1 points of counters"), "{notes}");
}
