//! What ends a report.

use kymo_wire::{Signal, WireError};

/// Why something cannot be reported on.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A request is not OTLP.
    #[error("expected a request of {signal}, and its bytes are damaged: {source}")]
    Request {
        /// What it should have been.
        signal: Signal,
        /// What is wrong with it.
        source: WireError,
    },
}
