//! What is asked beside the query: times, how many lines, limits.

use crate::limits::{MAX_ENTRIES_HELD, MAX_SAMPLES_HELD, MAX_SERIES};

/// The times that a query is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// At one time.
    Instant {
        /// Which.
        time_nanos: i64,
    },
    /// At each step; a log query takes the lines from the start to before the end.
    Range {
        /// The first step.
        start_nanos: i64,
        /// No step is after it.
        end_nanos: i64,
        /// How far steps are apart. Log queries do not read it.
        step_nanos: i64,
    },
}

/// The order in which a log query gives lines, and which lines it gives if there are too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direction {
    /// Oldest first.
    Forward,
    /// Newest first.
    #[default]
    Backward,
}

/// What a query may hold while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The series of each range aggregation, and of the result.
    pub max_series: usize,
    /// The numbers that are held: a state for each series and step, and the samples of functions
    /// that need every one.
    pub max_samples: usize,
    /// The lines that a log query with an interval may hold.
    pub max_entries: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            max_series: MAX_SERIES,
            max_samples: MAX_SAMPLES_HELD,
            max_entries: MAX_ENTRIES_HELD,
        }
    }
}

/// All that is asked beside the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The times.
    pub times: Times,
    /// How many lines a log query gives.
    pub limit: usize,
    /// Their order.
    pub direction: Direction,
    /// The least time between two lines of a log query; 0 gives all.
    pub interval_nanos: i64,
    /// What the query may hold.
    pub bounds: Bounds,
}

impl Request {
    /// At one time.
    pub fn instant(time_nanos: i64) -> Self {
        Self::new(Times::Instant { time_nanos })
    }

    /// At each step of a range.
    pub fn range(start_nanos: i64, end_nanos: i64, step_nanos: i64) -> Self {
        Self::new(Times::Range { start_nanos, end_nanos, step_nanos })
    }

    fn new(times: Times) -> Self {
        let (limit, direction) = (100, Direction::default());
        Self { times, limit, direction, interval_nanos: 0, bounds: Bounds::default() }
    }
}
