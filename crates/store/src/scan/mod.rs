//! Scans: rows of chunks and blocks that pass a predicate, as Arrow batches.
//!
//! A scan names columns, a predicate, a time range, an order and a limit. It
//! goes from cheap to dear:
//!
//! 1. Blocks outside the time range are left out by their footers.
//! 2. Granules (8,192 rows) are left out by the bounds of their pages, by the
//!    granule filters, and where no origin of the block passes.
//! 3. Tests run on what is left, cheap ones first, each only on rows that are
//!    still alive: on resources and scopes once per origin, on texts once per
//!    entry of the dictionary, then on codes.
//! 4. For an order with a limit, granules are visited best first; the scan ends
//!    when no other can hold a better row.
//! 5. Only the granules of result rows are read for the columns asked for.
//!
//! Narrow columns come from a [`ColumnCache`] that all scans share. A damaged
//! block is left out with a warning and counted; everything else is answered.
//!
//! | module | what it holds |
//! |---|---|
//! | [`predicate`] | what can be asked, and what it means |
//! | `compile`, `value_test`, `int_test` | the predicate, checked and ready to run |
//! | `part`, `keys`, `origins` | a source: where its columns are, what can be left out |
//! | `reader`, `mask`, `packed` | reading columns and testing rows |
//! | [`cache`] | decoded columns that are kept |
//! | `run`, `top` | granules, threads, order and limit |
//! | `project`, `build` | result rows to batches |

mod build;
pub mod cache;
mod compile;
mod int_test;
mod keys;
mod mask;
mod origins;
mod packed;
mod part;
pub mod predicate;
mod project;
mod reader;
mod run;
#[cfg(test)]
mod tests;
mod top;
mod value_test;

use std::ops::{ControlFlow, Range};
use std::sync::atomic::AtomicBool;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

pub use cache::ColumnCache;
pub use predicate::{ColumnRef, Op, Predicate, Scalar, Scope};

use crate::block::source::Source;
use crate::error::StoreError;
use crate::schema::{Signal, Table};
use compile::{Compiled, time_fields};
use part::Part;
use project::Projection;

/// What to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    /// The columns of the batches.
    pub columns: Vec<ColumnRef>,
    /// What rows must fulfil.
    pub predicate: Option<Predicate>,
    /// Nanoseconds since 1970: the time of the row (spans: the start), or, for
    /// series, a time that the row's range touches.
    pub time: Option<Range<i64>>,
    /// The order of rows.
    pub order: Order,
    /// At most so many rows.
    pub limit: Option<usize>,
}

/// The order of rows. Rows of the same time come by source, then by row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// As they are found: not the same each time.
    Any,
    /// By time, descending; series by their last point.
    NewestFirst,
    /// By time, ascending; series by their first point.
    OldestFirst,
}

impl Order {
    /// The field that rows are ordered by.
    fn field(self, signal: Signal) -> Option<usize> {
        let (earliest, latest) = time_fields(signal);
        match self {
            Order::Any => None,
            Order::NewestFirst => Some(latest),
            Order::OldestFirst => Some(earliest),
        }
    }

    /// A number that is less for a time that comes earlier in this order.
    fn rank(self, time_nanos: i64) -> i64 {
        match self {
            Order::NewestFirst => !time_nanos,
            _ => time_nanos,
        }
    }
}

/// What a scan shares with others, and how it is held in check.
#[derive(Debug, Clone, Copy)]
pub struct ScanContext<'a> {
    /// Decoded columns.
    pub cache: &'a ColumnCache,
    /// Set by whoever wants the scan to end; looked at for every granule.
    pub cancel: &'a AtomicBool,
    /// Threads that it may use, at least one.
    pub threads: usize,
}

/// What a scan did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanStats {
    /// Rows of granules that were looked into.
    pub rows_scanned: usize,
    /// Rows handed out.
    pub rows_matched: usize,
    /// Granules that were looked into.
    pub granules_read: usize,
    /// Granules that were passed over unread, in blocks that were not.
    pub granules_pruned: usize,
    /// Pages that were decoded.
    pub pages_read: usize,
    /// Blocks that were passed over because of their time.
    pub blocks_pruned: usize,
    /// Blocks that were left out because they are damaged.
    pub blocks_skipped_damaged: usize,
    /// Columns found in the cache.
    pub cache_hits: usize,
    /// Narrow columns that were not in the cache.
    pub cache_misses: usize,
}

