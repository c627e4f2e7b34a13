//! Buckets of exponential and native histograms as buckets with explicit bounds.

use kymo_wire::remote_write::histogram::CUSTOM_SCHEMA;

use super::codec::{Buckets, ExponentialHistogram, NativeHistogram};

/// Buckets of one sign that gaps between spans may make of a few: what a sender's histogram has is
/// far below.
const MAX_DENSE: usize = 1 << 16;

/// A count as an integer.
pub(crate) fn rounded(count: f64) -> u64 {
    count.round() as u64
}

/// The index of each bucket of some spans, with its count.
fn indexed<'a>(
    spans: &'a [(i32, u32)],
    counts: &'a [f64],
) -> impl Iterator<Item = (i64, f64)> + 'a {
    let mut next = 0;
    let indexes = spans.iter().flat_map(move |(offset, length)| {
        let first = next + i64::from(*offset);
        next = first + i64::from(*length);
        first..next
    });
    indexes.zip(counts.iter().copied())
}

/// The index of the first bucket, and the counts of all buckets from there on, those between spans
/// included.
pub(crate) fn dense(spans: &[(i32, u32)], counts: &[f64]) -> (i64, Vec<u64>) {
    let mut buckets = indexed(spans, counts);
    let Some((first, count)) = buckets.next() else { return (0, Vec::new()) };
    let mut filled = vec![rounded(count)];
    for (index, count) in buckets {
        let place = usize::try_from(index - first).unwrap_or(usize::MAX);
        if place >= MAX_DENSE.max(counts.len()) {
            break;
        }
        filled.resize(filled.len().max(place + 1), 0);
        filled[place] = rounded(count);
    }
    (first, filled)
}

/// Appends the counts of a histogram with custom bounds, one more than these.
pub(crate) fn push_custom(histogram: &NativeHistogram<'_>, counts: &mut Vec<u64>) {
    let start = counts.len();
    counts.resize(start + histogram.custom_values.len() + 1, 0);
    for (index, count) in indexed(histogram.positive_spans, histogram.positive) {
        let place = usize::try_from(index).ok().and_then(|index| counts.get_mut(start + index));
        if let Some(place) = place {
            *place = rounded(count);
        }
    }
}

/// As [`push_explicit`], for a native histogram. Between buckets that are no neighbours is one that
/// is empty.
pub(crate) fn push_native(
    histogram: &NativeHistogram<'_>,
    bounds: &mut Vec<f64>,
    counts: &mut Vec<u64>,
) {
    if histogram.schema == CUSTOM_SCHEMA {
        bounds.extend_from_slice(histogram.custom_values);
        return push_custom(histogram, counts);
    }
    let upper = |index: i64| (index as f64 * (-f64::from(histogram.schema)).exp2()).exp2();
    let negative: Vec<_> = indexed(histogram.negative_spans, histogram.negative).collect();
    if !negative.is_empty() {
        counts.push(0);
        let mut last = None;
        for (index, count) in negative.into_iter().rev() {
            if last != Some(index) {
                if last.is_some() {
                    counts.push(0);
                }
                bounds.push(-upper(index));
            }
            bounds.push(-upper(index - 1));
            counts.push(rounded(count));
            last = Some(index - 1);
        }
    }
    counts.push(rounded(histogram.zero_count));
    let mut last = None;
    for (index, count) in indexed(histogram.positive_spans, histogram.positive) {
        if last != Some(index - 1) {
            if last.is_some() {
                counts.push(0);
            }
            bounds.push(upper(index - 1));
        }
        bounds.push(upper(index));
        counts.push(rounded(count));
        last = Some(index);
    }
    if last.is_some() {
        counts.push(0);
    }
}

