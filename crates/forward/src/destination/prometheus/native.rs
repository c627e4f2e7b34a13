//! Exponential histograms of OTLP as native histograms of Prometheus.
//!
//! Bucket *i* of OTLP is bucket *i* + 1 of Prometheus, which counts them by their upper bounds. A
//! scale finer than Prometheus knows is made coarser by joining neighbours; one coarser than it
//! knows cannot be sent.

use kymo_wire::remote_write::histogram::{MAX_SCHEMA, MIN_SCHEMA};
use kymo_wire::{BucketsView, ExponentialHistogramPointView};

use super::series::OwnedHistogram;
use super::{NO_RECORDED_VALUE, STALE_BITS};

/// Counts within this distance of zero are counted as zero by senders who do not say so.
const ZERO_THRESHOLD: f64 = 1e-128;
/// What a histogram of deltas is to Prometheus: a gauge.
const GAUGE_HINT: u8 = 3;
/// Empty buckets that are written rather than left out: a new run of buckets takes about as much.
const MAX_GAP: u32 = 2;

/// The histogram of a point; none if its scale is too coarse.
pub(super) fn of_point(
    point: &ExponentialHistogramPointView<'_>,
    is_delta: bool,
) -> Option<OwnedHistogram> {
    let is_stale = point.flags & NO_RECORDED_VALUE != 0;
    let schema = point.scale.min(MAX_SCHEMA);
    if schema < MIN_SCHEMA && !is_stale {
        return None;
    }
    let coarser_by = u32::try_from(point.scale - schema).unwrap_or_default();
    let side = |buckets: &Option<BucketsView<'_>>| {
        buckets.as_ref().map(|buckets| runs(buckets, coarser_by)).unwrap_or_default()
    };
    let mut histogram = OwnedHistogram {
        schema,
        reset_hint: if is_delta { GAUGE_HINT } else { 0 },
        zero_threshold: match point.zero_threshold {
            0.0 => ZERO_THRESHOLD,
            threshold => threshold,
        },
        zero_count: point.zero_count,
        count: point.count,
        sum: point.sum.unwrap_or_default(),
        positive: side(&point.positive),
        negative: side(&point.negative),
    };
    if is_stale {
        histogram.schema = 0;
        histogram.sum = f64::from_bits(STALE_BITS);
        (histogram.zero_count, histogram.count) = (0, 0);
        (histogram.positive, histogram.negative) = Default::default();
    }
    Some(histogram)
}

/// Runs of buckets (the distance from the run before, and how many), and their counts.
fn runs(buckets: &BucketsView<'_>, coarser_by: u32) -> (Vec<(i32, u32)>, Vec<f64>) {
    let mut merged: Vec<(i64, u64)> = Vec::new();
    for (place, count) in buckets.bucket_counts.iter().enumerate() {
        if count == 0 {
            continue;
        }
        // A shift joins neighbours, below zero too.
        let index = (i64::from(buckets.offset) + place as i64) >> coarser_by.min(62);
        // Beyond that nothing can be measured, and Prometheus cannot count.
        let index = index.min(i64::from(i32::MAX) - 1);
        match merged.last_mut() {
            Some((known, sum)) if *known == index => *sum = sum.saturating_add(count),
            _ => merged.push((index, count)),
        }
    }
    let (mut spans, mut counts): (Vec<(i32, u32)>, Vec<f64>) = Default::default();
    // What Prometheus calls a bucket is one more.
    let mut end = 0;
    for (index, count) in merged {
        let index = index + 1;
        let gap = index - end;
        match spans.last_mut() {
            Some((_, length)) if gap <= i64::from(MAX_GAP) => {
                *length += gap as u32 + 1;
                counts.resize(counts.len() + gap as usize, 0.0);
            }
            _ => spans.push((gap as i32, 1)),
        }
        counts.push(count as f64);
        end = index + 1;
    }
    (spans, counts)
}
