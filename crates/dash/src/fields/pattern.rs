//! Regular expressions and replacements as dashboards write them, which is as JavaScript does.
//!
//! A text that begins with a slash is `/pattern/flags` and may match anywhere; any other text has to
//! match as a whole. Look-around and back references are refused: matching takes time in proportion
//! to the text, whatever a dashboard asks for.

use regex::{Captures, Regex};

use crate::limits;

/// The expression that a matcher's text is.
pub fn compile(text: &str) -> Result<Regex, String> {
    let Some(rest) = text.strip_prefix('/') else {
        return search(&format!("^(?:{text})$"));
    };
    let (pattern, flags) = rest
        .rsplit_once('/')
        .filter(|(_, flags)| flags.bytes().all(|flag| b"gimsuy".contains(&flag)))
        .ok_or_else(|| format!("the regular expression {text:?} does not end with a slash"))?;
    let known: String = flags.chars().filter(|flag| "ims".contains(*flag)).collect();
    if known.is_empty() { search(pattern) } else { search(&format!("(?{known}){pattern}")) }
}

/// The expression that may match anywhere in a text.
pub fn search(pattern: &str) -> Result<Regex, String> {
    kymo_pattern::search(pattern, limits::MAX_REGEX_BYTES)
}

/// Whether all matches are replaced rather than the first, by the flags of the expression.
pub fn is_global(text: &str) -> bool {
    text.starts_with('/') && text.rsplit_once('/').is_some_and(|(_, flags)| flags.contains('g'))
}

/// Replaces the first match, or all, by a template with `$1`, `$&`, `$<name>` and `$$`.
pub fn replace(regex: &Regex, text: &str, template: &str, all: bool) -> String {
    let limit = usize::from(!all);
    let insert = |captures: &Captures<'_>| expand(captures, template);
    regex.replacen(text, limit, insert).into_owned()
}

fn expand(captures: &Captures<'_>, template: &str) -> String {
    let group = |index: usize| captures.get(index).map_or("", |found| found.as_str());
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
        // The longest number that is a group, so that "$12" is group 1 and a "2" where there are
        // fewer than twelve.
        let number = (1..=digits).rev().find_map(|length| {
            let index: usize = rest[..length].parse().ok()?;
            (index > 0 && index < captures.len()).then_some((length, index))
        });
        if let Some((length, index)) = number {
            text.push_str(group(index));
            rest = &rest[length..];
        } else if let Some(after) = rest.strip_prefix('$') {
            text.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('&') {
            text.push_str(group(0));
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('<').and_then(|r| r.split_once('>')) {
            text.push_str(captures.name(name).map_or("", |found| found.as_str()));
            rest = after;
        } else {
            text.push('$');
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_means_anywhere_and_no_slash_means_the_whole() {
        assert!(compile("/cpu/").unwrap().is_match("a cpu b"));
        assert!(!compile("cpu").unwrap().is_match("a cpu b"));
        assert!(compile("/CPU/i").unwrap().is_match("cpu"));
        assert!(compile("a|b").unwrap().is_match("b"));
        assert!(!compile("a|b").unwrap().is_match("ab"));
        assert!(compile("/^/dev/sd/").unwrap().is_match("/dev/sda"));
    }

    #[test]
    fn what_cannot_be_matched_in_bounded_time_is_refused() {
        assert!(compile("/(?=a)/").is_err());
        assert!(compile("/a").is_err());
        assert!(compile("/a/z").is_err());
    }

    #[test]
    fn templates_name_groups_as_javascript_does() {
        let regex = search(r"(?P<host>\w+):(\d+)").unwrap();
        assert_eq!(replace(&regex, "a:1 b:2", "$2@$1", false), "1@a b:2");
        assert_eq!(replace(&regex, "a:1 b:2", "$<host>", true), "a b");
        assert_eq!(replace(&regex, "a:1", "$$1 $& $12 $9", false), "$1 a:1 a2 $9");
    }
}
