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

use std::time::Duration;

use super::settings::{Compression, Destination, ExportSettings, OtlpSettings, Protocol, Signal};
use crate::error::ServiceError;
use crate::limits::EXPORT_TIMEOUT;

/// What the program or its configuration asks for. What is absent comes from the environment.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The server: a URL without the signals' paths.
    pub endpoint: Option<String>,
    /// How requests are written.
    pub protocol: Option<Protocol>,
    /// What goes with every request, beside what the environment says; the same name wins over it.
    pub headers: Vec<(String, String)>,
    /// How long one request may take.
    pub timeout: Option<Duration>,
}

impl Asked {
    /// An endpoint.
    #[must_use]
    pub fn endpoint(endpoint: impl Into<String>) -> Self {
        Self { endpoint: Some(endpoint.into()), ..Self::default() }
    }
}

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
        let of = |signal| Resolver { asked, environment: &lookup, signal }.destination();
        Ok(Self {
            traces: of(Signal::Traces)?,
            metrics: of(Signal::Metrics)?,
            logs: of(Signal::Logs)?,
        })
    }
}

struct Resolver<'a> {
    asked: &'a Asked,
    environment: &'a dyn Fn(&str) -> Option<String>,
    signal: Signal,
}

/// An endpoint as it was found.
struct Found {
    endpoint: String,
    source: &'static str,
    /// Whether it has its path already.
    is_whole: bool,
}

