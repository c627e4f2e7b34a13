//! OTLP/JSON to OTLP protobuf and back.
//!
//! Reading accepts what senders really write, which is both the mapping OTLP specifies and the
//! one protobuf libraries produce by themselves:
//! - names in lowerCamelCase or snake_case; unknown members are ignored; `null` is absent
//! - trace and span ids in hex of either case, or in base64 where the length tells them apart
//! - 64-bit integers as string or number, enums as number or name
//! - bytes in base64, standard or URL-safe, padded or not
//! - doubles as number, or as `"NaN"`, `"Infinity"`, `"-Infinity"`
//! - a byte order mark in front
//!
//! It refuses a member that occurs twice in one object, and values nested deeper than
//! [`MAX_NESTING`](crate::limits::MAX_NESTING). It does not judge the content: that is what
//! [`inspect`](crate::inspect) does, for all encodings alike.
//!
//! Writing follows the OTLP specification: lowerCamelCase, ids in hex, 64-bit integers as
//! strings, enums as numbers; or, where a [`Style`] says so, protobuf's own mapping.
//!
//! Neither direction builds a tree: JSON events become protobuf fields as they are read.

mod decode;
mod encode;
mod scalar;

pub use encode::{Style, encode, encode_styled};

use std::fmt;

use crate::Signal;

/// Why some text is not OTLP/JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// Line, counted from 1; 0 if the error has no place.
    pub line: usize,
    /// Column, counted from 1.
    pub column: usize,
    /// The member that was being read, such as `resourceSpans[0].scopeSpans[1].scope`; may be
    /// empty.
    pub path: String,
    /// What was wrong.
    pub message: String,
}

impl JsonError {
    /// What a parser says, without the way to where it is.
    pub(crate) fn without_path(error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let place = format!(" at line {line} column {column}");
        let message = message.strip_suffix(&place).unwrap_or(&message).to_owned();
        Self { line, column, path: String::new(), message }
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if !self.path.is_empty() {
            write!(f, " in {}", self.path)?;
        }
        if self.line > 0 {
            write!(f, " at line {} column {}", self.line, self.column)?;
        }
        Ok(())
    }
}

impl std::error::Error for JsonError {}

/// Reads the request of a signal and gives it as protobuf.
pub fn decode(signal: Signal, text: &[u8]) -> Result<Vec<u8>, JsonError> {
    decode::decode(&[signal], text).map(|(_, body)| body)
}

/// Reads the request of whichever signal it is.
pub(crate) fn decode_any(text: &[u8]) -> Result<(Signal, Vec<u8>), JsonError> {
    let (signal, body) = decode::decode(&Signal::ALL, text)?;
    let Some(signal) = signal else {
        return Err(JsonError {
            line: 0,
            column: 0,
            path: String::new(),
            message: "expected a member resourceSpans, resourceMetrics or resourceLogs".into(),
        });
    };
    Ok((signal, body))
}

#[cfg(test)]
mod tests;
