//! The bounded queue between calls and the worker.
//!
//! Bounded by messages, and by the bytes of what they carry: one that is larger than the bound alone
//! still goes through an empty queue.
//!
//! A vector behind a lock: a call appends, the worker takes all there is by swapping in an empty one.
//! Calls do not wake the worker, since a wake-up costs more than everything else together; it looks
//! by itself every few milliseconds, and is woken when the queue is half full or somebody waits for
//! it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kymo_wire::Signal;
use opentelemetry::trace::SpanId;
use opentelemetry::{Array, KeyValue, Value};

use crate::clock::Deadline;
use crate::event::Event;
use crate::limits::QUEUE_BYTES;
use crate::options::{AroundWait, WhenFull};

thread_local! {
    /// Where the queue is that this thread empties.
    static EMPTIES: Cell<usize> = const { Cell::new(0) };
}

/// What is told to the worker.
pub(crate) enum Message {
    Event(Event),
    /// A scope has ended; with an error if there is one.
    EndSpan {
        span: SpanId,
        time_nanos: u64,
        error: Option<String>,
    },
    /// Something happened in a span, or in a task's.
    Annotate {
        span: SpanId,
        time_nanos: u64,
        name: String,
        attributes: Vec<KeyValue>,
    },
    /// A span has more attributes.
    SetAttributes {
        span: SpanId,
        attributes: Vec<KeyValue>,
    },
    Log(Box<Log>),
    /// OTLP of others.
    Request(Signal, Vec<u8>),
    /// The session has failed.
    Fail(String),
    /// Everything before is to be in the file and synced.
    Flush,
}

impl Message {
    /// Bytes of what is long, if something is.
    fn bytes(&self) -> usize {
        let of = |attributes: &[KeyValue]| -> usize {
            attributes.iter().map(|one| text_bytes(&one.value)).sum()
        };
        match self {
            Self::Event(event) => {
                event.opens.as_ref().map_or(0, |opens| opens.name.len()) + of(&event.attributes)
            }
            Self::Annotate { name, attributes, .. } => name.len() + of(attributes),
            Self::SetAttributes { attributes, .. } => of(attributes),
            Self::Log(log) => log.body.len() + of(&log.attributes),
            Self::Request(_, request) => request.len(),
            Self::EndSpan { error, .. } => error.as_ref().map_or(0, String::len),
            Self::Fail(error) => error.len(),
            Self::Flush => 0,
        }
    }
}

fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.as_str().len(),
        Value::Array(Array::String(texts)) => texts.iter().map(|text| text.as_str().len()).sum(),
        _ => 0,
    }
}

/// A line of somebody's log.
pub(crate) struct Log {
    pub(crate) time_nanos: u64,
    pub(crate) severity: u8,
    pub(crate) body: String,
    pub(crate) span: SpanId,
    pub(crate) attributes: Vec<KeyValue>,
}

pub(crate) struct Queue {
    inner: Mutex<Inner>,
    /// There is room again.
    room: Condvar,
    /// The worker has something to do at once.
    wake: Condvar,
    /// The worker has done something.
    done: Condvar,
    capacity: usize,
    /// What is lost: see [`crate::Stats::dropped`].
    dropped: Arc<AtomicU64>,
}

#[derive(Default)]
struct Inner {
    messages: Vec<Message>,
    /// Of the messages.
    bytes: usize,
    is_closed: bool,
    /// How many were ever taken in, handled, and are in the file.
    pushed: u64,
    handled: u64,
    stored: u64,
    /// Calls that wait for room.
    blocked: usize,
    /// Somebody waits for the worker.
    is_urgent: bool,
    has_finished: bool,
    /// The worker has ended before its time.
    is_abandoned: bool,
}

