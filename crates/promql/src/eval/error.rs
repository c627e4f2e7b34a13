//! Why a query has no result.

use crate::source::SourceError;

/// Why a query has no result.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// The expression cannot be evaluated over this data.
    #[error("{0}")]
    Execution(String),
    /// The expression gives something that has no samples over time, and is asked
    /// for at more than one. The request is at fault, whatever the data.
    #[error("invalid expression type {0:?} for range query, must be Scalar or instant Vector")]
    NotOverTime(&'static str),
    /// The query would hold more samples than it may.
    #[error(
        "query processing would load too many samples into memory in query execution: at most \
         {0} are allowed; ask for a shorter range, a longer step or fewer series, or raise the \
         limit"
    )]
    TooManySamples(usize),
    /// The query took longer than it may.
    #[error("query timed out in expression evaluation")]
    Timeout,
    /// Whoever asked does not want to know any more.
    #[error("query was canceled in expression evaluation")]
    Canceled,
    /// Series could not be read.
    #[error("expanding series: {0}")]
    Source(#[from] SourceError),
}

impl EvalError {
    /// Two series of a result have equal labels.
    pub(crate) fn same_labels() -> Self {
        Self::Execution("vector cannot contain metrics with the same labelset".to_owned())
    }
}
