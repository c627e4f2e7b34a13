//! Regular expressions and replacements as dashboards write them, which is as JavaScript does.
//!
//! A text that begins with a slash is `/pattern/flags` and may match anywhere; any other text has to
//! match as a whole. Matching takes time in proportion to the text. Only what has look-around or back
//! references goes back and forth, within a bound of steps and while there is time: beyond it a text does
//! not match, whatever a dashboard asks for.

use std::ops::Range;

use fancy_regex::RegexBuilder;
use regex::Regex;

use crate::{effort, limits};

/// A regular expression.
#[derive(Debug, Clone)]
pub struct Pattern {
    engine: Engine,
    /// The names of its groups, none for those without; the first is all of it.
    names: Vec<Option<String>>,
}

#[derive(Debug, Clone)]
enum Engine {
    Linear(Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

/// Where an expression matches a text, and its groups.
#[derive(Debug)]
pub struct Found<'t> {
    whole: Range<usize>,
    groups: Vec<Option<&'t str>>,
}

/// The expression that a matcher's text is.
pub fn compile(text: &str) -> Result<Pattern, String> {
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
pub fn search(pattern: &str) -> Result<Pattern, String> {
    effort::check()?;
    match kymo_pattern::search(pattern, limits::MAX_REGEX_BYTES) {
        Ok(regex) => {
            let names = regex.capture_names().map(|name| name.map(str::to_owned)).collect();
            Ok(Pattern { engine: Engine::Linear(regex), names })
        }
        Err(why) => backtracking(pattern).ok_or(why),
    }
}

/// The expression that goes back and forth, if it is short and valid.
fn backtracking(pattern: &str) -> Option<Pattern> {
    if pattern.len() > limits::MAX_BACKTRACKING_PATTERN_BYTES || !is_javascript(pattern) {
        return None;
    }
    let mut builder = RegexBuilder::new(&kymo_pattern::unanchored(pattern));
    builder
        .backtrack_limit(limits::MAX_BACKTRACKS)
        .delegate_size_limit(limits::MAX_REGEX_BYTES)
        .delegate_dfa_size_limit(limits::MAX_REGEX_BYTES)
        .delegate_dfa_skip_cache_capacity_check(false)
        .max_prog_size(limits::MAX_BACKTRACKING_STEPS);
    let regex = builder.build().ok()?;
    let names = regex.capture_names().map(|name| name.map(str::to_owned)).collect();
    Some(Pattern { engine: Engine::Backtracking(Box::new(regex)), names })
}

/// Whether an expression has nothing that JavaScript has not: conditions, calls of groups and the like,
/// which the library knows from elsewhere, are nothing that dashboards need.
fn is_javascript(pattern: &str) -> bool {
    let mut rest = pattern;
    while let Some(at) = rest.find(['\\', '(']) {
        let is_escape = rest[at..].starts_with('\\');
        rest = &rest[at + 1..];
        if is_escape {
            let Some(escaped) = rest.chars().next() else { return false };
            if escaped.is_alphanumeric() && !"bBdDsSwWnrtvfxu123456789k".contains(escaped) {
                return false;
            }
            rest = &rest[escaped.len_utf8()..];
        } else if let Some(kind) = rest.strip_prefix('?') {
            // `(?<name>`, `(?<=` or `(?<!`.
            let is_name = |text: &str| {
                text.starts_with(|c: char| c.is_ascii_alphabetic() || "_=!".contains(c))
            };
            let is_known = kind.starts_with([':', '=', '!']);
            if !is_known && !kind.strip_prefix('<').is_some_and(is_name) && !has_flags(kind) {
                return false;
            }
        }
    }
    true
}

/// Whether flags come next, as they are put before an expression.
fn has_flags(text: &str) -> bool {
    text.split_once(')').is_some_and(|(flags, _)| {
        !flags.is_empty() && flags.bytes().all(|flag| b"ims".contains(&flag))
    })
}

impl Pattern {
    /// Whether it matches somewhere.
    pub fn is_match(&self, text: &str) -> bool {
        match &self.engine {
            Engine::Linear(regex) => regex.is_match(text),
            Engine::Backtracking(regex) => {
                !effort::is_over() && regex.is_match(text).unwrap_or(false)
            }
        }
    }

    /// The first match.
    pub fn find<'t>(&self, text: &'t str) -> Option<Found<'t>> {
        self.find_all(text, 1).pop()
    }

