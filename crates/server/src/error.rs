//! Why a server cannot start or stop.

use std::io;

use kymo_engine::EngineError;
use kymo_store::StoreError;

/// An error of the server as a whole; requests have their own answers.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// An address that is none.
    #[error("{flag} is {address:?}: expected HOST:PORT, as in 127.0.0.1:3200")]
    Address {
        /// The flag that sets it.
        flag: &'static str,
        /// What it was set to.
        address: String,
    },
    /// A port that another program has.
    #[error(
        "port {port} ({address}) is in use, perhaps by another kymo; choose another with {flag} HOST:PORT, or port 0 for a free one"
    )]
    PortInUse {
        /// The flag that sets it.
        flag: &'static str,
        /// The whole address.
        address: String,
        /// Its port.
        port: u16,
    },
    /// The system does not let us listen there.
    #[error("cannot listen on {address} ({flag}): {source}")]
    Listen {
        /// The flag that sets it.
        flag: &'static str,
        /// The address.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// A setting that does not fit.
    #[error("{0}")]
    Setting(String),
    /// The store cannot be opened or closed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine cannot be started.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}
