//! Every bound of the crate, with its reason.

use std::time::Duration;

/// Bytes of a query's text: a list of ten thousand ids fits, a file that was sent by mistake
/// does not.
pub const QUERY_MAX_BYTES: usize = 1 << 20;
/// Nesting of a query. Each level costs stack in parser, planner and optimiser.
pub const QUERY_MAX_DEPTH: usize = 64;
/// Words and operators of a query, which bounds how deep its expressions get. A list of values
/// counts as one word.
pub const QUERY_MAX_WORDS: usize = 3000;
/// Operators of arithmetic and the like in a query: planning takes time in the square of the longest
/// chain of them. `AND` and `OR` do not count, nor does one comparison between them.
pub const QUERY_MAX_OPERATORS: usize = 500;
/// Stack of a query thread: expressions as deep as [`QUERY_MAX_WORDS`] allows are walked and
/// evaluated by recursion. Only what is used takes memory.
pub const STACK_BYTES: usize = 32 << 20;
/// Relations in one FROM.
pub const FROM_MAX_RELATIONS: usize = 32;
/// Table scans of one query: each has threads of its own while it runs.
pub const QUERY_MAX_SCANS: usize = 32;
/// Threads beside those of scans, for what is short: parsing, planning, traces, answers.
pub const SPARE_THREADS: usize = 64;
/// Attribute columns that one query names.
pub const QUERY_MAX_ATTRIBUTES: usize = 256;
/// Batches of a scan that wait to be taken, for each of its partitions. One is being worked
/// on, one is ready.
pub const SCAN_BATCHES_WAITING: usize = 2;
/// Batches of an answer that wait for whoever asked. A slow client stops its query here.
pub const ANSWER_BATCHES_WAITING: usize = 4;
/// Bytes from which on a batch counts as large: few are held at once, and those who make them wait
/// for memory rather than fail.
pub const LARGE_BATCH_BYTES: usize = 1 << 20;
/// How long a scan waits for memory that other batches of its query hold. They may themselves wait
/// for this one, in a join.
pub const MEMORY_WAIT: Duration = Duration::from_secs(1);
/// Rows of the batches that operators pass on: that of the store's scans.
pub const BATCH_ROWS: usize = kymo_store::limits::SCAN_BATCH_ROWS;
/// Tests that one pushed-down predicate may have; below what the store takes.
pub const PREDICATE_MAX_TESTS: usize = 256;
/// Depth of a pushed-down predicate; below what the store takes.
pub const PREDICATE_MAX_DEPTH: usize = 32;
/// Metrics that a filter on their names may choose for the store to look for: four tests each.
pub const METRICS_PUSHED_MAX: usize = 100;
/// Bytes of a regular expression that is pushed down; a longer one is left to DataFusion.
pub const REGEX_PUSHED_MAX_BYTES: usize = 512;
/// Rows for which `ORDER BY` time or duration with `LIMIT n` is a search for the first rows: beyond, sorting all is
/// as good.
pub const TOP_MAX_ROWS: usize = 1 << 16;
/// Groups that are counted by code in the leaf; beyond, the general way is as good.
pub const CODE_GROUPS_MAX: usize = 1 << 16;
/// Bytes that a function may make of one batch of rows, of which DataFusion does not keep count:
/// eight times what the store puts into a batch.
pub const FUNCTION_MAX_BYTES: usize = 8 * kymo_store::limits::SCAN_BATCH_MAX_BYTES;
/// Bytes of a constant that a function makes while a query is planned. There may be hundreds of
/// them, and plans are copied.
pub const CONSTANT_MAX_BYTES: usize = 1 << 16;
/// Bytes of all texts that a query adds to its rows: each may be written out for every row of a
/// batch.
pub const CONSTANTS_MAX_BYTES: usize = 1 << 15;
/// Levels that `trace_tree` indents a name by; deeper ones stand below each other. A chain of fifty
/// thousand spans would be gigabytes of spaces.
pub const TREE_MAX_INDENT: u32 = 32;
/// Rows of the right side of an as-of join. They are put in order at once, which nothing can
/// interrupt: some seconds for so many.
pub const ASOF_MAX_ROWS: usize = 16 << 20;
/// The least and the greatest time after which a refused query is told to come again.
pub const RETRY_AFTER: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(30);
/// Rows that a deletion names one by one, where the store cannot test its condition: 16 bytes of id and
/// more become some hundred in a tombstone, which every reader of the log reads.
pub const DELETION_MAX_ROWS: usize = 10_000;
/// Traces that are deleted as a whole by one deletion, for the same reason.
pub const DELETION_MAX_TRACES: usize = 10_000;
/// Times that a condition is looked at again because rows came while it was: it must hold for the same
/// rows wherever it is tested.
pub const DELETION_TRIES: usize = 3;
/// Traces by id that are looked up at once, for each query thread: each reads a few pages.
pub const TRACES_PER_THREAD: usize = 2;
/// How far before and behind a time range blocks are looked into for spans of traces that reach into
/// it. A trace that lasts longer is found by spans that lie nearer, and shown without those beyond.
pub const TRACE_REACH_NANOS: i64 = 24 * 3600 * 1_000_000_000;
/// Traces that are read at once on a thread: some thousand spans, which is a batch of the store.
pub const TRACES_PER_GROUP: usize = 128;
/// Spans from which on no more traces are read at once. A larger trace is read alone.
pub const GROUP_MAX_SPANS: usize = 16 * 1024;
/// Times that traces are read again because a block turned out to be damaged.
pub const DAMAGE_TRIES: usize = 4;
/// Traces for which another thread is worth starting.
pub const TRACES_PER_SHARE: usize = 16;
/// Bytes that a point of a series takes, in memory and in the answer that is made of it.
pub const POINT_BYTES: usize = 80;
/// Candidates that a search looks into before it hands out what it found: so many that threads are
/// worth starting, so few that first results come soon.
pub const SEARCH_STEP_TRACES: usize = 512;
/// How often a search tells what it has done while it has found nothing to hand out: whoever waits sees
/// that it goes on.
pub const SEARCH_TELLS_EVERY: Duration = Duration::from_millis(250);
/// Candidates that a query for series takes at a time.
pub const WALK_STEP_TRACES: usize = 4096;
/// Parts of the answer to a search that wait for whoever asked.
pub const FOUND_WAITING: usize = 4;
/// Attributes whose values `compare()` counts: each is a column to read.
pub const COMPARE_MAX_ATTRIBUTES: usize = 1000;

