//! What rules need from outside: answers to queries, and somewhere to write.

use std::pin::Pin;
use std::time::Duration;

use kymo_promql::ast::Expr;
use kymo_promql::labels::Labels;
use kymo_promql::sample::Value;
use thiserror::Error;

/// What will be there later.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One series of an answer at a time.
pub use kymo_promql::eval::VectorSample;

/// Answers queries.
pub trait Evaluate: Send + Sync {
    /// What an expression gives at a time. A number is one sample without labels; what gives
    /// neither numbers nor series is the error `rule result is not a vector or scalar`.
    fn promql<'a>(
        &'a self,
        expr: &'a Expr,
        time_millis: i64,
    ) -> BoxFuture<'a, Result<Vec<VectorSample>, String>>;

    /// What a metrics query gives over the interval that ends at a time. A span counts where it
    /// starts, however long it lasts.
    fn traceql<'a>(
        &'a self,
        query: &'a str,
        time_millis: i64,
        interval: Duration,
    ) -> BoxFuture<'a, Result<Vec<VectorSample>, String>>;
}

/// A sample that a rule gives.
#[derive(Debug, Clone)]
pub struct RuleSample {
    /// Its labels, with the metric's name.
    pub labels: Labels,
    /// Its value; [`STALE_NAN`](kymo_promql::sample::STALE_NAN) where the series ended.
    pub value: Value,
    /// When.
    pub time_millis: i64,
}

/// Writes what rules give.
pub trait Sink: Send + Sync {
    /// Writes samples. When it is done, queries see them: the next rule may need them. An error is
    /// logged and shown with the rule.
    fn write(&self, samples: Vec<RuleSample>) -> BoxFuture<'_, Result<(), SinkError>>;
}

/// Why samples were not written as they are.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SinkError {
    /// Nothing was written that can be relied on.
    #[error("{0}")]
    Lost(String),
    /// So many samples were refused for what they are; the others are written.
    #[error("{0} samples were left out: {1}")]
    Partly(u64, String),
}
