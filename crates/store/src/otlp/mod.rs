//! The way back: rows to OTLP messages, with everything that was sent.
//!
//! A message is rebuilt as to its content: each field, attributes in the order
//! they were sent with types and repeated keys, events, links, and resource and
//! scope byte for byte. Only the order of fields within a message is ours.
//!
//! ```text
//! source, rows ──> window ──> spans, logs ──> records ──> TracesData, LogsData
//!                 (columns    (attributes)    (grouped by
//!                  near them)                  origin)
//! ```
//!
//! Of a block only the granules that hold the rows are read, only the attribute
//! columns that the shapes of the rows name, and of lists only those that the
//! rows have elements of.
//!
//! | module | what it holds |
//! |---|---|
//! | `window`, `row` | columns of some neighbouring granules, or of a chunk |
//! | `attributes` | shape, columns and `rest` back to attributes |
//! | `spans`, `logs` | rows to messages |
//! | `records` | rebuilt messages, and requests made of them |
//! | `trace`, `open` | a trace by its id, from all sources; its spans that have not ended |
//! | `duplicates` | spans that were stored twice |

mod attributes;
mod duplicates;
mod logs;
mod open;
mod records;
mod row;
mod spans;
mod trace;
mod window;

pub use duplicates::duplicates;
pub use open::OPEN_ATTRIBUTE;
pub(crate) use open::{event_traces, if_readable};
pub use records::Records;
pub(crate) use trace::{Finder, GoOn};
pub use trace::{TraceResult, trace_by_id};

use crate::block::source::Source;
use crate::error::StoreError;

/// The spans of some rows, which must ascend.
pub fn spans(source: &Source, rows: &[u32]) -> Result<Records, StoreError> {
    let mut records = Records::default();
    records.add_spans(source, rows)?;
    Ok(records)
}

/// The log records of some rows, which must ascend.
pub fn logs(source: &Source, rows: &[u32]) -> Result<Records, StoreError> {
    let mut records = Records::default();
    records.add_logs(source, rows)?;
    Ok(records)
}
