//! What is answered about traces.

use std::sync::Arc;

use kymo_traceql::ast::Scope;
use kymo_traceql::value::OwnedValue;

use super::request::Cursor;

/// A part of the answer to a search.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Traces, in the order that was asked for. Each trace comes once.
    pub traces: Vec<FoundTrace>,
    /// What was done so far.
    pub stats: SearchStats,
    /// Where to go on behind these traces, if there may be more.
    pub next: Option<Cursor>,
}

/// What a search did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchStats {
    /// Traces that were looked into.
    pub inspected_traces: usize,
    /// Spans of granules that were looked into.
    pub inspected_spans: usize,
    /// Bytes that were read, about.
    pub inspected_bytes: u64,
    /// Blocks that the query is about.
    pub total_blocks: usize,
    /// Their size.
    pub total_block_bytes: u64,
    /// Granules that may hold matches, and how many of them were read.
    pub total_jobs: usize,
    /// See `total_jobs`.
    pub completed_jobs: usize,
    /// Blocks that were left out because they are damaged.
    pub damaged_blocks: usize,
}

impl SearchStats {
    /// Adds what was done for another part of the same query.
    pub(super) fn add(&mut self, other: &Self) {
        self.inspected_traces += other.inspected_traces;
        self.inspected_spans += other.inspected_spans;
        self.inspected_bytes += other.inspected_bytes;
        self.total_blocks = other.total_blocks;
        self.total_block_bytes = other.total_block_bytes;
        self.total_jobs += other.total_jobs;
        self.completed_jobs += other.completed_jobs;
        self.damaged_blocks = self.damaged_blocks.max(other.damaged_blocks);
    }
}

/// A trace that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundTrace {
    /// Its id.
    pub trace_id: [u8; 16],
    /// The service of its root span; `None` if there is no root yet.
    pub root_service: Option<String>,
    /// The name of its root span; `None` if there is no root yet.
    pub root_name: Option<String>,
    /// When its first span began.
    pub start_nanos: i64,
    /// From its first start to its last end.
    pub duration_nanos: i64,
    /// What matched, never empty.
    pub span_sets: Vec<FoundSet>,
    /// Spans of the whole trace by service, in the order of names.
    pub services: Vec<ServiceStats>,
    /// Spans whose parent is not there.
    pub orphans: usize,
    /// When the newest of the matching spans began that ran within the asked time.
    pub newest_nanos: i64,
}

impl FoundTrace {
    /// Bytes that it takes in memory and, later, as text, about.
    pub(crate) fn bytes(&self) -> usize {
        let of_value = |(key, value): &(String, OwnedValue)| {
            let text = if let OwnedValue::Text(text) = value { text.len() } else { 0 };
            2 * (size_of::<(String, OwnedValue)>() + key.len() + text)
        };
        let spans = self.span_sets.iter().flat_map(|set| &set.spans);
        let of_spans: usize = spans
            .map(|span| {
                2 * size_of::<FoundSpan>()
                    + span.attributes.iter().map(of_value).sum::<usize>()
                    + size_of_val(span.names.as_slice())
            })
            .sum();
        let of_sets: usize = self
            .span_sets
            .iter()
            .map(|set| size_of::<FoundSet>() + set.attributes.iter().map(of_value).sum::<usize>())
            .sum();
        2 * size_of::<Self>() + of_spans + of_sets + self.services.len() * size_of::<ServiceStats>()
    }
}

/// Spans of one service in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceStats {
    /// Its name; empty if it was not sent.
    pub service: String,
    /// Spans.
    pub spans: usize,
    /// Spans with the status `error`.
    pub errors: usize,
}

/// Spans that match together.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSet {
    /// How many match.
    pub matched: usize,
    /// What was computed of them, as `avg(duration)`, or `by(…)`.
    pub attributes: Vec<(String, OwnedValue)>,
    /// The first of them, by start.
    pub spans: Vec<FoundSpan>,
}

/// A span that matches.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSpan {
    /// Its id.
    pub span_id: [u8; 8],
    /// Its name, if the query names or selects it.
    pub name: Option<String>,
    /// When it began.
    pub start_nanos: i64,
    /// How long it took.
    pub duration_nanos: i64,
    /// What the query names or selects, without what is above, by keys without scopes.
    pub attributes: Vec<(String, OwnedValue)>,
    /// What the query calls each of `attributes`, in their order: with the scope, as `span.num`.
    pub names: Vec<Arc<str>>,
}

/// Series that answer a query.
#[derive(Debug, Clone, Default)]
pub struct MetricsAnswer {
    /// The series.
    pub series: Vec<kymo_traceql::metrics::Series>,
    /// What was done.
    pub stats: SearchStats,
}

/// Names of tags of one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeTags {
    /// The scope, never `Any`.
    pub scope: Scope,
    /// Names, in order.
    pub names: Vec<String>,
}

/// A value of a tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TagValue {
    /// Its type.
    pub kind: TagKind,
    /// The value as text.
    pub text: String,
}

/// The type of a value, as Tempo names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum TagKind {
    String,
    Int,
    Float,
    Bool,
    Duration,
    /// A status or a kind.
    Keyword,
}

/// Calls from one service to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// Who calls.
    pub parent: String,
    /// Who is called.
    pub child: String,
    /// How often.
    pub calls: u64,
}
