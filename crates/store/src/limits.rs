//! Every bound of the crate, with its reason.

use std::time::Duration;

/// Bytes of a node's name, which stands in paths and file names.
pub const NODE_MAX_BYTES: usize = 64;
/// Attribute columns of a chunk in memory. Keys beyond go to `rest`, so that a
/// client with a hundred thousand keys costs no more than their bytes.
pub const CHUNK_MAX_ATTRIBUTES: usize = 1024;
/// Rows of a chunk: some granules, so that its dictionaries are worth their bytes.
pub const CHUNK_MAX_ROWS: usize = 32 * 1024;
/// Request bytes that go into one chunk, for rows that are large.
pub const CHUNK_MAX_BYTES: usize = 32 << 20;
/// Growing rows that a query copies. If there are more, they become a chunk: a copy
/// takes a millisecond at most, and no chunk is smaller.
pub const VIEW_MAX_ROWS: usize = 4096;
/// Request bytes of rows that a query copies, for rows that are large.
pub const VIEW_MAX_BYTES: usize = 2 << 20;
/// Times what makes a flush due that heads of a signal hold at most: what a flush is
/// writing, and as much again while it does.
pub const HEAD_MAX_FLUSHES: usize = 2;
/// How long flushes that are due wait after one that failed, which costs as much as
/// one that succeeds.
pub const FLUSH_RETRY_AFTER: Duration = Duration::from_secs(10);
/// How often files that nothing names are looked for although nothing has failed:
/// that lists all files.
pub const ORPHANS_INTERVAL: Duration = Duration::from_secs(3600);
/// How often a store is looked at for reading while its owner flushes: each look is
/// much shorter than what lies between two flushes.
pub const READ_ONLY_TRIES: usize = 20;
/// Bytes of the text filter of one granule: a thirty-second of the longest texts that have one.
pub const TEXT_FILTER_MAX_BYTES: usize = 256 << 10;
/// Bytes of a granule's texts beyond which they get no text filter: a kilobyte for each, of which
/// the filter would take more than it spares.
pub const TEXT_FILTER_MAX_TEXT_BYTES: usize = 8 << 20;
/// Bytes of the texts of an attribute, on average, from which on it gets a text filter. Shorter ones
/// are read as fast as their filters.
pub const TEXT_FILTER_MIN_MEAN_BYTES: usize = 24;
/// Parts of a regular expression that are looked through for what every match must have.
pub const REGEX_LITERAL_MAX_STEPS: usize = 1024;
/// How often a deletion is looked at that waits for files to be old enough.
pub const DELETION_LOOK_EVERY: Duration = Duration::from_secs(2);
/// The same after something failed, such as a block that cannot be read: to find that out costs as much
/// each time.
pub const DELETION_RETRY_AFTER: Duration = Duration::from_secs(30);
/// Blocks with deleted rows that are written again before that is committed: so much is done again
/// after a crash, at most.
pub const DELETION_BLOCKS_AT_ONCE: usize = 8;
/// Attribute columns of a block: each costs pages, index entries and time.
pub const BLOCK_MAX_ATTRIBUTES: usize = 200;
/// An attribute is a column if at least one row in this many has it.
pub const BLOCK_ATTRIBUTE_MIN_SHARE: usize = 100;
/// Distinct values of one attribute that a block's catalogue lists.
pub const CATALOGUE_MAX_VALUES: usize = 1000;
/// Bytes of those values, so that long texts do not fill the catalogue.
pub const CATALOGUE_MAX_BYTES: usize = 32 << 10;
/// Keys that a block's catalogue lists.
pub const CATALOGUE_MAX_KEYS: usize = 100_000;
/// Day partitions that one flush writes; rows of further days share a late
/// block, so that data of a thousand days does not make a thousand files.
pub const FLUSH_MAX_PARTITIONS: usize = 4;
/// Rows of a batch that a scan hands out: a granule, so that one of them is enough.
pub const SCAN_BATCH_ROWS: usize = crate::pages::GRANULE_ROWS;
/// Bytes of texts in a column of a batch, beyond which the batch gets fewer rows:
/// what a query holds does not grow with the length of values.
pub const SCAN_BATCH_MAX_BYTES: usize = 8 << 20;
/// Buckets and bounds in a batch of metric points, for the same reason.
pub const SCAN_BATCH_MAX_ITEMS: usize = 512 << 10;
/// Traces in all blocks of a scan among which it looks for those that lie in
/// several of them. Their indexes take 12 bytes a trace and are read whole.
pub const SCAN_MAX_JOINED_TRACES: usize = 8 << 20;
/// Rows that a scan without a limit puts in order: 16 bytes each are kept in memory.
pub const SCAN_SORT_MAX_ROWS: usize = 16 << 20;
/// Depth of a predicate, which is walked by recursion.
pub const PREDICATE_MAX_DEPTH: usize = 64;
/// Tests in a predicate, each of which may read a column.
pub const PREDICATE_MAX_TESTS: usize = 1024;
/// Bytes of a compiled regular expression, and of its states while it runs.
pub const REGEX_MAX_BYTES: usize = 4 << 20;
/// Bytes of a text that is looked for in others: longer than any that a person types, and short
/// enough to be sent to every node.
pub const CONTAINED_MAX_BYTES: usize = 64 << 10;
/// Bytes of the filters that tell which blocks may have a trace: a thousand large blocks.
pub const TRACE_FILTERS_BYTES: usize = 32 << 20;
/// Bytes of whole columns that a thread decodes of one block. Further columns it reads by granules:
/// a scan of all columns would hold a whole block decoded, and leave nothing in the cache for others.
pub const SCAN_WHOLE_COLUMNS_BYTES: usize = 16 << 20;
/// Bytes of decoded columns that are kept for the next query, unless told otherwise.
pub const COLUMN_CACHE_BYTES: usize = 64 << 20;
/// Bytes of decoded dictionaries that are kept for reading further pages of the
/// same columns: about four blocks of forty columns.
pub const DICTIONARY_CACHE_BYTES: usize = 64 << 20;
/// Points of one series in memory after which they are encoded. At this length
/// the fixed cost of a row is small, and the points still take few pages.
pub const SERIES_MAX_POINTS: usize = 240;
/// Points of one series that a single request may bring before they are encoded
/// in the middle of it.
pub const SERIES_MAX_REQUEST_POINTS: usize = 16 * 1024;
/// Bytes of one series' points in memory, for points that are large.
pub const SERIES_MAX_BYTES: usize = 16 << 20;
/// Buckets or quantiles of one point; admission refuses more. With
/// [`SERIES_MAX_BYTES`] of points before it, such a point stays within what the
/// codec takes.
pub const POINT_MAX_ITEMS: usize = kymo_wire::limits::MAX_POINT_ITEMS;
/// Families of metrics that a head remembers the description of. A node with all exporters there are
/// has some ten thousand.
pub const FAMILIES_MAX: usize = 100_000;
/// Bytes of their names and descriptions: a hundred and sixty for each.
pub const FAMILIES_MAX_BYTES: usize = 16 << 20;
/// Points of a row that was joined from smaller ones. Beyond, the blobs shrink
/// by less than the queries pay that decode more than they asked for.
pub const SERIES_JOINED_MAX_POINTS: usize = 4 * SERIES_MAX_POINTS;
/// Granules that a walk over traces reads first. Most searches end there; each round is four times
/// as large as the last.
pub const WALK_FIRST_GRANULES: usize = 2;
/// Granules of the largest round, after which whoever walks is asked whether to go on.
pub const WALK_MOST_GRANULES: usize = 128;
/// Granules for which a walk starts another thread.
pub const WALK_GRANULES_PER_THREAD: usize = 4;
/// Bytes of decoded columns that a thread of a walk, or a reader of traces, keeps although the cache
/// may have forgotten them.
pub const WALK_READERS_BYTES: usize = 24 << 20;
/// Bytes of spans in one object of an archived trace, unless a single one is larger. Reading takes
/// some times as much, beside the trace.
pub const ARCHIVED_PIECE_BYTES: usize = 2 << 20;
/// The most such an object can have: larger than any request, and so than any span.
pub const ARCHIVED_MAX_BYTES: usize = 1 << 30;
/// Bytes of what is set for a tenant.
pub const SETTING_MAX_BYTES: usize = 1 << 20;
/// How often the version of a setting that holds is looked for, if others change it meanwhile.
pub const SETTING_TRIES: usize = 8;
/// Versions of a tenant's setting that are kept, the one that holds included.
pub const SETTING_KEPT_VERSIONS: u64 = 16;
/// Bytes of a dashboard with what is known of it. The largest that people share have half a megabyte.
pub const DASHBOARD_MAX_BYTES: usize = 5 << 20;
/// Versions of a dashboard that are kept: people go back to what they had last week.
pub const DASHBOARD_KEPT_VERSIONS: u64 = 50;
