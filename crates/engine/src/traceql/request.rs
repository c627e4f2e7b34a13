//! What can be asked about traces.

use std::cmp::Reverse;
use std::ops::Range;

use kymo_traceql::ast::{Expr, Query};

/// A search for traces.
#[derive(Debug, Clone)]
pub struct Search {
    /// What is looked for: spans. Of a query for series, the spans that they are made of.
    pub query: Query,
    /// Nanoseconds since 1970: one of the spans that match ran within. `None` for all.
    pub time: Option<Range<i64>>,
    /// Traces to find, at least one.
    pub limit: usize,
    /// Spans to show of each spanset. All that match are counted.
    pub spans_per_set: usize,
    /// Which traces come first.
    pub sort: Sort,
    /// Go on behind the last trace of another answer.
    pub after: Option<Cursor>,
}

/// Which traces come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// Those with the newest matching spans. Only this order ends early: others look at all
    /// traces that match.
    #[default]
    Newest,
    /// Those that began last.
    Start,
    /// The longest.
    Duration,
    /// Those with the most matching spans.
    Spans,
}

/// A place in the order of an answer: the last trace that was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// What traces are ordered by, of that trace.
    pub(crate) key: i64,
    /// Hash of its id.
    pub(crate) hash: u64,
}

impl Cursor {
    /// Whether a trace comes behind this place: greater keys first, then lesser hashes.
    pub(crate) fn precedes(self, key: i64, hash: u64) -> bool {
        (Reverse(self.key), self.hash) < (Reverse(key), hash)
    }

    /// From text that [`Display`](std::fmt::Display) gave.
    pub fn parse(text: &str) -> Option<Self> {
        let (key, hash) = text.split_at_checked(16).filter(|(_, hash)| hash.len() == 16)?;
        let hex = |text: &str| {
            let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
            u64::from_str_radix(text, 16).ok().filter(|_| is_hex)
        };
        Some(Self { key: hex(key)? as i64, hash: hex(hash)? })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}{:016x}", self.key, self.hash)
    }
}

/// A query for series.
#[derive(Debug, Clone)]
pub struct MetricsQuery {
    /// What is asked: series.
    pub query: Query,
    /// Nanoseconds since 1970.
    pub start_nanos: i64,
    /// Nanoseconds since 1970.
    pub end_nanos: i64,
    /// Which points.
    pub points: Points,
    /// Examples of spans to give with the series, at most.
    pub exemplars: usize,
}

/// The points of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Points {
    /// One, over all the time.
    One,
    /// So many nanoseconds apart, on multiples of them; each tells of the time since the one
    /// before.
    Every(i64),
    /// From the end back to the start; each tells of several steps before it. Not for `compare()`.
    Sliding {
        /// Nanoseconds from one point to the next.
        step_nanos: i64,
        /// Steps that a point tells of.
        window: usize,
    },
}

/// Which tags, or values of a tag.
#[derive(Debug, Clone, Default)]
pub struct TagQuery {
    /// Nanoseconds since 1970; `None` for all.
    pub time: Option<Range<i64>>,
    /// Only those of spans that pass.
    pub filter: Option<Expr>,
    /// At most so many.
    pub limit: Option<usize>,
}
