//! Every limit of the language, with its reason.

/// The longest query. Dashboards that list a thousand hosts in a regular expression stay far
/// below; what is longer is a mistake.
pub const MAX_QUERY_BYTES: usize = 128 << 10;

/// Parentheses, calls and conditions within each other. The parser calls itself for each, and
/// threads of a server have little stack.
pub const MAX_NESTING: usize = 100;

/// The height of the tree that a query becomes. Whatever walks the tree (to print, plan, evaluate
/// or drop it) calls itself that often. `a + b + c` grows by one with each operator.
pub const MAX_HEIGHT: usize = 300;

/// The conditions of a query: matchers, alternatives of line filters, comparisons of labels. Each
/// may be a regular expression that takes memory, and those of one stage are a tree that is walked
/// by functions that call themselves. Dashboards that pick by hand stay far below.
pub const MAX_CONDITIONS: usize = 1000;

/// The stages of a pipeline. What each needs of those before it is worked out for each, and nobody
/// writes more than a few dozen.
pub const MAX_STAGES: usize = 100;

/// What a regular expression of a query may be compiled to, in a matcher or elsewhere.
pub use kymo_pattern::matcher::MAX_MATCHER_BYTES as MAX_PATTERN_BYTES;

/// What all regular expressions of a query may be compiled to together. Each of a thousand
/// conditions may be one, and few letters are enough for one of megabytes: where a query has many
/// texts, each of them gets its share.
pub const MAX_PATTERNS_BYTES: usize = 256 << 20;

/// The longest line that a query is printed on; what is longer is split. That of Loki.
pub(crate) const MAX_LINE_BYTES: usize = 100;

/// The series of a query, where nothing else is said. Loki stops at 500, which is what its users
/// complain of most; a series is a few hundred bytes.
pub const MAX_SERIES: usize = 100_000;

/// The points of a series: what Loki and Prometheus allow, and more than a screen has columns.
pub const MAX_POINTS: usize = 11_000;

/// The numbers that a query holds: a state for each series and step, or each sample of functions
/// that need all of them. At about 32 bytes each that is under a gigabyte.
pub const MAX_SAMPLES_HELD: usize = 30_000_000;

/// The lines that a log query with an interval holds until it knows which of them count.
pub const MAX_ENTRIES_HELD: usize = 1_000_000;

/// The longest line that a stage may make of another. A template that repeats its line would
/// otherwise fill the memory with few stages.
pub(crate) const MAX_LINE_MADE_BYTES: usize = 16 << 20;

/// The longest name of a label that parsers make. That of Loki; nested JSON would otherwise build
/// names as long as the line, once for each field.
pub(crate) const MAX_LABEL_NAME_BYTES: usize = 1024;

/// Objects within each other that the JSON parser flattens. Nobody reads names of more parts.
pub(crate) const MAX_JSON_DEPTH: usize = 128;

/// The steps of a JSON path. Reading calls itself for each.
pub(crate) const MAX_JSON_PATH_STEPS: usize = 64;

/// The work that rendering a template once may take: steps, and each byte of text that a function
/// makes or that is copied. Enough for a few functions on the longest line; a loop that never ends,
/// or text that is repeated without end, stops within a second.
pub(crate) const MAX_TEMPLATE_WORK: usize = 64 << 20;

/// What one step of a template (a value, a call, a turn of a loop) counts as work.
pub(crate) const TEMPLATE_STEP_WORK: usize = 64;

/// What replacing one match of a regular expression counts as work, beside the bytes it makes.
pub(crate) const TEMPLATE_MATCH_WORK: usize = 32;

/// What compiling a regular expression while a template is rendered counts as work. It happens
/// only where the expression is not written in the template.
pub(crate) const TEMPLATE_PATTERN_WORK: usize = 1 << 20;

/// Named templates that call each other. Rendering calls itself for each.
pub(crate) const MAX_TEMPLATE_CALLS: usize = 50;

/// What a regular expression of a template may be compiled to.
pub(crate) const MAX_TEMPLATE_PATTERN_BYTES: usize = 1 << 20;

/// The width and precision that `printf` takes. That of Go.
pub(crate) const MAX_PRINTF_WIDTH: usize = 1_000_000;

/// The start of a line that the pattern miner looks at. Templates of lines differ early, and what
/// follows becomes one variable part.
pub const MAX_MINED_LINE_BYTES: usize = 4 << 10;

/// The words of a line that the pattern miner tells apart; what follows is one variable part.
pub const MAX_MINED_TOKENS: usize = 128;

/// The patterns that a miner holds, where nothing else is said. More than a person reads.
pub const MAX_MINED_PATTERNS: usize = 1000;

/// The spans of time that a miner counts each pattern in, where nothing else is said: what a
/// screen shows.
pub const MAX_MINED_BUCKETS: usize = 2000;

/// The patterns of one kind (as many words, same first word and severity) that a line is compared
/// with.
/// Lines of such a kind that resemble none of them replace the one seen longest ago.
pub(crate) const MAX_MINED_SIBLINGS: usize = 100;

/// The first words that tell one kind of lines from others at one place of the miner's tree;
/// further ones share a kind.
pub(crate) const MAX_MINED_BRANCHES: usize = 100;

/// What a miner keeps of the first line of a pattern, to show it.
pub(crate) const MAX_MINED_SAMPLE_BYTES: usize = 1 << 10;
