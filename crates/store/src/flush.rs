//! Flushing: heads to level-0 blocks, committed by the node object.
//!
//! Freeze, write, commit, thaw. Only freezing and the last moment of the commit
//! hold the store's lock, so rows come and queries are answered meanwhile. Until
//! the commit the rows are visible in memory, after it in blocks, and the switch
//! is under the store's lock: a snapshot sees each row once. Blocks that were
//! written but not committed are invisible, because no node object names them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::block::meta::{BlockMeta, LATE_DAY};
use crate::block::read::TailCheck;
use crate::block::source::Source;
use crate::block::write::{self, BlockInput, BlockOutput};
use crate::commit::node::{NodeObject, TenantBlock};
use crate::error::StoreError;
use crate::gate::Inside;
use crate::head::Batch;
use crate::limits::{FLUSH_MAX_PARTITIONS, FLUSH_RETRY_AFTER};
use crate::schema::Signal;
use crate::status::Counters;
use crate::store::{State, Store, lock};
use crate::tables::order::{self, Partition};

/// A flush whose blocks are written, and whose commit may have happened.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    signal: Signal,
    /// What commits it.
    node: Arc<NodeObject>,
    /// Rows and bytes by tenant.
    written: BTreeMap<String, (u64, u64)>,
}

/// What a flush takes.
struct Frozen {
    batches: Vec<(String, Vec<Arc<Batch>>)>,
    before: NodeObject,
    /// All of the journal before this is in `batches`, or was in blocks.
    position: u64,
}

/// Names a block and remembers what tells noise from it.
pub(crate) fn block_meta(
    output: &BlockOutput,
    day: i64,
    level: u32,
    node: &str,
    sequence: u64,
    part: u32,
) -> BlockMeta {
    let tail = TailCheck::of(&output.bytes);
    BlockMeta {
        day,
        min_time_nanos: output.min_time_nanos,
        max_time_nanos: output.max_time_nanos,
        level,
        node: node.to_owned(),
        sequence,
        part,
        rows: output.rows,
        size_bytes: output.bytes.len() as u64,
        tail_crc: tail.crc,
        tail_bytes: tail.bytes,
        plain_bytes: output.plain_bytes,
    }
}

