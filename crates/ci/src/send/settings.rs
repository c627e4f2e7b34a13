//! Where spans are sent to, and how.
//!
//! | variable | what it says |
//! |---|---|
//! | `OTEL_TRACES_EXPORTER` | `otlp`, `otlp_proto_grpc`, `otlp_proto_http`, `console`, `none`; several with commas |
//! | `OTEL_EXPORTER_OTLP_PROTOCOL` | `grpc`, `http/protobuf`, `http/json` |
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | the server; for HTTP, `/v1/traces` is added |
//! | `OTEL_EXPORTER_OTLP_HEADERS` | `name=value,…` that go with every request |
//! | `OTEL_EXPORTER_OTLP_COMPRESSION` | `gzip` or `none` |
//! | `OTEL_EXPORTER_OTLP_CERTIFICATE` | file with the authorities to trust |
//! | `OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE`, `…_CLIENT_KEY` | files with what to show the server |
//! | `OTEL_EXPORTER_OTLP_INSECURE` | whether an endpoint without a scheme is without TLS |
//!
//! Each of the second kind has a form for traces (`OTEL_EXPORTER_OTLP_TRACES_…`) that comes first.
//! Flags come before all of them.

use std::path::PathBuf;
use std::time::Duration;

use crate::environment::Environment;
use crate::resource_attributes;
use crate::warnings::Warnings;

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
}

/// Where spans go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exporter {
    /// To a server.
    Otlp(Protocol),
    /// To stdout.
    Console,
    /// Nowhere.
    None,
}

/// What somebody asked for, instead of what the environment says.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The server.
    pub endpoint: Option<String>,
    /// The protocol.
    pub protocol: Option<Protocol>,
    /// Time for everything.
    pub timeout: Option<Duration>,
}

/// Where to and how.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where spans go.
    pub exporters: Vec<Exporter>,
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
    /// Time for everything.
    pub timeout: Duration,
}

