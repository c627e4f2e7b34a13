//! Whole sessions, and the files that they leave.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kymo_session::{
    Checkpoint, Event, EventName, KeyValue, Opening, Parent, Session, SessionOptions, SpanStatus,
    WhenFull,
};
use serde_json::Value;

const LONG: Duration = Duration::from_secs(30);

fn options(place: &Path) -> SessionOptions {
    let mut options = SessionOptions::new("test");
    options.checkpoint = Checkpoint::Directory(place.to_owned());
    options.parent = Parent::None;
    options.poll_every = None;
    options
}

/// The lines of a file; the last must be whole.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the file is there");
    assert!(text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect()
}

/// Records of one kind in all lines.
fn records(path: &Path, groups: &str, scopes: &str, items: &str) -> Vec<Value> {
    let all = |value: &Value, member: &str| value[member].as_array().cloned().unwrap_or_default();
    let mut found = Vec::new();
    for line in lines(path) {
        for group in all(&line, groups) {
            for scope in all(&group, scopes) {
                found.extend(all(&scope, items));
            }
        }
    }
    found
}

fn events(path: &Path) -> Vec<Value> {
    records(path, "resourceLogs", "scopeLogs", "logRecords")
}

fn spans(path: &Path) -> Vec<Value> {
    records(path, "resourceSpans", "scopeSpans", "spans")
}

fn attribute<'a>(record: &'a Value, key: &str) -> Option<&'a Value> {
    let all = record["attributes"].as_array()?;
    let found = all.iter().find(|attribute| attribute["key"] == key)?;
    found["value"].as_object()?.values().next()
}

fn named(record: &Value) -> &str {
    record["eventName"].as_str().or(record["name"].as_str()).unwrap_or_default()
}

fn path(session: &Session) -> PathBuf {
    session.checkpoint_path().expect("there is a file").to_owned()
}

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
        let keys: Vec<&Value> =
            record["attributes"].as_array().unwrap().iter().map(|one| &one["key"]).collect();
        let once: std::collections::HashSet<String> =
            keys.iter().map(|key| key.to_string()).collect();
        assert_eq!(once.len(), keys.len(), "{record}");
    }
    assert_eq!(attribute(&spans[0], "task_id"), Some(&"own".into()));
    assert_eq!(attribute(&spans[0], "executable"), Some(&"a".into()));
}

#[test]
fn what_is_called_on_the_sessions_thread_cannot_hang_it() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    options.queue_events = 4;
    let session = Session::start(options).unwrap();
    let (telling, asking) = (session.clone(), session.clone());
    session.subscribe(move |events| {
        if events.iter().any(|event| event.name == EventName::TaskCreated) {
            for _ in 0..100 {
                telling.emit_named("a.B", Vec::new()).unwrap();
            }
        }
    });
    session.enrich(move |_| {
        asking.enrich(|_| Vec::new());
        vec![KeyValue::new("known", asking.task_count().created as i64)]
    });
    for _ in 0..20 {
        session.task("one").create();
    }
    assert!(session.flush(LONG));
    assert!(session.stats().dropped > 0);
    assert_eq!(session.task_count().created, 20);
}

#[test]
fn a_thread_that_panics_ends_the_session_and_not_the_program() {
    #[derive(Debug)]
    struct Panics;
    impl opentelemetry_sdk::trace::SpanProcessor for Panics {
        fn on_start(&self, _: &mut opentelemetry_sdk::trace::Span, _: &opentelemetry::Context) {}
        fn on_end(&self, _: opentelemetry_sdk::trace::SpanData) {
            panic!("on purpose");
        }
        fn force_flush(&self) -> opentelemetry_sdk::error::OTelSdkResult {
            Ok(())
        }
        fn shutdown_with_timeout(&self, _: Duration) -> opentelemetry_sdk::error::OTelSdkResult {
            Ok(())
        }
    }
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    options.queue_events = 8;
    options.span_processors.push(Box::new(Panics));
    let session = Session::start(options).unwrap();
    for _ in 0..100 {
        session.task("one").create().completed();
    }
    session.end(Duration::MAX);
    assert!(session.has_finished());
    assert!(session.stats().dropped > 0);
}

