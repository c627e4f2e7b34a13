//! Every bound of the server that is not a setting, with its reason.

use std::time::Duration;

/// A connection must send its first request within this time, must end a request head that it has
/// begun, and may idle so long between requests. Senders export every 60 s by default, and one that finds its connection closed
/// under its hands loses a try.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(150);

/// Between two pieces of a request body. A sender that is slower holds memory for nothing.
pub const BODY_PAUSE_TIMEOUT: Duration = Duration::from_secs(20);

/// What is read and thrown away of a request that is refused, before it is answered.
pub const DRAIN_BYTES: u64 = 256 << 20;
/// The time for that.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// Bodies up to this are copied out of the buffer that they came in. The journal remembers bodies,
/// and would keep buffers of many times their size.
pub const COPIED_BYTES: usize = 64 << 10;

/// Bytes of a query's text.
pub const MAX_QUERY_BYTES: usize = 1 << 20;

/// HTTP/2 flow control: what a sender may have under way on one stream, and on one connection. A
/// request of common size passes without waiting for a window update.
pub const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// See [`STREAM_WINDOW_BYTES`].
pub const CONNECTION_WINDOW_BYTES: u32 = 4 << 20;
/// Larger frames mean fewer pieces to put together.
pub const FRAME_BYTES: u32 = 256 << 10;
/// Requests at once on one connection.
pub const MAX_STREAMS: u32 = 256;
/// Bytes of all headers of a request.
pub const MAX_HEADER_BYTES: u32 = 64 << 10;

/// Connections that are alive but silent are asked after this time, and closed when they do not
/// answer.
pub const PING_INTERVAL: Duration = Duration::from_secs(60);
/// See [`PING_INTERVAL`].
pub const PING_TIMEOUT: Duration = Duration::from_secs(30);

/// Request bodies above this are decoded where the runtime knows that a thread is busy: about a
/// millisecond.
pub const INLINE_CHECK_BYTES: usize = 1 << 20;
/// The same for bodies that must be unpacked, or read as JSON. At worst one becomes a thousand
/// times as large.
pub const INLINE_DECODE_BYTES: usize = 16 << 10;

/// Tenants with metrics of their own. Names come from senders; metrics must not grow with them.
pub const MAX_METRIC_TENANTS: usize = 200;

/// Time that senders are asked to wait while the disk is full or the server stops.
pub const UNAVAILABLE_RETRY: Duration = Duration::from_secs(10);

/// Pause after `accept` failed, mostly for want of file descriptors.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A peer that takes none of what was sent to it for so long is gone.
pub const PEER_TIMEOUT: Duration = Duration::from_secs(120);

/// The time for the last flush when the server stops. What it does not get done is in the journal,
/// and done after the next start.
pub const LAST_FLUSH_TIMEOUT: Duration = Duration::from_secs(4);

/// Pieces of a response that wait for a slow reader.
pub const RESPONSE_PIECES: usize = 2;

/// How long browsers may remember that they are allowed to send.
pub const PREFLIGHT_AGE: Duration = Duration::from_secs(3600);
