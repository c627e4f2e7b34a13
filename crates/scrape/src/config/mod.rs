//! `scrape_configs`, and what else a file of Prometheus says, in its own YAML.
//!
//! [`ScrapeSettings::from_yaml`] reads a file of Prometheus, or a file with `global` and
//! `scrape_configs` alone. Keys that nothing is done with are let through and listed; a key that
//! is not known, a value that is wrong and a combination that Prometheus refuses are errors with
//! line and column.
//!
//! Refused although Prometheus knows them: proxies, OAuth 2, a file to log failures to, and
//! discovery by anything but lists, files and HTTP.

mod alerting;
mod check;
mod error;
mod http;
mod raw;
mod relabel;
mod targets;
mod units;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kymo_wire::exposition::{Escaping, Format};

use crate::relabel::RelabelRule;

pub use alerting::{AlertingSettings, AlertmanagerSettings, WebhookSettings};
pub use error::ConfigError;
pub use http::{Credentials, HeaderValues, HttpSettings, Secret, SecretSource, TlsSettings};
pub use units::{format_duration, parse_duration};

/// What a file says about scraping.
#[derive(Debug, Clone, PartialEq)]
pub struct ScrapeSettings {
    /// The jobs in the order of the file.
    pub jobs: Vec<Arc<JobSettings>>,
    /// Labels for whatever leaves this server.
    pub external_labels: BTreeMap<String, String>,
    /// How often rules are evaluated, if the file says so.
    pub evaluation_interval: Option<Duration>,
    /// How far back rules look, if the file says so.
    pub rule_query_offset: Option<Duration>,
    /// Who is told of alerts.
    pub alerting: AlertingSettings,
    /// Patterns of files with rules, as written; relative to the file's directory.
    pub rule_files: Vec<String>,
    /// Keys of the file that nothing is done with.
    pub ignored_keys: Vec<&'static str>,
}

impl ScrapeSettings {
    /// Reads the text of a file. `path` is what errors name, and its directory is what the paths
    /// in the file are relative to.
    pub fn from_yaml(text: &str, path: &Path) -> Result<Self, ConfigError> {
        check::file(text, path)
    }

    /// Reads a file.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| ConfigError::new(path, format!("cannot be read: {error}")))?;
        Self::from_yaml(&text, path)
    }
}

/// One entry of `scrape_configs`, with everything that `global` sets.
#[derive(Debug, Clone, PartialEq)]
pub struct JobSettings {
    /// The label `job` of its targets, if they have no other.
    pub job_name: String,
    /// How often targets are scraped.
    pub scrape_interval: Duration,
    /// How long a scrape may take.
    pub scrape_timeout: Duration,
    /// The formats to ask for, best first.
    pub scrape_protocols: Vec<ScrapeProtocol>,
    /// The format of an answer that does not say which it is in.
    pub fallback_scrape_protocol: Option<ScrapeProtocol>,
    /// The path to ask for.
    pub metrics_path: String,
    /// `http` or `https`.
    pub scheme: String,
    /// Parameters of the URL.
    pub params: BTreeMap<String, Vec<String>>,
    /// Whether labels of the target win over ours.
    pub honor_labels: bool,
    /// Whether times of the target win over that of the scrape.
    pub honor_timestamps: bool,
    /// Whether series with times of their own are marked stale, too.
    pub track_timestamps_staleness: bool,
    /// Whether packed answers are asked for.
    pub enable_compression: bool,
    /// How to ask.
    pub http: HttpSettings,
    /// Targets in the file.
    pub static_configs: Vec<StaticTargets>,
    /// Targets in other files.
    pub file_discoveries: Vec<FileDiscovery>,
    /// Targets from a server.
    pub http_discoveries: Vec<HttpDiscovery>,
    /// What is done to the labels of targets.
    pub relabel_rules: Vec<RelabelRule>,
    /// What is done to the labels of samples.
    pub metric_relabel_rules: Vec<RelabelRule>,
    /// What is too much.
    pub limits: JobLimits,
    /// Whether names are confined to letters, digits, underscores and colons.
    pub legacy_names: bool,
    /// How targets are asked to send other names.
    pub escaping: Escaping,
    /// Whether native histograms are read.
    pub native_histograms: bool,
    /// Whether classic histograms are read where there are native ones.
    pub classic_beside_native: bool,
    /// Whether classic histograms are made native ones with listed bounds.
    pub convert_classic: bool,
    /// Whether three more series tell about each scrape.
    pub extra_scrape_metrics: bool,
}

/// What is too much for one scrape; zero is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct JobLimits {
    /// Bytes of an answer, unpacked.
    pub body_size_bytes: u64,
    /// Samples of a scrape, after relabeling.
    pub samples: usize,
    /// Labels of a sample.
    pub labels: usize,
    /// Bytes of a label's name.
    pub label_name_bytes: usize,
    /// Bytes of a label's value.
    pub label_value_bytes: usize,
    /// Targets of the job.
    pub targets: usize,
    /// Dropped targets that are remembered for the API.
    pub dropped_targets: usize,
    /// Buckets of a native histogram.
    pub histogram_buckets: usize,
    /// The finest schema of a native histogram.
    pub histogram_schema: Option<i32>,
}

/// A format with its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScrapeProtocol {
    /// Delimited protobuf messages.
    PrometheusProto,
    /// OpenMetrics 0.0.1.
    OpenMetricsText0_0_1,
    /// OpenMetrics 1.0.0.
    OpenMetricsText1_0_0,
    /// Prometheus' text 0.0.4.
    PrometheusText0_0_4,
    /// Prometheus' text 1.0.0.
    PrometheusText1_0_0,
}

impl ScrapeProtocol {
    /// All protocols.
    pub const ALL: [Self; 5] = [
        Self::PrometheusProto,
        Self::OpenMetricsText1_0_0,
        Self::OpenMetricsText0_0_1,
        Self::PrometheusText1_0_0,
        Self::PrometheusText0_0_4,
    ];

    /// The word in the file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PrometheusProto => "PrometheusProto",
            Self::OpenMetricsText0_0_1 => "OpenMetricsText0.0.1",
            Self::OpenMetricsText1_0_0 => "OpenMetricsText1.0.0",
            Self::PrometheusText0_0_4 => "PrometheusText0.0.4",
            Self::PrometheusText1_0_0 => "PrometheusText1.0.0",
        }
    }

    /// The format it is read as.
    #[must_use]
    pub const fn format(self) -> Format {
        match self {
            Self::PrometheusProto => Format::Protobuf,
            Self::OpenMetricsText0_0_1 | Self::OpenMetricsText1_0_0 => Format::OpenMetrics,
            Self::PrometheusText0_0_4 | Self::PrometheusText1_0_0 => Format::Text,
        }
    }
}

/// Targets that share labels.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StaticTargets {
    /// Addresses, host and port.
    pub targets: Vec<String>,
    /// Labels of all of them.
    pub labels: BTreeMap<String, String>,
}

/// Targets in files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiscovery {
    /// Patterns of paths.
    pub files: Vec<PathBuf>,
    /// How often they are read even if nothing seems to have changed.
    pub refresh_interval: Duration,
}

/// Targets from a server.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpDiscovery {
    /// Where to ask.
    pub url: String,
    /// How often.
    pub refresh_interval: Duration,
    /// How.
    pub http: HttpSettings,
}