#[test]
fn who_subscribes_after_the_end_waits_for_nothing() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    session.end(LONG);
    assert!(session.channel(1).recv().is_err());
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
fn what_the_queue_has_no_room_for_is_counted() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    (options.queue_events, options.when_full) = (8, WhenFull::Drop);
    let session = Session::start(options).unwrap();
    // A subscriber that holds up the worker.
    let (release, held) = std::sync::mpsc::channel::<()>();
    let (enter, entered) = std::sync::mpsc::channel();
    let mut has_held = false;
    session.subscribe(move |_| {
        if !std::mem::replace(&mut has_held, true) {
            enter.send(()).unwrap();
            held.recv().unwrap();
        }
    });
    session.task("first").create();
    entered.recv_timeout(LONG).unwrap();
    for _ in 0..100 {
        session.task("more").create();
    }
    release.send(()).unwrap();
    assert!(session.end(LONG));
    let stats = session.stats();
    assert_eq!(stats.dropped, 92);
    assert_eq!(session.task_count().created, 9);
    let dropped = session.metrics().into_iter().find(|m| m.name == "session_events_dropped");
    assert_eq!(dropped.unwrap().points[0].value, 92.0);
}

#[test]
fn a_subscriber_that_panics_is_counted_and_called_again() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    session.subscribe(|_| panic!("on purpose"));
    session.subscribe(move |events| {
        noted.lock().unwrap().extend(events.iter().map(|event| event.name.clone()));
    });
    let channel = session.channel(1);
    session.task("one").create().completed();
    session.flush(LONG);
    session.enrich(|_| panic!("on purpose"));
    session
        .enrich(|event| vec![KeyValue::new("seen", event.task_id.as_deref().unwrap().to_owned())]);
    session.task("two").id("t2").create().completed();
    session.end(LONG);
    assert!(seen.lock().unwrap().contains(&EventName::SessionEnded));
    assert!(session.stats().panics >= 2);
    assert!(session.stats().subscribers_missed > 0);
    assert!(channel.recv().unwrap().span_id.is_some());
    let spans = session.spans();
    let two = spans.iter().find(|span| span.name == "two").unwrap();
    assert!(two.attributes.contains(&KeyValue::new("seen", "t2")));
}

#[test]
fn a_subscriber_may_ask_the_session() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let (told, heard) = std::sync::mpsc::channel();
    let asking = session.clone();
    let subscription = session.subscribe(move |_| {
        let _ = told.send(asking.task_count().created);
    });
    session.task("one").create();
    assert_eq!(heard.recv_timeout(LONG), Ok(1));
    subscription.cancel();
}

#[test]
fn a_stream_ends_with_the_session() {
    use futures_core::Stream;
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let mut stream = session.stream(100);
    session.task("one").create();
    session.end(LONG);
    let mut context = Context::from_waker(Waker::noop());
    let mut names = Vec::new();
    while let Poll::Ready(Some(event)) = Pin::new(&mut stream).poll_next(&mut context) {
        names.push(event.name);
    }
    assert!(names.ends_with(&[EventName::TaskCreated, EventName::SessionEnded]), "{names:?}");
    assert!(matches!(Pin::new(&mut stream).poll_next(&mut context), Poll::Ready(None)));
}

#[test]
fn a_place_that_cannot_be_written_stops_nothing() {
    let mut options = options(Path::new("/proc/nowhere"));
    options.flush_every = Duration::from_millis(20);
    let session = Session::start(options).unwrap();
    assert_eq!(session.checkpoint_path(), None);
    session.task("one").create().completed();
    assert!(!session.flush(LONG), "there is no file");
    assert!(!session.end(LONG));
    assert_eq!(session.task_count().completed, 1);
    assert!(session.stats().checkpoint_error.unwrap().contains("/proc/nowhere"));
}

#[test]
fn an_endpoint_that_is_down_holds_up_nobody() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    let asked = kymo_service::Asked::endpoint("http://127.0.0.1:9");
    options.export = Some(kymo_service::ExportSettings::resolve(&asked, |_| None).unwrap());
    let session = Session::start(options).unwrap();
    let began = Instant::now();
    for _ in 0..1000 {
        session.task("one").create().completed();
    }
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(!session.end(Duration::from_millis(500)));
    assert_eq!(spans(&path(&session)).len(), 1001);
    let export = session.stats().export.unwrap();
    assert_eq!(export.spans.sent, 0);
    assert!(export.lost() > 0 || export.spans.waiting > 0, "{export:?}");
}

