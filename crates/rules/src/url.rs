//! Links to the page of an expression.

use std::fmt::Write as _;

/// A text for a query of a URL, as Go escapes it: a space is a plus.
pub(crate) fn query_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte as char);
            }
            b' ' => out.push('+'),
            // Writing to a string cannot fail.
            byte => drop(write!(out, "%{byte:02X}")),
        }
    }
    out
}

/// The path of the page that draws an expression.
pub(crate) fn graph_link(expr: &str) -> String {
    format!("/graph?g0.expr={}&g0.tab=0", query_escape(expr))
}

/// The path of the page that lists what an expression gives.
pub(crate) fn table_link(expr: &str) -> String {
    format!("/graph?g0.expr={}&g0.tab=1", query_escape(expr))
}

/// The path of a URL without the slash at its end.
pub(crate) fn path_of(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    let path = behind.find('/').map_or("", |at| &behind[at..]);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    path.trim_end_matches('/')
}
