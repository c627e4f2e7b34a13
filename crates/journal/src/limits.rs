//! Every limit of the journal in one place, each with its reason.

use std::time::Duration;

/// Size of a segment header and of a record header; also the distance a new segment keeps from the
/// start of an abandoned one, so that two never share a name.
pub const HEADER_BYTES: u64 = 64;

/// Records start at multiples of this, which is what recovery steps by when it searches.
pub const ALIGN_BYTES: u64 = 8;

/// Largest body. A receiver refuses requests far below this; it bounds what a reader allocates
/// because of a length it found on disk.
pub const MAX_BODY_BYTES: usize = 64 << 20;

/// Longest tenant name. Percent-encoded, where a byte may become three, it is one component of a
/// path, and such components have at most 200 bytes.
pub const MAX_TENANT_BYTES: usize = 64;

/// Longest cursor name; it is a name from a configuration file.
pub const MAX_CURSOR_NAME_BYTES: usize = 256;

/// Most cursors: each is a consumer that is configured by hand. Bounds the `cursors` file.
pub const MAX_CURSORS: usize = 1024;

/// Highest position a caller may name: 4 EiB, more than a node writes in its life. Keeps sums of
/// positions and lengths from overflowing whatever a caller or a damaged file says.
pub const MAX_POSITION: u64 = 1 << 62;

/// Default segment: large enough that creating one (two syncs) is rare, small enough that deleting
/// by whole segments frees space soon.
pub const DEFAULT_SEGMENT_BYTES: u64 = 64 << 20;

/// Default of what an idle journal may keep: below it, passed records stay where they are. Enough that
/// a consumer which keeps up with little traffic does not cause a new segment (three syncs and more)
/// all the time, and nothing that anyone misses on a disk.
pub const DEFAULT_IDLE_BYTES: u64 = 1 << 20;

/// Smallest segment that can be asked for: a header and a small record.
pub const MIN_SEGMENT_BYTES: u64 = 4096;

/// Default memory for recent records, shared by all readers: half a second at 64 MB/s, enough that
/// a live consumer never reads from disk.
pub const DEFAULT_RECENT_BYTES: usize = 32 << 20;

/// Bytes that may wait for the disk before `append` says busy: bounds memory when a disk stalls.
pub const MAX_WAITING_BYTES: u64 = 256 << 20;

/// Bytes of one group commit: bounds the time the first of many requests waits for the last.
pub const MAX_COMMIT_BYTES: u64 = 16 << 20;

/// How long the same request counts as a retry. Clients give up within minutes (the OpenTelemetry
/// default is 5).
pub const RETRY_WINDOW: Duration = Duration::from_secs(600);

/// Hashes remembered for retries: 1,700 requests a second for ten minutes; about 100 MB if full.
pub const MAX_REMEMBERED_HASHES: usize = 1 << 20;

/// Hashes are added to the last `.kd` file up to this many (64 KiB): keeps the number of files small
/// when segments are deleted often, and what is written again each time.
pub const MAX_MERGED_HASHES: usize = 1365;

/// What a client is told when the store is too far behind: long enough for a flush to pass.
pub const BUSY_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Cursors are written at most this often while they move; a crash repeats at most this much work.
pub const CURSOR_WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// How often a read-only opening looks at a directory whose owner deletes files at the same time: each
/// look is much shorter than what lies between two deletions.
pub const READ_ONLY_ATTEMPTS: u32 = 10;

/// Bytes read at once by a consumer that fell behind and by recovery: one large sequential read.
pub const READ_CHUNK_BYTES: usize = 256 << 10;

/// Bodies up to this size are copied next to their header before writing: below it one more copy is
/// cheaper than one more element in a gather write.
pub const GATHER_MIN_BYTES: usize = 4096;
