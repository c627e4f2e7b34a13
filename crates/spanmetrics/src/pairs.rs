//! Spans that wait for their other side.
//!
//! A client's span and the server's span below it are one request. They come in any order, in
//! different requests, or never: what waits is bounded in number and time.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::distribution::Source;
use crate::limits::MAX_SETTLED;

/// The trace and the client's span.
pub(crate) type PairKey = [u8; 24];

/// Which side of a request a span is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

/// How two services are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Connection {
    /// A call.
    #[default]
    Call,
    Messaging,
    Database,
    /// One of them sends no spans.
    Virtual,
}

impl Connection {
    /// The label `connection_type`.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Call => "",
            Self::Messaging => "messaging_system",
            Self::Database => "database",
            Self::Virtual => "virtual_node",
        }
    }
}

/// One side of a request.
#[derive(Debug, Clone)]
pub(crate) struct Half {
    pub(crate) side: Side,
    pub(crate) service: Arc<[u8]>,
    pub(crate) connection: Connection,
    pub(crate) nanos: u64,
    pub(crate) has_failed: bool,
    pub(crate) source: Source,
    /// Who the other side is if it never comes.
    pub(crate) peer: Option<Box<[u8]>>,
    /// Values of the graph's dimensions.
    pub(crate) dimensions: Box<[Box<[u8]>]>,
}

/// What became of a side.
#[derive(Debug)]
pub(crate) enum Met {
    /// It waits.
    Waits,
    /// The other side was there.
    Pair(Half, Half),
    /// Another of its side waits in its place already.
    Second(Half),
    /// There is no room to wait.
    NoRoom(Half),
}

#[derive(Debug)]
struct Waiting {
    half: Half,
    due_nanos: u64,
}

/// All that wait.
#[derive(Debug)]
pub(crate) struct Pairs {
    waiting: HashMap<PairKey, Waiting>,
    /// By time; also those that have met meanwhile, until there are too many.
    due: VecDeque<(u64, PairKey)>,
    wait_nanos: u64,
    max: usize,
}

impl Pairs {
    pub(crate) fn new(wait_nanos: u64, max: usize) -> Self {
        Self { waiting: HashMap::new(), due: VecDeque::new(), wait_nanos, max }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Brings a side and the other one together.
    pub(crate) fn meet(&mut self, key: PairKey, half: Half, now_nanos: u64) -> Met {
        let is_full = self.waiting.len() >= self.max;
        match self.waiting.entry(key) {
            Entry::Occupied(found) if found.get().half.side != half.side => {
                let other = found.remove().half;
                match half.side {
                    Side::Client => Met::Pair(half, other),
                    Side::Server => Met::Pair(other, half),
                }
            }
            // A second server below the same client: the first has the better claim.
            Entry::Occupied(_) => Met::Second(half),
            Entry::Vacant(_) if is_full => Met::NoRoom(half),
            Entry::Vacant(place) => {
                // Never before those that wait already, should the clock go back.
                let last = self.due.back().map_or(0, |(due, _)| *due);
                let due_nanos = now_nanos.saturating_add(self.wait_nanos).max(last);
                place.insert(Waiting { half, due_nanos });
                self.due.push_back((due_nanos, key));
                self.tidy();
                Met::Waits
            }
        }
    }

    /// One that has waited long enough, and the key that it waited under.
    pub(crate) fn expired(&mut self, now_nanos: u64) -> Option<(PairKey, Half)> {
        while let Some((due_nanos, key)) = self.due.front().copied() {
            if due_nanos > now_nanos {
                return None;
            }
            self.due.pop_front();
            if self.is_waiting(due_nanos, &key)
                && let Some(waiting) = self.waiting.remove(&key)
            {
                return Some((key, waiting.half));
            }
        }
        None
    }

    fn is_waiting(&self, due_nanos: u64, key: &PairKey) -> bool {
        self.waiting.get(key).is_some_and(|waiting| waiting.due_nanos == due_nanos)
    }

    fn tidy(&mut self) {
        if self.due.len() > 2 * self.waiting.len() + MAX_SETTLED {
            let mut due = std::mem::take(&mut self.due);
            due.retain(|(due_nanos, key)| self.is_waiting(*due_nanos, key));
            self.due = due;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half(side: Side, service: &str) -> Half {
        Half {
            side,
            service: service.as_bytes().into(),
            connection: Connection::Call,
            nanos: 1,
            has_failed: false,
            source: Source { trace_id: [0; 16], span_id: [0; 8], seen_nanos: 0 },
            peer: None,
            dimensions: Box::default(),
        }
    }

    fn key(number: u64) -> PairKey {
        let mut key = [0; 24];
        key[..8].copy_from_slice(&number.to_le_bytes());
        key
    }

    #[test]
    fn sides_meet_in_either_order() {
        let mut pairs = Pairs::new(10, 10);
        for (first, second) in [(Side::Client, Side::Server), (Side::Server, Side::Client)] {
            assert!(matches!(pairs.meet(key(1), half(first, "x"), 0), Met::Waits));
            let Met::Pair(client, server) = pairs.meet(key(1), half(second, "y"), 5) else {
                panic!("they did not meet");
            };
            assert_eq!((client.side, server.side), (Side::Client, Side::Server));
        }
        assert_eq!(pairs.len(), 0);
        assert!(pairs.expired(u64::MAX).is_none(), "nobody waits");
    }

    #[test]
    fn who_waits_is_bounded_in_number_and_time() {
        let mut pairs = Pairs::new(10, 2);
        for (number, now) in [(1, 0), (2, 3)] {
            pairs.meet(key(number), half(Side::Client, "x"), now);
        }
        assert!(matches!(pairs.meet(key(3), half(Side::Client, "x"), 4), Met::NoRoom(_)));
        assert!(matches!(pairs.meet(key(1), half(Side::Client, "z"), 4), Met::Second(_)));
        assert!(pairs.expired(9).is_none());
        assert_eq!(pairs.expired(10).map(|(key, _)| key), Some(key(1)));
        assert!(pairs.expired(10).is_none());
        // The clock goes back: nothing waits shorter than what came before it.
        pairs.meet(key(4), half(Side::Client, "x"), 0);
        assert_eq!(pairs.expired(13).map(|(key, _)| key), Some(key(2)));
        assert_eq!(pairs.expired(13).map(|(key, _)| key), Some(key(4)));
    }

    #[test]
    fn times_of_pairs_that_have_met_do_not_pile_up() {
        let mut pairs = Pairs::new(1 << 60, 10);
        pairs.meet(key(u64::MAX), half(Side::Client, "x"), 0);
        for number in 0..10 * MAX_SETTLED as u64 {
            pairs.meet(key(number), half(Side::Client, "x"), number);
            pairs.meet(key(number), half(Side::Server, "y"), number);
        }
        assert!(pairs.due.len() <= MAX_SETTLED + 4, "{}", pairs.due.len());
        assert_eq!(pairs.expired(u64::MAX).map(|(key, _)| key), Some(key(u64::MAX)));
    }
}
