//! What holds for all histograms, tried on many drawn by a fixed seed.

use super::{BucketSpan, CUSTOM_SCHEMA, Histogram};

/// Draws numbers (xorshift), the same in every run.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    fn between(&mut self, lowest: i32, highest: i32) -> i32 {
        let range = u64::try_from(highest - lowest + 1).unwrap();
        lowest + i32::try_from(self.below(range)).unwrap()
    }

    /// Spans and whole counts, a third of them zero, so that sums are exact.
    fn side(&mut self, lowest: i32) -> (Vec<BucketSpan>, Vec<f64>) {
        let mut spans = Vec::new();
        let mut counts = Vec::new();
        for nth in 0..self.below(4) {
            let lowest = if nth == 0 { lowest } else { 0 };
            let length = u32::try_from(self.below(5)).unwrap();
            spans.push(BucketSpan { offset: self.between(lowest, lowest.max(0) + 3), length });
            for _ in 0..length {
                let count = self.below(50) as f64;
                counts.push(if self.below(3) == 0 { 0.0 } else { count });
            }
        }
        (spans, counts)
    }

    fn exponential(&mut self) -> Histogram {
        let lowest = [-8, 0, 1][self.below(3) as usize];
        let (positive_spans, positive) = self.side(lowest);
        let (negative_spans, negative) = self.side(lowest);
        let zero_threshold = [0.0, 0.001, 0.3, 1.0, 1.5, 3.0][self.below(6) as usize];
        let zero_count = self.below(9) as f64;
        let count = zero_count + positive.iter().chain(&negative).sum::<f64>();
        let mut histogram = Histogram {
            schema: self.between(-2, 4),
            zero_threshold,
            zero_count,
            count,
            sum: f64::from(self.between(-100, 100)),
            positive_spans,
            negative_spans,
            positive,
            negative,
            ..Histogram::default()
        };
        // No bucket of a sound histogram is within its zero bucket.
        let lower = |bucket: super::Bucket| bucket.lower.abs().min(bucket.upper.abs());
        let positive = histogram.positive_buckets().map(lower).next();
        let negative = histogram.negative_buckets().map(lower).next();
        if positive.into_iter().chain(negative).any(|lower| lower < zero_threshold) {
            histogram.zero_threshold = 0.0;
        }
        histogram
    }

    fn custom(&mut self) -> Histogram {
        let (positive_spans, positive) = self.side(0);
        let mut bound = -3.0;
        let bounds: Vec<f64> = (0..40)
            .map(|_| {
                bound += 1.0 + self.below(2) as f64;
                bound
            })
            .collect();
        let count = positive.iter().fold(0.0, |sum, count| sum + count);
        let sum = f64::from(self.between(0, 100));
        let custom_bounds = bounds.into();
        let schema = CUSTOM_SCHEMA;
        Histogram {
            schema,
            count,
            sum,
            positive_spans,
            positive,
            custom_bounds,
            ..Histogram::default()
        }
    }

    fn any(&mut self) -> Histogram {
        if self.below(3) == 0 { self.custom() } else { self.exponential() }
    }
}

fn in_buckets(histogram: &Histogram) -> f64 {
    histogram.zero_count + histogram.positive.iter().chain(&histogram.negative).sum::<f64>()
}

/// Tries a property on pairs of histograms that can be added.
fn for_pairs(mut property: impl FnMut(Histogram, Histogram)) {
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    for _ in 0..3000 {
        let a = draw.exponential();
        let b = draw.exponential();
        property(a, b);
        let a = draw.custom();
        let b = draw.custom();
        property(a, b);
    }
}

fn for_each(mut property: impl FnMut(Histogram, &mut Draw)) {
    let mut draw = Draw(0xd1b5_4a32_d192_ed03);
    for _ in 0..3000 {
        let histogram = draw.any();
        property(histogram, &mut draw);
    }
}

#[test]
fn drawn_histograms_are_valid() {
    for_each(|histogram, _| assert_eq!(histogram.validate(), Ok(())));
}

#[test]
fn the_order_of_addition_does_not_matter() {
    for_pairs(|a, b| {
        let (mut left, mut right) = (a.clone(), b.clone());
        left.add(&b).unwrap();
        right.add(&a).unwrap();
        assert!(left.compacted(0).equals(&right.compacted(0)), "{a} and {b}");
    });
}

