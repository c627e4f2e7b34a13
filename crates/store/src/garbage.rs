//! Deleting what nobody reads any more, and what retention gives up.
//!
//! A removed block's file stays for a grace time, because another process that
//! looked before may still read it, and as long as a snapshot of this process may.
//! Files that no log and no node object names are what
//! a crash left behind; they go after the same time, and once nobody can commit
//! them any more, however long he was held up:
//!
//! - a level-0 block, when its node has committed its flush or a later one;
//! - a compacted block, when a generation was committed after it was found: a
//!   compactor that wrote it works from an older state and loses.
//!
//! To find them, all files are listed. That is done after a start, after something
//! has failed, and now and then.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use hashbrown::HashSet;

use crate::block::meta::{BlockMeta, encode_tenant};
use crate::commit::log::{CHECKPOINT_EVERY, Outcome};
use crate::commit::node::NodeObject;
use crate::commit::state::{Delta, LogState};
use crate::error::StoreError;
use crate::limits::ORPHANS_INTERVAL;
use crate::objects::ObjectInfo;
use crate::rounds::Rounds;
use crate::schema::Signal;
use crate::snapshot::level_zero;
use crate::status::Counters;
use crate::store::{Store, lock};

/// How much of a tenant's signal is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retention {
    /// Blocks whose newest row is older are removed.
    pub max_age: Option<std::time::Duration>,
    /// Oldest blocks are removed until the rest has no more bytes.
    pub max_bytes: Option<u64>,
}

/// What was deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Files of removed blocks.
    pub blocks: usize,
    /// Files that nothing names.
    pub orphans: usize,
    /// Old generations of logs.
    pub generations: usize,
}

/// Files of blocks that neither a log nor a node names, and what was known when they were found.
pub(crate) struct Unnamed {
    pub(crate) files: Vec<ObjectInfo>,
    nodes: Vec<NodeObject>,
    state: Arc<LogState>,
}

impl Store {
    /// Deletes files that are needed no more. What is younger than the grace time
    /// stays, and what a snapshot of this process may read, however old. To do so
    /// again with nothing new is cheap.
    pub fn collect_garbage(&self) -> Result<Collected, StoreError> {
        self.writable()?;
        let mut rounds = lock(&self.compacting);
        let (now, before) = (self.now_nanos(), self.grace_began_nanos());
        let looks_for_orphans = self.orphans_due_nanos.load(Ordering::Relaxed) <= now;
        if looks_for_orphans {
            self.orphans_due_nanos.store(self.next_look_nanos(), Ordering::Relaxed);
        }
        let collected = self.collect(&mut rounds, looks_for_orphans, before);
        if looks_for_orphans && collected.is_err() {
            self.orphans_due_nanos.fetch_min(now, Ordering::Relaxed);
        }
        collected
    }

    fn collect(
        &self,
        rounds: &mut Rounds,
        looks_for_orphans: bool,
        before_nanos: i64,
    ) -> Result<Collected, StoreError> {
        let mut collected = Collected::default();
        for tenant in self.tenants()? {
            for signal in Signal::ALL {
                self.check_interrupted()?;
                if looks_for_orphans {
                    collected.orphans += self.delete_orphans(&tenant, signal, before_nanos)?;
                }
                let log = self.current_log(&tenant, signal)?;
                collected.blocks += self.delete_removed(&tenant, signal, &log, before_nanos)?;
                let checkpoint = log.generation / CHECKPOINT_EVERY;
                if !rounds.is_collected(&tenant, signal, checkpoint) {
                    let deleted = self.log(&tenant, signal).collect(before_nanos)?;
                    self.count_deleted(deleted.deleted);
                    collected.generations += deleted.deleted;
                    if deleted.left == 0 {
                        rounds.collected(&tenant, signal, checkpoint);
                    }
                }
            }
        }
        Ok(collected)
    }

    /// How long files stay that nobody needs.
    pub(crate) fn grace_nanos(&self) -> i64 {
        i64::try_from(self.options.grace.as_nanos()).unwrap_or(i64::MAX)
    }

    /// The time that is a grace time ago.
    fn grace_began_nanos(&self) -> i64 {
        self.now_nanos().saturating_sub(self.grace_nanos())
    }

