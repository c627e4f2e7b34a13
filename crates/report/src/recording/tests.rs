//! What becomes of records.

use serde_json::json;

use super::*;
use crate::fixture::{event, nanos, only, recorded, span, task, ten_seconds};

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
    let shown = |lines: &[serde_json::Value]| {
        let analysis = crate::Analysis::of(&only(lines));
        crate::render::json::render(&[analysis], None)
    };
    let expected = shown(&lines);
    let first = only(&lines);
    assert_eq!((&first.tasks[0].node.as_deref(), &*first.tasks[0].id), (&Some("n1"), "t1"));
    assert_eq!((first.tasks[1].status, first.events_after_end), (Status::Completed, 1));
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
fn a_span_below_a_task_that_runs_does_not_end_it() {
    let mut started = event("s", "TaskStarted", 1.0, json!({"task_id": "t", "span_name": "fit"}));
    started["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["spanId"] =
        "0000000000000002".into();
    let inner = span("s", (3, 2), "inner", (1.0, 2.0), json!({"task_id": "t"}));
    let session = only(&[started.clone(), inner.clone()]);
    let task = &session.tasks[0];
    assert_eq!((task.status, &*task.name, task.span_nanos), (Status::Running, "fit", None));
    let own = span("s", (2, 1), "fit", (0.5, 3.0), json!({"task_id": "t", "status": "completed"}));
    let session = only(&[own, inner, started]);
    let task = &session.tasks[0];
    assert_eq!((task.status, task.ended_nanos), (Status::Completed, Some(nanos(3.0))));
    assert_eq!(task.span_nanos, Some((nanos(0.5), nanos(3.0))));
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
fn what_there_is_no_room_for_is_counted_and_said() {
    let mut recording = Recording::within(Limits { tasks: 2, ..Limits::default() });
    for nth in 0..5 {
        let id = format!("t{nth}");
        for line in task("s", &id, [0.0, 1.0, 2.0, 3.0], "TaskCompleted", json!({})) {
            let (signal, request) =
                kymo_wire::lines::decode_line(line.to_string().as_bytes()).unwrap();
            recording.add(signal, &request).unwrap();
        }
    }
    let session = recording.finish().0.remove(0);
    assert_eq!((session.tasks.len(), session.left_out.tasks), (2, 3));
    let notes = crate::Analysis::of(&session).notes.join("\n");
    assert!(notes.contains("3 tasks") && notes.contains("room for 2 tasks"), "{notes}");
}

#[test]
fn points_of_deltas_are_added_up_and_the_last_of_a_count_counts() {
    let point = |name: &str, from: f64, at: f64, value: i64, temporality: u8| {
        json!({"resourceMetrics": [{"resource": {"attributes": [
            {"key": "session_id", "value": {"stringValue": "s"}}]},
            "scopeMetrics": [{"metrics": [{"name": name, "sum": {
                "aggregationTemporality": temporality, "dataPoints": [{
                    "startTimeUnixNano": nanos(from).to_string(),
                    "timeUnixNano": nanos(at).to_string(), "asInt": value.to_string()}]}}]}]}]})
    };
    let mut lines = vec![
        point("tasks_started", 0.0, 1.0, 3, 1),
        point("tasks_started", 1.0, 2.0, 4, 1),
        point("tasks_completed", 0.0, 1.0, 3, 2),
        point("tasks_completed", 0.0, 2.0, 5, 2),
    ];
    for _ in 0..2 {
        let counters = only(&lines).counters;
        assert_eq!((counters["tasks_started"], counters["tasks_completed"]), (7.0, 5.0));
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
    let pid = json!({"process.pid": 7});
    assert_eq!(only(&[span("s", (1, 0), "session", (0.0, 1.0), pid)]).process, None);
}
