//! From what was asked for and the variables `OTEL_EXPORTER_OTLP_…` to settings.
//!
//! | variable | what it says |
//! |---|---|
//! | `OTEL_EXPORTER_OTLP_PROTOCOL` | `grpc`, `http/protobuf`, `http/json` |
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | the server; for HTTP, `/v1/traces` and the like is added |
//! | `OTEL_EXPORTER_OTLP_HEADERS` | `name=value,…` that go with every request |
//! | `OTEL_EXPORTER_OTLP_TIMEOUT` | how long one request may take, in milliseconds |
//! | `OTEL_EXPORTER_OTLP_COMPRESSION` | `gzip` or `none` |
//! | `OTEL_EXPORTER_OTLP_CERTIFICATE` | file with the authorities to trust |
//! | `OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE`, `…_CLIENT_KEY` | files with what to show the server |
//! | `OTEL_EXPORTER_OTLP_INSECURE` | whether an endpoint without a scheme is without TLS |
//!
//! Each has a form for one signal (`OTEL_EXPORTER_OTLP_TRACES_…`, `…_METRICS_…`, `…_LOGS_…`) that
//! comes first; an endpoint of that form is the whole of it. What was asked for comes before all of
//! them. A variable that is empty counts as not set.
//!
//! A user and password in an endpoint become the header `authorization`, unless there is one.
//!
//! What becomes of a variable that nobody understands is for the caller to say, and is all that
//! callers differ in: a service refuses to start, since it would run for weeks and send nothing;
//! a step of CI goes on with a warning, since telemetry must not fail a build.

use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

use kymo_wire::Signal;

use crate::limits::EXPORT_TIMEOUT;
use crate::settings::{
    DEFAULT, EXPLICIT, OtlpSettings, Protocol, WrongSetting, usual_endpoint, usual_protocol,
};
use crate::{pairs, signals};

/// What a program, its configuration or somebody with flags asks for. What is absent comes from the
/// environment.
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

impl OtlpSettings {
    /// What was asked for, and what the environment says of a signal. `variable` gives the value of
    /// a variable; `wrong` is told of each that cannot be understood, and either ends it with an
    /// error or has it count as not set.
    ///
    /// Whether the endpoint is a URL is not looked at: see [`OtlpSettings::url`].
    ///
    /// # Errors
    /// Those of `wrong`.
    pub fn resolve<E>(
        signal: Signal,
        asked: &Asked,
        variable: impl Fn(&str) -> Option<String>,
        wrong: impl FnMut(WrongSetting) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut variables = Variables { signal, variable, wrong };
        let found = variables.endpoint(asked);
        let told = match asked.protocol {
            Some(protocol) => Some(protocol),
            None => variables.read("PROTOCOL", Protocol::EXPECTED, Protocol::of)?,
        };
        let given = found.as_ref().map(|found| found.endpoint.as_str());
        let protocol = told.unwrap_or_else(|| usual_protocol(given));
        let is_insecure = variables.read("INSECURE", "true or false", yes_or_no)?;
        let found = found.unwrap_or_else(|| Found {
            endpoint: usual_endpoint(protocol).to_owned(),
            source: DEFAULT,
            is_whole: false,
        });
        let endpoint = with_scheme(&found.endpoint, is_insecure.unwrap_or(false));
        let timeout = match asked.timeout {
            Some(timeout) => Some(timeout),
            None => variables.read("TIMEOUT", "milliseconds, such as 10000", milliseconds)?,
        };
        let file = |set: Option<(String, String)>| set.map(|(_, path)| path.into());
        let client_certificate = file(variables.find("CLIENT_CERTIFICATE"));
        let settings = Self {
            endpoint: match protocol.is_http() && !found.is_whole {
                true => with_path(&endpoint, signal),
                false => endpoint,
            },
            source: found.source,
            protocol,
            headers: variables.headers(asked)?,
            timeout: timeout.unwrap_or(EXPORT_TIMEOUT),
            is_gzipped: variables.read("COMPRESSION", "gzip or none", gzip)?.unwrap_or(false),
            certificate: file(variables.find("CERTIFICATE")),
            client_key: variables.client_key(client_certificate.is_some())?,
            client_certificate,
        };
        Ok(settings.with_credentials_as_header())
    }

    /// [`OtlpSettings::resolve`] for whoever must not fail: what cannot be understood counts as not
    /// set, and `warn` is told.
    pub fn resolve_or_warn(
        signal: Signal,
        asked: &Asked,
        variable: impl Fn(&str) -> Option<String>,
        mut warn: impl FnMut(String),
    ) -> Self {
        let Ok(settings) = Self::resolve(signal, asked, variable, |wrong| {
            warn(format!("{wrong}: it counts as not set"));
            Ok::<(), Infallible>(())
        });
        settings
    }
}