impl ScanStats {
    fn add(&mut self, other: &Self) {
        self.rows_scanned += other.rows_scanned;
        self.rows_matched += other.rows_matched;
        self.granules_read += other.granules_read;
        self.granules_pruned += other.granules_pruned;
        self.pages_read += other.pages_read;
        self.blocks_pruned += other.blocks_pruned;
        self.blocks_skipped_damaged += other.blocks_skipped_damaged;
        self.cache_hits += other.cache_hits;
        self.cache_misses += other.cache_misses;
    }
}

/// Takes batches; may say that it wants no more.
pub type Sink<'s> = dyn FnMut(RecordBatch) -> Result<ControlFlow<()>, StoreError> + 's;

/// A scan that was checked and bound to its sources: its schema is known, no
/// row was read yet.
#[derive(Debug)]
pub struct Prepared<'a> {
    table: &'static Table,
    order: Order,
    limit: Option<usize>,
    context: ScanContext<'a>,
    compiled: Compiled,
    parts: Vec<Part<'a>>,
    projection: Projection,
    stats: ScanStats,
}

impl<'a> Prepared<'a> {
    /// Checks the scan and binds it to `sources`, all of one signal.
    pub fn new(
        sources: &'a [Source],
        signal: Signal,
        scan: &Scan,
        context: ScanContext<'a>,
    ) -> Result<Self, StoreError> {
        let table = signal.table();
        let compiled = Compiled::new(table, scan.predicate.as_ref(), scan.time.as_ref())?;
        let mut stats = ScanStats::default();
        let mut parts = Vec::with_capacity(sources.len());
        for (nth, source) in sources.iter().enumerate() {
            if let Source::Block(block) = source
                && run::is_outside(block, table, scan.time.as_ref())
            {
                stats.blocks_pruned += 1;
                continue;
            }
            match Part::new(nth, source, table, &compiled, context.cache) {
                Ok(part) => parts.push(part),
                Err(error) if run::is_damage(&error) => {
                    tracing::warn!(source = nth, %error, "a damaged block is left out of the answer");
                    stats.blocks_skipped_damaged += 1;
                }
                Err(error) => return Err(error),
            }
        }
        let projection = Projection::new(table, &scan.columns, &parts, context.cache)?;
        let (order, limit) = (scan.order, scan.limit);
        Ok(Self { table, order, limit, context, compiled, parts, projection, stats })
    }

    /// The schema of all batches.
    pub fn schema(&self) -> SchemaRef {
        self.projection.schema.clone()
    }

    /// Runs the scan: `sink` gets batches of at most
    /// [`SCAN_BATCH_ROWS`](crate::limits::SCAN_BATCH_ROWS) rows, on this thread.
    pub fn run(&self, sink: &mut Sink<'_>) -> Result<ScanStats, StoreError> {
        let run = run::Run {
            table: self.table,
            compiled: &self.compiled,
            projection: &self.projection,
            parts: &self.parts,
            context: &self.context,
            order: self.order,
            limit: self.limit,
        };
        let mut stats = self.stats;
        stats.add(&run.run(sink)?);
        Ok(stats)
    }
}

/// Scans `sources` and collects the batches; for small answers.
pub fn collect(
    sources: &[Source],
    signal: Signal,
    scan: &Scan,
    context: ScanContext<'_>,
) -> Result<(Vec<RecordBatch>, ScanStats), StoreError> {
    let mut batches = Vec::new();
    let prepared = Prepared::new(sources, signal, scan, context)?;
    let stats = prepared.run(&mut |batch| {
        batches.push(batch);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((batches, stats))
}

/// Which rows of a source pass, those among them that are hidden already.
pub(crate) fn matching_rows(
    source: &Source,
    table: &'static Table,
    predicate: &Predicate,
    cache: &ColumnCache,
) -> Result<Vec<bool>, StoreError> {
    let compiled = Compiled::new(table, Some(predicate), None)?;
    let context = ScanContext { cache, cancel: &AtomicBool::new(false), threads: 1 };
    let part = Part::new(0, source, table, &compiled, cache)?;
    let mut reader = reader::Reader::new(&part, &context);
    let mut stats = ScanStats::default();
    let mut matching = vec![false; source.rows()];
    for granule in 0..part.granules() {
        let rows = part.rows(granule);
        let alive = mask::Mask::first(rows.len());
        let mask = reader.evaluate(&compiled, &compiled.root, granule, &alive, &mut stats)?;
        for row in mask.rows() {
            matching[rows.start + row as usize] = true;
        }
    }
    Ok(matching)
}
