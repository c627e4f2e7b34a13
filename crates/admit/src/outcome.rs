//! What was admitted, or why nothing was.

use std::fmt;

use bytes::Bytes;
use kymo_wire::remote_write::{Counts, Version};
use thiserror::Error;

use crate::deduplicate::LogKey;
use crate::encoding::Compression;
use crate::rules::Dropped;

/// A request that may be kept, or what remains of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// Set if `body` is a request of Prometheus' remote-write; otherwise it is OTLP.
    pub remote_write: Option<RemoteWrite>,
    /// How `body` is compressed.
    pub compression: Compression,
    /// The bytes to keep, in protobuf: those that came, or new ones.
    pub body: Bytes,
    /// How many spans, data points or log records `body` holds.
    pub items: u64,
    /// Spans, data points or log records that are not in `body`.
    pub refused: Vec<Counted>,
    /// What was put right in `body`.
    pub changed: Vec<Counted>,
    /// Spans, data points or log records that a rule or the audience left out. Their sender is not at
    /// fault, and is not told.
    pub dropped: Vec<Dropped>,
    /// Log records that are kept already, or better in this request, and were left out.
    pub deduplicated: u64,
    /// What [`Admission::remember`](crate::Admission::remember) is told when `body` is durable.
    pub log_keys: Vec<LogKey>,
    /// Bytes of the request as it came, after decompression.
    pub decompressed_bytes: u64,
}

/// A request of remote-write that was admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteWrite {
    /// Its version, which is also that of the body.
    pub version: Version,
    /// What the body holds, which senders of 2.0 are told.
    pub counts: Counts,
}

/// How often something was found, for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// A word for metrics.
    pub reason: &'static str,
    /// The reason in words, for the sender.
    pub message: String,
    /// How often.
    pub count: u64,
}

impl Admitted {
    /// Whether there is nothing to keep. A request of remote-write may hold no items, but what is
    /// said about metrics.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items == 0 && self.remote_write.is_none_or(|request| request.counts.is_empty())
    }

    /// What the sender is to be told by OTLP's `partial_success`: how many records were rejected,
    /// and why. If none was, but something was changed, the message is a warning. `None` if all is
    /// kept as it came.
    #[must_use]
    pub fn partial_success(&self) -> Option<(u64, String)> {
        if self.refused.is_empty() && self.changed.is_empty() {
            return None;
        }
        let rejected = self.refused.iter().map(|counted| counted.count).sum();
        let refused = self.refused.iter().map(|counted| (counted, "refused"));
        let changed = self.changed.iter().map(|counted| (counted, "changed"));
        let parts: Vec<_> = refused
            .chain(changed)
            .map(|(counted, act)| format!("{} {act} ({})", counted.count, counted.message))
            .collect();
        Some((rejected, parts.join(", ")))
    }
}

/// Why nothing of a request is kept.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// More bytes than allowed. HTTP 413, gRPC `RESOURCE_EXHAUSTED`.
    #[error("request is larger than {limit_bytes} bytes {stage}; send smaller batches")]
    TooLarge {
        /// Which of its sizes.
        stage: Stage,
        /// What is allowed.
        limit_bytes: usize,
    },
    /// It cannot be decoded. HTTP 400, gRPC `INVALID_ARGUMENT`.
    #[error("request cannot be decoded: {0}")]
    Malformed(String),
    /// There is nothing in it, where its protocol wants something. HTTP 422.
    #[error("{0}")]
    Empty(String),
    /// A compression that is not known here. HTTP 415, gRPC `UNIMPLEMENTED`.
    #[error("compression {0:?} is not supported; use gzip, deflate, zstd or none (identity)")]
    UnsupportedCompression(String),
    /// A name that no tenant can have. HTTP 400, gRPC `INVALID_ARGUMENT`.
    #[error("tenant's name {0}")]
    Tenant(String),
}

/// The sizes that a request has one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// As it came.
    Received,
    /// After decompression.
    Decompressed,
    /// As it would be kept: in protobuf, repaired.
    Encoded,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Received => "as sent",
            Self::Decompressed => "after decompression",
            Self::Encoded => "in protobuf",
        })
    }
}

impl Refusal {
    /// A word for metrics.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::TooLarge { stage: Stage::Received, .. } => "too_large",
            Self::TooLarge { stage: Stage::Decompressed, .. } => "too_large_decompressed",
            Self::TooLarge { stage: Stage::Encoded, .. } => "too_large_encoded",
            Self::Malformed(_) => "malformed",
            Self::Empty(_) => "empty",
            Self::UnsupportedCompression(_) => "unsupported_compression",
            Self::Tenant(_) => "bad_tenant",
        }
    }
}
