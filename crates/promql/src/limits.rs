//! Every limit of the language, with its reason.

/// The longest query. Dashboards that list a thousand hosts in a regular expression stay far
/// below; what is longer is a mistake.
pub const MAX_QUERY_BYTES: usize = 1 << 20;

/// Parentheses, calls and signs within each other. The parser calls itself for each, and threads
/// of a server have little stack.
pub const MAX_NESTING: usize = 250;

/// The height of the tree that a query becomes. Whatever walks the tree (to check, print,
/// evaluate or drop it) calls itself that often. `a + b + c` grows by one with each operator, so
/// that a run of operators is bounded by it too.
pub const MAX_HEIGHT: usize = 500;

/// The operators, signs and parentheses of one duration. Their tree is walked like that of the
/// query, and nobody writes more than a few.
pub const MAX_DURATION_PARTS: usize = 100;

/// The longest line that a query is printed on; what is longer is split. That of Prometheus.
pub(crate) const MAX_LINE_BYTES: usize = 100;

/// The samples that a query may hold: those it read and those of the largest step in between. At
/// 8 to 16 bytes each that is under a gigabyte. That of Prometheus.
pub const MAX_SAMPLES: usize = 50_000_000;

/// What a regular expression may be compiled to, in a matcher or elsewhere.
pub use kymo_pattern::matcher::MAX_MATCHER_BYTES as MAX_PATTERN_BYTES;