    /// The first matches, at most so many.
    pub fn find_all<'t>(&self, text: &'t str, most: usize) -> Vec<Found<'t>> {
        match &self.engine {
            Engine::Linear(regex) => {
                let matches = regex.captures_iter(text).take(most);
                let found = matches.filter_map(|captures| {
                    let groups = captures.iter().map(|group| group.map(|group| group.as_str()));
                    Some(Found { whole: captures.get(0)?.range(), groups: groups.collect() })
                });
                found.collect()
            }
            Engine::Backtracking(regex) => {
                let matches = regex.captures_iter(text).take(most);
                let in_time = matches.take_while(|_| !effort::is_over()).map_while(Result::ok);
                let found = in_time.filter_map(|captures| {
                    let groups = (0..captures.len()).map(|at| captures.get(at));
                    let groups = groups.map(|group| group.map(|group| group.as_str()));
                    Some(Found { whole: captures.get(0)?.range(), groups: groups.collect() })
                });
                found.collect()
            }
        }
    }

    /// The names of its groups, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().flatten().map(String::as_str)
    }

    /// Whether it has groups.
    pub fn has_groups(&self) -> bool {
        self.names.len() > 1
    }

    /// What a group of that name matched.
    pub fn named<'t>(&self, found: &Found<'t>, name: &str) -> Option<&'t str> {
        let at = self.names.iter().position(|known| known.as_deref() == Some(name))?;
        found.group(at)
    }

    /// Replaces the first match, or all, by a template with `$1`, `$&`, `$<name>` and `$$`. What is
    /// longer than [`limits::MAX_NAME_BYTES`] is cut.
    pub fn replace(&self, text: &str, template: &str, all: bool) -> String {
        let mut replaced = Bounded::default();
        let mut end = 0;
        for found in self.find_all(text, if all { usize::MAX } else { 1 }) {
            replaced.push_str(&text[end..found.whole.start]);
            self.expand(&found, template, &mut replaced);
            end = found.whole.end;
            if replaced.is_full {
                break;
            }
        }
        replaced.push_str(&text[end..]);
        replaced.text
    }

    fn expand(&self, found: &Found<'_>, template: &str, text: &mut Bounded) {
        let group = |index: usize| found.group(index).unwrap_or_default();
        let mut rest = template;
        while let Some(at) = rest.find('$').filter(|_| !text.is_full) {
            text.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let digits = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
            // The longest number that is a group, so that "$12" is group 1 and a "2" where there are
            // fewer than twelve.
            let number = (1..=digits).rev().find_map(|length| {
                let index: usize = rest[..length].parse().ok()?;
                (index > 0 && index < self.names.len()).then_some((length, index))
            });
            if let Some((length, index)) = number {
                text.push_str(group(index));
                rest = &rest[length..];
            } else if let Some(after) = rest.strip_prefix('$') {
                text.push_str("$");
                rest = after;
            } else if let Some(after) = rest.strip_prefix('&') {
                text.push_str(group(0));
                rest = after;
            } else if let Some((name, after)) =
                rest.strip_prefix('<').and_then(|rest| rest.split_once('>'))
            {
                text.push_str(self.named(found, name).unwrap_or_default());
                rest = after;
            } else {
                text.push_str("$");
            }
        }
        text.push_str(rest);
    }
}

/// A text that grows to a certain length and no further.
#[derive(Default)]
struct Bounded {
    text: String,
    is_full: bool,
}

impl Bounded {
    fn push_str(&mut self, part: &str) {
        let left = if self.is_full { 0 } else { limits::MAX_NAME_BYTES - self.text.len() };
        self.is_full |= part.len() > left;
        self.text.push_str(&part[..part.floor_char_boundary(left)]);
    }
}

