//! What becomes of records.

mod order;
mod room;
mod spans_of_tasks;

use serde_json::json;

use super::*;
use crate::fixture::{counter, event, nanos, only, recorded, span, task, ten_seconds};

#[test]
fn a_session_is_put_together_from_its_events() {
    let session = only(&ten_seconds());
    assert_eq!((&*session.id, &*session.name), ("train.1", "train"));
    assert_eq!((session.start_nanos, session.end_nanos), (Some(nanos(0.0)), Some(nanos(10.0))));
    assert!(session.has_ended && session.said_duration_secs == Some(10.0));
    assert_eq!(session.tasks.len(), 6);
    let failed = &session.tasks[4];
    assert_eq!((failed.status, failed.error_type.as_deref()), (Status::Failed, Some("ValueError")));
    assert_eq!(failed.queued_nanos, Some(nanos(2.0)));
    assert_eq!(session.tasks[5].status, Status::Submitted);
    assert_eq!(session.samples.len(), 9);
    assert_eq!(session.counters.get("tasks_submitted"), Some(&6.0));
    assert_eq!(session.event_counts.get("app.Loss"), Some(&2));
}

#[test]
fn what_comes_twice_counts_once() {
    let mut lines = ten_seconds();
    lines.push(span("train.1", (1, 0), "session", (0.0, 10.0), json!({})));
    let once = only(&lines);
    lines.extend(lines.clone());
    let twice = only(&lines);
    assert_eq!(once.event_counts, twice.event_counts);
    assert_eq!((once.tasks, once.spans), (twice.tasks, twice.spans));
    assert_eq!((once.samples.len(), once.counters), (twice.samples.len(), twice.counters));
    assert!(twice.repeated > 30 && once.repeated == 0, "{}", twice.repeated);
}

#[test]
fn a_session_that_sends_only_metrics_or_lines_of_logs_is_one() {
    let points = only(&[counter("s", "loss", 1.0, 3), counter("s", "loss", 4.0, 2)]);
    assert_eq!((points.start_nanos, points.end_nanos), (Some(nanos(1.0)), Some(nanos(4.0))));
    assert_eq!((&*points.id, &*points.name, points.has_ended), ("s", "train", false));
    assert!(points.counters.is_empty());
    let lines = only(&[event("s", "", 2.0, json!({})), event("s", "", 3.0, json!({}))]);
    assert_eq!((lines.start_nanos, lines.end_nanos), (Some(nanos(2.0)), Some(nanos(3.0))));
    assert!(lines.event_counts.is_empty());
    // Without the id of a session they say nothing.
    assert!(recorded(&[counter("", "loss", 1.0, 3)]).finish().0.is_empty());
}

#[test]
fn a_task_that_ends_twice_counts_once() {
    let mut lines = task("s", "t", [0.0, 1.0, 2.0, 3.0], "TaskCompleted", json!({}));
    lines.push(event("s", "TaskFailed", 4.0, json!({"task_id": "t", "error_type": "Late"})));
    lines.push(event("s", "TaskStarted", 5.0, json!({"task_id": "t"})));
    let session = only(&lines);
    assert_eq!(session.tasks[0].status, Status::Completed);
    assert_eq!(session.tasks[0].ended_nanos, Some(nanos(3.0)));
    assert_eq!((session.tasks[0].error_type.clone(), session.events_after_end), (None, 2));
}

#[test]
fn tasks_are_known_from_spans_alone() {
    let fields = json!({"task_id": "a", "status": "failed", "error_type": "E", "queued_at": 1.0});
    let lines = [
        span("s", (2, 1), "task", (0.5, 3.0), fields),
        span("s", (3, 1), "fit", (0.0, 4.0), json!({"task_id": "b", "started_at": 1.5})),
        // Below a task, with its id: not its span.
        span("s", (4, 3), "inner", (1.6, 1.7), json!({"task_id": "b"})),
        span("s", (1, 0), "session", (0.0, 5.0), json!({})),
    ];
    let session = only(&lines);
    let [b, a] = &session.tasks[..] else { panic!("{:?}", session.tasks) };
    assert_eq!((a.status, a.started_nanos), (Status::Failed, Some(nanos(1.0))));
    assert!(a.is_start_assumed && !b.is_start_assumed);
    assert_eq!((&*b.name, b.started_nanos, b.status), ("fit", Some(nanos(1.5)), Status::Completed));
    assert_eq!((session.has_ended, session.said_duration_secs), (true, Some(5.0)));
    assert_eq!((session.spans, session.span_errors), (4, 1));
}

#[test]
fn a_plain_trace_is_a_session_named_by_its_root() {
    let lines = [
        span("", (1, 0), "nightly", (0.0, 10.0), json!({})),
        span("", (2, 1), "job", (0.0, 10.0), json!({})),
        span("", (3, 2), "build", (0.0, 4.0), json!({})),
        span("", (4, 2), "test", (4.0, 9.0), json!({"error_type": "Exit1"})),
    ];
    let session = only(&lines);
    assert_eq!((session.origin, &*session.name), (Origin::Trace, "nightly"));
    let names: Vec<&str> = session.tasks.iter().map(|task| &*task.name).collect();
    assert_eq!(names, ["build", "test"]);
    assert_eq!(session.tasks[1].error_type.as_deref(), Some("Exit1"));
    // Two roots and no task: it cannot be said what the session would be.
    let (sessions, found) = recorded(&lines[2..]).finish();
    assert!(sessions.is_empty());
    assert_eq!((found.spans, found.traces, found.services), (2, 1, vec!["plain".to_owned()]));
}

