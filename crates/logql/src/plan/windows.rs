//! Time ranges that end at each step, and the pieces that they share.
//!
//! A range aggregation has a window `(t − range, t]` for each step `t`. Windows overlap where the
//! range is longer than the step, so a line may count in many. Instead of adding it to each, time
//! is cut where a window begins or ends, and a line is added to the one piece that it falls into;
//! a window is then a run of pieces. There are at most two pieces for each step and each step of
//! the range.

use crate::request::Times;

/// The windows of a range aggregation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Windows {
    /// The first step.
    start: i64,
    /// The distance of steps; 1 or more.
    step: i64,
    /// How many steps there are.
    count: i64,
    range: i64,
    /// By how much lines are taken as later than they are.
    offset: i64,
    cut: Cut,
}

/// How time is cut. Places are counted so that the first window begins with piece 1 or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// There is no window: the range is empty.
    Nothing,
    /// All windows share a middle: pieces are those before it, by begin of window, the middle,
    /// and those after it, by end of window.
    Middle,
    /// The range is that many steps.
    Whole(i64),
    /// The range is that many steps and so much more: each step is cut in two.
    Halves(i64, i64),
}

impl Windows {
    pub(crate) fn new(times: Times, range: i64, offset: i64) -> Self {
        let (start, step, count) = match times {
            Times::Instant { time_nanos } => (time_nanos, 1, 1),
            Times::Range { start_nanos, end_nanos, step_nanos } => {
                let step = step_nanos.max(1);
                (start_nanos, step, end_nanos.saturating_sub(start_nanos).max(0) / step + 1)
            }
        };
        let cut = if range <= 0 {
            Cut::Nothing
        } else if range >= (count - 1).saturating_mul(step) {
            Cut::Middle
        } else if range % step == 0 {
            Cut::Whole(range / step)
        } else {
            Cut::Halves(range / step, range % step)
        };
        Self { start, step, count, range, offset, cut }
    }

    /// How many steps there are.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.count).unwrap_or(usize::MAX)
    }

    /// The time of a step.
    pub(crate) fn time(&self, nth: usize) -> i64 {
        self.start.saturating_add(self.step.saturating_mul(i64::try_from(nth).unwrap_or(i64::MAX)))
    }

    /// The time of a step that may lie before the first.
    fn end_of(&self, nth: i64) -> i64 {
        self.start.saturating_add(self.step.saturating_mul(nth))
    }

    /// The length of a window.
    pub(crate) fn range_secs(&self) -> f64 {
        self.range as f64 / 1e9
    }

    /// The first time that is in a window, and the first that is behind all.
    pub(crate) fn bounds(&self) -> (i64, i64) {
        let begin = self.start.saturating_sub(self.range).saturating_sub(self.offset);
        let end = self.time(self.count().saturating_sub(1)).saturating_sub(self.offset);
        (begin.saturating_add(1), end.saturating_add(1))
    }

    /// A time as windows see it.
    pub(crate) fn shifted(&self, time: i64) -> i64 {
        time.saturating_add(self.offset)
    }

    /// The piece that a time falls into; none if it is in no window.
    #[inline]
    pub(crate) fn piece(&self, time: i64) -> Option<i64> {
        let time = self.shifted(time);
        let last = self.end_of(self.count - 1);
        let begin = self.start.saturating_sub(self.range);
        if time <= begin || time > last {
            return None;
        }
        match self.cut {
            Cut::Nothing => None,
            Cut::Middle => Some(if time > self.start {
                self.count + steps_up(time.saturating_sub(self.start), self.step)
            } else {
                // Of the windows that have begun the last decides.
                steps_up(time.saturating_sub(begin), self.step).min(self.count)
            }),
            Cut::Whole(length) => {
                Some(steps_up(time.saturating_sub(self.start), self.step) + length - 1)
            }
            Cut::Halves(length, rest) => {
                let step = steps_up(time.saturating_sub(self.start), self.step);
                let end = self.end_of(step);
                let is_second = time > end.saturating_sub(rest);
                if length == 0 && !is_second {
                    return None;
                }
                Some(2 * (step + length) + i64::from(is_second))
            }
        }
    }

    /// The first and last piece of the window of a step.
    pub(crate) fn pieces(&self, nth: usize) -> (i64, i64) {
        let nth = i64::try_from(nth).unwrap_or(i64::MAX);
        match self.cut {
            Cut::Nothing => (1, 0),
            Cut::Middle => (nth + 1, nth + self.count),
            Cut::Whole(length) => (nth, nth + length - 1),
            Cut::Halves(length, _) => (2 * nth + 1, 2 * (nth + length) + 1),
        }
    }

    /// The last time of the piece that a time falls into.
    pub(crate) fn piece_end(&self, time: i64) -> Option<i64> {
        let piece = self.piece(time)?;
        let end = match self.cut {
            Cut::Nothing => return None,
            Cut::Middle if piece < self.count => self.end_of(piece).saturating_sub(self.range),
            Cut::Middle => self.end_of(piece - self.count),
            Cut::Whole(length) => self.end_of(piece + 1 - length),
            Cut::Halves(length, rest) => {
                let end = self.end_of(piece / 2 - length);
                if piece % 2 == 1 { end } else { end.saturating_sub(rest) }
            }
        };
        Some(end.saturating_sub(self.offset))
    }
}

/// How many steps a time needs, rounded up.
#[inline]
fn steps_up(time: i64, step: i64) -> i64 {
    time.div_euclid(step) + i64::from(time.rem_euclid(step) > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever the cut, a time counts in exactly the windows that it lies in.
    #[test]
    fn a_time_is_in_the_pieces_of_the_windows_that_it_lies_in() {
        for step in 1..6 {
            for count in 1..6 {
                for range in 0..14 {
                    for offset in [-3, 0, 2] {
                        check(step, count, range, offset);
                    }
                }
            }
        }
    }

    fn check(step: i64, count: i64, range: i64, offset: i64) {
        let start = 100;
        let end_nanos = start + step * (count - 1);
        let times = Times::Range { start_nanos: start, end_nanos, step_nanos: step };
        let windows = Windows::new(times, range, offset);
        assert_eq!(windows.count() as i64, count);
        let (first, behind) = windows.bounds();
        for time in 70..150 {
            let piece = windows.piece(time);
            let mut is_in_any = false;
            for nth in 0..windows.count() {
                let end = windows.time(nth);
                let is_in = end - range < time + offset && time + offset <= end;
                let (low, high) = windows.pieces(nth);
                let has_piece = piece.is_some_and(|piece| low <= piece && piece <= high);
                assert_eq!(is_in, has_piece, "{windows:?} at {time}, window {nth}");
                is_in_any |= is_in;
            }
            assert!(!is_in_any || (first <= time && time < behind), "{windows:?} at {time}");
            match windows.piece_end(time) {
                Some(end) => {
                    assert!(end >= time);
                    assert_eq!(windows.piece(end), piece, "{windows:?} at {time}");
                    assert_ne!(windows.piece(end + 1), piece, "{windows:?} at {time}");
                }
                None => assert_eq!(piece, None),
            }
        }
    }

    #[test]
    fn times_at_the_ends_do_not_overflow() {
        let times =
            Times::Range { start_nanos: i64::MIN, end_nanos: i64::MAX, step_nanos: i64::MAX };
        for (range, offset) in [(i64::MAX, i64::MIN), (1, i64::MAX), (5, 0)] {
            let windows = Windows::new(times, range, offset);
            for time in [i64::MIN, -1, 0, i64::MAX] {
                windows.piece(time);
                windows.piece_end(time);
            }
            windows.bounds();
        }
    }
}
