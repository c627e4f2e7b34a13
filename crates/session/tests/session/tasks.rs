//! Tasks, their spans and their events, as the file and the session tell them.

use kymo_session::{Event, EventName, KeyValue, Opening, Parent, Session, SpanStatus};
use serde_json::Value;

use crate::support::{LONG, attribute, events, lines, named, options, path, spans};

#[test]
fn a_session_is_a_trace_of_its_tasks() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let path = path(&session);
    {
        let scope = session.scope("prepare", vec![KeyValue::new("dataset", "a")]);
        scope.annotate("loaded", vec![KeyValue::new("rows", 5)]);
        let task = session.task("simulate").executable("/bin/sim").task_type("mpi").create();
        task.submitted();
        task.queued();
        task.started_on("node1", 0);
        task.completed();
    }
    let failing = session.task("train").backend("dask").create();
    failing.started();
    failing.failed("ValueError", "no such column");
    session.task("never").create().canceled();
    let open = session.task("open").create();
    open.started();
    assert!(session.end(LONG));

    let count = session.task_count();
    assert_eq!((count.created, count.submitted, count.started, count.running), (4, 1, 3, 0));
    assert_eq!((count.completed, count.failed, count.canceled), (1, 1, 1));

    let header = &lines(&path)[0];
    assert_eq!(header["kymo"], "checkpoint");
    assert_eq!(header["version"], 1);
    assert_eq!(header["trace_id"], session.trace_id().to_string());

    let events = events(&path);
    let names: Vec<&str> = events.iter().map(named).collect();
    let expected = [
        "SessionStarted",
        "SpanStarted",
        "TaskCreated",
        "TaskSubmitted",
        "TaskQueued",
        "TaskStarted",
        "TaskCompleted",
        "TaskCreated",
        "TaskStarted",
        "TaskFailed",
        "TaskCreated",
        "TaskCanceled",
        "TaskCreated",
        "TaskStarted",
        "SessionEnded",
    ];
    assert_eq!(names, expected);
    let failed = &events[9];
    assert_eq!(attribute(failed, "error_type"), Some(&"ValueError".into()));
    assert_eq!(attribute(failed, "error_message"), Some(&"no such column".into()));
    assert_eq!(failed["severityNumber"], 17);
    let canceled = &events[11];
    assert_eq!(attribute(canceled, "incomplete_lifecycle"), Some(&true.into()));
    assert_eq!(attribute(canceled, "duration_seconds"), Some(&0.0.into()));

    let spans = spans(&path);
    let span = |name: &str| spans.iter().find(|span| span["name"] == name).unwrap();
    let id = |span: &Value| span["spanId"].as_str().unwrap().to_owned();
    assert_eq!(spans.len(), 6);
    assert_eq!(span("prepare")["parentSpanId"], session.span_id().to_string());
    assert_eq!(span("prepare")["events"][0]["name"], "loaded");
    assert_eq!(span("simulate")["parentSpanId"], id(span("prepare")));
    assert_eq!(span("simulate")["status"]["code"], 1);
    assert!(span("simulate").get("events").is_none());
    let kept = session.spans();
    assert_eq!(kept.iter().find(|span| span.name == "simulate").unwrap().events.len(), 3);
    assert_eq!(attribute(span("simulate"), "node_id"), Some(&"node1".into()));
    assert_eq!(attribute(span("simulate"), "executable"), Some(&"/bin/sim".into()));
    assert_eq!(span("train")["status"]["code"], 2);
    assert_eq!(span("train")["status"]["message"], "ValueError");
    assert_eq!(attribute(span("open"), "status"), Some(&"unfinished".into()));
    assert_eq!(id(span("session")), session.span_id().to_string());
    assert!(span("session").get("parentSpanId").is_none());
    // Every line is OTLP that the rest of the project reads.
    for line in std::fs::read(&path).unwrap().split(|byte| *byte == b'\n').skip(1) {
        assert!(line.is_empty() || kymo_wire::lines::decode_line(line).is_ok());
    }
}

