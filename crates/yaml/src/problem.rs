//! What is wrong with a configuration, and where.

use std::fmt;

use serde::de;

use crate::nearest::nearest;
use crate::tree::Place;

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where it stands, if that is known.
    pub at: Option<Place>,
    /// The keys above it, joined: `destinations[0].tls`; nothing at the top.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl Problem {
    /// Something wrong at a place.
    #[must_use]
    pub fn at(at: Place, message: impl Into<String>) -> Self {
        Self::at_or_nowhere(Some(at), message)
    }

    pub(crate) fn at_or_nowhere(at: Option<Place>, message: impl Into<String>) -> Self {
        Self { at, path: String::new(), message: message.into() }
    }

    /// The same, of something that stands below a key or in a list. The innermost place is kept.
    #[must_use]
    pub fn below(mut self, step: &str, at: Place) -> Self {
        self.at = self.at.or(Some(at));
        let joint = match self.path.as_bytes().first() {
            None | Some(b'[') => "",
            Some(_) => ".",
        };
        self.path = format!("{step}{joint}{}", self.path);
        self
    }

    /// What is wrong and with which key, without the place.
    #[must_use]
    pub fn words(&self) -> String {
        if self.path.is_empty() {
            return self.message.clone();
        }
        format!("{}: {}", self.path, self.message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column }) = self.at {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.words())
    }
}

impl std::error::Error for Problem {}

impl de::Error for Problem {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::at_or_nowhere(None, message.to_string())
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(unknown("key", field, expected))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::custom(unknown("value", variant, expected))
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format!("{field} is missing"))
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::custom(format!("{field} is there twice"))
    }

    fn invalid_type(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format!("expected {expected}, found {unexpected}"))
    }

    fn invalid_value(unexpected: de::Unexpected<'_>, expected: &dyn de::Expected) -> Self {
        Self::custom(format!("expected {expected}, found {unexpected}"))
    }
}

fn unknown(what: &str, word: &str, expected: &'static [&'static str]) -> String {
    let word = crate::printable(word);
    match nearest(&word, expected.iter().copied()) {
        Some(meant) => format!("{word} is not a {what} here; did you mean {meant}?"),
        None => format!("{word} is not a {what} here; expected {}", expected.join(", ")),
    }
}
