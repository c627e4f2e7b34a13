//! Applying: records of the journal into heads.
//!
//! One thread at a time reads the journal; a query that is behind does so itself
//! rather than wait for another to come round. Applying never flushes: heads take
//! up to [`HEAD_MAX_FLUSHES`] times what makes a flush due, so that rows can come
//! while a flush is under way. Then applying stops, the journal's lag grows, and
//! at [`Options::lag_bytes`](crate::Options) the journal refuses requests.
//!
//! A query must see what was acknowledged also when heads are full. It waits for
//! the flush that makes room, or flushes itself if nobody does. If the flush takes
//! longer than [`Options::flush_wait`](crate::Options), or fails, because the disk
//! is full or the bucket away, that is no reason not to answer: then, and only
//! then, rows go into memory beyond that bound, at most those that the journal may
//! hold.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kymo_journal::Entry;

use crate::error::StoreError;
use crate::head::{Batch, Size};
use crate::limits::HEAD_MAX_FLUSHES;
use crate::request::{self, Request};
use crate::schema::Signal;
use crate::status::Counters;
use crate::store::{State, Store, lock};

/// What applying came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Applied {
    /// Whether everything that was acknowledged before is in heads or blocks. If
    /// not, a flush is due, or heads are full: see [`Store::wait`].
    pub is_complete: bool,
    /// Whether [`Store::flush_due`] has something to do.
    pub is_flush_due: bool,
}

/// How much may be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// Until a flush becomes due, or heads are full.
    UntilDue,
    /// Until heads are full.
    Heads,
    /// All that the journal has.
    Journal,
}

impl Store {
    /// Takes acknowledged records from the journal into heads, as many as there is
    /// room for. Returns early when a flush becomes due, so that it can begin while
    /// further records are applied.
    pub fn apply(&self) -> Result<Applied, StoreError> {
        self.writable()?;
        self.apply_to(self.journal.end(), Bound::UntilDue)
    }

    /// Applies all acknowledged records and flushes when that is due: for those who
    /// have but one thread.
    pub fn ingest(&self) -> Result<(), StoreError> {
        self.writable()?;
        let end = self.journal.end();
        loop {
            let is_complete = self.apply_to(end, Bound::UntilDue)?.is_complete;
            // Also if one has failed a moment ago: the caller is to know.
            if !is_complete || self.is_flush_due() {
                self.flush_due_now(&self.flushing.enter())?;
            }
            if is_complete {
                return Ok(());
            }
        }
    }

    /// Waits until [`Store::apply`] has something to do, records and room for them;
    /// whether it has. Holds no lock that queries need.
    pub fn wait(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let applied = || lock(&self.state).applied;
        self.flushing.wait_for(deadline, || self.has_room())
            && self.journal.wait(applied(), deadline.saturating_duration_since(Instant::now()))
    }

    /// Applies everything that was acknowledged before the call, for a query.
    pub(crate) fn catch_up(&self) -> Result<(), StoreError> {
        let end = self.journal.end();
        let mut bound = Bound::Heads;
        while !self.apply_to(end, bound)?.is_complete {
            if !self.make_room() {
                bound = Bound::Journal;
            }
        }
        Ok(())
    }

    /// Applies up to a position, if there is room for so much; whether there was.
    pub(crate) fn apply_all(&self, end: u64) -> Result<bool, StoreError> {
        Ok(self.apply_to(end, Bound::Heads)?.is_complete)
    }

    /// Waits for room in heads, or makes some; false if there is none to be had.
    fn make_room(&self) -> bool {
        let Some(flushing) = self.flushing.enter_within(self.options.flush_wait) else {
            tracing::warn!("a flush takes long: more rows than usual are kept in memory");
            return false;
        };
        if self.has_room() {
            return true;
        }
        if self.is_flush_delayed() {
            return false;
        }
        self.flush_due_now(&flushing).is_ok_and(|()| self.has_room())
    }

