//! Lines that were told, so that none is told again after the server was away.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use super::answer::Line;

/// Lines that are remembered: more than are asked for again.
const REMEMBERED: usize = 64 << 10;
/// Lines may come late: so far before the newest one the server is asked again.
const LATE_NANOS: i64 = 60 * 1_000_000_000;

/// Lines that were told lately, by a hash.
#[derive(Debug, Default)]
pub(super) struct Told {
    hasher: RandomState,
    lately: VecDeque<u64>,
    newest_nanos: Option<i64>,
    /// Those that a server which is asked again will tell again.
    again: HashSet<u64>,
}

impl Told {
    /// From when on to ask again, and knows from now on what comes twice.
    pub(super) fn ask_again(&mut self, start_nanos: i64) -> i64 {
        self.again = self.lately.iter().copied().collect();
        let late = self.newest_nanos.map(|newest| newest.saturating_sub(LATE_NANOS));
        late.map_or(start_nanos, |late| late.max(start_nanos))
    }

    /// Whether a line was not told before; then it is from now on.
    pub(super) fn is_new(&mut self, line: &Line) -> bool {
        let hash = self.hasher.hash_one(line);
        if self.again.remove(&hash) {
            return false;
        }
        if self.lately.len() == REMEMBERED {
            self.lately.pop_front();
        }
        self.lately.push_back(hash);
        self.newest_nanos = self.newest_nanos.max(Some(line.time_nanos));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::answer::tests::line;
    use super::*;

    #[test]
    fn a_line_is_told_again_only_if_it_was_sent_again() {
        let mut told = Told::default();
        assert_eq!(told.ask_again(5), 5);
        let one = line(100 * LATE_NANOS, "a", &[("app", "x")], &[]);
        let other = line(100 * LATE_NANOS, "b", &[("app", "x")], &[]);
        assert!(told.is_new(&one));
        // Somebody logs the same twice.
        assert!(told.is_new(&one));
        assert_eq!(told.ask_again(5), 99 * LATE_NANOS);
        assert!(!told.is_new(&one));
        assert!(told.is_new(&other));
    }
}
