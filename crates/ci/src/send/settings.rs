//! Where spans are sent to, and how.
//!
//! | variable | what it says |
//! |---|---|
//! | `OTEL_TRACES_EXPORTER` | `otlp`, `otlp_proto_grpc`, `otlp_proto_http`, `console`, `none`; several with commas |
//! | `OTEL_SDK_DISABLED`, `TELEMETRY_ENABLED` | whether anything is sent at all |
//!
//! The server and how it is talked to are told by `OTEL_EXPORTER_OTLP_…`, see
//! [`kymo_forward::resolve`]. Flags come before all of them.

use std::time::Duration;

use kymo_forward::OtlpSettings;
use kymo_wire::Signal;

use crate::environment::Environment;
use crate::warnings::Warnings;

pub use kymo_forward::Protocol;
pub use kymo_forward::settings::{usual_endpoint, usual_protocol};

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
    /// The server.
    pub server: OtlpSettings,
    /// Time for everything.
    pub timeout: Duration,
}

impl Settings {
    /// What flags and environment say. What cannot be understood is a warning.
    #[must_use]
    pub fn resolve(asked: &Asked, environment: &Environment, warnings: &mut Warnings) -> Self {
        let told = server(asked, asked.protocol, environment, warnings).protocol;
        let exporters = exporters(environment, told, warnings);
        // An exporter may name another protocol, and endpoints of HTTP have a path.
        let over_http = exporters.iter().find_map(|exporter| match exporter {
            Exporter::Otlp(protocol) if protocol.is_http() => Some(*protocol),
            _ => None,
        });
        let protocol = over_http.unwrap_or(Protocol::Grpc);
        Self {
            exporters,
            server: server(asked, Some(protocol), environment, warnings),
            timeout: asked.timeout.unwrap_or(crate::limits::SEND_TIMEOUT),
        }
    }

    /// The server, for messages: without user and password.
    #[must_use]
    pub fn shown_endpoint(&self) -> String {
        self.server.shown_endpoint()
    }

    /// Whether anything goes to a server.
    #[must_use]
    pub fn is_sending(&self) -> bool {
        self.exporters.iter().any(|exporter| matches!(exporter, Exporter::Otlp(_)))
    }
}

/// The server that is asked for, spoken to in a protocol.
fn server(
    asked: &Asked,
    protocol: Option<Protocol>,
    environment: &Environment,
    warnings: &mut Warnings,
) -> OtlpSettings {
    let endpoint = asked.endpoint.clone();
    let asked = kymo_forward::Asked { endpoint, protocol, ..kymo_forward::Asked::default() };
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let warn = |warning| warnings.add(warning);
    OtlpSettings::resolve_or_warn(Signal::Traces, &asked, variable, warn)
}

fn exporters(
    environment: &Environment,
    protocol: Protocol,
    warnings: &mut Warnings,
) -> Vec<Exporter> {
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
                (settings.exporters[0], settings.server.endpoint.as_str()),
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
            settings.server.headers,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}