#[test]
fn a_task_ends_once() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let task = session.task("one").create();
    task.started();
    task.completed();
    task.failed("Late", "");
    task.started();
    // The same told by ids, as adapters do.
    let tell = |name| session.emit(Event::of_task(name, "raw".into()));
    tell(EventName::TaskStarted);
    tell(EventName::TaskCompleted);
    tell(EventName::TaskCanceled);
    tell(EventName::TaskStarted);
    assert_eq!(session.task_count().completed, 2);
    assert_eq!(session.task_count().failed + session.task_count().canceled, 0);
    assert_eq!(session.task_count().running, 0);
    assert_eq!(session.stats().after_end, 4);
    session.end(LONG);
    assert_eq!(spans(&path(&session)).len(), 3);
}

#[test]
fn a_task_that_somebody_holds_ends_once_also_when_told_by_its_id() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let task = session.task("one").create();
    task.started();
    task.completed();
    let tell = |name| session.emit(Event::of_task(name, task.id().into()));
    tell(EventName::TaskCompleted);
    tell(EventName::TaskStarted);
    let count = session.task_count();
    assert_eq!((count.created, count.completed, count.running), (1, 1, 0));
    assert_eq!(session.stats().after_end, 2);
    // Only the session says when it begins and ends.
    session.emit(Event::new(EventName::SessionEnded));
    assert_eq!(session.stats().dropped, 1);
    assert!(session.end(LONG));
    assert_eq!(spans(&path(&session)).len(), 2);
}

#[test]
fn an_end_without_a_beginning_is_a_task_that_never_started() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    session.emit(Event::of_task(EventName::TaskFailed, "unknown".into()));
    let spans = session.spans();
    assert_eq!(spans[0].status, SpanStatus::Error("unknown".to_owned()));
    assert!(spans[0].attributes.contains(&KeyValue::new("incomplete_lifecycle", true)));
    assert_eq!(session.summary().duration.count, 0);
}

#[test]
fn times_that_run_backwards_give_no_negative_durations() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let hour = 3_600_000_000_000;
    let now = session.now_nanos();
    let task = session.task("back").at(now).create();
    task.started_at(now);
    task.completed_at(now - hour);
    let span = &session.spans()[0];
    assert!(span.end_nanos >= span.start_nanos);
    assert_eq!(session.summary().duration.min_seconds, 0.0);
}

#[test]
fn every_key_is_there_once() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let given = [("status", "warm"), ("task_id", "mine"), ("executable", "b"), ("x", "y")];
    let mut task = session.task("one").id("own").executable("a");
    for (key, value) in given {
        task = task.attribute(KeyValue::new(key, value));
    }
    task.create().completed();
    assert_eq!(session.stats().attributes_dropped, 3);
    session.end(LONG);
    let (events, spans) = (events(&path(&session)), spans(&path(&session)));
    for record in events.iter().chain(&spans) {
        assert_once(record);
    }
    assert_eq!(attribute(&spans[0], "task_id"), Some(&"own".into()));
    assert_eq!(attribute(&spans[0], "executable"), Some(&"a".into()));
}

