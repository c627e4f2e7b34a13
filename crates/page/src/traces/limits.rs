//! Limits of searches and what is made of their results, each with its reason.

use std::time::Duration;

/// Traces of a search where nobody says how many: a page of them.
pub(super) const SEARCH_TRACES: usize = 100;
/// The most: a heat map has no more points to tell apart.
pub(super) const SEARCH_MAX_TRACES: usize = 10_000;
/// Spans of each set where nobody says how many.
pub(super) const SEARCH_SPANS: usize = 3;
/// The most.
pub(super) const SEARCH_MAX_SPANS: usize = 1_000;
/// Attributes that can be selected: columns of a table.
pub(super) const SELECT_MAX: usize = 50;
/// Traces that are merged into a flame where nobody says how many.
pub(super) const FLAME_TRACES: usize = 100;
/// The most: each is read whole.
pub(super) const FLAME_MAX_TRACES: usize = 2_000;
/// Spans that are merged into a flame, half of them of either side where there are two. What is
/// merged by then is shown, and said to be a part.
pub(super) const FLAME_MAX_SPANS: u64 = 5_000_000;
/// How long traces are read for a flame, likewise. What is merged by then is shown, and said to be a
/// part.
pub(super) const FLAME_MAX_TIME: Duration = Duration::from_secs(20);
/// Attributes whose values are counted at once: each is a query.
pub(super) const FACETS_MAX: usize = 12;
/// Values that are told of each, the most frequent first.
pub(super) const FACET_MAX_VALUES: usize = 50;
