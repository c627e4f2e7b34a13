//! The page where admins say who is recorded: `/admin/audience`.
//!
//! Three files without data. What they show and change goes through our API, with the same login and
//! the same rule for pages of other origins as everybody's. Links in them are relative, so that they
//! are right below any base path and behind any proxy. Nothing is inline, as the
//! Content-Security-Policy of pages wants it.

use axum::Router;
use axum::response::Response;
use axum::routing::get;
use http::header::CACHE_CONTROL;
use http::{HeaderValue, StatusCode};

use crate::reply::typed;
use crate::router::Shared;

/// Where each file is, what it is, and what it holds.
const FILES: [(&str, &str, &str); 3] = [
    ("/admin/audience", "text/html; charset=utf-8", include_str!("page.html")),
    ("/admin/audience/page.js", "text/javascript; charset=utf-8", include_str!("page.js")),
    ("/admin/audience/page.css", "text/css; charset=utf-8", include_str!("page.css")),
];

/// The page and what belongs to it.
pub(crate) fn over_http() -> Router<Shared> {
    FILES.into_iter().fold(Router::new(), |router, (path, content_type, text)| {
        router.route(path, get(move || async move { file(content_type, text) }))
    })
}

fn file(content_type: &'static str, text: &'static str) -> Response {
    let mut response = typed(StatusCode::OK, content_type, text);
    // After an update, a page with the script of the one before would not work.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str) -> &'static str {
        FILES.iter().find(|(path, ..)| path.ends_with(name)).unwrap().2
    }

    #[test]
    fn nothing_is_inline_and_links_are_relative() {
        let page = text("audience");
        for inline in ["style=", "<style", "onclick=", "onsubmit=", "javascript:", "<script>"] {
            assert!(!page.contains(inline), "{inline}");
        }
        for found in page.match_indices("=\"").map(|(at, _)| &page[at + 2..]) {
            assert!(!found.starts_with('/') && !found.starts_with("http"), "{found:.40}");
        }
        assert!(page.contains("src=\"audience/page.js\"") && page.contains("audience/page.css"));
        let script = text(".js");
        assert!(!script.contains("innerHTML") && !script.contains("eval("));
        assert!(script.contains("'../api/audience/'"));
    }

    #[test]
    fn every_element_that_the_script_wants_is_there_and_every_field_has_a_label() {
        let (page, script) = (text("audience"), text(".js"));
        for (at, mark) in script.match_indices("find('") {
            let id = script[at + mark.len()..].split('\'').next().unwrap();
            assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
        }
        for mark in ["<input id=\"", "<textarea id=\"", "<select id=\""] {
            for (at, _) in page.match_indices(mark) {
                let id = page[at + mark.len()..].split('"').next().unwrap();
                assert!(page.contains(&format!("for=\"{id}\"")), "{id} has no label");
            }
        }
    }
}
