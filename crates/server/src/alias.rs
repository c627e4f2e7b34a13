//! Further addresses, each for one prefix of the main port: where Jaeger, Prometheus and Grafana had
//! their own ports, so that links and data sources stay as they are.
//!
//! The gate gives a request its path on the main port before it decides who may ask: a short path
//! needs what the whole one does.

use http::Uri;
use http::uri::PathAndQuery;

use crate::page;

/// Where received metrics are shown, as an address of its own.
pub(crate) const METRICS: &str = "/metrics";
/// Prefixes that can have an address.
const PREFIXES: [&str; 6] = ["/jaeger", "/prometheus", "/grafana", "/tempo", "/loki", METRICS];
/// Paths that are the same on every address.
const COMMON: [&str; 3] = ["/ready", "/healthz", "/metrics"];

/// An address and what is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Alias {
    pub(crate) address: String,
    pub(crate) prefix: &'static str,
}

impl Alias {
    /// Reads `ADDRESS=PREFIX`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let expected = || {
            let prefixes = PREFIXES.join(", ");
            format!(
                "listen.aliases: {text:?} is none: expected ADDRESS=PREFIX such as \
                 127.0.0.1:16686=/jaeger, where PREFIX is one of {prefixes}"
            )
        };
        let (address, prefix) = text.split_once('=').ok_or_else(expected)?;
        let prefix = prefix.trim().trim_end_matches('/');
        let prefix = PREFIXES.into_iter().find(|known| *known == prefix).ok_or_else(expected)?;
        Ok(Self { address: address.trim().to_owned(), prefix })
    }

    /// Whose settings hold for it: those of the listener that has the same.
    pub(crate) fn listener(&self) -> &'static str {
        if self.prefix == METRICS { "expose_metrics" } else { "http" }
    }
}

/// The path on the main port, if it is another one.
pub(crate) fn shifted(uri: &Uri, prefix: &str) -> Option<Uri> {
    let path = uri.path();
    let is_below =
        path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_page = path.len() > 1 && page::is_one(path);
    if is_below || COMMON.contains(&path) || is_page {
        return None;
    }
    let mut parts = uri.clone().into_parts();
    let rest = parts.path_and_query.as_ref().map_or("/", PathAndQuery::as_str);
    parts.path_and_query = Some(format!("{prefix}{rest}").parse().ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_is_an_address_and_a_known_prefix() {
        let alias = Alias::parse("127.0.0.1:16686=/jaeger/").unwrap();
        assert_eq!((alias.address.as_str(), alias.prefix), ("127.0.0.1:16686", "/jaeger"));
        for wrong in ["127.0.0.1:1", "127.0.0.1:1=/other", "=", ""] {
            let error = Alias::parse(wrong).unwrap_err();
            assert!(error.contains("ADDRESS=PREFIX"), "{error}");
        }
    }

    #[test]
    fn paths_are_those_of_the_system_that_had_the_port() {
        let moved =
            |path: &str, prefix| shifted(&path.parse().unwrap(), prefix).map(|uri| uri.to_string());
        assert_eq!(moved("/api/traces?x=1", "/jaeger").as_deref(), Some("/jaeger/api/traces?x=1"));
        assert_eq!(moved("/", "/grafana").as_deref(), Some("/grafana/"));
        assert_eq!(
            moved("/search?service=a", "/jaeger").as_deref(),
            Some("/jaeger/search?service=a")
        );
        for same in ["/jaeger/api/traces", "/jaeger", "/ready", "/trace/1", "/traces?q=x"] {
            assert_eq!(moved(same, "/jaeger"), None, "{same}");
        }
    }
}
