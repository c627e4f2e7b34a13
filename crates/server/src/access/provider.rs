//! Keys of an identity provider, over HTTP.

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use kymo_identity::limits::{KEYS_FETCH_TIMEOUT, MAX_KEYS_BYTES};
use kymo_identity::{Fetch, FetchFuture};

/// Fetches over HTTP, with the system's authorities. Redirects are not followed.
pub(crate) struct Provider(reqwest::Client);

impl Provider {
    pub(crate) fn new() -> Result<Self, String> {
        let client = reqwest::Client::builder()
            .timeout(KEYS_FETCH_TIMEOUT)
            .user_agent(concat!("kymo/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .build();
        client.map(Self).map_err(|error| format!("cannot set up HTTP: {error}"))
    }

    async fn get(&self, url: &str) -> Result<Bytes, String> {
        let response =
            self.0.get(url).send().await.map_err(|error| error.without_url().to_string())?;
        let (head, body) = http::Response::from(response).into_parts();
        if head.status != http::StatusCode::OK {
            return Err(format!("it answered {}", head.status));
        }
        let body = Limited::new(body, MAX_KEYS_BYTES).collect().await;
        body.map(|body| body.to_bytes()).map_err(|error| error.to_string())
    }
}

impl Fetch for Provider {
    fn fetch<'a>(&'a self, url: &'a str) -> FetchFuture<'a> {
        Box::pin(self.get(url))
    }
}
