//! Every bound of the crate, with its reason.

use std::time::Duration;

/// Bytes of a message of a client: the longest query, and values of its parameters.
pub const MESSAGE_MAX_BYTES: usize = 4 << 20;
/// Pieces of an answer that wait for the client. A slow one stops its query here.
pub const PIECES_WAITING: usize = 4;
/// A client that takes none of what is sent to it for so long is gone.
pub const PEER_TIMEOUT: Duration = Duration::from_secs(120);
/// Batches of parameters that are read: one row is expected.
pub const PARAMETER_MAX_ROWS: usize = 1;
