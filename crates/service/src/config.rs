//! What a service is told about its telemetry: by a file, by its code, by the environment.
//!
//! ```yaml
//! telemetry:
//!   enabled: true
//!   service_name: trainer
//!   otlp_endpoint: http://localhost:4317
//!   resource_attributes:
//!     deployment.environment.name: staging
//! ```
//!
//! The keys may also stand without `telemetry:` above them. Further ones are `otlp_protocol`
//! (`grpc`, `http/protobuf`, `http/json`), `metric_prefix`, `metrics_every_seconds` and
//! `resource_metrics`. A key that is not known is an error: a misspelt `enabled` would otherwise be
//! silence.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;

use crate::error::ServiceError;
use crate::export::{Asked, ExportSettings, Protocol};
use crate::limits::{CONFIG_BYTES, METRICS_EVERY, QUEUE_ITEMS};

/// What a service is told about its telemetry. [`Config::default`] is off.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Whether there is any.
    pub enabled: bool,
    /// `service.name`; unless given what `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` say.
    pub service_name: Option<String>,
    /// The server; unless given, see [`crate::export::resolve`].
    pub otlp_endpoint: Option<String>,
    /// How requests are written.
    pub otlp_protocol: Option<Protocol>,
    /// What goes with every request.
    pub otlp_headers: Vec<(String, String)>,
    /// Attributes of the resource. They win over the environment's, and `service.name` among them
    /// over [`Config::service_name`].
    pub resource_attributes: BTreeMap<String, String>,
    /// What names of resource metrics begin with; the service's name.
    pub metric_prefix: Option<String>,
    /// Whether processor, memory and GPUs are measured.
    pub resource_metrics: bool,
    /// How often metrics are sent; `OTEL_METRIC_EXPORT_INTERVAL`, else 10 s.
    pub metrics_every: Option<Duration>,
    /// Everything to stdout instead of to a server, as `KYMO_OTEL_DEBUG=1` does.
    pub console: bool,
    /// Spans, and log records, that may wait to be sent.
    pub queue_items: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            enabled: false,
            service_name: None,
            otlp_endpoint: None,
            otlp_protocol: None,
            otlp_headers: Vec::new(),
            resource_attributes: BTreeMap::new(),
            metric_prefix: None,
            resource_metrics: true,
            metrics_every: None,
            console: false,
            queue_items: QUEUE_ITEMS,
        }
    }
}

impl Config {
    /// Telemetry of a service, on.
    #[must_use]
    pub fn enabled(service_name: impl Into<String>) -> Self {
        Self { enabled: true, service_name: Some(service_name.into()), ..Self::default() }
    }

