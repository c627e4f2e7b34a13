//! A bounded queue of one signal and the task that empties it.
//!
//! ```text
//!  push ──> waiting (bounded) ──> batch ──> exporter ──> sent
//!    │                             ^  │ cannot be reached: pause, again
//!    └─ full: dropped              └──┤
//!                                     └ refused, all or some; or too old: failed
//! ```
//!
//! Pushing takes a lock for as long as it takes to move the items and never waits for the network.
//! Each item is counted exactly once: sent, failed or dropped.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use kymo_forward::Answer;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout, timeout_at};

use super::notices::Notices;
use crate::limits::{BATCH_AGE, FIRST_PAUSE, LINGER, LONGEST_PAUSE};

/// What sends the batches of a lane.
pub(super) trait Export: Send + Sync + 'static {
    /// What is sent.
    type Item: Send + Sync + 'static;
    /// Sends a batch once.
    fn export(&self, batch: &[Self::Item]) -> impl Future<Output = Answer> + Send;
}

/// What became of the items of a signal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SignalCounts {
    /// Taken by the endpoint.
    pub sent: u64,
    /// Given up: refused by the endpoint, with all of their request or alone, or the endpoint could
    /// not be reached for too long.
    pub failed: u64,
    /// Not taken into the queue since it was full, or left in it at the end.
    pub dropped: u64,
    /// In the queue.
    pub waiting: usize,
}

/// Which items go if the queue is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhenFull {
    /// Those that come: a trace that is there in part is better than many in part.
    DropNew,
    /// Those that have waited longest: newer ones say the same and more.
    DropOld,
}

/// A bounded queue of one signal.
pub(super) struct Lane<T> {
    state: Mutex<State<T>>,
    /// There is something to do.
    wake: Notify,
    /// Somebody waits: no pauses.
    urgent: Notify,
    /// The time to end was set, which concerns what is on its way.
    stopping: Notify,
    capacity: usize,
    batch: usize,
    when_full: WhenFull,
}

struct State<T> {
    waiting: VecDeque<T>,
    /// Since when the first of them waits.
    since: Option<Instant>,
    /// Items that were taken into the queue, ever.
    accepted: u64,
    /// Those of them that are no longer in it, nor on their way.
    done: u64,
    counts: SignalCounts,
    flushes: Vec<Flush>,
    /// Until when the lane may go on, once it was told to end.
    stop: Option<Instant>,
    is_stopped: bool,
}

/// Somebody who waits until what was accepted by then is done.
struct Flush {
    until: u64,
    lost_before: u64,
    reply: SyncSender<bool>,
}

impl<T> State<T> {
    fn lost(&self) -> u64 {
        self.counts.failed + self.counts.dropped
    }

    fn answer_flushes(&mut self) {
        let (done, lost, is_over) = (self.done, self.lost(), self.is_stopped);
        self.flushes.retain(|flush| {
            let is_done = flush.until <= done || is_over;
            if is_done {
                // Who no longer waits gets no answer.
                let _ = flush.reply.try_send(flush.until <= done && flush.lost_before == lost);
            }
            !is_done
        });
    }

    fn stop_within(&mut self, time: Duration) {
        let at = Instant::now() + time;
        self.stop = Some(self.stop.map_or(at, |earlier| earlier.min(at)));
    }

    fn drop_waiting(&mut self) {
        let count = self.waiting.len() as u64;
        self.waiting.clear();
        self.counts.dropped += count;
        self.done += count;
    }
}