#[test]
fn finished_spans_that_are_not_kept_are_counted() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    options.keep_spans = 10;
    let session = Session::start(options).unwrap();
    for _ in 0..100 {
        session.task("one").create().completed();
    }
    assert_eq!(session.spans().len(), 10);
    assert_eq!(session.stats().spans_forgotten, 90);
    session.end(LONG);
    assert_eq!(spans(&path(&session)).len(), 101);
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

/// A disk that is full, as far as the program can tell: it may not write more than so many bytes.
/// This test, run again with a variable set, since the bound is one of the whole process.
#[test]
fn a_disk_that_is_full_ends_the_file_and_not_the_session() {
    const PLACE: &str = "KYMO_SESSION_TEST_FULL";
    if let Ok(place) = std::env::var(PLACE) {
        let mut options = options(Path::new(&place));
        options.flush_every = Duration::from_millis(20);
        let session = Session::start(options).unwrap();
        for _ in 0..20_000 {
            session.task("one").create().completed();
        }
        assert!(!session.flush(LONG), "not everything is in the file");
        assert_eq!(session.task_count().completed, 20_000);
        // Nothing is left to do.
        let used = || rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let before = used();
        std::thread::sleep(Duration::from_millis(500));
        let after = used();
        let nanos =
            (after.tv_sec - before.tv_sec) * 1_000_000_000 + (after.tv_nsec - before.tv_nsec);
        assert!(nanos < 200_000_000, "{nanos} ns of work while nothing happens");
        assert!(!session.end(LONG));
        assert!(session.has_finished());
        let error = session.stats().checkpoint_error.expect("the file ended");
        assert!(error.contains("no checkpoint is written"), "{error}");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let name = "a_disk_that_is_full_ends_the_file_and_not_the_session";
    // The shell ignores the signal for its children; the limit is in blocks of 512 or 1024 bytes.
    let command = "trap '' XFSZ; ulimit -f 1000; exec \"$0\" \"$@\"";
    let status = std::process::Command::new("sh")
        .args(["-c", command])
        .arg(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(PLACE, place.path())
        .status()
        .unwrap();
    assert!(status.success());
    let file = std::fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().path();
    assert!(file.metadata().unwrap().len() <= 1000 * 1024);
    assert!(!events(&file).is_empty());
}

/// A program that is killed in the middle: this test, run again with a variable set.
#[test]
fn a_program_that_is_killed_loses_no_more_than_the_bound() {
    const PLACE: &str = "KYMO_SESSION_TEST_KILLED";
    let bound = Duration::from_millis(200);
    if let Ok(place) = std::env::var(PLACE) {
        let mut options = options(Path::new(&place));
        options.flush_every = bound;
        let session = Session::start(options).unwrap();
        for _ in 0..u64::MAX {
            session.task("one").create().completed();
            std::thread::sleep(Duration::from_micros(200));
        }
    }
    let place = tempfile::tempdir().unwrap();
    let name = "a_program_that_is_killed_loses_no_more_than_the_bound";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(PLACE, place.path())
        .spawn()
        .unwrap();
    let file = || {
        let found = std::fs::read_dir(place.path()).unwrap().next();
        found.map(|entry| entry.unwrap().path())
    };
    let began = Instant::now();
    let size = || file().and_then(|path| path.metadata().ok()).map_or(0, |metadata| metadata.len());
    while size() < 200_000 {
        assert!(began.elapsed() < LONG, "the child writes nothing");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    let killed_nanos = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64;
    child.wait().unwrap();
    let events = events(&file().unwrap());
    let last = events.last().unwrap()["timeUnixNano"].as_str().unwrap().parse::<u64>().unwrap();
    let lost = Duration::from_nanos(killed_nanos.saturating_sub(last));
    // The rest is for a machine that is busy with other things.
    assert!(lost < bound + Duration::from_secs(1), "{lost:?} are lost");
}
