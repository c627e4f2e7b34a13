//! Settings of LogQL.

use super::streams::INDEX_LABELS;

/// Settings.
#[derive(Debug, Clone)]
pub struct LogqlOptions {
    /// Attributes of resources that are labels of streams.
    pub index_labels: Vec<String>,
    /// Whether entries have the label `detected_level`, although nobody sent it.
    pub detects_level: bool,
    /// Series that the answer to a query may have, and that may be held on the way to it.
    pub max_series: usize,
    /// Lines that the answer to a query may have.
    pub max_lines: usize,
}

impl Default for LogqlOptions {
    fn default() -> Self {
        Self {
            index_labels: INDEX_LABELS.map(str::to_owned).to_vec(),
            detects_level: false,
            max_series: 100_000,
            max_lines: 100_000,
        }
    }
}