impl Queue {
    /// `dropped` counts what is lost.
    pub(crate) fn new(capacity: usize, dropped: Arc<AtomicU64>) -> Self {
        Self {
            inner: Mutex::default(),
            room: Condvar::new(),
            wake: Condvar::new(),
            done: Condvar::new(),
            capacity,
            dropped,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing panics while it holds the lock; and if, what is there is still a queue.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that this thread is the one that empties it. From now on it must stay where it is.
    pub(crate) fn become_worker(&self) {
        EMPTIES.set(std::ptr::from_ref(self).addr());
    }

    /// Whether this thread is the one that empties it: that must not wait for itself.
    pub(crate) fn is_worker(&self) -> bool {
        EMPTIES.get() == std::ptr::from_ref(self).addr()
    }

    /// Takes a message in; false if it is lost. If it has to wait for room, it does that inside of
    /// `around`.
    pub(crate) fn push(
        &self,
        message: Message,
        when_full: WhenFull,
        around: Option<AroundWait>,
    ) -> bool {
        let bytes = message.bytes();
        let mut inner = self.lock();
        while self.is_full(&inner, bytes) && !inner.is_closed {
            // The worker itself would wait for room that only it can make.
            if when_full == WhenFull::Drop || self.is_worker() {
                break;
            }
            inner = match around {
                None => self.wait_for_room(inner, bytes),
                // Whatever else it does, it must not do it while the queue is locked.
                Some(around) => {
                    drop(inner);
                    around(&mut || drop(self.wait_for_room(self.lock(), bytes)));
                    self.lock()
                }
            };
        }
        if inner.is_closed || self.is_full(&inner, bytes) {
            drop(inner);
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        let was_half_full = self.is_half_full(&inner);
        inner.messages.push(message);
        inner.bytes += bytes;
        inner.pushed += 1;
        let is_half_full = self.is_half_full(&inner);
        drop(inner);
        if is_half_full && !was_half_full {
            self.wake.notify_one();
        }
        true
    }

    /// Whether so many bytes more are too many.
    fn is_full(&self, inner: &Inner, bytes: usize) -> bool {
        let is_too_much = inner.bytes.saturating_add(bytes) > QUEUE_BYTES;
        inner.messages.len() >= self.capacity || (is_too_much && !inner.messages.is_empty())
    }

    fn is_half_full(&self, inner: &Inner) -> bool {
        inner.messages.len() * 2 >= self.capacity || inner.bytes >= QUEUE_BYTES / 2
    }

    fn wait_for_room<'a>(
        &'a self,
        mut inner: MutexGuard<'a, Inner>,
        bytes: usize,
    ) -> MutexGuard<'a, Inner> {
        while self.is_full(&inner, bytes) && !inner.is_closed {
            inner.blocked += 1;
            // A queue without room for a long message may be less than half full.
            inner.is_urgent = true;
            self.wake.notify_one();
            inner = self.room.wait(inner).unwrap_or_else(PoisonError::into_inner);
            inner.blocked -= 1;
        }
        inner
    }

    /// The last message: what comes later is lost. False if there was one before.
    pub(crate) fn close(&self, last: Message) -> bool {
        let mut inner = self.lock();
        if inner.is_closed {
            return false;
        }
        inner.messages.push(last);
        inner.pushed += 1;
        inner.is_closed = true;
        drop(inner);
        self.wake.notify_one();
        self.room.notify_all();
        true
    }

    /// All there is, into an empty vector; waits up to `nap` for something to do. False when there
    /// will be nothing more.
    pub(crate) fn take(&self, into: &mut Vec<Message>, nap: Duration) -> bool {
        let mut inner = self.lock();
        let is_idle =
            |inner: &Inner| !inner.is_closed && !inner.is_urgent && !self.is_half_full(inner);
        if is_idle(&inner) && !nap.is_zero() {
            let waited = self.wake.wait_timeout_while(inner, nap, |inner| is_idle(inner));
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        inner.is_urgent = false;
        std::mem::swap(&mut inner.messages, into);
        inner.bytes = 0;
        let (is_open, blocked) = (!inner.is_closed, inner.blocked);
        drop(inner);
        if blocked > 0 {
            self.room.notify_all();
        }
        is_open || !into.is_empty()
    }

    /// So many more are handled.
    pub(crate) fn handled(&self, count: usize) {
        self.lock().handled += count as u64;
        self.done.notify_all();
    }

    /// How many are handled so far.
    pub(crate) fn handled_count(&self) -> u64 {
        self.lock().handled
    }

    /// Everything up to this one is in the file and synced, or never will be.
    pub(crate) fn stored(&self, count: u64) {
        let mut inner = self.lock();
        inner.stored = inner.stored.max(count);
        drop(inner);
        self.done.notify_all();
    }

    /// The worker has ended.
    pub(crate) fn finished(&self) {
        self.lock().has_finished = true;
        self.done.notify_all();
    }

    /// The worker is gone before its time: nobody waits for it any more.
    pub(crate) fn abandon(&self) {
        let mut inner = self.lock();
        // What waits, and the batch that the worker was at.
        let lost = inner.pushed - inner.handled;
        let waiting = std::mem::take(&mut inner.messages);
        // Who was told that all is done does not hear otherwise later.
        inner.is_abandoned = !inner.has_finished;
        (inner.is_closed, inner.has_finished) = (true, true);
        drop(inner);
        drop(waiting);
        self.dropped.fetch_add(lost, Ordering::Relaxed);
        self.room.notify_all();
        self.done.notify_all();
    }

    /// Whether the worker ended before its time.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.lock().is_abandoned
    }

    /// Whether nothing more is taken in.
    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Whether the worker has ended.
    pub(crate) fn has_finished(&self) -> bool {
        self.lock().has_finished
    }

    /// Waits until everything that was taken in so far is handled; false if that takes too long.
    pub(crate) fn wait_handled(&self, timeout: Duration) -> bool {
        let pushed = self.urge();
        self.wait(timeout, |inner| inner.handled >= pushed || inner.has_finished)
    }

    /// Waits until everything that was taken in so far is in the file.
    pub(crate) fn wait_stored(&self, timeout: Duration) -> bool {
        let pushed = self.urge();
        self.wait(timeout, |inner| inner.stored >= pushed || inner.has_finished)
    }

    /// Waits until the worker has ended.
    pub(crate) fn wait_finished(&self, timeout: Duration) -> bool {
        self.wait(timeout, |inner| inner.has_finished)
    }

    fn urge(&self) -> u64 {
        let mut inner = self.lock();
        inner.is_urgent = true;
        let pushed = inner.pushed;
        drop(inner);
        self.wake.notify_one();
        pushed
    }

    fn wait(&self, timeout: Duration, is_done: impl Fn(&Inner) -> bool) -> bool {
        let until = Deadline::after(timeout);
        let mut inner = self.lock();
        while !is_done(&inner) {
            let left = until.left();
            if left.is_zero() {
                return false;
            }
            let waited = self.done.wait_timeout(inner, left);
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Counts one that never came here.
    pub(crate) fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::event::{EventName, Opening};

    const LONG: Duration = Duration::from_secs(20);

    fn queue(capacity: usize) -> Queue {
        Queue::new(capacity, Arc::default())
    }

    fn dropped(queue: &Queue) -> u64 {
        queue.dropped.load(Ordering::Relaxed)
    }

    #[test]
    fn a_full_queue_drops_and_counts_if_that_was_chosen() {
        let queue = queue(3);
        let kept = (0..10).filter(|_| queue.push(Message::Flush, WhenFull::Drop, None)).count();
        assert_eq!((kept, dropped(&queue)), (3, 7));
        let mut taken = Vec::new();
        assert!(queue.take(&mut taken, Duration::ZERO));
        assert_eq!(taken.len(), 3);
        assert!(queue.push(Message::Flush, WhenFull::Drop, None));
    }

    #[test]
    fn a_queue_of_long_texts_is_full_early() {
        let queue = queue(1000);
        let request = |bytes: usize| Message::Request(Signal::Logs, vec![0; bytes]);
        let push = |message| queue.push(message, WhenFull::Drop, None);
        assert!(push(request(QUEUE_BYTES + 1)), "alone");
        assert!(!push(request(1)));
        let mut taken = Vec::new();
        assert!(queue.take(&mut taken, LONG), "and the worker does not nap");
        assert!(push(request(QUEUE_BYTES - 10)));
        let text = |text: &str| {
            let attributes = vec![KeyValue::new("prompt", text.to_owned())];
            Message::Annotate {
                span: SpanId::INVALID,
                time_nanos: 0,
                name: String::new(),
                attributes,
            }
        };
        assert!(push(text("ten bytes.")));
        assert!(!push(text("!")));
        assert_eq!(dropped(&queue), 2);
    }

    #[test]
    fn every_long_text_counts() {
        let long = || "x".repeat(QUEUE_BYTES);
        let mut opening = Event::new(EventName::SpanStarted);
        opening.opens = Some(Box::new(Opening { name: long().into(), parent: None }));
        let (span, time_nanos, attributes) = (SpanId::INVALID, 0, Vec::new());
        let messages = [
            Message::Event(opening),
            Message::Annotate { span, time_nanos, name: long(), attributes },
            Message::EndSpan { span, time_nanos, error: Some(long()) },
            Message::Fail(long()),
        ];
        for message in messages {
            let queue = queue(1000);
            assert!(queue.push(message, WhenFull::Drop, None), "alone");
            assert!(!queue.push(Message::Fail("more".to_owned()), WhenFull::Drop, None));
        }
    }

    #[test]
    fn who_waits_for_room_wakes_a_worker_whose_queue_is_not_half_full() {
        let queue = queue(1000);
        let request = |bytes: usize| Message::Request(Signal::Logs, vec![0; bytes]);
        assert!(queue.push(request(QUEUE_BYTES / 2 - 1), WhenFull::Block, None));
        let began = std::time::Instant::now();
        thread::scope(|threads| {
            threads.spawn(|| queue.push(request(QUEUE_BYTES), WhenFull::Block, None));
            assert!(queue.take(&mut Vec::new(), LONG));
        });
        assert!(began.elapsed() < LONG, "it slept to the end of its nap");
    }

    #[test]
    fn a_full_queue_blocks_until_there_is_room_and_loses_nothing() {
        let queue = Arc::new(queue(4));
        let pushing = {
            let queue = queue.clone();
            thread::spawn(move || {
                (0..1000).all(|_| queue.push(Message::Flush, WhenFull::Block, None))
            })
        };
        let (mut total, mut taken) = (0, Vec::new());
        while total < 1000 {
            assert!(queue.take(&mut taken, LONG));
            assert!(taken.len() <= 4);
            total += taken.len();
            taken.clear();
        }
        assert!(pushing.join().unwrap());
        assert_eq!(dropped(&queue), 0);
    }

    #[test]
    fn who_waits_is_woken_when_it_is_done_or_too_late() {
        let queue = Arc::new(queue(100));
        queue.push(Message::Flush, WhenFull::Block, None);
        assert!(!queue.wait_handled(Duration::from_millis(1)));
        let working = {
            let queue = queue.clone();
            thread::spawn(move || {
                let mut taken = Vec::new();
                queue.take(&mut taken, LONG);
                queue.handled(taken.len());
            })
        };
        assert!(queue.wait_handled(LONG));
        working.join().unwrap();
    }

    #[test]
    fn what_comes_after_the_end_is_lost_and_counted() {
        let queue = queue(2);
        assert!(queue.close(Message::Flush));
        assert!(!queue.close(Message::Flush));
        assert!(!queue.push(Message::Flush, WhenFull::Block, None));
        assert_eq!(dropped(&queue), 1);
        let mut taken = Vec::new();
        assert!(queue.take(&mut taken, LONG));
        taken.clear();
        assert!(!queue.take(&mut taken, LONG));
    }
}
