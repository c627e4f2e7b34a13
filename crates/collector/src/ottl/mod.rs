//! The collector's language for conditions and statements (OTTL), read and said in TraceQL.
//!
//! ```text
//! text ─> lexer ─> parser ─> ast ─> fields (paths of a context) ─> condition (TraceQL)
//!                              └──> statements of the transform processor
//! ```
//!
//! Only what means the same is said. A missing attribute makes every comparison of TraceQL false,
//! while OTTL's `!=` is then true, so `attributes["a"] != 1` becomes `!(span.a = 1)`. What cannot be
//! said is an [`OttlError`] with its place in the text.

mod ast;
mod condition;
#[cfg(test)]
mod differential;
mod fields;
mod lexer;
mod parser;

pub(crate) use ast::{Condition, Literal, Operand, Path};
pub(crate) use condition::{condition, said};
pub(crate) use fields::{Context, field};
pub(crate) use parser::{parse_condition, parse_statement};

/// Why a text cannot be said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (character {})", .at + 1)]
pub(crate) struct OttlError {
    /// Which character of the text, from zero.
    pub(crate) at: usize,
    pub(crate) message: String,
}

impl OttlError {
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }
}

pub(crate) type Result<T> = std::result::Result<T, OttlError>;