    /// The server to send to.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.otlp_endpoint = Some(endpoint.into());
        self
    }

    /// How requests are written.
    #[must_use]
    pub fn with_protocol(mut self, protocol: Protocol) -> Self {
        self.otlp_protocol = Some(protocol);
        self
    }

    /// What goes with every request, such as `authorization`.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.otlp_headers.push((name.into(), value.into()));
        self
    }

    /// An attribute of the resource.
    #[must_use]
    pub fn with_resource_attribute(
        mut self,
        key: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        self.resource_attributes.insert(key.into(), value.into());
        self
    }

    /// What names of resource metrics begin with.
    #[must_use]
    pub fn with_metric_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.metric_prefix = Some(prefix.into());
        self
    }

    /// How often metrics are sent.
    #[must_use]
    pub fn with_metrics_every(mut self, every: Duration) -> Self {
        self.metrics_every = Some(every);
        self
    }

    /// Everything to stdout.
    #[must_use]
    pub fn with_console(mut self) -> Self {
        self.console = true;
        self
    }

    /// Reads a configuration; see [the module](self).
    ///
    /// # Errors
    /// What is no YAML, a key that is not known, a value of another kind.
    pub fn from_yaml(text: &str) -> Result<Self, ServiceError> {
        Self::parse(text, "the text")
    }

    /// Reads a configuration from a file, which may be that of the whole service: only what is
    /// below `telemetry:` is looked at then.
    ///
    /// # Errors
    /// A file that cannot be read, and what [`Config::from_yaml`] refuses.
    pub fn from_file(path: &Path) -> Result<Self, ServiceError> {
        let failed = |why: String| ServiceError::File {
            path: path.to_owned(),
            purpose: "configuration of telemetry".to_owned(),
            why,
        };
        let file = File::open(path).map_err(|error| failed(error.to_string()))?;
        let mut text = String::new();
        file.take(CONFIG_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|error| failed(error.to_string()))?;
        if text.len() as u64 > CONFIG_BYTES {
            return Err(failed(format!("it has more than {CONFIG_BYTES} bytes")));
        }
        Self::parse(&text, &path.display().to_string())
    }

    fn parse(text: &str, origin: &str) -> Result<Self, ServiceError> {
        let wrong = |why: String| ServiceError::Config { origin: origin.to_owned(), why };
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let read_error = |error: serde_saphyr::Error| wrong(one_line(&error.to_string()));
        let outer: Option<Outer> = serde_saphyr::from_str(text).map_err(read_error)?;
        let keys = match outer {
            None => Keys::default(),
            Some(Outer { telemetry: Some(section) }) => section.unwrap_or_default(),
            Some(Outer { telemetry: None }) => serde_saphyr::from_str(text).map_err(read_error)?,
        };
        keys.into_config().map_err(wrong)
    }

    /// Where telemetry goes: what is here, then the environment.
    pub(crate) fn export_settings(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<ExportSettings, ServiceError> {
        // Whoever debugs wants to see it, whatever else is set.
        if self.console || is_true(environment("KYMO_OTEL_DEBUG")) {
            return Ok(ExportSettings::console());
        }
        let asked = Asked {
            endpoint: self.otlp_endpoint.clone(),
            protocol: self.otlp_protocol,
            headers: self.otlp_headers.clone(),
            timeout: None,
        };
        ExportSettings::resolve(&asked, environment)
    }

    /// Whether there is any telemetry: `OTEL_SDK_DISABLED` switches it off.
    pub(crate) fn is_enabled(&self, environment: &dyn Fn(&str) -> Option<String>) -> bool {
        self.enabled && !is_true(environment("OTEL_SDK_DISABLED"))
    }

    /// How often metrics are sent; nothing if the SDK is to read its variable.
    pub(crate) fn metrics_interval(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Option<Duration> {
        let is_set = environment("OTEL_METRIC_EXPORT_INTERVAL").is_some();
        self.metrics_every.or((!is_set).then_some(METRICS_EVERY))
    }
}

/// Whether a variable says yes: `1` or `true`, in any case.
#[must_use]
pub(crate) fn is_true(value: Option<String>) -> bool {
    value.is_some_and(|value| matches!(value.trim().to_lowercase().as_str(), "1" | "true"))
}

fn one_line(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The file of a whole service.
#[derive(Deserialize)]
struct Outer {
    /// Nothing if the key is absent; `Some(None)` if it is there and empty.
    #[serde(default, deserialize_with = "present")]
    telemetry: Option<Option<Keys>>,
}

fn present<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<Keys>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// The keys of a configuration.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Keys {
    #[serde(default)]
    enabled: bool,
    service_name: Option<String>,
    otlp_endpoint: Option<String>,
    otlp_protocol: Option<String>,
    resource_attributes: Option<BTreeMap<String, Scalar>>,
    metric_prefix: Option<String>,
    metrics_every_seconds: Option<f64>,
    resource_metrics: Option<bool>,
}

/// A value of an attribute. All become text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Scalar {
    Bool(bool),
    Whole(i64),
    Float(f64),
    Text(String),
}

impl Scalar {
    fn into_text(self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Whole(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
            Self::Text(value) => value,
        }
    }
}

