//! Requests as a part of the configuration wants them: certificates, credentials, headers.

use std::error::Error;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{IntoUrl, Method, RequestBuilder};

use crate::config::{Credentials, HttpSettings, SecretSource};
use crate::limits::{MAX_ERROR_CHARS, MAX_REDIRECTS};
use crate::tls;

const NAME: &str = concat!("kymo/", env!("CARGO_PKG_VERSION"));

/// Connections that nobody used for so long are closed.
const IDLE: Duration = Duration::from_secs(300);

/// Makes requests as one job, discovery or receiver of alerts wants them.
#[derive(Debug)]
pub struct Connection {
    client: reqwest::Client,
    settings: HttpSettings,
}

impl Connection {
    /// Reads the certificates that the settings name.
    pub fn new(settings: &HttpSettings) -> Result<Self, String> {
        let redirects =
            if settings.follow_redirects { Policy::limited(MAX_REDIRECTS) } else { Policy::none() };
        let client = reqwest::Client::builder()
            .use_preconfigured_tls(tls::client_config(&settings.tls)?)
            .redirect(redirects)
            .no_proxy()
            .pool_idle_timeout(IDLE)
            .build()
            .map_err(cause)?;
        Ok(Self { client, settings: settings.clone() })
    }

    /// A request with credentials and headers, which are read from their files each time.
    pub fn request(&self, method: Method, url: impl IntoUrl) -> Result<RequestBuilder, String> {
        let mut request = self.client.request(method, url).header(USER_AGENT, NAME);
        match &self.settings.credentials {
            None => {}
            Some(Credentials::Basic { username, password }) => {
                let password = password.as_ref().map(read_secret).transpose()?;
                request = request.basic_auth(read_secret(username)?, password);
            }
            Some(Credentials::Authorization { kind, credentials }) => {
                let credentials = credentials.as_ref().map(read_secret).transpose()?;
                let value = format!("{kind} {}", credentials.unwrap_or_default());
                let mut value = HeaderValue::from_str(value.trim_end())
                    .map_err(|_| "the credentials cannot stand in a header".to_owned())?;
                value.set_sensitive(true);
                request = request.header(AUTHORIZATION, value);
            }
        }
        for (name, values) in &self.settings.headers {
            let wrong = || format!("header {name:?} or its value cannot be sent");
            let header = HeaderName::try_from(name).map_err(|_| wrong())?;
            let inline = values.inline.iter().map(|value| Ok(value.expose().to_owned()));
            let files =
                values.files.iter().map(|path| read_secret(&SecretSource::File(path.clone())));
            for text in inline.chain(files) {
                let value = HeaderValue::from_str(&text?).map_err(|_| wrong())?;
                request = request.header(&header, value);
            }
        }
        Ok(request)
    }
}

/// A secret, read from its file if it is in one.
pub(crate) fn read_secret(source: &SecretSource) -> Result<String, String> {
    match source {
        SecretSource::Inline(secret) => Ok(secret.expose().to_owned()),
        SecretSource::File(path) => std::fs::read_to_string(path)
            .map(|text| text.trim().to_owned())
            .map_err(|error| format!("unable to read file {}: {error}", path.display())),
    }
}

/// What an error comes from, which its outermost layer rarely says. The URL is left out: it may
/// hold a password.
pub fn cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut deepest: &dyn Error = &error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string().chars().take(MAX_ERROR_CHARS).collect()
}