impl Resolver<'_> {
    fn destination(&self) -> Result<Destination, ServiceError> {
        let name = format!("OTEL_{}_EXPORTER", self.signal.variable());
        let mut protocol = None;
        if let Some(words) = (self.environment)(&name) {
            // Several may be named, with commas; what goes to a server is what is asked for here.
            let word = words.split(',').map(str::trim).find(|word| word.starts_with("otlp"));
            match word.unwrap_or(words.as_str()) {
                "otlp" => {}
                "otlp_proto_grpc" => protocol = Some(Protocol::Grpc),
                "otlp_proto_http" => protocol = Some(Protocol::HttpProtobuf),
                "console" | "logging" => return Ok(Destination::Console),
                "none" => return Ok(Destination::Nowhere),
                _ => {
                    let expected = "otlp, otlp_proto_grpc, otlp_proto_http, console or none";
                    return Err(ServiceError::Setting { name, value: words, expected });
                }
            }
        }
        self.otlp(protocol).map(Destination::Otlp)
    }

    fn otlp(&self, by_exporter: Option<Protocol>) -> Result<OtlpSettings, ServiceError> {
        let found = self.endpoint();
        let protocol = match self.asked.protocol.or(by_exporter) {
            Some(protocol) => protocol,
            None => self.protocol(found.as_ref())?,
        };
        let found = found.unwrap_or_else(|| Found {
            endpoint: match protocol {
                Protocol::Grpc => "http://localhost:4317".to_owned(),
                Protocol::HttpProtobuf | Protocol::HttpJson => "http://localhost:4318".to_owned(),
            },
            source: "default",
            is_whole: false,
        });
        let endpoint = self.url(&found, protocol)?;
        let compression = match self.variable("COMPRESSION") {
            None => None,
            Some((_, word)) if word == "none" => None,
            Some((_, word)) if word == "gzip" => Some(Compression::Gzip),
            Some((name, value)) => {
                return Err(ServiceError::Setting { name, value, expected: "gzip or none" });
            }
        };
        let file = |name| self.variable(name).map(|(_, path)| path.into());
        let settings = OtlpSettings {
            endpoint,
            source: found.source,
            protocol,
            headers: self.headers()?,
            timeout: self.timeout()?,
            compression,
            certificate: file("CERTIFICATE"),
            client_certificate: file("CLIENT_CERTIFICATE"),
            client_key: file("CLIENT_KEY"),
        };
        if settings.client_key.is_some() && settings.client_certificate.is_none() {
            return Err(ServiceError::Contradiction(
                "OTEL_EXPORTER_OTLP_CLIENT_KEY is set but OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE \
                 is not"
                    .to_owned(),
            ));
        }
        Ok(settings)
    }

    /// A variable of the signal, else of all signals: its name and value.
    fn variable(&self, name: &str) -> Option<(String, String)> {
        let own = format!("OTEL_EXPORTER_OTLP_{}_{name}", self.signal.variable());
        let general = format!("OTEL_EXPORTER_OTLP_{name}");
        [own, general].into_iter().find_map(|name| {
            let value = (self.environment)(&name)?;
            Some((name, value))
        })
    }

    fn endpoint(&self) -> Option<Found> {
        let found = |endpoint, source, is_whole| Some(Found { endpoint, source, is_whole });
        if let Some(endpoint) = self.asked.endpoint.as_deref().map(str::trim)
            && !endpoint.is_empty()
        {
            return found(endpoint.to_owned(), "explicit", false);
        }
        if let Some(endpoint) = (self.environment)("KYMO_OTLP_ENDPOINT") {
            return found(endpoint, "KYMO_OTLP_ENDPOINT", false);
        }
        let own = match self.signal {
            Signal::Traces => "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            Signal::Metrics => "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
            Signal::Logs => "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
        };
        if let Some(endpoint) = (self.environment)(own) {
            return found(endpoint, own, true);
        }
        let general = "OTEL_EXPORTER_OTLP_ENDPOINT";
        found((self.environment)(general)?, general, false)
    }

    fn protocol(&self, found: Option<&Found>) -> Result<Protocol, ServiceError> {
        if let Some((name, value)) = self.variable("PROTOCOL") {
            let expected = "grpc, http/protobuf or http/json";
            return Protocol::of(&value).ok_or(ServiceError::Setting { name, value, expected });
        }
        // The port that everybody gives to OTLP over HTTP says as much.
        let is_http = found.is_some_and(|found| {
            let rest = found.endpoint.split_once("://").map_or(&*found.endpoint, |(_, rest)| rest);
            rest.split('/').next().is_some_and(|host| host.ends_with(":4318"))
        });
        Ok(if is_http { Protocol::HttpProtobuf } else { Protocol::Grpc })
    }

    fn url(&self, found: &Found, protocol: Protocol) -> Result<String, ServiceError> {
        let wrong = || ServiceError::Setting {
            name: if found.source == "explicit" { "the endpoint" } else { found.source }.to_owned(),
            value: super::settings::shown(&found.endpoint),
            expected: "a URL such as http://localhost:4317",
        };
        let url = self.with_scheme(&found.endpoint)?;
        let parsed = reqwest::Url::parse(&url).map_err(|_| wrong())?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(wrong());
        }
        if protocol == Protocol::Grpc || found.is_whole {
            return Ok(url);
        }
        let path = self.signal.path();
        let base = url.trim_end_matches('/');
        // Who copies an endpoint from elsewhere often copies the path of traces with it.
        let base =
            Signal::ALL.iter().find_map(|signal| base.strip_suffix(signal.path())).unwrap_or(base);
        Ok(format!("{base}{path}"))
    }

    /// An endpoint that is only a host and a port, with the scheme that is meant.
    fn with_scheme(&self, endpoint: &str) -> Result<String, ServiceError> {
        if endpoint.contains("://") {
            return Ok(endpoint.to_owned());
        }
        let is_insecure = match self.variable("INSECURE") {
            None => false,
            Some((name, value)) => match value.to_lowercase().as_str() {
                "true" | "1" => true,
                "false" | "0" => false,
                _ => {
                    let expected = "true or false";
                    return Err(ServiceError::Setting { name, value, expected });
                }
            },
        };
        let host = endpoint.split(['/', ':']).next().unwrap_or_default();
        let is_here =
            host == "localhost" || host.starts_with("127.") || endpoint.starts_with("[::1]");
        let scheme = if is_insecure || is_here { "http" } else { "https" };
        Ok(format!("{scheme}://{endpoint}"))
    }

    fn headers(&self) -> Result<Vec<(String, String)>, ServiceError> {
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut set = |name: String, value: String| {
            headers.retain(|(other, _)| *other != name);
            headers.push((name, value));
        };
        if let Some((name, value)) = self.variable("HEADERS") {
            for pair in value.split(',').filter(|pair| !pair.trim().is_empty()) {
                let wrong = || ServiceError::Setting {
                    name: name.clone(),
                    value: "…".to_owned(),
                    expected: "name=value pairs with commas between them, values percent-encoded",
                };
                let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
                let key = key.trim().to_lowercase();
                if key.is_empty() {
                    return Err(wrong());
                }
                set(key, crate::percent::decode(value.trim()));
            }
        }
        for (name, value) in &self.asked.headers {
            set(name.to_lowercase(), value.clone());
        }
        Ok(headers)
    }

    fn timeout(&self) -> Result<Duration, ServiceError> {
        if let Some(timeout) = self.asked.timeout {
            return Ok(timeout);
        }
        let Some((name, value)) = self.variable("TIMEOUT") else { return Ok(EXPORT_TIMEOUT) };
        match value.parse::<u64>() {
            Ok(milliseconds) if milliseconds > 0 => Ok(Duration::from_millis(milliseconds)),
            _ => {
                let expected = "milliseconds, such as 10000";
                Err(ServiceError::Setting { name, value, expected })
            }
        }
    }
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
