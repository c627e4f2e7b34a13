//! URLs as logs, errors and labels show them: without what is nobody's business.

use reqwest::Url;

/// Scheme, host and port. The path of a webhook is often a secret, as is its query.
#[must_use]
pub fn origin(url: &str) -> String {
    parse(url).map_or_else(|| UNREADABLE.to_owned(), |url| url.origin().ascii_serialization())
}

/// The URL as it is written, without user and password.
#[must_use]
pub fn without_userinfo(url: &str) -> String {
    let Some(mut parsed) = parse(url) else { return UNREADABLE.to_owned() };
    if parsed.username().is_empty() && parsed.password().is_none() {
        return url.to_owned();
    }
    let is_cleared = parsed.set_username("").and_then(|()| parsed.set_password(None)).is_ok();
    if is_cleared { parsed.to_string() } else { UNREADABLE.to_owned() }
}

/// A URL with a host; in other texts, what looks like a scheme may be a user.
fn parse(url: &str) -> Option<Url> {
    Url::parse(url).ok().filter(Url::has_host)
}

/// What is shown of a text that is no URL, which may be all secret.
const UNREADABLE: &str = "(not a URL)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_urls_are_not_shown() {
        let url = "https://user:pass@hooks.test:8443/services/T0/secret?token=x";
        assert_eq!(origin(url), "https://hooks.test:8443");
        assert_eq!(without_userinfo(url), "https://hooks.test:8443/services/T0/secret?token=x");
        assert_eq!(without_userinfo("http://sd"), "http://sd", "as it is written");
        assert_eq!(without_userinfo("user:pass@sd/x y"), "(not a URL)");
        assert_eq!(origin("secret"), "(not a URL)");
    }
}
