//! Every bound of this crate, with its reason.

/// Bytes of a label's value; more is cut. Names of spans that are longer are text, not names, and
/// series are kept in memory.
pub const MAX_VALUE_BYTES: usize = 1 << 10;

/// Bounds of a histogram's buckets. Which buckets have an exemplar is kept as bits of a number, one
/// of them for values beyond all bounds.
pub const MAX_BOUNDS: usize = 63;

/// Dimensions that may be asked for. Each is looked for at every attribute of every span.
pub const MAX_DIMENSIONS: usize = 32;

/// A request with metrics that has this size is ended: far below what admission takes, also with one
/// more series.
pub const REQUEST_BYTES: usize = 1 << 20;

/// Links of a consumer's span that are followed to the producers' spans. A batch of messages has one
/// for each.
pub const MAX_LINKS: usize = 64;

/// Between two writes, in nanoseconds, so that a series that begins between them has a time for its
/// zero that is neither's. Times of samples are milliseconds.
pub const MIN_STEP_NANOS: u64 = 2_000_000;

/// Times of pairs that have been found are kept until they are due, or until there are this many
/// more of them than spans that wait.
pub const MAX_SETTLED: usize = 4096;

/// Resources of a tenant that are known by their bytes. Those of a request and of the next are the
/// same in general; jobs, of which each is a resource of its own, come once.
pub const MAX_KNOWN_RESOURCES: usize = 1024;

/// Bytes of a resource that is known by them; larger ones are read every time.
pub const MAX_KNOWN_RESOURCE_BYTES: usize = 4 << 10;

/// Attributes of a resource that are labels of its target. Resources of real senders have some 30.
pub const MAX_TARGET_LABELS: usize = 128;
