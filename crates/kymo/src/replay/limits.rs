//! Every bound of a replay, with its reason.

use std::time::Duration;

/// Requests that follow one another are joined up to this size: servers of gRPC take 4 MiB unless
/// told otherwise, and what a request costs is divided enough by then.
pub(super) const JOINED_BYTES: usize = 1 << 20;

/// Messages about requests that were refused or taken in part.
pub(super) const MAX_ANSWERS_SHOWN: u64 = 10;

/// How often is looked, while waiting for an answer or for its time, whether somebody wants to stop.
pub(super) const LOOK_AFTER: Duration = Duration::from_millis(50);
