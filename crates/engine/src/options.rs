//! Settings of an engine, each with its default.

use std::sync::LazyLock;
use std::time::Duration;

use crate::logql::LogqlOptions;
use crate::prometheus::PrometheusOptions;

/// Settings.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Threads that queries run on, and parts that a scan is divided into.
    pub threads: usize,
    /// Bytes that all queries together may hold.
    pub memory_bytes: usize,
    /// Bytes that one query may hold.
    pub query_memory_bytes: usize,
    /// Bytes that reading traces to be shown whole may hold, one and all together, beside queries.
    pub trace_memory_bytes: usize,
    /// How long a query may run, from its planning on; less than the time that the store keeps
    /// replaced files.
    pub query_timeout: Duration,
    /// Rows that an answer may have; one more is an error. `None` for no limit.
    pub max_rows: Option<u64>,
    /// Queries that run at once.
    pub max_running: usize,
    /// Queries that wait for their turn; one more is refused.
    pub max_waiting: usize,
    /// Settings of PromQL.
    pub prometheus: PrometheusOptions,
    /// Settings of LogQL.
    pub logql: LogqlOptions,
}

impl EngineOptions {
    /// Parts that a scan is divided into. One would be aggregated in one step, which cannot be
    /// done by code.
    pub(crate) fn partitions(&self) -> usize {
        self.threads.max(2)
    }
}

impl Default for EngineOptions {
    /// For a small server: all cores, since query threads give way to others; memory for one
    /// large and a few ordinary queries, and for a trace of a million spans with ten attributes each;
    /// two queries per core, since some wait for the disk or their client; a queue that takes a page of a hundred panels.
    fn default() -> Self {
        // To find out takes a third of a millisecond, and the help of every setting wants it.
        static CORES: LazyLock<usize> =
            LazyLock::new(|| std::thread::available_parallelism().map_or(2, usize::from));
        let threads = *CORES;
        Self {
            threads,
            memory_bytes: 384 << 20,
            query_memory_bytes: 256 << 20,
            trace_memory_bytes: 1 << 30,
            query_timeout: Duration::from_secs(60),
            max_rows: None,
            max_running: 2 * threads,
            max_waiting: 256,
            prometheus: PrometheusOptions::default(),
            logql: LogqlOptions::default(),
        }
    }
}
