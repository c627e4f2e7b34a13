//! The thread of a destination: reads the journal, sends, and moves the cursor.
//!
//! ```text
//!  journal ──> prepare (routes, sampling, formats) ──> ready ──> on its way ──> progress ──> cursor
//!                 └──> tail: held by trace ──────────────┘           └──> refused: set aside
//! ```
//!
//! Reading blocks, so each destination has a thread; what is sent over a network is a task of the
//! runtime. With a concurrency of one, one request is on its way at a time, and what has gathered
//! meanwhile becomes the next one as far as it can be joined.
//!
//! The cursor moves over a record when everything of it was taken, or set aside in a file, or is not
//! wanted here. So after a crash what was on its way comes again: at least once, in order.

mod doubt;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use kymo_journal::{Entry, Error, Journal, Reader};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::deliver::{Courier, Delivered, next_pause};
use super::lines::{LineError, LineWriter};
use super::outgoing::{Outgoing, Part, Trial};
use super::prepare::{Prepared, Preparer};
use super::progress::Progress;
use super::refused::{Refusal, RefusedFile};
use super::settings::RetrySettings;
use super::status::{DestinationState, Meter, wire_signal};
use super::stop::Stop;
use super::tail::Tail;
use crate::limits::{MAX_GATHERED_RECORDS, READ_WAIT, READ_WAIT_IN_FLIGHT, STOP_WAIT};
use crate::retry::jittered;
use doubt::InDoubt;

/// Where a worker's requests go.
pub(crate) enum Target {
    /// To a server.
    Remote { courier: Arc<Courier>, runtime: Handle, concurrency: usize },
    /// To a file or the console.
    Lines(LineWriter),
}

/// What a worker is made of.
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) cursor: String,
    pub(crate) journal: Journal,
    pub(crate) reader: Reader,
    pub(crate) preparer: Preparer,
    pub(crate) tail: Option<Tail>,
    pub(crate) target: Target,
    pub(crate) retry: RetrySettings,
    pub(crate) refused: RefusedFile,
    pub(crate) meter: Arc<Meter>,
    pub(crate) stop: Arc<Stop>,
}

/// A request that has ended: its number, and how.
type Ended = (u64, Delivered);

/// A destination at work.
pub(crate) struct Worker {
    parts: Parts,
    progress: Progress,
    ready: VecDeque<Outgoing>,
    in_flight: HashMap<u64, (Outgoing, AbortHandle)>,
    in_doubt: InDoubt,
    next_number: u64,
    ended: (Sender<Ended>, Receiver<Ended>),
}

/// Says how a request ended, also if its task is dropped before it did.
struct Ending {
    number: u64,
    sender: Sender<Ended>,
    delivered: Delivered,
}

impl Ending {
    fn with(mut self, delivered: Delivered) {
        self.delivered = delivered;
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let delivered = std::mem::replace(&mut self.delivered, Delivered::Stopped);
        // Nobody listens any more if the worker has ended.
        let _ = self.sender.send((self.number, delivered));
    }
}

impl Worker {
    pub(crate) fn new(parts: Parts) -> Self {
        Self {
            parts,
            progress: Progress::default(),
            ready: VecDeque::new(),
            in_flight: HashMap::new(),
            in_doubt: InDoubt::new(),
            next_number: 0,
            ended: channel(),
        }
    }

    /// Works until it is told to stop, or the journal is closed.
    pub(crate) fn run(mut self) {
        let mut pause = self.parts.retry.first;
        while !self.parts.stop.is_told() {
            match self.step() {
                Ok(()) => pause = self.parts.retry.first,
                Err(Error::Closed) => break,
                Err(error) => {
                    self.note(&error.to_string(), "the journal cannot be read");
                    self.parts.stop.wait(jittered(pause));
                    pause = next_pause(pause, &self.parts.retry);
                }
            }
        }
        self.finish();
        self.parts.meter.state(DestinationState::Stopped);
    }

    fn step(&mut self) -> Result<(), Error> {
        while let Ok((number, delivered)) = self.ended.1.try_recv() {
            self.end(number, delivered);
        }
        self.decide();
        if self.in_flight.len() < self.concurrency() {
            self.gather()?;
            self.dispatch();
        }
        self.settle()?;
        if self.ready.is_empty() && self.in_flight.len() < self.concurrency() {
            return self.wait_for_record();
        }
        self.wait_for_end(READ_WAIT);
        Ok(())
    }

    fn concurrency(&self) -> usize {
        match &self.parts.target {
            Target::Remote { concurrency, .. } => *concurrency,
            Target::Lines(_) => 1,
        }
    }

