//! Who is to blame for answers that say neither yes nor no: a request, or the server.
//!
//! A request is *in doubt* if answers to it say neither yes nor no: garbage, an internal error, a path
//! that is not there. Either it is to blame, and must not hold up those behind it for ever; or the
//! server is, and then nothing may be given up. The requests behind it tell: if one of them is taken,
//! those in doubt have one last try and are set aside. If none is, all of them wait. (A request that
//! is taken in its last try comes after ones that were behind it.)

use super::Worker;
use crate::destination::outgoing::{Outgoing, Trial};
use crate::destination::status::DestinationState;
use crate::limits::MAX_IN_DOUBT;
use crate::retry::jittered;

impl Worker {
    /// Lays a request aside that nobody said yes or no to, until others tell who is to blame.
    pub(super) fn doubt(&mut self, outgoing: Outgoing, is_signal: bool) {
        if outgoing.parts.len() > 1 && !is_signal {
            // One of them may be to blame.
            return self.split(&outgoing);
        }
        // That a signal is not taken, one request of it tells as well as many.
        let tells_nothing =
            |(other, is_signal): &(Outgoing, bool)| *is_signal && other.signal == outgoing.signal;
        let is_server =
            !self.in_doubt.iter().all(tells_nothing) || self.in_doubt.len() >= MAX_IN_DOUBT;
        self.in_doubt.push((outgoing, is_signal));
        if is_server {
            self.parts.meter.state(DestinationState::WaitingToRetry);
            self.parts.stop.wait(jittered(self.parts.retry.longest));
            self.try_again();
        }
    }

    /// Puts requests in doubt back to where they were: the server is to blame.
    pub(super) fn try_again(&mut self) {
        for (outgoing, _) in self.in_doubt.drain(..).rev() {
            self.ready.push_front(outgoing);
        }
    }

    /// Gives requests in doubt one last try: another was taken.
    pub(super) fn try_last(&mut self) {
        for (mut outgoing, _) in self.in_doubt.drain(..).rev() {
            outgoing.trial = Trial::Last;
            self.ready.push_front(outgoing);
        }
    }
}
