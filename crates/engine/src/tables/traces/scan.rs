//! The leaf that makes rows of `traces`.

use std::fmt;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_expr::PhysicalExpr;
use kymo_store::StoreError;
use kymo_store::block::source::{RowRef, Source};
use kymo_store::scan::{Predicate, Prepared, Scan, ScanStats, TraceReader, Walk, Walked};
use kymo_store::schema::Signal;
use kymo_store::snapshot::Snapshot;

use super::TraceColumn;
use super::rows;
use super::summary::{Reads, Summaries, Summary};
use crate::limits::{
    BATCH_ROWS, DAMAGE_TRIES, GROUP_MAX_SPANS, SEARCH_STEP_TRACES, TOP_MAX_ROWS, TRACES_PER_GROUP,
};
use crate::scan::convert::{first_columns, tested};
use crate::scan::leaf::LeafWork;
use crate::scan::reading::{Stop, Take, context};
use crate::state::{QueryState, Reading};

/// What is asked of the table.
#[derive(Debug, Clone)]
pub(super) struct TracesScan {
    pub(super) snapshot: Arc<Snapshot>,
    pub(super) reading: Reading,
    pub(super) state: Arc<QueryState>,
    /// Columns that are made: those asked for, then those that only tests need.
    pub(super) columns: Vec<TraceColumn>,
    pub(super) schema_made: SchemaRef,
    pub(super) schema_out: SchemaRef,
    /// When traces begin.
    pub(super) time: Option<Range<i64>>,
    /// Which traces, by id.
    pub(super) predicate: Option<Predicate>,
    pub(super) tests: Vec<Arc<dyn PhysicalExpr>>,
    /// So many of those that begin last are enough.
    pub(super) newest: Option<usize>,
    pub(super) limit: Option<usize>,
}

impl fmt::Display for TracesScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> =
            self.schema_out.fields().iter().map(|field| field.name().as_str()).collect();
        write!(
            f,
            "columns=[{}], by={}",
            names.join(", "),
            if self.walks() { "walk" } else { "scan" }
        )?;
        if self.predicate.is_some() {
            write!(f, ", by trace id")?;
        }
        if let Some(rows) = self.newest {
            write!(f, ", newest={rows}")?;
        }
        if let Some(limit) = self.limit {
            write!(f, ", limit={limit}")?;
        }
        if !self.tests.is_empty() {
            let tests: Vec<String> = self.tests.iter().map(ToString::to_string).collect();
            write!(f, ", tested=[{}]", tests.join(", "))?;
        }
        Ok(())
    }
}

impl LeafWork for TracesScan {
    fn name(&self) -> &'static str {
        "Traces"
    }

    fn schema(&self) -> SchemaRef {
        self.schema_out.clone()
    }

    fn state(&self) -> &Arc<QueryState> {
        &self.state
    }

    fn tests(&self) -> &[Arc<dyn PhysicalExpr>] {
        &self.tests
    }

    fn with_top(&self, place: usize, descending: bool, rows: usize) -> Option<Arc<dyn LeafWork>> {
        let is_start = self.columns.get(place) == Some(&TraceColumn::StartTime);
        let fits = is_start && descending && rows <= TOP_MAX_ROWS && self.limit.is_none();
        fits.then(|| Arc::new(Self { newest: Some(rows), ..self.clone() }) as Arc<dyn LeafWork>)
    }

    fn run(
        &self,
        cancel: &Arc<AtomicBool>,
        memory: &MemoryReservation,
        take: &mut Take<'_>,
    ) -> Result<(), Stop> {
        let reads = Reads::of(&self.columns, self.time.is_some() || self.newest.is_some());
        let run = Run {
            scan: self,
            cancel,
            memory,
            sources: self.reading.store.sources(&self.snapshot, None)?,
            summaries: Summaries::new(reads.clone()),
            given: 0,
        };
        match (self.newest, self.walks()) {
            (Some(rows), true) => run.newest(&reads, rows, take),
            (_, true) => run.walked(&reads, take),
            (_, false) => run.all(&reads, take),
        }
    }
}

