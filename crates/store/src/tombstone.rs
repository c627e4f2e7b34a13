//! Rows that are deleted but not rewritten yet.

use std::sync::Arc;

use crate::block::meta::BlockMeta;
use crate::block::source::Source;
use crate::commit::state::{Delta, LogState, Tombstone};
use crate::compact::{Effort, is_unreadable};
use crate::deletion::records_of;
use crate::error::StoreError;
use crate::scan::Predicate;
use crate::schema::Signal;
use crate::store::{Store, lock};

/// Times that a tombstone is tried while others commit.
const TRIES: usize = 8;
/// What is said if that is not enough.
pub(crate) const OTHERS_COMMIT: &str = "others commit all the time: try the deletion again";

/// What a tombstone hides.
#[derive(Debug, Default)]
pub(crate) struct Entombed {
    /// Rows that it hides and no other did.
    pub(crate) rows: u64,
    /// Spans, log records or points in them.
    pub(crate) records: u64,
    /// The blocks that it names.
    pub(crate) blocks: Vec<BlockMeta>,
    /// Names of blocks that were replaced before, and whose files may be there.
    pub(crate) replaced: Vec<String>,
}

impl Store {
    /// Hides the rows that match now, at once and for good. The next compaction
    /// writes their blocks again without them. Returns how many blocks hold such
    /// rows. What else may hold them (the journal, archived traces) stays: see
    /// [`Store::begin_deletion`].
    pub fn delete(
        &self,
        tenant: &str,
        signal: Signal,
        predicate: &Predicate,
    ) -> Result<usize, StoreError> {
        // Everything that is there must be in blocks that the log knows, so that
        // the tombstone can name them and holds for nothing that comes later.
        self.flush()?;
        self.compact_log(tenant, signal, Effort::Tiered)?;
        let id = format!("{:016x}", self.disk.random());
        Ok(self.entomb(tenant, signal, predicate, &id)?.blocks.len())
    }

    /// Commits a tombstone for the blocks of a log that have rows which match; none if there are none.
    /// One of the same id is replaced. Blocks that cannot be read are named as well: nobody knows what
    /// they have.
    pub(crate) fn entomb(
        &self,
        tenant: &str,
        signal: Signal,
        predicate: &Predicate,
        id: &str,
    ) -> Result<Entombed, StoreError> {
        let condition = encode(predicate)?;
        let _compacting = lock(&self.compacting);
        for _ in 0..TRIES {
            self.check_interrupted()?;
            let state = self.read_log(tenant, signal)?;
            let mut entombed = Entombed::default();
            for block in state.blocks.values() {
                self.check_interrupted()?;
                self.look_into(tenant, signal, block, predicate, &state, id, &mut entombed)?;
            }
            entombed.replaced = state.removed.keys().cloned().collect();
            if entombed.blocks.is_empty() {
                return Ok(entombed);
            }
            let tombstone = Tombstone {
                id: id.to_owned(),
                condition: condition.clone(),
                blocks: entombed.blocks.iter().map(BlockMeta::name).collect(),
                made_nanos: self.now_nanos(),
            };
            let delta = Delta { tombstones: vec![tombstone], ..Delta::default() };
            if self.commit_change(tenant, signal, &state, delta)? {
                return Ok(entombed);
            }
        }
        Err(StoreError::State(OTHERS_COMMIT.into()))
    }

    #[allow(clippy::too_many_arguments, reason = "all of them say which rows")]
    fn look_into(
        &self,
        tenant: &str,
        signal: Signal,
        block: &BlockMeta,
        predicate: &Predicate,
        state: &LogState,
        id: &str,
        entombed: &mut Entombed,
    ) -> Result<(), StoreError> {
        let looked = self.blocks.open(&block.path(tenant, signal), block, "").and_then(|open| {
            let source = Source::Block(open);
            let mut rows =
                crate::scan::matching_rows(&source, source.table(), predicate, &self.columns)?;
            // A block that an earlier try has named is named again.
            let is_named = rows.contains(&true);
            if let Some(hidden) = self.hidden_rows_but(&source, block, state, Some(id))? {
                rows.iter_mut().zip(&*hidden).for_each(|(row, hidden)| *row &= !hidden);
            }
            Ok((is_named, rows.iter().filter(|row| **row).count(), records_of(&source, &rows)?))
        });
        match looked {
            Ok((false, ..)) => return Ok(()),
            Ok((true, rows, records)) => {
                entombed.rows += rows as u64;
                entombed.records += records;
            }
            Err(error) if is_unreadable(&error) => {
                self.warn_damaged(&block.path(tenant, signal), &error);
            }
            Err(error) => return Err(error),
        }
        entombed.blocks.push(block.clone());
        Ok(())
    }

    /// For each source, which of its rows tombstones hide.
    pub(crate) fn hidden(
        &self,
        sources: &[Source],
        blocks: &[BlockMeta],
        state: &LogState,
    ) -> Result<Vec<Option<Arc<Vec<bool>>>>, StoreError> {
        sources
            .iter()
            .zip(blocks)
            .map(|(source, block)| self.hidden_rows(source, block, state))
            .collect()
    }

    /// Which rows of a block the tombstones hide; `None` if none.
    pub(crate) fn hidden_rows(
        &self,
        source: &Source,
        block: &BlockMeta,
        state: &LogState,
    ) -> Result<Option<Arc<Vec<bool>>>, StoreError> {
        self.hidden_rows_but(source, block, state, None)
    }

    /// The same without those that only one tombstone hides.
    fn hidden_rows_but(
        &self,
        source: &Source,
        block: &BlockMeta,
        state: &LogState,
        but: Option<&str>,
    ) -> Result<Option<Arc<Vec<bool>>>, StoreError> {
        let name = block.name();
        let mut hidden: Option<Vec<bool>> = None;
        let others = state.tombstones.values().filter(|t| but != Some(t.id.as_str()));
        for tombstone in others.filter(|t| t.blocks.contains(&name)) {
            let predicate = decode(&tombstone.condition)?;
            let matches =
                crate::scan::matching_rows(source, source.table(), &predicate, &self.columns)?;
            match &mut hidden {
                None => hidden = Some(matches),
                Some(hidden) => hidden.iter_mut().zip(matches).for_each(|(h, m)| *h |= m),
            }
        }
        Ok(hidden.map(Arc::new))
    }
}

/// A condition as a tombstone keeps it: JSON, so that it can be read by people.
fn encode(predicate: &Predicate) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(predicate).map_err(|e| StoreError::Query(e.to_string()))
}

fn decode(condition: &[u8]) -> Result<Predicate, StoreError> {
    serde_json::from_slice(condition)
        .map_err(|e| StoreError::corrupt(format!("the condition of a tombstone: {e}")))
}
