//! Full queues and disks, servers that are away, threads that panic, programs that are killed.

use std::path::Path;
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use futures_core::Stream;
use kymo_session::{Checkpoint, Session, WhenFull};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::SpanProcessor;

use crate::support::{LONG, events, nobody_listens, options, path, spans};

#[test]
fn what_the_queue_has_no_room_for_is_counted() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    (options.queue_events, options.when_full) = (8, WhenFull::Drop);
    let session = Session::start(options).unwrap();
    let hold = Hold::subscribe(&session);
    session.task("first").create();
    hold.entered.recv_timeout(LONG).unwrap();
    for _ in 0..100 {
        session.task("more").create();
    }
    hold.release.send(()).unwrap();
    assert!(session.end(LONG));
    let stats = session.stats();
    assert_eq!(stats.dropped, 92);
    assert_eq!(session.task_count().created, 9);
    let dropped = session.metrics().into_iter().find(|m| m.name == "session_events_dropped");
    assert_eq!(dropped.unwrap().points[0].value, 92.0);
}

/// Takes the session's thread with it when a span ends.
#[derive(Debug)]
struct Panics;

impl SpanProcessor for Panics {
    fn on_start(&self, _: &mut opentelemetry_sdk::trace::Span, _: &opentelemetry::Context) {}

    #[allow(clippy::panic, reason = "a panic is what it is for")]
    fn on_end(&self, _: opentelemetry_sdk::trace::SpanData) {
        panic!("on purpose");
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

#[test]
fn a_thread_that_panics_ends_the_session_and_not_the_program() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    options.queue_events = 8;
    options.span_processors.push(Box::new(Panics));
    let session = Session::start(options).unwrap();
    for _ in 0..100 {
        session.task("one").create().completed();
    }
    assert!(!session.end(Duration::MAX), "not everything is in the file");
    assert!(!session.flush(Duration::MAX));
    assert!(!session.flush_file(Duration::MAX));
    assert!(session.has_finished());
    assert!(session.stats().dropped > 0);
}

#[test]
fn a_thread_that_panics_tells_its_subscribers_and_counts_what_it_had() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    options.span_processors.push(Box::new(Panics));
    let session = Session::start(options).unwrap();
    let mut stream = session.stream(100);
    let hold = Hold::subscribe(&session);
    session.task("first").create();
    hold.entered.recv_timeout(LONG).unwrap();
    // One batch, in the midst of which it ends.
    for _ in 0..2 {
        session.task("one").create().completed();
    }
    // Comes while the worker is held up.
    let late = session.channel(1);
    hold.release.send(()).unwrap();
    assert!(!session.end(LONG));
    // It may have been there to be told of the end.
    assert!((4..=5).contains(&session.stats().dropped), "{}", session.stats().dropped);
    let mut context = Context::from_waker(Waker::noop());
    let mut next = || Pin::new(&mut stream).poll_next(&mut context);
    while let Poll::Ready(Some(_)) = next() {}
    assert!(matches!(next(), Poll::Ready(None)), "the stream has ended");
    assert_eq!(late.try_recv(), Err(TryRecvError::Disconnected));
    assert_eq!(session.channel(1).try_recv(), Err(TryRecvError::Disconnected));
}

/// A subscriber that holds up the worker, once.
struct Hold {
    entered: Receiver<()>,
    release: Sender<()>,
}

impl Hold {
    fn subscribe(session: &Session) -> Self {
        let (release, held) = channel::<()>();
        let (enter, entered) = channel();
        let mut has_held = false;
        session.subscribe(move |_| {
            if !std::mem::replace(&mut has_held, true) {
                enter.send(()).expect("somebody holds it up");
                held.recv().expect("and lets it go");
            }
        });
        Self { entered, release }
    }
}

#[test]
fn a_place_that_cannot_be_written_stops_nothing() {
    let mut options = options(Path::new("/proc/nowhere"));
    options.flush_every = Duration::from_millis(20);
    let session = Session::start(options).unwrap();
    assert_eq!(session.checkpoint_path(), None);
    session.task("one").create().completed();
    assert!(!session.flush(LONG), "there is no file");
    assert!(!session.flush_file(Duration::MAX), "nor will there be one");
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
fn the_file_is_waited_for_without_the_endpoint() {
    let place = tempfile::tempdir().unwrap();
    let mut with_file = options(place.path());
    with_file.flush_every = Duration::from_secs(3600);
    with_file.export = Some(nobody_listens());
    let session = Session::start(with_file).unwrap();
    session.task("one").create().completed();
    assert!(session.flush_file(LONG));
    assert_eq!(spans(&path(&session)).len(), 1);
    assert!(!session.flush(Duration::from_millis(100)), "not everything is sent");
    // So that nobody tries for longer when it is dropped.
    session.end(Duration::from_millis(100));

    let mut without = options(place.path());
    without.checkpoint = Checkpoint::None;
    let session = Session::start(without).unwrap();
    assert!(session.flush_file(Duration::ZERO), "there is nothing to wait for");
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

const FULL: &str = "KYMO_SESSION_TEST_FULL";

/// A disk that is full, as far as the program can tell: it may not write more than so many blocks of
/// 512 or 1024 bytes. A test, run again with a variable set, since the bound is one of the whole
/// process.
fn run_again_on_a_full_disk(test: &str, blocks: u32, place: &Path) {
    // The shell ignores the signal for its children.
    let command = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    // Through pipes: what it prints could be bounded too.
    let ended = std::process::Command::new("sh")
        .args(["-c", &command])
        .arg(std::env::current_exe().expect("it runs"))
        .args([&format!("bad_days::{test}"), "--exact", "--nocapture"])
        .env(FULL, place)
        .output()
        .expect("there is a shell");
    assert!(ended.status.success(), "{ended:?}");
}

#[test]
fn a_flush_says_so_if_the_very_write_that_it_waited_for_failed() {
    if let Ok(place) = std::env::var(FULL) {
        for wait in [Session::flush, Session::flush_file] {
            let mut options = options(Path::new(&place));
            options.flush_every = Duration::from_secs(3600);
            let session = Session::start(options).unwrap();
            session.task("one").create().completed();
            assert!(!wait(&session, LONG), "nothing is in the file");
            let error = session.stats().checkpoint_error.expect("and it is known why");
            assert!(error.contains("no checkpoint is written"), "{error}");
            assert!(!session.end(LONG));
        }
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let name = "a_flush_says_so_if_the_very_write_that_it_waited_for_failed";
    run_again_on_a_full_disk(name, 0, place.path());
}

#[test]
fn a_disk_that_is_full_ends_the_file_and_not_the_session() {
    if let Ok(place) = std::env::var(FULL) {
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
    run_again_on_a_full_disk(name, 1000, place.path());
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
    let path = file().unwrap();
    // A kill may cut a write short. Readers leave out what is behind the last whole line.
    let bytes = std::fs::read(&path).unwrap();
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    std::fs::write(&path, &bytes[..whole]).unwrap();
    let events = events(&path);
    let last = events.last().unwrap()["timeUnixNano"].as_str().unwrap().parse::<u64>().unwrap();
    let lost = Duration::from_nanos(killed_nanos.saturating_sub(last));
    // The rest is for a machine that is busy with other things.
    assert!(lost < bound + Duration::from_secs(1), "{lost:?} are lost");
}
