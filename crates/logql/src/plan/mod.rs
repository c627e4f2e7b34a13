//! Queries to plans, entries to answers.
//!
//! ```text
//! parse ─> Expr ─> plan ─┬─> LogPlan ──── worker… <─ entries         finish ─> Streams
//!                        └─> MetricPlan ─ leaf… ─ worker… <─ entries  finish ─> Value
//! ```
//!
//! A plan says which entries it wants ([`Selection`](crate::selection::Selection)). Workers are
//! handed entries in any order, each on a thread of its own; `finish` brings together what they
//! hold. What they hold is bounded ([`Bounds`](crate::request::Bounds)).

mod absent;
mod binary;
mod counter;
mod grid;
mod leaf;
mod log;
mod metric;
mod quantile;
mod rolling;
mod series;
mod state;
mod streams;
mod value;
mod windows;

pub use leaf::{Counting, Leaf, LeafWorker};
pub use log::{LogPlan, LogWorker};
pub use metric::MetricPlan;
pub use streams::{Found, Streams};
pub use value::{Sample, Series, Value};

use crate::ast::Expr;
use crate::error::PlanError;
use crate::request::Request;

/// A query, ready to be answered.
#[derive(Debug, Clone)]
pub enum Plan {
    /// One that gives lines.
    Log(LogPlan),
    /// One that gives numbers.
    Metric(MetricPlan),
}

/// Plans a query.
pub fn plan(expr: &Expr, request: &Request) -> Result<Plan, PlanError> {
    match expr {
        Expr::Log(log) => LogPlan::new(log, request).map(Plan::Log),
        Expr::Metric(metric) => MetricPlan::new(metric, request).map(Plan::Metric),
    }
}
