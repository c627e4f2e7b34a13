//! Buckets of exponential histograms as buckets with explicit bounds.

use super::codec::{Buckets, ExponentialHistogram};

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
