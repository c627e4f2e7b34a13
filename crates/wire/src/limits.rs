//! Every limit of this crate, with its reason.

/// What [`inspect`](crate::inspect) does not let pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How deep arrays and key-value lists may be nested in an attribute or a body. A value that
    /// is not a list has depth 1.
    pub max_nesting: u32,
    /// The latest time a record may carry, in nanoseconds since 1970.
    pub max_time_unix_nanos: u64,
    /// The earliest time a data point may carry, in nanoseconds since 1970. Other records may be of
    /// any age.
    pub min_point_time_unix_nanos: u64,
    /// How many attributes one list may have: those of a span, an event, a link, a log record, a
    /// data point, a resource, a scope. Entries of a key-value list inside a value do not count.
    pub max_attributes: usize,
    /// How long a text or a bytes value may be in an attribute, in a list inside one, in the body
    /// of a log record, and the message of a status. Names and keys are not cut.
    pub max_value_bytes: usize,
}

/// Recursion over nested values must be bounded, or a few kilobytes would overflow the stack.
///
/// 24 levels of key-value lists in an attribute of a span event are 104 levels of JSON, below the
/// 128 that the JSON parser reads: what is accepted in one encoding is accepted in the other.
/// OTLP/JSON is always read and written with this limit.
pub const MAX_NESTING: u32 = 24;

/// 2199-12-31T23:59:59.999999999Z. Times are kept as signed 64-bit nanoseconds, which end in 2262;
/// a time after 2199 is a broken clock or a wrong unit, and would defeat retention by age.
pub const MAX_TIME_UNIX_NANOS: u64 = 7_258_118_399_999_999_999;

/// Buckets and bounds, quantiles or exemplars of one data point. No instrument makes as many; the
/// store keeps points up to this size, so more must not be acknowledged.
pub const MAX_POINT_ITEMS: usize = 1 << 19;

/// Labels of one series of remote-write, all together. Version 2.0 refers to texts by number, so
/// that a few bytes of a request can stand for many of labels; the store keeps them written out.
pub const MAX_SERIES_LABELS_BYTES: usize = 256 << 10;

/// Labels of one exemplar of remote-write. OpenMetrics allows 128 characters; some senders put more
/// than ids there.
pub const MAX_EXEMPLAR_LABELS_BYTES: usize = 4 << 10;

/// Labels of all series and exemplars of a request of remote-write, written out: some ten times
/// what the largest requests of real senders come to.
pub const MAX_REQUEST_LABELS_BYTES: usize = 256 << 20;

/// How much of a label set is quoted when it cannot be read.
pub const MAX_QUOTED_LABELS_CHARS: usize = 120;

/// Length of a trace id in bytes, by the OTLP and W3C specifications.
pub const TRACE_ID_BYTES: usize = 16;

/// Length of a span id in bytes, by the OTLP and W3C specifications.
pub const SPAN_ID_BYTES: usize = 8;

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_nesting: MAX_NESTING,
            max_time_unix_nanos: MAX_TIME_UNIX_NANOS,
            min_point_time_unix_nanos: 0,
            // Nothing in this crate needs a bound on these. Whoever receives from a network sets
            // one; a file that its owner imports is kept whole.
            max_attributes: usize::MAX,
            max_value_bytes: usize::MAX,
        }
    }
}
