//! What can go wrong in the store.

use crate::pages::PageError;

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or record does not hold what it should.
    #[error("damaged data: {0}")]
    Corrupt(String),
    /// A file was written by a newer version.
    #[error(
        "{what} was written by a newer version (format {found}, this program reads up to {known}): use a newer kymo"
    )]
    Newer {
        /// What it is.
        what: String,
        /// The version it asks for.
        found: u32,
        /// The version that is known here.
        known: u32,
    },
    /// Writing Parquet failed.
    #[error("cannot write a block: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// A request in the journal could not be decoded.
    #[error("cannot decode a request: {0}")]
    Wire(#[from] kymo_wire::WireError),
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] kymo_journal::Error),
    /// Disk or bucket failed.
    #[error(transparent)]
    Objects(#[from] crate::objects::ObjectsError),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// A query asks for something that cannot be.
    #[error("{0}")]
    Query(String),
    /// Whoever asked has gone, or asked to stop.
    #[error("the query was cancelled")]
    Cancelled,
    /// A compaction, retention or garbage collection was told to end.
    #[error("interrupted, because the store is about to be closed")]
    Interrupted,
    /// A store that was opened for reading was asked to change something.
    #[error("the store was opened for reading only")]
    ReadOnly,
    /// A data directory was opened as another node than the one it belongs to.
    #[error(
        "the data directory {data} belongs to the node \"{owner}\", not to \"{node}\": open it as that node, or use another directory"
    )]
    OtherNode {
        /// The directory.
        data: String,
        /// The node it belongs to.
        owner: String,
        /// The node it was opened as.
        node: String,
    },
    /// The store's directory is in a state that this call cannot work with.
    #[error("{0}")]
    State(String),
}

impl StoreError {
    /// Whether the file of a block is gone. That is no damage: compaction or retention
    /// has removed the block since the snapshot was taken, and its file was deleted.
    /// Take another snapshot and begin again. A snapshot keeps the files that its own
    /// process would delete, so this happens only beside another process.
    pub fn is_block_missing(&self) -> bool {
        // Nothing else that is absent is handed on as an error.
        matches!(self, Self::Objects(error) if error.is_not_found())
    }

    pub(crate) fn corrupt(what: impl Into<String>) -> Self {
        Self::Corrupt(what.into())
    }
}

impl From<PageError> for StoreError {
    fn from(error: PageError) -> Self {
        Self::Corrupt(error.0.to_owned())
    }
}
