//! What a request needs, by its path: which role, and for whom.
//!
//! | paths | role |
//! |---|---|
//! | `/ready`, `/healthz` | none |
//! | OTLP, remote-write, sessions that report | `write` |
//! | `/api/tokens`, `/api/audience`, `/api/destinations`, overrides that are changed, reloads | `admin` |
//! | `/ofrep` | `write` or `read`: who sends asks, and so does a page |
//! | `/api/ci/github` | none: GitHub signs what it sends |
//! | everything else | `read` |

use http::Method;
use kymo_identity::Role;

/// What a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing.
    Nothing,
    /// A role, for the tenants that the request names.
    Role(Role),
    /// One of writing and reading.
    WriteOrRead,
    /// A role for all tenants: what is asked is not of one.
    Server,
}

/// Paths that only say whether the server lives.
const LIVE: [&str; 5] =
    ["/ready", "/healthz", "/tempo/ready", "/prometheus/-/ready", "/prometheus/-/healthy"];
/// Below these, records are taken in.
const WRITTEN: [&str; 4] =
    ["/v1", "/prometheus/api/v1/write", "/prometheus/api/v1/otlp", "/loki/api/v1/push"];
/// Below these is what concerns all tenants.
const OF_THE_SERVER: [&str; 4] =
    ["/api/audience", "/api/destinations", "/prometheus/-", "/prometheus/api/v1/admin"];
/// Packages of OTLP over gRPC.
const OTLP_GRPC: &str = "/opentelemetry.proto.collector.";

/// What a request to a path, without the base path, needs.
pub(super) fn need(method: &Method, path: &str) -> Need {
    let is_below = |prefix: &str| {
        path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if LIVE.contains(&path) || is_below("/api/ci/github") || method == Method::OPTIONS {
        return Need::Nothing;
    }
    if path.starts_with(OTLP_GRPC) || WRITTEN.into_iter().any(is_below) {
        return Need::Role(Role::Write);
    }
    if is_below("/ofrep") {
        return Need::WriteOrRead;
    }
    if is_below("/api/tokens") {
        return Need::Role(Role::Admin);
    }
    if OF_THE_SERVER.into_iter().any(is_below) {
        return Need::Server;
    }
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    if is_read {
        return Need::Role(Role::Read);
    }
    // Queries are posted too.
    let role = match *method {
        Method::POST if is_below("/jaeger/api/archive") => Role::Write,
        Method::POST if is_below("/tempo/api/overrides") => Role::Admin,
        Method::POST => Role::Read,
        _ => Role::Admin,
    };
    Need::Role(role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_needs_what_it_does() {
        let role = Need::Role;
        for (method, path, expected) in [
            (Method::GET, "/ready", Need::Nothing),
            (Method::GET, "/readyx", role(Role::Read)),
            (Method::POST, "/api/ci/github", Need::Nothing),
            (Method::POST, "/v1/traces", role(Role::Write)),
            (Method::OPTIONS, "/v1/traces", Need::Nothing),
            (
                Method::POST,
                "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
                role(Role::Write),
            ),
            (Method::POST, "/prometheus/api/v1/write", role(Role::Write)),
            (Method::POST, "/prometheus/api/v1/query", role(Role::Read)),
            (Method::POST, "/api/sql", role(Role::Read)),
            (Method::GET, "/api/tokens", role(Role::Admin)),
            (Method::DELETE, "/api/tokens/x", role(Role::Admin)),
            (Method::GET, "/api/audience/flags", Need::Server),
            (Method::POST, "/prometheus/-/reload", Need::Server),
            (Method::GET, "/prometheus/-/ready", Need::Nothing),
            (Method::POST, "/prometheus/api/v1/otlp/v1/metrics", role(Role::Write)),
            (Method::GET, "/jaeger/api/archive", role(Role::Read)),
            (Method::POST, "/jaeger/api/archive/1", role(Role::Write)),
            (Method::DELETE, "/jaeger/api/archive/1", role(Role::Admin)),
            (Method::GET, "/tempo/api/overrides", role(Role::Read)),
            (Method::POST, "/tempo/api/overrides", role(Role::Admin)),
            (Method::POST, "/ofrep/v1/evaluate/flags/x", Need::WriteOrRead),
            (Method::POST, "/tempopb.StreamingQuerier/Search", role(Role::Read)),
            (Method::DELETE, "/anything", role(Role::Admin)),
        ] {
            assert_eq!(need(&method, path), expected, "{method} {path}");
        }
    }
}
