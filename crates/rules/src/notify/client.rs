//! Sending over HTTP.

use std::time::Duration;

use kymo_scrape::config::HttpSettings;
use kymo_scrape::connection::{Connection, cause};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Method, StatusCode};
use thiserror::Error;

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
pub(super) struct Client(Connection);

impl Client {
    /// Reads the certificates that the settings name.
    pub(super) fn new(settings: &HttpSettings) -> Result<Self, String> {
        Connection::new(settings).map(Self)
    }

    /// Sends JSON.
    pub(super) async fn post(
        &self,
        url: &str,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<(), SendError> {
        let request = self.0.request(Method::POST, url).map_err(SendError::Never)?;
        let request = request.timeout(timeout).header(CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await.map_err(|error| SendError::Later(cause(error)))?;
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
}
