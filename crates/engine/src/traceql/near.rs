//! The point that a row counts for, found by that of the row before.

use kymo_traceql::metrics::Grid;

/// The point that the last span belonged to: the next is likely to be near.
pub(super) struct Near {
    begin: i64,
    end: i64,
    pub(super) point: usize,
}

impl Default for Near {
    fn default() -> Self {
        Self { begin: i64::MAX, end: i64::MIN, point: 0 }
    }
}

impl Near {
    /// Whether a span that began then belongs to the same point.
    #[inline]
    pub(super) fn holds(&self, start: i64) -> bool {
        start > self.begin && start <= self.end
    }

    /// Goes to the point of a span that began then; whether there is one.
    pub(super) fn find(&mut self, start: i64, grid: &Grid) -> bool {
        let Some(point) = grid.point_of(start) else { return false };
        let end = grid.time_of(point);
        *self = Self { begin: end.saturating_sub(grid.step_nanos), end, point };
        // What lies before a single point's own time belongs to it all the same.
        if grid.points == 1 {
            self.begin = grid.time().start.saturating_sub(1);
        }
        true
    }
}
