//! What ends a command: one line, lower case, what was wrong and what to do.

use std::io;
use std::path::Path;

/// Why a command could not go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Store(#[from] kymo_store::StoreError),
    #[error(transparent)]
    Journal(#[from] kymo_journal::Error),
    #[error(transparent)]
    Objects(#[from] kymo_store::objects::ObjectsError),
    #[error("cannot {act} {what}: {source}")]
    Io { act: &'static str, what: String, source: io::Error },
    #[error(transparent)]
    Engine(#[from] kymo_engine::EngineError),
    #[error(transparent)]
    Server(#[from] kymo_server::ServerError),
    /// What a server answered instead of the result.
    #[error("{message}")]
    Status { status: u16, message: String },
    /// The command line cannot be understood.
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// What the system said, with what was tried on which file.
    pub(crate) fn io(act: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { act, what: path.display().to_string(), source }
    }
}
