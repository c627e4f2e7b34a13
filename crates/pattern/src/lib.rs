//! Regular expressions as Go's RE2 has them.
//!
//! Queries and relabelling rules are written for Go's RE2. Its syntax is nearly that of the `regex` crate; what differs
//! is translated: `\Q…\E` quotes, `\d`, `\w`, `\s` and `\b` know ASCII only, a brace that counts
//! nothing is a brace, `[` and `&&` within a class are themselves, and so are `\<` and `\>`.
//!
//! As matchers have it, the whole text has to match and a dot matches a newline too. Filters of
//! lines and replacements instead search for a match anywhere (`search`), and there a dot matches
//! no newline.
//!
//! | module | what it is for |
//! |---|---|
//! | [`matcher`] | conditions on labels |
//! | [`names`] | names of labels, texts in quotes |

pub mod matcher;
pub mod names;

use regex::{Regex, RegexBuilder};

/// The memory that one regular expression may take, where nothing else is said.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;

/// A regular expression that matches whole texts, compiled to at most `size_bytes`.
pub fn regex(pattern: &str, size_bytes: usize) -> Result<Regex, regex::Error> {
    check(&translate(pattern))?;
    let anchored = anchored(pattern);
    RegexBuilder::new(&anchored).size_limit(size_bytes).dfa_size_limit(size_bytes).build()
}

/// The same, with an error that says what is wrong with which expression.
pub fn compile(pattern: &str, size_bytes: usize) -> Result<Regex, String> {
    regex(pattern, size_bytes).map_err(|error| complaint(pattern, &error))
}

/// A regular expression that may match anywhere in a text, compiled to at most `size_bytes`.
pub fn search(pattern: &str, size_bytes: usize) -> Result<Regex, String> {
    RegexBuilder::new(&unanchored(pattern))
        .size_limit(size_bytes)
        .dfa_size_limit(size_bytes)
        .build()
        .map_err(|error| complaint(pattern, &error))
}

/// What is wrong with which expression.
pub fn complaint(pattern: &str, error: &regex::Error) -> String {
    match error {
        regex::Error::CompiledTooBig(_) => {
            format!("the regular expression {pattern:?} is too large")
        }
        error => {
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("the regular expression {pattern:?} is not valid: {reason}")
        }
    }
}

/// What is wrong with a regular expression, if anything is.
pub fn validate(pattern: &str) -> Result<(), String> {
    compile(pattern, MAX_PATTERN_BYTES).map(drop)
}

/// A regular expression of a query in the syntax of the `regex` crate, for who compiles it
/// elsewhere: it matches whole texts only.
pub fn anchored(pattern: &str) -> String {
    format!("^(?s:{})$", translate(pattern))
}

/// The same for one that may match anywhere.
pub fn unanchored(pattern: &str) -> String {
    translate(pattern)
}

/// Whether a pattern is valid alone: `a)(b` is not, though in parentheses it would become so.
fn check(translated: &str) -> Result<(), regex::Error> {
    // What is compiled is not kept, so it may be too large.
    match RegexBuilder::new(translated).size_limit(0).build() {
        Err(regex::Error::CompiledTooBig(_)) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// RE2's syntax to that of the `regex` crate. What is wrong stays wrong.
fn translate(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut in_class = false;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => rest = escape(rest, in_class, &mut out),
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                rest = class_start(rest, &mut out);
            }
            '[' if !rest.starts_with(':') => out.push_str("\\["),
            '[' => {
                // `[:alpha:]` is taken whole, so that its bracket does not end the class.
                let end = rest.find(":]").map_or(0, |end| end + 2);
                out.push('[');
                out.push_str(&rest[..end]);
                rest = &rest[end..];
            }
            ']' => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            '-' if in_class && rest.starts_with('-') => {
                out.push_str("-\\-");
                rest = &rest[1..];
            }
            '{' if !in_class && !is_count(rest) => out.push_str("\\{"),
            _ => out.push(c),
        }
    }
    out
}

/// After the bracket that opens a class: a bracket that comes first does not close it.
fn class_start<'a>(rest: &'a str, out: &mut String) -> &'a str {
    let mut rest = rest;
    if let Some(after) = rest.strip_prefix('^') {
        out.push('^');
        rest = after;
    }
    if let Some(after) = rest.strip_prefix(']') {
        out.push_str("\\]");
        rest = after;
    }
    rest
}

