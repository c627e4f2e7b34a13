//! Where telemetry goes, and how.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::percent;

/// A kind of telemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Signal {
    /// Spans.
    Traces,
    /// Metrics.
    Metrics,
    /// Log records.
    Logs,
}

impl Signal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Traces, Self::Metrics, Self::Logs];

    /// What its items are called.
    #[must_use]
    pub const fn items(self) -> &'static str {
        match self {
            Self::Traces => "spans",
            Self::Metrics => "metrics",
            Self::Logs => "log records",
        }
    }

    /// Its name in variables: `TRACES`, `METRICS`, `LOGS`.
    #[must_use]
    pub const fn variable(self) -> &'static str {
        match self {
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
            Self::Logs => "LOGS",
        }
    }

    /// Where OTLP over HTTP has it.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Metrics => "/v1/metrics",
            Self::Logs => "/v1/logs",
        }
    }
}

/// How requests are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over gRPC.
    Grpc,
    /// OTLP over HTTP, in protobuf.
    HttpProtobuf,
    /// OTLP over HTTP, in JSON.
    HttpJson,
}

impl Protocol {
    /// What a word means: `grpc`, `http/protobuf` (or `http`), `http/json`.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        match word.trim() {
            "grpc" => Some(Self::Grpc),
            "http/protobuf" | "http" => Some(Self::HttpProtobuf),
            "http/json" => Some(Self::HttpJson),
            _ => None,
        }
    }

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::HttpProtobuf => "http/protobuf",
            Self::HttpJson => "http/json",
        }
    }
}

/// How requests are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// With gzip.
    Gzip,
}

/// A server that speaks OTLP, and how it is talked to.
///
/// `Debug` shows no header's value and no password.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpSettings {
    /// The URL; for HTTP with the signal's path.
    pub endpoint: String,
    /// Who said so: a variable's name, `explicit`, or `default`.
    pub source: &'static str,
    /// How requests are written.
    pub protocol: Protocol,
    /// What goes with every request.
    pub headers: Vec<(String, String)>,
    /// How long one request may take.
    pub timeout: Duration,
    /// How requests are packed.
    pub compression: Option<Compression>,
    /// Authorities to trust instead of the system's: a file in PEM.
    pub certificate: Option<PathBuf>,
    /// What to show the server: a file in PEM.
    pub client_certificate: Option<PathBuf>,
    /// Its key: a file in PEM.
    pub client_key: Option<PathBuf>,
}

impl OtlpSettings {
    /// A server, with defaults for the rest. For HTTP, `endpoint` is whole, with its path.
    #[must_use]
    pub fn new(endpoint: impl Into<String>, protocol: Protocol) -> Self {
        Self {
            endpoint: endpoint.into(),
            source: "explicit",
            protocol,
            headers: Vec::new(),
            timeout: crate::limits::EXPORT_TIMEOUT,
            compression: None,
            certificate: None,
            client_certificate: None,
            client_key: None,
        }
    }

    /// The endpoint, for messages: without user and password.
    #[must_use]
    pub fn shown_endpoint(&self) -> String {
        shown(&self.endpoint)
    }

    /// The same settings with user and password where requests have them: in a header, unless
    /// there is one already, and not in the endpoint, which errors show.
    pub(super) fn without_credentials(&self) -> Self {
        let mut settings = self.clone();
        let Some(user_info) = user_info(&self.endpoint) else { return settings };
        settings.endpoint = self.shown_endpoint();
        let is_told = |(name, _): &(String, String)| name.eq_ignore_ascii_case(AUTHORIZATION);
        if !user_info.is_empty() && !settings.headers.iter().any(is_told) {
            let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
            let pair = format!("{}:{}", percent::decode(user), percent::decode(password));
            let basic = format!("Basic {}", STANDARD.encode(pair));
            settings.headers.push((AUTHORIZATION.to_owned(), basic));
        }
        settings
    }

