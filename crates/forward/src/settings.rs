//! Where requests are sent to, and how. [`crate::resolve`] makes it of the environment.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::Url;
use thiserror::Error;

use crate::limits::EXPORT_TIMEOUT;
use crate::pairs;

/// Where a server listens for gRPC unless told otherwise.
const DEFAULT_ENDPOINT: &str = "http://localhost:4317";
const DEFAULT_HTTP_ENDPOINT: &str = "http://localhost:4318";

/// What [`OtlpSettings::source`] is if the program, its configuration or a flag named the endpoint.
pub const EXPLICIT: &str = "explicit";
/// What [`OtlpSettings::source`] is if nobody named an endpoint.
pub const DEFAULT: &str = "default";

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
    /// The words for all of them.
    pub const EXPECTED: &str = "grpc, http/protobuf or http/json";

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

    /// Whether it is one of those over HTTP, whose endpoints have a path.
    #[must_use]
    pub const fn is_http(self) -> bool {
        matches!(self, Self::HttpProtobuf | Self::HttpJson)
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::of(word).ok_or_else(|| format!("expected {}", Self::EXPECTED))
    }
}

/// Something that was set and cannot be understood. It shows no password and no header's value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name} is {value:?}, expected {expected}")]
pub struct WrongSetting {
    /// The variable, or what else it is.
    pub name: String,
    /// What it says.
    pub value: String,
    /// What it could say.
    pub expected: &'static str,
}

/// A server that speaks OTLP, and how it is talked to about one signal.
///
/// `Debug` shows no header's value and no password.
#[derive(Clone, PartialEq, Eq)]
pub struct OtlpSettings {
    /// The URL; for HTTP with the signal's path.
    pub endpoint: String,
    /// Who said so: a variable's name, [`EXPLICIT`] or [`DEFAULT`].
    pub source: &'static str,
    /// How requests are written.
    pub protocol: Protocol,
    /// What goes with every request.
    pub headers: Vec<(String, String)>,
    /// How long one request may take.
    pub timeout: Duration,
    /// Whether requests are packed.
    pub is_gzipped: bool,
    /// Authorities to trust instead of the system's: a file in PEM.
    pub certificate: Option<PathBuf>,
    /// What to show the server: a file in PEM.
    pub client_certificate: Option<PathBuf>,
    /// Its key: a file in PEM. Without one, the certificate's file has it.
    pub client_key: Option<PathBuf>,
}

impl OtlpSettings {
    /// A server, with defaults for the rest. For HTTP, `endpoint` is whole, with its path.
    #[must_use]
    pub fn new(endpoint: impl Into<String>, protocol: Protocol) -> Self {
        Self {
            endpoint: endpoint.into(),
            source: EXPLICIT,
            protocol,
            headers: Vec::new(),
            timeout: EXPORT_TIMEOUT,
            is_gzipped: false,
            certificate: None,
            client_certificate: None,
            client_key: None,
        }
    }

    /// The endpoint as what it has to be: a URL of HTTP that names a host.
    ///
    /// # Errors
    /// It is not, by the name of who said so.
    pub fn url(&self) -> Result<Url, WrongSetting> {
        let is_usable =
            |url: &Url| matches!(url.scheme(), "http" | "https") && url.host_str().is_some();
        Url::parse(&self.endpoint).ok().filter(is_usable).ok_or_else(|| WrongSetting {
            name: if self.source == EXPLICIT { "the endpoint" } else { self.source }.to_owned(),
            value: self.shown_endpoint(),
            expected: "a URL such as http://localhost:4317",
        })
    }

    /// With user and password of the endpoint as the header that they stand for, unless there is
    /// one: who names the header means it.
    #[must_use]
    pub(crate) fn with_credentials_as_header(mut self) -> Self {
        let Ok(mut url) = self.url() else { return self };
        let (user, password) = (url.username(), url.password());
        if user.is_empty() && password.is_none() {
            return self;
        }
        let plain = [user, password.unwrap_or_default()].map(pairs::unescape).join(":");
        if !self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            let value = format!("Basic {}", STANDARD.encode(plain));
            self.headers.push(("authorization".to_owned(), value));
        }
        // They fail for URLs without a host, and this has one.
        let _ = (url.set_username(""), url.set_password(None));
        self.endpoint = url.into();
        self
    }

    /// The endpoint, for messages: without user and password.
    #[must_use]
    pub fn shown_endpoint(&self) -> String {
        match self.endpoint.split_once("://") {
            Some((scheme, rest)) => {
                let end = rest.find('/').unwrap_or(rest.len());
                let host = rest[..end].rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}{}", &rest[end..])
            }
            None => self.endpoint.rsplit('@').next().unwrap_or_default().to_owned(),
        }
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

impl fmt::Debug for OtlpSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("OtlpSettings")
            .field("endpoint", &self.shown_endpoint())
            .field("source", &self.source)
            .field("protocol", &self.protocol.word())
            .field("headers", &headers)
            .field("timeout", &self.timeout)
            .field("is_gzipped", &self.is_gzipped)
            .finish_non_exhaustive()
    }
}

/// The protocol that an endpoint is for, if nobody says it: the port that everybody gives to OTLP
/// over HTTP says as much.
#[must_use]
pub fn usual_protocol(endpoint: Option<&str>) -> Protocol {
    let is_http = endpoint.is_some_and(|endpoint| {
        let rest = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
        rest.split('/').next().is_some_and(|host| host.ends_with(":4318"))
    });
    if is_http { Protocol::HttpProtobuf } else { Protocol::Grpc }
}

/// Where a server listens for a protocol, if nobody says it.
#[must_use]
pub const fn usual_endpoint(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Grpc => DEFAULT_ENDPOINT,
        Protocol::HttpProtobuf | Protocol::HttpJson => DEFAULT_HTTP_ENDPOINT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_has_a_secret() {
        let mut settings =
            OtlpSettings::new("https://user:hunter2@a.test:4318/v1/x@y", Protocol::HttpProtobuf);
        settings.headers.push(("authorization".into(), "Bearer hunter2".into()));
        assert_eq!(settings.shown_endpoint(), "https://a.test:4318/v1/x@y");
        assert_eq!(settings.authority(), "https://a.test:4318");
        let shown = format!("{settings:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("authorization") && shown.contains("a.test"), "{shown}");
        settings.endpoint = "ftp://user:hunter2@a.test".to_owned();
        let wrong = settings.url().unwrap_err().to_string();
        assert!(wrong.contains("ftp://a.test") && !wrong.contains("hunter2"), "{wrong}");
    }

    #[test]
    fn the_port_of_http_means_http_whatever_is_behind_it() {
        for endpoint in ["a.test:4318", "http://a.test:4318/", "http://a.test:4318/base"] {
            assert_eq!(usual_protocol(Some(endpoint)), Protocol::HttpProtobuf, "{endpoint}");
        }
        for endpoint in ["http://a.test:4317", "http://a.test/x:4318", "http://a.test:14318x"] {
            assert_eq!(usual_protocol(Some(endpoint)), Protocol::Grpc, "{endpoint}");
        }
        assert_eq!(usual_protocol(None), Protocol::Grpc);
    }
}
