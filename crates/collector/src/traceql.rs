//! Pieces of TraceQL as text: names of attributes, quoted text, and conditions that are known to
//! parse.

use kymo_traceql::{parse, parse_attribute};

/// The attribute of a scope: `span.http.route`, `span."a b"`, `.x` for the scope of nothing.
pub(crate) fn attribute(scope: &str, key: &str) -> String {
    let bare = format!("{scope}.{key}");
    let is_simple = |c: char| c.is_alphanumeric() || "._-/:".contains(c);
    let is_bare = !key.is_empty()
        && key.chars().all(is_simple)
        // `.5` would be a number.
        && !(scope.is_empty() && key.starts_with(|c: char| c.is_ascii_digit()))
        && parse_attribute(&bare).is_ok();
    if is_bare { bare } else { format!("{scope}.{}", quoted_name(key)) }
}

/// In names only the quote and the backslash are escaped.
fn quoted_name(key: &str) -> String {
    format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A text between double quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What is wrong with a condition, if anything is. Every condition that is written passed here.
pub(crate) fn check(condition: &str) -> Result<(), String> {
    parse(&format!("{{ {condition} }}")).map(drop).map_err(|error| error.message().to_owned())
}

/// `a || b`, each in parentheses where it needs them; `true` of none is not said.
pub(crate) fn any_of(conditions: &[String]) -> Option<String> {
    match conditions {
        [] => None,
        [one] => Some(one.clone()),
        several => {
            let several: Vec<_> = several.iter().map(|one| grouped(one)).collect();
            Some(several.join(" || "))
        }
    }
}

/// `a && b`.
pub(crate) fn all_of(conditions: &[String]) -> Option<String> {
    match conditions {
        [] => None,
        [one] => Some(one.clone()),
        several => {
            let several: Vec<_> = several.iter().map(|one| grouped(one)).collect();
            Some(several.join(" && "))
        }
    }
}

/// `!(a)`.
pub(crate) fn not(condition: &str) -> String {
    format!("!({condition})")
}

/// `&&` and `||` bind alike in TraceQL, so what has one of them is put in parentheses.
fn grouped(condition: &str) -> String {
    if condition.contains("&&") || condition.contains("||") {
        format!("({condition})")
    } else {
        condition.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_of_all_kinds_parse() {
        for key in [
            "http.route",
            "a b",
            "a\"b\\c",
            "5x",
            "日本",
            "a=b",
            "",
            "a{b}",
            "x\u{7}y",
            "//x",
            "a//b",
            "a/*b",
        ] {
            for scope in ["span", "resource", ""] {
                let condition = format!("{} = {}", attribute(scope, key), quoted("a\"\\\n\u{1}é"));
                assert_eq!(check(&condition), Ok(()), "{condition}");
            }
        }
        assert_eq!(attribute("span", "http.status_code"), "span.http.status_code");
        assert_eq!(attribute("", "5x"), ".\"5x\"");
    }

    #[test]
    fn joined_conditions_keep_their_meaning() {
        let conditions = ["span.a = 1 && span.b = 2".to_owned(), "span.c = 3".to_owned()];
        assert_eq!(
            any_of(&conditions).as_deref(),
            Some("(span.a = 1 && span.b = 2) || span.c = 3")
        );
        assert_eq!(any_of(&[]), None);
        assert_eq!(not("span.a = 1"), "!(span.a = 1)");
        assert!(check("name = 5").is_err());
    }
}
