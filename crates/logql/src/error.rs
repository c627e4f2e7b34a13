//! What can be wrong with a query, and with what it finds.

use std::fmt;

use crate::ast::Span;

/// Why a text is no query. Only the first thing that is wrong is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ParseError {
    /// What it is about.
    pub span: Span,
    /// The line where that begins, from 1.
    pub line: usize,
    /// The character in the line where that begins, from 1.
    pub column: usize,
    /// The stage of a pipeline that it is about, as it was written.
    pub stage: Option<String>,
    /// What was found, and what was expected.
    pub message: String,
}

impl ParseError {
    /// An error at a place of a text.
    pub(crate) fn new(text: &str, span: Span, message: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Self { span, line, column, stage: None, message: message.into() }
    }

    /// The same, about a stage.
    pub(crate) fn in_stage(mut self, text: &str, stage: Span) -> Self {
        self.stage = text.get(stage.start..stage.end).map(|text| text.trim().to_owned());
        self
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "parse error at line {}, col {}: ", self.line, self.column)?;
        if let Some(stage) = &self.stage {
            write!(f, "stage '{stage}': ")?;
        }
        f.write_str(&self.message)
    }
}

/// Why a query cannot be asked as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Lines have no value at one time.
    #[error("log queries are not supported as an instant query: ask for a range of time")]
    InstantLogs,
    /// The end is before the start.
    #[error("the end of the range is before its start")]
    EndBeforeStart,
    /// Steps of no length.
    #[error("zero or negative steps are not accepted: give a step of 1ms or more")]
    BadStep,
    /// More points than a series may have.
    #[error(
        "exceeded maximum resolution of {max} points per time series: take a larger step or a \
         shorter range"
    )]
    TooManyPoints {
        /// How many there may be.
        max: usize,
    },
    /// Something of the query does not compile. The parser looks for that, so that only trees
    /// that were built by hand can have it.
    #[error("{0}")]
    BadStage(String),
}

/// Why a query that was understood has no answer. The first four are mistakes in the query.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// A line of a metric query has an error.
    #[error(
        "pipeline error: '{error}' for series: '{labels}'{details}. Leave such lines out with \
         | __error__=\"\" (behind unwrap if there is one), or count them with | drop __error__"
    )]
    Pipeline {
        /// The value of `__error__`.
        error: String,
        /// The labels of the line.
        labels: String,
        /// The value of `__error_details__`, in parentheses after a space; may be empty.
        details: String,
    },
    /// More series than a query may have.
    #[error(
        "maximum number of series ({max}) reached for a single query: aggregate with sum by \
         (...), or drop labels that have many values{guilty}"
    )]
    TooManySeries {
        /// How many there may be.
        max: usize,
        /// The labels with the most values, as text: ` (most values: a 900, b 20)`.
        guilty: String,
    },
    /// More numbers than a query may hold.
    #[error(
        "the query holds more than {max} samples: take a larger step, a shorter range, or \
         aggregate over fewer series"
    )]
    TooManySamples {
        /// How many there may be.
        max: usize,
    },
    /// Series of two operands do not go together.
    #[error("{0}")]
    Matching(String),
    /// A log query with an interval met more lines than it may hold.
    #[error(
        "the query holds more than {max} lines to choose from by interval: take a shorter range \
         or filter more"
    )]
    TooManyEntries {
        /// How many there may be.
        max: usize,
    },
}
