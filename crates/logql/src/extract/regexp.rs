//! `| regexp "(?P<method>\\w+)"`: the named groups of a regular expression as labels.

use regex::Regex;

use super::{ExtractError, is_label_name};
use crate::limits::MAX_PATTERN_BYTES;

/// Reads labels out of the first match of a regular expression.
#[derive(Debug, Clone)]
pub struct RegexpParser {
    regex: Regex,
    /// The groups that have names, by their number.
    groups: Vec<(usize, String)>,
}

impl RegexpParser {
    /// Compiles a regular expression; it needs a named group at least.
    pub fn new(pattern: &str) -> Result<Self, ExtractError> {
        let regex =
            kymo_pattern::search(pattern, MAX_PATTERN_BYTES).map_err(ExtractError::Expression)?;
        let groups: Vec<(usize, String)> = regex
            .capture_names()
            .enumerate()
            .filter_map(|(group, name)| Some((group, name?.to_owned())))
            .collect();
        let wrong = |reason: String| {
            Err(ExtractError::Expression(format!("the regular expression {pattern:?} {reason}")))
        };
        if groups.is_empty() {
            return wrong("needs a named group, like `(?P<name>...)`".to_owned());
        }
        if let Some((_, name)) = groups.iter().find(|(_, name)| !is_label_name(name)) {
            return wrong(format!("has a group `{name}`, which cannot be a label's name"));
        }
        Ok(Self { regex, groups })
    }

    /// The labels that it may read.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|(_, name)| name.as_str())
    }

    /// Gives every group of the first match to the sink, empty if it took no part in it; none if
    /// nothing matches.
    pub fn extract(&self, line: &str, sink: &mut dyn FnMut(&str, &str)) {
        let Some(captures) = self.regex.captures(line) else { return };
        for (group, name) in &self.groups {
            sink(name, captures.get(*group).map_or("", |found| found.as_str()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &str, line: &str) -> String {
        let mut found = Vec::new();
        RegexpParser::new(pattern)
            .unwrap()
            .extract(line, &mut |name, value| found.push(format!("{name}={value}")));
        found.join("|")
    }

    #[test]
    fn named_groups_of_the_first_match_are_labels() {
        assert_eq!(read(r"(?P<app>\w+) (?P<what>\w+)", "INFO plain text"), "app=INFO|what=plain");
        assert_eq!(read(r"n=(?P<n>\d+)", "a n=1 n=2"), "n=1");
        assert_eq!(read(r"(?P<word>nothing)", "done"), "");
        assert_eq!(read(r"(?P<a>x)|(?P<b>y)", "y"), "a=|b=y");
        assert_eq!(read(r"(\d+)-(?P<b>\d+)", "1-2"), "b=2");
        assert_eq!(read(r"(?<a>\d)", "5"), "a=5");
    }

    #[test]
    fn wrong_expressions_are_refused() {
        for wrong in ["(job)", "", "(?P<a>x)(?P<a>y)", "(?P<a", "(?P<é>x)", "(?P<a>x{1000}){1000}"]
        {
            assert!(RegexpParser::new(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            RegexpParser::new("(job)").unwrap_err().to_string(),
            "the regular expression \"(job)\" needs a named group, like `(?P<name>...)`"
        );
    }
}