impl TracesScan {
    /// Whether traces are found by a walk: not if it would lead through most of the rows anyway.
    fn walks(&self) -> bool {
        if self.newest.is_some() {
            return self.state.pushes_down;
        }
        let Some(time) = self.time.as_ref().filter(|_| self.state.pushes_down) else {
            return false;
        };
        let (mut all, mut within) = (0u64, 0u64);
        for block in self.snapshot.blocks() {
            let touches = block.max_time_nanos >= time.start && block.min_time_nanos < time.end;
            all += block.size_bytes;
            within += if touches { block.size_bytes } else { 0 };
        }
        within < all.div_ceil(2)
    }
}

/// A scan under way.
struct Run<'a> {
    scan: &'a TracesScan,
    cancel: &'a Arc<AtomicBool>,
    memory: &'a MemoryReservation,
    sources: Vec<Source>,
    summaries: Summaries,
    /// Rows that were handed out.
    given: usize,
}

impl Run<'_> {
    /// Reads all spans once.
    fn all(mut self, reads: &Reads, take: &mut Take<'_>) -> Result<(), Stop> {
        let scan = Scan {
            columns: reads.columns.clone(),
            predicate: self.scan.predicate.clone(),
            ..Scan::default()
        };
        let context = context(&self.scan.reading, self.cancel.clone());
        let prepared = Prepared::new(&self.sources, Signal::Spans, &scan, context)?;
        let mut stop = None;
        let stats = prepared.run(&mut |batch| {
            let added = self.summaries.add(&batch);
            let held = added.and_then(|()| self.memory.try_resize(self.summaries.bytes()));
            Ok(match held {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    stop = Some(Stop::Batch(error));
                    ControlFlow::Break(())
                }
            })
        })?;
        self.count(&stats);
        if let Some(stop) = stop {
            return Err(stop);
        }
        let traces = self.summaries.take();
        for some in traces.chunks(BATCH_ROWS) {
            self.hand_out(&some.iter().collect::<Vec<_>>(), take)?;
        }
        Ok(())
    }

    /// Reads the traces that have a span in the time that is asked for.
    fn walked(mut self, reads: &Reads, take: &mut Take<'_>) -> Result<(), Stop> {
        let (mut walk, mut reader) = self.begin(reads)?;
        while let Some(step) = walk.next(SEARCH_STEP_TRACES)? {
            let traces = self.load(&mut reader, &step, walk.held_bytes())?;
            self.hand_out(&traces.iter().collect::<Vec<_>>(), take)?;
        }
        self.count(&walk.stats());
        Ok(())
    }

    /// Reads traces, those with the newest spans first, until no other can begin later than those
    /// that were found.
    fn newest(mut self, reads: &Reads, rows: usize, take: &mut Take<'_>) -> Result<(), Stop> {
        let (mut walk, mut reader) = self.begin(reads)?;
        let mut found: Vec<Summary> = Vec::new();
        while let Some(step) = walk.next(SEARCH_STEP_TRACES)? {
            let Some(last) = step.last().copied() else { continue };
            let held = walk.held_bytes() + found.capacity() * size_of::<Summary>();
            let traces = self.load(&mut reader, &step, held)?;
            let kept = self.test(&traces)?;
            found.extend(traces.into_iter().zip(kept).filter(|(_, keep)| *keep).map(|(t, _)| t));
            if found.len() >= rows && rows > 0 {
                let by_start = |a: &Summary, b: &Summary| {
                    b.start.cmp(&a.start).then(a.trace_id.cmp(&b.trace_id))
                };
                found.select_nth_unstable_by(rows - 1, by_start);
                found.truncate(rows);
                // A trace begins no later than its newest span.
                if found[rows - 1].start >= last.newest_nanos {
                    break;
                }
            }
        }
        self.count(&walk.stats());
        for some in found.chunks(BATCH_ROWS) {
            let batch = self.batch(&some.iter().collect::<Vec<_>>())?;
            take(first_columns(batch, &self.scan.schema_out)?)?;
        }
        Ok(())
    }

    fn begin(&self, reads: &Reads) -> Result<(Walk, TraceReader), StoreError> {
        let scan = Scan {
            predicate: self.scan.predicate.clone(),
            time: self.scan.time.clone(),
            ..Scan::default()
        };
        let context = || context(&self.scan.reading, self.cancel.clone());
        let walk = Walk::new(&self.sources, &scan, context())?;
        let scan = Scan { columns: reads.columns.clone(), ..Scan::default() };
        let prepared = Prepared::new(&self.sources, Signal::Spans, &scan, context())?;
        Ok((walk, TraceReader::new(&prepared)))
    }

    /// Summaries of whole traces that begin in the time asked for, some at a time.
    fn load(
        &mut self,
        reader: &mut TraceReader,
        step: &[Walked],
        held_bytes: usize,
    ) -> Result<Vec<Summary>, Stop> {
        let mut left = step;
        let mut tries = 0;
        while !left.is_empty() {
            let (rows, taken) = rows_of(reader, left)?;
            let memory = self.memory;
            let base = held_bytes + self.summaries.bytes();
            let mut failed = None;
            let mut go_on = |bytes: usize| {
                memory.try_resize(base + bytes).map_err(|error| {
                    failed = Some(error);
                    StoreError::Cancelled
                })
            };
            let read = reader.read(&rows, &mut go_on);
            if let Some(error) = failed {
                return Err(Stop::Batch(error));
            }
            // Damaged blocks are left out from then on.
            let Some(batches) = read? else {
                tries += 1;
                if tries > DAMAGE_TRIES {
                    let what = "blocks are damaged faster than they can be left out";
                    return Err(Stop::Store(StoreError::Corrupt(what.to_owned())));
                }
                continue;
            };
            for batch in &batches {
                self.summaries.add(batch)?;
            }
            left = &left[taken..];
        }
        self.memory.try_resize(held_bytes + self.summaries.bytes())?;
        let mut traces = self.summaries.take();
        if let Some(time) = &self.scan.time {
            traces.retain(|trace| time.contains(&trace.start));
        }
        Ok(traces)
    }

    /// Hands out those that pass.
    fn hand_out(&mut self, traces: &[&Summary], take: &mut Take<'_>) -> Result<(), Stop> {
        let is_in_time = |trace: &&Summary| match &self.scan.time {
            Some(time) => time.contains(&trace.start),
            None => true,
        };
        let traces: Vec<&Summary> = traces.iter().copied().filter(is_in_time).collect();
        if traces.is_empty() {
            return Ok(());
        }
        let batch = self.batch(&traces)?;
        let batch = tested(batch, &self.scan.tests)?;
        let mut batch = first_columns(batch, &self.scan.schema_out)?;
        if let Some(limit) = self.scan.limit {
            let left = limit.saturating_sub(self.given);
            if left == 0 {
                return Err(Stop::Enough);
            }
            batch = batch.slice(0, batch.num_rows().min(left));
        }
        self.given += batch.num_rows();
        if batch.num_rows() > 0 { take(batch) } else { Ok(()) }
    }

    /// Which of some traces pass.
    fn test(&self, traces: &[Summary]) -> Result<Vec<bool>> {
        if self.scan.tests.is_empty() {
            return Ok(vec![true; traces.len()]);
        }
        let batch = self.batch(&traces.iter().collect::<Vec<_>>())?;
        let mut kept = vec![true; traces.len()];
        for test in &self.scan.tests {
            let result = test.evaluate(&batch)?.into_array(batch.num_rows())?;
            let result = datafusion::common::cast::as_boolean_array(&result)?;
            for (kept, passes) in kept.iter_mut().zip(result.iter()) {
                *kept &= passes == Some(true);
            }
        }
        Ok(kept)
    }

    fn batch(&self, traces: &[&Summary]) -> Result<RecordBatch> {
        rows::batch(traces, &self.summaries.texts, &self.scan.columns, &self.scan.schema_made)
    }

    fn count(&self, stats: &ScanStats) {
        self.scan.state.scanned(&ScanStats::default(), stats);
    }
}

/// Rows of as many of the first traces as are not too large together, and how many these are.
fn rows_of(reader: &mut TraceReader, step: &[Walked]) -> Result<(Vec<RowRef>, usize), StoreError> {
    let mut rows = Vec::new();
    let mut taken = 0;
    for trace in step.iter().take(TRACES_PER_GROUP) {
        rows.extend(reader.rows_of(trace.hash)?);
        taken += 1;
        if rows.len() >= GROUP_MAX_SPANS {
            break;
        }
    }
    // Each page is read once if rows that lie together are.
    rows.sort_unstable_by_key(|row| (row.source, row.row));
    Ok((rows, taken))
}
