//! What can be wrong with a query, and where.

use std::fmt;

/// Where in a query: both count from 1, columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The position of a byte offset in a text.
    pub(crate) fn of(text: &str, offset: usize) -> Position {
        let before = text.get(..offset).unwrap_or(text);
        let last_line = before.rsplit('\n').next().unwrap_or(before);
        Position { line: before.matches('\n').count() + 1, column: last_line.chars().count() + 1 }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, col {}", self.line, self.column)
    }
}

/// Why a query cannot be answered. Whoever asked it is at fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The text is no query.
    #[error("parse error at {at}: {message}")]
    Syntax {
        /// Where.
        at: Position,
        /// What was found, and what was expected.
        message: String,
    },
    /// It is a query, but it asks for something that has no meaning.
    #[error("{}{message}", at.map(|at| format!("{at}: ")).unwrap_or_default())]
    Type {
        /// Where, if that is known.
        at: Option<Position>,
        /// What does not fit.
        message: String,
    },
}

impl QueryError {
    /// Where in the query, if that is known.
    pub fn position(&self) -> Option<Position> {
        match self {
            QueryError::Syntax { at, .. } => Some(*at),
            QueryError::Type { at, .. } => *at,
        }
    }

    /// What is wrong, without the position.
    pub fn message(&self) -> &str {
        match self {
            QueryError::Syntax { message, .. } | QueryError::Type { message, .. } => message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters() {
        let text = "{ .a = \"日本\"\n && é }";
        let offset = text.find('é').unwrap();
        assert_eq!(Position::of(text, offset), Position { line: 2, column: 5 });
        let offset = text.find('\n').unwrap();
        assert_eq!(Position::of(text, offset), Position { line: 1, column: 12 });
        assert_eq!(Position::of("", 0), Position { line: 1, column: 1 });
    }

    #[test]
    fn a_type_error_says_where_only_if_that_is_known() {
        let message = "it does not fit".to_string();
        let at = Some(Position { line: 2, column: 3 });
        let error = QueryError::Type { at, message: message.clone() };
        assert_eq!(error.to_string(), "line 2, col 3: it does not fit");
        assert_eq!(QueryError::Type { at: None, message }.to_string(), "it does not fit");
    }
}