/// After a backslash. Gives what follows the escape.
fn escape<'a>(rest: &'a str, in_class: bool, out: &mut String) -> &'a str {
    let Some(c) = rest.chars().next() else {
        out.push('\\');
        return rest;
    };
    let after = &rest[c.len_utf8()..];
    match c {
        'Q' if !in_class => {
            let (quoted, after) = after.split_once("\\E").unwrap_or((after, ""));
            out.push_str(&regex::escape(quoted));
            return after;
        }
        'd' => out.push_str("[0-9]"),
        'D' => out.push_str("[^0-9]"),
        'w' => out.push_str("[0-9A-Za-z_]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        's' => out.push_str("[\\t\\n\\f\\r ]"),
        'S' => out.push_str("[^\\t\\n\\f\\r ]"),
        'b' if !in_class => out.push_str("(?-u:\\b)"),
        // By characters, as all else; half of one would not be text. `\B` of ASCII alone may
        // split a character, which text does not allow; what it says differs for other scripts.
        'C' if !in_class => out.push_str("(?s:.)"),
        '<' | '>' => out.push(c),
        _ => {
            out.push('\\');
            out.push(c);
        }
    }
    after
}

/// Whether what follows a brace makes it a count: `3}`, `3,}`, `3,5}`.
fn is_count(rest: &str) -> bool {
    let Some((inside, _)) = rest.split_once('}') else { return false };
    let (from, to) = inside.split_once(',').unwrap_or((inside, ""));
    let is_number = |text: &str| text.chars().all(|c| c.is_ascii_digit());
    !from.is_empty() && is_number(from) && is_number(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        compile(pattern, MAX_PATTERN_BYTES).unwrap().is_match(text)
    }

    #[test]
    fn the_whole_text_has_to_match() {
        assert!(!matches("SEL", "SELECT"));
        assert!(matches("SEL.*", "SELECT"));
        assert!(!matches("a|b", "ab"));
        assert!(matches("a.b", "a\nb"));
        assert!(matches("(?i)case", "Case"));
        assert!(matches("", ""));
        assert!(!matches("", "x"));
        assert!(matches("^a$", "a"));
        assert!(matches("a\\z", "a"));
    }

    #[test]
    fn what_re2_reads_otherwise_is_translated() {
        assert!(matches(r"\Qa.b*\E+c", "a.b**c"));
        assert!(matches(r"\Qa.b", "a.b"));
        assert!(matches(r"\d+", "12"));
        assert!(!matches(r"\d", "٣"));
        assert!(!matches(r"\w", "é"));
        assert!(matches(r"[^\w]", "é"));
        assert!(matches(r"[\W\d]+", "é5"));
        assert!(matches(r".*\bfoo\b.*", "a foo b"));
        assert!(matches("/users/{id}", "/users/{id}"));
        assert!(matches("a{2,3}", "aaa"));
        assert!(matches("a{,3}", "a{,3}"));
        assert!(matches("[[a]", "["));
        assert!(matches("[]a]+", "]a"));
        assert!(matches("[^]a]", "b"));
        assert!(matches("[[:digit:]x]+", "1x"));
        assert!(matches("[a&&b]+", "a&b"));
        assert!(matches("[+--]+", "+,-"));
        assert!(matches(r"\<b\>", "<b>"));
        assert!(matches(r"a\Cc", "a\nc"));
        assert!(matches(r"(?P<n>a)(?P<m>b)", "ab"));
        assert!(matches(r"\/\-\_", "/-_"));
    }

    #[test]
    fn a_search_finds_a_match_anywhere_but_no_dot_matches_a_newline() {
        let found = |pattern: &str, text: &str| {
            search(pattern, MAX_PATTERN_BYTES).unwrap().find(text).map(|found| found.range())
        };
        assert_eq!(found("b+", "abbc"), Some(1..3));
        assert_eq!(found("a.c", "a\nc"), None);
        assert_eq!(found("(?s)a.c", "a\nc"), Some(0..3));
        assert_eq!(found("^b", "ab"), None);
        assert_eq!(found(r"\d", "٣4"), Some(2..3));
        assert_eq!(found(r"\Q.\E", "a.b"), Some(1..2));
        assert!(search("a)(b", MAX_PATTERN_BYTES).unwrap_err().contains("unopened group"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |pattern| compile(pattern, MAX_PATTERN_BYTES).unwrap_err();
        assert_eq!(
            error("["),
            "the regular expression \"[\" is not valid: unclosed character class"
        );
        assert!(error("a)(b").contains("unopened group"));
        assert!(error("(a").contains("unclosed group"));
        assert!(error("a\\").contains("incomplete escape"));
        assert!(error("(a{900}){900}").ends_with("is too large"), "{}", error("(a{900}){900}"));
    }
}