    /// Reads what is there, until the next request is as large as it gets.
    fn gather(&mut self) -> Result<(), Error> {
        for _ in 0..MAX_GATHERED_RECORDS {
            // A second one is begun: the first is full.
            if self.ready.len() > 1 {
                break;
            }
            let Some(entry) = self.parts.reader.try_next()? else { break };
            self.take(&entry);
        }
        Ok(())
    }

    /// Waits for a record, but not for long.
    fn wait_for_record(&mut self) -> Result<(), Error> {
        let is_idle = self.in_flight.is_empty();
        let mut wait = if is_idle { READ_WAIT } else { READ_WAIT_IN_FLIGHT };
        if is_idle {
            self.parts.meter.state(DestinationState::Idle);
        }
        if let Some(due) = self.parts.tail.as_ref().and_then(Tail::next_due) {
            wait = wait.min(due.saturating_duration_since(Instant::now()));
        }
        let entry = self.parts.reader.next(Some(wait))?;
        let is_silent = entry.is_none();
        if let Some(entry) = entry {
            self.take(&entry);
        }
        // Nobody is there who could tell of those in doubt, or what comes is not wanted here.
        let has_waited = is_silent || self.in_doubt.is_older_than(self.parts.retry.longest);
        if is_idle && self.ready.is_empty() && has_waited {
            self.try_again();
        }
        Ok(())
    }

    /// Makes requests of a record.
    fn take(&mut self, entry: &Entry) {
        let ticket = self.progress.begin(entry.next_position, entry.received_nanos);
        match self.parts.preparer.prepare(entry) {
            Prepared::Nothing => {}
            Prepared::Damaged(why) => self.set_aside(&damaged(entry, why)),
            Prepared::Spans(request) => self.hold(entry, &request, ticket),
            Prepared::Request { format, compression, bytes } => {
                self.progress.hold(ticket);
                self.push(Outgoing {
                    signal: wire_signal(entry.signal),
                    tenant: Arc::clone(&entry.tenant),
                    format,
                    compression,
                    trial: Trial::Usual,
                    parts: vec![Part { bytes, tickets: vec![ticket] }],
                });
            }
        }
        self.progress.release(ticket);
    }

    fn push(&mut self, outgoing: Outgoing) {
        match self.ready.back_mut() {
            Some(last) if last.can_join(&outgoing) => last.parts.extend(outgoing.parts),
            _ => self.ready.push_back(outgoing),
        }
    }

    /// Holds the spans of a request until their traces are decided on.
    fn hold(&mut self, entry: &Entry, request: &bytes::Bytes, ticket: u64) {
        let Some(tail) = &mut self.parts.tail else { return };
        let now = Instant::now();
        let added = tail.add(&entry.tenant, request, ticket, now, &mut self.progress);
        let early = tail.take_early();
        self.parts.meter.decided_early(early);
        match added {
            Ok(outgoing) => outgoing.into_iter().for_each(|outgoing| self.push(outgoing)),
            Err(error) => {
                self.set_aside(&damaged(entry, format!("the request is not OTLP: {error}")));
            }
        }
    }

    fn decide(&mut self) {
        let Some(tail) = &mut self.parts.tail else { return };
        let outgoing = tail.decide(Instant::now(), &mut self.progress);
        outgoing.into_iter().for_each(|outgoing| self.push(outgoing));
    }

    /// Sends as much of what is ready as may be on its way.
    fn dispatch(&mut self) {
        while self.in_flight.len() < self.concurrency() && !self.parts.stop.is_told() {
            let Some(mut outgoing) = self.ready.pop_front() else { return };
            if outgoing.trial != Trial::Last {
                outgoing.trial = if self.in_doubt.is_empty() { Trial::Usual } else { Trial::Probe };
            }
            match &mut self.parts.target {
                Target::Lines(_) => self.write(outgoing),
                Target::Remote { courier, runtime, .. } => {
                    let encoded = match courier.sender.encode(&outgoing) {
                        Ok(encoded) => encoded,
                        Err(why) => {
                            self.refuse_or_split(outgoing, why);
                            continue;
                        }
                    };
                    let number = self.next_number;
                    self.next_number += 1;
                    let delivered = Delivered::Stopped;
                    let ending = Ending { number, sender: self.ended.0.clone(), delivered };
                    let (courier, sent) = (Arc::clone(courier), outgoing.clone());
                    let task = runtime.spawn(async move {
                        ending.with(courier.deliver(&sent, encoded).await);
                    });
                    self.in_flight.insert(number, (outgoing, task.abort_handle()));
                }
            }
        }
    }