#[test]
fn spans_of_other_programs_in_the_trace_belong_to_the_session() {
    let lines = [
        span("s", (1, 0), "session", (0.0, 5.0), json!({})),
        span("", (9, 1), "GET /", (1.0, 2.0), json!({})),
    ];
    let session = only(&lines);
    assert_eq!((session.spans, session.are_tasks_spans), (2, true));
    assert_eq!(&*session.tasks[0].name, "GET /");
}

#[test]
fn the_only_span_is_the_session_unless_it_is_a_task() {
    let session = only(&[span("s", (2, 1), "fit", (1.0, 3.0), json!({"task_id": "t"}))]);
    assert!(!session.has_ended && session.tasks[0].span_id.is_some());
    assert!(only(&[span("s", (1, 0), "all", (1.0, 3.0), json!({}))]).has_ended);
}

#[test]
fn a_session_that_is_run_again_has_not_ended_before() {
    let started = |at| event("s", "SessionStarted", at, json!({}));
    let ended = |at| event("s", "SessionEnded", at, json!({"duration_seconds": 2.0}));
    let again = only(&[started(0.0), ended(2.0), started(5.0)]);
    assert!(!again.has_ended && again.start_nanos == Some(nanos(0.0)));
    let both = only(&[started(0.0), ended(2.0), started(5.0), ended(7.0)]);
    assert_eq!((both.has_ended, both.end_nanos), (true, Some(nanos(7.0))));
    assert_eq!(both.said_duration_secs, None);
}

#[test]
fn points_of_deltas_are_added_up_and_the_last_of_a_count_counts() {
    let point = |name: &str, from: Option<f64>, at: f64, value: i64, temporality: u8| {
        json!({"resourceMetrics": [{"resource": {"attributes": [
            {"key": "session_id", "value": {"stringValue": "s"}}]},
            "scopeMetrics": [{"metrics": [{"name": name, "sum": {
                "aggregationTemporality": temporality, "dataPoints": [{
                    "startTimeUnixNano": from.map_or(0, nanos).to_string(),
                    "timeUnixNano": nanos(at).to_string(), "asInt": value.to_string()}]}}]}]}]})
    };
    let mut lines = vec![
        point("tasks_started", Some(0.0), 1.0, 3, 1),
        point("tasks_started", Some(1.0), 2.0, 4, 1),
        point("tasks_completed", Some(0.0), 1.0, 3, 2),
        point("tasks_completed", Some(0.0), 2.0, 5, 2),
        // They do not say from when they count.
        point("tasks_failed", None, 1.0, 3, 1),
        point("tasks_failed", None, 2.0, 4, 1),
        point("tasks_failed", None, 2.0, 4, 1),
        point("tasks_canceled", None, 1.0, 3, 2),
        point("tasks_canceled", None, 2.0, 5, 2),
    ];
    for _ in 0..2 {
        let counters = only(&lines).counters;
        assert_eq!((counters["tasks_started"], counters["tasks_completed"]), (7.0, 5.0));
        assert_eq!((counters["tasks_failed"], counters["tasks_canceled"]), (7.0, 5.0));
        lines.reverse();
    }
}

#[test]
fn damaged_and_odd_bytes_are_errors_or_nothing() {
    let mut recording = Recording::new();
    for signal in kymo_wire::Signal::ALL {
        let error = recording.add(signal, &[0x0a, 0xff, 0x01]).unwrap_err().to_string();
        assert!(error.contains(signal.name()), "{error}");
    }
    let odd = [
        event("s", "TaskStarted", 0.0, json!({})),
        event("s", "ResourceUpdate", 0.0, json!({"cpu_percent": "much"})),
        span("s", (7, 7), "own parent", (3.0, 1.0), json!({"task_id": 5, "status": 3})),
    ];
    let session = only(&odd);
    assert_eq!((session.tasks.len(), &*session.tasks[0].id), (1, "5"));
    assert_eq!(session.samples[0].node.as_ref(), "vm");
}

#[test]
fn a_command_is_told_by_the_span_of_its_session_alone() {
    let used = json!({
        "process.command_args": ["python", "-c", "print('a b')", ""],
        "process.exit.code": 3, "process.cpu_user_seconds": 1.5, "process.cpu_system_seconds": 0.25,
        "process.tree_peak_resident_bytes": 1024, "process.other": "x",
    });
    let mut lines = vec![span("run.1", (1, 0), "session", (0.0, 10.0), used)];
    lines.push(span("run.1", (2, 1), "inner", (1.0, 2.0), json!({"process.exit.code": 9})));
    let process = only(&lines).process.expect("a command");
    assert_eq!(process.command.as_deref(), Some(r"python -c 'print('\''a b'\'')' ''"));
    assert_eq!((process.exit_code, process.signal), (Some(3), None));
    assert_eq!((process.cpu_user_seconds, process.peak_resident_bytes), (Some(1.5), Some(1024.0)));
    // Others tell of a process too, as `kymo ci exec` does.
    let exec = json!({"process.pid": 7, "process.exit.code": 0, "process.command_line": "make"});
    assert_eq!(only(&[span("s", (1, 0), "session", (0.0, 1.0), exec)]).process, None);
}
