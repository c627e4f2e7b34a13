//! Grafana's pages: dashboards, Explore, alerts, and the apps for traces, metrics and logs.

use super::explore;
use super::parameters::{Link, Parameters};
use super::times::Span;

/// Parameters of dashboards that our page reads as Grafana's does.
const OF_DASHBOARDS: [&str; 5] = ["refresh", "viewPanel", "editPanel", "kiosk", "timezone"];

pub(super) fn link(segments: &[&str], parameters: &Parameters) -> Option<Link> {
    match segments {
        [] | ["login" | "home"] => Some(Link::to("/")),
        ["d" | "d-solo" | "d-embed", uid] | ["d" | "d-solo" | "d-embed", uid, _] => {
            dashboard(uid, parameters)
        }
        ["dashboards" | "dashboard", ..] => Some(Link::to("/dashboards")),
        ["explore"] => Some(explore::link(parameters)),
        ["explore", "metrics", ..] | ["a", "grafana-metricsdrilldown-app", ..] => {
            Some(time(parameters).add_to(Link::to("/explore/metrics")))
        }
        ["a", "grafana-exploretraces-app", ..] => {
            Some(time(parameters).add_to(Link::to("/traces")))
        }
        ["a", "grafana-lokiexplore-app", ..] => {
            Some(time(parameters).add_to(Link::to("/explore/logs")))
        }
        ["alerting", ..] => Some(Link::to("/alerts")),
        _ => None,
    }
}

/// A dashboard, with its variables and its time.
fn dashboard(uid: &str, parameters: &Parameters) -> Option<Link> {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
    if uid.len() > 64 || !uid.bytes().all(is_part) {
        return None;
    }
    let link = time(parameters).add_to(Link::to(format!("/d/{uid}")));
    let kept = parameters
        .iter()
        .filter(|(name, _)| name.starts_with("var-") || OF_DASHBOARDS.contains(name));
    let link = kept.fold(link, |link, (name, value)| link.with(name, value));
    // A dashboard of one panel, as it is embedded in other pages.
    let panel = parameters.first("panelId").filter(|id| id.bytes().all(is_part));
    Some(link.with_some("viewPanel", panel))
}

fn time(parameters: &Parameters) -> Span {
    Span::of_texts(parameters.first("from"), parameters.first("to"))
}

#[cfg(test)]
mod tests {
    use super::super::redirect;

    fn to(way: &str) -> String {
        redirect("/grafana", way).unwrap()
    }

    #[test]
    fn dashboards_keep_their_variables_and_their_time() {
        let way = "/d/Oxed_c6Wz/nvidia-dcgm?orgId=1&from=now-15m&to=now&var-gpu=0&var-gpu=1&var-instance=a%3A9400&refresh=5s";
        assert_eq!(
            to(way),
            "/d/Oxed_c6Wz?from=now-15m&to=now&var-gpu=0&var-gpu=1&var-instance=a%3A9400&refresh=5s"
        );
        assert_eq!(to("/d/abc"), "/d/abc");
        assert_eq!(to("/d-solo/abc/x?panelId=4"), "/d/abc?viewPanel=4");
        assert_eq!(to("/dashboards/f/xyz/folder"), "/dashboards");
        assert_eq!(redirect("/grafana", "/d/a%2e%2e/x"), None);
    }

    #[test]
    fn other_pages_have_a_place() {
        for (way, page) in [
            ("/alerting/list", "/alerts"),
            ("/login", "/"),
            (
                "/a/grafana-exploretraces-app/explore?from=now-1h&to=now",
                "/traces?from=now-1h&to=now",
            ),
            ("/a/grafana-lokiexplore-app/explore", "/explore/logs"),
            ("/explore/metrics", "/explore/metrics"),
        ] {
            assert_eq!(to(way), page);
        }
    }
}
