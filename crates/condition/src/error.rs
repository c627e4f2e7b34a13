//! What can be wrong with the text of a condition, and where.

use kymo_traceql::QueryError;
use thiserror::Error;

/// Why a text is no condition.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}{message}", place(*line, *column))]
pub struct ConditionError {
    /// The line, from 1; 0 if it is not known.
    pub line: usize,
    /// The character in that line, from 1; 0 if it is not known.
    pub column: usize,
    /// What was found, and what was expected.
    pub message: String,
}

fn place(line: usize, column: usize) -> String {
    match (line, column) {
        (0, _) => String::new(),
        (1, column) => format!("column {column}: "),
        (line, column) => format!("line {line}, column {column}: "),
    }
}

impl ConditionError {
    /// An error of a condition as a whole.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { line: 0, column: 0, message: message.into() }
    }

    /// An error at a byte of the text.
    pub(crate) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        let last_line = before.rsplit('\n').next().unwrap_or(before);
        Self {
            line: before.matches('\n').count() + 1,
            column: last_line.chars().count() + 1,
            message: message.into(),
        }
    }

    /// What the parser says of `text` behind `added` characters that are not its own, and before a
    /// brace if there are any.
    pub(crate) fn of_query(error: &QueryError, text: &str, added: usize) -> Self {
        let message = error.message().to_owned();
        let Some(at) = error.position() else { return Self::new(message) };
        let column = if at.line == 1 { at.column.saturating_sub(added).max(1) } else { at.column };
        let end = Self::at(text, text.len(), "");
        let is_our_brace = added > 0 && (end.line, end.column) == (at.line, column);
        let message = match message.strip_prefix("unexpected \"}\"") {
            Some(rest) if is_our_brace => format!("unexpected end of the condition{rest}"),
            _ => message,
        };
        Self { line: at.line, column, message }
    }
}
