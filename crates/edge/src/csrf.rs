//! Which requests of web pages are refused.
//!
//! A browser sends what it has for a server (a client certificate, a password that was typed once, its
//! place in a private network) with requests of any page. So a request that changes something is
//! refused if a page of another origin sent it, unless that origin is allowed; and so is one for a
//! WebSocket, since browsers let a page read what comes over it, whichever origin it is of. Browsers
//! say where a request comes from in `Sec-Fetch-Site` and `Origin`, which pages cannot change.
//! Programs that are no browsers send neither, and pass.
//!
//! Where pages of any origin may send, as for OTLP on an open listener, whoever answers does not ask
//! here. A name that is made to point at this server (DNS rebinding) is of its own origin: against
//! that helps a login, or [`hosts`](crate::hosts) where there is none.

use http::header::{AUTHORIZATION, COOKIE, HeaderMap, ORIGIN, UPGRADE};
use http::{Method, Uri};
use thiserror::Error;

/// Why a request is refused. The answer's status is 403.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CsrfRefusal {
    /// A page of another origin sent it.
    #[error(
        "web pages of {origin} may not change anything here or open a WebSocket; cors.allowed_origins \
         lists those that may"
    )]
    OtherOrigin {
        /// What the browser says; `null` for pages without one.
        origin: String,
    },
    /// The browser says that it is from elsewhere, and not from where.
    #[error(
        "web pages of other origins may not change anything here or open a WebSocket; \
         cors.allowed_origins lists those that may"
    )]
    CrossSite,
}

/// Whether a request has to be refused because a page of another origin sent it; `host` is the host
/// that the client has asked ([`ClientOrigin::host`](crate::ClientOrigin)).
///
/// An allowed origin of `*` lets pages of all origins in, but only with requests to which the browser
/// has added nothing: no cookie, and no password.
pub fn csrf_refused(
    method: &Method,
    headers: &HeaderMap,
    host: Option<&str>,
    allowed_origins: &[String],
) -> Option<CsrfRefusal> {
    if method.is_safe() && !headers.contains_key(UPGRADE) {
        return None;
    }
    let origin = headers.get(ORIGIN).map(|origin| String::from_utf8_lossy(origin.as_bytes()));
    let is_own = match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
        // `none`: somebody typed the address, or opened a bookmark.
        Some(b"same-origin" | b"none") => true,
        Some(_) => false,
        None => origin.as_deref().is_none_or(|origin| is_of_host(origin, host)),
    };
    if is_own || is_allowed(origin.as_deref(), headers, allowed_origins) {
        return None;
    }
    Some(match origin {
        Some(origin) => CsrfRefusal::OtherOrigin { origin: shown(&origin) },
        None => CsrfRefusal::CrossSite,
    })
}

fn is_allowed(origin: Option<&str>, headers: &HeaderMap, allowed_origins: &[String]) -> bool {
    let Some(origin) = origin else { return false };
    let is_basic =
        |value: &[u8]| value.get(..5).is_some_and(|word| word.eq_ignore_ascii_case(b"basic"));
    let has_password = headers.get_all(AUTHORIZATION).iter().any(|v| is_basic(v.as_bytes()));
    let is_bare = !has_password && !headers.contains_key(COOKIE);
    allowed_origins.iter().any(|allowed| match allowed.as_str() {
        "*" => is_bare,
        allowed => allowed.trim_end_matches('/').eq_ignore_ascii_case(origin),
    })
}

/// Whether an origin is the host that was asked. Its scheme is not compared: behind a proxy that is
/// not trusted, a page that was loaded by TLS is asked without.
fn is_of_host(origin: &str, host: Option<&str>) -> bool {
    let Ok(origin) = origin.parse::<Uri>() else { return false };
    let (Some(scheme), Some(authority)) = (origin.scheme_str(), origin.authority()) else {
        return false;
    };
    let default_port = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => return false,
    };
    let plain = |host: &str| {
        let host = host.to_ascii_lowercase();
        host.strip_suffix(default_port).map_or(host.clone(), str::to_owned)
    };
    host.is_some_and(|host| plain(host) == plain(authority.as_str()))
}

