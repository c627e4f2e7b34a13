//! How far a destination is: which records of the journal are done, in what order ever they end.
//!
//! A cursor promises that all before it is done. Requests may end out of order (several on their
//! way, traces that wait for a decision), so each record read gets a ticket, and the cursor moves
//! over those at the front that nobody holds any more.

use std::collections::VecDeque;

use kymo_journal::Position;

/// A record of the journal that was read.
pub(crate) type Ticket = u64;

/// Records that were read, from the oldest that is not done on.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    first: Ticket,
    open: VecDeque<Open>,
}

#[derive(Debug)]
struct Open {
    next_position: Position,
    received_nanos: u64,
    /// How many hold it: requests that it is part of, traces that it has spans of.
    holders: u32,
}

impl Progress {
    /// Begins a record, held once: by who reads it.
    pub(crate) fn begin(&mut self, next_position: Position, received_nanos: u64) -> Ticket {
        self.open.push_back(Open { next_position, received_nanos, holders: 1 });
        self.first + (self.open.len() as u64) - 1
    }

    /// Holds a record once more.
    pub(crate) fn hold(&mut self, ticket: Ticket) {
        if let Some(open) = self.find(ticket) {
            open.holders += 1;
        }
    }

    /// Lets go of a record.
    pub(crate) fn release(&mut self, ticket: Ticket) {
        if let Some(open) = self.find(ticket) {
            open.holders = open.holders.saturating_sub(1);
        }
    }

    /// Forgets the records at the front that nobody holds; where the last of them ended.
    pub(crate) fn settle(&mut self) -> Option<Position> {
        let mut reached = None;
        while let Some(open) = self.open.pop_front_if(|open| open.holders == 0) {
            self.first += 1;
            reached = Some(open.next_position);
        }
        reached
    }

    /// Whether all that was begun is done.
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// When the oldest record that is not done was received, in nanoseconds since 1970.
    pub(crate) fn oldest_nanos(&self) -> Option<u64> {
        self.open.front().map(|open| open.received_nanos)
    }

    fn find(&mut self, ticket: Ticket) -> Option<&mut Open> {
        let place = usize::try_from(ticket.checked_sub(self.first)?).ok()?;
        self.open.get_mut(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_moves_over_what_is_done_at_the_front_only() {
        let mut progress = Progress::default();
        let [a, b, c] = [10, 20, 30].map(|end| progress.begin(end, end));
        progress.hold(b);
        progress.release(b);
        progress.release(c);
        assert_eq!((progress.settle(), progress.oldest_nanos()), (None, Some(10)));
        progress.release(a);
        assert_eq!((progress.settle(), progress.oldest_nanos()), (Some(10), Some(20)));
        progress.release(b);
        assert_eq!((progress.settle(), progress.oldest_nanos()), (Some(30), None));
        let d = progress.begin(40, 40);
        progress.release(a);
        assert_eq!(progress.settle(), None, "a ticket of long ago holds nothing");
        progress.release(d);
        assert_eq!(progress.settle(), Some(40));
    }
}
