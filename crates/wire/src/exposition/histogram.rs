//! Native histograms: buckets whose bounds follow from a schema, or are listed.

/// A run of buckets that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// Buckets between the last of the run before and the first of this one; for the first run,
    /// the index of its first bucket.
    pub offset: i32,
    /// How many buckets.
    pub length: u32,
}

/// Counts, whole or not.
#[derive(Debug, Clone, PartialEq)]
pub enum HistogramCounts {
    /// Whole numbers. Buckets hold the difference to the bucket before.
    Integer {
        /// All measurements.
        count: u64,
        /// Measurements near zero.
        zero_count: u64,
        /// Buckets above zero.
        positive: Vec<i64>,
        /// Buckets below zero.
        negative: Vec<i64>,
    },
    /// Floating-point numbers. Buckets hold their own count.
    Float {
        /// All measurements.
        count: f64,
        /// Measurements near zero.
        zero_count: f64,
        /// Buckets above zero.
        positive: Vec<f64>,
        /// Buckets below zero.
        negative: Vec<f64>,
    },
}

/// A native histogram as Prometheus' protocols carry it.
#[derive(Debug, Clone, PartialEq)]
pub struct NativeHistogram {
    /// Buckets per power of two, as a power of two: -4 to 8. -53 for listed bounds.
    pub schema: i32,
    /// Sum of all measurements.
    pub sum: f64,
    /// What is nearer to zero is counted as zero.
    pub zero_threshold: f64,
    /// Where the buckets above zero are.
    pub positive_spans: Vec<Span>,
    /// Where the buckets below zero are.
    pub negative_spans: Vec<Span>,
    /// What is in them.
    pub counts: HistogramCounts,
    /// Listed bounds, with schema -53.
    pub custom_bounds: Vec<f64>,
    /// Whether it goes up and down, as a gauge does.
    pub is_gauge: bool,
}

/// The coarsest schema.
pub(super) const MIN_SCHEMA: i32 = -4;
/// The finest schema.
pub(super) const MAX_SCHEMA: i32 = 8;

impl NativeHistogram {
    /// How many buckets it has, without that of zero.
    #[must_use]
    pub fn bucket_count(&self) -> usize {
        match &self.counts {
            HistogramCounts::Integer { positive, negative, .. } => positive.len() + negative.len(),
            HistogramCounts::Float { positive, negative, .. } => positive.len() + negative.len(),
        }
    }

    /// Whether its bounds follow from the schema, so that buckets can be joined.
    #[must_use]
    pub fn is_exponential(&self) -> bool {
        (MIN_SCHEMA..=MAX_SCHEMA).contains(&self.schema)
    }

    /// Joins buckets until the schema is at most `schema`. Says whether that is reached.
    pub fn coarsen(&mut self, schema: i32) -> bool {
        if !self.is_exponential() || schema < MIN_SCHEMA {
            return self.schema <= schema && self.is_exponential();
        }
        let steps = self.schema.saturating_sub(schema);
        if steps <= 0 {
            return true;
        }
        let steps = steps.unsigned_abs();
        match &mut self.counts {
            HistogramCounts::Integer { positive, negative, .. } => {
                join_deltas(&mut self.positive_spans, positive, steps);
                join_deltas(&mut self.negative_spans, negative, steps);
            }
            HistogramCounts::Float { positive, negative, .. } => {
                join(&mut self.positive_spans, positive, steps);
                join(&mut self.negative_spans, negative, steps);
            }
        }
        self.schema = schema;
        true
    }

    /// Joins buckets until there are at most `limit`. Says whether that was possible.
    pub fn limit_buckets(&mut self, limit: usize) -> bool {
        while self.bucket_count() > limit {
            if !self.is_exponential() || !self.coarsen(self.schema - 1) {
                return false;
            }
        }
        true
    }
}

