//! How long things took: counts by bucket, an exact sum, and exemplars.

use std::time::Duration;

/// A span that a value came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) trace_id: [u8; 16],
    pub(crate) span_id: [u8; 8],
    /// When it was counted, in nanoseconds since 1970.
    pub(crate) seen_nanos: u64,
}

/// A value and where it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exemplar {
    pub(crate) nanos: u64,
    pub(crate) source: Source,
}

/// Upper bounds of buckets.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    nanos: Box<[u64]>,
    /// The same in the unit that is written.
    pub(crate) written: Box<[f64]>,
    nanos_per_unit: f64,
}

impl Bounds {
    pub(crate) fn new(bounds: &[Duration], nanos_per_unit: f64) -> Self {
        let nanos = bounds.iter().map(|bound| u64::try_from(bound.as_nanos()).unwrap_or(u64::MAX));
        let nanos: Box<[u64]> = nanos.collect();
        let written = nanos.iter().map(|nanos| *nanos as f64 / nanos_per_unit).collect();
        Self { nanos, written, nanos_per_unit }
    }

    /// Which bucket a value lies in: the first whose bound is not below it.
    fn bucket(&self, nanos: u64) -> usize {
        self.nanos.partition_point(|bound| *bound < nanos)
    }

    /// A number of nanoseconds in the unit that is written.
    pub(crate) fn unit(&self, nanos: u128) -> f64 {
        nanos as f64 / self.nanos_per_unit
    }
}

/// A distribution of durations.
#[derive(Debug, Clone, Default)]
pub(crate) struct Distribution {
    /// By bucket; nothing until there is a value.
    pub(crate) counts: Box<[u64]>,
    pub(crate) count: u64,
    pub(crate) sum_nanos: u128,
    /// One for each bucket that had a value since the last write: the first.
    pub(crate) exemplars: Vec<Exemplar>,
    /// Which buckets have one.
    has_exemplar: u64,
}

impl Distribution {
    pub(crate) fn observe(&mut self, bounds: &Bounds, nanos: u64, source: Option<&Source>) {
        if self.counts.is_empty() {
            self.counts = vec![0; bounds.nanos.len() + 1].into();
        }
        let bucket = bounds.bucket(nanos);
        self.counts[bucket] += 1;
        self.count += 1;
        self.sum_nanos += u128::from(nanos);
        let bit = 1u64 << bucket;
        if let Some(source) = source
            && self.has_exemplar & bit == 0
        {
            self.has_exemplar |= bit;
            self.exemplars.push(Exemplar { nanos, source: *source });
        }
    }

    /// Its exemplars have been written.
    pub(crate) fn forget_exemplars(&mut self) {
        self.exemplars = Vec::new();
        self.has_exemplar = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_at_a_bound_lies_below_it_and_each_bucket_keeps_one_exemplar() {
        let bounds = Bounds::new(&[Duration::from_nanos(10), Duration::from_nanos(20)], 1e9);
        let mut distribution = Distribution::default();
        for (nth, nanos) in [10, 11, 20, 21, 0, u64::MAX].into_iter().enumerate() {
            let source = Source { trace_id: [nth as u8; 16], span_id: [0; 8], seen_nanos: 1 };
            distribution.observe(&bounds, nanos, Some(&source));
        }
        assert_eq!(&*distribution.counts, [2, 2, 2]);
        assert_eq!(distribution.count, 6);
        assert_eq!(distribution.sum_nanos, u128::from(u64::MAX) + 62);
        let kept: Vec<u64> = distribution.exemplars.iter().map(|one| one.nanos).collect();
        assert_eq!(kept, [10, 11, 21]);
        distribution.forget_exemplars();
        distribution.observe(&bounds, 5, None);
        assert!(distribution.exemplars.is_empty());
        assert_eq!((&*bounds.written, bounds.unit(1_500_000_000)), (&[1e-8, 2e-8][..], 1.5));
    }
}
