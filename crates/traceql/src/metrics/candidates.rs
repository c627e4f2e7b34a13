//! Spans that may be shown as examples: of each group and point the newest.

use super::cells::Cells;

/// A span that may be shown as an example.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Candidate {
    /// The point that it counts for.
    pub point: usize,
    /// What was given with the span, to tell which it was.
    pub token: u64,
    /// When it began.
    pub start_nanos: i64,
    /// What was measured of it; for rates and counts, what the point tells.
    pub value: f64,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    start_nanos: i64,
    token: u64,
    value: f64,
}

/// No span begins so early: the time before the first point would not fit.
const NOBODY: Kept = Kept { start_nanos: i64::MIN, token: u64::MAX, value: f64::NAN };

impl Kept {
    /// The newest, then the one with the least token: any choice would do if it does not depend on
    /// the order in which spans come.
    #[inline]
    fn replace_if_newer(&mut self, other: Kept) {
        let is_newer = other.start_nanos > self.start_nanos
            || other.start_nanos == self.start_nanos
                && (other.token, order(other.value)) < (self.token, order(self.value));
        if is_newer {
            *self = other;
        }
    }
}

/// Numbers in an order that has a place for each.
fn order(value: f64) -> u64 {
    let bits = value.to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The candidates of all groups and points.
#[derive(Debug)]
pub(super) struct Candidates(Cells<Kept>);

impl Candidates {
    pub(super) fn new(points: usize) -> Self {
        Self(Cells::new(points, NOBODY))
    }

    pub(super) fn extend_groups(&mut self, groups: usize) {
        self.0.extend_rows(groups);
    }

    #[inline]
    pub(super) fn offer(
        &mut self,
        group: usize,
        point: usize,
        value: f64,
        start_nanos: i64,
        token: u64,
    ) {
        if let Some(kept) = self.0.cell(group, point) {
            kept.replace_if_newer(Kept { start_nanos, token, value });
        }
    }

    pub(super) fn merge(&mut self, other: Self, groups: &[usize]) {
        self.0.merge(other.0, groups, |into, from| into.replace_if_newer(from));
    }

    /// The candidates of a group, by point.
    pub(super) fn of(&self, group: usize) -> Vec<Candidate> {
        let candidate = |(point, kept): (usize, &Kept)| Candidate {
            point,
            token: kept.token,
            start_nanos: kept.start_nanos,
            value: kept.value,
        };
        let cells = self.0.row(group).filter(|(_, kept)| kept.start_nanos != i64::MIN);
        cells.map(candidate).collect()
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_span_is_kept_and_then_the_one_with_the_least_token() {
        let offers = [(5, 1), (7, 9), (7, 3), (7, 4), (6, 0)];
        for first in 0..offers.len() {
            let mut candidates = Candidates::new(2);
            candidates.extend_groups(1);
            for (start_nanos, token) in offers.iter().cycle().skip(first).take(offers.len()) {
                candidates.offer(0, 1, *token as f64, *start_nanos, *token);
            }
            let expected = Candidate { point: 1, token: 3, start_nanos: 7, value: 3.0 };
            assert_eq!(candidates.of(0), [expected]);
        }
    }
}
