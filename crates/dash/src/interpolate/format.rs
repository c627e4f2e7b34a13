//! Values as text: in the format that is named, or in the style of what is around.

use chrono_tz::Tz;
use serde_json::json;

use super::{Held, Style};
use crate::fields::units::date;

/// Values in a style, within the quotes around them, if there are any.
pub(super) fn styled(style: Style, around: Option<char>, held: &Held, values: &[&str]) -> String {
    let join = |separator: &str, write: &dyn Fn(&str) -> String| {
        values.iter().map(|value| write(value)).collect::<Vec<_>>().join(separator)
    };
    match style {
        Style::Text | Style::Marked => values.join(" + "),
        Style::Glob => glob(values),
        Style::Regex => pattern(values),
        Style::Promql | Style::Logql if held.is_list => match values {
            [] => String::new(),
            [one] => pattern_within(around, one),
            _ => format!("({})", join("|", &|value| pattern_within(around, value))),
        },
        Style::Traceql if held.is_list => join("|", &|value| pattern_within(around, value)),
        Style::Promql | Style::Logql | Style::Traceql => {
            join(",", &|value| text_within(around, value))
        }
        Style::Sql if held.is_list => sql_list(values),
        Style::Sql => join(",", &|value| value.replace('\'', "''")),
    }
}

/// Values in a format that is named, with its arguments behind a colon. What is not known is written as
/// Grafana does then: as a list in braces.
pub(super) fn named(format: &str, name: &str, held: &Held, values: &[&str], zone: Tz) -> String {
    let (format, argument) = match format.split_once(':') {
        Some((format, argument)) => (format, Some(argument)),
        None => (format, None),
    };
    let join = |separator: &str, write: &dyn Fn(&str) -> String| {
        values.iter().map(|value| write(value)).collect::<Vec<_>>().join(separator)
    };
    match format {
        "csv" | "raw" => values.join(","),
        "join" => values.join(argument.unwrap_or(",")),
        "text" => values.join(" + "),
        "pipe" => values.join("|"),
        "json" => json_text(held, values),
        "regex" => pattern(values),
        "lucene" => match values {
            [] => "__empty__".to_owned(),
            [one] if !held.is_array => escape_lucene(one),
            _ => format!("({})", join(" OR ", &|value| format!("\"{}\"", escape_lucene(value)))),
        },
        "singlequote" => join(",", &|value| format!("'{}'", value.replace('\'', "\\'"))),
        "doublequote" => join(",", &|value| format!("\"{}\"", value.replace('"', "\\\""))),
        "sqlstring" => sql_list(values),
        "html" => join(", ", &escape_html),
        "percentencode" => percent_encode(&in_braces(held, values)),
        "uriencode" => uri_encode(&in_braces(held, values)),
        "queryparam" => query_parameters(&format!("var-{name}"), held, values),
        "customqueryparam" => custom_parameters(name, argument, values),
        "distributed" => {
            let rest = values.iter().skip(1).map(|value| format!("{name}={value}"));
            values
                .first()
                .map(|value| (*value).to_owned())
                .into_iter()
                .chain(rest)
                .collect::<Vec<_>>()
                .join(",")
        }
        "date" => join(",", &|value| {
            let millis = value.parse::<f64>().ok();
            millis
                .and_then(|millis| date_text(millis, argument, zone))
                .unwrap_or_else(|| value.to_owned())
        }),
        _ => glob(values),
    }
}

/// A time: ISO 8601 unless a pattern is named.
pub(super) fn date_text(millis: f64, pattern: Option<&str>, zone: Tz) -> Option<String> {
    match pattern {
        None | Some("iso" | "") => date::format(millis, "YYYY-MM-DDTHH:mm:ss.SSS[Z]", Tz::UTC),
        Some("ms") => Some((millis as i64).to_string()),
        Some("seconds") => Some(((millis / 1000.0).round() as i64).to_string()),
        Some(pattern) => date::format(millis, pattern, zone),
    }
}

fn glob(values: &[&str]) -> String {
    match values {
        [one] => (*one).to_owned(),
        _ => format!("{{{}}}", values.join(",")),
    }
}

