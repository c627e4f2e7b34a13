//! Where requests are sent to, and how.
//!
//! | variable | what it says |
//! |---|---|
//! | `OTEL_EXPORTER_OTLP_PROTOCOL` | `grpc`, `http/protobuf`, `http/json` |
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | the server; for HTTP, `/v1/traces` and the like is added |
//! | `OTEL_EXPORTER_OTLP_HEADERS` | `name=value,…` that go with every request |
//! | `OTEL_EXPORTER_OTLP_COMPRESSION` | `gzip` or `none` |
//! | `OTEL_EXPORTER_OTLP_CERTIFICATE` | file with the authorities to trust |
//! | `OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE`, `…_CLIENT_KEY` | files with what to show the server |
//! | `OTEL_EXPORTER_OTLP_INSECURE` | whether an endpoint without a scheme is without TLS |
//!
//! Each has a form for one signal (`OTEL_EXPORTER_OTLP_TRACES_…`, `…_METRICS_…`, `…_LOGS_…`) that
//! comes first; an endpoint of that form is the whole of it. What was asked for comes before all of
//! them. A variable that is empty counts as not set.

use std::path::PathBuf;
use std::str::FromStr;

use kymo_wire::Signal;

use crate::pairs;

/// Where a server listens for gRPC unless told otherwise.
const DEFAULT_ENDPOINT: &str = "http://localhost:4317";
const DEFAULT_HTTP_ENDPOINT: &str = "http://localhost:4318";

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
    /// What a word means.
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
    pub fn word(self) -> &'static str {
        match self {
            Self::Grpc => "grpc",
            Self::HttpProtobuf => "http/protobuf",
            Self::HttpJson => "http/json",
        }
    }

    /// Whether it is one of those over HTTP, whose endpoints have a path.
    #[must_use]
    pub fn is_http(self) -> bool {
        matches!(self, Self::HttpProtobuf | Self::HttpJson)
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::of(word).ok_or_else(|| "expected grpc, http/protobuf or http/json".to_owned())
    }
}

/// What somebody asked for, instead of what the environment says.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The server.
    pub endpoint: Option<String>,
    /// The protocol.
    pub protocol: Option<Protocol>,
}

/// Where to and how, for one signal.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How requests are written.
    pub protocol: Protocol,
    /// The server's URL; for HTTP with the path.
    pub endpoint: String,
    /// What goes with every request.
    pub headers: Vec<(String, String)>,
    /// Whether requests are packed.
    pub is_gzipped: bool,
    /// Authorities to trust instead of the system's.
    pub certificate: Option<PathBuf>,
    /// What to show the server.
    pub client_certificate: Option<PathBuf>,
    /// Its key.
    pub client_key: Option<PathBuf>,
}

impl Settings {
    /// What was asked for, and what the environment says of a signal. `variable` gives the value of
    /// a variable; what cannot be understood goes to `warn`.
    pub fn resolve(
        signal: Signal,
        asked: &Asked,
        variable: impl Fn(&str) -> Option<String>,
        mut warn: impl FnMut(String),
    ) -> Self {
        let set = |name: String| variable(&name).filter(|value| !value.is_empty());
        let word = signal.name().to_uppercase();
        let of_signal = |name: &str| set(format!("OTEL_EXPORTER_OTLP_{word}_{name}"));
        let general = |name: &str| set(format!("OTEL_EXPORTER_OTLP_{name}"));
        let variable = |name: &str| of_signal(name).or_else(|| general(name));
        let given = asked.endpoint.clone().or_else(|| variable("ENDPOINT"));
        let protocol = asked.protocol.or_else(|| {
            let word = variable("PROTOCOL")?;
            let protocol = Protocol::of(&word);
            if protocol.is_none() {
                warn(format!(
                    "OTEL_EXPORTER_OTLP_PROTOCOL is {word:?}, expected grpc, http/protobuf or \
                     http/json: grpc is used"
                ));
            }
            protocol
        });
        let protocol = protocol.unwrap_or_else(|| usual_protocol(given.as_deref()));
        // Who names an endpoint for a signal names the whole of it.
        let is_whole = asked.endpoint.is_none() && of_signal("ENDPOINT").is_some();
        let is_insecure = ["1", "true"]
            .contains(&variable("INSECURE").unwrap_or_default().to_lowercase().as_str());
        let endpoint = match given {
            Some(given) => with_scheme(&given, is_insecure),
            None => usual_endpoint(protocol).to_owned(),
        };
        let endpoint = match protocol.is_http() && !is_whole {
            true => with_path(&endpoint, signal),
            false => endpoint,
        };
        let headers = variable("HEADERS").unwrap_or_default();
        Self {
            protocol,
            endpoint,
            headers: pairs::parse(&headers)
                .map(|(name, value)| (name.to_lowercase(), value))
                .collect(),
            is_gzipped: variable("COMPRESSION").as_deref() == Some("gzip"),
            certificate: variable("CERTIFICATE").map(PathBuf::from),
            client_certificate: variable("CLIENT_CERTIFICATE").map(PathBuf::from),
            client_key: variable("CLIENT_KEY").map(PathBuf::from),
        }
    }

