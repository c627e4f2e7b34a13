//! From what was asked for and the environment to settings.
//!
//! | precedence | endpoint |
//! |---|---|
//! | 1 | what the program or its configuration says ([`Asked::endpoint`]) |
//! | 2 | `KYMO_OTLP_ENDPOINT` |
//! | 3 | `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` (`…_METRICS_…`, `…_LOGS_…`), taken as it is |
//! | 4 | `OTEL_EXPORTER_OTLP_ENDPOINT` |
//! | 5 | `http://localhost:4317`; `http://localhost:4318` if the protocol is HTTP |
//!
//! Over HTTP, `/v1/traces` and so on are added to 1, 2, 4 and 5. Everything else (protocol,
//! headers, time-out, compression, certificates) comes from the program, then from
//! `OTEL_EXPORTER_OTLP_TRACES_…`, then from `OTEL_EXPORTER_OTLP_…`. Without a protocol, port 4318
//! is HTTP and everything else gRPC. `OTEL_TRACES_EXPORTER` (and so on) may be `otlp`, `console`
//! or `none`; an endpoint of 1 or 2 outdoes `console` and `none` no more than 3 and 4 do.
//!
//! The variables `OTEL_EXPORTER_OTLP_…` are read by [`kymo_forward::resolve`]. Here is what only
//! services have: `KYMO_OTLP_ENDPOINT`, `OTEL_…_EXPORTER`, and that nothing is guessed.

use kymo_forward::{Asked, OtlpSettings, Protocol, Signal, signals};

use super::settings::{Destination, ExportSettings};
use crate::error::ServiceError;

/// The variable that names the server for everything that is ours.
const OURS: &str = "KYMO_OTLP_ENDPOINT";

/// The environment of this process, for [`ExportSettings::resolve`]. What is empty is not set.
#[must_use]
pub fn process_environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

impl ExportSettings {
    /// Where telemetry goes; see [the module](self) for what wins over what. `environment` looks a
    /// variable up, [`process_environment`] outside tests.
    ///
    /// # Errors
    /// A variable that says what nobody understands, by its name.
    pub fn resolve(
        asked: &Asked,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ServiceError> {
        let lookup = |name: &str| {
            environment(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        Ok(Self {
            traces: destination(Signal::Traces, asked, &lookup)?,
            metrics: destination(Signal::Metrics, asked, &lookup)?,
            logs: destination(Signal::Logs, asked, &lookup)?,
        })
    }
}

fn destination(
    signal: Signal,
    asked: &Asked,
    environment: &impl Fn(&str) -> Option<String>,
) -> Result<Destination, ServiceError> {
    let name = format!("OTEL_{}_EXPORTER", signals::variable(signal));
    let mut by_exporter = None;
    if let Some(words) = environment(&name) {
        // Several may be named, with commas; what goes to a server is what is asked for here.
        let word = words.split(',').map(str::trim).find(|word| word.starts_with("otlp"));
        match word.unwrap_or(words.as_str()) {
            "otlp" => {}
            "otlp_proto_grpc" => by_exporter = Some(Protocol::Grpc),
            "otlp_proto_http" => by_exporter = Some(Protocol::HttpProtobuf),
            "console" | "logging" => return Ok(Destination::Console),
            "none" => return Ok(Destination::Nowhere),
            _ => {
                let expected = "otlp, otlp_proto_grpc, otlp_proto_http, console or none";
                return Err(ServiceError::Setting { name, value: words, expected });
            }
        }
    }
    let asked = Asked { protocol: asked.protocol.or(by_exporter), ..asked.clone() };
    otlp(signal, asked, environment).map(Destination::Otlp)
}

fn otlp(
    signal: Signal,
    mut asked: Asked,
    environment: &impl Fn(&str) -> Option<String>,
) -> Result<OtlpSettings, ServiceError> {
    let is_asked = asked.endpoint.as_deref().is_some_and(|asked| !asked.trim().is_empty());
    let ours = if is_asked { None } else { environment(OURS) };
    let is_ours = ours.is_some();
    asked.endpoint = ours.or(asked.endpoint);
    let mut settings = OtlpSettings::resolve(signal, &asked, environment, Err)?;
    if is_ours {
        settings.source = OURS;
    }
    settings.url()?;
    Ok(settings)
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