    /// Writes lines, and tries again until they are written.
    fn write(&mut self, outgoing: Outgoing) {
        let mut pause = self.parts.retry.first;
        loop {
            let Target::Lines(writer) = &mut self.parts.target else { return };
            self.parts.meter.state(DestinationState::Sending);
            match writer.write(&outgoing) {
                Ok(size_bytes) => {
                    self.parts.meter.sent(&outgoing, size_bytes, 0);
                    return self.release(&outgoing);
                }
                Err(LineError::Damaged(why)) => return self.refuse_or_split(outgoing, why),
                Err(LineError::Io(error)) => {
                    self.note(&error.to_string(), "not written, will be tried again");
                }
            }
            self.parts.meter.retried();
            self.parts.meter.state(DestinationState::WaitingToRetry);
            if self.parts.stop.wait(jittered(pause)) {
                return;
            }
            pause = next_pause(pause, &self.parts.retry);
        }
    }

    /// Sets a request aside, or sends its parts one by one, so that only those are set aside that
    /// are not wanted.
    fn refuse_or_split(&mut self, outgoing: Outgoing, why: String) {
        if outgoing.parts.len() > 1 {
            return self.split(&outgoing);
        }
        self.release(&outgoing);
        self.set_aside(&Refusal { outgoing, why });
    }

    fn split(&mut self, outgoing: &Outgoing) {
        let singles: Vec<Outgoing> = outgoing.split().collect();
        singles.into_iter().rev().for_each(|single| self.ready.push_front(single));
    }

    fn wait_for_end(&mut self, time: Duration) {
        if self.in_flight.is_empty() {
            return;
        }
        if let Ok((number, delivered)) = self.ended.1.recv_timeout(time) {
            self.end(number, delivered);
        }
    }

    fn end(&mut self, number: u64, delivered: Delivered) {
        let Some((outgoing, _)) = self.in_flight.remove(&number) else { return };
        match delivered {
            Delivered::Taken => {
                self.release(&outgoing);
                self.try_last();
            }
            Delivered::Refused(why) => self.refuse_or_split(outgoing, why),
            Delivered::InDoubt { is_signal } => self.doubt(outgoing, is_signal),
            // It comes again when the destination is started again.
            Delivered::Stopped if self.parts.stop.is_told() => {}
            Delivered::Stopped => {
                self.note("its task ended", "a request was not sent, will be tried again");
                self.ready.push_front(outgoing);
                self.parts.stop.wait(jittered(self.parts.retry.longest));
            }
        }
    }

    fn release(&mut self, outgoing: &Outgoing) {
        let tickets = outgoing.parts.iter().flat_map(|part| &part.tickets);
        tickets.for_each(|ticket| self.progress.release(*ticket));
    }

    fn set_aside(&mut self, refusal: &Refusal) {
        self.parts.meter.refused(refusal.outgoing.signal, refusal.outgoing.size_bytes());
        self.note(&refusal.why, "a request was refused for good and is set aside");
        if let Err(error) = self.parts.refused.write(refusal) {
            let destination = &self.parts.name;
            tracing::error!(destination, %error, "a refused request could not be set aside");
        }
    }

    /// Moves the cursor over what is done.
    fn settle(&mut self) -> Result<(), Error> {
        let mut reached = self.progress.settle();
        // Nobody hears of records that a deletion erased; they are done when all before them is.
        if self.progress.is_empty() {
            reached = Some(self.parts.reader.position());
        }
        if let Some(position) = reached {
            self.parts.journal.advance(&self.parts.cursor, position)?;
        }
        self.parts.meter.oldest(self.progress.oldest_nanos());
        Ok(())
    }

    /// Gives what is on its way a moment to end.
    fn finish(&mut self) {
        let deadline = Instant::now() + STOP_WAIT;
        while !self.in_flight.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.ended.1.recv_timeout(left) {
                Ok((number, delivered)) => self.end(number, delivered),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        self.in_flight.values().for_each(|(_, task)| task.abort());
        if let Err(error) = self.settle() {
            self.note(&error.to_string(), "the cursor could not be moved");
        }
    }

    fn note(&self, why: &str, what: &str) {
        if self.parts.meter.failed(why) {
            tracing::warn!(destination = self.parts.name, why, "{what}");
        }
    }
}

/// A record that cannot be read, as it is in the journal.
fn damaged(entry: &Entry, why: String) -> Refusal {
    let outgoing = Outgoing {
        signal: wire_signal(entry.signal),
        tenant: Arc::clone(&entry.tenant),
        format: entry.format,
        compression: entry.compression,
        trial: Trial::Usual,
        parts: vec![Part { bytes: entry.body.clone(), tickets: Vec::new() }],
    };
    Refusal { outgoing, why }
}
