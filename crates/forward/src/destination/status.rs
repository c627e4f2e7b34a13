//! What a destination has done and how it is.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kymo_journal::{Journal, LossKey, LossReason};
use kymo_wire::Signal;
use serde::Serialize;

use super::outgoing::Outgoing;
use super::settings::DestinationSettings;
use crate::limits::LOG_INTERVAL;

/// A destination, as it is now. Counts are since it was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DestinationStatus {
    /// What it is called.
    pub name: String,
    /// How it is talked to.
    pub protocol: &'static str,
    /// Where it is, without secrets.
    pub target: String,
    /// What it does.
    pub state: DestinationState,
    /// Since when, in milliseconds since 1970.
    pub since_unix_millis: u64,
    /// What was sent, by signal: traces, metrics, logs.
    pub signals: Vec<SignalStatus>,
    /// Tries that had to be repeated.
    pub retries: u64,
    /// Traces that were decided on before their time, since there were too many.
    pub early_decisions: u64,
    /// Bytes of the journal that it has still to send.
    pub lag_bytes: u64,
    /// Bytes of the journal that the disk did not give back as they were written, before it got them:
    /// of which signal they were nobody knows.
    pub damaged_bytes: u64,
    /// How long ago the oldest record was received that it has read and not sent.
    pub oldest_age_millis: Option<u64>,
    /// What went wrong last.
    pub last_error: Option<LastError>,
}

/// What a destination does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DestinationState {
    /// There is nothing to send.
    Idle,
    /// Requests are on their way.
    Sending,
    /// A request was not taken; it is tried again after a pause.
    WaitingToRetry,
    /// It was stopped, or cannot go on: see the last error.
    Stopped,
}

/// What a destination did with one signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SignalStatus {
    /// The signal.
    pub signal: &'static str,
    /// Requests that were taken.
    pub sent_requests: u64,
    /// Records of the journal in them: requests, as they were received.
    pub sent_records: u64,
    /// Their bytes, as they were sent.
    pub sent_bytes: u64,
    /// Spans, points or log records that the server took requests without.
    pub rejected: u64,
    /// Records of the journal that were refused and set aside.
    pub refused_records: u64,
    /// Their bytes.
    pub refused_bytes: u64,
    /// Records of the journal that were lost since it lagged more than its budget, if their signal
    /// goes there.
    pub lost_records: u64,
    /// Their bytes.
    pub lost_bytes: u64,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastError {
    /// What.
    pub message: String,
    /// When, in milliseconds since 1970.
    pub at_unix_millis: u64,
}

/// Counts of one signal.
#[derive(Debug, Default)]
struct Counts {
    sent_requests: AtomicU64,
    sent_records: AtomicU64,
    sent_bytes: AtomicU64,
    rejected: AtomicU64,
    refused_records: AtomicU64,
    refused_bytes: AtomicU64,
}

/// What a worker notes and others read.
#[derive(Debug)]
pub(crate) struct Meter {
    signals: [Counts; 3],
    retries: AtomicU64,
    early_decisions: AtomicU64,
    oldest_nanos: AtomicU64,
    told: Mutex<Told>,
}

#[derive(Debug)]
struct Told {
    state: DestinationState,
    since: SystemTime,
    last_error: Option<(String, SystemTime)>,
    logged: Option<Instant>,
}

impl Default for Meter {
    fn default() -> Self {
        let told = Told {
            state: DestinationState::Idle,
            since: SystemTime::now(),
            last_error: None,
            logged: None,
        };
        Self {
            signals: Default::default(),
            retries: AtomicU64::new(0),
            early_decisions: AtomicU64::new(0),
            oldest_nanos: AtomicU64::new(0),
            told: Mutex::new(told),
        }
    }
}

impl Meter {
    fn counts(&self, signal: Signal) -> &Counts {
        let [traces, metrics, logs] = &self.signals;
        match signal {
            Signal::Traces => traces,
            Signal::Metrics => metrics,
            Signal::Logs => logs,
        }
    }

    pub(crate) fn sent(&self, outgoing: &Outgoing, size_bytes: usize, rejected: u64) {
        let counts = self.counts(outgoing.signal);
        add(&counts.sent_requests, 1);
        add(&counts.sent_records, outgoing.records());
        add(&counts.sent_bytes, size_bytes as u64);
        add(&counts.rejected, rejected);
    }

