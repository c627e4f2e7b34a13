//! What goes into a query: entries of streams.

use crate::labels::Labels;

/// One entry, as the store has it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// When it was written, in nanoseconds of the Unix epoch.
    pub time_nanos: i64,
    /// The order of arrival: what tells entries of one time apart. Each entry of a query has its
    /// own.
    pub sequence: u64,
    /// The line. May be left empty if the plan does not read it.
    pub line: &'a str,
    /// The labels of its stream. Hand in the same set (not an equal one) for entries of one
    /// stream where that is easy: what is known of a set is looked up by its identity.
    pub stream: &'a Labels,
    /// Its structured metadata, in any order, each name once. May be only those that the plan
    /// needs.
    pub metadata: &'a [(&'a str, &'a str)],
}