impl Store {
    /// Takes everything acknowledged into heads and writes all heads to blocks.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.writable()?;
        if self.detached.load(Ordering::Acquire) {
            return Ok(());
        }
        let end = self.journal.end();
        loop {
            let is_complete = self.apply_all(end)?;
            let flushing = self.flushing.enter();
            for signal in Signal::ALL {
                self.flush_signal(&flushing, signal)?;
            }
            if is_complete {
                return Ok(());
            }
        }
    }

    /// Flushes the signals that hold as much as they may, or something as old as it
    /// may get, or too much of the journal. For a while after a flush that failed
    /// it does nothing.
    pub fn flush_due(&self) -> Result<(), StoreError> {
        self.writable()?;
        let flushing = self.flushing.enter();
        if self.is_flush_delayed() { Ok(()) } else { self.flush_due_now(&flushing) }
    }

    pub(crate) fn flush_due_now(&self, flushing: &Inside<'_>) -> Result<(), StoreError> {
        // A flush whose answer was lost is due at once: no row counts it.
        self.finish_pending(flushing)?;
        let is_due = |signal| self.due(&lock(&self.state))[signal as usize];
        for signal in Signal::ALL {
            if is_due(signal) {
                self.flush_signal(flushing, signal)?;
            }
        }
        Ok(())
    }

    /// Whether some flush is due, were it not for one that failed.
    pub(crate) fn is_flush_due(&self) -> bool {
        let state = lock(&self.state);
        state.pending.is_some() || self.due(&state).contains(&true)
    }

    /// Whether a flush has failed so recently that the next one would fail too.
    pub(crate) fn is_flush_delayed(&self) -> bool {
        let failed = lock(&self.state).flush_failed_nanos;
        let delay = FLUSH_RETRY_AFTER.as_nanos() as i64;
        failed.is_some_and(|failed| self.now_nanos().saturating_sub(failed) < delay)
    }

    /// Which signals are due.
    fn due(&self, state: &State) -> [bool; Signal::ALL.len()] {
        if self.detached.load(Ordering::Acquire) {
            return [false; Signal::ALL.len()];
        }
        let now = self.now_nanos();
        let keep_from = state.applied.saturating_sub(self.options.lag_bytes / 2);
        Signal::ALL.map(|signal| {
            let after = match signal {
                Signal::Series => self.options.flush_series_after,
                _ => self.options.flush_after,
            };
            let after = i64::try_from(after.as_nanos()).unwrap_or(i64::MAX);
            let (held, most) = (state.heads.held(signal), self.flush_size(signal));
            held.open.rows >= most.rows
                || held.open.bytes >= most.bytes
                || held.open_since_nanos.is_some_and(|since| now.saturating_sub(since) >= after)
                || state.node.position_of(signal) < keep_from
        })
    }

    /// Writes the heads of a signal to blocks.
    fn flush_signal(&self, flushing: &Inside<'_>, signal: Signal) -> Result<(), StoreError> {
        self.finish_pending(flushing)?;
        let frozen = self.freeze(signal);
        if frozen.batches.is_empty() && frozen.before.position_of(signal) >= frozen.position {
            lock(&self.state).heads.thaw_committed(signal);
            return Ok(());
        }
        match self.write_frozen(signal, &frozen) {
            Ok(pending) => {
                lock(&self.state).pending = Some(pending);
                self.finish_pending(flushing)
            }
            Err(error) => {
                lock(&self.state).heads.thaw_failed(signal);
                self.flush_failed(&error);
                Err(error)
            }
        }
    }

    fn freeze(&self, signal: Signal) -> Frozen {
        // A record whose rows are in is counted as applied before another looks.
        let _applying = lock(&self.applying);
        let mut state = lock(&self.state);
        let batches = state.heads.freeze(signal);
        Frozen { batches, before: pass_idle(&state, signal), position: state.applied }
    }

    /// Writes the blocks; returns what commits them.
    fn write_frozen(&self, signal: Signal, frozen: &Frozen) -> Result<Pending, StoreError> {
        let mut node = frozen.before.clone();
        let mut signal_state = node.signal(signal);
        let journal = signal_state.position..frozen.position;
        signal_state.sequence += 1;
        signal_state.position = frozen.position;
        let mut written: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for (tenant, batches) in &frozen.batches {
            let mut sources = Vec::new();
            for batch in batches {
                sources.extend(batch.finish()?.into_iter().map(Source::Chunk));
            }
            let partitions = order::order(signal, &sources, |_| true)?;
            for (part, partition) in bounded(partitions).into_iter().enumerate() {
                let output = write::write(&BlockInput {
                    table: signal.table(),
                    sources: &sources,
                    order: &partition.rows,
                    journal: journal.clone(),
                    zstd_level: self.options.zstd_level,
                })?;
                let name = &self.options.node;
                let sequence = signal_state.sequence;
                let block = block_meta(&output, partition.day, 0, name, sequence, part as u32);
                self.objects.put(&block.path(tenant, signal), output.bytes)?;
                let (rows, bytes) = written.entry(tenant.clone()).or_default();
                *rows += block.rows;
                *bytes += block.size_bytes;
                signal_state.blocks.push(TenantBlock { tenant: tenant.clone(), block });
            }
        }
        node.set_signal(signal_state);
        node.written_nanos = self.now_nanos();
        Ok(Pending { signal, node: Arc::new(node), written })
    }

    /// Writes a node object that is not surely written yet.
    fn finish_pending(&self, _flushing: &Inside<'_>) -> Result<(), StoreError> {
        let Some(Pending { signal, node, .. }) = lock(&self.state).pending.clone() else {
            return Ok(());
        };
        if let Err(error) = node.put(&*self.objects) {
            self.flush_failed(&error);
            return Err(error);
        }
        self.settle_pending(signal, node.sequence_of(signal));
        self.advance_journal()
    }

    /// Takes a pending node object for written, up to a flush that surely is:
    /// its put was answered, or a log has taken the flush over.
    pub(crate) fn settle_pending(&self, signal: Signal, sequence: u64) {
        let mut state = lock(&self.state);
        let written = state.pending.take_if(|pending| {
            pending.signal == signal && pending.node.sequence_of(signal) <= sequence
        });
        let Some(Pending { node, written, .. }) = written else { return };
        state.node = node;
        state.flush_failed_nanos = None;
        let flushed = state.heads.thaw_committed(signal);
        drop(state);
        drop(flushed);
        for (tenant, (rows, bytes)) in written {
            self.counters.flushes.add(signal, &tenant, 1);
            self.counters.flushed_rows.add(signal, &tenant, rows);
            self.counters.flushed_bytes.add(signal, &tenant, bytes);
        }
    }

    fn flush_failed(&self, error: &StoreError) {
        tracing::warn!(%error, "a flush failed; what it held stays in memory");
        Counters::add(&self.counters.flushes_failed, 1);
        lock(&self.state).flush_failed_nanos = Some(self.now_nanos());
        self.expect_orphans();
    }
}

/// The node object with the positions of other signals that have nothing in
/// memory moved on, so that they do not keep the journal.
fn pass_idle(state: &State, flushed: Signal) -> NodeObject {
    let mut node = NodeObject::clone(&state.node);
    for signal in Signal::ALL {
        let is_idle = state.heads.held(signal).total().rows == 0;
        if signal != flushed && is_idle {
            let mut idle = node.signal(signal);
            idle.position = idle.position.max(state.applied);
            node.set_signal(idle);
        }
    }
    node
}

/// At most so many partitions: those with most rows by day, the rest as one
/// that compaction divides.
fn bounded(mut partitions: Vec<Partition>) -> Vec<Partition> {
    if partitions.len() <= FLUSH_MAX_PARTITIONS {
        return partitions;
    }
    partitions.sort_by_key(|p| std::cmp::Reverse(p.rows.len()));
    let late = partitions.split_off(FLUSH_MAX_PARTITIONS - 1);
    let mut rows: Vec<_> = late;
    rows.sort_by_key(|p| p.day);
    let rows = rows.into_iter().flat_map(|p| p.rows).collect();
    partitions.push(Partition { day: LATE_DAY, rows });
    partitions
}
