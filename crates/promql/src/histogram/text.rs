//! Histograms and buckets as text and as the HTTP API shows them.

use std::fmt;

use super::{Bucket, Histogram};
use crate::number::format_g;

impl fmt::Display for Bucket {
    /// `(lower,upper]:count`, with a square bracket at a bound that is included.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = if self.lower_inclusive { '[' } else { '(' };
        let close = if self.upper_inclusive { ']' } else { ')' };
        let (lower, upper) = (format_g(self.lower), format_g(self.upper));
        write!(f, "{open}{lower},{upper}{close}:{}", format_g(self.count))
    }
}

impl fmt::Display for Histogram {
    /// `{count:…, sum:…, buckets…}`, with the buckets that are not empty in order
    /// of their values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{count:{}, sum:{}", format_g(self.count), format_g(self.sum))?;
        let zero = (!self.uses_custom_buckets()).then(|| self.zero_bucket());
        let all = self.negative_buckets().rev().chain(zero).chain(self.positive_buckets());
        for bucket in all.filter(|bucket| bucket.count != 0.0) {
            write!(f, ", {bucket}")?;
        }
        f.write_str("}")
    }
}

impl Histogram {
    /// The buckets that are not empty, as the HTTP API lists them: a code for which
    /// bounds are included, the bounds, the count. The codes are 0 for the upper
    /// bound, 1 for the lower, 2 for none and 3 for both.
    pub fn json_buckets(&self) -> Vec<(u8, f64, f64, f64)> {
        let row = |bucket: Bucket| {
            let code = match (bucket.lower_inclusive, bucket.upper_inclusive) {
                (false, true) => 0,
                (true, false) => 1,
                (false, false) => 2,
                (true, true) => 3,
            };
            (code, bucket.lower, bucket.upper, bucket.count)
        };
        self.buckets().filter(|bucket| bucket.count != 0.0).map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::BucketSpan;
    use super::super::tests::{custom, exponential};
    use super::*;

    fn both_sides() -> Histogram {
        Histogram {
            sum: 1.5e7,
            zero_threshold: 0.001,
            zero_count: 2.0,
            negative_spans: vec![BucketSpan { offset: 1, length: 2 }],
            negative: vec![3.0, 0.5],
            ..exponential(0, 1, &[4.0, 0.0, 6.0])
        }
    }

    #[test]
    fn text_lists_populated_buckets_in_order() {
        assert_eq!(
            both_sides().to_string(),
            "{count:10, sum:1.5e+07, [-4,-2):0.5, [-2,-1):3, [-0.001,0.001]:2, (1,2]:4, (4,8]:6}"
        );
        assert_eq!(
            custom(&[5.0], &[1.0, 2.0]).to_string(),
            "{count:3, sum:0, [-Inf,5]:1, (5,+Inf]:2}"
        );
        assert_eq!(Histogram::default().to_string(), "{count:0, sum:0}");
    }

    #[test]
    fn json_codes_say_which_bounds_are_included() {
        assert_eq!(
            both_sides().json_buckets(),
            [
                (1, -4.0, -2.0, 0.5),
                (1, -2.0, -1.0, 3.0),
                (3, -0.001, 0.001, 2.0),
                (0, 1.0, 2.0, 4.0),
                (0, 4.0, 8.0, 6.0),
            ]
        );
        let rows = custom(&[5.0], &[1.0, 2.0]).json_buckets();
        assert_eq!(rows[0], (3, f64::NEG_INFINITY, 5.0, 1.0));
        assert_eq!(rows[1], (0, 5.0, f64::INFINITY, 2.0));
    }
}
