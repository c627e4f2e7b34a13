//! OTLP over HTTP: the client that the exporters of OpenTelemetry are given.
//!
//! They can bring a client of their own, but that is a second version of the one this project has.
//! Errors reach them without words ("network error"), so the words are kept beside.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response, ResponseBodyTooLarge};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Certificate, Identity, Url};
use tokio::runtime::Handle;

use super::secrets::Secrets;
use super::settings::OtlpSettings;
use crate::limits::{ANSWER_BYTES, CONNECT_TIMEOUT};

/// What the last failure was, in words.
#[derive(Debug, Clone, Default)]
pub(super) struct Words(Arc<Mutex<Option<String>>>);

impl Words {
    fn set(&self, words: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(words);
    }

    /// Takes them.
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A client whose requests run on the thread that sends, wherever they are asked for.
#[derive(Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    headers: HeaderMap,
    runtime: Handle,
    words: Words,
}

impl Client {
    pub(super) fn new(
        settings: &OtlpSettings,
        runtime: Handle,
        words: Words,
    ) -> Result<Self, String> {
        let url = Url::parse(&settings.endpoint).map_err(|error| error.to_string())?;
        let is_secure = url.scheme() == "https";
        let mut http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(settings.timeout)
            .redirect(reqwest::redirect::Policy::none())
            // To read the system's authorities takes longer than all else that is done here.
            .tls_built_in_root_certs(is_secure && settings.certificate.is_none());
        if is_loopback(&url) {
            http = http.no_proxy();
        }
        if is_secure {
            http = secured(http.use_rustls_tls(), settings)?;
        }
        let http = http.build().map_err(|error| chain(&error))?;
        let headers = headers(&settings.headers)?;
        Ok(Self { http, headers, runtime, words })
    }
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let mut request = reqwest::Request::try_from(request)?;
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        let (http, words) = (self.http.clone(), self.words.clone());
        let sending = async move {
            // What a URL has in it may be nobody else's business.
            let said = |error: reqwest::Error| {
                let error = error.without_url();
                words.set(chain(&error));
                error
            };
            let mut response = http.execute(request).await.map_err(said)?;
            let mut body = Vec::new();
            while let Some(piece) = response.chunk().await.map_err(said)? {
                if body.len() + piece.len() > ANSWER_BYTES {
                    return Err(HttpError::from(ResponseBodyTooLarge::new()));
                }
                body.extend_from_slice(&piece);
            }
            if !response.status().is_success() {
                words.set(readable(&body));
            }
            let mut answer = Response::builder().status(response.status());
            if let Some(headers) = answer.headers_mut() {
                *headers = std::mem::take(response.headers_mut());
            }
            Ok(answer.body(Bytes::from(body))?)
        };
        self.runtime.spawn(sending).await?
    }
}

/// The start of an answer that is text, on one line.
fn readable(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let words: Vec<&str> = text.split(|c: char| c.is_whitespace() || c.is_control()).collect();
    let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    words.chars().filter(|c| *c != char::REPLACEMENT_CHARACTER).take(300).collect()
}

/// An error and what caused it, on one line.
pub(super) fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        let cause = error.to_string();
        if !words.contains(&cause) {
            words = format!("{words}: {cause}");
        }
        next = error.source();
    }
    words
}

/// Whether a URL is of this machine: a proxy is not asked for it.
fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost" | "[::1]") => true,
        Some(host) => host.parse::<std::net::Ipv4Addr>().is_ok_and(|address| address.is_loopback()),
        None => false,
    }
}

fn headers(pairs: &[(String, String)]) -> Result<HeaderMap, String> {
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

fn secured(
    mut http: reqwest::ClientBuilder,
    settings: &OtlpSettings,
) -> Result<reqwest::ClientBuilder, String> {
    let secrets = Secrets::read(settings).map_err(|error| error.to_string())?;
    if let Some(pem) = secrets.authorities {
        let authorities = Certificate::from_pem_bundle(&pem).unwrap_or_default();
        if authorities.is_empty() {
            return Err("the file of authorities has no certificates in PEM".to_owned());
        }
        for authority in authorities {
            http = http.add_root_certificate(authority);
        }
    }
    if let Some((certificate, key)) = secrets.identity {
        let identity =
            Identity::from_pem(&[&certificate[..], b"\n", &key[..]].concat()).map_err(|error| {
                format!("the client's certificate cannot be used: {}", chain(&error))
            })?;
        http = http.identity(identity);
    }
    Ok(http)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_shown_on_one_line_and_cut() {
        assert_eq!(readable(b"no\n such\x00tenant  "), "no such tenant");
        assert_eq!(readable("x".repeat(1000).as_bytes()).len(), 300);
    }

    #[test]
    fn this_machine_is_known_by_its_names() {
        for (url, expected) in [
            ("http://localhost:1", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:4318", true),
            ("http://localhost.test", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }
}
