//! One request, until it is taken, refused for good, in doubt, or the destination is stopped.
//!
//! A server that is away or busy is asked again and again, with longer and longer pauses. A request
//! whose answers say neither yes nor no is tried a few times; then the worker finds out by others
//! whether it is to blame.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use kymo_wire::Signal;

use super::body::Encoded;
use super::http::HttpSender;
use super::outgoing::{Outgoing, Trial};
use super::settings::RetrySettings;
use super::status::{DestinationState, Meter};
use super::stop::Stop;
use super::verdict::{Hope, Verdict};
use crate::limits::{DOUBTFUL_TRIES, LONGEST_ASKED_PAUSE};
use crate::retry::jittered;

/// What became of a request.
#[derive(Debug)]
pub(crate) enum Delivered {
    /// It was taken.
    Taken,
    /// The server will never take it.
    Refused(String),
    /// Some answers said neither yes nor no; whether it may be that the signal is not taken here.
    InDoubt { is_signal: bool },
    /// Nobody knows: the destination was stopped before.
    Stopped,
}

/// Takes requests to a server.
pub(crate) struct Courier {
    pub(crate) sender: HttpSender,
    name: String,
    retry: RetrySettings,
    meter: Arc<Meter>,
    stop: Arc<Stop>,
    /// Signals that the server seems not to know, by their bits.
    unknown_signals: AtomicU8,
}

impl Courier {
    pub(crate) fn new(
        sender: HttpSender,
        name: &str,
        retry: RetrySettings,
        meter: Arc<Meter>,
        stop: Arc<Stop>,
    ) -> Self {
        let unknown_signals = AtomicU8::new(0);
        Self { sender, name: name.to_owned(), retry, meter, stop, unknown_signals }
    }

    /// Takes a request to the server.
    pub(crate) async fn deliver(&self, outgoing: &Outgoing, mut encoded: Encoded) -> Delivered {
        let mut pause = self.retry.first;
        let mut doubtful = 0;
        loop {
            self.meter.state(DestinationState::Sending);
            let (why, asked, hope) = match self.sender.send(outgoing, &encoded).await {
                Verdict::Taken(partial) => {
                    let rejected = partial.as_ref().map_or(0, |partial| partial.rejected);
                    self.meter.sent(outgoing, encoded.size_bytes(), rejected);
                    self.set_known(outgoing.signal, true);
                    if let Some(partial) = partial {
                        self.note(&partial.to_string(), "a request was taken in part");
                    }
                    return Delivered::Taken;
                }
                Verdict::Refused(why) => return Delivered::Refused(why),
                Verdict::UnknownEncoding(why) => match self.plain(outgoing, &encoded, &why).await {
                    Ok(Some(plain)) => {
                        encoded = plain;
                        continue;
                    }
                    Ok(None) => return Delivered::Taken,
                    Err(why) => return Delivered::Refused(why),
                },
                Verdict::Later { why, asked, hope } => (why, asked, hope),
            };
            self.note(&why, "not sent, will be tried again");
            let is_signal = hope == Hope::NotHere;
            if is_signal || hope == Hope::Doubtful {
                doubtful += 1;
                match outgoing.trial {
                    Trial::Last => {
                        self.set_known(outgoing.signal, !is_signal);
                        return Delivered::Refused(why);
                    }
                    // Once a signal was given up, one try tells whether that is still so.
                    _ if is_signal && !self.is_known(outgoing.signal) => {
                        return Delivered::Refused(why);
                    }
                    Trial::Probe => return Delivered::InDoubt { is_signal },
                    Trial::Usual if doubtful >= DOUBTFUL_TRIES => {
                        return Delivered::InDoubt { is_signal };
                    }
                    Trial::Usual => {}
                }
            }
            if hope == Hope::Somebody {
                pause = self.retry.longest;
            }
            self.meter.retried();
            self.meter.state(DestinationState::WaitingToRetry);
            let asked = asked.unwrap_or_default().min(LONGEST_ASKED_PAUSE);
            if self.stop.sleep(jittered(pause).max(asked)).await {
                return Delivered::Stopped;
            }
            pause = next_pause(pause, &self.retry);
        }
    }

    /// What to send to a server that may not know the encoding: the request unpacked, if that is
    /// taken. None if it was taken just now.
    async fn plain(
        &self,
        outgoing: &Outgoing,
        encoded: &Encoded,
        why: &str,
    ) -> Result<Option<Encoded>, String> {
        let plain = self.sender.encode_plain(outgoing)?;
        match self.sender.send(outgoing, &plain).await {
            Verdict::Taken(partial) => {
                self.sender.forget_encoding(encoded);
                tracing::info!(destination = self.name, why, "encoding not known, sent unpacked");
                let rejected = partial.map_or(0, |partial| partial.rejected);
                self.meter.sent(outgoing, plain.size_bytes(), rejected);
                self.set_known(outgoing.signal, true);
                Ok(None)
            }
            Verdict::Refused(why) => Err(why),
            // Not known yet: the rest is decided with the plain bytes.
            Verdict::Later { .. } | Verdict::UnknownEncoding(_) => Ok(Some(plain)),
        }
    }

    fn is_known(&self, signal: Signal) -> bool {
        self.unknown_signals.load(Ordering::Relaxed) & bit(signal) == 0
    }

    fn set_known(&self, signal: Signal, is_known: bool) {
        match is_known {
            true => self.unknown_signals.fetch_and(!bit(signal), Ordering::Relaxed),
            false => self.unknown_signals.fetch_or(bit(signal), Ordering::Relaxed),
        };
    }

    fn note(&self, why: &str, what: &str) {
        if self.meter.failed(why) {
            tracing::warn!(destination = self.name, why, "{what}");
        }
    }
}

const fn bit(signal: Signal) -> u8 {
    match signal {
        Signal::Traces => 1,
        Signal::Metrics => 2,
        Signal::Logs => 4,
    }
}

/// The pause after one of `pause`, of those between `first` and `longest`.
pub(crate) fn next_pause(pause: Duration, retry: &RetrySettings) -> Duration {
    (pause * 2).min(retry.longest)
}
