//! What a browser gets: the page, its files, and links of other systems, which lead to pages.
//!
//! | path | what |
//! |---|---|
//! | those of `kymo_web::is_page` | the document of the page, which knows by its address what to show |
//! | `/_a/{hash}/{file}` | its files, which never change under one hash |
//! | `/jaeger/search`, `/grafana/d/…`, `/graph`, … | a redirect to the page that shows the same |

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use axum::routing::get;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, LOCATION, VARY};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use kymo_edge::{ClientOrigin, links, paths};

use crate::reply::{json_error, typed};
use crate::router::Shared;

/// Prefixes of systems whose links are known.
const SYSTEMS: [&str; 4] = ["/jaeger", "/prometheus", "/grafana", "/tempo"];
/// Pages that those systems have at their root, where a name of theirs may now lead to us, and whose each
/// is. Other pages of theirs have paths of ours, or of nothing.
const AT_THE_ROOT: [(&str, &str); 4] = [
    ("/search", "/jaeger"),
    ("/graph", "/prometheus"),
    ("/query", "/prometheus"),
    ("/explore", "/grafana"),
];
/// For what never changes.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// For what has to be asked for each time.
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

/// The files of the page.
pub(crate) fn over_http() -> Router<Shared> {
    let icon = get(|headers: HeaderMap| async move { file("icon.svg", &headers, ASK_AGAIN) });
    Router::new()
        .route(&format!("{}/{{hash}}/{{file}}", kymo_web::ASSETS), get(asset))
        .route("/favicon.ico", icon)
}

async fn asset(Path((hash, name)): Path<(String, String)>, headers: HeaderMap) -> Response {
    // A page that was opened before an update has files of before: today's would not fit to them, and
    // the page says then what to do.
    if hash != kymo_web::hash() {
        return json_error(StatusCode::NOT_FOUND, "the page was updated: load it again");
    }
    file(&name, &headers, FOR_EVER)
}

fn file(name: &str, headers: &HeaderMap, kept: HeaderValue) -> Response {
    let Some(file) = kymo_web::file(name) else {
        return json_error(StatusCode::NOT_FOUND, &format!("the page has no file {name}"));
    };
    let accepted = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    let is_packed = accepted.is_some_and(takes_gzip);
    let bytes = if is_packed { file.gzip } else { file.bytes };
    let mut response = typed(StatusCode::OK, file.content_type(), bytes);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, kept);
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if is_packed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// Whether gzip is among what a client takes, and not what it refuses.
fn takes_gzip(accepted: &str) -> bool {
    accepted.split(',').any(|one| {
        let mut parts = one.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        is_gzip && !parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"))
    })
}

/// The document of a page, if the request is for one.
pub(crate) fn document(base_path: &str, request: &Request<Body>) -> Option<Response> {
    let is_looked_at = matches!(*request.method(), Method::GET | Method::HEAD);
    if !is_looked_at || !is_one(request.uri().path()) {
        return None;
    }
    let html = kymo_web::index(&prefix(base_path, request));
    let mut response = typed(StatusCode::OK, "text/html; charset=utf-8", html);
    response.headers_mut().insert(CACHE_CONTROL, ASK_AGAIN);
    Some(response)
}

/// Whether a path is that of a page.
pub(crate) fn is_one(path: &str) -> bool {
    kymo_web::is_page(path)
}

/// Whether a path, whatever its query, is that of another system's link.
pub(crate) fn is_link(path: &str) -> bool {
    path.parse().is_ok_and(|uri| target(&uri).is_some())
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
    if let Some((_, system)) = AT_THE_ROOT.iter().find(|(path, _)| *path == uri.path()) {
        return links::redirect(system, whole);
    }
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
        let service = location("/kymo", "/search?service=shop").unwrap();
        assert!(service.starts_with("/kymo/traces?q=") && service.contains("shop"), "{service}");
        let expr = location("", "/graph?g0.expr=up").unwrap();
        assert!(expr.starts_with("/explore/metrics?q=up"), "{expr}");
        assert_eq!(location("", "/searches?service=shop"), None);
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
        assert!(is_one("/") && is_one("/traces") && !is_one("//traces") && !is_one("traces"));
    }

    #[test]
    fn a_page_is_its_document_below_its_prefix() {
        assert!(document("/kymo", &request("/trace/1")).is_some());
        assert!(document("", &request("/api/sql")).is_none());
        let mut posted = request("/traces");
        *posted.method_mut() = Method::POST;
        assert!(document("", &posted).is_none());
    }

    #[tokio::test]
    async fn files_of_another_build_are_not_mixed_with_those_of_today() {
        let asked = |hash: &str| asset(Path((hash.into(), "app.js".into())), HeaderMap::new());
        let today = asked(kymo_web::hash()).await;
        assert_eq!(today.status(), StatusCode::OK);
        assert_eq!(today.headers()[CACHE_CONTROL], FOR_EVER);
        assert_eq!(asked("0").await.status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn files_are_kept_for_ever_and_packed_for_who_takes_it() {
        let mut headers = HeaderMap::new();
        let plain = file("app.js", &headers, FOR_EVER);
        assert!(plain.headers().get(CONTENT_ENCODING).is_none());
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip, br"));
        let packed = file("app.js", &headers, FOR_EVER);
        assert_eq!(packed.headers()[CONTENT_ENCODING], "gzip");
        assert_eq!(packed.headers()[CACHE_CONTROL], FOR_EVER);
        assert_eq!(file("nothing.js", &headers, FOR_EVER).status(), StatusCode::NOT_FOUND);
        for (accepted, takes) in
            [("br, GZIP;q=0.5", true), ("gzip;q=0", false), ("identity", false), ("gzipped", false)]
        {
            assert_eq!(takes_gzip(accepted), takes, "{accepted}");
        }
    }
}