    /// The server, for messages: without user and password.
    #[must_use]
    pub fn shown_endpoint(&self) -> String {
        match self.endpoint.split_once("://") {
            Some((scheme, rest)) => {
                let end = rest.find('/').unwrap_or(rest.len());
                let host = rest[..end].rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}{}", &rest[end..])
            }
            None => self.endpoint.clone(),
        }
    }
}

/// The protocol that an endpoint is for, if nobody says it: the port that everybody gives to OTLP
/// over HTTP says as much.
#[must_use]
pub fn usual_protocol(endpoint: Option<&str>) -> Protocol {
    let is_http =
        endpoint.is_some_and(|endpoint| endpoint.trim_end_matches('/').ends_with(":4318"));
    if is_http { Protocol::HttpProtobuf } else { Protocol::Grpc }
}

/// Where a server listens for a protocol, if nobody says it.
#[must_use]
pub fn usual_endpoint(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Grpc => DEFAULT_ENDPOINT,
        Protocol::HttpProtobuf | Protocol::HttpJson => DEFAULT_HTTP_ENDPOINT,
    }
}

/// An endpoint that is only a host and a port, with the scheme that is meant.
fn with_scheme(endpoint: &str, is_insecure: bool) -> String {
    if endpoint.contains("://") {
        return endpoint.to_owned();
    }
    let host = endpoint.split(['/', ':']).next().unwrap_or_default();
    let is_here = host == "localhost" || host.starts_with("127.") || endpoint.starts_with("[::1]");
    let scheme = if is_insecure || is_here { "http" } else { "https" };
    format!("{scheme}://{endpoint}")
}

fn with_path(endpoint: &str, signal: Signal) -> String {
    format!("{}/v1/{signal}", endpoint.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Variables<'a> = &'a [(&'a str, &'a str)];

    fn resolve(signal: Signal, variables: Variables<'_>) -> (Settings, Vec<String>) {
        resolve_asked(signal, &Asked::default(), variables)
    }

    fn resolve_asked(
        signal: Signal,
        asked: &Asked,
        variables: Variables<'_>,
    ) -> (Settings, Vec<String>) {
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        };
        let mut warnings = Vec::new();
        let settings = Settings::resolve(signal, asked, find, |warning| warnings.push(warning));
        (settings, warnings)
    }

    #[test]
    fn endpoint_and_protocol_are_as_the_specification_has_them() {
        use Protocol::{Grpc, HttpJson, HttpProtobuf};
        use Signal::{Logs, Metrics, Traces};
        const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
        const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
        let cases: &[(Signal, Variables<'_>, Protocol, &str)] = &[
            (Traces, &[], Grpc, "http://localhost:4317"),
            (Traces, &[(ENDPOINT, "")], Grpc, "http://localhost:4317"),
            (Logs, &[(PROTOCOL, "http/protobuf")], HttpProtobuf, "http://localhost:4318/v1/logs"),
            (
                Metrics,
                &[(ENDPOINT, "https://a.test:4318/")],
                HttpProtobuf,
                "https://a.test:4318/v1/metrics",
            ),
            (
                Traces,
                &[
                    ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
                    ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a.test/x"),
                    (ENDPOINT, "http://b.test"),
                ],
                HttpJson,
                "http://a.test/x",
            ),
            (
                Logs,
                &[
                    ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a.test/x"),
                    (ENDPOINT, "http://b.test/base"),
                    (PROTOCOL, "http/json"),
                ],
                HttpJson,
                "http://b.test/base/v1/logs",
            ),
            (Traces, &[(ENDPOINT, "a.test:4317")], Grpc, "https://a.test:4317"),
            (Traces, &[(ENDPOINT, "localhost:1")], Grpc, "http://localhost:1"),
            (
                Traces,
                &[(ENDPOINT, "a.test:1"), ("OTEL_EXPORTER_OTLP_INSECURE", "true")],
                Grpc,
                "http://a.test:1",
            ),
        ];
        for (signal, variables, protocol, endpoint) in cases {
            let (settings, warnings) = resolve(*signal, variables);
            assert_eq!(
                (settings.protocol, settings.endpoint.as_str()),
                (*protocol, *endpoint),
                "{signal} {variables:?}"
            );
            assert_eq!(warnings, [] as [&str; 0]);
        }
    }

    #[test]
    fn what_was_asked_for_comes_first() {
        let asked = Asked {
            endpoint: Some("http://asked.test:1".into()),
            protocol: Some(Protocol::HttpProtobuf),
        };
        let (settings, _) = resolve_asked(
            Signal::Traces,
            &asked,
            &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a.test/x")],
        );
        assert_eq!(settings.endpoint, "http://asked.test:1/v1/traces");
    }

    #[test]
    fn no_password_is_shown_and_an_unknown_word_is_a_warning() {
        let (settings, _) =
            resolve(Signal::Traces, &[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://u:p@h:1/x@y")]);
        assert_eq!(settings.shown_endpoint(), "https://h:1/x@y");
        let (settings, warnings) =
            resolve(Signal::Traces, &[("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier pigeon")]);
        assert_eq!((settings.protocol, warnings.len()), (Protocol::Grpc, 1));
    }

    #[test]
    fn headers_are_read_and_unescaped() {
        let (settings, _) = resolve(
            Signal::Traces,
            &[("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20eDp5, x=1")],
        );
        let expected = [("authorization", "Basic eDp5"), ("x", "1")];
        assert_eq!(
            settings.headers,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}
