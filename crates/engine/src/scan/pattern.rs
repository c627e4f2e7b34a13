//! `LIKE` patterns to regular expressions, in the syntax that both the store and DataFusion use.

use regex::RegexBuilder;

/// The regular expression that matches what a `LIKE` pattern does; `None` if that is not certain.
pub(super) fn of_like(
    pattern: &str,
    escape: Option<char>,
    case_insensitive: bool,
) -> Option<String> {
    // How letters beyond ASCII fold is left to whoever defines the operator.
    if case_insensitive && !pattern.is_ascii() {
        return None;
    }
    let escape = escape.unwrap_or('\\');
    let mut regex = String::from(if case_insensitive { r"(?is)\A" } else { r"(?s)\A" });
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            // At the end of a pattern it means different things to different kernels.
            letter if letter == escape => push_literal(&mut regex, letters.next()?),
            letter => push_literal(&mut regex, letter),
        }
    }
    regex.push_str(r"\z");
    Some(regex)
}

fn push_literal(regex: &mut String, letter: char) {
    if letter.is_ascii_punctuation() {
        regex.push('\\');
    }
    regex.push(letter);
}

/// Whether the store and DataFusion both take an expression.
pub(super) fn is_valid(regex: &str) -> bool {
    let limit_bytes = kymo_store::limits::REGEX_MAX_BYTES;
    RegexBuilder::new(regex).size_limit(limit_bytes).build().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        regex::Regex::new(&of_like(pattern, None, false).unwrap()).unwrap().is_match(text)
    }

    #[test]
    fn a_pattern_matches_the_whole_text_with_its_wildcards() {
        for (pattern, text, expected) in [
            ("GET %", "GET /a", true),
            ("GET %", "XGET /a", false),
            ("%a%", "bab", true),
            ("a_c", "abc", true),
            ("a_c", "a\nc", true),
            ("a_c", "aéc", true),
            ("a_c", "ac", false),
            ("%", "", true),
            ("", "", true),
            ("", "a", false),
            (r"100\%", "100%", true),
            (r"100\%", "1000", false),
            ("a.c", "abc", false),
            ("(a+b)*[c]{1}^$|?-#&~ ", "(a+b)*[c]{1}^$|?-#&~ ", true),
            ("a%\nb", "a x\nb", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text:?}");
        }
    }

    #[test]
    fn an_expression_that_is_too_large_for_the_store_is_not_pushed_down() {
        // About 6 MB: more than the store takes, less than DataFusion does.
        let large = r"\pL{120}";
        assert!(regex::Regex::new(large).is_ok());
        assert!(!is_valid(large) && is_valid(r"\pL{10}"));
    }

    #[test]
    fn what_is_not_certain_is_not_translated() {
        assert_eq!(of_like("a\\", None, false), None);
        assert_eq!(of_like("É%", None, true), None);
        assert!(of_like("a%", None, true).unwrap().starts_with("(?is)"));
    }
}
