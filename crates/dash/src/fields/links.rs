//! Data links: where a click on a value leads.
//!
//! Only `http`, `https` and relative addresses are let through: a link is made of data, and data may
//! hold anything. Values are encoded where they stand within an address; one that is the beginning
//! of it is taken as it is, and then looked at.

use serde::Serialize;
use serde_json::Value as Json;

use super::scope::{Scope, expand};
use crate::limits;

/// A link as the page shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Link {
    /// The text.
    pub title: String,
    /// The address.
    pub url: String,
    /// Whether it opens in a page of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub target_blank: bool,
}

/// The links of a value: those of its field's configuration, with all variables put in.
pub fn links(config: &Json, scope: &Scope<'_>, interpolate: &dyn Fn(&str) -> String) -> Vec<Link> {
    let list = config.as_array().map_or(&[][..], Vec::as_slice);
    let link = |link: &Json| one(link, scope, interpolate);
    list.iter().take(limits::MAX_LINKS).filter_map(link).collect()
}

fn one(link: &Json, scope: &Scope<'_>, interpolate: &dyn Fn(&str) -> String) -> Option<Link> {
    let text = |key: &str| link.get(key).and_then(Json::as_str);
    let within_address = |name: &str, format: Option<&str>, place: usize| {
        let value = scope.resolve(name)?;
        let plain = place == 0 || name == "__url_time_range" || format == Some("raw");
        Some(if plain { value } else { encode(&value) })
    };
    let fits = |text: &str| text.len() <= limits::MAX_LINK_BYTES;
    let url = expand(text("url").filter(|url| fits(url))?, &within_address, interpolate);
    let url = safe(&url)?;
    let title = text("title").filter(|title| !title.is_empty() && fits(title));
    let as_text = |name: &str, _: Option<&str>, _: usize| scope.resolve(name);
    let title = title.map(|title| expand(title, &as_text, interpolate));
    let title = title.filter(|title| fits(title)).unwrap_or_else(|| url.clone());
    let target_blank = link.get("targetBlank").and_then(Json::as_bool).unwrap_or(false);
    Some(Link { title, url, target_blank })
}

/// An address without what browsers would skip, if it leads nowhere but to `http` and `https`.
pub fn safe(url: &str) -> Option<String> {
    // Browsers skip control characters, also within the scheme.
    let url: String = url.chars().filter(|letter| !letter.is_control()).collect();
    let url = url.trim();
    // Browsers take a backslash for a slash: behind the one that is put before paths of ours it would
    // begin another host.
    if url.is_empty() || url.len() > limits::MAX_LINK_BYTES || url.starts_with('\\') {
        return None;
    }
    let scheme = match url.find([':', '/', '?', '#', '\\']) {
        Some(at) if url.as_bytes()[at] == b':' => &url[..at],
        _ => return Some(url.to_owned()),
    };
    let known = ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme));
    known.then(|| url.to_owned())
}

/// A text as part of an address. The slash and what else is common within paths stay.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/:,@".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::scope::Prepared;
    use crate::fields::units::Clock;
    use crate::frame::{Field, Frame, Labels};
    use serde_json::json;

    fn made(link: Json, row: usize) -> Vec<Link> {
        let labels = Labels::from([("host".to_owned(), "node 1".to_owned())]);
        let frames = [Frame::new(vec![
            Field::text("trace", [Some("abc"), Some("a&b=${v}"), Some("javascript:alert(1)")]),
            Field::number("Duration", [Some(1500.0), Some(2.0), None])
                .with_config("unit", "ms")
                .with_labels(labels),
        ])];
        let prepared = Prepared::new(&frames, &Clock::default());
        let scope = Scope {
            of: &prepared,
            frame: 0,
            field: 1,
            row: Some(row),
            calculated: None,
            url_time_range: "from=1&to=2",
        };
        links(&json!([link]), &scope, &|text: &str| text.replace("${v}", "prod"))
    }

    #[test]
    fn variables_of_data_and_dashboard_are_put_in() {
        let link = json!({
            "title": "${__value.text} on ${__field.labels.host}",
            "url": "/trace/${__data.fields.trace}?v=${v}&raw=${__value.raw}&h=${__field.labels.host}&${__url_time_range}",
            "targetBlank": true
        });
        let made = made(link, 0);
        assert_eq!(made[0].title, "1.50 s on node 1");
        assert_eq!(made[0].url, "/trace/abc?v=prod&raw=1500&h=node%201&from=1&to=2");
        assert!(made[0].target_blank);
    }

    #[test]
    fn names_of_older_dashboards_mean_the_same() {
        let link = json!({"url": "/x?h=${__series.labels.host}&f=${__field_name}", "title": "t"});
        assert_eq!(made(link, 0)[0].url, "/x?h=node%201&f=Duration%20node%201");
    }

    #[test]
    fn a_title_that_is_too_long_gives_way_to_the_address() {
        let long = "x".repeat(limits::MAX_LINK_BYTES + 1);
        assert_eq!(made(json!({"url": "/a", "title": long}), 0)[0].title, "/a");
        assert!(made(json!({"url": long, "title": "t"}), 0).is_empty());
    }

    #[test]
    fn what_data_holds_is_no_template_and_no_part_of_the_address() {
        let link = json!({"url": "/trace/${__data.fields[\"trace\"]}", "title": "t"});
        assert_eq!(made(link, 1)[0].url, "/trace/a%26b%3D%24%7Bv%7D");
    }

    #[test]
    fn only_http_and_relative_addresses_are_let_through() {
        assert!(made(json!({"url": "${__data.fields.trace}"}), 2).is_empty());
        for url in
            ["javascript:alert(1)", " java\tscript:alert(1)", "data:text/html,x", "file:/etc", ""]
        {
            assert_eq!(safe(url), None, "{url}");
        }
        for url in ["\\evil.example/x", "\\\\evil.example", " \t\\/evil.example", "\u{1} \\x"] {
            assert_eq!(safe(url), None, "{url}");
        }
        for url in ["/d/x", "?a=b:c", "d/x", "https://example.org/a:b", "#a:b"] {
            assert_eq!(safe(url).as_deref(), Some(url));
        }
    }
}
