//! Every limit of this crate, with its reason.

use std::time::Duration;

/// Bytes of a name, a service or a host in a table of texts. A line of a page shows less; details
/// have the whole.
pub const TEXT_MAX_BYTES: usize = 1 << 10;
/// Bytes of the message of a status in a table of texts: some are stack traces.
pub const MESSAGE_MAX_BYTES: usize = 2 << 10;
/// Bytes of all names of a trace. Reached only where nearly each of a million spans has a name of
/// its own; a page could do nothing with more.
pub const NAMES_MAX_BYTES: usize = 64 << 20;
/// Bytes of all messages: most are the same few.
pub const MESSAGES_MAX_BYTES: usize = 8 << 20;
/// Resources that the header describes. Each is a process; those of more are told apart by number.
pub const HEADER_MAX_RESOURCES: usize = 4_096;
/// Rows at the top that the header lists. Who needs more finds them by their parent.
pub const HEADER_MAX_ROOTS: usize = 10_000;
/// Stretches of the critical path: 20 bytes each.
pub const PATH_MAX_STRETCHES: usize = 1_000_000;
/// Spans of which details are told at once: some hundred fill a screen.
pub const DETAILS_MAX_SPANS: usize = 1_000;
/// Bytes of them as they were sent: as text they are several times as many. A single span is told of
/// whatever it has.
pub const DETAILS_MAX_BYTES: usize = 64 << 20;
/// Bytes of a single value in details. The rest can be had from an export.
pub const DETAIL_VALUE_MAX_BYTES: usize = 1 << 20;
/// Bytes of the values of an attribute over all rows, as text.
pub const COLUMN_MAX_BYTES: usize = 64 << 20;
/// Rows that a search inside a trace tells of; all that match are counted.
pub const FIND_MAX_ROWS: usize = 100_000;
/// Words of such a search: each is looked for in every span.
pub const FIND_MAX_WORDS: usize = 16;
/// Bytes of all of them: what is compared with every value of a trace is what somebody typed.
pub const FIND_MAX_BYTES: usize = 4 << 10;
/// The time for a search. A trace of a million spans takes one or two seconds.
pub const FIND_MAX_TIME: Duration = Duration::from_secs(10);
/// After so many rows it is looked at the clock.
pub const FIND_ROWS_PER_LOOK: usize = 1_000;
/// Groups of statistics, those that took longest first.
pub const STATISTICS_MAX_GROUPS: usize = 10_000;
/// Keys of attributes that are listed.
pub const KEYS_MAX: usize = 2_000;
/// Nodes of a flame. More cannot be seen, and each is some 170 bytes of an answer: what comes later
/// counts for the node above.
pub const FLAME_MAX_NODES: usize = 20_000;
/// Pairs of spans, and spans without a counterpart, that a comparison lists. All are counted.
pub const COMPARE_MAX_SPANS: usize = 1_000;
/// Operations that a comparison lists.
pub const COMPARE_MAX_OPERATIONS: usize = 5_000;
/// Attributes of first spans and resources that a comparison lists.
pub const COMPARE_MAX_ATTRIBUTES: usize = 500;
/// Events that are listed at once.
pub const EVENTS_MAX: usize = 10_000;
/// Attributes of a span in an export for Perfetto, and bytes of each: its viewer shows a list.
pub const PERFETTO_MAX_ARGS: usize = 64;
/// See [`PERFETTO_MAX_ARGS`].
pub const PERFETTO_ARG_MAX_BYTES: usize = 4 << 10;
/// Objects of a file of JSON that is uploaded: an event, a span, a tag, a log. Written in three bytes,
/// each takes some hundred once it is read. Half a million spans with ten tags each have fewer.
pub const UPLOAD_MAX_OBJECTS: usize = 6_000_000;
/// Members and elements of all of them: written in two bytes, each takes at least 32.
pub const UPLOAD_MAX_VALUES: usize = 32_000_000;
/// Spans of one upload: written in 30 bytes, each takes some hundred once it is laid out.
pub const UPLOAD_MAX_SPANS: usize = 2_000_000;
/// Traces of one upload. A page lists them.
pub const UPLOAD_MAX_TRACES: usize = 1_000;