    /// When orphans are looked for next if nothing happens. Other nodes may leave
    /// some at any time.
    fn next_look_nanos(&self) -> i64 {
        let after = if self.is_shared() { self.options.grace } else { ORPHANS_INTERVAL };
        self.now_nanos().saturating_add(i64::try_from(after.as_nanos()).unwrap_or(i64::MAX))
    }

    /// Something has failed, or there are files that nothing names yet: they are
    /// looked for when they have become old enough.
    pub(crate) fn expect_orphans(&self) {
        let due = self.now_nanos().saturating_add(self.grace_nanos());
        self.orphans_due_nanos.fetch_min(due, Ordering::Relaxed);
    }

    /// There are files that nothing names and that somebody waits for to be gone.
    pub(crate) fn look_for_orphans_now(&self) {
        self.orphans_due_nanos.fetch_min(self.now_nanos(), Ordering::Relaxed);
    }

    fn count_deleted(&self, files: usize) {
        Counters::add(&self.counters.files_deleted, files as u64);
    }

    fn delete_removed(
        &self,
        tenant: &str,
        signal: Signal,
        state: &LogState,
        before_nanos: i64,
    ) -> Result<usize, StoreError> {
        let old: Vec<&BlockMeta> = state
            .removed
            .values()
            .filter(|r| r.removed_nanos < before_nanos)
            .map(|r| &r.block)
            .filter(|block| !self.is_pinned(tenant, signal, block))
            .collect();
        if old.is_empty() {
            return Ok(0);
        }
        for block in &old {
            self.objects.delete(&block.path(tenant, signal))?;
            self.count_deleted(1);
        }
        let forgotten = old.iter().map(|b| b.name()).collect();
        let deleted = old.len();
        // If the race is lost, the next round forgets them.
        self.commit_change(tenant, signal, state, Delta { forgotten, ..Delta::default() })?;
        Ok(deleted)
    }

    /// Whether a snapshot of this process may read a block, or somebody has it open (L7).
    ///
    /// In this order: who opens a block for a snapshot has both for a moment.
    fn is_pinned(&self, tenant: &str, signal: Signal, block: &BlockMeta) -> bool {
        if self.pins.holds(tenant, signal, block) {
            return true;
        }
        let path = block.path(tenant, signal);
        self.blocks.forget(&path);
        self.blocks.is_held(&path)
    }

    /// Files of a tenant's signal that nothing names.
    pub(crate) fn unnamed_files(
        &self,
        tenant: &str,
        signal: Signal,
    ) -> Result<Unnamed, StoreError> {
        // Files first: one that is named later than this is younger than the list.
        let prefix = format!("{}/{}", encode_tenant(tenant), signal.name());
        let mut files = self.objects.list(&prefix)?;
        let nodes = NodeObject::all(&*self.objects)?;
        let state = self.read_log(tenant, signal)?;
        let named: HashSet<String> = state
            .blocks
            .values()
            .chain(state.removed.values().map(|r| &r.block))
            .cloned()
            .chain(level_zero(&nodes, &state, tenant, signal))
            .map(|block| block.path(tenant, signal))
            .collect();
        files.retain(|file| level_of(&file.path).is_some() && !named.contains(&file.path));
        Ok(Unnamed { files, nodes, state })
    }

    fn delete_orphans(
        &self,
        tenant: &str,
        signal: Signal,
        before_nanos: i64,
    ) -> Result<usize, StoreError> {
        let Unnamed { files, nodes, state } = self.unnamed_files(tenant, signal)?;
        let orphans: Vec<&str> = files
            .iter()
            .filter(|file| file.modified_nanos < before_nanos)
            .map(|file| file.path.as_str())
            .filter(|path| level_of(path).is_some_and(|(_, flush)| is_past(flush, &nodes, signal)))
            .collect();
        if files.len() > orphans.len() {
            self.expect_orphans();
        }
        let is_compacted = |path: &&str| level_of(path).is_some_and(|(level, _)| level > 0);
        if orphans.iter().any(is_compacted)
            && !self.commit_change(tenant, signal, &state, Delta::default())?
        {
            self.expect_orphans();
            return Ok(0);
        }
        for path in &orphans {
            tracing::info!(%path, "deleting a block that was never committed");
            self.objects.delete(path)?;
            self.count_deleted(1);
        }
        Ok(orphans.len())
    }

