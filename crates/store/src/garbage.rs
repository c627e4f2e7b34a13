//! Deleting what nobody reads any more, and what retention gives up.
//!
//! A removed block's file stays for a grace time, because a query that began
//! before may still read it. Files that no log and no node object names are what
//! a crash left behind; they go after the same time, and once nobody can commit
//! them any more, however long he was held up:
//!
//! - a level-0 block, when its node has committed its flush or a later one;
//! - a compacted block, when a generation was committed after it was found: a
//!   compactor that wrote it works from an older state and loses.

use hashbrown::HashSet;

use crate::block::meta::{BlockMeta, encode_tenant};
use crate::commit::log::Outcome;
use crate::commit::node::NodeObject;
use crate::commit::state::{Delta, LogState};
use crate::error::StoreError;
use crate::schema::Signal;
use crate::snapshot::level_zero;
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

impl Store {
    /// Deletes files that are needed no more. What is younger than the grace time
    /// stays.
    pub fn collect_garbage(&self) -> Result<Collected, StoreError> {
        let _compacting = lock(&self.compacting);
        let grace = i64::try_from(self.options.grace.as_nanos()).unwrap_or(i64::MAX);
        let before = self.now_nanos().saturating_sub(grace);
        let mut collected = Collected::default();
        for tenant in self.tenants()? {
            for signal in Signal::ALL {
                collected.orphans += self.delete_orphans(&tenant, signal, before)?;
                collected.blocks += self.delete_removed(&tenant, signal, before)?;
                collected.generations += self.log(&tenant, signal).collect(before)?;
            }
        }
        Ok(collected)
    }

    fn delete_removed(
        &self,
        tenant: &str,
        signal: Signal,
        before_nanos: i64,
    ) -> Result<usize, StoreError> {
        let state = self.read_log(tenant, signal)?;
        let old: Vec<&BlockMeta> = state
            .removed
            .values()
            .filter(|r| r.removed_nanos < before_nanos)
            .map(|r| &r.block)
            .collect();
        if old.is_empty() {
            return Ok(0);
        }
        for block in &old {
            self.delete_block(tenant, signal, block)?;
        }
        let forgotten = old.iter().map(|b| b.name()).collect();
        let deleted = old.len();
        // If the race is lost, the next round forgets them.
        self.commit_change(tenant, signal, &state, Delta { forgotten, ..Delta::default() })?;
        Ok(deleted)
    }

    fn delete_block(
        &self,
        tenant: &str,
        signal: Signal,
        block: &BlockMeta,
    ) -> Result<(), StoreError> {
        let path = block.path(tenant, signal);
        self.blocks.forget(&path);
        Ok(self.objects.delete(&path)?)
    }

    fn delete_orphans(
        &self,
        tenant: &str,
        signal: Signal,
        before_nanos: i64,
    ) -> Result<usize, StoreError> {
        // Files first: one that is named later than this is younger than the list.
        let prefix = format!("{}/{}", encode_tenant(tenant), signal.name());
        let files = self.objects.list(&prefix)?;
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
        let orphans: Vec<&str> = files
            .iter()
            .filter(|file| file.modified_nanos < before_nanos && !named.contains(&file.path))
            .map(|file| file.path.as_str())
            .filter(|path| level_of(path).is_some_and(|(_, flush)| is_past(flush, &nodes, signal)))
            .collect();
        let is_compacted = |path: &&str| level_of(path).is_some_and(|(level, _)| level > 0);
        if orphans.iter().any(is_compacted)
            && !self.commit_change(tenant, signal, &state, Delta::default())?
        {
            return Ok(0);
        }
        for path in &orphans {
            tracing::info!(%path, "deleting a block that was never committed");
            self.objects.delete(path)?;
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
        let _compacting = lock(&self.compacting);
        let state = self.read_log(tenant, signal)?;
        let removed = self.beyond(&state, retention);
        if removed.is_empty() {
            return Ok(0);
        }
        let count = removed.len();
        let delta = Delta { removed, ..Delta::default() };
        let committed = self.commit_change(tenant, signal, &state, delta)?;
        Ok(if committed { count } else { 0 })
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
        match self.log(tenant, signal).commit(state, delta)? {
            Outcome::Committed(after) => {
                self.remember_log(tenant, signal, self.now_nanos(), std::sync::Arc::new(after));
                Ok(true)
            }
            Outcome::Lost => Ok(false),
        }
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
        node.is_some_and(|n| n.signal(signal).sequence >= sequence)
    })
}
