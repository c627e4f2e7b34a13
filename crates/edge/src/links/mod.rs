//! Links of Jaeger, Prometheus, Grafana and Tempo, and what they are here.
//!
//! People have links to those systems in chats, runbooks and pipelines. Under the prefixes that the
//! systems had, their pages lead to ours, with the query, the time and the trace that they name:
//!
//! | prefix | page | becomes |
//! |---|---|---|
//! | `/jaeger` | `/search?service=…`, `/trace/ID`, `/trace/A...B`, `/monitor`, `/dependencies` | `/traces?q=…`, `/trace/ID`, `/compare?a=A&b=B`, `/` |
//! | `/prometheus` | `/graph`, `/query`, `/alerts`, `/rules`, `/targets`, each also under `/classic` | `/explore/metrics?q=…`, `/alerts`, `/targets` |
//! | `/grafana` | `/d/UID/…`, `/explore?panes=…`, `?left=…`, `/alerting/…` | `/d/UID`, `/traces`, `/explore/metrics`, `/explore/logs`, `/alerts` |
//! | `/tempo` | `/` | `/traces` |
//!
//! Never an open redirect: what comes out is always a path of this server, which is put together
//! from known words, checked names and percent-encoded text. What is not understood is left out, and
//! a page that is not known is nothing; so are the APIs of those systems, which have their own routes.

mod explore;
mod grafana;
mod jaeger;
mod parameters;
mod prometheus;
mod times;
mod traceql;

use self::parameters::{Link, Parameters};
use crate::limits::MAX_LINK_BYTES;

/// Where a link of another system leads here: a path of this server with a query, to which the
/// caller adds its own prefix.
///
/// `prefix` is that of the system, `/jaeger`, `/prometheus`, `/grafana` or `/tempo`; the rest is what
/// follows it.
pub fn redirect(prefix: &str, path_and_query: &str) -> Option<String> {
    if path_and_query.len() > MAX_LINK_BYTES {
        return None;
    }
    // A fragment never reaches a server; what looks like one is not ours to interpret.
    let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let parameters = Parameters::parse(query);
    let link = match prefix.trim_matches('/') {
        "jaeger" => jaeger::link(&segments, &parameters),
        "prometheus" => prometheus::link(&segments, &parameters),
        "grafana" => grafana::link(&segments, &parameters),
        "tempo" => segments.is_empty().then(|| Link::to("/traces")),
        _ => None,
    };
    link.and_then(Link::finish)
}

/// A trace's id as our pages have it, if it is one.
fn trace_id(text: &str) -> Option<String> {
    let text = text.trim();
    let is_id = (1..=32).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_id.then(|| format!("{:0>32}", text.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_link_leads_to_another_server() {
        let ways = [
            "//evil.example/",
            "/\\evil.example",
            "/trace///evil.example",
            "/d///evil.example",
            "/trace/..%2f..%2fevil",
            "/d/%0d%0aLocation:x",
            "/search?service=%0d%0aLocation:%20https://evil.example",
            "/graph?g0.expr=https://evil.example",
            "/explore?left=%22https://evil.example%22",
            "/classic//evil.example",
            "/?next=https://evil.example",
            "/login?redirect=https://evil.example",
        ];
        for system in ["/jaeger", "/prometheus", "/grafana", "/tempo"] {
            for way in ways {
                let Some(link) = redirect(system, way) else { continue };
                assert!(link.starts_with('/') && !link.starts_with("//"), "{system}{way}: {link}");
                let is_plain = |b: u8| b.is_ascii_graphic() && !b"\\<>\"'".contains(&b);
                assert!(link.bytes().all(is_plain), "{system}{way}: {link}");
                assert!(link.parse::<http::Uri>().unwrap().authority().is_none());
            }
        }
    }

    #[test]
    fn apis_and_unknown_pages_are_nothing() {
        for (system, way) in [
            ("/jaeger", "/api/traces?service=x"),
            ("/prometheus", "/api/v1/query?query=up"),
            ("/grafana", "/api/health"),
            ("/tempo", "/api/search"),
            ("/jaeger", "/nowhere"),
            ("/zipkin", "/"),
        ] {
            assert_eq!(redirect(system, way), None, "{system}{way}");
        }
        let long = format!("/graph?g0.expr={}", "x".repeat(MAX_LINK_BYTES));
        assert_eq!(redirect("/prometheus", &long), None);
    }

    #[test]
    fn a_link_that_would_become_too_long_is_nothing() {
        let long = format!("/graph?g0.expr={}", "\"".repeat(MAX_LINK_BYTES / 2));
        assert_eq!(redirect("/prometheus", &long), None);
    }

    #[test]
    fn whatever_is_asked_for_the_link_is_a_path_of_this_server() {
        let pieces = [
            "/",
            "//",
            "\\",
            "?",
            "&",
            "=",
            "%",
            "%2f",
            "%0a",
            "..",
            "...",
            "trace",
            "search",
            "graph",
            "d",
            "explore",
            "classic",
            "a",
            "0123456789abcdef",
            "service=",
            "tags={\"",
            "g0.expr=",
            "left=",
            "panes={\"a\":{\"queries\":[{\"expr\":\"",
            "\"}]}}",
            "[",
            "{",
            "\"",
            "é",
            "\u{0}",
            " ",
            "from=",
            "lookback=",
            "end=",
            "1h",
            "9999999999999999999",
            "-",
            "https://evil.example",
        ];
        // Multiplicative congruence: the same sequence in every run.
        let mut state = 42u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize % below
        };
        let mut found = 0;
        for _ in 0..50_000 {
            let system = ["/jaeger", "/prometheus", "/grafana", "/tempo"][next(4)];
            let length = next(10);
            let way: String = (0..length).map(|_| pieces[next(pieces.len())]).collect();
            let Some(link) = redirect(system, &way) else { continue };
            found += 1;
            assert!(link.starts_with('/') && !link.starts_with("//"), "{system}{way}: {link}");
            assert!(link.len() <= MAX_LINK_BYTES && link.parse::<http::Uri>().is_ok(), "{link}");
        }
        assert!(found > 5000, "{found}");
    }

    #[test]
    fn each_system_has_a_first_page() {
        for (system, page) in [
            ("/jaeger", "/traces"),
            ("/prometheus", "/explore/metrics"),
            ("/grafana", "/"),
            ("/tempo", "/traces"),
        ] {
            for way in ["", "/", "//"] {
                assert_eq!(redirect(system, way).as_deref(), Some(page));
            }
        }
    }

    #[test]
    fn trace_ids_are_hexadecimal() {
        let id = "0000000000000000000000000000abcd";
        assert_eq!(trace_id("abCD").as_deref(), Some(id));
        for wrong in ["", "xyz", "../x", &"a".repeat(33)] {
            assert_eq!(trace_id(wrong), None);
        }
    }
}