/// A list in braces, also one of a single value; a text as it is.
fn in_braces(held: &Held, values: &[&str]) -> String {
    match values {
        [one] if held.is_array => format!("{{{one}}}"),
        values => glob(values),
    }
}

/// A list as JSON has it. Grafana leaves a single text as it is, without quotes.
fn json_text(held: &Held, values: &[&str]) -> String {
    match values {
        [one] if !held.is_array => (*one).to_owned(),
        _ => json!(values).to_string(),
    }
}

/// A value as a link's parameters have it; all is one of them.
pub(super) fn query_parameters(name: &str, held: &Held, values: &[&str]) -> String {
    let all = ["$__all"];
    let values = if held.is_all { &all[..] } else { values };
    let pairs = values.iter().map(|value| format!("{name}={}", percent_encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// `${v:customqueryparam:name:prefix}`.
fn custom_parameters(name: &str, argument: Option<&str>, values: &[&str]) -> String {
    let mut parts = argument.unwrap_or_default().splitn(2, ':');
    let name = parts.next().filter(|part| !part.is_empty()).unwrap_or(name);
    let prefix = parts.next().unwrap_or_default();
    let pairs = values.iter().map(|value| {
        format!("{}={}", percent_encode(name), percent_encode(&format!("{prefix}{value}")))
    });
    pairs.collect::<Vec<_>>().join("&")
}

/// A regular expression for any of the values.
fn pattern(values: &[&str]) -> String {
    match values {
        [one] => escape_pattern(one),
        _ => {
            let escaped: Vec<String> = values.iter().map(|value| escape_pattern(value)).collect();
            format!("({})", escaped.join("|"))
        }
    }
}

/// Escaped for a regular expression.
fn escape_pattern(value: &str) -> String {
    escape(value, "\\^$*+?.()|[]{}/", "\\")
}

/// Escaped for a regular expression within quotes. Without them it is a part of the query as it is.
fn pattern_within(around: Option<char>, value: &str) -> String {
    if around.is_none() {
        return value.to_owned();
    }
    // A slash is escaped for JavaScript, which reads no query.
    text_within(around, &escape(value, "\\^$*+?.()|[]{}", "\\"))
}

/// Within quotes, as it is. Without them it is a part of the query.
fn text_within(around: Option<char>, value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        match (around, c) {
            // Nothing is escaped there: a regular expression knows the backtick by its number, and any
            // other text does not end.
            (Some('`'), '`') => escaped.push_str("\\x60"),
            (None | Some('`'), c) => escaped.push(c),
            (Some(_), '\n') => escaped.push_str("\\n"),
            (Some(quote), c) => {
                if c == '\\' || c == quote {
                    escaped.push('\\');
                }
                escaped.push(c);
            }
        }
    }
    escaped
}

/// Texts for `IN (…)`, which must not be empty: nothing is in a list of NULL.
fn sql_list(values: &[&str]) -> String {
    match values {
        [] => "NULL".to_owned(),
        values => values.iter().map(|value| sql_text(value)).collect::<Vec<_>>().join(","),
    }
}

fn sql_text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

fn escape_lucene(value: &str) -> String {
    escape(value, "-+ =&|!(){}[]^\"~*?:\\/", "\\")
}

fn escape(value: &str, special: &str, with: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
        if special.contains(c) {
            escaped.push_str(with);
        }
        escaped.push(c);
    }
    escaped
}

fn escape_html(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for c in value.chars() {
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

/// For a part of a link, as JavaScript's `encodeURIComponent`, and `!'()*` too.
pub(super) fn percent_encode(value: &str) -> String {
    encode(value, "-_.~")
}

/// For a whole link, as JavaScript's `encodeURI`, and `!'()*` too.
fn uri_encode(value: &str) -> String {
    encode(value, "-_.~;/?:@&=+$,#")
}

fn encode(value: &str, kept: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for byte in value.bytes() {
        let c = char::from(byte);
        if byte.is_ascii_alphanumeric() || kept.contains(c) {
            encoded.push(c);
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
