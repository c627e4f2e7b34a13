//! What a browser gets: a page that says what was asked for and where its answer is, and links of
//! other systems, which lead to such pages.
//!
//! | path | what is asked for |
//! |---|---|
//! | `/` | everything |
//! | `/traces?q=…`, `/trace/{id}` | traces |
//! | `/metrics-explorer?expr=…` | metrics |
//! | `/dashboards`, `/dashboards/{uid}` | dashboards |
//! | `/logs`, `/alerts`, `/targets` | as they say |

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use axum::routing::get;
use http::header::LOCATION;
use http::{HeaderValue, Method, Request, StatusCode, Uri};
use kymo_edge::{ClientOrigin, links, paths};

use crate::reply::typed;
use crate::router::Shared;

/// Prefixes of systems whose links are known.
const SYSTEMS: [&str; 4] = ["/jaeger", "/prometheus", "/grafana", "/tempo"];
/// First parts of the paths of pages, beside the first page.
const PAGES: [&str; 7] =
    ["traces", "trace", "metrics-explorer", "dashboards", "logs", "alerts", "targets"];

/// The pages.
pub(crate) fn over_http(base_path: &str) -> Router<Shared> {
    let base_path = base_path.to_owned();
    let page = get(move |request: Request<Body>| async move { page(&base_path, &request) });
    Router::new()
        .route("/", page.clone())
        .route("/traces", page.clone())
        .route("/trace/{id}", page.clone())
        .route("/metrics-explorer", page.clone())
        .route("/dashboards", page.clone())
        .route("/dashboards/{uid}", page.clone())
        .route("/logs", page.clone())
        .route("/alerts", page.clone())
        .route("/targets", page)
}

/// Whether a path is that of a page.
pub(crate) fn is_one(path: &str) -> bool {
    // One slash: what follows two is a host for browsers.
    let first = path.strip_prefix('/').map(|rest| rest.split('/').next().unwrap_or_default());
    path == "/" || first.is_some_and(|first| PAGES.contains(&first))
}

/// Where a link of another system leads, if it is one.
pub(crate) fn redirected(base_path: &str, request: &Request<Body>) -> Option<Response> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return None;
    }
    let target = target(request.uri())?;
    let location = HeaderValue::from_str(&format!("{}{target}", prefix(base_path, request)));
    let mut response = typed(StatusCode::FOUND, "text/plain; charset=utf-8", "");
    response.headers_mut().insert(LOCATION, location.ok()?);
    Some(response)
}

fn target(uri: &Uri) -> Option<String> {
    let whole = uri.path_and_query()?.as_str();
    SYSTEMS.into_iter().find_map(|system| {
        let rest = whole.strip_prefix(system)?;
        if !(rest.is_empty() || rest.starts_with(['/', '?'])) {
            return None;
        }
        // Behind a proxy that has one prefix for all, pages are below it too.
        let own = rest.split('?').next().unwrap_or_default();
        let below = (own.len() > 1 && is_one(own)).then(|| rest.to_owned());
        links::redirect(system, rest).or(below)
    })
}

/// What stands before paths as the client has them.
fn prefix(base_path: &str, request: &Request<Body>) -> String {
    let origin = request.extensions().get::<ClientOrigin>();
    let forwarded = origin.map_or("", |origin| origin.prefix.as_str());
    paths::outer_prefix(forwarded, base_path)
}

fn page(base_path: &str, request: &Request<Body>) -> Response {
    typed(StatusCode::OK, "text/html; charset=utf-8", html(base_path, request))
}

fn html(base_path: &str, request: &Request<Body>) -> String {
    let prefix = escaped(&prefix(base_path, request));
    let path = request.uri().path();
    let query = request.uri().query().unwrap_or_default();
    let answers = answers(path, query);
    let items: String = answers
        .iter()
        .map(|(what, link)| {
            let link = format!("{prefix}{}", escaped(link));
            format!("<li>{what}: <a href=\"{link}\"><code>{link}</code></a></li>\n")
        })
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>Kymograph</title>\n\
         <h1><a href=\"{prefix}/\">Kymograph</a></h1>\n\
         <p>This server records what compute does. What you look for is here:</p>\n\
         <ul>\n{items}</ul>\n\
         <p>Grafana reads <code>{prefix}/tempo</code> and <code>{prefix}/prometheus</code>, Jaeger's \
         page <code>{prefix}/jaeger</code>; <code>kymo query</code>, <code>kymo promql</code> and \
         <code>kymo sql</code> ask from a terminal.</p>\n</html>\n"
    )
}