#[test]
fn no_observation_is_lost_in_a_sum_or_a_difference() {
    for_pairs(|a, b| {
        let mut sum = a.clone();
        sum.add(&b).unwrap();
        assert_eq!(in_buckets(&sum), a.count + b.count);
        assert_eq!(sum.validate(), Ok(()));
        let mut difference = a.clone();
        difference.subtract(&b).unwrap();
        assert_eq!(in_buckets(&difference), a.count - b.count);
        assert_eq!(difference.sum, a.sum - b.sum);
    });
}

#[test]
fn what_was_added_can_be_taken_away() {
    for_pairs(|a, mut b| {
        // Of the same layout, or the sum has fewer buckets than `a`.
        b.schema = a.schema;
        b.zero_threshold = a.zero_threshold;
        b.custom_bounds = a.custom_bounds.clone();
        // Buckets of `b` within the zero bucket would not be sound.
        if b.schema != CUSTOM_SCHEMA && b.zero_threshold > 0.0 {
            b.positive_spans = a.positive_spans.clone();
            b.positive = a.positive.iter().map(|count| count + 1.0).collect();
            (b.negative_spans, b.negative) = (Vec::new(), Vec::new());
        }
        let mut result = a.clone();
        result.add(&b).unwrap();
        assert!(!result.detect_reset(&a), "{a} and {b}");
        result.subtract(&b).unwrap();
        assert!(result.compacted(0).equals(&a.clone().compacted(0)), "{a} and {b}");
    });
}

#[test]
fn compensated_sums_of_whole_counts_are_the_plain_ones() {
    for_pairs(|a, b| {
        let mut plain = a.clone();
        plain.add(&b).unwrap();
        plain.add(&a).unwrap();
        let mut sum = a.clone();
        let (lost, _) = sum.kahan_add(&b, None).unwrap();
        let (lost, _) = sum.kahan_add(&a, Some(lost)).unwrap();
        assert_eq!(lost.positive.len(), sum.positive.len());
        assert_eq!(lost.negative.len(), sum.negative.len());
        sum.add(&lost).unwrap();
        assert!(sum.compacted(0).equals(&plain.compacted(0)), "{a} and {b}");
    });
}

#[test]
fn a_sum_is_never_a_reset_of_its_parts() {
    for_pairs(|a, b| {
        let mut sum = a.clone();
        sum.add(&b).unwrap();
        assert!(!sum.detect_reset(&a), "{a} and {b}");
    });
}

#[test]
fn coarser_buckets_hold_the_same_observations() {
    for_each(|histogram, draw| {
        if histogram.uses_custom_buckets() {
            return;
        }
        let schema = draw.between(-4, histogram.schema - 1);
        let mut coarse = histogram.clone();
        coarse.reduce_resolution(schema).unwrap();
        assert_eq!(in_buckets(&coarse), in_buckets(&histogram));
        assert_eq!(coarse.validate(), Ok(()));
        assert_eq!(coarse, histogram.copy_to_schema(schema));
        assert!(!coarse.detect_reset(&histogram));
        // In two steps it is the same.
        let mut steps = histogram.copy_to_schema(histogram.schema - 1);
        if steps.schema > schema {
            steps.reduce_resolution(schema).unwrap();
        }
        assert!(steps.equals(&coarse));
    });
}

#[test]
fn compaction_removes_nothing_but_empty_buckets() {
    for_each(|histogram, draw| {
        let max_empty = draw.below(4) as usize;
        let compact = histogram.clone().compacted(max_empty);
        assert_eq!(compact.validate(), Ok(()));
        assert_eq!(compact.json_buckets(), histogram.json_buckets());
        assert!(compact.clone().compacted(max_empty).equals(&compact));
        assert!(!compact.clone().compacted(0).positive.contains(&0.0));
    });
}