/// Joins buckets of whole numbers.
fn join_deltas(spans: &mut Vec<Span>, deltas: &mut Vec<i64>, steps: u32) {
    let mut count = 0i64;
    let mut counts: Vec<i64> = deltas
        .iter()
        .map(|delta| {
            count = count.wrapping_add(*delta);
            count
        })
        .collect();
    join(spans, &mut counts, steps);
    let mut before = 0i64;
    deltas.clear();
    deltas.extend(counts.into_iter().map(|count| {
        let delta = count.wrapping_sub(before);
        before = count;
        delta
    }));
}

/// Joins the buckets whose indices meet when each step halves the resolution.
fn join<T: Copy + std::ops::Add<Output = T>>(
    spans: &mut Vec<Span>,
    counts: &mut Vec<T>,
    steps: u32,
) {
    let mut joined: Vec<(i64, T)> = Vec::with_capacity(counts.len());
    let mut remaining = counts.iter();
    let mut index = 0i64;
    for span in spans.iter() {
        index += i64::from(span.offset);
        for count in remaining.by_ref().take(span.length as usize) {
            // The upper bound of a bucket is what its index names, hence the ones.
            let coarse = ((index - 1) >> steps) + 1;
            match joined.last_mut() {
                Some((last, sum)) if *last == coarse => *sum = *sum + *count,
                _ => joined.push((coarse, *count)),
            }
            index += 1;
        }
    }
    spans.clear();
    counts.clear();
    let mut next = 0i64;
    for (index, count) in joined {
        match spans.last_mut() {
            Some(span) if index == next => span.length += 1,
            _ => {
                // Indices come from 32-bit offsets of bounded runs; what is beyond is nonsense.
                let offset = i32::try_from(index - next).unwrap_or(i32::MAX);
                spans.push(Span { offset, length: 1 });
            }
        }
        counts.push(count);
        next = index + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(schema: i32, spans: &[(i32, u32)], deltas: &[i64]) -> NativeHistogram {
        NativeHistogram {
            schema,
            sum: 0.0,
            zero_threshold: 0.0,
            positive_spans: spans.iter().map(|&(offset, length)| Span { offset, length }).collect(),
            negative_spans: Vec::new(),
            counts: HistogramCounts::Integer {
                count: 0,
                zero_count: 0,
                positive: deltas.to_vec(),
                negative: Vec::new(),
            },
            custom_bounds: Vec::new(),
            is_gauge: false,
        }
    }

    #[test]
    fn buckets_that_share_a_coarser_one_are_joined() {
        // Indices -1, 0, 1, 2, 5 with 1, 2, 3, 4, 5 measurements.
        let mut histogram = histogram(1, &[(-1, 4), (2, 1)], &[1, 1, 1, 1, 1]);
        assert!(histogram.coarsen(0));
        assert_eq!(histogram.schema, 0);
        let spans: Vec<_> = histogram.positive_spans.iter().map(|s| (s.offset, s.length)).collect();
        // 0 (of -1 and 0), 1 (of 1 and 2), 3 (of 5).
        assert_eq!(spans, [(0, 2), (1, 1)]);
        let HistogramCounts::Integer { positive, .. } = &histogram.counts else { panic!() };
        assert_eq!(positive, &[3, 4, -2]);
    }

    #[test]
    fn buckets_are_joined_until_they_are_few_and_listed_bounds_never() {
        let mut many = histogram(3, &[(1, 64)], &[1; 64]);
        assert!(many.limit_buckets(8));
        assert_eq!((many.schema, many.bucket_count()), (0, 8));
        let mut spread = histogram(0, &[(0, 1), (1_000, 1), (1_000, 1)], &[1, 0, 0]);
        assert!(!spread.limit_buckets(2), "they are too far from one another");
        let mut listed = histogram(-53, &[(0, 3)], &[1, 1, 1]);
        assert!(!listed.limit_buckets(2));
        assert_eq!(listed.bucket_count(), 3);
    }
}
