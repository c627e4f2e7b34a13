//! Texts in headers of proxies: nodes, hosts, prefixes, and the header `Forwarded` of RFC 7239.
//!
//! What is not well formed is nothing: each function gives `None` for it.

use std::net::{IpAddr, SocketAddr};

use http::uri::Authority;

use crate::limits::{MAX_HOST_BYTES, MAX_PREFIX_BYTES};

/// One element of `Forwarded`: what one proxy has seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) client: Option<String>,
    pub(super) scheme: Option<String>,
    pub(super) host: Option<String>,
}

/// An address, with or without a port: `1.2.3.4`, `1.2.3.4:80`, `::1`, `[::1]`, `[::1]:80`.
pub(super) fn node(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = bare.parse().ok();
    let address = address.or_else(|| text.parse().ok().map(|with_port: SocketAddr| with_port.ip()));
    address.map(|address: IpAddr| address.to_canonical())
}

/// A host, with or without a port, as it is in an address. Nobody's name and password is one.
pub(crate) fn host(text: &str) -> Option<String> {
    let text = text.trim();
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~:[]".contains(&b);
    if text.is_empty() || text.len() > MAX_HOST_BYTES || !text.bytes().all(is_plain) {
        return None;
    }
    let authority: Authority = text.parse().ok()?;
    let has_name = !authority.host().is_empty();
    let port_is_number = match text.strip_prefix(authority.host()) {
        Some("") => true,
        Some(port) => port.strip_prefix(':').is_some_and(|digits| digits.parse::<u16>().is_ok()),
        None => false,
    };
    (has_name && port_is_number).then(|| text.to_ascii_lowercase())
}

/// The beginning of a path, without a slash at its end: `/kymo`; empty for `/`.
///
/// It becomes the beginning of links, so nothing that leads elsewhere is taken: `//host` would be
/// another server.
pub(crate) fn prefix(text: &str) -> Option<String> {
    let text = text.trim();
    let trimmed = text.strip_suffix('/').unwrap_or(text);
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~/".contains(&b);
    let is_path = trimmed.is_empty() || trimmed.starts_with('/');
    let has_odd_segment =
        trimmed.split('/').skip(1).any(|segment| matches!(segment, "" | "." | ".."));
    let is_good = text.len() <= MAX_PREFIX_BYTES
        && is_path
        && !has_odd_segment
        && trimmed.bytes().all(is_plain);
    is_good.then(|| trimmed.to_owned())
}

/// The elements of one header `Forwarded`, or nothing if it is malformed anywhere: half of it could
/// be somebody's trick.
pub(super) fn elements(header: &str) -> Option<Vec<Element>> {
    let mut elements = Vec::new();
    let mut current = Element::default();
    let mut rest = header.trim_start();
    loop {
        // Empty elements and pairs are allowed.
        if !rest.is_empty() && !rest.starts_with([',', ';']) {
            let (name, after) = rest.split_once('=')?;
            let (value, after) = value(after)?;
            let field = match name.trim().to_ascii_lowercase().as_str() {
                "for" => Some(&mut current.client),
                "proto" => Some(&mut current.scheme),
                "host" => Some(&mut current.host),
                "" => return None,
                _ => None,
            };
            if let Some(field) = field
                && field.replace(value).is_some()
            {
                return None;
            }
            rest = after.trim_start();
        }
        let Some(separator) = rest.chars().next() else { break };
        rest = rest.get(separator.len_utf8()..)?.trim_start();
        match separator {
            ',' => elements.push(std::mem::take(&mut current)),
            ';' => {}
            _ => return None,
        }
    }
    elements.push(current);
    Some(elements)
}

/// A token or a quoted string, and what follows it.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ';', ' ', '\t', '"']).unwrap_or(text.len());
        let (token, rest) = text.split_at(end);
        return (!token.is_empty()).then(|| (token.to_owned(), rest));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, quoted.get(at + 1..)?)),
            '\\' => value.push(characters.next()?.1),
            _ => value.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_addresses_with_or_without_a_port() {
        for (text, address) in [
            ("1.2.3.4", "1.2.3.4"),
            (" 1.2.3.4:80 ", "1.2.3.4"),
            ("::1", "::1"),
            ("[2001:db8::1]", "2001:db8::1"),
            ("[2001:db8::1]:4711", "2001:db8::1"),
            ("::ffff:1.2.3.4", "1.2.3.4"),
        ] {
            assert_eq!(node(text), address.parse().ok(), "{text}");
        }
        for wrong in ["", "unknown", "_hidden", "1.2.3", "1.2.3.4:x", "host", "[::1", "1.2.3.4, 5"]
        {
            assert_eq!(node(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn hosts_are_names_or_addresses_and_nothing_that_leads_elsewhere() {
        for good in ["hub.example", "hub.example:8443", "10.0.0.1", "[::1]:80", "localhost"] {
            assert_eq!(host(good).as_deref(), Some(good));
        }
        assert_eq!(host("Hub.Example").as_deref(), Some("hub.example"));
        let long = "a".repeat(300);
        for wrong in [
            "",
            "a b",
            "user@host",
            "a/b",
            "a?b",
            "a#b",
            "h:99999",
            "h:",
            "h:1:2",
            "::1",
            "a,b",
            &long,
        ] {
            assert_eq!(host(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn prefixes_are_paths_of_this_server() {
        for (text, expected) in [("/kymo", "/kymo"), ("/a/b/", "/a/b"), ("/", ""), ("", "")] {
            assert_eq!(prefix(text).as_deref(), Some(expected), "{text}");
        }
        let long = format!("/{}", "a".repeat(300));
        for wrong in [
            "kymo",
            "//evil.example",
            "/a//b",
            "/../x",
            "/a/.",
            "/a b",
            "/a%2f",
            "/a\\b",
            "/\"",
            "/a?b",
            &long,
        ] {
            assert_eq!(prefix(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_header_of_rfc_7239_is_read() {
        let read = elements(
            "for=192.0.2.60;proto=http;by=203.0.113.43, For=\"[2001:db8::1]:80\" ; HOST=\"a\\.b\"",
        )
        .unwrap();
        let some = |text: &str| Some(text.to_owned());
        let first = Element { client: some("192.0.2.60"), scheme: some("http"), host: None };
        let second = Element { client: some("[2001:db8::1]:80"), scheme: None, host: some("a.b") };
        assert_eq!(read, [first, second]);
        assert_eq!(elements("for=a,,").unwrap().len(), 3);
        for wrong in
            ["for", "for=", "for=\"a", "for=a b", "=x", "for=a;for=b", "for=\"a\"x", "for=a=\""]
        {
            assert_eq!(elements(wrong), None, "{wrong}");
        }
    }
}
