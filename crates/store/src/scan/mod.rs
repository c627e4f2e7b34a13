//! Scans: rows of chunks and blocks that pass a predicate, as Arrow batches.
//!
//! A scan names columns, a predicate, a time range, an order and a limit. It
//! goes from cheap to dear:
//!
//! 1. Blocks outside the time range are left out by their footers.
//! 2. Granules (8,192 rows) are left out by the bounds of their pages, by the
//!    filters of granules and of texts, and where no origin of the block passes.
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
//! The rows of a scan may also be *elements*: events or links of spans, or points
//! of series.
//!
//! ```text
//! Scan ── Prepared::new ──> Prepared ── start ──> Work ── partition ──> Partition ── next_batch
//!         (checked, bound    (schema)   (granules   (any number, each on     (Arrow)
//!          to sources)                   to read)    its caller's thread)
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`predicate`] | what can be asked, and what it means |
//! | `compile`, `value_test`, `int_test`, `need` | the predicate, checked and ready to run |
//! | `part`, `keys`, `origins` | a source: where its columns are, what can be left out |
//! | `reader`, `computed`, `evaluate`, `mask`, `packed`, `page_text` | reading columns and testing rows |
//! | `derive`, `traces`, `split` | what rows repeat of their whole trace |
//! | [`cache`] | decoded columns that are kept |
//! | `work`, `partition`, `run` | granules, and who reads them |
//! | `ordered`, `top` | order and limit |
//! | `walk`, `trace_rows`, `trace_map` | traces, newest first; whole traces |
//! | `used` | keys that rows have which pass |
//! | `project`, `granule`, `direct` | result rows of one granule to batches, at once |
//! | `fill`, `build`, `own_json` | rows from anywhere to batches, row by row |
//! | `lists`, `points` | elements of lists, points of series |

mod build;
pub mod cache;
mod compile;
mod computed;
mod derive;
mod direct;
mod evaluate;
mod fill;
mod granule;
mod int_test;
mod keys;
mod lists;
mod mask;
mod need;
mod ordered;
mod origins;
mod own_json;
mod packed;
mod page_text;
mod part;
mod partition;
mod points;
pub mod predicate;
mod project;
mod reader;
mod run;
mod split;
#[cfg(test)]
mod tests;
mod top;
mod trace_map;
mod trace_rows;
mod traces;
mod used;
mod value_test;
mod walk;
mod work;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use serde::{Deserialize, Serialize};

pub use build::shown_text;
pub use cache::ColumnCache;
pub(crate) use keys::RestKeys;
pub use partition::{BatchRows, Partition};
pub use predicate::{ColumnRef, Elements, Op, Predicate, Scalar, Scope};
pub use trace_rows::{ElementBatch, Link, TraceReader};
pub(crate) use traces::ChunkTraces;
pub use used::used_keys;
pub use walk::{Walk, Walked, traces_with};
pub use work::Work;
pub(crate) use work::is_damage;

use crate::block::read::Block;
use crate::block::source::Source;
use crate::error::StoreError;
use crate::schema::{Signal, Table, ValueType};
use crate::store::Store;
use crate::tables::spans;
use compile::{Compiled, Target, time_fields};
use part::Part;
use project::Projection;

/// What to read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    /// The columns of the batches.
    pub columns: Vec<ColumnRef>,
    /// What rows must fulfil.
    pub predicate: Option<Predicate>,
    /// Nanoseconds since 1970: the time of the row (spans: the start), or, for
    /// series, a time that the row's range touches. Of points it is the time of
    /// the point; of events and links that of their span, not their own.
    pub time: Option<Range<i64>>,
    /// The order of rows. Elements come in no order.
    pub order: Order,
    /// At most so many rows.
    pub limit: Option<usize>,
    /// What the rows are, if not those of the table. The predicate is about the
    /// rows of the table all the same.
    #[serde(default)]
    pub elements: Option<Elements>,
}

/// The order of rows. Rows that are equal in it come by source, then by row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// As they are found: not the same each time.
    #[default]
    Any,
    /// By time, descending; series by their last point.
    NewestFirst,
    /// By time, ascending; series by their first point.
    OldestFirst,
    /// By duration, descending; only spans have one.
    LongestFirst,
    /// By duration, ascending; only spans have one.
    ShortestFirst,
}

