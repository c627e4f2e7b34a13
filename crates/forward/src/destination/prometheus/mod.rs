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

/// The value of a sample that says that its series has ended, bit by bit.
const STALE_BITS: u64 = 0x7ff0_0000_0000_0002;
/// The flag of a point that says the same.
const NO_RECORDED_VALUE: u32 = 1;
/// `AGGREGATION_TEMPORALITY_DELTA`.
const DELTA: i32 = 1;
/// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
const CUMULATIVE: u64 = 2;
const NANOS_PER_MILLI: u64 = 1_000_000;
