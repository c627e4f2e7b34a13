//! Why a request was not accepted, and how HTTP and gRPC say so.
//!
//! | what happened | HTTP | gRPC | sender should |
//! |---|---|---|---|
//! | cannot be decoded | 400 | INVALID_ARGUMENT | not send it again |
//! | has nothing in it, where its protocol wants something | 422 | – | not send it again |
//! | too large | 413 | RESOURCE_EXHAUSTED | send smaller batches |
//! | compression or type not known | 415 | UNIMPLEMENTED | be configured otherwise |
//! | back-pressure | 429 and `Retry-After` | RESOURCE_EXHAUSTED and `RetryInfo` | send it again |
//! | disk full, too slow, stopping | 503 and `Retry-After` | UNAVAILABLE and `RetryInfo` | send it again |
//!
//! A body that came too slowly is 503 and not 408, which senders of OTLP take as final.

use std::time::Duration;

use http::StatusCode;
use kymo_admit::Refusal;
use kymo_wire::encode::Writer;

use crate::body::BodyError;
use crate::limits::UNAVAILABLE_RETRY;

/// Codes of gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    Cancelled = 1,
    InvalidArgument = 3,
    DeadlineExceeded = 4,
    NotFound = 5,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    Unimplemented = 12,
    Internal = 13,
    Unavailable = 14,
    Unauthenticated = 16,
}

/// Why a request was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) code: Code,
    /// A word for metrics.
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    /// When to try again; `None` if that is of no use.
    pub(crate) retry_after: Option<Duration>,
    /// Whether the server could not take it: nothing is wrong with the request, and its tenant is
    /// within his limits.
    pub(crate) is_servers_fault: bool,
}

impl Failure {
    fn new(status: StatusCode, code: Code, reason: &'static str, message: String) -> Self {
        Self { status, code, reason, message, retry_after: None, is_servers_fault: false }
    }

    /// The server cannot take the request now.
    fn unavailable(reason: &'static str, message: String) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, reason, message)
            .retry(UNAVAILABLE_RETRY)
            .servers_fault()
    }

    /// The server has more to do than it can, and asks to wait.
    fn busy(reason: &'static str, message: String, retry_after: Duration) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, Code::ResourceExhausted, reason, message)
            .retry(retry_after)
            .servers_fault()
    }

    fn servers_fault(mut self) -> Self {
        self.is_servers_fault = true;
        self
    }

    fn retry(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// The request itself is wrong.
    pub(crate) fn invalid(reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::InvalidArgument, reason, message.into())
    }

    /// The sender is not who it says it is.
    pub(crate) fn unauthorized(message: &str) -> Self {
        let status = StatusCode::UNAUTHORIZED;
        Self::new(status, Code::PermissionDenied, "unauthorized", message.to_owned())
    }

    /// A content type, compression or method that is not known here.
    pub(crate) fn unsupported(reason: &'static str, message: impl Into<String>) -> Self {
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        Self::new(status, Code::Unimplemented, reason, message.into())
    }

    /// The tenant sends more than it may.
    pub(crate) fn too_fast(retry_after: Duration) -> Self {
        let message = "this tenant sends more a second than it may; send it again later";
        let (status, code) = (StatusCode::TOO_MANY_REQUESTS, Code::ResourceExhausted);
        Self::new(status, code, "rate_limit", message.to_owned()).retry(retry_after)
    }

    /// It took too long to make the request durable.
    pub(crate) fn timeout(after: Duration) -> Self {
        let message = format!("not durable within {} s; send it again", after.as_secs());
        Self::unavailable("timeout", message)
    }

    /// The server ends.
    pub(crate) fn stopping() -> Self {
        Self::unavailable("stopping", "the server is stopping; send it again".to_owned())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let (reason, message) = (refusal.reason(), refusal.to_string());
        match refusal {
            Refusal::TooLarge { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, Code::ResourceExhausted, reason, message)
            }
            Refusal::Empty(_) => {
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                Self::new(status, Code::InvalidArgument, reason, message)
            }
            Refusal::UnsupportedCompression { .. } => Self::unsupported(reason, message),
            _ => Self::invalid(reason, message),
        }
    }
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        let message = error.to_string();
        match error {
            BodyError::TooLarge { .. } => {
                let status = StatusCode::PAYLOAD_TOO_LARGE;
                Self::new(status, Code::ResourceExhausted, "too_large", message)
            }
            BodyError::Slow(_) => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                Self::new(status, Code::Unavailable, "slow_body", message).retry(UNAVAILABLE_RETRY)
            }
            BodyError::Broken(_) => Self::invalid("broken_body", message),
            BodyError::Crowded => Self::busy("crowded", message, Duration::from_secs(1)),
        }
    }
}

impl From<kymo_journal::Error> for Failure {
    fn from(error: kymo_journal::Error) -> Self {
        use kymo_journal::Error;
        let message = error.to_string();
        match error {
            Error::Busy { retry_after } => Self::busy("busy", message, retry_after),
            Error::TooLarge { .. } => {
                let status = StatusCode::PAYLOAD_TOO_LARGE;
                Self::new(status, Code::ResourceExhausted, "too_large", message)
            }
            Error::TenantTooLong { .. } => Self::invalid("bad_tenant", message),
            Error::DiskFull { .. } => Self::unavailable("disk_full", message),
            Error::Closed => Self::stopping(),
            _ => Self::unavailable("disk_error", message),
        }
    }
}

/// An encoded `google.rpc.Status`.
pub(crate) fn rpc_status(code: i32, message: &str, details: &[Vec<u8>]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.varint_field(1, code as u64);
    writer.bytes_field(2, message.as_bytes());
    for detail in details {
        writer.bytes_field(3, detail);
    }
    writer.into_bytes()
}

/// A `google.rpc.RetryInfo`, packed as `Any`.
pub(crate) fn retry_info(after: Duration) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.bytes_field(1, b"type.googleapis.com/google.rpc.RetryInfo");
    writer.message(2, |info| {
        info.message(1, |delay| {
            delay.varint_field(1, after.as_secs());
            delay.varint_field(2, u64::from(after.subsec_nanos()));
        });
    });
    writer.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_wait_for_the_server_is_not_to_wait_for_a_tenants_limit() {
        let after = Duration::from_secs(1);
        let limited = Failure::too_fast(after);
        let busy = Failure::from(kymo_journal::Error::Busy { retry_after: after });
        assert_eq!(limited.status, busy.status);
        assert!(!limited.is_servers_fault && busy.is_servers_fault);
        assert!(Failure::stopping().is_servers_fault && Failure::timeout(after).is_servers_fault);
        assert!(!Failure::invalid("malformed", "not OTLP").is_servers_fault);
    }
}
