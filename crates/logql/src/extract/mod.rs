//! Reading names and values out of a line: JSON, logfmt, patterns, regular expressions, packed
//! lines.
//!
//! Each parser hands what it finds to a `sink`, in the order of the line, and keeps nothing. A
//! name may come twice if the line has it twice; which one counts, and what happens to a name that
//! is taken, is the caller's to say. Nothing here allocates for a field that is not wanted.
//!
//! What a parser cannot read is an [`ExtractError`]. Names that came before it have been given
//! already: who wants none of them then throws them away.

#[cfg(test)]
mod fuzz;
pub mod json;
mod json_path;
mod json_text;
pub mod logfmt;
mod name;
pub mod pattern;
pub mod regexp;
pub mod unpack;

pub use json_path::JsonPaths;
pub use logfmt::Logfmt;
pub use pattern::{PatternFilter, PatternParser};
pub use regexp::RegexpParser;

/// Why a line cannot be read, or why a parser cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// The line is not JSON, or no longer.
    #[error("not JSON: expected {expected}")]
    Json {
        /// What would have been right. Where is not said: the text becomes a label, and lines that
        /// fail alike are one stream.
        expected: &'static str,
    },
    /// A pair of the line is not logfmt.
    #[error("not logfmt at byte {at}: {reason}")]
    Logfmt {
        /// Where, from 0.
        at: usize,
        /// What is wrong there.
        reason: &'static str,
    },
    /// The parser's own text is wrong: a path, a pattern, a regular expression.
    #[error("{0}")]
    Expression(String),
}

/// Whether a text may be the name of a label.
pub(crate) fn is_label_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let starts = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    starts && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
