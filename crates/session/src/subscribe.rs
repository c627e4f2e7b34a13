//! Those who want to know: callbacks, channels, streams.
//!
//! Callbacks run on the worker's thread, with all events of a batch at once. One that panics is
//! counted and called again with the next batch. Channels and streams hold so many events as they
//! were made for; what does not fit is lost for that reader alone, and counted.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

use crate::event::Event;

type Callback = Box<dyn FnMut(&[Event]) + Send>;

/// A subscription. Dropping it changes nothing; [`Subscription::cancel`] ends it.
#[derive(Debug, Clone)]
pub struct Subscription {
    is_canceled: Arc<AtomicBool>,
}

impl Subscription {
    /// No more events from now on.
    pub fn cancel(&self) {
        self.is_canceled.store(true, Ordering::Relaxed);
    }
}

/// All subscribers of a session.
#[derive(Default)]
pub(crate) struct Subscribers {
    /// Those that have come since the worker looked.
    new: Mutex<New>,
    /// Whether there may be any.
    are_there: AtomicBool,
    panics: AtomicU64,
    missed: Arc<AtomicU64>,
}

#[derive(Default)]
struct New {
    subscribers: Vec<Subscriber>,
    /// The session has ended: who comes now gets nothing.
    has_ended: bool,
}

pub(crate) struct Subscriber {
    is_canceled: Arc<AtomicBool>,
    sink: Sink,
}

enum Sink {
    Callback(Callback),
    Channel(SyncSender<Event>),
    Stream(Arc<Mutex<Buffer>>),
}

impl Subscribers {
    pub(crate) fn callback(&self, callback: Callback) -> Subscription {
        self.add(Sink::Callback(callback))
    }

    pub(crate) fn channel(&self, capacity: usize) -> Receiver<Event> {
        let (sender, receiver) = sync_channel(capacity.max(1));
        self.add(Sink::Channel(sender));
        receiver
    }

    pub(crate) fn stream(&self, capacity: usize) -> EventStream {
        let buffer = Arc::new(Mutex::new(Buffer::new(capacity.max(1))));
        let subscription = self.add(Sink::Stream(buffer.clone()));
        EventStream { buffer, subscription }
    }

    fn add(&self, sink: Sink) -> Subscription {
        let is_canceled = Arc::new(AtomicBool::new(false));
        let subscriber = Subscriber { is_canceled: is_canceled.clone(), sink };
        let mut new = self.lock();
        if !new.has_ended {
            new.subscribers.push(subscriber);
        }
        drop(new);
        self.are_there.store(true, Ordering::Release);
        Subscription { is_canceled }
    }

    /// Adds those that have come to those that the worker has. Whether there are any.
    pub(crate) fn join(&self, known: &mut Vec<Subscriber>) -> bool {
        if self.are_there.swap(false, Ordering::Acquire) {
            known.append(&mut self.lock().subscribers);
        }
        known.retain(|subscriber| !subscriber.is_canceled.load(Ordering::Relaxed));
        !known.is_empty()
    }

    /// Gives them events.
    pub(crate) fn deliver(&self, known: &mut Vec<Subscriber>, events: &[Event]) {
        if events.is_empty() {
            return;
        }
        known.retain_mut(|subscriber| match &mut subscriber.sink {
            Sink::Callback(callback) => {
                if catch_unwind(AssertUnwindSafe(|| callback(events))).is_err()
                    && self.panics.fetch_add(1, Ordering::Relaxed) == 0
                {
                    tracing::warn!("a subscriber of a session panicked; it is called again");
                }
                true
            }
            Sink::Channel(sender) => events.iter().all(|event| {
                match sender.try_send(event.clone()) {
                    Ok(()) => true,
                    Err(TrySendError::Full(_)) => {
                        self.missed.fetch_add(1, Ordering::Relaxed);
                        true
                    }
                    // Nobody reads it any more.
                    Err(TrySendError::Disconnected(_)) => false,
                }
            }),
            Sink::Stream(buffer) => {
                let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
                let missed = buffer.add(events);
                let waker = buffer.waker.take();
                drop(buffer);
                self.missed.fetch_add(missed, Ordering::Relaxed);
                if let Some(waker) = waker {
                    waker.wake();
                }
                true
            }
        });
    }

    /// Says that nothing more comes.
    pub(crate) fn end(&self, known: &mut Vec<Subscriber>) {
        // At once: who comes before is among those that are taken, who comes after sees the end.
        let mut new = self.lock();
        new.has_ended = true;
        known.append(&mut new.subscribers);
        drop(new);
        known.clear();
    }

    fn lock(&self) -> MutexGuard<'_, New> {
        self.new.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often one panicked.
    pub(crate) fn panics(&self) -> u64 {
        self.panics.load(Ordering::Relaxed)
    }

    /// How many events readers did not get.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.load(Ordering::Relaxed)
    }
}

impl Drop for Subscriber {
    /// Nothing more comes, however the session ended: a channel ends with its sender, a stream is
    /// told.
    fn drop(&mut self) {
        if let Sink::Stream(buffer) = &self.sink {
            let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
            buffer.has_ended = true;
            let waker = buffer.waker.take();
            drop(buffer);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

/// Events for one reader.
#[derive(Debug)]
struct Buffer {
    events: VecDeque<Event>,
    capacity: usize,
    waker: Option<Waker>,
    has_ended: bool,
}

impl Buffer {
    fn new(capacity: usize) -> Self {
        Self { events: VecDeque::new(), capacity, waker: None, has_ended: false }
    }

    /// How many did not fit.
    fn add(&mut self, events: &[Event]) -> u64 {
        let room = self.capacity.saturating_sub(self.events.len());
        self.events.extend(events.iter().take(room).cloned());
        events.len().saturating_sub(room) as u64
    }
}

/// Events as they come; ends with the session.
#[derive(Debug)]
pub struct EventStream {
    buffer: Arc<Mutex<Buffer>>,
    subscription: Subscription,
}

impl Stream for EventStream {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        match buffer.events.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None if buffer.has_ended => Poll::Ready(None),
            None => {
                buffer.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.subscription.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::TryRecvError;

    use super::*;

    #[test]
    fn who_comes_while_the_session_ends_is_told() {
        let subscribers = Subscribers::default();
        let mut stream = subscribers.stream(1);
        let channel = subscribers.channel(1);
        // They have come, but not got so far as to say so.
        subscribers.are_there.store(false, Ordering::Relaxed);
        subscribers.end(&mut Vec::new());
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(Pin::new(&mut stream).poll_next(&mut context), Poll::Ready(None)));
        assert!(channel.try_recv().is_err_and(|error| error == TryRecvError::Disconnected));
    }
}
