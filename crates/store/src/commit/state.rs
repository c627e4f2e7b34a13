//! The state that a log adds up to, and the deltas that change it.

use std::collections::BTreeMap;

use prost::Message;

use crate::block::meta::BlockMeta;
use crate::error::StoreError;

/// How far a log has taken over a node's flushes.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Absorbed {
    /// The node.
    #[prost(string, tag = "1")]
    pub node: String,
    /// Level-0 blocks up to this flush are in the log, or were replaced.
    #[prost(uint64, tag = "2")]
    pub sequence: u64,
}

/// A condition whose rows are hidden in some blocks until these are rewritten.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Tombstone {
    /// Unique in its log.
    #[prost(string, tag = "1")]
    pub id: String,
    /// The condition, encoded by whoever reads it.
    #[prost(bytes = "vec", tag = "2")]
    pub condition: Vec<u8>,
    /// Names of the blocks it holds for.
    #[prost(string, repeated, tag = "3")]
    pub blocks: Vec<String>,
    /// When it was made.
    #[prost(sint64, tag = "4")]
    pub made_nanos: i64,
}

/// A block that is no longer visible, but whose file may still be read.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Removed {
    /// The block.
    #[prost(message, required, tag = "1")]
    pub block: BlockMeta,
    /// When it was removed.
    #[prost(sint64, tag = "2")]
    pub removed_nanos: i64,
}

/// One generation: what changes.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Delta {
    /// Version of the format.
    #[prost(uint32, tag = "1")]
    pub version: u32,
    /// Least version that a reader must know.
    #[prost(uint32, tag = "2")]
    pub least_reader: u32,
    /// Unique: tells a writer whether a generation is its own.
    #[prost(string, tag = "3")]
    pub token: String,
    /// When it was written.
    #[prost(sint64, tag = "4")]
    pub written_nanos: i64,
    /// Flushes taken over.
    #[prost(message, repeated, tag = "5")]
    pub absorbed: Vec<Absorbed>,
    /// Blocks that become visible.
    #[prost(message, repeated, tag = "6")]
    pub added: Vec<BlockMeta>,
    /// Blocks that are no longer visible.
    #[prost(message, repeated, tag = "7")]
    pub removed: Vec<BlockMeta>,
    /// New tombstones.
    #[prost(message, repeated, tag = "8")]
    pub tombstones: Vec<Tombstone>,
    /// Names of removed blocks whose files are gone.
    #[prost(string, repeated, tag = "9")]
    pub forgotten: Vec<String>,
}

/// The state after a generation, as a checkpoint stores it.
#[derive(Clone, PartialEq, Message)]
pub struct Checkpoint {
    /// Version of the format.
    #[prost(uint32, tag = "1")]
    pub version: u32,
    /// Least version that a reader must know.
    #[prost(uint32, tag = "2")]
    pub least_reader: u32,
    /// The generation.
    #[prost(uint64, tag = "3")]
    pub generation: u64,
    /// Flushes taken over.
    #[prost(message, repeated, tag = "4")]
    pub absorbed: Vec<Absorbed>,
    /// Visible blocks.
    #[prost(message, repeated, tag = "5")]
    pub blocks: Vec<BlockMeta>,
    /// Removed blocks whose files may be there.
    #[prost(message, repeated, tag = "6")]
    pub removed: Vec<Removed>,
    /// Tombstones.
    #[prost(message, repeated, tag = "7")]
    pub tombstones: Vec<Tombstone>,
    /// Tokens of the latest generations.
    #[prost(string, repeated, tag = "8")]
    pub tokens: Vec<String>,
}

/// Tokens that a checkpoint keeps: more than can be written between a writer's
/// put and its look at the result.
const TOKENS_KEPT: usize = 256;

/// What a log adds up to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogState {
    /// The last generation; 0 if there is none.
    pub generation: u64,
    /// Flushes taken over, by node.
    pub absorbed: BTreeMap<String, u64>,
    /// Visible blocks by name.
    pub blocks: BTreeMap<String, BlockMeta>,
    /// Removed blocks by name.
    pub removed: BTreeMap<String, Removed>,
    /// Tombstones by id.
    pub tombstones: BTreeMap<String, Tombstone>,
    /// Tokens of the latest generations.
    pub tokens: Vec<String>,
}