    fn apply_to(&self, end: u64, bound: Bound) -> Result<Applied, StoreError> {
        let is_applied = |state: &State| state.applied >= end;
        let is_due = || self.is_flush_due() && !self.is_flush_delayed();
        if self.detached.load(Ordering::Acquire) {
            return Ok(Applied { is_complete: true, is_flush_due: is_due() });
        }
        if is_applied(&lock(&self.state)) {
            return Ok(Applied { is_complete: true, is_flush_due: is_due() });
        }
        let mut reader = lock(&self.reader);
        let was_due = self.is_flush_due();
        let is_complete = loop {
            // Others may have applied it while this thread waited.
            if is_applied(&lock(&self.state)) {
                break true;
            }
            if bound != Bound::Journal && !self.has_room() {
                break false;
            }
            let Some(entry) = reader.try_next()? else {
                // There is no record between here and there: damage was passed
                // over, or the journal goes on at a later position.
                let mut state = lock(&self.state);
                state.applied = state.applied.max(end);
                break true;
            };
            self.apply_entry(&entry);
            if bound == Bound::UntilDue && !was_due && self.is_flush_due() {
                break is_applied(&lock(&self.state));
            }
        };
        Ok(Applied { is_complete, is_flush_due: is_due() })
    }

    fn apply_entry(&self, entry: &Entry) {
        let signal = request::signal_of(entry);
        let is_flushed = |state: &State| entry.position < state.node.position_of(signal);
        let mut request = None;
        if !is_flushed(&lock(&self.state)) {
            request = decode(entry, &self.counters);
        }
        // A flush must not freeze the batch between its choice and the note that
        // the record is applied.
        let _applying = lock(&self.applying);
        let grown = request.map(|request| {
            let batch = lock(&self.state).heads.growing(&entry.tenant, signal);
            let size = append(&batch, entry, &request, &self.counters);
            (batch, size)
        });
        let now = self.now_nanos();
        let mut state = lock(&self.state);
        if let Some((batch, size)) = &grown {
            state.heads.grew(&entry.tenant, signal, batch, *size, now);
        }
        state.applied = entry.next_position;
    }

    /// Whether heads take further rows.
    fn has_room(&self) -> bool {
        let state = lock(&self.state);
        Signal::ALL.into_iter().all(|signal| {
            let (held, most) = (state.heads.held(signal).total(), self.flush_size(signal));
            held.rows < HEAD_MAX_FLUSHES * most.rows && held.bytes < HEAD_MAX_FLUSHES * most.bytes
        })
    }

    /// What of a signal in memory makes a flush due.
    pub(crate) fn flush_size(&self, signal: Signal) -> Size {
        let rows = match signal {
            Signal::Series => self.options.flush_points,
            _ => self.options.flush_rows,
        };
        Size { rows, bytes: self.options.flush_bytes }
    }
}

/// A record's request; `None` if it cannot be decoded.
pub(crate) fn decode<'a>(entry: &'a Entry, counters: &Counters) -> Option<Request<'a>> {
    request::decode(entry).map_err(|error| left_out(entry, &error, counters)).ok()
}

/// Appends the rows of a record's request to a batch; returns what that has then.
pub(crate) fn append(
    batch: &Batch,
    entry: &Entry,
    request: &Request<'_>,
    counters: &Counters,
) -> Size {
    let (appended, size) = batch.append(request.protocol, &request.body, entry.position);
    match appended {
        Ok(records) => {
            counters.records_applied.add(request::signal_of(entry), &entry.tenant, records as u64);
        }
        Err(error) => left_out(entry, &error, counters),
    }
    size
}

/// Admission checks every request, so this is damage or a bug; one request must
/// not keep all later ones from being stored.
fn left_out(entry: &Entry, error: &StoreError, counters: &Counters) {
    counters.requests_undecodable.add(request::signal_of(entry), &entry.tenant, 1);
    tracing::error!(position = entry.position, %error, "left out a request");
}
