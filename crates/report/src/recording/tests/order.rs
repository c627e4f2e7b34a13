//! That the order of records does not matter.

use serde_json::{Value, json};

use super::super::*;
use crate::fixture::{event, in_span, only, recorded, span, ten_seconds};
use crate::limits::MAX_NUMBERS_PER_EVENT;

#[test]
fn the_order_of_records_does_not_matter() {
    let mut lines = ten_seconds();
    let forward = only(&lines);
    lines.reverse();
    let mut backward = only(&lines);
    backward.tasks.sort_by(|one, other| one.id.cmp(&other.id));
    assert_eq!(forward.tasks, backward.tasks);
    assert_eq!(forward.counters, backward.counters);
}

#[test]
fn what_comes_out_is_the_same_in_every_order() {
    let mut lines = ten_seconds();
    // Told twice, on two nodes; ended twice; spans of tasks and below them; two processes.
    for (node, at) in [("n2", 1.5), ("n1", 1.0)] {
        lines.push(event("train.1", "TaskStarted", at, json!({"task_id": "t1", "node_id": node})));
    }
    let failed = json!({"task_id": "t2", "error_type": "Late", "backend": "b"});
    lines.push(event("train.1", "TaskFailed", 4.5, failed));
    lines.push(event("train.1", "SessionStarted", 0.1, json!({"backend": "second"})));
    lines.push(event("train.1", "app.Loss", 3.0, json!({"loss": 0.125})));
    let own = json!({"task_id": "t5", "status": "failed", "error_type": "E", "node_id": "n9"});
    lines.push(span("train.1", (5, 1), "fit", (4.0, 5.0), own));
    lines.push(span("train.1", (6, 5), "inner", (4.1, 4.2), json!({"task_id": "t5"})));
    lines.push(span("train.1", (7, 5), "inner", (6.1, 6.2), json!({"task_id": "t6"})));
    lines.push(span("train.1", (1, 0), "session", (0.0, 10.0), json!({"session.name": "x"})));
    // Two events of one task name two spans, and so do two at the same time.
    for (id, task, at) in [(9, "t3", 0.25), (8, "t3", 0.0), (11, "t4", 0.5), (10, "t4", 0.5)] {
        let submitted = event("train.1", "TaskSubmitted", at, json!({"task_id": task, "nth": id}));
        lines.push(in_span(id, submitted));
    }
    lines.push(span("train.1", (8, 1), "fit", (1.0, 4.0), json!({"task_id": "t3"})));
    lines.push(span("train.1", (12, 8), "inner", (0.5, 0.6), json!({"task_id": "t3"})));
    // Two backends tell of one node at once, and one of them tells it twice.
    for (backend, cpu) in [("b", 1), ("a", 3), ("a", 2)] {
        let fields = json!({"node_id": "n1", "backend": backend, "cpu_percent": cpu});
        lines.push(event("train.1", "ResourceUpdate", 1.0, fields));
    }
    let shown = |lines: &[Value]| {
        let session = only(lines);
        let document = crate::render::json::render(&[crate::Analysis::of(&session)], None);
        (document, session.tasks, session.samples, session.events)
    };
    let expected = shown(&lines);
    let first = only(&lines);
    assert_eq!((&first.tasks[0].node.as_deref(), &*first.tasks[0].id), (&Some("n1"), "t1"));
    assert_eq!((first.tasks[1].status, first.events_after_end), (Status::Completed, 1));
    let span_of = |id: &str| first.tasks.iter().find(|task| &*task.id == id).unwrap().span_id;
    assert_eq!(span_of("t3"), Some(8u64.to_be_bytes()));
    assert_eq!(span_of("t4"), Some(10u64.to_be_bytes()));
    let mut seed = 7u64;
    for _ in 0..20 {
        for at in (1..lines.len()).rev() {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            lines.swap(at, (seed >> 33) as usize % (at + 1));
        }
        assert_eq!(shown(&lines), expected);
    }
}

#[test]
fn which_numbers_of_an_event_are_kept_does_not_depend_on_their_order() {
    let many = MAX_NUMBERS_PER_EVENT + 4;
    let fields: Value = (0..many).map(|nth| (format!("n{nth:02}"), json!(nth))).collect();
    let forward = event("s", "app.Many", 1.0, fields);
    let mut backward = forward.clone();
    let record = &mut backward["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    record["attributes"].as_array_mut().unwrap().reverse();
    for line in [forward, backward] {
        let numbers = only(&[line]).events[0].numbers.clone();
        let expected =
            (0..MAX_NUMBERS_PER_EVENT).map(|nth| (format!("n{nth:02}").into(), nth as f64));
        assert_eq!(numbers, expected.collect::<Vec<_>>());
    }
}

#[test]
fn of_two_sessions_in_a_trace_the_first_has_the_spans_of_other_programs() {
    let mut lines = vec![
        span("b", (1, 0), "session", (0.0, 5.0), json!({})),
        span("a", (2, 1), "session", (1.0, 4.0), json!({})),
        span("", (9, 1), "GET /", (1.0, 2.0), json!({})),
    ];
    for first in ["b", "a"] {
        for _ in 0..2 {
            let (sessions, _) = recorded(&lines).finish();
            let session = sessions.iter().find(|session| session.spans == 2).unwrap();
            assert_eq!(&*session.id, first);
            lines.reverse();
        }
        // Then both begin at the same time.
        lines[0] = span("b", (1, 0), "session", (1.0, 5.0), json!({}));
    }
}
