//! What a query wants of the store.
//!
//! A [`Selection`] says which streams, times, labels and lines a part of a query is about, and
//! what is true of every entry that counts, so that a store can leave out others early. All of it
//! may be ignored but the matchers and the times: a pipeline tests everything again unless it is
//! told not to.

use std::collections::BTreeSet;

use crate::ast::LabelFilter;
use crate::matcher::LabelMatcher;

/// Which entries are wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// Conditions on the labels of streams.
    pub matchers: Vec<LabelMatcher>,
    /// The first time that is wanted.
    pub start_nanos: i64,
    /// The first time after it that is not.
    pub end_nanos: i64,
    /// What each entry that counts fulfils as it is stored.
    pub conditions: Vec<Condition>,
    /// What has to be known of an entry.
    pub needs: Needs,
    /// The same, if all conditions that are exact were tested: then the pipeline is told so
    /// ([`Tested::Exact`]) and does not look at what only they look at.
    pub needs_if_tested: Needs,
}

/// Whether the conditions that are exact were tested before entries are handed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tested {
    /// Not all were: the pipeline tests them.
    #[default]
    No,
    /// All of them: the pipeline leaves them out.
    Exact,
}

/// What an entry that counts fulfils.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// What.
    pub test: Test,
    /// Whether the test says all that its stage says, so that a pipeline need not ask again.
    pub is_exact: bool,
}

/// A test of an entry as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Test {
    /// The line contains one of these texts at least.
    ContainsAny(Vec<String>),
    /// The line contains none of these texts.
    ContainsNone(Vec<String>),
    /// The line matches one of these regular expressions (syntax of the `regex` crate, not
    /// anchored) at least.
    MatchesAny(Vec<String>),
    /// The line matches none of these regular expressions.
    MatchesNone(Vec<String>),
    /// A condition on labels of the stream and structured metadata. Labels that an entry does
    /// not have are empty. Where both have a name, the stream's counts. A number that cannot be
    /// read fulfils a comparison: the pipeline marks the entry.
    Labels(LabelFilter),
}

/// What has to be known of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Which labels, of the stream and of structured metadata.
    pub labels: Names,
    /// Whether the line is read.
    pub line: bool,
}

/// Names of labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Names {
    /// All.
    All,
    /// Only these.
    Only(BTreeSet<String>),
}

impl Default for Names {
    fn default() -> Self {
        Self::Only(BTreeSet::new())
    }
}

impl Names {
    /// Whether a name is among them.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(name),
        }
    }

    /// Adds a name.
    pub(crate) fn add(&mut self, name: &str) {
        if let Self::Only(names) = self {
            names.insert(name.to_owned());
        }
    }

    /// Takes a name out.
    pub(crate) fn remove(&mut self, name: &str) {
        if let Self::Only(names) = self {
            names.remove(name);
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Only(names) if names.is_empty())
    }
}
