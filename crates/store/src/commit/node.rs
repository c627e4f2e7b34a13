//! The node object `nodes/<node>`: how far a node has flushed each signal, and
//! which of its level-0 blocks no log has taken over yet. Only its node writes
//! it; one write of it commits a flush.

use prost::Message;

use super::{VERSION, check_version, seal, unseal};
use crate::block::meta::BlockMeta;
use crate::error::StoreError;
use crate::limits::NODE_MAX_BYTES;
use crate::objects::Objects;
use crate::schema::Signal;

/// Where node objects are.
pub const PREFIX: &str = "nodes";

/// A level-0 block and whose it is.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct TenantBlock {
    /// The tenant.
    #[prost(string, tag = "1")]
    pub tenant: String,
    /// The block.
    #[prost(message, required, tag = "2")]
    pub block: BlockMeta,
}

/// One signal of a node.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct SignalState {
    /// The signal's name.
    #[prost(string, tag = "1")]
    pub signal: String,
    /// The last committed flush.
    #[prost(uint64, tag = "2")]
    pub sequence: u64,
    /// All of the journal before this position is in blocks.
    #[prost(uint64, tag = "3")]
    pub position: u64,
    /// Committed level-0 blocks that no log has taken over yet.
    #[prost(message, repeated, tag = "4")]
    pub blocks: Vec<TenantBlock>,
}

/// The object.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct NodeObject {
    /// Version of the format.
    #[prost(uint32, tag = "1")]
    pub version: u32,
    /// Least version that a reader must know.
    #[prost(uint32, tag = "2")]
    pub least_reader: u32,
    /// The node's name.
    #[prost(string, tag = "3")]
    pub node: String,
    /// When it was written, for those who look for nodes that are gone.
    #[prost(sint64, tag = "4")]
    pub written_nanos: i64,
    /// Its signals.
    #[prost(message, repeated, tag = "5")]
    pub signals: Vec<SignalState>,
}

impl NodeObject {
    /// The object of a node that has written nothing.
    pub fn new(node: &str) -> Self {
        let signals = Signal::ALL.map(|signal| SignalState {
            signal: signal.name().to_owned(),
            ..SignalState::default()
        });
        Self {
            version: VERSION,
            least_reader: VERSION,
            node: node.to_owned(),
            signals: signals.to_vec(),
            ..Self::default()
        }
    }

    fn find(&self, signal: Signal) -> Option<&SignalState> {
        self.signals.iter().find(|s| s.signal == signal.name())
    }

    /// The state of a signal, to change it.
    pub fn signal(&self, signal: Signal) -> SignalState {
        self.find(signal)
            .cloned()
            .unwrap_or_else(|| SignalState { signal: signal.name().into(), ..Default::default() })
    }

    /// The last committed flush of a signal.
    pub fn sequence_of(&self, signal: Signal) -> u64 {
        self.find(signal).map_or(0, |state| state.sequence)
    }

    /// The journal position that a signal has passed.
    pub fn position_of(&self, signal: Signal) -> u64 {
        self.find(signal).map_or(0, |state| state.position)
    }

    /// Committed level-0 blocks of a signal that no log had taken over.
    pub fn blocks_of(&self, signal: Signal) -> &[TenantBlock] {
        self.find(signal).map_or(&[], |state| &state.blocks)
    }

    /// Replaces the state of a signal.
    pub fn set_signal(&mut self, state: SignalState) {
        match self.signals.iter_mut().find(|s| s.signal == state.signal) {
            Some(slot) => *slot = state,
            None => self.signals.push(state),
        }
    }

    /// The journal position that every signal has passed.
    pub fn position(&self) -> u64 {
        Signal::ALL.iter().map(|s| self.position_of(*s)).min().unwrap_or(0)
    }

    /// The path of a node's object.
    pub fn path(node: &str) -> String {
        format!("{PREFIX}/{node}")
    }

    /// Writes the object, which commits what it says.
    pub fn put(&self, objects: &dyn Objects) -> Result<(), StoreError> {
        Ok(objects.put(&Self::path(&self.node), seal(self).into())?)
    }

    /// Reads a node's object; `None` if it has none.
    pub fn get(objects: &dyn Objects, node: &str) -> Result<Option<Self>, StoreError> {
        let path = Self::path(node);
        let bytes = match objects.get(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let object: Self = unseal(&bytes, &path)?;
        check_version(object.least_reader, &path)?;
        Ok(Some(object))
    }

    /// Reads the objects of all nodes.
    pub fn all(objects: &dyn Objects) -> Result<Vec<Self>, StoreError> {
        let mut nodes = Vec::new();
        for info in objects.list(PREFIX)? {
            if let Some(name) = info.path.strip_prefix("nodes/")
                && let Some(node) = Self::get(objects, name)?
            {
                nodes.push(node);
            }
        }
        Ok(nodes)
    }
}

/// Whether a name can be a node's: it stands in paths and file names.
pub fn valid_node(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= NODE_MAX_BYTES
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}
