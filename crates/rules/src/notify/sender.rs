//! One receiver: what waits for it, and the task that sends it.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kymo_scrape::relabel::RelabelRule;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::alert::OutgoingAlert;
use super::client::{Client, SendError};
use super::message::{alertmanager, fingerprint, webhook};
use crate::limits::{DRAIN, MAX_BATCH_ALERTS, MAX_QUEUED_ALERTS, MAX_RETRY, MAX_SEND_ATTEMPTS};
use crate::state::lock;

/// What a receiver understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Alertmanager,
    Webhook { send_resolved: bool, repeat_interval: Duration },
}

/// A receiver, as it is configured. Two that are equal are the same one.
#[derive(Clone, PartialEq)]
pub(super) struct Receiver {
    /// Where it is; whole it is used for sending alone.
    pub(super) url: String,
    /// The same as it is shown.
    pub(super) shown_url: String,
    pub(super) language: Language,
    pub(super) timeout: Duration,
    pub(super) relabel_rules: Vec<RelabelRule>,
    pub(super) external_url: String,
    pub(super) first_retry: Duration,
}

impl std::fmt::Debug for Receiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").field("url", &self.shown_url).finish_non_exhaustive()
    }
}

/// What waits for a receiver, and what became of the rest.
#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<VecDeque<Arc<OutgoingAlert>>>,
    wake: Notify,
    pub(super) sent: AtomicU64,
    pub(super) dropped: AtomicU64,
    pub(super) failed_requests: AtomicU64,
}

impl Queue {
    /// Adds alerts; the oldest make room.
    pub(super) fn push(&self, alerts: impl IntoIterator<Item = Arc<OutgoingAlert>>) {
        let mut waiting = lock(&self.waiting);
        waiting.extend(alerts);
        let excess = waiting.len().saturating_sub(MAX_QUEUED_ALERTS);
        waiting.drain(..excess);
        drop(waiting);
        self.count_dropped(excess);
        self.wake.notify_one();
    }

    fn take(&self) -> Vec<Arc<OutgoingAlert>> {
        let mut waiting = lock(&self.waiting);
        let count = waiting.len().min(MAX_BATCH_ALERTS);
        waiting.drain(..count).collect()
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.waiting).len()
    }

    fn count_dropped(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }
}

/// What a webhook was told of an alert last.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Told {
    is_resolved: bool,
    starts_at_nanos: i64,
    at: Instant,
}

/// Webhooks are told what changed: nobody behind them sorts repetitions out. It outlives a change
/// of the settings, so that the end of an alert is told to whoever was told of its beginning.
#[derive(Debug, Default)]
pub(super) struct Memory {
    told: HashMap<u64, Told>,
}

/// What was remembered before, to be put back if a message is lost.
type Undo = Vec<(u64, Option<Told>)>;

impl Memory {
    /// Leaves what is news, and takes it for told.
    fn news(
        &mut self,
        alerts: Vec<Arc<OutgoingAlert>>,
        send_resolved: bool,
        repeat_interval: Duration,
        now: Instant,
    ) -> (Vec<Arc<OutgoingAlert>>, Undo) {
        let mut undo = Undo::new();
        let mut news = Vec::new();
        for alert in alerts {
            let key = fingerprint(&alert.labels);
            let before = self.told.get(&key).copied();
            let is_news = match before {
                // Whoever was not told that it fires need not be told that it does not. What was
                // told before a restart is not known.
                None => !alert.is_resolved || alert.is_restored,
                Some(told) if told.is_resolved => !alert.is_resolved,
                Some(_) if alert.is_resolved => true,
                Some(told) => {
                    told.starts_at_nanos != alert.starts_at_nanos
                        || now.duration_since(told.at) >= repeat_interval
                }
            };
            if !is_news {
                continue;
            }
            let (is_resolved, starts_at_nanos) = (alert.is_resolved, alert.starts_at_nanos);
            let told = Told { is_resolved, starts_at_nanos, at: now };
            undo.push((key, self.told.insert(key, told)));
            if send_resolved || !alert.is_resolved {
                news.push(alert);
            }
        }
        (news, undo)
    }

    fn undo(&mut self, undo: Undo) {
        for (key, before) in undo.into_iter().rev() {
            match before {
                Some(told) => drop(self.told.insert(key, told)),
                None => drop(self.told.remove(&key)),
            }
        }
    }

    /// Forgets what nobody will speak of again.
    fn forget(&mut self, now: Instant, after: Duration) {
        self.told.retain(|_, told| now.duration_since(told.at) < after);
    }
}

/// Sends what waits until it is told to stop, and then what can be sent quickly.
pub(super) async fn run(mut sender: Sender, mut stop: watch::Receiver<bool>) {
    loop {
        let batch = sender.queue.take();
        if batch.is_empty() {
            tokio::select! {
                () = sender.queue.wake.notified() => continue,
                _ = stop.changed() => return,
            }
        }
        sender.deliver(batch, &mut stop).await;
        if *stop.borrow() || stop.has_changed().is_err() {
            let drained = tokio::time::timeout(DRAIN, sender.drain()).await;
            if drained.is_err() {
                sender.queue.count_dropped(sender.queue.len());
            }
            return;
        }
    }
}

