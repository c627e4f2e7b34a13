//! Which URLs of a provider may be fetched: what is not encrypted only from this machine, for who
//! stands on the way could otherwise hand out keys of his own.

use http::Uri;

/// Says what is wrong with a URL.
///
/// # Errors
///
/// A sentence that goes on after the name of the setting.
pub fn check(url: &str) -> Result<(), String> {
    let wrong = || "expected an https URL (http only on this machine), without user or fragment";
    let uri: Uri = url.parse().map_err(|_| wrong())?;
    let authority = uri.authority().ok_or_else(wrong)?;
    let host = uri.host().unwrap_or_default();
    let is_safe = match uri.scheme_str() {
        Some("https") => !host.is_empty(),
        Some("http") => is_loopback(host),
        _ => false,
    };
    if !is_safe || authority.as_str().contains('@') || url.contains('#') {
        return Err(wrong().to_owned());
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_encrypted_is_refused_unless_it_is_here() {
        for url in [
            "https://idp.example",
            "https://idp.example:8443/realms/main?x=1",
            "http://localhost:8080/realms/main",
            "http://127.0.0.2",
            "http://[::1]:8080/",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
        for url in [
            "",
            "idp.example",
            "/path",
            "http://idp.example",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil.example",
            "ftp://idp.example",
            "file:///etc/passwd",
            "https://user:password@idp.example",
            "https://idp.example/#x",
            "https://",
        ] {
            assert!(check(url).is_err(), "{url}");
        }
    }
}