impl Keys {
    fn into_config(self) -> Result<Config, String> {
        let otlp_protocol = match self.otlp_protocol {
            None => None,
            Some(word) => Some(Protocol::of(&word).ok_or(format!(
                "otlp_protocol is {word:?}, expected grpc, http/protobuf or http/json"
            ))?),
        };
        let metrics_every = match self.metrics_every_seconds {
            None => None,
            Some(seconds) => {
                let every = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                if every < Duration::from_millis(100) {
                    return Err(format!(
                        "metrics_every_seconds is {seconds}, expected 0.1 or more"
                    ));
                }
                Some(every)
            }
        };
        let attributes = self.resource_attributes.unwrap_or_default();
        Ok(Config {
            enabled: self.enabled,
            service_name: self.service_name,
            otlp_endpoint: self.otlp_endpoint,
            otlp_protocol,
            resource_attributes: attributes
                .into_iter()
                .map(|(key, value)| (key, value.into_text()))
                .collect(),
            metric_prefix: self.metric_prefix,
            resource_metrics: self.resource_metrics.unwrap_or(true),
            metrics_every,
            ..Config::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Destination;

    #[test]
    fn a_file_of_the_service_and_one_of_telemetry_alone_say_the_same() {
        let alone = "enabled: true\nservice_name: tuft\notlp_endpoint: http://a.test:4317\n\
                     resource_attributes: {team: blue, replicas: 3, canary: true}\n";
        let indented: String = alone.lines().map(|line| format!("  {line}\n")).collect();
        let whole = format!("model: {{path: /m}}\ntelemetry:\n{indented}other: [1, 2]\n");
        let config = Config::from_yaml(alone).unwrap();
        assert_eq!(config, Config::from_yaml(&whole).unwrap());
        assert!(config.enabled);
        assert_eq!(config.service_name.as_deref(), Some("tuft"));
        assert_eq!(config.resource_attributes["replicas"], "3");
        assert_eq!(config.resource_attributes["canary"], "true");
    }

    #[test]
    fn nothing_said_is_off() {
        for text in ["", "telemetry:\n", "telemetry: {}\n", "{}", "telemetry: {service_name: a}"] {
            assert!(!Config::from_yaml(text).unwrap().enabled, "{text:?}");
        }
    }

    #[test]
    fn what_is_misspelt_is_told() {
        for (text, expected) in [
            ("telemetry: {enbled: true}", "enbled"),
            ("enbled: true", "enbled"),
            ("enabled: maybe", "line 1 column 10"),
            ("telemetry: {otlp_protocol: smoke}", "grpc, http/protobuf"),
            ("telemetry: {metrics_every_seconds: -1}", "0.1 or more"),
            ("[1, 2", ""),
        ] {
            let error = Config::from_yaml(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text:?}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = Config::from_file(Path::new("/nowhere/telemetry.yaml")).unwrap_err();
        assert!(error.to_string().contains("/nowhere/telemetry.yaml"), "{error}");
    }

    #[test]
    fn the_console_wins_over_an_endpoint() {
        let config = Config::enabled("a").with_endpoint("http://a.test:1");
        let debug = |name: &str| (name == "KYMO_OTEL_DEBUG").then(|| "1".to_owned());
        assert_eq!(config.export_settings(&debug).unwrap(), ExportSettings::console());
        let settings = config.clone().with_console().export_settings(&|_| None).unwrap();
        assert_eq!(settings, ExportSettings::console());
        let settings = config.export_settings(&|_| None).unwrap();
        assert!(matches!(settings.traces, Destination::Otlp(otlp) if otlp.source == "explicit"));
    }

    #[test]
    fn the_standard_switch_turns_it_off() {
        let config = Config::enabled("a");
        let off = |name: &str| (name == "OTEL_SDK_DISABLED").then(|| "TRUE".to_owned());
        assert!(!config.is_enabled(&off));
        assert!(config.is_enabled(&|_| None));
        assert!(!Config::default().is_enabled(&|_| None));
    }

    #[test]
    fn the_interval_of_metrics_is_the_programs_then_the_environments_then_ours() {
        let set = |name: &str| (name == "OTEL_METRIC_EXPORT_INTERVAL").then(|| "7".to_owned());
        assert_eq!(Config::default().metrics_interval(&|_| None), Some(METRICS_EVERY));
        assert_eq!(Config::default().metrics_interval(&set), None);
        let every = Duration::from_secs(3);
        let config = Config::default().with_metrics_every(every);
        assert_eq!(config.metrics_interval(&set), Some(every));
    }
}