impl Order {
    /// The field that rows are ordered by.
    fn field(self, signal: Signal) -> Option<usize> {
        let (earliest, latest) = time_fields(signal);
        match self {
            Order::Any => None,
            Order::NewestFirst => Some(latest),
            Order::OldestFirst => Some(earliest),
            Order::LongestFirst | Order::ShortestFirst => Some(spans::field::DURATION),
        }
    }

    /// A number that is less for a value that comes earlier in this order.
    fn rank(self, nanos: i64) -> i64 {
        match self {
            Order::NewestFirst | Order::LongestFirst => !nanos,
            _ => nanos,
        }
    }
}

/// What a scan shares with others, and how it is held in check.
#[derive(Debug, Clone)]
pub struct ScanContext {
    /// Decoded columns: [`Store::column_cache`].
    pub cache: ColumnCache,
    /// Set by whoever wants the scan to end; looked at for every granule.
    pub cancel: Arc<AtomicBool>,
    /// Threads that it may start itself, for [`Prepared::run`] and for an order;
    /// at least one.
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
/// row was read yet. It can be run any number of times.
#[derive(Debug)]
pub struct Prepared {
    table: &'static Table,
    elements: Option<Elements>,
    time: Option<Range<i64>>,
    order: Order,
    limit: Option<usize>,
    context: ScanContext,
    compiled: Compiled,
    parts: Vec<Arc<Part>>,
    projection: Projection,
    /// What was left out already.
    stats: ScanStats,
}

impl Prepared {
    /// Checks the scan and binds it to `sources`, all of one signal.
    pub fn new(
        sources: &[Source],
        signal: Signal,
        scan: &Scan,
        context: ScanContext,
    ) -> Result<Arc<Self>, StoreError> {
        let table = signal.table();
        check_rows(table, scan)?;
        let compiled = Compiled::new(table, scan.predicate.as_ref(), scan.time.as_ref())?;
        let mut reads = Reads::default();
        compiled.tests.iter().for_each(|test| reads.add(&test.target, signal));
        for column in &scan.columns {
            reads.add(&compile::target(table, scan.elements, column)?, signal);
        }
        let mut traces = match reads.derived {
            true => traces::of_sources(sources, &context.cache)?,
            false => Vec::new(),
        };
        let mut stats = ScanStats::default();
        let mut parts = Vec::with_capacity(sources.len());
        for (nth, source) in sources.iter().enumerate() {
            if let Source::Block(block) = source
                && is_outside(block, table, scan.time.as_ref())
            {
                stats.blocks_pruned += 1;
                continue;
            }
            let traces = traces.get_mut(nth).and_then(Option::take);
            match Part::new(nth, source, &compiled, reads.own, traces, &context.cache) {
                Ok(part) => parts.push(Arc::new(part)),
                Err(error) if work::is_damage(&error) => {
                    tracing::warn!(source = nth, %error, "a damaged block is left out of the answer");
                    stats.blocks_skipped_damaged += 1;
                }
                Err(error) => return Err(error),
            }
        }
        let projection =
            Projection::new(table, scan.elements, &scan.columns, &parts, &context.cache)?;
        Ok(Arc::new(Self {
            table,
            elements: scan.elements,
            time: scan.time.clone(),
            order: scan.order,
            limit: scan.limit,
            context,
            compiled,
            parts,
            projection,
            stats,
        }))
    }

    /// The schema of all batches.
    pub fn schema(&self) -> SchemaRef {
        self.projection.schema.clone()
    }

