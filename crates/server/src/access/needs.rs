//! What a request needs, by its path: which role, and for whom.
//!
//! | paths | role |
//! |---|---|
//! | `/ready`, `/healthz` and those of Tempo, Loki and Prometheus | none |
//! | `/api/ci/github` | none: GitHub signs what it sends |
//! | pages, their files in `/_a`, and links of other systems that lead to pages | none: they are the same for everybody, and have nobody's data; pages are told only to who asks by a name of the server |
//! | OTLP, remote-write, what is pushed to Loki | `write` |
//! | queries, posted ones too | `read` |
//! | dashboards that are saved or deleted | `write` |
//! | `/metrics`, of the server itself | `read` of all tenants: it names them |
//! | `/ofrep` | `write` or `read` of any tenant: who sends asks, and so does a page |
//! | `/api/tokens` | `admin` of any tenant, who sees and gives what is his |
//! | `/api/start` | `read` of any tenant: it says what the server is |
//! | `/api/audience`, `/api/destinations`, `/api/span-metrics`, `/api/admin`, reloads | `admin` of all tenants |
//! | `/api/demo` | `admin` of the tenant that gets its records |
//! | `/api/delete` | `admin` of the tenant whose records are meant |
//! | everything else, what is not there too | `admin` |
//!
//! So a path that is new is for admins until it is listed here.

use http::Method;
use kymo_identity::Role;

use crate::page;

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing.
    Nothing,
    /// No login, but a name that is the server's: a page is nobody's data, and yet not for pages that
    /// only pretend to be here.
    Page,
    /// To write, for the tenant that the request names. Web pages of others may send, too.
    Send,
    /// A role, for the tenants that the request names.
    Role(Role),
    /// A role for whichever tenant: what is asked is of none.
    Held(Role),
    /// One of writing and reading, for whichever tenant.
    WriteOrRead,
    /// A role for all tenants: what is asked is not of one.
    Server(Role),
}

/// Paths that only say whether the server lives.
const LIVE: [&str; 6] = [
    "/ready",
    "/healthz",
    "/loki/ready",
    "/tempo/ready",
    "/prometheus/-/ready",
    "/prometheus/-/healthy",
];
/// Below these, records are taken in.
const WRITTEN: [&str; 6] = [
    "/v1",
    "/prometheus/api/v1/write",
    "/prometheus/api/v1/otlp",
    "/loki/api/v1/push",
    "/loki/api/prom/push",
    "/loki/otlp",
];
/// Below these is what concerns all tenants.
const OF_THE_SERVER: [&str; 6] = [
    "/api/admin",
    "/api/audience",
    "/api/destinations",
    "/api/span-metrics",
    "/prometheus/-",
    "/prometheus/api/v1/admin",
];
/// Below these is what is asked for by GET.
const ASKED: [&str; 19] = [
    "/api/board",
    "/api/ci",
    "/api/correlate",
    "/api/dashboards",
    "/api/export",
    "/api/links",
    "/api/live",
    "/api/metrics",
    "/api/sql",
    "/api/fleet",
    "/api/runs",
    "/api/sessions",
    "/api/trace",
    "/api/traceql",
    "/api/traces",
    "/tempo",
    "/jaeger",
    "/prometheus",
    "/loki",
];
/// Below these, questions are posted.
const POSTED: [&str; 43] = [
    "/api/dashboards/adhoc",
    "/api/dashboards/annotations",
    "/api/dashboards/layout",
    "/api/dashboards/query",
    "/api/dashboards/report",
    "/api/links",
    "/api/sql",
    "/api/trace/upload",
    "/api/traces/search",
    "/api/traceql/explain",
    "/tempo/api/search",
    "/tempo/api/metrics",
    "/tempo/api/mcp",
    "/tempo/api/v2/traces/diff",
    "/jaeger/api/transform",
    "/jaeger/api/v3/traces",
    "/jaeger/api/v3/trace-summaries",
    "/prometheus/api/v1/query",
    "/prometheus/api/v1/query_range",
    "/prometheus/api/v1/query_exemplars",
    "/prometheus/api/v1/format_query",
    "/prometheus/api/v1/parse_query",
    "/prometheus/api/v1/series",
    "/prometheus/api/v1/labels",
    "/prometheus/api/v1/read",
    "/loki/api/v1/query",
    "/loki/api/v1/query_range",
    "/loki/api/v1/labels",
    "/loki/api/v1/label",
    "/loki/api/v1/series",
    "/loki/api/v1/index",
    "/loki/api/v1/detected_labels",
    "/loki/api/v1/detected_fields",
    "/loki/api/v1/detected_field",
    "/loki/api/v1/patterns",
    "/loki/api/v1/format_query",
    "/loki/api/prom/query",
    "/loki/api/prom/label",
    "/loki/api/prom/series",
    "/loki/api/v1/drilldown-limits",
    "/tempopb.StreamingQuerier",
    "/jaeger.api_v3.QueryService",
    "/arrow.flight.protocol.FlightService",
];
/// Packages of OTLP over gRPC.
const OTLP_GRPC: &str = "/opentelemetry.proto.collector.";

