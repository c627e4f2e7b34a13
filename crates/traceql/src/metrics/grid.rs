//! The points in time that an answer has.
//!
//! A point at `t` tells of the spans that began in `(t - step, t]`. Points lie on multiples of the
//! step since 1970, so that two questions with the same step get the same points. Only where a
//! window slides, points are as they are asked for, and each tells of several steps before it.

use std::ops::Range;

use thiserror::Error;

use crate::limits::MAX_POINTS;

/// Points that [`Grid::default_step`] aims at, before it rounds.
const DEFAULT_POINTS: i64 = 240;

const SECOND_NANOS: i64 = 1_000_000_000;
const MINUTE_NANOS: i64 = 60 * SECOND_NANOS;

/// What a default step is a multiple of: the first that is not more than it.
const STEP_UNITS_NANOS: [i64; 6] = [
    60 * MINUTE_NANOS,
    5 * MINUTE_NANOS,
    MINUTE_NANOS,
    15 * SECOND_NANOS,
    5 * SECOND_NANOS,
    SECOND_NANOS,
];

/// The same for less than a minute.
const SHORT_STEP_UNIT_NANOS: i64 = 50_000_000;

/// Why there is no grid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum GridError {
    #[error("the time range ends before it starts: let start be at or before end")]
    Reversed,
    #[error("step must be more than zero")]
    StepNotPositive,
    #[error(
        "{points} points are more than {MAX_POINTS}: \
         choose a longer step or a shorter time range"
    )]
    TooManyPoints { points: u128 },
    #[error("the time range is not between 1677 and 2262: check the units of start, end and step")]
    OutOfRange,
}

/// The points of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// The first point: nanoseconds since 1970.
    pub first_nanos: i64,
    /// From one point to the next.
    pub step_nanos: i64,
    /// How many there are, at least one.
    pub points: usize,
    /// Steps that a point tells of. The points before the first whole window are counted, and not
    /// shown.
    window: usize,
    /// The first nanosecond that counts.
    begin_nanos: i64,
    /// How many nanoseconds count.
    covered_nanos: u64,
    /// Dividing takes longer than multiplying, and every span asks for its point.
    points_per_nano: f64,
}

impl Grid {
    /// Points from `start_nanos`, rounded down to the step, to `end_nanos`, rounded up. The first
    /// point tells of the step before it, too.
    ///
    /// # Errors
    /// If the range is reversed, the step is not positive, there are more than [`MAX_POINTS`], or
    /// nanoseconds do not reach that far.
    pub fn range(start_nanos: i64, end_nanos: i64, step_nanos: i64) -> Result<Self, GridError> {
        if start_nanos > end_nanos {
            return Err(GridError::Reversed);
        }
        if step_nanos <= 0 {
            return Err(GridError::StepNotPositive);
        }
        let step = i128::from(step_nanos);
        let first = i128::from(start_nanos).div_euclid(step) * step;
        let last = -(-i128::from(end_nanos)).div_euclid(step) * step;
        let points = ((last - first) / step + 1).unsigned_abs();
        if points > MAX_POINTS as u128 {
            return Err(GridError::TooManyPoints { points });
        }
        Self::new(first, step, points, first - step + 1, last)
    }

    /// Points from `end_nanos` back to `start_nanos`, each of which tells of `window` steps before
    /// it, so that windows overlap.
    ///
    /// # Errors
    /// As for [`Grid::range`]. The points before the first window count, too.
    pub fn sliding(
        start_nanos: i64,
        end_nanos: i64,
        step_nanos: i64,
        window: usize,
    ) -> Result<Self, GridError> {
        if start_nanos > end_nanos {
            return Err(GridError::Reversed);
        }
        if step_nanos <= 0 {
            return Err(GridError::StepNotPositive);
        }
        let (step, end) = (i128::from(step_nanos), i128::from(end_nanos));
        let window = window.max(1);
        let steps = (end - i128::from(start_nanos)) / step + (window as i128 - 1);
        let points = steps.unsigned_abs() + 1;
        if points > MAX_POINTS as u128 {
            return Err(GridError::TooManyPoints { points });
        }
        let first = end - steps * step;
        Ok(Self { window, ..Self::new(first, step, points, first - step + 1, end)? })
    }

    /// One point at `end_nanos`, that tells of all spans that began in `[start, end]`.
    ///
    /// # Errors
    /// If the range is reversed, or nanoseconds do not reach that far.
    pub fn instant(start_nanos: i64, end_nanos: i64) -> Result<Self, GridError> {
        if start_nanos > end_nanos {
            return Err(GridError::Reversed);
        }
        let (start, end) = (i128::from(start_nanos), i128::from(end_nanos));
        // A single moment is a nanosecond long, so that a rate is a number.
        Self::new(end, (end - start).max(1), 1, start, end)
    }

