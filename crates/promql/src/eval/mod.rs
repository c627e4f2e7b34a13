//! Evaluation: a parsed expression over the series of a source.
//!
//! ```text
//! Expr ── plan (durations, times) ──> Plan ── evaluator ──> Grid (series × steps) ──> Evaluation
//!                                               │
//!                                     Source: series and their samples
//! ```
//!
//! An expression is evaluated at all steps at once, node by node: what a node gives
//! is a [`grid::Grid`]. Of a series that is read, a range function makes a row
//! with one walk over its samples, however many steps there are; rows are divided
//! among threads. A name that a function takes away stays with the row until the
//! query ends (*delayed name removal*), unless that is switched off.
//!
//! | module | what it holds |
//! |---|---|
//! | `plan` | an expression, ready to run |
//! | `evaluator` | the walk over the plan |
//! | `grid`, `parallel` | samples of all steps, and working on them with several threads |
//! | `selectors` | the newest sample at each step |
//! | `ranges`, `window` | functions over ranges: windows, and driving them over rows |
//! | `rate`, `extended`, `over_time`, `trend`, `changes` | functions of a window |
//! | `instant`, `classic_histograms` | functions of a vector |
//! | `relabel`, `info` | functions of labels |
//! | `aggregate`, `accumulate`, `pick` | aggregations |
//! | `binary`, `matching`, `elements`, `arithmetic` | operators |

mod accumulate;
mod aggregate;
mod arithmetic;
mod binary;
mod changes;
mod classic_histograms;
mod elements;
mod error;
mod evaluator;
mod extended;
mod grid;
mod info;
mod instant;
mod matching;
mod over_time;
mod parallel;
mod pick;
mod plan;
mod ranges;
mod rate;
mod relabel;
mod result;
mod selectors;
mod trend;
mod window;

pub use error::EvalError;
pub use evaluator::evaluate;
pub use plan::Times;
pub use result::{Evaluation, MatrixSeries, Outcome, VectorSample};

/// How queries are evaluated.
#[derive(Debug, Clone)]
pub struct EvalOptions {
    /// How old a sample may be to count as current, in milliseconds.
    pub lookback: i64,
    /// The step of subqueries that name none, in milliseconds.
    pub subquery_step: i64,
    /// How many samples a query may hold.
    pub max_samples: usize,
    /// Names go at the end of a query, not with the first function.
    pub delayed_name_removal: bool,
    /// Start times of samples tell resets of counters.
    pub start_timestamps: bool,
    /// Types of metrics are told by the label `__type__`.
    pub type_and_unit_labels: bool,
    /// Threads that work on one query.
    pub threads: usize,
}

impl Default for EvalOptions {
    fn default() -> Self {
        Self {
            lookback: 300_000,
            subquery_step: 60_000,
            max_samples: crate::limits::MAX_SAMPLES,
            delayed_name_removal: true,
            start_timestamps: true,
            type_and_unit_labels: false,
            threads: 1,
        }
    }
}

/// Ends a query that nobody waits for, or that takes too long.
pub trait Interrupt: Sync {
    /// An error if the query has to end.
    fn check(&self) -> Result<(), EvalError>;
}

/// Lets queries run to their end.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uninterrupted;

impl Interrupt for Uninterrupted {
    fn check(&self) -> Result<(), EvalError> {
        Ok(())
    }
}
