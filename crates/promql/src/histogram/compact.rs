//! Histograms without empty buckets.

use super::spans::{Layout, Side};
use super::{BucketSpan, Histogram};

impl Histogram {
    /// Removes empty buckets, but for stretches of at most `max_empty` between
    /// others: those it keeps or fills in, which saves a span. Larger numbers than
    /// a few make large histograms.
    pub fn compact(&mut self, max_empty: usize) {
        compact_side(&mut self.positive_spans, &mut self.positive, None, max_empty);
        compact_side(&mut self.negative_spans, &mut self.negative, None, max_empty);
    }

    /// The histogram after [`Self::compact`].
    pub fn compacted(mut self, max_empty: usize) -> Self {
        self.compact(max_empty);
        self
    }

    /// Removes buckets that are empty here and in `lost`, which has the same.
    pub(super) fn compact_with(&mut self, lost: &mut Self) {
        compact_side(&mut self.positive_spans, &mut self.positive, Some(&mut lost.positive), 0);
        compact_side(&mut self.negative_spans, &mut self.negative, Some(&mut lost.negative), 0);
    }
}

fn compact_side(
    spans: &mut Vec<BucketSpan>,
    counts: &mut Vec<f64>,
    lost: Option<&mut Vec<f64>>,
    max_empty: usize,
) {
    if is_compact(spans, counts, max_empty) {
        return;
    }
    let lost_of = |nth: usize| lost.as_ref().and_then(|all| all.get(nth)).copied().unwrap_or(0.0);
    let max_empty = i32::try_from(max_empty).unwrap_or(i32::MAX);
    let mut layout = Layout::default();
    let mut kept = Vec::with_capacity(counts.len());
    let mut kept_lost = Vec::with_capacity(lost.as_ref().map_or(0, |all| all.len()));
    for (nth, (index, count)) in (Side { spans, counts }).cells().enumerate() {
        let count_lost = lost_of(nth);
        if count == 0.0 && count_lost == 0.0 {
            continue;
        }
        if let Some(last) = layout.last() {
            let gap = index.saturating_sub(last).saturating_sub(1);
            if gap <= max_empty {
                for empty in last.saturating_add(1)..index {
                    layout.push(empty);
                    kept.push(0.0);
                    kept_lost.extend(lost.as_ref().map(|_| 0.0));
                }
            }
        }
        layout.push(index);
        kept.push(count);
        kept_lost.extend(lost.as_ref().map(|_| count_lost));
    }
    *spans = layout.into_spans();
    *counts = kept;
    if let Some(lost) = lost {
        *lost = kept_lost;
    }
}

/// Whether there is nothing to do, as for most histograms that were scraped.
fn is_compact(spans: &[BucketSpan], counts: &[f64], max_empty: usize) -> bool {
    let far = |span: &BucketSpan| usize::try_from(span.offset).is_ok_and(|gap| gap > max_empty);
    counts.iter().all(|&count| count != 0.0)
        && spans.iter().all(|span| span.length > 0)
        && spans.iter().skip(1).all(far)
}

#[cfg(test)]
mod tests {
    use super::super::tests::exponential;
    use super::*;

    fn compacted(counts: &[f64], max_empty: usize) -> (Vec<(i32, u32)>, Vec<f64>) {
        let histogram = exponential(0, 5, counts).compacted(max_empty);
        let spans = histogram.positive_spans.iter().map(|span| (span.offset, span.length));
        (spans.collect(), histogram.positive)
    }

    #[test]
    fn empty_buckets_vanish() {
        let counts = [0.0, 1.0, 0.0, 0.0, 2.0, 3.0, 0.0];
        assert_eq!(compacted(&counts, 0), (vec![(6, 1), (2, 2)], vec![1.0, 2.0, 3.0]));
        assert_eq!(compacted(&[0.0, -0.0], 0), (vec![], vec![]));
        assert_eq!(compacted(&[], 0), (vec![], vec![]));
    }

    #[test]
    fn short_stretches_may_stay() {
        let counts = [0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0];
        let expected = (vec![(6, 3), (2, 1)], vec![1.0, 0.0, 2.0, 3.0]);
        assert_eq!(compacted(&counts, 1), expected);
        let expected = (vec![(6, 6)], vec![1.0, 0.0, 2.0, 0.0, 0.0, 3.0]);
        assert_eq!(compacted(&counts, 9), expected);
    }

    #[test]
    fn short_gaps_are_filled() {
        let spans = [(0, 1), (1, 1), (0, 0), (0, 1), (3, 1)];
        let histogram = Histogram {
            negative_spans: spans.map(|(offset, length)| BucketSpan { offset, length }).to_vec(),
            negative: vec![1.0, 2.0, 3.0, 4.0],
            ..Histogram::default()
        };
        let filled = histogram.clone().compacted(1);
        assert_eq!(filled.negative, [1.0, 0.0, 2.0, 3.0, 4.0]);
        assert_eq!(filled.negative_spans.len(), 2);
        let joined = histogram.compacted(0);
        assert_eq!(joined.negative, [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(joined.negative_spans.len(), 3);
    }

    #[test]
    fn counts_that_are_no_number_are_not_empty() {
        let (_, counts) = compacted(&[f64::NAN, 0.0, -1.0], 0);
        assert!(counts[0].is_nan() && counts[1] == -1.0);
    }
}