    fn new(
        first: i128,
        step: i128,
        points: u128,
        begin: i128,
        last: i128,
    ) -> Result<Self, GridError> {
        let nanos = |time: i128| i64::try_from(time).map_err(|_| GridError::OutOfRange);
        nanos(last + 1)?;
        Ok(Self {
            first_nanos: nanos(first)?,
            step_nanos: nanos(step)?,
            points: usize::try_from(points).map_err(|_| GridError::TooManyPoints { points })?,
            window: 1,
            begin_nanos: nanos(begin)?,
            covered_nanos: u64::try_from(last - begin + 1).map_err(|_| GridError::OutOfRange)?,
            points_per_nano: 1.0 / step as f64,
        })
    }

    /// Spans that began within count.
    #[must_use]
    pub fn time(&self) -> Range<i64> {
        self.begin_nanos..self.begin_nanos.saturating_add_unsigned(self.covered_nanos)
    }

    /// The point that a span counts for, if any.
    #[inline]
    #[must_use]
    pub fn point_of(&self, start_nanos: i64) -> Option<usize> {
        // What is before the begin wraps around, and so is far behind the end.
        let since_begin = start_nanos.wrapping_sub(self.begin_nanos) as u64;
        if since_begin >= self.covered_nanos {
            return None;
        }
        // The product is wrong by much less than one, so this is the point or a neighbour of it.
        let guess = (since_begin as f64 * self.points_per_nano) as u64;
        let step = self.step_nanos as u64;
        let guess = guess - u64::from(guess.wrapping_mul(step) > since_begin);
        let is_next = since_begin - guess.wrapping_mul(step) >= step;
        // The one point of an instant is closed at both ends, a nanosecond more than its step.
        Some(((guess + u64::from(is_next)) as usize).min(self.points - 1))
    }

    /// When a point is: nanoseconds since 1970.
    #[inline]
    #[must_use]
    pub fn time_of(&self, point: usize) -> i64 {
        let point = i64::try_from(point).unwrap_or(i64::MAX);
        self.first_nanos.saturating_add(point.saturating_mul(self.step_nanos))
    }

    /// Steps that a point tells of: one, unless a window slides.
    #[must_use]
    pub fn window(&self) -> usize {
        self.window
    }

    /// The points that an answer has.
    pub(super) fn shown(&self) -> Range<usize> {
        self.window - 1..self.points
    }

