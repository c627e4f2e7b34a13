//! Why a trace cannot be shown.

use kymo_wire::{JsonError, WireError};

/// Why a trace cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// What is stored is no trace.
    #[error("the trace cannot be read: {0}")]
    Wire(#[from] WireError),
    /// It is more than 32 bits can count.
    #[error("the trace has {bytes} bytes, more than the 4 GiB that can be shown")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// What was uploaded is none of the formats.
    #[error(
        "expected OTLP as JSON (one object, or one in each line) or protobuf, Jaeger's JSON with a \
         member data, Zipkin's list of spans, or Chrome's trace events: {0}"
    )]
    Format(String),
    /// What was uploaded is OTLP in JSON with a mistake.
    #[error("the OTLP/JSON has a mistake: {0}")]
    Json(#[from] JsonError),
    /// What was uploaded has too many traces.
    #[error("the file has more than {0} traces: `kymo import` stores any number")]
    TooManyTraces(usize),
    /// What was uploaded has too much of something to be taken apart in memory.
    #[error("the file has more than {most} {parts}: `kymo import` stores any number")]
    TooManyParts {
        /// Of what.
        parts: &'static str,
        /// The most that it may have.
        most: usize,
    },
    /// What is asked for is too much for one answer.
    #[error("the spans have more than {0} bytes together: ask for fewer at once")]
    TooMuchAtOnce(usize),
    /// What was uploaded has no spans.
    #[error("the file has no spans with a trace id and a span id")]
    NoSpans,
    /// What is looked for cannot be.
    #[error("{0}")]
    Query(String),
}
