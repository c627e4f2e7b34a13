//! Full queues and disks, servers that are away, threads that panic, programs that are killed.

use std::path::Path;
use std::time::{Duration, Instant};

use kymo_session::{Session, WhenFull};

use crate::support::{LONG, events, nobody_listens, options, path, spans};

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
    options.export = Some(nobody_listens());
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
fn a_session_has_finished_when_nothing_is_left_to_send_or_give_up() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    options.export = Some(nobody_listens());
    let session = Session::start(options).unwrap();
    session.task("one").create().completed();
    assert!(!session.end(Duration::ZERO));
    assert!(!session.has_finished(), "nobody has tried to send the rest");
    let began = Instant::now();
    while !session.has_finished() {
        assert!(began.elapsed() < LONG);
        assert!(!session.end(Duration::from_millis(500)));
    }
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
    let name = "bad_days::a_disk_that_is_full_ends_the_file_and_not_the_session";
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
    let name = "bad_days::a_program_that_is_killed_loses_no_more_than_the_bound";
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
