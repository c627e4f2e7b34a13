//! Compaction: joins small blocks into final ones, brings traces together, drops
//! exact duplicates, divides late data by day, and takes level-0 blocks over into
//! the log.
//!
//! A block that is large enough stays as it was flushed: its rows are written
//! once. It is rewritten only if it shares many traces with a neighbour. A
//! compactor works from a state of the log and commits against it; if somebody
//! else was first, its work is thrown away and done again from the new state.
//!
//! Rounds that find nothing to do are remembered and cost nothing until something
//! changes. [`Store::interrupt`] ends a compaction after the block at hand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hashbrown::HashSet;

use crate::block::meta::{BlockMeta, LATE_DAY};
use crate::block::read::Block;
use crate::block::source::{RowRef, Source};
use crate::block::trace_index;
use crate::block::write::{self, BlockInput};
use crate::commit::log::Outcome;
use crate::commit::node::NodeObject;
use crate::commit::state::{Absorbed, Delta, LogState, Tombstone};
use crate::deletion::Rewritten;
use crate::error::StoreError;
use crate::flush::block_meta;
use crate::limits::DELETION_BLOCKS_AT_ONCE;
use crate::schema::Signal;
use crate::snapshot::level_zero;
use crate::store::{Store, lock};
use crate::tables::{duplicates, order};

/// Level of blocks that compaction writes.
const COMPACTED: u32 = 1;
/// Small blocks of like size that make joining them worth it.
const TIER_BLOCKS: usize = 4;
/// Large blocks are joined if one trace in so many is in both.
const SHARED_TRACES_MIN_SHARE: usize = 50;
/// Times that a lost race is run again before another round is awaited.
const TRIES: usize = 8;

/// How eagerly small blocks are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Enough blocks of like size must be there, so that a row is rewritten few
    /// times however slowly data comes.
    Tiered,
    /// All small blocks of a day: for a store that has become idle.
    Everything,
    /// Nothing is joined: only blocks that hold deleted rows are written again.
    Deletions,
    /// Nothing is written: level-0 blocks are taken over into the log.
    Adopt,
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Blocks that were joined.
    pub inputs: usize,
    /// Blocks that were written.
    pub outputs: usize,
    /// Level-0 blocks that became part of the log as they are.
    pub adopted: usize,
    /// Races lost to another compactor.
    pub lost: usize,
}

impl Compacted {
    fn add(&mut self, other: Self) {
        self.inputs += other.inputs;
        self.outputs += other.outputs;
        self.adopted += other.adopted;
        self.lost += other.lost;
    }
}

impl Store {
    /// Compacts every tenant and signal. To do so again with nothing new is cheap.
    pub fn compact(&self, effort: Effort) -> Result<Compacted, StoreError> {
        let mut total = Compacted::default();
        for tenant in self.tenants()? {
            for signal in Signal::ALL {
                total.add(self.compact_log(&tenant, signal, effort)?);
            }
        }
        Ok(total)
    }

    /// Compacts one tenant's signal until there is nothing to do.
    pub fn compact_log(
        &self,
        tenant: &str,
        signal: Signal,
        effort: Effort,
    ) -> Result<Compacted, StoreError> {
        self.writable()?;
        let mut rounds = lock(&self.compacting);
        self.check_interrupted()?;
        if self.is_settled(&rounds, tenant, signal, effort) {
            return Ok(Compacted::default());
        }
        let mut damaged = BTreeSet::new();
        let mut total = Compacted::default();
        for _ in 0..TRIES {
            let round = Round { store: self, tenant, signal, effort };
            let known_damaged = damaged.len();
            let result = round.run(&mut damaged);
            if !matches!(result, Ok(Some(Compacted { lost: 0, .. }) | None)) {
                // What was written may lie around, and what is known may be old.
                self.expect_orphans();
                self.forget_log(tenant, signal);
            }
            let done = result?.unwrap_or_default();
            total.add(done);
            // A group with a block that cannot be read is joined without it, by
            // the next round.
            if done == Compacted::default() && damaged.len() == known_damaged {
                self.note_settled(&mut rounds, tenant, signal, effort);
                break;
            }
        }
        Ok(total)
    }
}

/// What a group became.
struct Joined {
    blocks: Vec<BlockMeta>,
    /// Rows that were left out because they are there already.
    duplicates: u64,
    /// Rows that were left out because they are deleted.
    erased: u64,
}

