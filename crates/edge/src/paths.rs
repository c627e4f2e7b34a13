//! Prefixes of paths, whether a proxy strips them or not.
//!
//! A server behind `https://example/kymo/` gets `/kymo/x` from a proxy that passes paths on, and `/x`
//! from one that strips the prefix and says so in `X-Forwarded-Prefix: /kymo`. Both lead to the same
//! page, and links in it to the same address.

use http::Uri;
use http::uri::PathAndQuery;

use crate::forwarded::texts;

/// A configured base path as it is used: empty, or `/…` without a slash at its end. Nothing if it is
/// no path.
pub fn base_path(configured: &str) -> Option<String> {
    texts::prefix(configured)
}

/// The address within this server, without the prefix; nothing if the address is outside of the base
/// path, and so of no page here.
///
/// `forwarded_prefix` is that of [`ClientOrigin`](crate::ClientOrigin), which is empty unless a
/// trusted proxy has sent one. It says what has been stripped already and never strips anything:
/// many proxies pass it on from clients, who could otherwise lead a path that the proxy allows to one
/// that it does not.
pub fn strip_base(base_path: &str, forwarded_prefix: &str, uri: &Uri) -> Option<Uri> {
    let is_stripped = !forwarded_prefix.is_empty() && forwarded_prefix.ends_with(base_path);
    match within(base_path, uri.path()) {
        Some(inner) => replace_path(uri, inner),
        None => is_stripped.then(|| uri.clone()),
    }
}

/// The prefix that clients see: what proxies have stripped and what this server has itself. If both
/// say the same, it is there once.
pub fn outer_prefix(forwarded_prefix: &str, base_path: &str) -> String {
    if forwarded_prefix.ends_with(base_path) {
        forwarded_prefix.to_owned()
    } else {
        format!("{forwarded_prefix}{base_path}")
    }
}

/// What follows a prefix that ends where a segment does: `/` for the prefix itself.
fn within<'a>(prefix: &str, path: &'a str) -> Option<&'a str> {
    match path.strip_prefix(prefix)? {
        "" => Some("/"),
        rest if rest.starts_with('/') => Some(rest),
        _ => None,
    }
}

fn replace_path(uri: &Uri, path: &str) -> Option<Uri> {
    let mut parts = uri.clone().into_parts();
    let text = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    parts.path_and_query = Some(PathAndQuery::from_maybe_shared(text).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(base: &str, prefix: &str, uri: &str) -> Option<String> {
        strip_base(base, prefix, &uri.parse().unwrap()).map(|uri| uri.to_string())
    }

    #[test]
    fn a_prefix_is_stripped_here_or_by_the_proxy() {
        for (base, prefix, uri) in [
            ("/kymo", "", "/kymo/x?q=1"),
            ("/kymo", "/kymo", "/kymo/x?q=1"),
            ("/kymo", "/kymo", "/x?q=1"),
            ("", "/kymo", "/x?q=1"),
            ("/kymo", "/outer/kymo", "/x?q=1"),
            ("", "", "/x?q=1"),
            ("/kymo", "/outer", "/kymo/x?q=1"),
        ] {
            assert_eq!(
                strip(base, prefix, uri).as_deref(),
                Some("/x?q=1"),
                "{base} {prefix} {uri}"
            );
        }
        assert_eq!(strip("/kymo", "", "/kymo").as_deref(), Some("/"));
        assert_eq!(strip("/kymo", "", "/kymo/").as_deref(), Some("/"));
        assert_eq!(strip("/kymo", "", "http://h/kymo/x").as_deref(), Some("http://h/x"));
    }

    #[test]
    fn what_is_outside_of_the_base_path_is_nowhere() {
        for uri in ["/", "/x", "/kymograph", "/KYMO/x", "/x/kymo"] {
            assert_eq!(strip("/kymo", "", uri), None, "{uri}");
        }
    }

    #[test]
    fn a_header_leads_no_path_elsewhere() {
        assert_eq!(strip("", "/public", "/public/api/sql").as_deref(), Some("/public/api/sql"));
        assert_eq!(strip("/kymo", "/kymo/a", "/kymo/a/x").as_deref(), Some("/a/x"));
        assert_eq!(strip("/kymo", "/other", "/x"), None);
    }

    #[test]
    fn links_have_the_prefix_once() {
        assert_eq!(outer_prefix("", ""), "");
        assert_eq!(outer_prefix("/kymo", ""), "/kymo");
        assert_eq!(outer_prefix("", "/kymo"), "/kymo");
        assert_eq!(outer_prefix("/kymo", "/kymo"), "/kymo");
        assert_eq!(outer_prefix("/a/kymo", "/kymo"), "/a/kymo");
        assert_eq!(outer_prefix("/a", "/kymo"), "/a/kymo");
    }

    #[test]
    fn a_base_path_is_a_path() {
        assert_eq!(base_path("/kymo/").as_deref(), Some("/kymo"));
        assert_eq!(base_path("/").as_deref(), Some(""));
        assert_eq!(base_path("kymo"), None);
        assert_eq!(base_path("//x"), None);
    }
}
