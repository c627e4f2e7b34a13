//! Where the API is, and connections to it.
//!
//! The token goes to where the API is and nowhere else. An artifact is sent from another host,
//! where a redirect leads; reqwest leaves the token out when the host or the port changes, and a
//! redirect that leaves encryption is not followed. Proxies are those of the environment.

use kymo_forward::network::{cause, is_loopback};
use reqwest::Url;
use reqwest::blocking::Client;
use reqwest::header::HeaderValue;
use reqwest::redirect::Policy;

use super::error::GitHubError;
use super::limits::{CONNECT_TIMEOUT, MAX_REDIRECTS};

/// Connections to the API and to where its redirects lead.
pub(super) fn client(api: &Url, user_agent: &str) -> Result<Client, GitHubError> {
    let user_agent =
        HeaderValue::from_str(user_agent).map_err(|_| GitHubError::Header("user agent"))?;
    let mut client = Client::builder()
        .user_agent(user_agent)
        .redirect(redirects())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT);
    // No proxy can reach what is on this machine only.
    if is_loopback(api) {
        client = client.no_proxy();
    }
    client.build().map_err(|error| GitHubError::Setup(cause(&error)))
}

/// The address of the API, if the token can be sent there.
pub(super) fn api_url(text: &str, has_token: bool) -> Result<Url, GitHubError> {
    let url = Url::parse(text.trim()).map_err(|_| GitHubError::ApiUrl("cannot be read"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(GitHubError::ApiUrl("is neither http nor https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(GitHubError::ApiUrl("holds a user or a password; give a token instead"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(GitHubError::ApiUrl("holds more than a host and a path"));
    }
    if has_token && url.scheme() == "http" && !is_loopback(&url) {
        return Err(GitHubError::ApiUrl("is not encrypted, so the token is not sent there"));
    }
    Ok(url)
}

/// The header of the token.
pub(super) fn authorization(token: &str) -> Result<HeaderValue, GitHubError> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
        .map_err(|_| GitHubError::Header("token"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn redirects() -> Policy {
    Policy::custom(|attempt| {
        let is_encrypted = |url: &Url| url.scheme() == "https";
        let was_encrypted = attempt.previous().last().is_some_and(is_encrypted);
        if attempt.previous().len() > MAX_REDIRECTS {
            attempt.error("too many redirects")
        } else if was_encrypted && !is_encrypted(attempt.url()) {
            attempt.error("a redirect that leaves encryption")
        } else {
            attempt.follow()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_is_at_a_plain_address() {
        for text in ["https://api.github.com", "https://git.example.org/api/v3/", "http://[::1]:80"]
        {
            assert!(api_url(text, true).is_ok(), "{text}");
        }
        let wrong = [
            "",
            "api.github.com",
            "ftp://a",
            "https://user:secret@a",
            "https://a?b",
            "https://a#b",
        ];
        for text in wrong {
            let error = api_url(text, false).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_token_is_not_sent_in_the_clear() {
        assert!(api_url("http://git.example.org/api/v3", false).is_ok());
        let error = api_url("http://git.example.org/api/v3", true).unwrap_err().to_string();
        assert!(error.contains("not encrypted"), "{error}");
        for text in ["http://localhost:1", "http://127.1.2.3", "http://x.localhost"] {
            assert!(api_url(text, true).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_token_is_never_printed() {
        assert!(!format!("{:?}", authorization("secret").unwrap()).contains("secret"));
        let error = authorization("sec\nret").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("sec"), "{error}");
    }
}