/// One attempt: plan, write, commit.
struct Round<'a> {
    store: &'a Store,
    tenant: &'a str,
    signal: Signal,
    effort: Effort,
}

impl Round<'_> {
    /// `None` if there was nothing to do.
    fn run(&self, damaged: &mut BTreeSet<String>) -> Result<Option<Compacted>, StoreError> {
        // Nodes before the log, as in a snapshot.
        let nodes = NodeObject::all(&*self.store.objects)?;
        let log = self.store.log(self.tenant, self.signal);
        let state = self.store.current_log(self.tenant, self.signal)?;
        let fresh = level_zero(&nodes, &state, self.tenant, self.signal);
        let groups = self.plan(&state, &fresh, damaged);
        if fresh.is_empty() && groups.is_empty() {
            return Ok(None);
        }
        let mut delta = self.delta(&nodes, &state, !fresh.is_empty());
        let mut outputs = Vec::new();
        let mut duplicates = 0;
        let mut rewritten = Vec::new();
        for group in &groups {
            match self.join(group, &state) {
                Ok(mut joined) => {
                    delta.removed.extend(group.iter().cloned());
                    rewritten.extend(erasure(group, &joined, &state));
                    outputs.append(&mut joined.blocks);
                    duplicates += joined.duplicates;
                }
                Err(error) if is_unreadable(&error) => {
                    // Nothing is dropped because it cannot be read: it stays as
                    // it is, and the rest is joined without it. (If a file is gone
                    // because another compactor was faster, the commit is lost.)
                    self.find_damaged(group, damaged);
                    tracing::warn!(%error, "blocks are not joined");
                }
                Err(error) => {
                    self.discard(&outputs);
                    return Err(error);
                }
            }
        }
        let replaced: HashSet<String> = delta.removed.iter().map(BlockMeta::name).collect();
        let adopted: Vec<BlockMeta> =
            fresh.iter().filter(|b| !replaced.contains(&b.name())).cloned().collect();
        let mut done = Compacted {
            inputs: delta.removed.len(),
            outputs: outputs.len(),
            adopted: adopted.len(),
            lost: 0,
        };
        if fresh.is_empty() && delta.removed.is_empty() {
            return Ok(None);
        }
        delta.added = adopted.into_iter().chain(outputs.iter().cloned()).collect();
        // The grace time of what is removed begins now, not before the work.
        delta.written_nanos = self.store.now_nanos();
        match log.commit(&state, delta) {
            Ok(Outcome::Committed(after)) => {
                let counters = &self.store.counters;
                for (counter, amount) in [
                    (&counters.compactions, 1),
                    (&counters.blocks_joined, done.inputs as u64),
                    (&counters.blocks_compacted, done.outputs as u64),
                    (&counters.duplicates_dropped, duplicates),
                ] {
                    counter.add(self.signal, self.tenant, amount);
                }
                for (tombstones, done) in &rewritten {
                    counters.rows_erased.add(self.signal, self.tenant, done.rows);
                    lock(&self.store.deletions).rewritten(tombstones, *done);
                }
                self.committed(after);
            }
            Ok(Outcome::Lost) => {
                self.discard(&outputs);
                done = Compacted { lost: 1, ..Compacted::default() };
            }
            // The outcome is unknown: outputs may be visible and must stay. If
            // they are not, they are found as orphans later.
            Err(error) => return Err(error),
        }
        Ok(Some(done))
    }

    fn delta(&self, nodes: &[NodeObject], state: &LogState, absorb: bool) -> Delta {
        let absorbed = nodes
            .iter()
            .map(|n| Absorbed { node: n.node.clone(), sequence: n.sequence_of(self.signal) })
            .filter(|a| absorb && a.sequence > state.absorbed_of(&a.node))
            .collect();
        Delta {
            token: format!("{}-{:016x}", self.store.options.node, self.store.disk.random()),
            absorbed,
            ..Delta::default()
        }
    }

    fn committed(&self, after: LogState) {
        let (store, after) = (self.store, Arc::new(after));
        store.remember_log(self.tenant, self.signal, store.now_nanos(), after.clone());
        store.drop_absorbed(self.tenant, self.signal, &after);
    }

    /// Deletes blocks that were written in vain. Failing to is harmless.
    fn discard(&self, outputs: &[BlockMeta]) {
        for block in outputs {
            let path = block.path(self.tenant, self.signal);
            if let Err(error) = self.store.objects.delete(&path) {
                self.store.expect_orphans();
                tracing::warn!(%path, %error, "cannot delete a block that is not needed");
            }
        }
    }

    /// Groups of blocks to join.
    fn plan(
        &self,
        state: &LogState,
        fresh: &[BlockMeta],
        damaged: &BTreeSet<String>,
    ) -> Vec<Vec<BlockMeta>> {
        if self.effort == Effort::Adopt {
            return Vec::new();
        }
        let joins = self.effort != Effort::Deletions;
        let options = &self.store.options;
        let hit: HashSet<&String> = state.tombstones.values().flat_map(|t| &t.blocks).collect();
        let mut days: BTreeMap<i64, Vec<BlockMeta>> = BTreeMap::new();
        let mut groups = Vec::new();
        let mut deleted_from = 0;
        let mut large: Vec<&BlockMeta> = Vec::new();
        for block in state.blocks.values().chain(fresh) {
            let name = block.name();
            if damaged.contains(&name) {
                continue;
            }
            if hit.contains(&name) {
                // The others in the next round: what is done is committed before.
                deleted_from += 1;
                if deleted_from <= DELETION_BLOCKS_AT_ONCE {
                    groups.push(vec![block.clone()]);
                }
            } else if !joins {
                continue;
            } else if block.day == LATE_DAY {
                groups.push(vec![block.clone()]);
            } else if block.rows < options.final_rows && block.size_bytes < options.final_bytes {
                days.entry(block.day).or_default().push(block.clone());
            } else if block.level == 0 && fresh.contains(block) {
                large.push(block);
            }
        }
        for small in days.into_values() {
            groups.extend(self.group_small(small));
        }
        if self.signal == Signal::Spans && joins {
            groups.extend(self.group_shared(&large));
        }
        groups
    }

    fn group_small(&self, mut small: Vec<BlockMeta>) -> Vec<Vec<BlockMeta>> {
        let least = match self.effort {
            Effort::Everything => 2,
            _ => TIER_BLOCKS,
        };
        let tier = |b: &BlockMeta| match self.effort {
            Effort::Everything => 0,
            _ => b.rows.max(1).ilog(TIER_BLOCKS as u64),
        };
        small.sort_by_key(|b| (tier(b), b.min_time_nanos));
        let mut groups: Vec<Vec<BlockMeta>> = Vec::new();
        let options = &self.store.options;
        let (mut rows, mut bytes) = (0, 0);
        for block in small {
            let joins = groups.last().and_then(|g| g.first()).is_some_and(|first| {
                tier(first) == tier(&block)
                    && rows + block.rows <= options.max_block_rows
                    && bytes + block.plain_bytes <= options.max_joined_bytes
            });
            if joins {
                rows += block.rows;
                bytes += block.plain_bytes;
                if let Some(group) = groups.last_mut() {
                    group.push(block);
                }
            } else {
                (rows, bytes) = (block.rows, block.plain_bytes);
                groups.push(vec![block]);
            }
        }
        groups.retain(|group| group.len() >= least);
        groups
    }

    /// Neighbours among new large blocks that share many traces.
    fn group_shared(&self, large: &[&BlockMeta]) -> Vec<Vec<BlockMeta>> {
        let mut sorted: Vec<&BlockMeta> = large.to_vec();
        sorted.sort_by_key(|b| (b.day, b.min_time_nanos));
        let options = &self.store.options;
        let mut groups = Vec::new();
        let mut at = 0;
        while at + 1 < sorted.len() {
            let (a, b) = (sorted[at], sorted[at + 1]);
            let fits = a.day == b.day
                && a.rows + b.rows <= options.max_block_rows * 2
                && a.plain_bytes + b.plain_bytes <= options.max_joined_bytes;
            if fits && self.share_traces(a, b).unwrap_or(false) {
                groups.push(vec![a.clone(), b.clone()]);
                at += 2;
            } else {
                at += 1;
            }
        }
        groups
    }

    fn share_traces(&self, a: &BlockMeta, b: &BlockMeta) -> Result<bool, StoreError> {
        let (a, b) = (self.open(a)?.trace_index()?, self.open(b)?.trace_index()?);
        let hashes: HashSet<u64> = trace_index::iter(&a).map(|e| e.0).collect();
        let others = b.len() / trace_index::ENTRY_BYTES;
        let shared = trace_index::iter(&b).filter(|e| hashes.contains(&e.0)).count();
        Ok(shared * SHARED_TRACES_MIN_SHARE > hashes.len().min(others))
    }

    fn open(&self, block: &BlockMeta) -> Result<Arc<Block>, StoreError> {
        self.store.blocks.open(&block.path(self.tenant, self.signal), block, "")
    }

    /// Writes the rows of a group to new blocks.
    fn join(&self, group: &[BlockMeta], state: &LogState) -> Result<Joined, StoreError> {
        let store = self.store;
        let mut sources = Vec::new();
        for block in group {
            sources.push(Source::Block(self.open(block)?));
        }
        let hidden = store.hidden(&sources, group, state)?;
        let dropped: HashSet<RowRef> = match self.signal {
            Signal::Spans => duplicates::find(&sources)?,
            _ => HashSet::new(),
        };
        let keep = |row: RowRef| {
            !dropped.contains(&row)
                && hidden[row.source as usize].as_ref().is_none_or(|h| !h[row.row as usize])
        };
        let mut written = Vec::new();
        let sequence = store.disk.random() >> 1;
        for partition in order::order(self.signal, &sources, keep)? {
            let result = store
                .check_interrupted()
                .and_then(|()| self.write_partition(&sources, partition, sequence, &mut written));
            if let Err(error) = result {
                self.discard(&written);
                return Err(error);
            }
        }
        let erased =
            hidden.iter().flatten().flat_map(|rows| rows.iter()).filter(|row| **row).count();
        Ok(Joined { blocks: written, duplicates: dropped.len() as u64, erased: erased as u64 })
    }

    fn write_partition(
        &self,
        sources: &[Source],
        partition: order::Partition,
        sequence: u64,
        written: &mut Vec<BlockMeta>,
    ) -> Result<(), StoreError> {
        let store = self.store;
        let joined;
        let rows;
        let (sources, order) = if self.signal == Signal::Series {
            let chunk = crate::series::merge::merge(sources, &partition.rows)?;
            rows = (0..chunk.rows as u32).map(|row| RowRef { source: 0, row }).collect();
            joined = [Source::Chunk(Arc::new(chunk))];
            (&joined[..], &rows)
        } else {
            (sources, &partition.rows)
        };
        let output = write::write(&BlockInput {
            table: self.signal.table(),
            sources,
            order,
            journal: 0..0,
            zstd_level: store.options.zstd_level,
        })?;
        let part = written.len() as u32;
        let node = &store.options.node;
        let block = block_meta(&output, partition.day, COMPACTED, node, sequence, part);
        store.objects.put(&block.path(self.tenant, self.signal), output.bytes)?;
        written.push(block);
        Ok(())
    }

    /// Remembers which blocks of a group cannot be read, to leave them alone.
    fn find_damaged(&self, group: &[BlockMeta], damaged: &mut BTreeSet<String>) {
        for block in group {
            let readable = self.open(block).and_then(|b| crate::check::read_all(&b));
            if let Err(error) = readable {
                self.store.warn_damaged(&block.path(self.tenant, self.signal), &error);
                damaged.insert(block.name());
            }
        }
        // If all can be read alone, they still cannot be joined now.
        if !group.iter().any(|b| damaged.contains(&b.name())) {
            damaged.extend(group.iter().map(BlockMeta::name));
        }
    }
}

/// What joining a group did for deletions: whose tombstones named it, and how much less it is.
fn erasure(
    group: &[BlockMeta],
    joined: &Joined,
    state: &LogState,
) -> Option<(Vec<String>, Rewritten)> {
    let names: Vec<String> = group.iter().map(BlockMeta::name).collect();
    let is_named = |t: &&Tombstone| t.blocks.iter().any(|block| names.contains(block));
    let tombstones: Vec<String> =
        state.tombstones.values().filter(is_named).map(|t| t.id.clone()).collect();
    let bytes = |blocks: &[BlockMeta]| -> u64 { blocks.iter().map(|block| block.size_bytes).sum() };
    let done = Rewritten {
        blocks: group.len() as u64,
        rows: joined.erased,
        bytes_before: bytes(group),
        bytes_after: bytes(&joined.blocks),
    };
    (!tombstones.is_empty()).then_some((tombstones, done))
}

/// Whether a block is damaged or gone, as opposed to out of reach for now.
pub(crate) fn is_unreadable(error: &StoreError) -> bool {
    match error {
        StoreError::Corrupt(_) => true,
        StoreError::Objects(error) => error.is_not_found(),
        _ => false,
    }
}
