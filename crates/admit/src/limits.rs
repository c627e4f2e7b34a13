//! Every limit of admission, with its reason.
//!
//! [`Limits`] are settings, and each tenant may have its own. The constants are not: others rely
//! on them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kymo_wire::limits::{MAX_NESTING, MAX_TIME_UNIX_NANOS};
use thiserror::Error;

/// The largest body that is handed on: the journal's records are not larger.
pub const MAX_BODY_BYTES: usize = 64 << 20;

/// The longest name of a tenant: it is part of journal records and of paths.
pub const MAX_TENANT_BYTES: usize = 64;

/// Gzip members or zstd frames in one body. Senders write one. Starting one costs more than its
/// few bytes show, so that a body of nothing else would be an attack on time.
pub const MAX_MEMBERS: usize = 1024;

/// The distance that zstd may look back. It is what RFC 9659 allows in HTTP, and what the highest
/// ordinary level of compression uses. The window is memory beside the decompressed body.
pub const MAX_ZSTD_WINDOW_BYTES: u64 = 8 << 20;

/// What snappy can make of a byte at most: a copy of 64 bytes takes three.
pub(crate) const MAX_SNAPPY_RATIO: usize = 22;

/// What the name of an unknown compression may take up in an answer.
pub(crate) const MAX_QUOTED_CHARS: usize = 32;

/// The memory for decompression that a thread keeps for the next request: more than a batch of
/// 8192 spans needs, which is what collectors send at once.
pub(crate) const KEPT_BUFFER_BYTES: usize = 4 << 20;

/// The least memory to begin with.
pub(crate) const MIN_BUFFER_BYTES: usize = 64 << 10;

/// How far a size that a body claims for itself is believed, as a multiple of its own: telemetry
/// shrinks 5 to 20 fold. What is larger in truth gets its memory as it comes.
pub(crate) const BELIEVED_RATIO: usize = 32;

/// What a tenant may send at once of what it may send a second: exporters send every few seconds.
pub const RATE_BURST: Duration = Duration::from_secs(10);

/// Tenants whose rates are watched at once. Their names come from senders; those beyond wait until
/// others have been silent for a while.
pub const MAX_RATED_TENANTS: usize = 10_000;

/// How long a series counts that gets no more points.
pub const SERIES_COUNT_FOR: Duration = Duration::from_secs(3600);

/// How long a log record is remembered, so that a copy of it is known, at least; at most twice as
/// long. Handlers of one logger export within seconds of each other.
pub const DEDUPLICATED_FOR: Duration = Duration::from_secs(60);

/// Log records of all tenants that are remembered for that, twice over: some 20 MiB. Names of tenants
/// come from senders, so that a bound for each would be none.
pub const MAX_DEDUPLICATED_RECORDS: usize = 256 << 10;

/// What a tenant may send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a request as it comes, compressed or not.
    pub max_request_bytes: usize,
    /// Bytes of a request after decompression.
    pub max_decompressed_bytes: usize,
    /// How deep arrays and key-value lists may be nested in a value. Deeper refuses the request.
    pub max_nesting: u32,
    /// Attributes of a span, an event, a link, a log record, a resource, a scope: more are dropped.
    /// A data point with more is refused, and so is a series of remote-write with more labels.
    pub max_attributes_per_record: usize,
    /// Bytes of a text or bytes value, of a log record's body and of a status message: more is cut.
    /// A series of remote-write with a longer label is refused.
    pub max_value_bytes: usize,
    /// The latest time a record may carry, in nanoseconds since 1970. A later one refuses it.
    pub max_time_unix_nanos: u64,
    /// How old a sample or data point may be. An older one is refused; any age is right if none.
    pub metrics_window: Option<Duration>,
    /// Bytes of requests a second, as they come.
    pub max_bytes_per_second: Option<u64>,
    /// Spans, log records and data points a second.
    pub max_records_per_second: Option<u64>,
    /// Series that get points. Points of further ones are refused.
    pub max_series: Option<u64>,
    /// Whether a log record that is sent twice is kept once.
    pub deduplicate_logs: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // As much as a collector's HTTP receiver takes; its gRPC receiver takes 4 MiB.
            max_request_bytes: 20 << 20,
            // A batch of 8192 spans is 3 MiB in protobuf and 10 MiB in JSON. What is repaired is
            // kept without compression, so that more than this could not be kept.
            max_decompressed_bytes: MAX_BODY_BYTES,
            max_nesting: MAX_NESTING,
            // SDKs stop at 128. This is for those who flatten whole documents into attributes.
            max_attributes_per_record: 4096,
            // Stack traces with all their causes, prompts and answers of language models survive.
            max_value_bytes: 256 << 10,
            max_time_unix_nanos: MAX_TIME_UNIX_NANOS,
            metrics_window: None,
            max_bytes_per_second: None,
            max_records_per_second: None,
            max_series: None,
            deduplicate_logs: false,
        }
    }
}

