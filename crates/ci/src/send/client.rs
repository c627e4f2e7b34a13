//! One request, one answer.
//!
//! gRPC is five bytes of framing around a message over HTTP/2, and a status behind it: that is done
//! here, as the receiver of this project does it.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderMap;
use http_body_util::{BodyExt, Limited};
use kymo_wire::{Reader, WireError, text};
use reqwest::{Certificate, Identity, RequestBuilder, Url};

use super::settings::{Protocol, Settings};
use crate::limits::{CONNECT_TIMEOUT, MAX_ANSWER_BYTES};
use crate::network::{cause, is_loopback};

const GRPC_PATH: &str = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
const GRPC_FRAME_BYTES: usize = 5;
/// Codes of gRPC after which OTLP's specification has a sender try again.
const GRPC_RETRYABLE: [u16; 7] = [1, 4, 8, 10, 11, 14, 15];
const HTTP_RETRYABLE: [u16; 4] = [429, 502, 503, 504];

/// What became of one try.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is kept; perhaps with words about a part that is not.
    Accepted(Option<String>),
    /// Another time, perhaps after a while.
    Later(String, Option<Duration>),
    /// Never.
    Refused(String),
}

/// A server, and how it is talked to.
pub(super) struct Client {
    http: reqwest::Client,
    url: Url,
    protocol: Protocol,
    headers: Vec<(String, String)>,
    is_gzipped: bool,
}

impl Client {
    pub(super) fn new(settings: &Settings, protocol: Protocol) -> Result<Self, String> {
        let endpoint = settings.shown_endpoint();
        let wrong = |why: &str| {
            format!("the endpoint {endpoint:?} {why}: expected a URL such as http://localhost:4317")
        };
        let mut url = Url::parse(&settings.endpoint).map_err(|_| wrong("is not a URL"))?;
        let is_secure = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(wrong("is neither http nor https")),
        };
        if url.host_str().is_none() {
            return Err(wrong("names no host"));
        }
        let mut http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("kymo-ci/", env!("CARGO_PKG_VERSION")))
            // To read the system's authorities takes longer than all else that is done here.
            .tls_built_in_root_certs(is_secure && settings.certificate.is_none())
            .redirect(reqwest::redirect::Policy::none());
        if is_loopback(&url) {
            http = http.no_proxy();
        }
        if protocol == Protocol::Grpc {
            url.set_path(GRPC_PATH);
            http = http.http2_prior_knowledge();
        }
        if is_secure {
            http = secured(http, settings)?;
        }
        let http =
            http.build().map_err(|error| format!("cannot set up HTTP: {}", cause(&error)))?;
        let (headers, is_gzipped) = (settings.headers.clone(), settings.is_gzipped);
        Ok(Self { http, url, protocol, headers, is_gzipped })
    }

    /// The server, for messages.
    pub(super) fn name(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port_or_known_default() {
            Some(port) => format!("{}://{host}:{port}", self.url.scheme()),
            None => format!("{}://{host}", self.url.scheme()),
        }
    }

    /// Sends a request once.
    pub(super) async fn send(&self, request: &[u8], timeout: Duration) -> Answer {
        let trying = async {
            let response = match self.request(request).send().await {
                Ok(response) => response,
                Err(error) if error.is_builder() => return Answer::Refused(cause(&error)),
                Err(error) => return Answer::Later(cause(&error), None),
            };
            let (head, body) = http::Response::from(response).into_parts();
            let status = head.status.as_u16();
            let body = match Limited::new(body, MAX_ANSWER_BYTES).collect().await {
                Ok(body) => body,
                Err(error) => return Answer::Later(format!("the answer broke off: {error}"), None),
            };
            let trailers = body.trailers().cloned().unwrap_or_default();
            let body = body.to_bytes();
            match self.protocol {
                Protocol::Grpc => of_grpc(status, &head.headers, &trailers, &body),
                _ => of_http(status, &head.headers, &body),
            }
        };
        let late =
            || Answer::Later(format!("no answer within {:.1} s", timeout.as_secs_f64()), None);
        tokio::time::timeout(timeout, trying).await.unwrap_or_else(|_| late())
    }

    fn request(&self, message: &[u8]) -> RequestBuilder {
        let mut request = self.http.post(self.url.clone());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        match self.protocol {
            Protocol::Grpc => {
                let packed = self.packed(message);
                if packed.is_some() {
                    request = request.header("grpc-encoding", "gzip");
                }
                let is_packed = packed.is_some();
                let message = packed.as_deref().unwrap_or(message);
                let mut frame = Vec::with_capacity(GRPC_FRAME_BYTES + message.len());
                frame.push(u8::from(is_packed));
                frame.extend_from_slice(
                    &u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes(),
                );
                frame.extend_from_slice(message);
                request
                    .header("content-type", "application/grpc")
                    .header("te", "trailers")
                    .body(frame)
            }
            Protocol::HttpProtobuf => self.with_body(request, "application/x-protobuf", message),
            Protocol::HttpJson => {
                let mut json = Vec::new();
                // It was written here, and can be read.
                let _ = kymo_wire::json::encode(kymo_wire::Signal::Traces, message, &mut json);
                self.with_body(request, "application/json", &json)
            }
        }
    }

    fn with_body(
        &self,
        request: RequestBuilder,
        content_type: &str,
        body: &[u8],
    ) -> RequestBuilder {
        let request = request.header("content-type", content_type);
        match self.packed(body) {
            Some(packed) => request.header("content-encoding", "gzip").body(packed),
            None => request.body(body.to_vec()),
        }
    }

    fn packed(&self, body: &[u8]) -> Option<Vec<u8>> {
        if !self.is_gzipped {
            return None;
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body).ok()?;
        encoder.finish().ok()
    }
}

