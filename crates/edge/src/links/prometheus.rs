//! Prometheus' pages, of its old and its new interface.

use super::parameters::{Link, Parameters};
use super::times::{self, Span};
use crate::limits::MAX_LINK_QUERIES;

pub(super) fn link(segments: &[&str], parameters: &Parameters) -> Option<Link> {
    // The oldest and the newest interface had their own places for a while.
    let segments = match segments {
        ["classic" | "new", rest @ ..] => rest,
        segments => segments,
    };
    match segments {
        [] | ["graph" | "query"] => Some(expressions(parameters)),
        ["alerts" | "rules"] => Some(Link::to("/alerts")),
        ["targets" | "service-discovery"] => Some(Link::to("/targets")),
        ["status" | "tsdb-status" | "flags" | "config" | "alertmanager-discovery"] => {
            Some(Link::to("/"))
        }
        _ => None,
    }
}

/// `g0.expr=…`, `g1.expr=…`: one panel each, of which the first says the time.
fn expressions(parameters: &Parameters) -> Link {
    let panels = (0..MAX_LINK_QUERIES).map(|panel| parameters.first(&format!("g{panel}.expr")));
    let link = panels
        .flatten()
        .fold(Link::to("/explore/metrics"), |link, expression| link.with("q", expression));
    time(parameters).add_to(link)
}

fn time(parameters: &Parameters) -> Span {
    let seconds = parameters.first("g0.range_input").and_then(times::seconds);
    // Tables show one moment.
    let end = parameters.first("g0.end_input").or_else(|| parameters.first("g0.moment_input"));
    let end = end.and_then(times::moment_millis);
    match (seconds, end) {
        (Some(seconds), None) => Span::last(seconds),
        (Some(seconds), Some(end)) => {
            Span::millis(Some(end.saturating_sub(seconds.saturating_mul(1000))), Some(end))
        }
        (None, end) => Span::millis(None, end),
    }
}

#[cfg(test)]
mod tests {
    use super::super::redirect;

    fn to(way: &str) -> String {
        redirect("/prometheus", way).unwrap()
    }

    #[test]
    fn expressions_are_explored_in_their_time() {
        let way = "/graph?g0.expr=rate(up%5B5m%5D)&g0.tab=0&g0.range_input=1h&g1.expr=down&g1.range_input=2h";
        assert_eq!(to(way), "/explore/metrics?q=rate%28up%5B5m%5D%29&q=down&from=now-3600s&to=now");
        let way = "/query?g0.expr=up&g0.end_input=2026-01-02+03%3A04%3A05&g0.range_input=1m";
        assert_eq!(to(way), "/explore/metrics?q=up&from=1767322985000&to=1767323045000");
        assert_eq!(to("/classic/graph?g0.expr=up"), "/explore/metrics?q=up");
        assert_eq!(to("/new/query?g0.expr=up"), "/explore/metrics?q=up");
        assert_eq!(to("/graph"), "/explore/metrics");
    }

    #[test]
    fn what_is_malformed_is_left_out() {
        let way = "/graph?g0.expr=up&g0.range_input=long&g0.end_input=later&gx.expr=y";
        assert_eq!(to(way), "/explore/metrics?q=up");
    }

    #[test]
    fn other_pages_have_a_place() {
        for (way, page) in [
            ("/alerts", "/alerts"),
            ("/rules", "/alerts"),
            ("/classic/targets", "/targets"),
            ("/service-discovery?search=", "/targets"),
            ("/status", "/"),
        ] {
            assert_eq!(to(way), page);
        }
    }
}