#[test]
fn every_key_is_there_once_whichever_event_has_it() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let tell = |id: &str, name: EventName, keys: &[&'static str]| {
        let mut event = Event::of_task(name, id.into());
        (event.backend, event.node_id) = (Some("ray".into()), Some("node1".into()));
        event.attributes = keys.iter().map(|key| KeyValue::new(*key, "given")).collect();
        session.emit(event);
    };
    let own = ["task_id", "backend", "node_id", "span_name", "parent_span_id", "status"];
    let of_the_end = ["error_type", "incomplete_lifecycle"];
    let mut keys = own.to_vec();
    keys.extend(["x", "x"]);
    let mut state = keys.clone();
    state.extend(of_the_end);
    let mut end = keys.clone();
    end.extend(of_the_end);
    end.extend(of_the_end);
    end.extend(["error_message", "error_message", "duration_seconds", "duration_seconds"]);
    // The first event of this one has no attributes, so all of the second's are its own.
    tell("a", EventName::TaskCreated, &[]);
    tell("a", EventName::TaskStarted, &state);
    tell("a", EventName::TaskQueued, &state);
    tell("a", EventName::TaskFailed, &end);
    // And one that is known by its end alone.
    tell("b", EventName::TaskFailed, &end);
    // Six of their own and an x too many each, what only an end may say, and the same twice.
    assert_eq!(session.stats().attributes_dropped, 2 * (7 + 2) + 2 * (7 + 4));
    session.end(LONG);
    let (events, spans) = (events(&path(&session)), spans(&path(&session)));
    for record in events.iter().chain(&spans) {
        assert_once(record);
    }
    let failed = events.iter().find(|event| named(event) == "TaskFailed").unwrap();
    for key in ["error_type", "error_message", "x"] {
        assert_eq!(attribute(failed, key), Some(&"given".into()), "{key}");
    }
    for (span, id) in spans.iter().zip(["a", "b"]) {
        assert_eq!(attribute(span, "task_id"), Some(&id.into()));
        assert_eq!(attribute(span, "status"), Some(&"failed".into()));
        assert_eq!(attribute(span, "error_type"), Some(&"given".into()));
        assert_eq!(attribute(span, "x"), Some(&"given".into()));
    }
}

/// A record of OTLP has every key once.
fn assert_once(record: &Value) {
    let attributes = record["attributes"].as_array().expect("it has some");
    let keys: Vec<String> = attributes.iter().map(|one| one["key"].to_string()).collect();
    let once: std::collections::HashSet<&String> = keys.iter().collect();
    assert_eq!(once.len(), keys.len(), "{record}");
}

#[test]
fn what_runs_is_a_task_and_a_panic_goes_on() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let inner = session.clone();
    let outer: Result<u32, String> =
        session.run("outer", || inner.run("inner", || Err::<u32, String>("not today".to_owned())));
    assert_eq!(outer, Err("not today".to_owned()));
    let panicked = std::panic::catch_unwind(|| {
        session.run("bad", || -> Result<(), String> { panic!("ouch") })
    });
    assert!(panicked.is_err());
    let spans = session.spans();
    let span = |name: &str| spans.iter().find(|span| span.name == name).unwrap();
    assert_eq!(span("inner").parent_span_id, Some(span("outer").span_id));
    assert_eq!(span("inner").status, SpanStatus::Error("String".to_owned()));
    assert_eq!(span("bad").status, SpanStatus::Error("panic".to_owned()));
}

#[test]
fn events_of_adapters_keep_their_times_and_open_spans() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let mut event = Event::of_task(EventName::TaskCreated, "a".into());
    event.time_nanos = 1_794_770_871_000_000_000;
    event.opens = Some(Box::new(Opening { name: "task".into(), parent: None }));
    session.emit(event);
    session.end(LONG);
    let events = events(&path(&session));
    assert_eq!(events[1]["timeUnixNano"], "1794770871000000000");
    assert!(events[1]["observedTimeUnixNano"].is_string());
    assert_eq!(attribute(&events[1], "span_name"), Some(&"task".into()));
    assert_eq!(
        attribute(&events[1], "parent_span_id"),
        Some(&session.span_id().to_string().into())
    );
}

#[test]
fn a_session_below_a_traceparent_is_in_its_trace() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03";
    options.parent = Parent::Traceparent(parent.to_owned());
    let session = Session::start(options).unwrap();
    assert!(session.traceparent().starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"));
    session.end(LONG);
    let session_span = &spans(&path(&session))[0];
    assert_eq!(session_span["parentSpanId"], "00f067aa0ba902b7");
    let started = &events(&path(&session))[0];
    assert_eq!(attribute(started, "parent_span_id"), Some(&"00f067aa0ba902b7".into()));
}
