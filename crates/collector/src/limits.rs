//! Every limit of the translation, with its reason.

/// The largest configuration that is read. Real ones have a few kilobytes; what is larger is
/// something else that was named by mistake.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// Components that a configuration may define, and names that its pipelines may list. Each name is
/// looked for among all components, so both together decide how long a translation takes.
pub const MAX_COMPONENTS: usize = 1000;

/// Parentheses, `not` and calls within each other in a condition. The parser calls itself for each,
/// and nobody reads a condition that is deeper.
pub const MAX_NESTING: usize = 64;

/// The longest condition or statement. Beyond, the TraceQL that it becomes would be refused.
pub const MAX_CONDITION_BYTES: usize = 32 << 10;

/// The longest name of a destination or rule: the configuration allows no more.
pub const MAX_NAME_CHARS: usize = 64;

/// What a collector's `memory_limiter` leaves to receiving is carried over if it is less than
/// what kymo takes anyway (`max_receiving_bytes`).
pub const DEFAULT_RECEIVING_MIB: u64 = 128;

/// What a rotated file of the collector may have if its configuration does not say.
pub const DEFAULT_ROTATION_MEGABYTES: u64 = 100;

/// Files that a rotated one may have beside it if its configuration does not say.
pub const DEFAULT_BACKUPS: u64 = 100;

/// Bounds of settings in kymo's configuration, which would be refused beyond them.
pub const MAX_REQUEST_MIB: u64 = 64;
/// See [`MAX_REQUEST_MIB`].
pub const MIN_REQUEST_BYTES: u64 = 1 << 10;
/// See [`MAX_REQUEST_MIB`].
pub const MAX_CONCURRENCY: u64 = 64;
/// See [`MAX_REQUEST_MIB`].
pub const MAX_ROTATED_FILES: u64 = 1000;
/// See [`MAX_REQUEST_MIB`].
pub const MAX_TAIL_TRACES: u64 = 10_000_000;
/// See [`MAX_REQUEST_MIB`].
pub const MAX_TAIL_WAIT_SECS: u64 = 600;
/// See [`MAX_REQUEST_MIB`].
pub const MIN_PROBE_INTERVAL_MILLIS: u64 = 100;

/// How long things are kept where a store is needed only to show the newest samples: the collector
/// keeps nothing, and a disk that fills up would be a surprise.
pub const RETENTION: &str = "24h";

/// A piece of the configuration in a note: longer ones are cut.
pub(crate) const MAX_QUOTED_CHARS: usize = 120;
