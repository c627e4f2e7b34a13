//! What is wrong with the text of a query, and where.

use std::fmt;

use crate::ast::Span;
use crate::position::line_and_column;

/// Why a text is no query. Only the first thing that is wrong is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ParseError {
    /// What it is about.
    pub span: Span,
    /// The line where that begins, from 1; 0 if there is no text.
    pub line: usize,
    /// The byte in the line where that begins, from 1; 0 if there is no text.
    pub column: usize,
    /// What was found, and what was expected: as Prometheus says it.
    pub message: String,
}

impl ParseError {
    /// An error at a place of a text.
    pub fn new(text: &str, span: Span, message: impl Into<String>) -> Self {
        let (line, column) =
            if text.is_empty() { (0, 0) } else { line_and_column(text, span.start) };
        Self { span, line, column, message: message.into() }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "unknown position: parse error: {}", self.message),
            line => write!(f, "{line}:{}: parse error: {}", self.column, self.message),
        }
    }
}
