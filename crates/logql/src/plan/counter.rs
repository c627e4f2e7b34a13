//! Rates of counters in windows that slide over the samples of a series.
//!
//! A sample that is less than the one before tells that the counter began anew, and what it had
//! before is added to its growth. Such falls are summed as windows slide, so that a window costs
//! what comes in and goes out, however long it is.

use super::rolling::Sliding;
use super::state::{State, Sum, Timed};

/// Samples in order of time, and the window.
pub(super) struct Counter<'a> {
    samples: &'a [Timed],
    /// What the counter had before each fall, by the place of the sample that is less.
    falls: Sliding,
    begin: usize,
    end: usize,
}

impl<'a> Counter<'a> {
    /// Takes samples, which are in order of time. The window is empty.
    pub(super) fn new(samples: &'a [Timed]) -> Self {
        Self { samples, falls: Sliding::default(), begin: 0, end: 0 }
    }

    /// Moves the window, which begins and ends no earlier than before.
    pub(super) fn slide(&mut self, begin: usize, end: usize) {
        for at in self.end.max(1)..end {
            let before = self.samples[at - 1].value;
            if self.samples[at].value < before {
                self.falls.push(place(at), &State::Sum(Sum::new(before)));
            }
        }
        // A fall to the first sample of the window happened before it.
        self.falls.drop_before(place(begin + 1));
        (self.begin, self.end) = (begin, end);
    }

    /// How much the counter grew each second in the window, which ends at that time and is that
    /// long. Where the first and last sample are close to the ends of the window the growth is
    /// extended to these, otherwise by half the usual distance of two samples. It is not extended
    /// below zero.
    pub(super) fn rate(&self, end_nanos: i64, range_secs: f64) -> f64 {
        let window = &self.samples[self.begin..self.end];
        let [first, .., last] = window else { return 0.0 };
        let fallen = match self.falls.total() {
            Some(State::Sum(sum)) => sum.total(),
            _ => 0.0,
        };
        let growth = last.value - first.value + fallen;
        let seconds = |from: i64, to: i64| to.saturating_sub(from) as f64 / 1e9;
        let sampled = seconds(first.time, last.time);
        let average = sampled / (window.len() - 1) as f64;
        let mut to_start = range_secs - seconds(first.time, end_nanos);
        let mut to_end = seconds(last.time, end_nanos);
        if to_start >= average * 1.1 {
            to_start = average / 2.0;
        }
        if growth > 0.0 && first.value >= 0.0 {
            to_start = to_start.min(sampled * (first.value / growth));
        }
        if to_end >= average * 1.1 {
            to_end = average / 2.0;
        }
        growth * ((sampled + to_start + to_end) / sampled) / range_secs
    }
}

fn place(at: usize) -> i64 {
    // There are at most as many samples as are held.
    i64::try_from(at).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is fallen in a window, sample by sample.
    fn fallen(values: &[f64]) -> f64 {
        values.windows(2).filter(|pair| pair[1] < pair[0]).map(|pair| pair[0]).sum()
    }

    #[test]
    fn a_sliding_window_has_the_falls_between_its_samples() {
        let values = [3.0, 1.0, 4.0, 4.0, 2.0, f64::NAN, 1.0, 0.0, 7.0, -2.0, -3.0, 5.0];
        let samples: Vec<Timed> =
            (0..).zip(values).map(|(time, value)| Timed { time, sequence: 0, value }).collect();
        for length in 1..=values.len() {
            let mut counter = Counter::new(&samples);
            // Windows may leave samples out between them.
            for begin in (0..=values.len() - length).step_by(3) {
                counter.slide(begin, begin + length);
                let found = match counter.falls.total() {
                    Some(State::Sum(sum)) => sum.total(),
                    _ => 0.0,
                };
                let window = &values[begin..begin + length];
                assert_eq!(found, fallen(window), "{window:?}");
            }
        }
    }

    #[test]
    fn one_sample_tells_no_rate() {
        let samples = [Timed { time: 0, sequence: 0, value: 5.0 }];
        let mut counter = Counter::new(&samples);
        counter.slide(0, 1);
        assert_eq!(counter.rate(10, 60.0), 0.0);
    }
}