/// What of blocks is kept in memory to find series in them: some 40 bytes for each row.
pub const PROMETHEUS_INDEX_BYTES: usize = 64 << 20;

/// Labels of series that are kept in memory: some 500 bytes for each.
pub const PROMETHEUS_LABELS_BYTES: usize = 128 << 20;

/// Samples that are kept in memory as they were decoded: 16 bytes each.
pub const PROMETHEUS_SAMPLES_BYTES: usize = 192 << 20;

/// Bounds of buckets that are kept in memory, so that questions about labels need no samples.
pub const PROMETHEUS_VARIANTS_BYTES: usize = 16 << 20;

/// Values of labels of whole blocks that are kept in memory: menus of dashboards ask for them again
/// and again.
pub const PROMETHEUS_VALUES_BYTES: usize = 16 << 20;

/// What blocks say of metrics that is kept in memory: a few kilobytes for each block.
pub const PROMETHEUS_METADATA_BYTES: usize = 16 << 20;

/// Rows of series that a question holds whole, so that the next one finds them decoded. Beyond it
/// holds what lies in the time that it asks for, and no more.
pub const PROMETHEUS_WHOLE_ROWS_BYTES: usize = 96 << 20;

/// Log records for which another thread is worth starting.
pub const LOG_ROWS_PER_THREAD: usize = 16 * 1024;
/// Log records that a query for lines looks into first: two batches of the store for each of two
/// threads. It mostly finds enough there.
pub const LOG_FIRST_ROWS: usize = 32 * 1024;
/// Lines that templates are mined of, and that fields are looked for in, for one question.
pub const LOG_SAMPLE_LINES: usize = 1_000_000;
/// Parameters of a query: what PostgreSQL's protocol can count.
pub const QUERY_MAX_PARAMETERS: usize = 65_535;
/// Values of a parameter that is a list: each is a literal of the plan.
pub const PARAMETER_MAX_VALUES: usize = 10_000;

/// Rows of a request that log records are exported as, at most: a few megabytes as they mostly are.
pub const EXPORT_REQUEST_ROWS: usize = 8192;
/// Bytes of such a request, unless a single record has more: what receivers of gRPC take unless they
/// are told otherwise.
pub const EXPORT_REQUEST_BYTES: usize = 4 << 20;
/// Requests of an export that wait to be written.
pub const EXPORT_REQUESTS_WAITING: usize = 2;

/// Bytes of a query's text that are kept for those who look at what runs: enough to know it again.
pub const NOTED_TEXT_BYTES: usize = 2 << 10;
/// A query that takes longer is slow: people begin to wait.
pub const SLOW_AFTER: Duration = Duration::from_millis(500);
/// Slow queries that are remembered.
pub const SLOW_KEPT: usize = 100;
