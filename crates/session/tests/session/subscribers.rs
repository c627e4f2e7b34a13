//! Those who are told, and what they may do meanwhile.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use kymo_session::{EventName, KeyValue, Session};

use crate::support::{LONG, options};

#[test]
fn what_is_called_on_the_sessions_thread_cannot_hang_it() {
    let place = tempfile::tempdir().unwrap();
    let mut options = options(place.path());
    options.queue_events = 4;
    let session = Session::start(options).unwrap();
    let (telling, asking) = (session.clone(), session.clone());
    let (waited, heard) = std::sync::mpsc::channel();
    let mut has_waited = false;
    session.subscribe(move |events| {
        if events.iter().any(|event| event.name == EventName::TaskCreated) {
            for _ in 0..100 {
                telling.emit_named("a.B", Vec::new()).unwrap();
            }
            // What it cannot wait for it does not get, at once.
            if !std::mem::replace(&mut has_waited, true) {
                let began = Instant::now();
                let is_flushed = telling.flush(LONG) || telling.flush_file(LONG);
                let _ = waited.send((is_flushed, began.elapsed() < LONG));
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
    assert_eq!(heard.recv_timeout(LONG), Ok((false, true)));
}

#[test]
fn the_thread_of_one_session_is_like_any_other_to_the_next() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    let mut small = options(place.path());
    small.queue_events = 2;
    let other = Session::start(small).unwrap();
    let (told, heard) = std::sync::mpsc::channel();
    session.subscribe(move |events| {
        if events.iter().any(|event| event.name == EventName::TaskCreated) {
            for _ in 0..100 {
                other.task("one").create();
            }
            let created = other.task_count().created;
            let has_ended = other.end(LONG);
            told.send((created, has_ended, other.stats().dropped)).unwrap();
        }
    });
    session.task("first").create();
    assert_eq!(heard.recv_timeout(LONG), Ok((100, true, 0)));
}

#[test]
fn who_subscribes_after_the_end_waits_for_nothing() {
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(options(place.path())).unwrap();
    session.end(LONG);
    assert!(session.channel(1).recv().is_err());
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