    /// Scheme, host and port, for messages and to tell servers apart.
    #[must_use]
    pub fn authority(&self) -> String {
        let shown = self.shown_endpoint();
        let from = shown.find("://").map_or(0, |at| at + 3);
        let end = shown[from..].find('/').map_or(shown.len(), |at| from + at);
        shown[..end].to_owned()
    }
}

/// The header that says who asks.
const AUTHORIZATION: &str = "authorization";

/// User and password as a URL has them.
fn user_info(endpoint: &str) -> Option<&str> {
    let (_, rest) = endpoint.split_once("://")?;
    let authority = rest.split('/').next().unwrap_or_default();
    authority.rsplit_once('@').map(|(user_info, _)| user_info)
}

/// A URL without user and password.
pub(crate) fn shown(endpoint: &str) -> String {
    match endpoint.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let host = rest[..end].rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{}", &rest[end..])
        }
        None => endpoint.rsplit('@').next().unwrap_or_default().to_owned(),
    }
}

impl fmt::Debug for OtlpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("OtlpSettings")
            .field("endpoint", &self.shown_endpoint())
            .field("source", &self.source)
            .field("protocol", &self.protocol.word())
            .field("headers", &headers)
            .field("timeout", &self.timeout)
            .field("compression", &self.compression)
            .finish_non_exhaustive()
    }
}

/// Where a signal goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// To a server.
    Otlp(OtlpSettings),
    /// To stdout.
    Console,
    /// Nowhere.
    Nowhere,
}

impl Destination {
    /// The server, if there is one.
    #[must_use]
    pub fn otlp(&self) -> Option<&OtlpSettings> {
        match self {
            Self::Otlp(settings) => Some(settings),
            Self::Console | Self::Nowhere => None,
        }
    }
}

/// Where each signal goes. [`ExportSettings::resolve`] makes it of what was asked for and of the
/// environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportSettings {
    /// Spans.
    pub traces: Destination,
    /// Metrics.
    pub metrics: Destination,
    /// Log records.
    pub logs: Destination,
}

impl ExportSettings {
    /// Everything to stdout.
    #[must_use]
    pub fn console() -> Self {
        Self {
            traces: Destination::Console,
            metrics: Destination::Console,
            logs: Destination::Console,
        }
    }

    /// Where a signal goes.
    #[must_use]
    pub fn of(&self, signal: Signal) -> &Destination {
        match signal {
            Signal::Traces => &self.traces,
            Signal::Metrics => &self.metrics,
            Signal::Logs => &self.logs,
        }
    }

    /// Whether nothing goes anywhere.
    #[must_use]
    pub fn is_nowhere(&self) -> bool {
        Signal::ALL.iter().all(|signal| *self.of(*signal) == Destination::Nowhere)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_has_a_secret() {
        let mut settings =
            OtlpSettings::new("https://user:hunter2@a.test:4318/v1/traces", Protocol::HttpProtobuf);
        settings.headers.push(("authorization".into(), "Bearer hunter2".into()));
        let shown = format!("{settings:?} {} {}", settings.shown_endpoint(), settings.authority());
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("authorization") && shown.contains("a.test"), "{shown}");
        assert_eq!(settings.authority(), "https://a.test:4318");
    }

    #[test]
    fn a_password_goes_from_the_endpoint_into_a_header() {
        let of = |endpoint: &str| OtlpSettings::new(endpoint, Protocol::Grpc);
        let settings = of("http://me:p%40ss@a.test:4317/v1/x@y").without_credentials();
        assert_eq!(settings.endpoint, "http://a.test:4317/v1/x@y");
        // `me:p@ss`.
        let basic = ("authorization".to_owned(), "Basic bWU6cEBzcw==".to_owned());
        assert_eq!(settings.headers, [basic]);
        // Who names the header means it.
        let mut told = of("http://me:pass@a.test:4317");
        told.headers.push(("Authorization".to_owned(), "Bearer x".to_owned()));
        let settings = told.without_credentials();
        assert_eq!((&*settings.endpoint, &settings.headers), ("http://a.test:4317", &told.headers));
        let plain = of("http://a.test:4317");
        assert_eq!(plain.without_credentials(), plain);
    }
}
