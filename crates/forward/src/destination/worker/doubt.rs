//! Who is to blame for answers that say neither yes nor no: a request, or the server.
//!
//! A request is *in doubt* if answers to it say neither yes nor no: garbage, an internal error, a path
//! that is not there. Either it is to blame, and must not hold up those behind it for ever; or the
//! server is, and then nothing may be given up. The requests behind it tell, each with one try: if one
//! of them is taken, those in doubt have one last try and are set aside. If so many are in doubt as may
//! be held, or there are no more, the server is taken to be to blame: after a pause all are tried again,
//! in their order. Several in a row may be to blame together, so each time more of them are tried, up to
//! [`MAX_IN_DOUBT`]. (A request that is taken in its last try comes after ones that were behind it.)

use std::time::{Duration, Instant};

use super::Worker;
use crate::destination::outgoing::{Outgoing, Trial};
use crate::destination::status::DestinationState;
use crate::limits::{FIRST_IN_DOUBT, MAX_IN_DOUBT, MAX_IN_DOUBT_BYTES};
use crate::retry::jittered;

/// Requests in doubt.
#[derive(Debug)]
pub(super) struct InDoubt {
    requests: Vec<Outgoing>,
    /// So many of them make the server the one to blame.
    most: usize,
    /// When the first of them was laid aside.
    since: Option<Instant>,
}

impl InDoubt {
    pub(super) fn new() -> Self {
        Self { requests: Vec::new(), most: FIRST_IN_DOUBT, since: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether the first of them has waited so long.
    pub(super) fn is_older_than(&self, time: Duration) -> bool {
        self.since.is_some_and(|since| since.elapsed() >= time)
    }

    fn is_full(&self) -> bool {
        let size_bytes: usize = self.requests.iter().map(Outgoing::size_bytes).sum();
        self.requests.len() >= self.most || size_bytes >= MAX_IN_DOUBT_BYTES
    }
}

impl Worker {
    /// Lays a request aside that nobody said yes or no to, until others tell who is to blame.
    pub(super) fn doubt(&mut self, outgoing: Outgoing, is_signal: bool) {
        if outgoing.parts.len() > 1 && !is_signal {
            // One of them may be to blame.
            return self.split(&outgoing);
        }
        self.in_doubt.requests.push(outgoing);
        self.in_doubt.since.get_or_insert_with(Instant::now);
        if self.in_doubt.is_full() {
            self.in_doubt.most = (self.in_doubt.most * 2).min(MAX_IN_DOUBT);
            self.parts.meter.state(DestinationState::WaitingToRetry);
            self.parts.stop.wait(jittered(self.parts.retry.longest));
            self.try_again();
        }
    }

    /// Puts requests in doubt back to where they were: the server is to blame.
    pub(super) fn try_again(&mut self) {
        self.in_doubt.since = None;
        for outgoing in self.in_doubt.requests.drain(..).rev() {
            self.ready.push_front(outgoing);
        }
    }

    /// Gives requests in doubt one last try: another was taken.
    pub(super) fn try_last(&mut self) {
        self.in_doubt.most = FIRST_IN_DOUBT;
        self.in_doubt.since = None;
        for mut outgoing in self.in_doubt.requests.drain(..).rev() {
            outgoing.trial = Trial::Last;
            self.ready.push_front(outgoing);
        }
    }
}
