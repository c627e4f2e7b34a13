//! Rule files in Prometheus' own YAML, and groups as they come out of them.
//!
//! [`RuleFiles::load`] reads all files that patterns name. A file with an error is refused with
//! the line and what to do, and with it all others: rules that are there in part are worse than
//! rules of yesterday.
//!
//! Beyond Prometheus, `traceql:` instead of `expr:` holds a TraceQL metrics query, over spans that
//! start within one interval. Since spans arrive when they are over, it is the interval that ended
//! a minute ago; see [`Query::TraceQl`]. Refused although Prometheus takes it: two rules of a group
//! that are the same.

mod check;
mod raw;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kymo_promql::ast::Expr;

use crate::error::RuleError;
use crate::limits::MAX_FILE_BYTES;
use crate::template::Template;

/// Reads rule files.
#[derive(Debug)]
pub struct RuleFiles;

impl RuleFiles {
    /// Reads the files that patterns such as `rules/*.yml` name, each once. A pattern that names
    /// no file is none: files may come later.
    pub fn load<P: AsRef<Path>>(patterns: &[P]) -> Result<Vec<Group>, RuleError> {
        let mut paths = BTreeSet::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let found = glob::glob(&pattern.to_string_lossy()).map_err(|error| {
                RuleError::new(pattern, format!("not a pattern of files: {error}"))
            })?;
            let found: Vec<PathBuf> = found.flatten().filter(|path| !path.is_dir()).collect();
            if found.is_empty() {
                tracing::warn!(pattern = %pattern.display(), "no rule file matches");
            }
            paths.extend(found);
        }
        let mut groups = Vec::new();
        for path in paths {
            groups.extend(Self::read(&path)?);
        }
        Ok(groups)
    }

    fn read(path: &Path) -> Result<Vec<Group>, RuleError> {
        let unreadable = |error| RuleError::new(path, format!("cannot be read: {error}"));
        let size_bytes = std::fs::metadata(path).map_err(unreadable)?.len();
        if size_bytes > MAX_FILE_BYTES {
            let message = format!(
                "has {size_bytes} bytes; expected at most {MAX_FILE_BYTES}: use several files"
            );
            return Err(RuleError::new(path, message));
        }
        Self::parse(&std::fs::read_to_string(path).map_err(unreadable)?, path)
    }

    /// Reads the text of a file; `path` is what errors and groups name.
    pub fn parse(text: &str, path: &Path) -> Result<Vec<Group>, RuleError> {
        check::file(text, path)
    }
}

/// Rules that are evaluated together, one after another.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The file that it stands in.
    pub file: String,
    /// Its name, once in a file.
    pub name: String,
    /// How often it is evaluated, if not as often as others.
    pub interval: Option<Duration>,
    /// How far back all its rules look, if not as far as others.
    pub query_offset: Option<Duration>,
    /// How many series or alerts a rule may give; zero is any number.
    pub limit: usize,
    /// Its rules in their order.
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The name of the metric or of the alert.
    pub name: String,
    /// What is evaluated.
    pub query: Query,
    /// Labels that are set, with those of the group; templates as they are written.
    pub labels: BTreeMap<String, String>,
    /// What is done with the result.
    pub kind: RuleKind,
}

/// What is done with what a rule's query gives.
#[derive(Debug, Clone, PartialEq)]
pub enum RuleKind {
    /// It is written as series of another name.
    Recording,
    /// It makes alerts.
    Alerting(Box<Alerting>),
}

/// What is said about alerts only.
#[derive(Debug, Clone, PartialEq)]
pub struct Alerting {
    /// How long a series has to be there until its alert fires.
    pub hold: Duration,
    /// How long the alert goes on firing when the series is gone.
    pub keep_firing_for: Duration,
    /// The labels of the rule.
    pub labels: Vec<(String, Template)>,
    /// The annotations.
    pub annotations: Vec<(String, Template)>,
}

/// What a rule evaluates.
#[derive(Debug, Clone)]
pub enum Query {
    /// `expr:`.
    PromQl(Arc<Expr>),
    /// `traceql:`. At time t it is asked over spans that start in the interval of the group which
    /// ends at t less an offset, and what it gives is written at the end of that interval. The offset
    /// is `query_offset` of the group if there is one, also if it is shorter; else the larger of
    /// `rule_query_offset` and [`TRACEQL_OFFSET`](crate::limits::TRACEQL_OFFSET). A span that
    /// arrives later than that, since it lasts longer or its sender is slow, counts in no interval:
    /// each interval is asked for once.
    TraceQl(String),
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PromQl(expr) => expr.fmt(f),
            Self::TraceQl(text) => f.write_str(text.trim()),
        }
    }
}

impl PartialEq for Query {
    fn eq(&self, other: &Self) -> bool {
        // Where in the file an expression stands, and how it is laid out, does not matter.
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.to_string() == other.to_string()
    }
}