impl LogState {
    /// The state after one more generation.
    pub fn apply(&mut self, delta: &Delta) -> Result<(), StoreError> {
        self.generation += 1;
        for absorbed in &delta.absorbed {
            let known = self.absorbed.entry(absorbed.node.clone()).or_default();
            *known = (*known).max(absorbed.sequence);
        }
        for block in &delta.removed {
            let name = block.name();
            // A level-0 block may be taken over and replaced in one generation.
            self.blocks.remove(&name);
            let removed = Removed { block: block.clone(), removed_nanos: delta.written_nanos };
            self.removed.insert(name, removed);
        }
        for block in &delta.added {
            if self.blocks.insert(block.name(), block.clone()).is_some() {
                let name = block.name();
                return Err(StoreError::corrupt(format!("block {name} is added twice")));
            }
        }
        for name in &delta.forgotten {
            self.removed.remove(name);
        }
        for tombstone in &delta.tombstones {
            self.tombstones.insert(tombstone.id.clone(), tombstone.clone());
        }
        let blocks = &self.blocks;
        self.tombstones.retain(|_, tombstone| {
            tombstone.blocks.retain(|name| blocks.contains_key(name));
            !tombstone.blocks.is_empty()
        });
        self.tokens.push(delta.token.clone());
        if self.tokens.len() > TOKENS_KEPT {
            self.tokens.remove(0);
        }
        Ok(())
    }

    /// As a checkpoint.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            version: super::VERSION,
            least_reader: super::VERSION,
            generation: self.generation,
            absorbed: self
                .absorbed
                .iter()
                .map(|(node, sequence)| Absorbed { node: node.clone(), sequence: *sequence })
                .collect(),
            blocks: self.blocks.values().cloned().collect(),
            removed: self.removed.values().cloned().collect(),
            tombstones: self.tombstones.values().cloned().collect(),
            tokens: self.tokens.clone(),
        }
    }

    /// From a checkpoint.
    pub fn from_checkpoint(checkpoint: Checkpoint) -> Self {
        Self {
            generation: checkpoint.generation,
            absorbed: checkpoint.absorbed.into_iter().map(|a| (a.node, a.sequence)).collect(),
            blocks: checkpoint.blocks.into_iter().map(|b| (b.name(), b)).collect(),
            removed: checkpoint.removed.into_iter().map(|r| (r.block.name(), r)).collect(),
            tombstones: checkpoint.tombstones.into_iter().map(|t| (t.id.clone(), t)).collect(),
            tokens: checkpoint.tokens,
        }
    }

    /// The last flush of a node that the log has taken over.
    pub fn absorbed_of(&self, node: &str) -> u64 {
        self.absorbed.get(node).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(sequence: u64) -> BlockMeta {
        BlockMeta { node: "a".into(), sequence, ..BlockMeta::default() }
    }

    #[test]
    fn a_checkpoint_is_the_sum_of_its_deltas() {
        let mut state = LogState::default();
        let absorbed = vec![Absorbed { node: "a".into(), sequence: 2 }];
        let added = vec![block(1), block(2)];
        state.apply(&Delta { absorbed, added, ..Delta::default() }).unwrap();
        let tombstone =
            Tombstone { id: "t".into(), blocks: vec![block(1).name()], ..Tombstone::default() };
        state.apply(&Delta { tombstones: vec![tombstone], ..Delta::default() }).unwrap();
        assert_eq!(LogState::from_checkpoint(state.checkpoint()), state);
        assert_eq!(state.tombstones.len(), 1);
        state
            .apply(&Delta { removed: vec![block(1)], added: vec![block(9)], ..Delta::default() })
            .unwrap();
        assert_eq!(state.generation, 3);
        assert!(state.tombstones.is_empty(), "a tombstone goes with its last block");
        assert_eq!(state.removed.len(), 1);
        assert_eq!(state.absorbed_of("a"), 2);
        assert!(state.apply(&Delta { added: vec![block(9)], ..Delta::default() }).is_err());
    }
}
