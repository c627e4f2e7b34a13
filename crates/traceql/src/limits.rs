//! Every limit of the language, with its reason.

/// The longest query. Programs that write queries stay far below; what is longer is a mistake.
pub const MAX_QUERY_BYTES: usize = 128 << 10;

/// Parentheses, `!` and `-` within each other. The parser calls itself for each, and threads of a
/// server have little stack.
pub const MAX_NESTING: usize = 256;

/// The height of the tree that a query becomes. Whatever walks the tree (to print, compile,
/// compare or drop it) calls itself that often. Runs of one of `&&` and `||` are not bounded by it:
/// if they are long, they become balanced trees.
pub const MAX_HEIGHT: usize = 512;

/// A run of one of `&&` and `||` with more operands than this becomes a balanced tree. It means
/// the same, and its height is that of a logarithm.
pub(crate) const LONG_RUN: usize = 64;

/// The memory that all regular expressions of a query may take together when compiled.
pub const MAX_PATTERNS_BYTES: usize = 32 << 20;

pub use kymo_pattern::MAX_PATTERN_BYTES;

/// Attributes that series may be grouped by: each multiplies their number. Functions that add a
/// label of their own (quantiles, histograms) have one less.
pub const MAX_GROUP_BY: usize = 5;

/// Quantiles of one function. Each is a series of its own for every group, with a number at every
/// point, so they multiply what an answer takes; and nobody looks at more of them.
pub const MAX_QUANTILES: usize = 20;

/// Points that an answer may have. More than any screen is wide, and as many as Prometheus allows;
/// memory for each series grows with it.
pub const MAX_POINTS: usize = 11_000;

/// Values of each attribute that `compare()` may tell.
pub const MAX_COMPARE_TOP: usize = 1000;

/// Values of an attribute that `compare()` counts. If there are more, it is told that there are
/// too many, and none of them: ids and the like tell nothing, and must not take the memory of all
/// others.
pub const MAX_COMPARED_VALUES: usize = 20_000;

/// Values of each attribute that `compare()` tells unless asked for more.
pub const DEFAULT_COMPARE_TOP: usize = 10;

/// Parentheses that hold something unfinished, within each other, while a query is typed. What they
/// hold is read once for each, so they are few.
pub(crate) const MAX_UNFINISHED: usize = 16;

/// What a piece of a query may take up in an error.
pub(crate) const MAX_QUOTED_CHARS: usize = 60;

/// `a = "x" || a = "y" || …`: from this many on, a hash set is faster than to compare with each.
pub(crate) const LARGE_SET: usize = 8;
