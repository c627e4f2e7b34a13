//! Rows that are deleted but not rewritten yet.

use std::sync::Arc;

use crate::block::meta::BlockMeta;
use crate::block::source::Source;
use crate::commit::state::{Delta, LogState, Tombstone};
use crate::compact::Effort;
use crate::error::StoreError;
use crate::scan::Predicate;
use crate::schema::Signal;
use crate::store::{Store, lock};

impl Store {
    /// Hides the rows that match now, at once and for good. The next compaction
    /// writes their blocks again without them. Returns how many blocks may hold
    /// such rows. Archived traces stay: see [`Store::unarchive`].
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
        let _compacting = lock(&self.compacting);
        for _ in 0..8 {
            self.check_interrupted()?;
            let state = self.read_log(tenant, signal)?;
            let blocks: Vec<String> = state.blocks.keys().cloned().collect();
            if blocks.is_empty() {
                return Ok(0);
            }
            let count = blocks.len();
            let tombstone = Tombstone {
                id: format!("{:016x}", self.disk.random()),
                condition: encode(predicate)?,
                blocks,
                made_nanos: self.now_nanos(),
            };
            let delta = Delta { tombstones: vec![tombstone], ..Delta::default() };
            if self.commit_change(tenant, signal, &state, delta)? {
                return Ok(count);
            }
        }
        Err(StoreError::State("others commit all the time: try the deletion again".into()))
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
        let name = block.name();
        let mut hidden: Option<Vec<bool>> = None;
        for tombstone in state.tombstones.values().filter(|t| t.blocks.contains(&name)) {
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