    /// Begins a run. A scan in no order can be shared by any number of
    /// [partitions](Work::partition); one in order is done by the first that asks.
    pub fn start(self: &Arc<Self>) -> Arc<Work> {
        Arc::new(Work::new(self.clone()))
    }
}

/// What a scan reads that has to be made ready.
#[derive(Default)]
struct Reads {
    /// Attributes of rows by key.
    own: bool,
    /// What rows repeat of their trace.
    derived: bool,
}

impl Reads {
    fn add(&mut self, target: &Target, signal: Signal) {
        self.own |= matches!(target, Target::Own { .. });
        self.derived |= target.is_derived(signal);
    }
}

fn check_rows(table: &Table, scan: &Scan) -> Result<(), StoreError> {
    let refuse = |what: &str| Err(StoreError::Query(what.to_owned()));
    let is_by_duration = matches!(scan.order, Order::LongestFirst | Order::ShortestFirst);
    if is_by_duration && table.signal != Signal::Spans {
        return refuse("only spans have a duration");
    }
    match scan.elements {
        None => return Ok(()),
        Some(_) if scan.order != Order::Any => {
            return refuse("elements are read in no order: sort them afterwards");
        }
        Some(Elements::List(list)) if list >= table.lists.len() => {
            return refuse("the table has no such list");
        }
        Some(Elements::List(_)) => {}
        Some(Elements::Points) if table.signal != Signal::Series => {
            return refuse("only series have points");
        }
        Some(Elements::Points) => {
            if let Some(field) = scan.predicate.as_ref().and_then(predicate_on_row) {
                let name = table.fields.get(field).map_or("?", |field| field.name);
                return Err(StoreError::Query(format!(
                    "`{name}` is not the same in all rows of a series: points cannot be chosen by it"
                )));
            }
        }
    }
    Ok(())
}

/// A field that a predicate tests and in which rows of one series may differ.
fn predicate_on_row(predicate: &Predicate) -> Option<usize> {
    use crate::tables::series::field;
    let column = match predicate {
        Predicate::And(parts) | Predicate::Or(parts) => {
            return parts.iter().find_map(predicate_on_row);
        }
        Predicate::Not(part) => return predicate_on_row(part),
        Predicate::Compare { column, .. }
        | Predicate::In { column, .. }
        | Predicate::Match { column, .. }
        | Predicate::Contains { column, .. }
        | Predicate::Exists(column) => column,
    };
    match column {
        ColumnRef::Field(
            field::IDENTITY
            | field::NAME
            | field::UNIT
            | field::TYPE
            | field::TEMPORALITY
            | field::MONOTONIC
            | field::SERVICE
            | field::RESOURCE
            | field::SCOPE_NAME
            | field::SCOPE_VERSION,
        ) => None,
        ColumnRef::Field(field) => Some(*field),
        _ => None,
    }
}

/// Whether no row of a block can be within `time`.
fn is_outside(block: &Block, table: &Table, time: Option<&Range<i64>>) -> bool {
    let Some(time) = time else { return false };
    let (earliest, latest) = time_fields(table.signal);
    // The footer tells the range of the earliest times only.
    let starts_late = block.footer().min_time_nanos >= time.end;
    let ended = if earliest == latest {
        block.footer().max_time_nanos < time.start
    } else {
        (0..block.granules()).all(|granule| {
            let bounds = block.int_bounds(latest, granule);
            bounds.is_some_and(|bounds| bounds.is_none_or(|(_, high)| high < time.start))
        })
    };
    time.is_empty() || starts_late || ended
}

/// The types that an attribute may have anywhere in `sources`, in the order of
/// [`ValueType::ALL`]: all of them where a block has more keys than it lists. What batches show of it follows from them: one type as it
/// is, integers and doubles as doubles, other mixtures as text. A predicate
/// compares values with scalars of their own type only, so that whoever knows a
/// mixture as text has to test that text.
pub fn value_types(
    sources: &[Source],
    signal: Signal,
    column: &ColumnRef,
    elements: Option<Elements>,
    cache: &ColumnCache,
) -> Result<Vec<ValueType>, StoreError> {
    let table = signal.table();
    let target = compile::target(table, elements, column)?;
    let compiled = Compiled::new(table, None, None)?;
    let reads_own = matches!(target, Target::Own { .. });
    let mut parts = Vec::with_capacity(sources.len());
    for (nth, source) in sources.iter().enumerate() {
        match Part::new(nth, source, &compiled, reads_own, None, cache) {
            Ok(part) => parts.push(Arc::new(part)),
            Err(error) if work::is_damage(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let possible = RestKeys::possible;
    let types = project::types_of(table, elements, &target, &parts, cache, possible)?;
    Ok(ValueType::ALL.into_iter().filter(|value_type| types.has(*value_type)).collect())
}

impl Store {
    /// Decoded columns that all scans of this store share.
    pub fn column_cache(&self) -> &ColumnCache {
        &self.columns
    }
}

/// Scans `sources` and collects the batches; for small answers.
pub fn collect(
    sources: &[Source],
    signal: Signal,
    scan: &Scan,
    context: ScanContext,
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
    let mut reads = Reads::default();
    compiled.tests.iter().for_each(|test| reads.add(&test.target, table.signal));
    let part = Arc::new(Part::new(0, source, &compiled, reads.own, None, cache)?);
    let mut reader = reader::Reader::new(part.clone(), cache.clone());
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