/// What answers the question of a page, with words for it.
fn answers(path: &str, query: &str) -> Vec<(&'static str, String)> {
    let with_query = |link: &str| match query {
        "" => link.to_owned(),
        query => format!("{link}?{query}"),
    };
    let mut segments = path.trim_matches('/').split('/');
    match (segments.next().unwrap_or_default(), segments.next()) {
        ("traces", _) => vec![("Traces that match", with_query("/tempo/api/search"))],
        ("trace", Some(id)) => vec![("The trace", format!("/tempo/api/v2/traces/{id}"))],
        ("metrics-explorer", _) => {
            let query = query.replacen("expr=", "query=", 1);
            vec![("The value of the expression", format!("/prometheus/api/v1/query?{query}"))]
        }
        ("alerts", _) => vec![("Alerts", "/prometheus/api/v1/alerts".to_owned())],
        ("targets", _) => vec![("Targets", "/prometheus/api/v1/targets".to_owned())],
        _ => vec![
            ("Traces", "/tempo/api/search".to_owned()),
            ("Services", "/jaeger/api/services".to_owned()),
            ("Names of metrics", "/prometheus/api/v1/label/__name__/values".to_owned()),
            ("Alerts", "/prometheus/api/v1/alerts".to_owned()),
            ("Sessions", "/api/sessions".to_owned()),
            ("Metrics of this server", "/metrics".to_owned()),
            ("Who is recorded, for admins", "/admin/audience".to_owned()),
        ],
    }
}

/// A text that is nothing but text in HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(uri: &str) -> Request<Body> {
        Request::builder().uri(uri).body(Body::empty()).unwrap()
    }

    fn location(base_path: &str, uri: &str) -> Option<String> {
        let response = redirected(base_path, &request(uri))?;
        Some(response.headers()[LOCATION].to_str().unwrap().to_owned())
    }

    #[test]
    fn links_of_other_systems_lead_to_pages() {
        let id = "0123456789abcdef0123456789abcdef";
        let trace = format!("/trace/{id}");
        assert_eq!(location("", &format!("/jaeger/trace/{id}")), Some(trace.clone()));
        assert_eq!(location("/kymo", &format!("/jaeger{trace}")), Some(format!("/kymo{trace}")));
        assert_eq!(location("", "/grafana/traces?q=x").as_deref(), Some("/traces?q=x"));
        assert_eq!(location("", "/jaeger/api/nothing"), None);
        assert_eq!(location("", "/jaegers/trace/1"), None);
        assert_eq!(location("", "/elsewhere"), None);
    }

    #[test]
    fn no_link_leads_to_another_server() {
        for system in SYSTEMS {
            for way in
                ["//traces", "//logs/x", "///trace/1", "//alerts?x=1", "//targets@evil.example"]
            {
                let uri = format!("{system}{way}");
                let leads = location("", &uri).unwrap_or_else(|| "/".to_owned());
                assert!(!leads.starts_with("//"), "{uri} leads to {leads}");
            }
        }
        assert!(is_one("/") && is_one("/logs/x") && !is_one("//logs") && !is_one("logs"));
    }

    #[test]
    fn what_is_asked_for_is_shown_as_text() {
        let page = html("/<x>", &request("/traces?q='&x=%3Cscript%3E"));
        assert!(!page.contains("<x>") && !page.contains("q='"), "{page}");
        assert!(page.contains("/tempo/api/search?q=&#39;&amp;x=%3Cscript%3E"), "{page}");
        assert_eq!(escaped("<a href='\"&\">"), "&lt;a href=&#39;&quot;&amp;&quot;&gt;");
        assert!(is_one("/trace/1") && is_one("/") && !is_one("/api/sql"));
    }
}
