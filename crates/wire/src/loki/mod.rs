//! What is pushed to Loki, as OTLP.
//!
//! A push brings streams: a set of labels, and under it entries of a time, a line and pairs of
//! *structured metadata*. It comes as protobuf (its labels are a text, `{app="shop"}`) or as JSON.
//! Both become one `ExportLogsServiceRequest`, so that whoever is behind knows OTLP only:
//!
//! | Loki | OTLP |
//! |---|---|
//! | stream | `ResourceLogs`, one for each distinct label set |
//! | labels | attributes of the resource: text, sorted by name, those with an empty value left out |
//! | – | the scope's name is [`SCOPE`]: all attributes of this resource are labels, nothing else is |
//! | time | `time_unix_nano` |
//! | line | body, as text |
//! | structured metadata | attributes of the record, in order; names as [`metadata_name`] makes them |
//! | metadata `trace_id` of 32 lower-case hexadecimal digits, `span_id` of 16 | the record's ids |
//!
//! Entries of a stream that have the same time, line and metadata are one.
//!
//! What cannot be read at all is an error, and nothing of the push is kept. A stream whose labels
//! are wrong, and an entry whose time or metadata is, are left out alone and counted
//! ([`Push::faults`]). Text that is not UTF-8 is for [`inspect`](mod@crate::inspect) to judge, as in
//! every request. Compression is not the business of this module.
//!
//! Nothing is built in between: fields and events become bytes of OTLP as they are read. Memory is
//! in proportion to what comes out, which [`Bounds::max_bytes`] limits.

mod assemble;
mod json;
mod labels;
mod protobuf;
#[cfg(test)]
mod tests;

pub use labels::metadata_name;

use thiserror::Error;

use crate::json::JsonError;
use crate::proto::WireError;
use assemble::Assembler;

/// Name of the scope of records that were pushed: it marks that all attributes of their resource are
/// the labels of a stream.
pub const SCOPE: &[u8] = b"kymo.loki";

/// How a push is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `logproto.PushRequest`.
    Protobuf,
    /// `{"streams": [{"stream": {…}, "values": [["<ns>", "line", {…}]]}]}`
    Json,
}

/// What a push may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of the request that is made.
    pub max_bytes: usize,
    /// Bytes of the value of a label or of structured metadata. Lines have no bound of their own.
    pub max_value_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_bytes: usize::MAX, max_value_bytes: usize::MAX }
    }
}

/// A push as OTLP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Push {
    /// An `ExportLogsServiceRequest`.
    pub body: Vec<u8>,
    /// Entries that are not in `body`, by what is wrong with them.
    pub faults: Vec<Fault>,
}

/// What is wrong with some entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A word for metrics.
    pub reason: &'static str,
    /// What is wrong with the first of them, in words.
    pub message: String,
    /// How many there are.
    pub count: u64,
}

/// Why nothing of a push can be kept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PushError {
    /// It is not protobuf, or not a push.
    #[error("{0}")]
    Wire(#[from] WireError),
    /// It is not JSON, or not a push.
    #[error("{0}")]
    Json(#[from] JsonError),
    /// There is no stream in it.
    #[error("no streams in the push: send at least one")]
    Empty,
    /// It would become larger than allowed.
    #[error("push is larger than {0} bytes as OTLP")]
    TooLarge(usize),
}

/// Reads a push.
pub fn read(format: Format, bytes: &[u8], bounds: &Bounds) -> Result<Push, PushError> {
    let mut assembler = Assembler::new(bounds);
    match format {
        Format::Protobuf => protobuf::read(bytes, &mut assembler)?,
        Format::Json => json::read(bytes, &mut assembler)?,
    }
    assembler.finish()
}
