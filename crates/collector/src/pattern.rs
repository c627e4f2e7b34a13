//! Regular expressions that are searched for, as ones that match whole texts.
//!
//! The collector looks for a match anywhere (`IsMatch`, `match_type: regexp`), and its dot does not
//! match a line break. TraceQL's `=~` matches the whole text, and its dot matches everything. So
//! what may stand before and behind is added, and a dot of the pattern keeps its meaning by
//! `(?-s:…)`.

/// A pattern for `=~` that matches a text in which the given one is found somewhere.
pub(crate) fn whole(searched: &str) -> String {
    // An alternative has its own beginning and end, so nothing can be taken off them.
    if searched.contains('|') || searched.contains("(?") || searched.contains("\\Q") {
        return format!(".*(?-s:{searched}).*");
    }
    let (from_start, rest) = match searched.strip_prefix('^') {
        Some(rest) => (true, rest),
        None => (false, without_leading_any(searched)),
    };
    let (to_end, rest) = match rest.strip_suffix('$') {
        Some(inner) if !ends_escaping(inner) => (true, inner),
        _ => (false, without_trailing_any(rest)),
    };
    let before = if from_start { "" } else { ".*" };
    let behind = if to_end { "" } else { ".*" };
    if rest.is_empty() && !(from_start && to_end) {
        return ".*".to_owned();
    }
    if has_dot(rest) {
        format!("{before}(?-s:{rest}){behind}")
    } else {
        format!("{before}{rest}{behind}")
    }
}

/// A text as a pattern that matches it alone.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if "\\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// `.*` at the beginning says nothing when the beginning may be anything; `.*?` is no `.*`.
fn without_leading_any(pattern: &str) -> &str {
    let mut rest = pattern;
    while let Some(inner) = rest.strip_prefix(".*") {
        if inner.starts_with('?') {
            break;
        }
        rest = inner;
    }
    rest
}

/// `.*` at the end says nothing when the end may be anything.
fn without_trailing_any(pattern: &str) -> &str {
    let mut rest = pattern;
    while let Some(inner) = rest.strip_suffix(".*") {
        if ends_escaping(inner) {
            break;
        }
        rest = inner;
    }
    rest
}

/// Whether a text ends in a backslash that escapes what follows.
fn ends_escaping(text: &str) -> bool {
    text.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1
}

/// Whether a dot matches something: one that is escaped or within a class does not.
fn has_dot(pattern: &str) -> bool {
    let mut in_class = false;
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => drop(characters.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '.' if !in_class => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts_wherever_they_are_found() {
        for (searched, expected) in [
            ("/read.*", ".*/read.*"),
            ("/list\\?skipContextTest=.*", ".*/list\\?skipContextTest=.*"),
            ("^/health$", "/health"),
            ("^/health", "/health.*"),
            ("health$", ".*health"),
            (".*", ".*"),
            ("a.b", ".*(?-s:a.b).*"),
            ("a|b", ".*(?-s:a|b).*"),
            ("^(?i)get", ".*(?-s:^(?i)get).*"),
            ("cost\\$", ".*cost\\$.*"),
            ("a\\.*", ".*a\\.*.*"),
            (".*?x", ".*(?-s:.*?x).*"),
            ("[.]x", ".*[.]x.*"),
        ] {
            assert_eq!(whole(searched), expected, "{searched}");
        }
    }

    #[test]
    fn a_whole_match_is_there_exactly_where_a_search_finds_something() {
        let searched = [
            "/read.*",
            "^/read",
            "read$",
            "^read$",
            "a.b",
            "a|b",
            "^a|b$",
            "(?i)READ",
            ".*",
            "",
            "^",
            "$",
            "^$",
            "a\\.b",
            "a\\.*",
            ".*?x",
            "[.]",
            "x+?",
            "^.*a",
            "a.*$",
            "\\$",
            "a\\\\.*",
            "(a|b)c",
            "^(?:/a|/b)/.*",
        ];
        let texts = [
            "",
            "/read",
            "/v1/read/5",
            "read",
            "READ",
            "unread\nx",
            "a.b",
            "a\nb",
            "axb",
            "b",
            "xa",
            "bc",
            "/a/x",
            "$5",
            "a\\",
            "a\\x",
            "a.",
            "a..",
            "x\na",
            "a\nx",
        ];
        for pattern in searched {
            let search = regex::Regex::new(pattern).unwrap();
            let anchored = kymo_traceql::anchored(&whole(pattern));
            let matched = regex::Regex::new(&anchored).unwrap();
            for text in texts {
                assert_eq!(
                    matched.is_match(text),
                    search.is_match(text),
                    "{pattern:?} as {anchored:?} on {text:?}"
                );
            }
        }
    }

    #[test]
    fn every_pattern_is_valid_where_it_is_used() {
        for searched in ["/read.*", "^a|b$", "(?i)x", "a.b", "[^.]+", "\\d{4}", "^$", ""] {
            let condition = format!("span.x =~ {}", crate::traceql::quoted(&whole(searched)));
            assert_eq!(crate::traceql::check(&condition), Ok(()), "{searched}");
        }
        assert_eq!(escaped("a.b(c)"), "a\\.b\\(c\\)");
    }
}
