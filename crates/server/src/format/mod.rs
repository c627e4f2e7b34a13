//! Batches as JSON, CSV and Arrow, piece by piece.
//!
//! What a value looks like is decided in one place, [`cell`]: ids and other bytes are hexadecimal,
//! times are RFC 3339 in UTC with nanoseconds, lists and structs are JSON.

pub mod cell;
mod csv;
mod json;
mod stream;

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};

pub use csv::Csv;
pub use json::Json;
pub use stream::ArrowStream;

/// Writes the rows of an answer: a beginning, batches, an end.
pub trait Encoder: Send {
    /// What comes before the first row.
    fn begin(&mut self, schema: &SchemaRef) -> Result<Vec<u8>, ArrowError>;
    /// Some rows.
    fn batch(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError>;
    /// What comes after the last row.
    fn end(&mut self) -> Result<Vec<u8>, ArrowError>;
    /// What comes instead, where an answer breaks off with an error.
    fn error(&mut self, message: &str) -> Vec<u8>;
}

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON document.
    Json,
    /// CSV with a header line.
    Csv,
    /// An Arrow IPC stream.
    Arrow,
}

impl Format {
    /// The content type of an Arrow IPC stream.
    pub const ARROW_STREAM: &'static str = "application/vnd.apache.arrow.stream";

    /// The form that an `Accept` header asks for first; JSON if it asks for none that is known.
    #[must_use]
    pub fn accepted(accept: &str) -> Self {
        for part in accept.split(',') {
            match part.split(';').next().unwrap_or("").trim() {
                "text/csv" => return Self::Csv,
                Self::ARROW_STREAM => return Self::Arrow,
                "application/json" => return Self::Json,
                _ => {}
            }
        }
        Self::Json
    }

    /// The content type of an answer.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Arrow => Self::ARROW_STREAM,
        }
    }

    /// What writes it.
    #[must_use]
    pub fn encoder(self) -> Box<dyn Encoder> {
        match self {
            Self::Json => Box::new(Json::default()),
            Self::Csv => Box::new(Csv),
            Self::Arrow => Box::new(ArrowStream::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_is_known_is_taken() {
        assert_eq!(Format::accepted("*/*"), Format::Json);
        assert_eq!(Format::accepted("text/html, text/csv;q=0.5, application/json"), Format::Csv);
        assert_eq!(Format::accepted(Format::ARROW_STREAM), Format::Arrow);
    }
}
