//! Which series a query asks for.

use std::borrow::Cow;

use kymo_wire::{AnyValueView, text};
use regex::Regex;

use crate::error::StoreError;
use crate::json;

/// What of a series a matcher looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The metric's name as sent.
    Name,
    /// An attribute of the points, by key.
    Label(Vec<u8>),
    /// An attribute of the resource, by key.
    Resource(Vec<u8>),
}

/// How a matcher compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// The value is the text.
    Equal,
    /// The value is another text.
    NotEqual,
    /// The whole value matches the regular expression.
    Matches,
    /// It does not.
    NotMatches,
}

/// A condition on series. Values that are not text are compared as
/// [`value_text`] writes them; what is absent is an empty text.
#[derive(Debug, Clone)]
pub struct Matcher {
    target: Target,
    test: Test,
    negated: bool,
}

#[derive(Debug, Clone)]
enum Test {
    Text(Vec<u8>),
    Regex(Regex),
}

impl Matcher {
    /// A condition; an error if `value` should be a regular expression and is not.
    pub fn new(target: Target, comparison: Comparison, value: &str) -> Result<Self, StoreError> {
        let (is_regex, negated) = match comparison {
            Comparison::Equal => (false, false),
            Comparison::NotEqual => (false, true),
            Comparison::Matches => (true, false),
            Comparison::NotMatches => (true, true),
        };
        let test = if is_regex {
            let anchored = Regex::new(&format!("^(?s:{value})$"));
            Test::Regex(anchored.map_err(|error| {
                StoreError::Query(format!("{value:?} is not a regular expression: {error}"))
            })?)
        } else {
            Test::Text(value.as_bytes().to_vec())
        };
        Ok(Self { target, test, negated })
    }

    /// What it looks at.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Whether a value fulfils it.
    pub fn matches(&self, value: &[u8]) -> bool {
        let is_match = match &self.test {
            Test::Text(expected) => expected == value,
            Test::Regex(regex) => regex.is_match(&text(value)),
        };
        is_match != self.negated
    }
}

/// An attribute's value as text: text as it is, numbers in decimal without an
/// exponent, arrays and lists as JSON, bytes as base64, nothing as nothing.
pub fn value_text<'a>(value: &AnyValueView<'a>) -> Cow<'a, [u8]> {
    match value {
        AnyValueView::Empty => Cow::Borrowed(b""),
        AnyValueView::String(text) => Cow::Borrowed(text),
        AnyValueView::Double(number) => Cow::Owned(number.to_string().into_bytes()),
        other => {
            let mut json = String::new();
            json::write_value(other, &mut json);
            Cow::Owned(json.trim_matches('"').as_bytes().to_vec())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(comparison: Comparison, pattern: &str, value: &str) -> bool {
        Matcher::new(Target::Name, comparison, pattern).unwrap().matches(value.as_bytes())
    }

    #[test]
    fn a_regular_expression_matches_the_whole_value() {
        assert!(matches(Comparison::Matches, "a|b", "b"));
        assert!(!matches(Comparison::Matches, "a|b", "bc"));
        assert!(matches(Comparison::Matches, "a.b", "a\nb"));
        assert!(matches(Comparison::Matches, "", ""));
        assert!(matches(Comparison::NotMatches, "a.*", "ba"));
        assert!(matches(Comparison::NotEqual, "a", ""));
        assert!(Matcher::new(Target::Name, Comparison::Matches, "(").is_err());
    }

    #[test]
    fn values_have_a_text() {
        let texts = [
            (AnyValueView::Empty, ""),
            (AnyValueView::Bool(true), "true"),
            (AnyValueView::Int(-5), "-5"),
            (AnyValueView::Double(0.5), "0.5"),
            (AnyValueView::Double(2.0), "2"),
            (AnyValueView::Bytes(b"hi"), "aGk="),
            (AnyValueView::Array(&[0x0a, 2, 0x18, 7]), "[7]"),
        ];
        for (value, text) in texts {
            assert_eq!(value_text(&value), text.as_bytes());
        }
    }
}
