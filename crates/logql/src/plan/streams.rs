//! The answers of log queries.

use hashbrown::HashMap;

use crate::labels::Labels;

/// Lines in the order of the query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Streams {
    /// The lines.
    pub entries: Vec<Found>,
}

/// A line that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// When it was written, in nanoseconds.
    pub time_nanos: i64,
    /// Its order of arrival.
    pub sequence: u64,
    /// The line, as the query formats it.
    pub line: String,
    /// The labels of the stream that are left.
    pub stream: Labels,
    /// The structured metadata that is left.
    pub metadata: Labels,
    /// What parsers and formats made, and `__error__`.
    pub parsed: Labels,
}

impl Found {
    /// All labels.
    pub fn labels(&self) -> Labels {
        if self.metadata.is_empty() && self.parsed.is_empty() {
            return self.stream.clone();
        }
        Labels::of(self.stream.iter().chain(&self.metadata).chain(&self.parsed))
    }

    /// Whether all is the same but the order of arrival.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.time_nanos == other.time_nanos
            && self.line == other.line
            && self.metadata == other.metadata
            && self.parsed == other.parsed
    }
}

impl Streams {
    /// The lines by all their labels; streams in order of labels.
    pub fn merged(&self) -> Vec<(Labels, Vec<&Found>)> {
        self.grouped(Found::labels)
    }

    /// The lines by the labels of their streams: what `categorize-labels` shows.
    pub fn categorized(&self) -> Vec<(Labels, Vec<&Found>)> {
        self.grouped(|found| found.stream.clone())
    }

    fn grouped(&self, labels: impl Fn(&Found) -> Labels) -> Vec<(Labels, Vec<&Found>)> {
        let mut groups: HashMap<Labels, Vec<&Found>> = HashMap::new();
        for found in &self.entries {
            groups.entry(labels(found)).or_default().push(found);
        }
        let mut groups: Vec<(Labels, Vec<&Found>)> = groups.into_iter().collect();
        groups.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        groups
    }
}
