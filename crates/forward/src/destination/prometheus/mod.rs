//! Between OTLP's metrics and Prometheus' remote-write, both ways.
//!
//! | module | what it is for |
//! |---|---|
//! | `translate` | OTLP to remote-write: points to samples |
//! | `series` | the series of a request that is being made, each once |
//! | `labels` | labels of attributes, resources and scopes; `target_info` |
//! | `native` | exponential histograms as native ones |
//! | `totals` | deltas added up |
//! | `versions` | remote-write 1.0 to 2.0 and back |
//! | `otlp` | remote-write to OTLP |

use kymo_wire::WireError;
use thiserror::Error;

use crate::limits::MAX_CONVERTED_BYTES;

mod labels;
mod native;
mod otlp;
mod series;
#[cfg(test)]
mod tests;
mod totals;
mod translate;
mod versions;

pub(crate) use otlp::to_otlp;
pub(crate) use translate::Translator;
pub(crate) use versions::convert_version;

/// Why a request cannot be said in another format.
#[derive(Debug, Error)]
pub(crate) enum ConvertError {
    /// It is not what it is said to be.
    #[error("is damaged: {0}")]
    Damaged(#[from] WireError),
    /// What is said once in one format and again and again in the other would be too much.
    #[error("would have more than {MAX_CONVERTED_BYTES} bytes in the format that is sent")]
    TooLarge,
}

/// Refuses what grows beyond all that is received.
fn bounded(size_bytes: usize) -> Result<(), ConvertError> {
    if size_bytes <= MAX_CONVERTED_BYTES { Ok(()) } else { Err(ConvertError::TooLarge) }
}

/// The value of a sample that says that its series has ended, bit by bit.
const STALE_BITS: u64 = 0x7ff0_0000_0000_0002;
/// The flag of a point that says the same.
const NO_RECORDED_VALUE: u32 = 1;
/// `AGGREGATION_TEMPORALITY_DELTA`.
const DELTA: i32 = 1;
/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;
const NANOS_PER_MILLI: u64 = 1_000_000;
