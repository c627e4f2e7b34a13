//! What can go wrong where somebody can do something about it.

use std::path::PathBuf;

use thiserror::Error;

/// Why a session could not be started, or an event not be declared.
#[derive(Debug, Error)]
pub enum SessionError {
    /// A name or id that cannot be used.
    #[error("the {what} {name:?} cannot be used: {why}")]
    Name {
        /// Of what.
        what: &'static str,
        /// The name.
        name: String,
        /// Why not.
        why: &'static str,
    },
    /// A setting out of its range.
    #[error("{what} is {given}: expected {expected}")]
    Setting {
        /// Which.
        what: &'static str,
        /// What it was.
        given: String,
        /// What it should be.
        expected: String,
    },
    /// A TRACEPARENT that is none.
    #[error("{0:?} is no traceparent: expected 00-<32 hex digits>-<16 hex digits>-<2 hex digits>")]
    Traceparent(String),
    /// A declared event that would hide what every event has.
    #[error("the field {0:?} is one that every event has: choose another name")]
    Shadowed(String),
    /// A value of a declared event that does not fit.
    #[error("{event} has no field {field:?}: it has {known}")]
    UnknownField {
        /// The event.
        event: String,
        /// The field.
        field: String,
        /// Those that it has.
        known: String,
    },
    /// A thread could not be started.
    #[error("cannot start a thread for the session: {0}")]
    Thread(std::io::Error),
    /// Exporters could not be set up.
    #[error(transparent)]
    Export(#[from] kymo_service::ServiceError),
    /// A process that has as many kinds of events as it may.
    #[error("there are {0} kinds of events already: names of events must not contain ids")]
    TooManyEvents(usize),
}

/// Why there is no checkpoint (any more). The session goes on without.
#[derive(Debug, Error)]
#[error("no checkpoint is written to {}: {source}", path.display())]
pub(crate) struct CheckpointError {
    pub(crate) path: PathBuf,
    pub(crate) source: std::io::Error,
}
