//! Quantiles of windows that slide over the samples of a series.
//!
//! Samples are ranked once. A window is the set of their ranks, held as counts in a tree (of the
//! kind of Fenwick's), so that a sample that comes in or goes out and the question for the nth of a
//! window cost a logarithm, however long the window is.

use std::cmp::Ordering;

use super::state::Timed;

/// Samples by rank, and which of them are in the window.
pub(super) struct Ranked<'a> {
    samples: &'a [Timed],
    /// Which sample has a rank. They are fewer than 2^32: the limit is far below.
    by_rank: Vec<u32>,
    /// The rank of each sample.
    ranks: Vec<u32>,
    /// Places are ranks, from 1. Each counts the window's samples of as many ranks up to its own
    /// as its lowest bit says.
    counts: Vec<u32>,
    begin: usize,
    end: usize,
}

impl<'a> Ranked<'a> {
    /// Ranks samples, which are in order of time. The window is empty.
    pub(super) fn new(samples: &'a [Timed]) -> Self {
        let value = |nth: u32| samples[nth as usize].value;
        let mut by_rank: Vec<u32> = (0..).take(samples.len()).collect();
        by_rank.sort_unstable_by(|a, b| order(value(*a), value(*b)));
        let mut ranks = vec![0; samples.len()];
        for (rank, nth) in (0..).zip(&by_rank) {
            ranks[*nth as usize] = rank;
        }
        Self { samples, by_rank, ranks, counts: vec![0; samples.len() + 1], begin: 0, end: 0 }
    }

    /// Moves the window, which begins and ends no earlier than before.
    pub(super) fn slide(&mut self, begin: usize, end: usize) {
        while self.end < end {
            self.count(self.end, |count| count + 1);
            self.end += 1;
        }
        while self.begin < begin {
            self.count(self.begin, |count| count - 1);
            self.begin += 1;
        }
    }

    fn count(&mut self, sample: usize, change: impl Fn(u32) -> u32) {
        let mut place = self.ranks[sample] as usize + 1;
        while let Some(count) = self.counts.get_mut(place) {
            *count = change(*count);
            place += place & place.wrapping_neg();
        }
    }

    /// A quantile of the window, which is not empty: between two samples where it lies there.
    pub(super) fn quantile(&self, quantile: f64) -> f64 {
        if quantile < 0.0 {
            return f64::NEG_INFINITY;
        }
        if quantile > 1.0 {
            return f64::INFINITY;
        }
        let last = (self.end - self.begin).saturating_sub(1);
        let rank = quantile * last as f64;
        let lower = (rank.floor() as usize).min(last);
        let weight = rank - rank.floor();
        self.nth(lower) * (1.0 - weight) + self.nth((lower + 1).min(last)) * weight
    }

    /// The nth smallest value of the window, from 0.
    fn nth(&self, nth: usize) -> f64 {
        let mut left = nth;
        let mut place = 0;
        let mut stride = self.samples.len().checked_ilog2().map_or(0, |log| 1_usize << log);
        while stride > 0 {
            let count = self.counts.get(place + stride).map(|count| *count as usize);
            if let Some(count) = count.filter(|count| *count <= left) {
                left -= count;
                place += stride;
            }
            stride /= 2;
        }
        self.by_rank.get(place).map_or(f64::NAN, |sample| self.samples[*sample as usize].value)
    }
}

/// By value; NaN counts as smallest.
fn order(a: f64, b: f64) -> Ordering {
    b.is_nan().cmp(&a.is_nan()).then(a.partial_cmp(&b).unwrap_or(Ordering::Equal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sliding_window_has_the_quantiles_of_its_samples() {
        let values = [3.0, 1.0, f64::NAN, 2.0, 2.0, -5.0, f64::INFINITY, 8.0, 0.5, 2.0, 1.0];
        let samples: Vec<Timed> =
            (0..).zip(values).map(|(time, value)| Timed { time, sequence: 0, value }).collect();
        for length in 1..=values.len() {
            let mut ranked = Ranked::new(&samples);
            for begin in 0..=values.len() - length {
                ranked.slide(begin, begin + length);
                let mut sorted = values[begin..begin + length].to_vec();
                sorted.sort_by(|a, b| order(*a, *b));
                for (nth, expected) in sorted.iter().enumerate() {
                    let found = ranked.nth(nth);
                    assert!(
                        found == *expected || found.is_nan() && expected.is_nan(),
                        "{nth} of {sorted:?}: {found}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_quantile_lies_between_two_samples() {
        let samples = [4.0, 1.0, 2.0].map(|value| Timed { time: 0, sequence: 0, value });
        let mut ranked = Ranked::new(&samples);
        ranked.slide(0, 3);
        let asked = [-0.1, 0.0, 0.5, 0.75, 1.0, 1.1].map(|quantile| ranked.quantile(quantile));
        assert_eq!(asked, [f64::NEG_INFINITY, 1.0, 2.0, 3.0, 4.0, f64::INFINITY]);
        ranked.slide(2, 3);
        assert_eq!(ranked.quantile(0.5), 2.0);
    }
}
