//! Custom buckets of different bounds brought together.
//!
//! Counts can be joined but not split, so two histograms meet at the bounds that
//! both have: each bucket goes to the first common bound at or above its own.

use std::sync::Arc;

use super::Histogram;
use super::spans::Layout;
use crate::kahan::Sum;

/// The bounds that are in both; both are in order.
pub(super) fn common_bounds(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut common = Vec::with_capacity(a.len().min(b.len()));
    let mut candidates = b.iter().peekable();
    for bound in a {
        while candidates.next_if(|&candidate| candidate < bound).is_some() {}
        if candidates.next_if_eq(&bound).is_some() {
            common.push(*bound);
        }
    }
    common
}

/// Adds the counts of `histogram`, and what they lost, to those of `sums`, one for
/// each of `bounds` and one for what is above all.
pub(super) fn add_rebucketed(
    histogram: &Histogram,
    sign: f64,
    lost: &[f64],
    bounds: &[f64],
    sums: &mut [Sum],
) {
    let mut target = 0;
    for (nth, (index, count)) in histogram.positive_side().cells().enumerate() {
        let own = histogram.bound(index);
        while bounds.get(target).is_some_and(|&bound| bound < own) {
            target += 1;
        }
        let Some(sum) = sums.get_mut(target) else { return };
        sum.add(sign * count);
        if let Some(&more) = lost.get(nth) {
            sum.add(sign * more);
        }
    }
}

/// Adds the buckets of `other`, or subtracts them by a negative sign, at the
/// bounds that both have. `lost` is what the counts of `own` have lost to rounding,
/// and is updated.
pub(super) fn combine(
    own: &mut Histogram,
    other: &Histogram,
    sign: f64,
    lost: Option<&mut Vec<f64>>,
) {
    let bounds = common_bounds(&own.custom_bounds, &other.custom_bounds);
    let mut sums = vec![Sum::default(); bounds.len() + 1];
    let lost_before = lost.as_ref().map_or(&[][..], |lost| lost.as_slice());
    add_rebucketed(own, 1.0, lost_before, &bounds, &mut sums);
    add_rebucketed(other, sign, &[], &bounds, &mut sums);
    let mut layout = Layout::default();
    let populated = |(_, sum): &(i32, &Sum)| sum.sum != 0.0 || sum.compensation != 0.0;
    let (kept, kept_lost): (Vec<f64>, Vec<f64>) = (0..)
        .zip(&sums)
        .filter(populated)
        .inspect(|&(index, _)| layout.push(index))
        .map(|(_, sum)| (sum.sum, sum.compensation))
        .unzip();
    own.positive_spans = layout.into_spans();
    own.positive = kept;
    own.custom_bounds = Arc::from(bounds);
    if let Some(lost) = lost {
        *lost = kept_lost;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::custom;
    use super::*;

    #[test]
    fn common_bounds_are_those_of_both() {
        assert_eq!(common_bounds(&[1.0, 2.0, 5.0], &[0.5, 2.0, 3.0, 5.0, 9.0]), [2.0, 5.0]);
        assert!(common_bounds(&[1.0], &[2.0]).is_empty());
        assert!(common_bounds(&[], &[2.0]).is_empty());
        assert!(common_bounds(&[f64::NAN, 1.0], &[f64::NAN]).is_empty());
    }

    #[test]
    fn counts_go_up_to_the_next_common_bound() {
        let mut sum = custom(&[1.0, 2.0, 5.0], &[1.0, 2.0, 3.0, 4.0]);
        let other = custom(&[0.5, 2.0, 3.0, 5.0, 9.0], &[10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
        let told = sum.add(&other).unwrap();
        assert!(told.bounds_reconciled);
        assert_eq!(&*sum.custom_bounds, [2.0, 5.0]);
        assert_eq!(sum.positive, [33.0, 73.0, 114.0]);
        assert_eq!(sum.count, 220.0);
    }

    #[test]
    fn without_a_common_bound_all_is_in_one_bucket() {
        let mut difference = custom(&[1.0], &[5.0, 4.0]);
        difference.subtract(&custom(&[2.0], &[3.0])).unwrap();
        assert!(difference.custom_bounds.is_empty());
        assert_eq!(difference.positive, [6.0]);
    }

    #[test]
    fn buckets_that_come_out_empty_are_left_out() {
        let mut difference = custom(&[1.0, 2.0, 3.0], &[5.0, 4.0, 7.0]);
        difference.subtract(&custom(&[1.0, 3.0, 4.0], &[5.0, 3.0])).unwrap();
        let cells: Vec<_> = difference.positive_side().cells().collect();
        assert_eq!(cells, [(1, 8.0)]);
    }
}
