//! Flushing: heads to level-0 blocks, committed by the node object.
//!
//! Freeze, write, commit, thaw. Until the commit the rows are visible in memory,
//! after it in blocks, and the switch is under the store's lock: a snapshot sees
//! each row once. Blocks that were written but not committed are invisible,
//! because no node object names them.

use std::sync::Arc;

use crate::block::meta::{BlockMeta, LATE_DAY};
use crate::block::read::TailCheck;
use crate::block::source::Source;
use crate::block::write::{self, BlockInput, BlockOutput};
use crate::chunk::Chunk;
use crate::commit::node::{NodeObject, TenantBlock};
use crate::error::StoreError;
use crate::limits::FLUSH_MAX_PARTITIONS;
use crate::schema::Signal;
use crate::store::{Counters, State, Store, lock};
use crate::tables::order::{self, Partition};

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
    /// Writes the heads of a signal to blocks.
    pub(crate) fn flush_signal(&self, signal: Signal) -> Result<(), StoreError> {
        let _flushing = lock(&self.flushing);
        self.finish_pending()?;
        let (frozen, before, position) = {
            let mut state = lock(&self.state);
            let mut frozen: Vec<(String, Vec<Arc<Chunk>>)> = Vec::new();
            for ((tenant, _), head) in state.heads.iter_mut().filter(|((_, s), _)| *s == signal) {
                let chunks = head.freeze()?;
                if !chunks.is_empty() {
                    frozen.push((tenant.clone(), chunks));
                }
            }
            (frozen, pass_idle(&state, signal), state.applied)
        };
        if frozen.is_empty() && before.signal(signal).position >= position {
            return Ok(());
        }
        let result = self.write_frozen(signal, &frozen, &before, position);
        match result {
            Ok(after) => self.commit_flush(signal, after),
            Err(error) => {
                let now = self.now_nanos();
                for head in lock(&self.state).heads.values_mut() {
                    head.thaw_failed(now);
                }
                Err(error)
            }
        }
    }

    /// Writes the blocks; returns the node object that commits them.
    fn write_frozen(
        &self,
        signal: Signal,
        frozen: &[(String, Vec<Arc<Chunk>>)],
        before: &NodeObject,
        position: u64,
    ) -> Result<NodeObject, StoreError> {
        let mut after = before.clone();
        let mut signal_state = after.signal(signal);
        let journal = signal_state.position..position;
        signal_state.sequence += 1;
        signal_state.position = position;
        for (tenant, chunks) in frozen {
            let sources: Vec<Source> = chunks.iter().cloned().map(Source::Chunk).collect();
            let partitions = order::order(signal, &sources, |_| true)?;
            for (part, partition) in bounded(partitions).into_iter().enumerate() {
                let output = write::write(&BlockInput {
                    table: signal.table(),
                    sources: &sources,
                    order: &partition.rows,
                    journal: journal.clone(),
                    zstd_level: self.options.zstd_level,
                })?;
                let node = &self.options.node;
                let sequence = signal_state.sequence;
                let block = block_meta(&output, partition.day, 0, node, sequence, part as u32);
                self.objects.put(&block.path(tenant, signal), output.bytes)?;
                signal_state.blocks.push(TenantBlock { tenant: tenant.clone(), block });
            }
        }
        after.set_signal(signal_state);
        after.written_nanos = self.now_nanos();
        Ok(after)
    }

    fn commit_flush(&self, signal: Signal, after: NodeObject) -> Result<(), StoreError> {
        lock(&self.state).pending = Some((signal, after));
        self.finish_pending()
    }

    /// Writes a node object that is not surely written yet. Called with
    /// `flushing` held.
    pub(crate) fn finish_pending(&self) -> Result<(), StoreError> {
        let Some((signal, after)) = lock(&self.state).pending.clone() else { return Ok(()) };
        after.put(&*self.objects)?;
        self.settle_pending(signal, after.signal(signal).sequence);
        self.advance_journal()
    }

    /// Takes a pending node object for written, up to a flush that surely is:
    /// its put was answered, or a log has taken the flush over.
    pub(crate) fn settle_pending(&self, signal: Signal, sequence: u64) {
        let mut state = lock(&self.state);
        let written = state.pending.take_if(|(pending, after)| {
            *pending == signal && after.signal(signal).sequence <= sequence
        });
        let Some((_, after)) = written else { return };
        state.node = after;
        for ((_, head_signal), head) in &mut state.heads {
            if *head_signal == signal {
                head.thaw_committed();
            }
        }
        state.heads.retain(|_, head| !head.is_empty());
        drop(state);
        Counters::add(&self.counters.flushes, 1);
    }
}

/// The node object with the positions of other signals that have nothing in
/// memory moved on, so that they do not keep the journal.
fn pass_idle(state: &State, flushed: Signal) -> NodeObject {
    let mut node = state.node.clone();
    for signal in Signal::ALL {
        let busy = state.heads.iter().any(|((_, s), head)| *s == signal && !head.is_empty());
        if signal != flushed && !busy {
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