    /// Removes the blocks of a tenant's signal that are too old or too many;
    /// returns how many.
    pub fn retain(
        &self,
        tenant: &str,
        signal: Signal,
        retention: Retention,
    ) -> Result<usize, StoreError> {
        self.writable()?;
        let _compacting = lock(&self.compacting);
        self.check_interrupted()?;
        let state = self.current_log(tenant, signal)?;
        let removed = self.beyond(&state, retention);
        if removed.is_empty() {
            return Ok(0);
        }
        let (count, rows) = (removed.len(), removed.iter().map(|block| block.rows).sum());
        let delta = Delta { removed, ..Delta::default() };
        let committed = self.commit_change(tenant, signal, &state, delta)?;
        if !committed {
            return Ok(0);
        }
        self.counters.blocks_expired.add(signal, tenant, count as u64);
        self.counters.rows_expired.add(signal, tenant, rows);
        Ok(count)
    }

    fn beyond(&self, state: &LogState, retention: Retention) -> Vec<BlockMeta> {
        let mut newest_first: Vec<&BlockMeta> = state.blocks.values().collect();
        newest_first.sort_by_key(|b| std::cmp::Reverse((b.max_time_nanos, b.name())));
        let oldest = retention.max_age.map(|age| {
            self.now_nanos().saturating_sub(i64::try_from(age.as_nanos()).unwrap_or(i64::MAX))
        });
        let mut bytes = 0u64;
        newest_first
            .into_iter()
            .filter(|block| {
                let too_old = oldest.is_some_and(|oldest| block.max_time_nanos < oldest);
                if !too_old {
                    bytes += block.size_bytes;
                }
                too_old || retention.max_bytes.is_some_and(|max| bytes > max)
            })
            .cloned()
            .collect()
    }

    /// Deletes what says which rows were deleted: generations of a log whose tombstones have nothing
    /// left to hide. True if none of them is left.
    pub(crate) fn forget_conditions(
        &self,
        tenant: &str,
        signal: Signal,
    ) -> Result<bool, StoreError> {
        let _compacting = lock(&self.compacting);
        let log = self.log(tenant, signal);
        // The last checkpoint but one is what is kept: two new ones, and all before can go.
        for _ in 0..2 {
            self.check_interrupted()?;
            let state = self.read_log(tenant, signal)?;
            if !self.commit_change(tenant, signal, &state, Delta::default())? {
                return Ok(false);
            }
            log.put_checkpoint(&*self.current_log(tenant, signal)?)?;
        }
        let collected = log.collect(i64::MAX)?;
        self.count_deleted(collected.deleted);
        Ok(true)
    }

    /// Commits a small change to a log; false if somebody else was first.
    pub(crate) fn commit_change(
        &self,
        tenant: &str,
        signal: Signal,
        state: &LogState,
        mut delta: Delta,
    ) -> Result<bool, StoreError> {
        delta.token = format!("{}-{:016x}", self.options.node, self.disk.random());
        delta.written_nanos = self.now_nanos();
        let outcome = self.log(tenant, signal).commit(state, delta);
        if let Ok(Outcome::Committed(after)) = outcome {
            self.remember_log(tenant, signal, self.now_nanos(), Arc::new(after));
            return Ok(true);
        }
        // Somebody was first, or the answer is lost: what is known may be old.
        self.forget_log(tenant, signal);
        outcome.map(|_| false)
    }
}

/// The level of a block's file and, for level 0, node and number of its flush.
fn level_of(path: &str) -> Option<(u32, Option<(&str, u64)>)> {
    let (level, node, sequence) = BlockMeta::parse_name(path.rsplit('/').next()?)?;
    Some((level, (level == 0).then_some((node, sequence))))
}

/// Whether a flush is committed or given up. One that is neither may be under
/// way, or be done again after a crash and write a file of the same name.
fn is_past(flush: Option<(&str, u64)>, nodes: &[NodeObject], signal: Signal) -> bool {
    flush.is_none_or(|(node, sequence)| {
        let node = nodes.iter().find(|n| n.node == node);
        node.is_some_and(|n| n.sequence_of(signal) >= sequence)
    })
}
