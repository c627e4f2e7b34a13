//! The list `destinations:` of the configuration, as it is written.
//!
//! Plain data: what a key means is said here, whether it makes sense together is said by
//! [`check`](super::check::check). `Debug` shows no password, token or header's value.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use kymo_wire::Signal;
use kymo_yaml::Secret;
use serde::Deserialize;

use crate::limits::{DEFAULT_BUDGET_BYTES, EXPORT_TIMEOUT};

mod parts;

pub use parts::{
    BasicSettings, CompressionSetting, DestinationTls, FormatSetting, RetrySettings,
    RotateSettings, RouteSettings, SamplingSettings, TailSettings,
};

/// The header that names a tenant, unless a destination says otherwise.
pub const TENANT_HEADER: &str = "X-Scope-OrgID";

/// One destination.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DestinationSettings {
    /// What it is called: in messages, and in the name of its cursor in the journal.
    pub name: String,
    /// Whether anything is sent there.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How it is talked to.
    pub protocol: DestinationProtocol,
    /// Where it is. For `http` a base URL, to which `/v1/traces` and the like are appended; for
    /// `remote-write` the whole URL.
    #[serde(default)]
    pub endpoint: Option<String>,
    /// For `http`: the whole URL for traces.
    #[serde(default)]
    pub traces_endpoint: Option<String>,
    /// For `http`: the whole URL for metrics.
    #[serde(default)]
    pub metrics_endpoint: Option<String>,
    /// For `http`: the whole URL for logs.
    #[serde(default)]
    pub logs_endpoint: Option<String>,
    /// What goes there; all that the protocol can carry if nothing is said.
    #[serde(default)]
    pub signals: Option<Vec<SignalName>>,
    /// Whose records go there; everybody's if nothing is said.
    #[serde(default)]
    pub tenants: Option<Vec<String>>,
    /// Which records go there; all of them if there are no routes.
    #[serde(default)]
    pub routes: Vec<RouteSettings>,
    /// Which traces go there.
    #[serde(default)]
    pub sampling: Option<SamplingSettings>,
    /// How requests are packed.
    #[serde(default)]
    pub compression: CompressionSetting,
    /// What goes with every request.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// The header that names the tenant of a record, unless that is `default`; empty for none.
    #[serde(default = "tenant_header")]
    pub tenant_header: String,
    /// A user and a password.
    #[serde(default)]
    pub basic: Option<BasicSettings>,
    /// A token.
    #[serde(default)]
    pub bearer: Option<Secret>,
    /// A file with a token, which is read again when it changes.
    #[serde(default)]
    pub bearer_file: Option<PathBuf>,
    /// Whom to trust, and what to show.
    #[serde(default)]
    pub tls: DestinationTls,
    /// How long one request may take.
    #[serde(default = "timeout", with = "kymo_yaml::duration")]
    pub timeout: Duration,
    /// Requests on their way at once. More than one gives up the order between requests.
    #[serde(default = "one")]
    pub concurrency: usize,
    /// Pauses between tries.
    #[serde(default)]
    pub retry: RetrySettings,
    /// Bytes that may lie in the journal for it.
    #[serde(default = "budget", with = "kymo_yaml::size")]
    pub budget: u64,
    /// For `file`: where it is written.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// For `file`: when a new one is begun, and how many are kept.
    #[serde(default)]
    pub rotate: RotateSettings,
    /// How records are shown; `json` for files, `summary` for the console if nothing is said.
    #[serde(default)]
    pub format: Option<FormatSetting>,
    /// For `remote-write`: its version, 1 or 2.
    #[serde(default)]
    pub version: Option<u8>,
}

impl DestinationSettings {
    /// A destination with defaults for everything else.
    #[must_use]
    pub fn new(name: impl Into<String>, protocol: DestinationProtocol) -> Self {
        Self {
            name: name.into(),
            enabled: true,
            protocol,
            endpoint: None,
            traces_endpoint: None,
            metrics_endpoint: None,
            logs_endpoint: None,
            signals: None,
            tenants: None,
            routes: Vec::new(),
            sampling: None,
            compression: CompressionSetting::default(),
            headers: BTreeMap::new(),
            tenant_header: tenant_header(),
            basic: None,
            bearer: None,
            bearer_file: None,
            tls: DestinationTls::default(),
            timeout: timeout(),
            concurrency: one(),
            retry: RetrySettings::default(),
            budget: budget(),
            path: None,
            rotate: RotateSettings::default(),
            format: None,
            version: None,
        }
    }

    /// The signals that go there.
    #[must_use]
    pub fn carried(&self) -> Vec<Signal> {
        let possible = self.protocol.possible();
        let is_asked = |signal: &Signal| {
            self.signals.as_ref().is_none_or(|asked| asked.iter().any(|a| a.signal() == *signal))
        };
        possible.iter().copied().filter(is_asked).collect()
    }

    /// Whether records of a signal may go there.
    #[must_use]
    pub fn is_routed(&self, signal: Signal) -> bool {
        let has_route = self.routes.iter().any(|route| route.signal.signal() == signal);
        self.carried().contains(&signal) && (self.routes.is_empty() || has_route)
    }

    /// The name of its cursor in the journal.
    #[must_use]
    pub fn cursor(&self) -> String {
        format!("forward/{}", self.name)
    }

    /// The endpoint that is only for one signal.
    #[must_use]
    pub fn endpoint_of(&self, signal: Signal) -> Option<&str> {
        match signal {
            Signal::Traces => self.traces_endpoint.as_deref(),
            Signal::Metrics => self.metrics_endpoint.as_deref(),
            Signal::Logs => self.logs_endpoint.as_deref(),
        }
    }
}

/// How a destination is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DestinationProtocol {
    /// OTLP over gRPC.
    Grpc,
    /// OTLP over HTTP, in protobuf.
    #[serde(alias = "http/protobuf")]
    Http,
    /// OTLP over HTTP, in JSON.
    #[serde(rename = "http/json")]
    HttpJson,
    /// Prometheus' remote-write: metrics only.
    RemoteWrite,
    /// A file of OTLP/JSON, one request per line.
    File,
    /// The output of this program.
    Console,
}

impl DestinationProtocol {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::Http => "http",
            Self::HttpJson => "http/json",
            Self::RemoteWrite => "remote-write",
            Self::File => "file",
            Self::Console => "console",
        }
    }

    /// The signals that it can carry.
    #[must_use]
    pub const fn possible(self) -> &'static [Signal] {
        match self {
            Self::RemoteWrite => &[Signal::Metrics],
            _ => &Signal::ALL,
        }
    }

    /// Whether it is reached over a network.
    #[must_use]
    pub const fn is_remote(self) -> bool {
        !matches!(self, Self::File | Self::Console)
    }
}

/// A signal, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SignalName {
    /// Spans.
    Traces,
    /// Data points.
    Metrics,
    /// Log records.
    Logs,
}

impl SignalName {
    /// The signal.
    #[must_use]
    pub const fn signal(self) -> Signal {
        match self {
            Self::Traces => Signal::Traces,
            Self::Metrics => Signal::Metrics,
            Self::Logs => Signal::Logs,
        }
    }
}

const fn yes() -> bool {
    true
}

const fn one() -> usize {
    1
}

fn tenant_header() -> String {
    TENANT_HEADER.to_owned()
}

const fn timeout() -> Duration {
    EXPORT_TIMEOUT
}

const fn budget() -> u64 {
    DEFAULT_BUDGET_BYTES
}
