//! One request, one answer.
//!
//! gRPC is five bytes of framing around a message over HTTP/2, and a status behind it: that is done
//! here, as the receiver of this project does it.

use std::fmt;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt, Limited};
use kymo_wire::Signal;
use reqwest::{Certificate, Identity, RequestBuilder, Url};

use crate::ForwardError;
use crate::answer::{Answer, GRPC_FRAME_BYTES, of_grpc, of_http};
use crate::limits::{CONNECT_TIMEOUT, MAX_ANSWER_BYTES, MAX_CERTIFICATE_BYTES};
use crate::network::{asks_proxies, cause};
use crate::settings::{OtlpSettings, Protocol};

/// A server, and how it is talked to.
pub struct Client {
    http: reqwest::Client,
    url: Url,
    signal: Signal,
    protocol: Protocol,
    headers: HeaderMap,
    is_gzipped: bool,
}

impl Client {
    /// The one that requests of a signal are sent to, as its settings say.
    ///
    /// # Errors
    /// An endpoint, header or certificate that cannot be used. That nobody answers is no error here.
    pub fn new(settings: &OtlpSettings, signal: Signal) -> Result<Self, ForwardError> {
        Self::build(settings, signal).map_err(ForwardError::Settings)
    }

    fn build(settings: &OtlpSettings, signal: Signal) -> Result<Self, String> {
        let settings = &settings.clone().with_credentials_as_header();
        let mut url = settings.url().map_err(|wrong| wrong.to_string())?;
        let headers = headers(&settings.headers)?;
        let is_secure = url.scheme() == "https";
        let mut http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("kymo/", env!("CARGO_PKG_VERSION")))
            // To read the system's authorities takes longer than all else that is done here.
            .tls_built_in_root_certs(is_secure && settings.certificate.is_none())
            .redirect(reqwest::redirect::Policy::none());
        let protocol = settings.protocol;
        if !asks_proxies(&url, protocol) {
            http = http.no_proxy();
        }
        if protocol == Protocol::Grpc {
            url.set_path(signal.grpc_path());
            http = http.http2_prior_knowledge();
        }
        if is_secure {
            http = secured(http, settings)?;
        }
        let http =
            http.build().map_err(|error| format!("cannot set up HTTP: {}", cause(&error)))?;
        Ok(Self { http, url, signal, protocol, headers, is_gzipped: settings.is_gzipped })
    }

    /// The server, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        match self.url.port_or_known_default() {
            Some(port) => format!("{}://{host}:{port}", self.url.scheme()),
            None => format!("{}://{host}", self.url.scheme()),
        }
    }

    /// Sends a request once.
    pub async fn send(&self, request: &[u8], timeout: Duration) -> Answer {
        let trying = async {
            let request = match self.request(request) {
                Ok(request) => request,
                Err(why) => return Answer::Refused(why),
            };
            let response = match request.send().await {
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
                Protocol::Grpc => of_grpc(self.signal, status, &head.headers, &trailers, &body),
                _ => of_http(self.signal, status, &head.headers, &body),
            }
        };
        let late =
            || Answer::Later(format!("no answer within {:.1} s", timeout.as_secs_f64()), None);
        tokio::time::timeout(timeout, trying).await.unwrap_or_else(|_| late())
    }

    fn request(&self, message: &[u8]) -> Result<RequestBuilder, String> {
        let mut request = self.http.post(self.url.clone()).headers(self.headers.clone());
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
                Ok(request
                    .header("content-type", "application/grpc")
                    .header("te", "trailers")
                    .body(frame))
            }
            Protocol::HttpProtobuf => {
                Ok(self.with_body(request, "application/x-protobuf", message))
            }
            Protocol::HttpJson => {
                let mut json = Vec::new();
                kymo_wire::json::encode(self.signal, message, &mut json).map_err(|error| {
                    format!("it cannot be written as JSON, it is not OTLP: {error}")
                })?;
                Ok(self.with_body(request, "application/json", &json))
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

impl fmt::Debug for Client {
    /// Without what the URL and headers have of secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.name()).field(&self.signal).finish()
    }
}

/// Names and values as headers that are not shown.
pub(crate) fn headers(pairs: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let key = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("{name:?} cannot be the name of a header"))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the header {name:?} has a value that no header can have"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// A file that a variable names.
fn read(path: &Path, variable: &str) -> Result<Vec<u8>, String> {
    let failed = |why: String| {
        format!("cannot read {} (OTEL_EXPORTER_OTLP_{variable}): {why}", path.display())
    };
    let mut pem = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_CERTIFICATE_BYTES + 1).read_to_end(&mut pem))
        .map_err(|error| failed(error.to_string()))?;
    if pem.len() as u64 > MAX_CERTIFICATE_BYTES {
        return Err(failed(format!("it has more than {MAX_CERTIFICATE_BYTES} bytes")));
    }
    Ok(pem)
}

fn secured(
    mut http: reqwest::ClientBuilder,
    settings: &OtlpSettings,
) -> Result<reqwest::ClientBuilder, String> {
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

#[cfg(test)]
mod tests;
