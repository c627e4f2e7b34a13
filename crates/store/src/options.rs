//! Settings of a store, each with its default.

use std::time::Duration;

/// Settings.
#[derive(Debug, Clone)]
pub struct Options {
    /// The node's name: letters, digits, `-` and `_`.
    pub node: String,
    /// Rows of a signal in memory that make a flush due.
    pub flush_rows: usize,
    /// Bytes of a signal in memory that make a flush due.
    pub flush_bytes: usize,
    /// Age of the oldest row in memory that makes a flush due.
    pub flush_after: Duration,
    /// The same for series, which are smaller the more points they have.
    pub flush_series_after: Duration,
    /// How long a query waits for a flush under way to make room in memory. Then rows
    /// are kept beyond what heads usually hold, so that it can be answered.
    pub flush_wait: Duration,
    /// Metric points in memory that make a flush due; their series are joined
    /// when they are compacted.
    pub flush_points: usize,
    /// Rows of a block that compaction leaves as it is.
    pub final_rows: u64,
    /// Rows of the largest block that compaction makes.
    pub max_block_rows: u64,
    /// Bytes of a block that compaction leaves as it is, however few its rows.
    pub final_bytes: u64,
    /// Decompressed bytes of all blocks that compaction joins to one, which
    /// bounds its memory.
    pub max_joined_bytes: u64,
    /// How long a removed file stays for other processes that may read it; those that
    /// queries of this process read stay in any case. In a bucket: longer than the
    /// longest query.
    pub grace: Duration,
    /// zstd level of pages.
    pub zstd_level: i32,
    /// Bytes of decoded columns kept for queries.
    pub column_cache_bytes: usize,
    /// Bytes of open blocks' footers kept.
    pub block_cache_bytes: usize,
    /// Bytes that the store may be behind the journal before requests are refused.
    pub lag_bytes: u64,
    /// Whether nothing is taken in: see [`Store::open`](crate::Store::open).
    pub is_detached: bool,
    /// How old a known commit log may be before a snapshot reads it again.
    /// Zero where other nodes commit too.
    pub log_refresh: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            node: "local".to_owned(),
            flush_rows: 384 << 10,
            flush_bytes: 128 << 20,
            flush_after: Duration::from_secs(600),
            flush_series_after: Duration::from_secs(3600),
            flush_wait: Duration::from_secs(10),
            flush_points: 4 << 20,
            final_rows: 256 << 10,
            max_block_rows: 1 << 20,
            final_bytes: 8 << 20,
            max_joined_bytes: 256 << 20,
            grace: Duration::from_secs(600),
            zstd_level: 1,
            column_cache_bytes: crate::limits::COLUMN_CACHE_BYTES,
            block_cache_bytes: 64 << 20,
            lag_bytes: 1 << 30,
            is_detached: false,
            log_refresh: Duration::from_secs(3600),
        }
    }
}