#[test]
fn quantiles_grow_and_stay_within_buckets() {
    for_each(|histogram, _| {
        let populated: Vec<_> = histogram.buckets().filter(|b| b.count > 0.0).collect();
        let (Some(first), Some(last)) = (populated.first(), populated.last()) else { return };
        let lowest = if first.lower.is_finite() { first.lower } else { first.upper.min(0.0) };
        let highest = if last.upper.is_finite() { last.upper } else { last.lower };
        let slack = 1e-9 * highest.abs().max(lowest.abs());
        let mut before = f64::NEG_INFINITY;
        for step in 0..=20 {
            let value = histogram.quantile(f64::from(step) / 20.0).value;
            assert!(value >= lowest - slack && value <= highest + slack, "{histogram} {value}");
            assert!(value >= before - slack, "{histogram}: {before} then {value}");
            before = value;
        }
    });
}

#[test]
fn fractions_of_neighbouring_ranges_add_up() {
    for_each(|histogram, draw| {
        if histogram.count == 0.0 {
            return;
        }
        let middle = f64::from(draw.between(-20, 20)) / 4.0;
        let below = histogram.fraction(f64::NEG_INFINITY, middle).value;
        let above = histogram.fraction(middle, f64::INFINITY).value;
        assert!((below + above - 1.0).abs() < 1e-12, "{histogram} at {middle}");
        assert!((0.0..=1.0).contains(&below));
    });
}

#[test]
fn both_parts_of_a_cut_make_the_whole() {
    for_each(|histogram, draw| {
        // Buckets without an end are not shared.
        if histogram.uses_custom_buckets() {
            return;
        }
        let at = f64::from(draw.between(-20, 20)) / 4.0;
        let (below, above) = (histogram.trim_upper(at), histogram.trim_lower(at));
        let total = below.count + above.count;
        assert!((total - histogram.count).abs() < 1e-9, "{histogram} at {at}");
        assert_eq!(histogram.trim_upper(f64::INFINITY), histogram);
        assert_eq!(histogram.trim_lower(f64::NEG_INFINITY), histogram);
        assert_eq!(histogram.trim_upper(f64::NEG_INFINITY).count, 0.0);
    });
}

#[test]
fn histograms_whose_parts_disagree_do_no_harm() {
    let wild = [i32::MIN, -53, -9, -1, 0, 3, 8, 9, 52, i32::MAX];
    let lengths = [0, 1, 3, u32::MAX];
    let numbers = [0.0, 1.0, -2.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX];
    let mut draw = Draw(42);
    let mut histogram = |schema: Option<i32>| {
        let mut pick = |n: usize| draw.below(n as u64) as usize;
        let spans = |pick: &mut dyn FnMut(usize) -> usize| -> Vec<BucketSpan> {
            (0..pick(4))
                .map(|_| BucketSpan { offset: wild[pick(wild.len())], length: lengths[pick(4)] })
                .collect()
        };
        let (positive_spans, negative_spans) = (spans(&mut pick), spans(&mut pick));
        let mut values =
            |limit: usize| (0..pick(limit)).map(|_| numbers[pick(7)]).collect::<Vec<_>>();
        let (positive, negative) = (values(6), values(6));
        let custom_bounds = values(4).into();
        let scalars = [0; 4].map(|_| numbers[pick(7)]);
        let [zero_threshold, zero_count, count, sum] = scalars;
        let schema = schema.unwrap_or(wild[pick(wild.len())]);
        Histogram {
            schema,
            zero_threshold,
            zero_count,
            count,
            sum,
            positive_spans,
            negative_spans,
            positive,
            negative,
            custom_bounds,
            ..Histogram::default()
        }
    };
    for round in 0..20_000 {
        let schema = (round % 2 == 0).then_some(CUSTOM_SCHEMA);
        let (a, b) = (histogram(schema), histogram(schema));
        let mut sum = a.clone();
        let _ = sum.add(&b);
        let _ = sum.subtract(&a);
        let lost = sum.kahan_add(&b, None).ok().map(|(lost, _)| lost);
        let _ = sum.kahan_add(&a, lost);
        let _ = (a.validate(), a.detect_reset(&b), a.equals(&b), a.size(), a.variance());
        let _ = (a.quantile(0.3), a.quantile(0.9), a.fraction(-1.0, 2.0), a.to_string());
        let _ = (a.trim_upper(1.5), a.trim_lower(f64::NAN), a.json_buckets(), a.has_overflow());
        let _ = (a.copy_to_schema(0), sum.reduce_resolution(-4), b.compacted(3));
    }
}