impl<T: Send + Sync + 'static> Lane<T> {
    pub(super) fn new(capacity: usize, batch: usize, when_full: WhenFull) -> Arc<Self> {
        let state = State {
            waiting: VecDeque::new(),
            since: None,
            accepted: 0,
            done: 0,
            counts: SignalCounts::default(),
            flushes: Vec::new(),
            stop: None,
            is_stopped: false,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            wake: Notify::new(),
            urgent: Notify::new(),
            stopping: Notify::new(),
            capacity: capacity.max(1),
            batch: batch.max(1),
            when_full,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, items: impl IntoIterator<Item = T>) {
        let mut state = self.lock();
        let before = state.waiting.len();
        for item in items {
            if state.stop.is_some() {
                state.counts.dropped += 1;
                continue;
            }
            if state.waiting.len() >= self.capacity {
                state.counts.dropped += 1;
                match self.when_full {
                    WhenFull::DropNew => continue,
                    WhenFull::DropOld => {
                        state.waiting.pop_front();
                        state.done += 1;
                    }
                }
            }
            state.waiting.push_back(item);
            state.accepted += 1;
        }
        let after = state.waiting.len();
        if before == 0 && after > 0 {
            state.since = Some(Instant::now());
        }
        let is_news = after > 0 && (before == 0 || (before < self.batch && after >= self.batch));
        drop(state);
        if is_news {
            self.wake.notify_one();
        }
    }

    pub(super) fn counts(&self) -> SignalCounts {
        let state = self.lock();
        SignalCounts { waiting: state.waiting.len(), ..state.counts }
    }

    /// Counts items that went another way than through the queue.
    pub(super) fn count(&self, items: u64, is_sent: bool) {
        let mut state = self.lock();
        if is_sent { state.counts.sent += items } else { state.counts.failed += items }
    }

    /// Asks for everything that is queued now; whether nothing of it was lost comes as an answer.
    /// With `end` the lane is told to end within that time, at the same moment: what it gives up as
    /// soon as it knows of its end must not count as lost before.
    pub(super) fn ask(&self, end: Option<Duration>, reply: SyncSender<bool>) {
        let mut state = self.lock();
        let (until, lost_before) = (state.accepted, state.lost());
        state.flushes.push(Flush { until, lost_before, reply });
        state.answer_flushes();
        if let Some(time) = end {
            state.stop_within(time);
        }
        drop(state);
        self.hurry(end.is_some());
    }

    /// Tells the lane to end: it takes nothing more, and what it cannot send within `time` is
    /// dropped.
    pub(super) fn stop(&self, time: Duration) {
        self.lock().stop_within(time);
        self.hurry(true);
    }

    fn hurry(&self, is_stopping: bool) {
        if is_stopping {
            self.stopping.notify_one();
        }
        self.wake.notify_one();
        self.urgent.notify_one();
    }

    /// Empties the queue until the lane is stopped.
    pub(super) async fn run<E: Export<Item = T>>(self: Arc<Self>, exporter: E, notices: Notices) {
        while let Some(batch) = self.next().await {
            let count = batch.len() as u64;
            let lost = self.deliver(&batch, &exporter, &notices).await.min(count);
            let mut state = self.lock();
            state.done += count;
            state.counts.sent += count - lost;
            state.counts.failed += lost;
            state.answer_flushes();
        }
    }

    /// The next batch, when it is due; nothing at the end.
    async fn next(&self) -> Option<Vec<T>> {
        loop {
            let pause = {
                let mut state = self.lock();
                let now = Instant::now();
                if state.stop.is_some_and(|stop| stop <= now) {
                    state.drop_waiting();
                }
                if state.waiting.is_empty() {
                    state.is_stopped = state.stop.is_some();
                    state.answer_flushes();
                    if state.is_stopped {
                        return None;
                    }
                    None
                } else {
                    let is_hurried = !state.flushes.is_empty() || state.stop.is_some();
                    let due = state.since.unwrap_or(now) + LINGER;
                    if is_hurried || state.waiting.len() >= self.batch || due <= now {
                        let count = state.waiting.len().min(self.batch);
                        let batch = state.waiting.drain(..count).collect();
                        state.since = Some(now);
                        return Some(batch);
                    }
                    Some(due - now)
                }
            };
            match pause {
                None => self.wake.notified().await,
                // Either way there is something to look at.
                Some(pause) => drop(timeout(pause, self.wake.notified()).await),
            }
        }
    }

    /// Sends a batch, again and again if need be; how many of it were not taken, or more.
    async fn deliver<E: Export<Item = T>>(
        &self,
        batch: &[T],
        exporter: &E,
        notices: &Notices,
    ) -> u64 {
        const ALL: u64 = u64::MAX;
        let first = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let asked = match self.send(batch, exporter).await {
                Answer::Accepted(partial) => {
                    // Who is told may ask for counts, so that nothing is locked then.
                    let lost_before = self.lock().lost();
                    notices.takes(partial.as_ref(), lost_before);
                    return partial.map_or(0, |partial| partial.rejected);
                }
                Answer::Refused(why) => {
                    notices.fails(&why, true);
                    return ALL;
                }
                Answer::Later(why, asked) => {
                    notices.fails(&why, false);
                    asked
                }
            };
            let now = Instant::now();
            let wait = asked.map_or(pause, |asked| asked.clamp(pause, LONGEST_PAUSE));
            let is_over = self.lock().stop.is_some_and(|stop| stop <= now + wait);
            if is_over || now + wait > first + BATCH_AGE {
                return ALL;
            }
            // Whether the time is over or somebody waits: it is tried again.
            drop(timeout(wait, self.urgent.notified()).await);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Sends a batch once, for no longer than the lane may go on.
    async fn send<E: Export<Item = T>>(&self, batch: &[T], exporter: &E) -> Answer {
        let begun = Instant::now();
        let mut sending = pin!(exporter.export(batch));
        let mut over = pin!(self.over());
        poll_fn(|context| match sending.as_mut().poll(context) {
            Poll::Pending => over.as_mut().poll(context).map(|()| {
                let waited = begun.elapsed().as_secs_f64();
                Answer::Later(format!("no answer within {waited:.1} s, when it had to end"), None)
            }),
            sent => sent,
        })
        .await
    }

    /// Waits until the lane has to end, which may be said while this waits.
    async fn over(&self) {
        loop {
            let stop = self.lock().stop;
            let news = self.stopping.notified();
            let Some(stop) = stop else {
                news.await;
                continue;
            };
            if timeout_at(stop, news).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
#[path = "lane_tests.rs"]
mod tests;