/// What the task of a receiver works with.
pub(super) struct Sender {
    pub(super) receiver: Receiver,
    pub(super) queue: Arc<Queue>,
    /// Shared with whoever takes over the receiver.
    pub(super) memory: Arc<Mutex<Memory>>,
    /// Another one when certificates were read again.
    pub(super) clients: watch::Receiver<Arc<Client>>,
}

impl Sender {
    async fn drain(&mut self) {
        loop {
            let batch = self.queue.take();
            if batch.is_empty() {
                return;
            }
            let (body, count, _) = self.message(batch);
            if count > 0 {
                self.attempt(body, count).await.unwrap_or_else(|_| self.queue.count_dropped(count));
            }
        }
    }

    /// What is sent, and how many alerts are in it.
    fn message(&mut self, batch: Vec<Arc<OutgoingAlert>>) -> (Vec<u8>, usize, Undo) {
        match self.receiver.language {
            Language::Alertmanager => (alertmanager(&batch), batch.len(), Undo::new()),
            Language::Webhook { send_resolved, repeat_interval } => {
                let now = Instant::now();
                let mut memory = lock(&self.memory);
                memory.forget(now, repeat_interval.max(Duration::from_secs(3_600)) * 2);
                let (news, undo) = memory.news(batch, send_resolved, repeat_interval, now);
                (webhook(&news, &self.receiver.external_url), news.len(), undo)
            }
        }
    }

    /// Sends a batch, several times if need be.
    async fn deliver(&mut self, batch: Vec<Arc<OutgoingAlert>>, stop: &mut watch::Receiver<bool>) {
        let (body, count, undo) = self.message(batch);
        if count == 0 {
            return;
        }
        let mut pause = self.receiver.first_retry;
        for attempt in 1..=MAX_SEND_ATTEMPTS {
            let error = match self.attempt(body.clone(), count).await {
                Ok(()) => return,
                Err(error) => error,
            };
            let is_last = attempt == MAX_SEND_ATTEMPTS || matches!(error, SendError::Never(_));
            let url = &self.receiver.shown_url;
            tracing::warn!(url, alerts = count, attempt, %error, "alerts cannot be sent");
            if is_last {
                break;
            }
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = stop.changed() => break,
            }
            pause = (pause * 2).min(MAX_RETRY);
        }
        lock(&self.memory).undo(undo);
        self.queue.count_dropped(count);
    }

    async fn attempt(&self, body: Vec<u8>, count: usize) -> Result<(), SendError> {
        let Receiver { url, timeout, .. } = &self.receiver;
        let client = self.clients.borrow().clone();
        let done = client.post(url, body, *timeout).await;
        match done {
            Ok(()) => self.queue.sent.fetch_add(count as u64, Ordering::Relaxed),
            Err(_) => self.queue.failed_requests.fetch_add(1, Ordering::Relaxed),
        };
        done
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn alert(name: &str, is_resolved: bool) -> Arc<OutgoingAlert> {
        Arc::new(OutgoingAlert {
            labels: BTreeMap::from([("a".to_owned(), name.to_owned())]),
            annotations: BTreeMap::new(),
            starts_at_nanos: 1,
            ends_at_nanos: 2,
            is_resolved,
            is_restored: false,
            generator_url: String::new(),
        })
    }

    #[test]
    fn a_full_queue_drops_the_oldest() {
        let queue = Queue::default();
        queue.push((0..MAX_QUEUED_ALERTS + 3).map(|nth| alert(&nth.to_string(), false)));
        assert_eq!(queue.len(), MAX_QUEUED_ALERTS);
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 3);
        let batch = queue.take();
        assert_eq!((batch.len(), batch[0].labels["a"].as_str()), (MAX_BATCH_ALERTS, "3"));
    }

    #[tokio::test]
    async fn webhooks_are_told_what_changed() {
        let mut memory = Memory::default();
        let start = Instant::now();
        let hour = Duration::from_secs(3_600);
        let mut tell = |alerts: &[(&str, bool)], after: Duration| {
            let alerts = alerts.iter().map(|(name, resolved)| alert(name, *resolved)).collect();
            let (news, undo) = memory.news(alerts, true, 4 * hour, start + after);
            let names: Vec<String> = news
                .iter()
                .map(|alert| format!("{}{}", alert.labels["a"], alert.is_resolved))
                .collect();
            (names.join(" "), undo)
        };
        assert_eq!(tell(&[("a", false), ("b", true)], hour).0, "afalse");
        assert_eq!(tell(&[("a", false)], 2 * hour).0, "");
        assert_eq!(tell(&[("a", false)], 5 * hour).0, "afalse", "it goes on");
        let (names, undo) = tell(&[("a", true)], 6 * hour);
        assert_eq!(names, "atrue");
        assert_eq!(tell(&[("a", true)], 6 * hour).0, "");
        memory.undo(undo);
        let again = memory.news(vec![alert("a", true)], true, hour, start + 6 * hour).0;
        assert_eq!(again.len(), 1, "a lost message is sent again");
        let ended = OutgoingAlert { is_restored: true, ..(*alert("c", true)).clone() };
        let told = memory.news(vec![Arc::new(ended)], true, hour, start + 6 * hour).0;
        assert_eq!(told.len(), 1, "it may have been told of before a restart");
    }
}