    /// Seconds that a point tells of.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.step_nanos as f64 * self.window as f64 / SECOND_NANOS as f64
    }

    /// The step of a question that names none: about 240 points, rounded to what people like to
    /// read on an axis.
    #[must_use]
    pub fn default_step(start_nanos: i64, end_nanos: i64) -> i64 {
        let range = end_nanos.saturating_sub(start_nanos).max(0);
        let step = range / DEFAULT_POINTS;
        let unit = if range < MINUTE_NANOS {
            SHORT_STEP_UNIT_NANOS
        } else {
            STEP_UNITS_NANOS.into_iter().find(|unit| *unit <= step).unwrap_or(SECOND_NANOS)
        };
        (step / unit * unit).max(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::testing::Random;

    const S: i64 = SECOND_NANOS;

    #[test]
    fn a_range_is_rounded_outwards_and_has_a_step_before_its_first_point() {
        let grid = Grid::range(119 * S, 181 * S, 60 * S).unwrap();
        assert_eq!((grid.first_nanos, grid.points), (60 * S, 4));
        assert_eq!(grid.time(), 1..240 * S + 1);
        assert_eq!(grid.time_of(3), 240 * S);
        assert_eq!(grid.seconds(), 60.0);

        let aligned = Grid::range(60 * S, 240 * S, 60 * S).unwrap();
        assert_eq!(aligned, grid);
        assert_eq!(Grid::range(60 * S, 60 * S, 60 * S).unwrap().points, 1);
        assert_eq!(Grid::range(-61 * S, -59 * S, 60 * S).unwrap().first_nanos, -120 * S);
    }

    #[test]
    fn a_point_counts_spans_up_to_and_with_its_own_time() {
        let grid = Grid::range(60 * S, 180 * S, 60 * S).unwrap();
        let expected = [
            (0, None),
            (1, Some(0)),
            (60 * S, Some(0)),
            (60 * S + 1, Some(1)),
            (180 * S, Some(2)),
            (180 * S + 1, None),
            (i64::MIN, None),
            (i64::MAX, None),
        ];
        for (start, point) in expected {
            assert_eq!(grid.point_of(start), point, "{start}");
        }
    }

    #[test]
    fn an_instant_is_closed_at_both_ends() {
        let grid = Grid::instant(10, 20).unwrap();
        assert_eq!((grid.time(), grid.time_of(0)), (10..21, 20));
        assert_eq!([9, 10, 20, 21].map(|t| grid.point_of(t)), [None, Some(0), Some(0), None]);
        assert_eq!(Grid::instant(0, 180 * S).unwrap().seconds(), 180.0);

        let moment = Grid::instant(7, 7).unwrap();
        assert_eq!((moment.point_of(7), moment.point_of(8)), (Some(0), None));
        assert!(moment.seconds() > 0.0);
    }

    #[test]
    fn windows_end_where_they_are_asked_to_and_reach_back_before_the_first_point() {
        let grid = Grid::sliding(100 * S, 161 * S, 20 * S, 3).unwrap();
        let shown: Vec<i64> = grid.shown().map(|point| grid.time_of(point) / S).collect();
        assert_eq!(shown, [101, 121, 141, 161]);
        assert_eq!(grid.time(), 41 * S + 1..161 * S + 1);
        assert_eq!((grid.seconds(), grid.window()), (60.0, 3));
        let points = [41 * S, 41 * S + 1, 61 * S, 61 * S + 1, 161 * S, 161 * S + 1];
        let expected = [None, Some(0), Some(0), Some(1), Some(5), None];
        assert_eq!(points.map(|time| grid.point_of(time)), expected);

        let too_many = Grid::sliding(0, S, S, 11_000);
        assert_eq!(too_many, Err(GridError::TooManyPoints { points: 11_001 }));
        assert!(matches!(Grid::sliding(0, S, 1, usize::MAX), Err(GridError::TooManyPoints { .. })));
        assert_eq!(Grid::sliding(1, 0, 1, 1), Err(GridError::Reversed));
        assert_eq!(Grid::sliding(0, 1, 0, 1), Err(GridError::StepNotPositive));
        assert_eq!(Grid::sliding(i64::MIN, i64::MIN, 1, 9), Err(GridError::OutOfRange));
    }

    #[test]
    fn the_point_of_a_span_is_what_division_says() {
        let mut random = Random::new(1);
        for _ in 0..2_000 {
            let step = 1 + (random.next() >> (1 + random.below(62))) as i64;
            let first = (random.next() as i64) >> random.below(60);
            let range = step.saturating_mul(random.below(10_000) as i64);
            let Ok(grid) = Grid::range(first, first.saturating_add(range), step) else { continue };
            let time = grid.time();
            let edges = [time.start, time.end - 1];
            let near = (0..40).flat_map(|_| {
                let edge = grid.time_of(random.below(grid.points as u64) as usize);
                [
                    edge - 1,
                    edge,
                    edge.saturating_add(1),
                    edge - (random.next() % step as u64) as i64,
                ]
            });
            for start in near.chain(edges) {
                let since = i128::from(start) - i128::from(time.start);
                let expected = time.contains(&start).then(|| (since / i128::from(step)) as usize);
                assert_eq!(grid.point_of(start), expected, "{grid:?} {start}");
            }
        }
    }

    #[test]
    fn absurd_ranges_are_refused_and_say_what_to_do() {
        let message = |grid: Result<Grid, GridError>| grid.unwrap_err().to_string();
        assert_eq!(
            message(Grid::range(2, 1, 1)),
            "the time range ends before it starts: let start be at or before end"
        );
        assert_eq!(message(Grid::instant(2, 1)), message(Grid::range(2, 1, 1)));
        assert_eq!(message(Grid::range(0, 1, 0)), "step must be more than zero");
        assert_eq!(message(Grid::range(0, 1, -5)), "step must be more than zero");
        assert_eq!(
            message(Grid::range(0, 11_000, 1)),
            "11001 points are more than 11000: choose a longer step or a shorter time range"
        );
        assert!(Grid::range(0, 10_999, 1).is_ok());
        assert!(matches!(Grid::range(i64::MIN, i64::MAX, 1), Err(GridError::TooManyPoints { .. })));
        for step in [i64::MAX, i64::MAX / 2, 1 << 62] {
            assert_eq!(Grid::range(i64::MIN, i64::MAX, step), Err(GridError::OutOfRange));
        }
        assert_eq!(Grid::instant(i64::MIN, i64::MAX), Err(GridError::OutOfRange));
        assert_eq!(Grid::instant(0, i64::MAX), Err(GridError::OutOfRange));
    }

    #[test]
    fn a_default_step_is_a_round_part_of_the_range() {
        let step = |range| Grid::default_step(1_000 * S, 1_000 * S + range);
        let hour = 3600 * S;
        let expected = [
            (0, S / 20),
            (30 * S, S / 10),
            (59 * S, S / 5),
            (60 * S, S),
            (10 * 60 * S, 2 * S),
            (hour, 15 * S),
            (hour / 2, 5 * S),
            (6 * hour, 60 * S),
            (24 * hour, 5 * 60 * S),
            (7 * 24 * hour, 40 * 60 * S),
            (30 * 24 * hour, 3 * hour),
        ];
        for (range, expected) in expected {
            assert_eq!(step(range), expected, "{range}");
        }
        assert!(Grid::default_step(i64::MIN, i64::MAX) > 0);
        assert_eq!(Grid::default_step(5, 0), S / 20);
    }
}
