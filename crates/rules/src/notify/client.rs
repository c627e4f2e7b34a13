//! Sending over HTTP.
//!
//! TLS is that of `reqwest`: authorities, a certificate of ours and no verification can be set. A
//! server name other than the host's cannot, and is refused.

use std::error::Error;
use std::time::Duration;

use kymo_scrape::config::{Credentials, HttpSettings, SecretSource, TlsSettings};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{Certificate, ClientBuilder, Identity, RequestBuilder, StatusCode};
use thiserror::Error;

use crate::limits::MAX_ERROR_CHARS;

const NAME: &str = concat!("kymo/", env!("CARGO_PKG_VERSION"));
const MAX_REDIRECTS: usize = 10;

/// Why a receiver did not take alerts.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(super) enum SendError {
    /// It may take them later.
    #[error("{0}")]
    Later(String),
    /// It will never take them.
    #[error("{0}")]
    Never(String),
}

/// Sends as one receiver wants it.
#[derive(Debug)]
pub(super) struct Client {
    client: reqwest::Client,
    settings: HttpSettings,
}

impl Client {
    /// Reads the certificates that the settings name.
    pub(super) fn new(settings: &HttpSettings) -> Result<Self, String> {
        let redirects =
            if settings.follow_redirects { Policy::limited(MAX_REDIRECTS) } else { Policy::none() };
        let builder = reqwest::Client::builder().redirect(redirects).no_proxy();
        let builder = with_tls(builder, &settings.tls)?;
        let client = builder.build().map_err(|error| cause(&error))?;
        Ok(Self { client, settings: settings.clone() })
    }

    /// Sends JSON.
    pub(super) async fn post(
        &self,
        url: &str,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<(), SendError> {
        let request = self.client.post(url).timeout(timeout).header(USER_AGENT, NAME);
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let request = self.authorized(request).map_err(SendError::Never)?;
        let response = request.send().await.map_err(|error| SendError::Later(cause(&error)))?;
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        let message = format!("bad response status {status}");
        match status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            true => Err(SendError::Later(message)),
            false => Err(SendError::Never(message)),
        }
    }

    fn authorized(&self, mut request: RequestBuilder) -> Result<RequestBuilder, String> {
        match &self.settings.credentials {
            None => {}
            Some(Credentials::Basic { username, password }) => {
                let password = password.as_ref().map(read).transpose()?;
                request = request.basic_auth(read(username)?, password);
            }
            Some(Credentials::Authorization { kind, credentials }) => {
                let credentials = credentials.as_ref().map(read).transpose()?;
                let text = format!("{kind} {}", credentials.unwrap_or_default());
                let mut value = HeaderValue::from_str(text.trim_end())
                    .map_err(|_| "the credentials cannot stand in a header".to_owned())?;
                value.set_sensitive(true);
                request = request.header(AUTHORIZATION, value);
            }
        }
        for (name, values) in &self.settings.headers {
            let wrong = || format!("header {name:?} or its value cannot be sent");
            let header = HeaderName::try_from(name).map_err(|_| wrong())?;
            let inline = values.inline.iter().map(|value| Ok(value.expose().to_owned()));
            let files = values.files.iter().map(|path| read(&SecretSource::File(path.clone())));
            for text in inline.chain(files) {
                let value = HeaderValue::from_str(&text?).map_err(|_| wrong())?;
                request = request.header(&header, value);
            }
        }
        Ok(request)
    }
}

fn with_tls(mut builder: ClientBuilder, tls: &TlsSettings) -> Result<ClientBuilder, String> {
    if tls.server_name.is_some() {
        let message = "tls_config: server_name is not supported here; use the name of the \
                       certificate as the host";
        return Err(message.to_owned());
    }
    if let Some(ca) = &tls.ca {
        let found = Certificate::from_pem_bundle(read(ca)?.as_bytes())
            .map_err(|error| format!("tls_config: ca is not PEM: {}", cause(&error)))?;
        if found.is_empty() {
            return Err("tls_config: ca has no certificates; expected PEM".to_owned());
        }
        builder = builder.tls_built_in_root_certs(false);
        for certificate in found {
            builder = builder.add_root_certificate(certificate);
        }
    }
    if let (Some(cert), Some(key)) = (&tls.cert, &tls.key) {
        let both = format!("{}\n{}\n", read(cert)?, read(key)?);
        let identity = Identity::from_pem(both.as_bytes())
            .map_err(|error| format!("tls_config: cert or key is wrong: {}", cause(&error)))?;
        builder = builder.identity(identity);
    }
    if tls.requires_tls13 {
        builder = builder.min_tls_version(reqwest::tls::Version::TLS_1_3);
    }
    Ok(builder.danger_accept_invalid_certs(tls.insecure_skip_verify))
}

/// A secret, read from its file if it is in one.
fn read(source: &SecretSource) -> Result<String, String> {
    match source {
        SecretSource::Inline(secret) => Ok(secret.expose().to_owned()),
        SecretSource::File(path) => std::fs::read_to_string(path)
            .map(|text| text.trim().to_owned())
            .map_err(|error| format!("unable to read file {}: {error}", path.display())),
    }
}

/// What an error comes from, which its outermost layer rarely says.
fn cause(error: &dyn Error) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string().chars().take(MAX_ERROR_CHARS).collect()
}
