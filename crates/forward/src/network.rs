//! Addresses and errors of connections.

use std::error::Error;
use std::net::IpAddr;

use reqwest::Url;

use crate::limits::MAX_CAUSE_CHARS;
use crate::settings::Protocol;

/// Whether an address is on this machine only, where no proxy can reach it.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match address {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// Whether a proxy that the environment names is asked. It is not for this machine, nor for gRPC in
/// plain text, of which proxies of HTTP make another version; through one with TLS they only carry it.
#[must_use]
pub fn asks_proxies(url: &Url, protocol: Protocol) -> bool {
    let is_carried = protocol != Protocol::Grpc || url.scheme() == "https";
    is_carried && !is_loopback(url)
}

/// What an error comes from, which its outermost layer rarely says. The address, which only that
/// layer tells, is left out: that of a download is a key in itself.
#[must_use]
pub fn cause(error: &(dyn Error + 'static)) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let text = match reqwest_error(deepest) {
        Some(_) => "the connection failed".to_owned(),
        None => deepest.to_string(),
    };
    text.chars().take(MAX_CAUSE_CHARS).collect()
}

/// The error itself, or what an error of reading wraps.
#[must_use]
pub fn reqwest_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a reqwest::Error> {
    let wrapped = || error.downcast_ref::<std::io::Error>()?.get_ref()?.downcast_ref();
    error.downcast_ref().or_else(wrapped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_asked_for_what_they_can_carry() {
        for (url, protocol, expected) in [
            ("http://example.org", Protocol::HttpProtobuf, true),
            ("https://example.org", Protocol::Grpc, true),
            ("http://example.org", Protocol::Grpc, false),
            ("https://localhost", Protocol::HttpJson, false),
        ] {
            assert_eq!(asks_proxies(&Url::parse(url).unwrap(), protocol), expected, "{url}");
        }
    }

    #[test]
    fn loopback_is_known_by_name_and_by_number() {
        let is_loopback = |url: &str| super::is_loopback(&Url::parse(url).unwrap());
        for url in
            ["http://localhost:1", "http://127.3.2.1/", "http://[::1]:80", "http://a.localhost"]
        {
            assert!(is_loopback(url), "{url}");
        }
        assert!(!is_loopback("http://example.org") && !is_loopback("http://10.0.0.1"));
    }
}
