//! Groups of keys of a destination: routes, sampling, credentials, TLS, pauses, files.

use std::path::PathBuf;
use std::time::Duration;

use kymo_yaml::Secret;
use serde::Deserialize;

use super::SignalName;
use crate::limits::{
    DEFAULT_ROTATE_BYTES, DEFAULT_ROTATE_FILES, DEFAULT_TAIL_TRACES, DEFAULT_TAIL_WAIT,
    FIRST_PAUSE, LONGEST_DESTINATION_PAUSE,
};

/// Records of one signal that go to a destination.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RouteSettings {
    /// Of what kind they are.
    pub signal: SignalName,
    /// Which of them; all if nothing is said.
    #[serde(default, rename = "where")]
    pub condition: Option<String>,
}

/// Which traces go to a destination.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SamplingSettings {
    /// A share of all traces, by their ids.
    #[serde(default)]
    pub ratio: Option<f64>,
    /// Those that turned out to be worth it.
    #[serde(default)]
    pub tail: Option<TailSettings>,
}

/// Which whole traces go to a destination. A trace goes if one of these takes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TailSettings {
    /// Those with a span that failed.
    #[serde(default)]
    pub errors: bool,
    /// Those that took longer, from the start of the first span to the end of the last.
    #[serde(default, with = "kymo_yaml::duration::option")]
    pub slower_than: Option<Duration>,
    /// Those with a span that meets a condition.
    #[serde(default, rename = "where")]
    pub condition: Option<String>,
    /// A share of all, by their ids.
    #[serde(default)]
    pub ratio: Option<f64>,
    /// How long after its first span a trace is decided on.
    #[serde(default = "tail_wait", with = "kymo_yaml::duration")]
    pub wait: Duration,
    /// Traces that are held at once; beyond that the oldest are decided on early.
    #[serde(default = "tail_traces")]
    pub max_traces: usize,
}

impl Default for TailSettings {
    fn default() -> Self {
        Self {
            errors: false,
            slower_than: None,
            condition: None,
            ratio: None,
            wait: tail_wait(),
            max_traces: tail_traces(),
        }
    }
}

/// How requests are packed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CompressionSetting {
    /// As they were received.
    #[default]
    AsIs,
    /// Not at all.
    None,
    /// By gzip.
    Gzip,
    /// By Zstandard.
    Zstd,
    /// By snappy, which remote-write always is.
    Snappy,
}

/// A user and a password.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicSettings {
    /// The user.
    pub username: String,
    /// The password.
    #[serde(default)]
    pub password: Option<Secret>,
    /// A file with the password, which is read again when it changes.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
}

/// Whom to trust, and what to show. Files are read again when they change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DestinationTls {
    /// Authorities to trust instead of the system's: a file in PEM.
    pub ca: Option<PathBuf>,
    /// What to show the server: a file in PEM.
    pub certificate: Option<PathBuf>,
    /// Its key: a file in PEM. Without one, the certificate's file has it.
    pub key: Option<PathBuf>,
    /// The name that the server's certificate must have, instead of the endpoint's host.
    pub server_name: Option<String>,
    /// Whether any certificate will do. Whoever is in between can read and change everything.
    pub insecure_skip_verify: bool,
}

/// Pauses between tries: the first, doubled with each try up to the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetrySettings {
    /// The first.
    #[serde(with = "kymo_yaml::duration")]
    pub first: Duration,
    /// The longest, unless the server asks for more.
    #[serde(with = "kymo_yaml::duration")]
    pub longest: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self { first: FIRST_PAUSE, longest: LONGEST_DESTINATION_PAUSE }
    }
}

/// When a new file is begun, and how many are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RotateSettings {
    /// The size at which a file is put aside.
    #[serde(with = "kymo_yaml::size")]
    pub max_size: u64,
    /// Files that are kept, the one that is written included.
    pub max_files: usize,
    /// The age at which a file is put aside.
    #[serde(with = "kymo_yaml::duration::option")]
    pub every: Option<Duration>,
}

impl Default for RotateSettings {
    fn default() -> Self {
        Self { max_size: DEFAULT_ROTATE_BYTES, max_files: DEFAULT_ROTATE_FILES, every: None }
    }
}

/// How records are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FormatSetting {
    /// One line that says what came.
    Summary,
    /// One line of OTLP/JSON.
    Json,
}

const fn tail_wait() -> Duration {
    DEFAULT_TAIL_WAIT
}

const fn tail_traces() -> usize {
    DEFAULT_TAIL_TRACES
}