/// Appends the bounds and, one more than these, the counts: buckets below zero
/// first, then what is counted as zero between the bounds next to zero, then
/// those above. What lies beyond the outermost bounds is empty.
pub(crate) fn push_explicit(
    histogram: &ExponentialHistogram<'_>,
    bounds: &mut Vec<f64>,
    counts: &mut Vec<u64>,
) {
    let bound = |buckets: &Buckets<'_>, nth: usize| {
        let index = i64::from(buckets.offset) + nth as i64;
        // The base is 2^(2^-scale). Powers of two are exact in doubles.
        (index as f64 * (-f64::from(histogram.scale)).exp2()).exp2()
    };
    if let Some(negative) = histogram.negative.filter(|b| !b.counts.is_empty()) {
        counts.push(0);
        bounds.extend((0..=negative.counts.len()).rev().map(|nth| -bound(&negative, nth)));
        counts.extend(negative.counts.iter().rev());
    }
    counts.push(histogram.zero_count);
    if let Some(positive) = histogram.positive.filter(|b| !b.counts.is_empty()) {
        bounds.extend((0..=positive.counts.len()).map(|nth| bound(&positive, nth)));
        counts.extend(positive.counts);
        counts.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explicit(
        scale: i32,
        negative: Option<(i32, &[u64])>,
        positive: Option<(i32, &[u64])>,
    ) -> (Vec<f64>, Vec<u64>) {
        let histogram = ExponentialHistogram {
            count: 0,
            sum: None,
            min: None,
            max: None,
            scale,
            zero_count: 7,
            zero_threshold: 0.0,
            positive: positive.map(|(offset, counts)| Buckets { offset, counts }),
            negative: negative.map(|(offset, counts)| Buckets { offset, counts }),
        };
        let (mut bounds, mut counts) = (Vec::new(), Vec::new());
        push_explicit(&histogram, &mut bounds, &mut counts);
        (bounds, counts)
    }

    #[test]
    fn bounds_are_powers_of_the_base() {
        let (bounds, counts) = explicit(0, Some((1, &[4, 5])), Some((-1, &[1, 2, 3])));
        assert_eq!(bounds, [-8.0, -4.0, -2.0, 0.5, 1.0, 2.0, 4.0]);
        assert_eq!(counts, [0, 5, 4, 7, 1, 2, 3, 0]);
        let (bounds, _) = explicit(1, None, Some((2, &[1, 1])));
        assert_eq!(bounds, [2.0, 8f64.sqrt(), 4.0]);
        let (bounds, _) = explicit(-1, None, Some((1, &[1])));
        assert_eq!(bounds, [4.0, 16.0]);
    }

    fn native<'a>() -> NativeHistogram<'a> {
        NativeHistogram {
            schema: 0,
            reset_hint: 0,
            is_integer: false,
            zero_threshold: 0.0,
            zero_count: 7.0,
            count: 0.0,
            sum: 0.0,
            positive_spans: &[(0, 2), (1, 1)],
            negative_spans: &[(2, 1), (1, 1)],
            positive: &[1.0, 2.4, 3.0],
            negative: &[4.0, 5.0],
            custom_values: &[],
        }
    }

    #[test]
    fn gaps_between_native_buckets_are_empty_buckets() {
        let (mut bounds, mut counts) = (Vec::new(), Vec::new());
        push_native(&native(), &mut bounds, &mut counts);
        assert_eq!(bounds, [-16.0, -8.0, -4.0, -2.0, 0.5, 1.0, 2.0, 4.0, 8.0]);
        assert_eq!(counts, [0, 5, 0, 4, 7, 1, 2, 0, 3, 0]);
        assert_eq!(dense(native().positive_spans, native().positive), (0, vec![1, 2, 0, 3]));
        assert_eq!(dense(&[(5, 1), (i32::MAX, 1)], &[1.0, 2.0]), (5, vec![1]));
        assert_eq!(dense(&[], &[]), (0, vec![]));
    }

    #[test]
    fn custom_bounds_are_the_bounds() {
        let custom = NativeHistogram {
            schema: CUSTOM_SCHEMA,
            positive_spans: &[(0, 1), (1, 1)],
            positive: &[2.0, 9.0],
            custom_values: &[1.0, 5.0],
            ..native()
        };
        let (mut bounds, mut counts) = (Vec::new(), vec![99]);
        push_native(&custom, &mut bounds, &mut counts);
        assert_eq!((bounds, counts), (vec![1.0, 5.0], vec![99, 2, 0, 9]));
    }

    #[test]
    fn there_is_one_count_more_than_bounds() {
        assert_eq!(explicit(3, None, None), (vec![], vec![7]));
        assert_eq!(explicit(3, Some((5, &[])), Some((5, &[]))), (vec![], vec![7]));
        for (negative, positive) in [(None, Some((0, &[1u64, 2][..]))), (Some((0, &[1][..])), None)]
        {
            let (bounds, counts) = explicit(2, negative, positive);
            assert_eq!(counts.len(), bounds.len() + 1);
            assert!(bounds.is_sorted());
        }
        // Far beyond what doubles reach.
        let (bounds, counts) = explicit(-10, None, Some((i32::MAX, &[1, 2])));
        assert_eq!((bounds, counts.len()), (vec![f64::INFINITY; 3], 4));
    }
}