/// A limit that is set to what cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name} is {value}, it must be between {min} and {max}")]
pub struct LimitError {
    /// The field of [`Limits`].
    pub name: &'static str,
    /// What it was set to.
    pub value: u64,
    /// The least that it may be.
    pub min: u64,
    /// The most that it may be.
    pub max: u64,
}

impl Limits {
    /// Whether a server can keep to these limits.
    pub fn check(&self) -> Result<(), LimitError> {
        let max_body = MAX_BODY_BYTES as u64;
        for (name, value, min, max) in [
            ("max_request_bytes", self.max_request_bytes as u64, 1, max_body),
            ("max_decompressed_bytes", self.max_decompressed_bytes as u64, 1, max_body),
            ("max_nesting", self.max_nesting.into(), 1, MAX_NESTING.into()),
            ("max_attributes_per_record", self.max_attributes_per_record as u64, 1, u64::MAX),
            ("max_value_bytes", self.max_value_bytes as u64, 1, u64::MAX),
            ("max_time_unix_nanos", self.max_time_unix_nanos, 1, MAX_TIME_UNIX_NANOS),
            // At nothing a second, nobody could be told when to come again.
            ("max_bytes_per_second", self.max_bytes_per_second.unwrap_or(1), 1, u64::MAX),
            ("max_records_per_second", self.max_records_per_second.unwrap_or(1), 1, u64::MAX),
        ] {
            if !(min..=max).contains(&value) {
                return Err(LimitError { name, value, min, max });
            }
        }
        Ok(())
    }

    /// The part of the limits that the walk over a request keeps to.
    pub(crate) fn wire(&self) -> kymo_wire::Limits {
        kymo_wire::Limits {
            max_nesting: self.max_nesting,
            max_time_unix_nanos: self.max_time_unix_nanos,
            min_point_time_unix_nanos: self.metrics_window.map_or(0, |window| {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                u64::try_from(now.saturating_sub(window).as_nanos()).unwrap_or(0)
            }),
            max_attributes: self.max_attributes_per_record,
            max_value_bytes: self.max_value_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_can_be_kept_and_limits_beyond_what_others_keep_cannot() {
        assert_eq!(Limits::default().check(), Ok(()));
        let deep = Limits { max_nesting: 25, ..Limits::default() };
        assert_eq!(
            deep.check().unwrap_err().to_string(),
            "max_nesting is 25, it must be between 1 and 24"
        );
        let large = Limits { max_decompressed_bytes: (64 << 20) + 1, ..Limits::default() };
        assert_eq!(large.check().unwrap_err().name, "max_decompressed_bytes");
        let silent = Limits { max_records_per_second: Some(0), ..Limits::default() };
        assert_eq!(silent.check().unwrap_err().name, "max_records_per_second");
        let none = Limits { max_request_bytes: 0, ..Limits::default() };
        assert_eq!(none.check().unwrap_err().name, "max_request_bytes");
    }
}
