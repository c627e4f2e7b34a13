//! Conditions on labels, as PromQL and LogQL have them.

use std::fmt;

use regex::Regex;

use crate::names::{is_legacy_label, quoted};

/// What the regular expression of a condition may be compiled to. Ten times what is allowed where
/// nothing else is said: dashboards list all hosts in one.
pub const MAX_MATCHER_BYTES: usize = 10 << 20;

/// How a matcher compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchOp {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `=~`: the whole value matches.
    Matches,
    /// `!~`
    NotMatches,
}

impl MatchOp {
    /// The operator as it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Matches => "=~",
            Self::NotMatches => "!~",
        }
    }
}

/// A condition on a label. What is absent is an empty text.
#[derive(Debug, Clone)]
pub struct LabelMatcher {
    /// The label's name.
    pub name: String,
    /// How it compares.
    pub op: MatchOp,
    /// The text or regular expression as it was written.
    pub value: String,
    regex: Option<Regex>,
}

impl LabelMatcher {
    /// A condition; an error if the value should be a regular expression and is not.
    pub fn new(name: &str, op: MatchOp, value: &str) -> Result<Self, regex::Error> {
        Self::within(name, op, value, MAX_MATCHER_BYTES)
    }

    /// The same, with a regular expression that is compiled to at most `size_bytes`.
    pub fn within(
        name: &str,
        op: MatchOp,
        value: &str,
        size_bytes: usize,
    ) -> Result<Self, regex::Error> {
        let regex = match op {
            MatchOp::Equal | MatchOp::NotEqual => None,
            MatchOp::Matches | MatchOp::NotMatches => Some(crate::regex(value, size_bytes)?),
        };
        Ok(Self { name: name.to_owned(), op, value: value.to_owned(), regex })
    }

    /// A condition that a label has a value.
    pub fn equal(name: &str, value: &str) -> Self {
        let (name, value) = (name.to_owned(), value.to_owned());
        Self { name, op: MatchOp::Equal, value, regex: None }
    }

    /// Whether a value fulfils it.
    #[inline]
    pub fn matches(&self, value: &str) -> bool {
        match (self.op, &self.regex) {
            (MatchOp::NotEqual, _) => self.value != value,
            (MatchOp::Matches, Some(regex)) => regex.is_match(value),
            (MatchOp::NotMatches, Some(regex)) => !regex.is_match(value),
            _ => self.value == value,
        }
    }
}

impl PartialEq for LabelMatcher {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.op, &self.value) == (&other.name, other.op, &other.value)
    }
}

impl fmt::Display for LabelMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if is_legacy_label(&self.name) {
            f.write_str(&self.name)?;
        } else {
            f.write_str(&quoted(&self.name))?;
        }
        write!(f, "{}{}", self.op.symbol(), quoted(&self.value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_expression_matches_the_whole_value() {
        let matches =
            |op, pattern, value| LabelMatcher::new("a", op, pattern).unwrap().matches(value);
        assert!(matches(MatchOp::Matches, "a|b", "b"));
        assert!(!matches(MatchOp::Matches, "a|b", "bc"));
        assert!(matches(MatchOp::Matches, "a.b", "a\nb"));
        assert!(matches(MatchOp::NotMatches, "a.*", "ba"));
        assert!(matches(MatchOp::NotEqual, "a", ""));
        assert!(LabelMatcher::new("a", MatchOp::Matches, "(").is_err());
    }
}
