//! The samples of a range of time, as functions see them.

use crate::ast::{Edges, Span};
use crate::labels::Labels;
use crate::sample::HistogramSample;

/// Samples of one series within a range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window<'a> {
    pub(crate) times: &'a [i64],
    pub(crate) values: &'a [f64],
    /// Empty if no start times are known, or they do not count.
    pub(crate) starts: &'a [i64],
    pub(crate) histograms: &'a [HistogramSample],
}

impl Window<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.times.is_empty() && self.histograms.is_empty()
    }
}

/// What a function over a range knows beside the samples.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) labels: &'a Labels,
    /// The place of the first argument, for annotations.
    pub(crate) span: Span,
    /// The time of the step.
    pub(crate) step_time: i64,
    /// The range, without what `anchored` or `smoothed` add to it; its beginning
    /// is not part of it.
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) edges: Edges,
    /// Start times count for this function.
    pub(crate) uses_starts: bool,
    /// The other arguments, at this step.
    pub(crate) params: &'a [f64],
}

impl Around<'_> {
    pub(crate) fn metric_name(&self) -> &str {
        self.labels.metric_name()
    }

    pub(crate) fn range_secs(&self) -> f64 {
        (self.end - self.start) as f64 / 1000.0
    }

    /// Start time of a histogram, if it counts for this function.
    pub(crate) fn start_of(&self, sample: &HistogramSample) -> i64 {
        if self.uses_starts { sample.start } else { 0 }
    }
}

/// Whether start times say that a counter began anew between two samples.
pub(crate) fn is_start_reset(before: (i64, i64), now: (i64, i64)) -> bool {
    let ((start_before, time_before), (start, time)) = (before, now);
    // Not set, after its own sample, or OpenTelemetry's way to say "unknown".
    if start == 0 || start >= time || start < time_before {
        return false;
    }
    if start > time_before {
        return true;
    }
    // It counts since the sample before: a delta, unless the start of that one was
    // not known either.
    start_before != 0 && start_before < time_before
}

/// Whether a sample claims to count since before the sample before, which counts
/// since another time.
pub(crate) fn is_start_overlap(before: (i64, i64), start: i64) -> bool {
    let (start_before, time_before) = before;
    start != 0 && start < time_before && start != start_before
}
