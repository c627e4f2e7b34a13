//! Every limit of rules, with its reason.

use std::time::Duration;

/// How often groups are evaluated that do not say otherwise.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(60);

/// A shorter interval than this is refused: the server would do nothing but evaluate.
pub const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// How far back TraceQL rules look at least, where their group does not say otherwise: a span is
/// sent when it is over, and then waits in its sender for a batch to be full.
pub const TRACEQL_OFFSET: Duration = Duration::from_secs(60);

/// The largest file with rules; what is larger is no file that somebody wrote.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// Resolved alerts are kept and sent for so long, so that a receiver that is away for a while
/// learns of it.
pub const RESOLVED_RETENTION: Duration = Duration::from_secs(15 * 60);

/// The longest text that a template may give.
pub const MAX_TEMPLATE_OUTPUT_BYTES: usize = 1 << 20;

/// Steps that a template may take, so that loops within loops end.
pub const MAX_TEMPLATE_STEPS: usize = 1_000_000;

/// Conditions, loops and templates within each other while a template runs, so that one that calls
/// itself ends before the stack does.
pub const MAX_TEMPLATE_DEPTH: usize = 200;

/// What `args` gives within what `args` gave.
pub const MAX_ARGS_DEPTH: usize = 50;

/// Conditions, loops and parentheses within each other: the parser calls itself for each.
pub const MAX_TEMPLATE_NESTING: usize = 100;

/// Different queries of one template.
pub const MAX_TEMPLATE_QUERIES: usize = 32;

/// The memory of a regular expression in a template.
pub const MAX_TEMPLATE_REGEX_BYTES: usize = 1 << 20;

/// Width and precision in `printf`; more digits than a float has at most.
pub const MAX_PRINTF_WIDTH: usize = 400;

/// Alerts that wait for one receiver. Beyond, the oldest are dropped and counted.
pub const MAX_QUEUED_ALERTS: usize = 10_000;

/// Alerts in one request.
pub const MAX_BATCH_ALERTS: usize = 64;

/// How often a batch is sent that a receiver could not take.
pub const MAX_SEND_ATTEMPTS: u32 = 8;

/// The pause after the first attempt that failed; each further one is twice as long.
pub const FIRST_RETRY: Duration = Duration::from_millis(500);

/// The longest pause between attempts.
pub const MAX_RETRY: Duration = Duration::from_secs(30);

/// On shutdown, receivers are given so long to take what waits for them.
pub const DRAIN: Duration = Duration::from_secs(2);
