//! Where series come from.

use std::sync::Arc;

use crate::labels::Labels;
use crate::matcher::LabelMatcher;
use crate::sample::Samples;

/// Which series, over which time.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// All have to be fulfilled.
    pub matchers: Vec<LabelMatcher>,
    /// The first time that counts, in milliseconds since 1970.
    pub start: i64,
    /// The last time that counts.
    pub end: i64,
    /// Only count, sum and reset hints of histograms matter.
    pub only_totals: bool,
}

/// A series that was found.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its labels, the name among them.
    pub labels: Labels,
    /// Its samples. There may be some outside of the time asked for.
    pub samples: Arc<Samples>,
}

/// Why series could not be read.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Something that has series.
pub trait Source: Sync {
    /// The series that all matchers let through and that have samples in the time
    /// asked for; each label set once, in any order.
    fn select(&self, select: &Select) -> Result<Vec<Series>, SourceError>;
}
