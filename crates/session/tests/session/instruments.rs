//! What is counted and measured.

use std::time::Duration;

use kymo_session::{Event, EventName, KeyValue, Session};

use crate::support::{LONG, nobody_listens, options};

#[test]
fn what_runs_is_counted_where_it_was_counted_first() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    session.emit(Event::of_task(EventName::TaskStarted, "a".into()));
    let mut end = Event::of_task(EventName::TaskCompleted, "a".into());
    end.backend = Some("ray".into());
    end.attributes.push(KeyValue::new("duration_seconds", f64::NAN));
    session.emit(end);
    assert!(session.summary().duration.mean_seconds >= 0.0);
    let metrics = session.metrics();
    let running = metrics.iter().find(|metric| metric.name == "tasks_running").unwrap();
    assert!(running.points.iter().all(|point| point.value == 0.0), "{running:?}");
}

#[test]
fn instruments_have_few_labels_however_many_names_there_are() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    for number in 0..3000 {
        let task = session.task("one").executable(format!("/bin/{number}")).create();
        task.submitted();
        task.started();
        task.completed();
    }
    let metrics = session.metrics();
    let completed = metrics.iter().find(|metric| metric.name == "tasks_completed").unwrap();
    assert!(completed.points.len() <= 1001, "{}", completed.points.len());
    assert_eq!(completed.points.iter().map(|point| point.value).sum::<f64>(), 3000.0);
    let durations = metrics.iter().find(|m| m.name == "task_duration_seconds").unwrap();
    assert_eq!(durations.points.iter().filter_map(|point| point.count).sum::<u64>(), 3000);
}

#[test]
fn node_and_gpus_are_polled_and_a_gpu_never_blanks_its_node() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    options.poll_every = Some(Duration::from_millis(100));
    let session = Session::start(options).unwrap();
    let updates = session.channel(1000);
    let is_update = |event: &Event| event.name == EventName::ResourceUpdate;
    let update = std::iter::from_fn(|| updates.recv_timeout(LONG).ok()).find(is_update).unwrap();
    assert!(update.number("memory_percent").unwrap() > 0.0);
    assert!(update.number("cpu_percent").is_some());
    let node = update.node_id.clone().unwrap();
    session.emit(Event {
        node_id: Some(node.clone()),
        attributes: vec![KeyValue::new("gpu_id", 0), KeyValue::new("gpu_percent", 97.0)],
        ..Event::new(EventName::ResourceUpdate)
    });
    let resources = session.resources();
    let of = |gpu| resources.iter().find(|one| one.gpu_id == gpu).unwrap();
    assert!(of(None).values.contains_key("cpu_percent"));
    assert_eq!(of(Some(0)).values["gpu_percent"], 97.0);
    session.end(LONG);
    let metrics = session.metrics();
    assert!(metrics.iter().any(|metric| metric.name == "node_cpu_utilization"));
    assert!(metrics.iter().any(|metric| metric.name == "gpu_utilization"));
}

/// Lost events, and states after the end of a task.
fn lost(session: &Session) -> (f64, f64) {
    let metrics = session.metrics();
    let value = |name: &str| {
        let found = metrics.iter().find(|metric| metric.name == name).expect(name);
        assert_eq!((found.kind, found.points.len()), ("counter", 1));
        found.points[0].value
    };
    (value("session_events_dropped"), value("session_events_after_end"))
}

#[test]
fn what_was_lost_is_told_at_once() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    assert_eq!(lost(&session), (0.0, 0.0));
    let task = session.task("one").create();
    task.completed();
    task.started();
    session.emit(Event::of_task(EventName::TaskStarted, task.id().into()));
    // The session's own event, which nobody else may tell.
    session.emit(Event::new(EventName::SessionEnded));
    assert_eq!(lost(&session), (1.0, 2.0));
    assert!(session.end(LONG));
    session.emit_named("too.Late", Vec::new()).unwrap();
    assert_eq!(lost(&session), (2.0, 2.0));
}

#[test]
fn a_session_that_was_sent_still_tells_what_it_counted() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    options.export = Some(nobody_listens());
    let session = Session::start(options).unwrap();
    session.task("one").create().completed();
    session.end(Duration::from_millis(100));
    session.emit_named("too.Late", Vec::new()).unwrap();
    assert_eq!(lost(&session), (1.0, 0.0));
    let metrics = session.metrics();
    let completed = metrics.iter().find(|metric| metric.name == "tasks_completed").unwrap();
    assert_eq!(completed.points[0].value, 1.0);
}
