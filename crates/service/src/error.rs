//! Why telemetry cannot be set up.

use std::path::PathBuf;

use kymo_forward::WrongSetting;
use thiserror::Error;

/// Why telemetry cannot be set up. Nothing here contains a password or a header's value.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServiceError {
    /// A setting cannot be understood.
    #[error("{name} is {value:?}, expected {expected}")]
    Setting {
        /// The variable, or the key of the configuration.
        name: String,
        /// What it says.
        value: String,
        /// What it could say.
        expected: &'static str,
    },
    /// A file cannot be read.
    #[error("cannot read {path} ({purpose}): {why}")]
    File {
        /// The file.
        path: PathBuf,
        /// What it is for.
        purpose: String,
        /// What happened.
        why: String,
    },
    /// The configuration is not one.
    #[error("{origin} is not a configuration of telemetry: {why}")]
    Config {
        /// Where it was read.
        origin: String,
        /// What was found.
        why: String,
    },
    /// The connection cannot be prepared.
    #[error("cannot prepare to send {signal} to {endpoint}: {why}")]
    Exporter {
        /// Spans, metrics or log records.
        signal: &'static str,
        /// Where to.
        endpoint: String,
        /// What happened.
        why: String,
    },
    /// The thread that sends cannot be started.
    #[error("cannot start the thread that sends telemetry: {0}")]
    Thread(#[source] std::io::Error),
    /// A name is taken by an instrument of another kind.
    #[error(
        "the instrument {name:?} is a {existing}, so it cannot be a {asked}: give it another name"
    )]
    InstrumentKind {
        /// The name.
        name: String,
        /// What it is.
        existing: &'static str,
        /// What was asked for.
        asked: &'static str,
    },
    /// A name is not one that OpenTelemetry takes.
    #[error(
        "{name:?} cannot name an instrument: expected a letter and then letters, digits, _ . - /, \
         255 characters at most"
    )]
    InstrumentName {
        /// The name.
        name: String,
    },
    /// Somebody has set a subscriber or logger already.
    #[error("{0}")]
    Taken(&'static str),
}

impl From<WrongSetting> for ServiceError {
    fn from(WrongSetting { name, value, expected }: WrongSetting) -> Self {
        Self::Setting { name, value, expected }
    }
}