fn secured(
    mut http: reqwest::ClientBuilder,
    settings: &Settings,
) -> Result<reqwest::ClientBuilder, String> {
    let read = |path: &Path, variable: &str| {
        std::fs::read(path).map_err(|error| {
            format!("cannot read {} (OTEL_EXPORTER_OTLP_{variable}): {error}", path.display())
        })
    };
    http = http.use_rustls_tls();
    if let Some(path) = &settings.certificate {
        let pem = read(path, "CERTIFICATE")?;
        let authorities = Certificate::from_pem_bundle(&pem);
        let authorities = authorities.ok().filter(|found| !found.is_empty());
        let Some(authorities) = authorities else {
            return Err(format!("{} has no certificates in PEM", path.display()));
        };
        for authority in authorities {
            http = http.add_root_certificate(authority);
        }
    }
    match (&settings.client_certificate, &settings.client_key) {
        (Some(certificate), key) => {
            let mut pem = read(certificate, "CLIENT_CERTIFICATE")?;
            if let Some(key) = key {
                pem.push(b'\n');
                pem.extend(read(key, "CLIENT_KEY")?);
            }
            let identity = Identity::from_pem(&pem).map_err(|error| {
                let path = certificate.display();
                format!(
                    "{path} and its key cannot be used: {}; expected both in PEM",
                    cause(&error)
                )
            })?;
            Ok(http.identity(identity))
        }
        (None, Some(_)) => Err(
            "OTEL_EXPORTER_OTLP_CLIENT_KEY is set but OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE is not"
                .to_owned(),
        ),
        (None, None) => Ok(http),
    }
}

fn of_http(status: u16, headers: &HeaderMap, body: &Bytes) -> Answer {
    let is_protobuf = headers
        .get("content-type")
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.starts_with("application/x-protobuf"));
    if (200..300).contains(&status) {
        return Answer::Accepted(if is_protobuf { partial(body) } else { None });
    }
    let words = if is_protobuf { status_message(body) } else { text(body).trim().to_owned() };
    let words: String = words.chars().take(500).collect();
    let why = format!("it answered {status} {words}").trim_end().to_owned();
    if HTTP_RETRYABLE.contains(&status) {
        return Answer::Later(why, retry_after(headers));
    }
    Answer::Refused(why)
}