impl Settings {
    /// What flags and environment say. What cannot be understood is a warning.
    #[must_use]
    pub fn resolve(asked: &Asked, environment: &Environment, warnings: &mut Warnings) -> Self {
        let of_traces = |name: &str| environment.get(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"));
        let general = |name: &str| environment.get(&format!("OTEL_EXPORTER_OTLP_{name}"));
        let variable = |name: &str| of_traces(name).or_else(|| general(name));
        let protocol = asked.protocol.or_else(|| {
            let word = variable("PROTOCOL")?;
            let protocol = Protocol::of(word);
            if protocol.is_none() {
                warnings.add(format!(
                    "OTEL_EXPORTER_OTLP_PROTOCOL is {word:?}, expected grpc, http/protobuf or \
                     http/json: grpc is used"
                ));
            }
            protocol
        });
        let given = asked.endpoint.as_deref().or_else(|| variable("ENDPOINT"));
        let exporters = exporters(environment, protocol, given, warnings);
        let is_http = exporters.iter().any(|exporter| {
            matches!(exporter, Exporter::Otlp(Protocol::HttpProtobuf | Protocol::HttpJson))
        });
        // Who names an endpoint for traces names the whole of it.
        let is_whole = asked.endpoint.is_none() && of_traces("ENDPOINT").is_some();
        let is_insecure =
            ["1", "true"].contains(&variable("INSECURE").unwrap_or("").to_lowercase().as_str());
        let endpoint = match given {
            Some(given) => with_scheme(given, is_insecure),
            None if is_http => usual_endpoint(Protocol::HttpProtobuf).to_owned(),
            None => usual_endpoint(Protocol::Grpc).to_owned(),
        };
        let endpoint = if is_http && !is_whole { with_path(&endpoint) } else { endpoint };
        let headers = resource_attributes::parse(variable("HEADERS").unwrap_or_default());
        Self {
            exporters,
            endpoint,
            headers: headers
                .iter()
                .map(|(name, value)| (name.to_lowercase(), value.to_string()))
                .collect(),
            is_gzipped: variable("COMPRESSION") == Some("gzip"),
            certificate: variable("CERTIFICATE").map(PathBuf::from),
            client_certificate: variable("CLIENT_CERTIFICATE").map(PathBuf::from),
            client_key: variable("CLIENT_KEY").map(PathBuf::from),
            timeout: asked.timeout.unwrap_or(crate::limits::SEND_TIMEOUT),
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

    /// Whether anything goes to a server.
    #[must_use]
    pub fn is_sending(&self) -> bool {
        self.exporters.iter().any(|exporter| matches!(exporter, Exporter::Otlp(_)))
    }
}

fn exporters(
    environment: &Environment,
    protocol: Option<Protocol>,
    endpoint: Option<&str>,
    warnings: &mut Warnings,
) -> Vec<Exporter> {
    let protocol = protocol.unwrap_or_else(|| usual_protocol(endpoint));
    // Where telemetry is switched by a variable, that holds for what a job runs by itself, too.
    let is_off = environment.is_true("OTEL_SDK_DISABLED")
        || environment.get("TELEMETRY_ENABLED").is_some_and(|value| value != "true");
    let words = environment.get("OTEL_TRACES_EXPORTER").unwrap_or("otlp");
    let words = if is_off { "none" } else { words };
    let exporter = |word: &str| match word.trim() {
        "otlp" => Exporter::Otlp(protocol),
        "otlp_proto_grpc" => Exporter::Otlp(Protocol::Grpc),
        "otlp_proto_http" if protocol == Protocol::HttpJson => Exporter::Otlp(Protocol::HttpJson),
        "otlp_proto_http" => Exporter::Otlp(Protocol::HttpProtobuf),
        "console" | "logging" => Exporter::Console,
        "none" => Exporter::None,
        other => {
            warnings.add(format!(
                "OTEL_TRACES_EXPORTER is {other:?}, expected otlp, otlp_proto_grpc, \
                 otlp_proto_http, console or none: otlp is used"
            ));
            Exporter::Otlp(protocol)
        }
    };
    words.split(',').map(exporter).collect()
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

fn with_path(endpoint: &str) -> String {
    format!("{}/v1/traces", endpoint.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(variables: &[(&str, &str)]) -> (Settings, Warnings) {
        let environment = variables.iter().copied().collect();
        let mut warnings = Warnings::new();
        (Settings::resolve(&Asked::default(), &environment, &mut warnings), warnings)
    }

    #[test]
    fn endpoint_and_protocol_are_as_the_specification_has_them() {
        for (variables, exporter, endpoint) in [
            (vec![], Exporter::Otlp(Protocol::Grpc), "http://localhost:4317"),
            (
                vec![("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf")],
                Exporter::Otlp(Protocol::HttpProtobuf),
                "http://localhost:4318/v1/traces",
            ),
            (
                vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "https://a.test:4318/")],
                Exporter::Otlp(Protocol::HttpProtobuf),
                "https://a.test:4318/v1/traces",
            ),
            (
                vec![
                    ("OTEL_TRACES_EXPORTER", "otlp_proto_http"),
                    ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://a.test/x"),
                ],
                Exporter::Otlp(Protocol::HttpProtobuf),
                "http://a.test/x",
            ),
            (
                vec![
                    ("OTEL_TRACES_EXPORTER", "otlp_proto_grpc"),
                    ("OTEL_EXPORTER_OTLP_ENDPOINT", "a.test:4317"),
                ],
                Exporter::Otlp(Protocol::Grpc),
                "https://a.test:4317",
            ),
            (
                vec![("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:1")],
                Exporter::Otlp(Protocol::Grpc),
                "http://localhost:1",
            ),
            (
                vec![
                    ("OTEL_EXPORTER_OTLP_ENDPOINT", "a.test:1"),
                    ("OTEL_EXPORTER_OTLP_INSECURE", "true"),
                ],
                Exporter::Otlp(Protocol::Grpc),
                "http://a.test:1",
            ),
            (vec![("OTEL_TRACES_EXPORTER", "console")], Exporter::Console, "http://localhost:4317"),
            (vec![("OTEL_TRACES_EXPORTER", "none")], Exporter::None, "http://localhost:4317"),
        ] {
            let (settings, warnings) = resolve(&variables);
            assert_eq!(
                (settings.exporters[0], settings.endpoint.as_str()),
                (exporter, endpoint),
                "{variables:?}"
            );
            assert!(warnings.all().is_empty(), "{warnings:?}");
        }
    }

    #[test]
    fn nothing_is_sent_where_telemetry_is_off_and_no_password_is_shown() {
        for variable in [("TELEMETRY_ENABLED", "false"), ("OTEL_SDK_DISABLED", "true")] {
            assert_eq!(resolve(&[variable]).0.exporters, [Exporter::None]);
        }
        assert!(resolve(&[("TELEMETRY_ENABLED", "true")]).0.is_sending());
        let (settings, _) = resolve(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://u:p@h:1/x@y")]);
        assert_eq!(settings.shown_endpoint(), "https://h:1/x@y");
    }

    #[test]
    fn a_word_that_is_not_known_is_a_warning() {
        let (settings, warnings) = resolve(&[
            ("OTEL_TRACES_EXPORTER", "zipkin"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "carrier pigeon"),
        ]);
        assert_eq!(settings.exporters, [Exporter::Otlp(Protocol::Grpc)]);
        assert_eq!(warnings.all().len(), 2);
    }

    #[test]
    fn headers_are_read_and_unescaped() {
        let (settings, _) =
            resolve(&[("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20eDp5, x=1")]);
        let expected = [("authorization", "Basic eDp5"), ("x", "1")];
        assert_eq!(
            settings.headers,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}