/// What a request to a path, without the base path, needs.
pub(super) fn need(method: &Method, path: &str) -> Need {
    let is_below = |prefix: &str| {
        path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let is_any = |prefixes: &[&str]| prefixes.iter().any(|prefix| is_below(prefix));
    let is_open = path == "/api/ci/github" || is_below("/_a");
    if LIVE.contains(&path) || is_open || method == Method::OPTIONS {
        return Need::Nothing;
    }
    if path.starts_with(OTLP_GRPC) || is_any(&WRITTEN) {
        return Need::Send;
    }
    if is_below("/ofrep") {
        return Need::WriteOrRead;
    }
    if is_below("/api/tokens") {
        return Need::Held(Role::Admin);
    }
    if is_any(&OF_THE_SERVER) {
        return Need::Server(Role::Admin);
    }
    let is_looked_at = matches!(*method, Method::GET | Method::HEAD);
    if is_looked_at && path == "/api/start" {
        return Need::Held(Role::Read);
    }
    if is_looked_at && path == "/metrics" {
        return Need::Server(Role::Read);
    }
    // Browsers ask for the icon by themselves, without a login: that is no news for the audit.
    let is_page = page::is_one(path) || page::is_link(path) || path == "/favicon.ico";
    if is_looked_at && is_page {
        return Need::Page;
    }
    Need::Role(match *method {
        Method::GET | Method::HEAD if is_any(&ASKED) => Role::Read,
        Method::POST if is_any(&POSTED) => Role::Read,
        Method::POST if is_below("/jaeger/api/archive") => Role::Write,
        Method::POST | Method::PUT | Method::DELETE if is_below("/api/dashboards") => Role::Write,
        _ => Role::Admin,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_needs_what_it_does() {
        let role = Need::Role;
        for (method, path, expected) in [
            (Method::GET, "/ready", Need::Nothing),
            (Method::GET, "/readyx", role(Role::Admin)),
            (Method::POST, "/api/ci/github", Need::Nothing),
            (Method::POST, "/api/ci/github/x", role(Role::Admin)),
            (Method::POST, "/v1/traces", Need::Send),
            (Method::OPTIONS, "/v1/traces", Need::Nothing),
            (
                Method::POST,
                "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
                Need::Send,
            ),
            (Method::POST, "/prometheus/api/v1/write", Need::Send),
            (Method::POST, "/prometheus/api/v1/otlp/v1/metrics", Need::Send),
            (Method::GET, "/prometheus/api/v1/query", role(Role::Read)),
            (Method::POST, "/prometheus/api/v1/query", role(Role::Read)),
            (Method::POST, "/prometheus/api/v1/query_range", role(Role::Read)),
            (Method::POST, "/prometheus/api/v1/read", role(Role::Read)),
            (Method::GET, "/prometheus/federate", role(Role::Read)),
            (Method::POST, "/api/sql", role(Role::Read)),
            (Method::GET, "/api/correlate", role(Role::Read)),
            (Method::GET, "/api/trace/1/spans", role(Role::Read)),
            (Method::POST, "/api/trace/upload", role(Role::Read)),
            (Method::GET, "/api/ci/pipelines", role(Role::Read)),
            (Method::GET, "/api/dashboards/x", role(Role::Read)),
            (Method::POST, "/api/dashboards/query", role(Role::Read)),
            (Method::POST, "/api/dashboards/annotations", role(Role::Read)),
            (Method::POST, "/api/dashboards/report", role(Role::Read)),
            (Method::POST, "/api/dashboards/import", role(Role::Write)),
            (Method::POST, "/api/dashboards", role(Role::Write)),
            (Method::DELETE, "/api/dashboards/x", role(Role::Write)),
            (Method::GET, "/_a/0/app.js", Need::Nothing),
            (Method::POST, "/api/correlate", role(Role::Admin)),
            (Method::GET, "/api/export/logs", role(Role::Read)),
            (Method::POST, "/api/delete", role(Role::Admin)),
            (Method::GET, "/api/delete", role(Role::Admin)),
            (Method::GET, "/api/delete/0", role(Role::Admin)),
            (Method::GET, "/api/sessions/x/events", role(Role::Read)),
            (Method::POST, "/api/sessions/x", role(Role::Admin)),
            (Method::POST, "/api/span-metrics/flush", Need::Server(Role::Admin)),
            (Method::GET, "/api/tokens", Need::Held(Role::Admin)),
            (Method::DELETE, "/api/tokens/x", Need::Held(Role::Admin)),
            (Method::GET, "/admin/audience", Need::Page),
            (Method::GET, "/admin/audience/more", role(Role::Admin)),
            (Method::GET, "/admin/storage", Need::Page),
            (Method::GET, "/api/audience/flags", Need::Server(Role::Admin)),
            (Method::GET, "/api/destinations", Need::Server(Role::Admin)),
            (Method::GET, "/api/start", Need::Held(Role::Read)),
            (Method::POST, "/api/start", role(Role::Admin)),
            (Method::GET, "/api/live", role(Role::Read)),
            (Method::GET, "/api/demo", role(Role::Admin)),
            (Method::POST, "/api/demo", role(Role::Admin)),
            (Method::DELETE, "/api/demo", role(Role::Admin)),
            (Method::GET, "/api/admin/storage", Need::Server(Role::Admin)),
            (Method::POST, "/api/admin/queries/1/cancel", Need::Server(Role::Admin)),
            (Method::POST, "/prometheus/-/reload", Need::Server(Role::Admin)),
            (Method::PUT, "/prometheus/-/reload", Need::Server(Role::Admin)),
            (
                Method::POST,
                "/prometheus/api/v1/admin/tsdb/delete_series",
                Need::Server(Role::Admin),
            ),
            (Method::GET, "/prometheus/-/ready", Need::Nothing),
            (Method::GET, "/metrics", Need::Server(Role::Read)),
            (Method::GET, "/jaeger/api/archive", role(Role::Read)),
            (Method::POST, "/jaeger/api/archive/1", role(Role::Write)),
            (Method::DELETE, "/jaeger/api/archive/1", role(Role::Admin)),
            (Method::GET, "/tempo/api/overrides", role(Role::Read)),
            (Method::POST, "/tempo/api/overrides", role(Role::Admin)),
            (Method::PATCH, "/tempo/api/overrides", role(Role::Admin)),
            (Method::POST, "/tempo/api/mcp", role(Role::Read)),
            (Method::POST, "/tempo/api/search", role(Role::Read)),
            (Method::POST, "/tempo/api/metrics/query_range", role(Role::Read)),
            (Method::POST, "/ofrep/v1/evaluate/flags/x", Need::WriteOrRead),
            (Method::POST, "/tempopb.StreamingQuerier/Search", role(Role::Read)),
            (Method::POST, "/jaeger.api_v3.QueryService/GetTrace", role(Role::Read)),
            (Method::POST, "/loki/api/v1/push", Need::Send),
            (Method::POST, "/loki/api/prom/push", Need::Send),
            (Method::POST, "/loki/otlp/v1/logs", Need::Send),
            (Method::GET, "/loki/ready", Need::Nothing),
            (Method::GET, "/loki/api/v1/tail", role(Role::Read)),
            (Method::POST, "/loki/api/v1/query_range", role(Role::Read)),
            (Method::POST, "/loki/api/v1/label/app/values", role(Role::Read)),
            (Method::POST, "/loki/api/v1/delete", role(Role::Admin)),
            (Method::POST, "/arrow.flight.protocol.FlightService/DoGet", role(Role::Read)),
            (Method::GET, "/", Need::Page),
            (Method::GET, "/trace/1", Need::Page),
            (Method::GET, "/grafana/d/x", Need::Page),
            (Method::GET, "/prometheus/graph", Need::Page),
            (Method::GET, "/prometheus/else", role(Role::Read)),
            (Method::GET, "/api/links/x", role(Role::Read)),
            (Method::POST, "/api/links", role(Role::Read)),
            (Method::GET, "/prometheus/federate", role(Role::Read)),
            (Method::GET, "/favicon.ico", Need::Page),
            (Method::GET, "/jaeger/search", Need::Page),
            (Method::GET, "/jaeger/api/traces/1", role(Role::Read)),
        ] {
            assert_eq!(need(&method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn what_is_not_listed_is_for_admins() {
        for (method, path) in [
            (Method::GET, "/api/new"),
            (Method::POST, "/api/new"),
            (Method::POST, "/tempo/api/new"),
            (Method::POST, "/prometheus/api/v1/new"),
            (Method::POST, "/jaeger/api/v3/new"),
            (Method::POST, "/new.Service/Method"),
            (Method::PUT, "/api/sql"),
            (Method::DELETE, "/anything"),
            (Method::GET, "//api/tokens"),
        ] {
            let role = Need::Role(Role::Admin);
            assert_eq!(need(&method, path), role, "{method} {path}");
        }
    }
}