impl<'t> Found<'t> {
    /// What a group matched; the one at 0 is all of it.
    pub fn group(&self, at: usize) -> Option<&'t str> {
        self.groups.get(at).copied().flatten()
    }

    /// What the first group matched that matched anything.
    pub fn first_group(&self) -> Option<&'t str> {
        self.groups.iter().skip(1).flatten().next().copied()
    }
}

/// Whether all matches are replaced rather than the first, by the flags of the expression.
pub fn is_global(text: &str) -> bool {
    text.starts_with('/') && text.rsplit_once('/').is_some_and(|(_, flags)| flags.contains('g'))
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
    fn what_is_no_expression_is_refused() {
        assert!(compile("/(/").is_err());
        assert!(compile("/(?=a/").is_err());
        assert!(compile(&format!("/(?=a){}/", "b".repeat(3_000))).is_err());
        assert!(compile("/(?=a)((x{900}){900}){900}/").is_err());
        for other in
            ["(a)(?(1)b|c)", "(?>a)", "(?R)(?=a)", "\\Ga(?=b)", "(?P>a)", "(?=a)\\", "(?~a)"]
        {
            assert!(search(other).is_err(), "{other}");
        }
        assert!(compile("/a").is_err());
        assert!(compile("/a/z").is_err());
    }

    #[test]
    fn look_around_and_back_references_match_as_in_javascript() {
        let without = compile("/^(?!.*test).*$/").unwrap();
        assert!(without.is_match("node-1") && !without.is_match("a test b"));
        assert!(compile("/(?<!x)Y/i").unwrap().is_match("ay"));
        assert!(!compile("(?!a)b").unwrap().is_match("bb"));
        assert!(compile("(a|b)\\1").unwrap().is_match("bb"));
        let between = compile("/(?<=gpu-)(?<id>\\d+)(?=\\/)/g").unwrap();
        assert_eq!(
            between.replace("gpu-1/gpu-22/gpu-3", "<$1:$<id>>", true),
            "gpu-<1:1>/gpu-<22:22>/gpu-3"
        );
        assert_eq!(between.find("gpu-7/").unwrap().group(1), Some("7"));
    }

    #[test]
    fn an_expression_that_takes_too_long_does_not_match() {
        let endless = compile("/^(?=(a+)+$)(a|aa|aaa)+\\1x$/").unwrap();
        let before = std::time::Instant::now();
        assert!(!endless.is_match(&"a".repeat(2_000)));
        assert!(endless.find_all(&"a".repeat(2_000), 5).is_empty());
        assert!(before.elapsed().as_secs() < 5);
    }

    #[test]
    fn templates_name_groups_as_javascript_does() {
        let regex = search(r"(?P<host>\w+):(\d+)").unwrap();
        assert_eq!(regex.replace("a:1 b:2", "$2@$1", false), "1@a b:2");
        assert_eq!(regex.replace("a:1 b:2", "$<host>", true), "a b");
        assert_eq!(regex.replace("a:1", "$$1 $& $12 $9", false), "$1 a:1 a2 $9");
    }

    #[test]
    fn what_is_replaced_grows_to_a_bound() {
        let (all, long) = (search("(.*)").unwrap(), "aä".repeat(1_000));
        assert_eq!(all.replace(&long, "$1", false), long);
        let cut = all.replace(&long, &"$1".repeat(100_000), false);
        assert_eq!(cut, long.repeat(2)[..cut.len()]);
        assert!((limits::MAX_NAME_BYTES - 1..=limits::MAX_NAME_BYTES).contains(&cut.len()));
    }

    #[test]
    fn what_goes_back_and_forth_matches_nothing_once_the_time_is_over() {
        let back = search("(a)\\1").unwrap();
        assert!(back.is_match("aa"));
        effort::within(std::time::Duration::ZERO, || {
            assert!(!back.is_match("aa") && back.find("aa").is_none());
            assert!(search("a").is_err());
        });
    }
}
