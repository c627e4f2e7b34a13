//! The page, embedded: the files that browsers load, and the paths of its pages.
//!
//! `dist` is built from `web/app` and committed, so that cargo needs no Node. Names of files do not
//! change from build to build; a hash over all of them is part of their addresses ([`ASSETS`]), so that
//! browsers may keep them for ever. Which paths are pages is said once, in `web/app/src/pages/index.ts`;
//! the build writes it to `dist/routes.txt`.
//!
//! ```
//! let html = kymo_web::index("/kymo");
//! assert!(html.contains(r#"<base href="/kymo/">"#));
//! assert!(kymo_web::is_page("/trace/5b8efff798038103d269b633813fc60c"));
//! assert!(!kymo_web::is_page("/api/sql"));
//! ```

/// What stands before the hash in the addresses of files.
pub const ASSETS: &str = "/_a";

/// A file of the page.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// Its name, without directory.
    pub name: &'static str,
    /// As it is.
    pub bytes: &'static [u8],
    /// Packed by gzip.
    pub gzip: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

impl File {
    /// Its type, by the end of its name.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self.name.rsplit_once('.').map_or("", |(_, end)| end) {
            "html" => "text/html; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "svg" => "image/svg+xml",
            "json" => "application/json",
            "woff2" => "font/woff2",
            _ => "text/plain; charset=utf-8",
        }
    }
}

/// A file by its name.
#[must_use]
pub fn file(name: &str) -> Option<&'static File> {
    FILES.binary_search_by(|file| file.name.cmp(name)).ok().map(|at| &FILES[at])
}

/// The hash that is part of the addresses of files.
#[must_use]
pub fn hash() -> &'static str {
    HASH
}

/// Whether a path, without any prefix, is that of a page.
#[must_use]
pub fn is_page(path: &str) -> bool {
    // One slash: what follows two is a host for browsers.
    let Some(path) = path.strip_prefix('/') else { return false };
    let path = path.strip_suffix('/').unwrap_or(path);
    ROUTES.iter().any(|route| is_at(route.trim_start_matches('/'), path))
}

fn is_at(route: &str, path: &str) -> bool {
    let (mut wanted, mut parts) = (route.split('/'), path.split('/'));
    loop {
        match (wanted.next(), parts.next()) {
            (None, None) => return true,
            (Some(want), Some(part)) if want.starts_with(':') => {
                if part.is_empty() {
                    return false;
                }
            }
            (Some(want), Some(part)) if want == part => {}
            _ => return false,
        }
    }
}

/// The document of every page, for a server below a prefix: empty, or `/…` without a slash at its
/// end.
#[must_use]
pub fn index(prefix: &str) -> String {
    let html = file("index.html").map_or("", |file| str::from_utf8(file.bytes).unwrap_or(""));
    let base = format!("<head>\n    <base href=\"{}/\">", escaped(prefix));
    let assets = format!("\"{}/{HASH}/", ASSETS.trim_start_matches('/'));
    html.replacen("<head>", &base, 1).replace("\"./", &assets)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_names_files_that_are_there() {
        let html = index("");
        let marker = format!("\"_a/{}/", hash());
        let names: Vec<&str> =
            html.split(&marker).skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert!(names.contains(&"app.js"), "{html}");
        assert!(names.iter().all(|name| file(name).is_some()), "{names:?}");
        assert!(html.contains("<base href=\"/\">"), "{html}");
    }

    #[test]
    fn a_prefix_is_text_in_the_document() {
        let html = index("/\"><script>");
        assert!(html.contains("<base href=\"/&quot;&gt;&lt;script&gt;/\">"), "{html}");
    }

    #[test]
    fn pages_are_told_from_other_paths() {
        for page in ["/", "/traces", "/traces/", "/trace/1", "/explore/metrics", "/d/x/name"] {
            assert!(is_page(page), "{page}");
        }
        for other in
            ["", "/metrics", "/api/sql", "//traces", "/trace/", "/trace", "/d/a/b/c", "traces"]
        {
            assert!(!is_page(other), "{other}");
        }
    }

    #[test]
    fn a_file_has_its_type_and_is_smaller_packed() {
        let script = file("app.js").unwrap();
        assert_eq!(script.content_type(), "text/javascript; charset=utf-8");
        assert!(script.gzip.len() < script.bytes.len());
        assert!(file("../Cargo.toml").is_none());
    }

    #[test]
    fn the_first_script_is_small() {
        let script = file("app.js").unwrap();
        assert!(script.gzip.len() < 150_000, "{} bytes before editors", script.gzip.len());
    }
}
