//! Which span is that of a task, and what it says of the task.

use serde_json::{Value, json};

use super::super::*;
use crate::fixture::{event, in_span, nanos, only, span};

/// The only task, which is the same in both orders.
fn only_task(mut lines: Vec<Value>) -> Task {
    let forward = only(&lines).tasks.remove(0);
    lines.reverse();
    assert_eq!(only(&lines).tasks[0], forward);
    forward
}

#[test]
fn a_span_below_a_task_that_runs_does_not_end_it() {
    let started = json!({"task_id": "t", "span_name": "fit"});
    let started = in_span(2, event("s", "TaskStarted", 1.0, started));
    let inner = span("s", (3, 2), "inner", (1.0, 2.0), json!({"task_id": "t"}));
    let task = only_task(vec![started.clone(), inner.clone()]);
    assert_eq!((task.status, &*task.name, task.span_nanos), (Status::Running, "fit", None));
    let own = span("s", (2, 1), "fit", (0.5, 3.0), json!({"task_id": "t", "status": "completed"}));
    let task = only_task(vec![own, inner, started]);
    assert_eq!((task.status, task.ended_nanos), (Status::Completed, Some(nanos(3.0))));
    assert_eq!(task.span_nanos, Some((nanos(0.5), nanos(3.0))));
}

#[test]
fn the_span_that_events_name_is_the_tasks_own_and_ends_it() {
    let told = |name: &str, at: f64| in_span(2, event("s", name, at, json!({"task_id": "t"})));
    let own = span("s", (2, 1), "fit", (1.0, 3.0), json!({"task_id": "t"}));
    let inner = span("s", (3, 2), "inner", (0.5, 2.0), json!({"task_id": "t"}));
    let lines = vec![own, told("TaskStarted", 1.0), inner];
    let task = only_task(lines.clone());
    assert_eq!((task.span_id, &*task.name), (Some(2u64.to_be_bytes()), "fit"));
    assert_eq!((task.status, task.ended_nanos), (Status::Completed, Some(nanos(3.0))));
    assert_eq!(task.span_nanos, Some((nanos(1.0), nanos(3.0))));
    // What events say of the end counts first.
    let task = only_task([lines.clone(), vec![told("TaskFailed", 2.5)]].concat());
    assert_eq!((task.status, task.ended_nanos), (Status::Failed, Some(nanos(2.5))));
    // It was only part of a task that goes on: first started then, or again.
    let submitted = vec![lines[0].clone(), told("TaskSubmitted", 1.0), told("TaskStarted", 4.0)];
    for goes_on in [submitted, [lines.clone(), vec![told("TaskStarted", 4.0)]].concat()] {
        let task = only_task(goes_on);
        assert_eq!((task.status, task.ended_nanos), (Status::Running, None));
    }
}

#[test]
fn a_span_that_is_open_does_not_end_its_task() {
    let mut open = span("s", (2, 1), "fit", (1.0, 3.0), json!({"task_id": "t", "started_at": 1.0}));
    open["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["endTimeUnixNano"] = "0".into();
    let started = in_span(2, event("s", "TaskStarted", 1.0, json!({"task_id": "t"})));
    for lines in [vec![open.clone()], vec![open, started]] {
        let task = only_task(lines);
        assert_eq!((task.status, task.ended_nanos), (Status::Running, None));
    }
}