/// The variables of a signal, and who is told of those that are wrong.
struct Variables<V, W> {
    signal: Signal,
    variable: V,
    wrong: W,
}

/// An endpoint as it was found.
struct Found {
    endpoint: String,
    source: &'static str,
    /// Whether it has its path already.
    is_whole: bool,
}

impl<E, V, W> Variables<V, W>
where
    V: Fn(&str) -> Option<String>,
    W: FnMut(WrongSetting) -> Result<(), E>,
{
    /// The value of a variable, unless it is empty.
    fn value(&self, name: &str) -> Option<String> {
        let value = (self.variable)(name)?.trim().to_owned();
        (!value.is_empty()).then_some(value)
    }

    /// A variable of the signal, else of all signals: its name and value.
    fn find(&self, name: &str) -> Option<(String, String)> {
        let own = format!("OTEL_EXPORTER_OTLP_{}_{name}", signals::variable(self.signal));
        let general = format!("OTEL_EXPORTER_OTLP_{name}");
        [own, general].into_iter().find_map(|name| {
            let value = self.value(&name)?;
            Some((name, value))
        })
    }

    /// What such a variable says, if it can be understood.
    fn read<T>(
        &mut self,
        name: &str,
        expected: &'static str,
        understood: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, E> {
        let Some((name, value)) = self.find(name) else { return Ok(None) };
        let read = understood(&value);
        if read.is_none() {
            (self.wrong)(WrongSetting { name, value, expected })?;
        }
        Ok(read)
    }

    fn endpoint(&self, asked: &Asked) -> Option<Found> {
        let asked = asked.endpoint.as_deref().map(str::trim).filter(|asked| !asked.is_empty());
        if let Some(asked) = asked {
            return Some(Found { endpoint: asked.to_owned(), source: EXPLICIT, is_whole: false });
        }
        let own = match self.signal {
            Signal::Traces => "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            Signal::Metrics => "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
            Signal::Logs => "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
        };
        // Who names an endpoint for a signal names the whole of it.
        [(own, true), ("OTEL_EXPORTER_OTLP_ENDPOINT", false)].into_iter().find_map(
            |(source, is_whole)| Some(Found { endpoint: self.value(source)?, source, is_whole }),
        )
    }

    /// The key of a certificate, if there is one.
    fn client_key(&mut self, has_certificate: bool) -> Result<Option<PathBuf>, E> {
        let Some((name, value)) = self.find("CLIENT_KEY") else { return Ok(None) };
        if has_certificate {
            return Ok(Some(value.into()));
        }
        let expected = "a certificate beside it, in OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE";
        (self.wrong)(WrongSetting { name, value, expected })?;
        Ok(None)
    }

    fn headers(&mut self, asked: &Asked) -> Result<Vec<(String, String)>, E> {
        let mut headers: Vec<(String, String)> = Vec::new();
        let mut set = |name: &str, value: String| {
            let name = name.to_lowercase();
            headers.retain(|(other, _)| *other != name);
            headers.push((name, value));
        };
        if let Some((variable, value)) = self.find("HEADERS") {
            for text in value.split(',').filter(|text| !text.trim().is_empty()) {
                match pairs::pair(text) {
                    Some((name, value)) => set(&name, value),
                    // What it says may be a key without its name.
                    None => (self.wrong)(WrongSetting {
                        name: variable.clone(),
                        value: "…".to_owned(),
                        expected: "name=value pairs with commas between them, values \
                                   percent-encoded",
                    })?,
                }
            }
        }
        for (name, value) in &asked.headers {
            set(name, value.clone());
        }
        Ok(headers)
    }
}

fn yes_or_no(word: &str) -> Option<bool> {
    match word.to_lowercase().as_str() {
        "true" | "1" => Some(true),
        "false" | "0" => Some(false),
        _ => None,
    }
}

fn gzip(word: &str) -> Option<bool> {
    match word {
        "gzip" => Some(true),
        "none" => Some(false),
        _ => None,
    }
}

fn milliseconds(number: &str) -> Option<Duration> {
    number.parse().ok().filter(|number| *number > 0).map(Duration::from_millis)
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

/// The URL of a signal below a base.
pub(crate) fn with_path(endpoint: &str, signal: Signal) -> String {
    let base = endpoint.trim_end_matches('/');
    // Who copies an endpoint from elsewhere often copies the path of traces with it.
    let without = |signal: &Signal| base.strip_suffix(signal.http_path());
    let base = Signal::ALL.iter().find_map(without).unwrap_or(base);
    format!("{base}{}", signal.http_path())
}

#[cfg(test)]
mod tests;
