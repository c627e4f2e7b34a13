//! What series consist of, as they are read.
//!
//! Times are milliseconds since 1970, as everywhere in PromQL.

use std::sync::{Arc, OnceLock};

use crate::histogram::{Histogram, ResetHint};

/// The value where a series ends: a NaN with a payload of its own.
pub const STALE_NAN: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

/// Whether a value says that its series ended.
pub fn is_stale(value: f64) -> bool {
    value.to_bits() == STALE_NAN.to_bits()
}

/// A histogram at a time.
#[derive(Debug, Clone)]
pub struct HistogramSample {
    /// When it was taken.
    pub time: i64,
    /// Since when it counts; 0 if that is not known.
    pub start: i64,
    /// The histogram.
    pub value: Arc<Histogram>,
}

/// The samples of one series, in order of time, each time once.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    /// Times of the floats.
    pub times: Vec<i64>,
    /// The floats.
    pub values: Vec<f64>,
    /// Since when each float counts, 0 if that is not known; empty if none is.
    pub starts: Vec<i64>,
    /// The histograms.
    pub histograms: Vec<HistogramSample>,
    /// What was found out about the floats, for the next who asks.
    pub facts: Facts,
}

/// What is found out about floats once they do not change any more: samples are kept from query to
/// query, and each would look at all of them again. A copy knows nothing, as it may be changed.
#[derive(Debug, Default)]
pub struct Facts {
    kinds: OnceLock<FloatKinds>,
    falls: OnceLock<Box<[u32]>>,
}

/// What kinds of floats there are.
#[derive(Debug, Clone, Copy)]
struct FloatKinds {
    some_stale: bool,
    all_finite: bool,
}

impl Clone for Facts {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Samples {
    fn kinds(&self) -> FloatKinds {
        *self.facts.kinds.get_or_init(|| FloatKinds {
            some_stale: self.values.iter().any(|value| is_stale(*value)),
            all_finite: self.values.iter().all(|value| value.is_finite()),
        })
    }

    /// Whether all floats are finite.
    pub(crate) fn are_finite(&self) -> bool {
        self.kinds().all_finite
    }

    /// Where floats are less than the one before.
    pub(crate) fn falls(&self) -> &[u32] {
        self.facts.falls.get_or_init(|| {
            let values = &self.values;
            let falls = (1..values.len()).filter(|now| values[*now] < values[now - 1]);
            falls.map(|now| now as u32).collect()
        })
    }

    /// How many samples there are.
    pub fn len(&self) -> usize {
        self.times.len() + self.histograms.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty() && self.histograms.is_empty()
    }

    /// Whether some sample says that the series ended.
    pub fn has_stale(&self) -> bool {
        self.kinds().some_stale || self.histograms.iter().any(|sample| sample.value.is_stale())
    }

    /// All but those that say that the series ended.
    pub fn without_stale(&self) -> Self {
        let is_kept = |nth: &usize| !is_stale(self.values[*nth]);
        let pick = |column: &[i64]| -> Vec<i64> {
            (0..column.len()).filter(is_kept).map(|nth| column[nth]).collect()
        };
        Self {
            times: pick(&self.times),
            starts: pick(&self.starts),
            values: self.values.iter().copied().filter(|value| !is_stale(*value)).collect(),
            histograms: self.histograms.iter().filter(|s| !s.value.is_stale()).cloned().collect(),
            facts: Facts::default(),
        }
    }
}

impl Samples {
    /// Sets the hints of histograms that are counters as far as samples tell: where
    /// one goes on from the one before, it says so; elsewhere nothing is known. What
    /// a sender claimed would have to be believed otherwise, also where it sent
    /// samples in another order.
    pub fn settle_hints(&mut self) {
        let mut before: Option<Arc<Histogram>> = None;
        for sample in &mut self.histograms {
            let is_counter = sample.value.hint != ResetHint::Gauge && !sample.value.is_stale();
            if !is_counter {
                before = None;
                continue;
            }
            let claims_reset = sample.value.hint == ResetHint::Reset;
            let unsettled = with_hint(&sample.value, ResetHint::Unknown);
            let goes_on = !claims_reset
                && before.as_ref().is_some_and(|before| !unsettled.detect_reset(before));
            before = Some(unsettled.clone());
            sample.value = match goes_on {
                true => with_hint(&unsettled, ResetHint::NotReset),
                false => unsettled,
            };
        }
    }