    pub(crate) fn refused(&self, signal: Signal, size_bytes: usize) {
        let counts = self.counts(signal);
        add(&counts.refused_records, 1);
        add(&counts.refused_bytes, size_bytes as u64);
    }

    pub(crate) fn retried(&self) {
        add(&self.retries, 1);
    }

    pub(crate) fn decided_early(&self, traces: u64) {
        add(&self.early_decisions, traces);
    }

    pub(crate) fn oldest(&self, nanos: Option<u64>) {
        self.oldest_nanos.store(nanos.unwrap_or_default(), Ordering::Relaxed);
    }

    pub(crate) fn state(&self, state: DestinationState) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.state != state {
            told.state = state;
            told.since = SystemTime::now();
        }
    }

    /// Notes what went wrong; whether it should be logged, which is seldom so.
    pub(crate) fn failed(&self, why: &str) -> bool {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.last_error = Some((why.to_owned(), SystemTime::now()));
        let is_due = told.logged.is_none_or(|at| at.elapsed() >= LOG_INTERVAL);
        if is_due {
            told.logged = Some(Instant::now());
        }
        is_due
    }

    /// The status of a destination.
    pub(crate) fn status(
        &self,
        settings: &DestinationSettings,
        journal: &Journal,
    ) -> DestinationStatus {
        let cursor = settings.cursor();
        let lost = journal.stats().lost;
        let lost = |reason: LossReason, signal: Option<Signal>| {
            let is_asked = |key: &LossKey| {
                key.cursor == cursor
                    && key.reason == reason
                    && key.signal.map(wire_signal) == signal
            };
            let found = lost.iter().filter(|(key, _)| is_asked(key));
            found.fold((0, 0), |(records, bytes), (_, count)| {
                (records + count.records, bytes + count.bytes)
            })
        };
        let (_, damaged_bytes) = lost(LossReason::Damage, None);
        let signals = Signal::ALL.map(|signal| {
            let counts = self.counts(signal);
            // What would not have gone there is not lost to it.
            let (lost_records, lost_bytes) = match settings.is_routed(signal) {
                true => lost(LossReason::Budget, Some(signal)),
                false => (0, 0),
            };
            SignalStatus {
                signal: signal.name(),
                sent_requests: get(&counts.sent_requests),
                sent_records: get(&counts.sent_records),
                sent_bytes: get(&counts.sent_bytes),
                rejected: get(&counts.rejected),
                refused_records: get(&counts.refused_records),
                refused_bytes: get(&counts.refused_bytes),
                lost_records,
                lost_bytes,
            }
        });
        let found = journal.cursors().into_iter().find(|known| known.name == cursor);
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        DestinationStatus {
            name: settings.name.clone(),
            protocol: settings.protocol.word(),
            target: settings.target(),
            state: told.state,
            since_unix_millis: unix_millis(told.since),
            signals: signals.into(),
            retries: get(&self.retries),
            early_decisions: get(&self.early_decisions),
            lag_bytes: found.map_or(0, |cursor| cursor.lag_bytes),
            damaged_bytes,
            oldest_age_millis: age_millis(get(&self.oldest_nanos)),
            last_error: told.last_error.as_ref().map(|(message, at)| LastError {
                message: message.clone(),
                at_unix_millis: unix_millis(*at),
            }),
        }
    }
}

fn add(counter: &AtomicU64, more: u64) {
    counter.fetch_add(more, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn age_millis(since_nanos: u64) -> Option<u64> {
    let since = UNIX_EPOCH + Duration::from_nanos(Some(since_nanos).filter(|at| *at > 0)?);
    let age = SystemTime::now().duration_since(since).unwrap_or_default();
    Some(u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
}

pub(crate) fn unix_millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The signal of a record of the journal.
pub(crate) fn wire_signal(signal: kymo_journal::Signal) -> Signal {
    match signal {
        kymo_journal::Signal::Traces => Signal::Traces,
        kymo_journal::Signal::Metrics => Signal::Metrics,
        kymo_journal::Signal::Logs => Signal::Logs,
    }
}