fn of_grpc(status: u16, headers: &HeaderMap, trailers: &HeaderMap, body: &Bytes) -> Answer {
    let find = |name: &str| {
        let value = trailers.get(name).or_else(|| headers.get(name))?;
        Some(value.to_str().ok()?.to_owned())
    };
    let Some(code) = find("grpc-status").and_then(|code| code.parse::<u16>().ok()) else {
        // A proxy, or a server of another kind.
        let why =
            format!("it answered HTTP {status} without a status of gRPC: is it an OTLP server?");
        let is_later = HTTP_RETRYABLE.contains(&status);
        return if is_later {
            Answer::Later(why, retry_after(headers))
        } else {
            Answer::Refused(why)
        };
    };
    if code == 0 {
        return Answer::Accepted(body.get(GRPC_FRAME_BYTES..).and_then(partial));
    }
    let words = find("grpc-message").unwrap_or_default();
    let why =
        format!("it answered gRPC code {code} {}", crate::resource_attributes::unescape(&words));
    if GRPC_RETRYABLE.contains(&code) {
        return Answer::Later(why, retry_after(headers));
    }
    Answer::Refused(why)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// What an `ExportTraceServiceResponse` says of spans that were not kept.
fn partial(response: &[u8]) -> Option<String> {
    let read = || -> Result<Option<String>, WireError> {
        let mut reader = Reader::new(response);
        while let Some(tag) = reader.tag()? {
            // `partial_success`: how many, and why.
            if tag != (1 << 3 | 2) {
                reader.skip(tag)?;
                continue;
            }
            let (mut count, mut why) = (0, String::new());
            let mut inner = reader.message()?;
            while let Some(tag) = inner.tag()? {
                match tag >> 3 {
                    1 => count = inner.varint()?,
                    2 => why = text(inner.bytes()?).into_owned(),
                    _ => inner.skip(tag)?,
                }
            }
            return Ok((count > 0 || !why.is_empty())
                .then(|| format!("{count} spans were not kept: {why}")));
        }
        Ok(None)
    };
    // An answer that cannot be read is one of success all the same.
    read().unwrap_or(None)
}

/// The message of a `google.rpc.Status`.
fn status_message(body: &[u8]) -> String {
    let mut reader = Reader::new(body);
    while let Ok(Some(tag)) = reader.tag() {
        if tag == (2 << 3 | 2) {
            return reader.bytes().map(|bytes| text(bytes).into_owned()).unwrap_or_default();
        }
        if reader.skip(tag).is_err() {
            break;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use kymo_wire::encode::Writer;

    use super::*;

    fn trailers(code: &'static str) -> HeaderMap {
        HeaderMap::from_iter([("grpc-status".parse().unwrap(), code.parse().unwrap())])
    }

    #[test]
    fn answers_are_told_apart_as_the_specification_has_them() {
        let none = HeaderMap::new();
        let grpc = |code| of_grpc(200, &none, &trailers(code), &Bytes::new());
        assert_eq!(grpc("0"), Answer::Accepted(None));
        assert!(matches!(grpc("14"), Answer::Later(..)));
        assert!(matches!(grpc("3"), Answer::Refused(_)));
        assert!(matches!(of_grpc(404, &none, &none, &Bytes::new()), Answer::Refused(_)));
        assert!(matches!(of_grpc(503, &none, &none, &Bytes::new()), Answer::Later(..)));
        assert_eq!(of_http(200, &none, &Bytes::new()), Answer::Accepted(None));
        assert!(
            matches!(of_http(400, &none, &Bytes::from("no")), Answer::Refused(why) if why.ends_with("400 no"))
        );
        let after = HeaderMap::from_iter([("retry-after".parse().unwrap(), "7".parse().unwrap())]);
        let expected = Answer::Later("it answered 429".into(), Some(Duration::from_secs(7)));
        assert_eq!(of_http(429, &after, &Bytes::new()), expected);
    }

    #[test]
    fn spans_that_were_not_kept_are_told() {
        let mut writer = Writer::new();
        writer.message(1, |w| {
            w.varint_field(1, 3);
            w.bytes_field(2, b"too old");
        });
        let body = writer.into_bytes();
        assert_eq!(partial(&body).as_deref(), Some("3 spans were not kept: too old"));
        assert_eq!(partial(&[]), None);
        assert_eq!(partial(&[0xff; 9]), None);
    }
}