    /// Leaves of each histogram what those need who do not look at buckets: count, sum
    /// and schema, and whether a counter began anew, also where no hint told. Samples
    /// before `start` do not count, as a source may give any number of them.
    pub(crate) fn reduce_to_totals(&mut self, start: i64) {
        let mut before: Option<Arc<Histogram>> = None;
        for sample in &mut self.histograms {
            let whole = &sample.value;
            if whole.is_stale() {
                continue;
            }
            let hint = match (whole.hint, &before) {
                (ResetHint::Unknown, Some(before)) if whole.detect_reset(before) => {
                    ResetHint::Reset
                }
                (ResetHint::Unknown, Some(_)) => ResetHint::NotReset,
                (hint, _) => hint,
            };
            let Histogram { schema, count, sum, .. } = **whole;
            let totals = Histogram { schema, hint, count, sum, ..Histogram::default() };
            let whole = std::mem::replace(&mut sample.value, Arc::new(totals));
            before = (sample.time >= start).then_some(whole);
        }
    }
}

fn with_hint(histogram: &Arc<Histogram>, hint: ResetHint) -> Arc<Histogram> {
    match histogram.hint == hint {
        true => histogram.clone(),
        false => Arc::new(Histogram { hint, ..(**histogram).clone() }),
    }
}

/// The value of a sample.
#[derive(Debug, Clone)]
pub enum Value {
    /// A number.
    Float(f64),
    /// A histogram.
    Histogram(Arc<Histogram>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_tell_resets_that_only_buckets_show() {
        let histogram = |time: i64, positive: [f64; 2]| HistogramSample {
            time,
            start: 0,
            value: Arc::new(Histogram {
                count: 3.0,
                sum: 4.0,
                positive_spans: vec![crate::histogram::BucketSpan { offset: 0, length: 2 }],
                positive: positive.to_vec(),
                ..Histogram::default()
            }),
        };
        let buckets = [[2.0, 1.0], [1.0, 2.0], [1.0, 2.0], [2.0, 1.0]];
        let histograms = (0..).zip(buckets).map(|(time, buckets)| histogram(time, buckets));
        let histograms = histograms.collect();
        let mut samples = Samples { histograms, ..Samples::default() };
        samples.reduce_to_totals(1);
        let hints: Vec<_> = samples.histograms.iter().map(|sample| sample.value.hint).collect();
        let (unknown, reset) = (ResetHint::Unknown, ResetHint::Reset);
        assert_eq!(hints, [unknown, unknown, ResetHint::NotReset, reset]);
        assert!(samples.histograms.iter().all(|sample| sample.value.positive.is_empty()));
    }

    #[test]
    fn a_copy_that_is_changed_knows_nothing_of_what_was() {
        let samples =
            Samples { times: vec![1, 2, 3], values: vec![5.0, 4.0, 6.0], ..Samples::default() };
        assert!(!samples.has_stale() && samples.are_finite());
        assert_eq!(samples.falls(), [1]);
        let mut changed = samples.clone();
        changed.values = vec![1.0, STALE_NAN, 0.0];
        assert!(changed.has_stale() && !changed.are_finite());
        assert!(changed.falls().is_empty());
    }

    #[test]
    fn what_ended_is_left_out_of_all_columns() {
        let samples = Samples {
            times: vec![1, 2, 3],
            values: vec![5.0, STALE_NAN, f64::NAN],
            starts: vec![7, 8, 9],
            ..Samples::default()
        };
        assert!(samples.has_stale());
        let rest = samples.without_stale();
        assert_eq!((rest.times, rest.starts), (vec![1, 3], vec![7, 9]));
        assert!(rest.values[1].is_nan());
    }
}
