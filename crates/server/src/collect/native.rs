//! Native histograms of PromQL in the form that requests of remote-write have.

use kymo_promql::histogram::{BucketSpan, Histogram, ResetHint};
use kymo_wire::remote_write::NativeHistogram;

/// Shows a histogram to who writes it.
pub(crate) fn with_native<R>(
    histogram: &Histogram,
    write: impl FnOnce(&NativeHistogram<'_>) -> R,
) -> R {
    let spans = |spans: &[BucketSpan]| -> Vec<(i32, u32)> {
        spans.iter().map(|span| (span.offset, span.length)).collect()
    };
    let (positive_spans, negative_spans) =
        (spans(&histogram.positive_spans), spans(&histogram.negative_spans));
    write(&NativeHistogram {
        schema: histogram.schema,
        reset_hint: match histogram.hint {
            ResetHint::Unknown => 0,
            ResetHint::Reset => 1,
            ResetHint::NotReset => 2,
            ResetHint::Gauge => 3,
        },
        is_integer: false,
        zero_threshold: histogram.zero_threshold,
        zero_count: histogram.zero_count,
        count: histogram.count,
        sum: histogram.sum,
        positive_spans: &positive_spans,
        negative_spans: &negative_spans,
        positive: &histogram.positive,
        negative: &histogram.negative,
        custom_values: &histogram.custom_bounds,
    })
}