/// An origin in a message: what a browser can have sent, and no more.
fn shown(origin: &str) -> String {
    origin.chars().filter(|c| c.is_ascii_graphic()).take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: Option<&str> = Some("hub.example:3200");

    fn refused(method: Method, lines: &[(&'static str, &'static str)], allowed: &[&str]) -> bool {
        let headers = lines.iter().map(|(name, value)| {
            (http::HeaderName::from_static(name), http::HeaderValue::from_static(value))
        });
        let headers: HeaderMap = headers.collect();
        let allowed: Vec<String> = allowed.iter().map(|&origin| origin.to_owned()).collect();
        csrf_refused(&method, &headers, HOST, &allowed).is_some()
    }

    #[test]
    fn programs_that_are_no_browsers_pass() {
        for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
            assert!(!refused(method, &[("authorization", "Basic x")], &[]));
        }
    }

    #[test]
    fn pages_of_this_server_pass() {
        for lines in [
            &[("sec-fetch-site", "same-origin"), ("origin", "http://hub.example:3200")][..],
            &[("sec-fetch-site", "none")],
            &[("origin", "http://hub.example:3200")],
            &[("origin", "https://HUB.example:3200")],
        ] {
            assert!(!refused(Method::POST, lines, &[]), "{lines:?}");
        }
    }

    #[test]
    fn pages_of_others_may_not_change_anything() {
        for lines in [
            &[("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")][..],
            &[("sec-fetch-site", "same-site"), ("origin", "http://other.hub.example:3200")],
            &[("sec-fetch-site", "cross-site"), ("origin", "http://hub.example:3200")],
            &[("sec-fetch-site", "cross-site")],
            &[("origin", "https://evil.example")],
            &[("origin", "http://hub.example")],
            &[("origin", "http://hub.example:3200.evil.example")],
            &[("origin", "null")],
            &[("origin", "")],
        ] {
            for method in [Method::POST, Method::PUT, Method::PATCH, Method::DELETE] {
                assert!(refused(method, lines, &[]), "{lines:?}");
                assert!(!refused(Method::GET, lines, &[]), "{lines:?}");
            }
            assert!(refused(Method::POST, lines, &["https://app.example"]), "{lines:?}");
        }
    }

    #[test]
    fn a_socket_is_for_pages_of_this_server_and_for_programs() {
        let upgrade = ("upgrade", "websocket");
        assert!(!refused(Method::GET, &[upgrade], &[]));
        assert!(!refused(Method::GET, &[upgrade, ("origin", "http://hub.example:3200")], &[]));
        let other = [upgrade, ("origin", "https://evil.example")];
        assert!(refused(Method::GET, &other, &[]));
        assert!(refused(Method::GET, &[upgrade, ("sec-fetch-site", "cross-site")], &[]));
        assert!(!refused(Method::GET, &other, &["https://evil.example"]));
    }

    #[test]
    fn origins_that_are_allowed_pass() {
        let lines = [("sec-fetch-site", "cross-site"), ("origin", "https://app.example")];
        assert!(!refused(Method::POST, &lines, &["https://app.example"]));
        assert!(!refused(Method::POST, &lines, &["https://App.example/"]));
        assert!(!refused(Method::POST, &lines, &["*"]));
    }

    #[test]
    fn a_star_does_not_lend_a_password_or_a_cookie_to_all_pages() {
        let cookie = [("origin", "https://evil.example"), ("cookie", "a=b")];
        assert!(refused(Method::POST, &cookie, &["*"]));
        let password = [("origin", "https://evil.example"), ("authorization", "basic YTpi")];
        assert!(refused(Method::POST, &password, &["*"]));
        // A page has to have been given a token to send it.
        let token = [("origin", "https://app.example"), ("authorization", "Bearer x")];
        assert!(!refused(Method::POST, &token, &["*"]));
    }
}
