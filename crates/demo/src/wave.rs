//! Values that go up and down with time, the same at the same time.
//!
//! A story and the machines it runs on agree on them without telling each other, and a demo that is
//! started again continues the counters of the one before, where it is about the same machines.

use std::f64::consts::TAU;

use crate::{MINUTE, SECOND};

/// From 0 to 1 and back, once in a period; `phase` tells one thing from another.
pub(crate) fn wave(nanos: u64, period_nanos: u64, phase: f64) -> f64 {
    let turns = (nanos % period_nanos) as f64 / period_nanos as f64 + phase;
    (1.0 - (turns * TAU).cos()) / 2.0
}

/// Seconds of a wave that was summed up from one time to another.
pub(crate) fn summed(from_nanos: u64, to_nanos: u64, period_nanos: u64, phase: f64) -> f64 {
    let period = period_nanos as f64 / SECOND as f64;
    let below = |nanos: u64| {
        let whole = (nanos / period_nanos) as f64;
        let turns = (nanos % period_nanos) as f64 / period_nanos as f64;
        let swing = ((turns + phase) * TAU).sin() - (phase * TAU).sin();
        period * (whole / 2.0 + turns / 2.0 - swing / (2.0 * TAU))
    };
    below(to_nanos) - below(from_nanos)
}

/// A window that opens again and again, counted from 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) every: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Window {
    /// Whether it is open then.
    pub(crate) fn is_open(self, nanos: u64) -> bool {
        (self.from..self.to).contains(&(nanos % self.every))
    }

    /// How far it has been open, from 0 to 1; nothing while it is closed.
    pub(crate) fn progress(self, nanos: u64) -> Option<f64> {
        let place = nanos % self.every;
        let length = self.to - self.from;
        self.is_open(nanos).then(|| (place - self.from) as f64 / length as f64)
    }

    /// How long it has been open between two times.
    pub(crate) fn open_nanos(self, from_nanos: u64, to_nanos: u64) -> u64 {
        let below = |nanos: u64| {
            let whole = nanos / self.every * (self.to - self.from);
            whole + (nanos % self.every).clamp(self.from, self.to) - self.from
        };
        below(to_nanos) - below(from_nanos)
    }
}

/// When the last GPU of the second node is too hot.
pub(crate) const THROTTLING: Window =
    Window { every: 25 * MINUTE, from: 6 * MINUTE, to: 13 * MINUTE };

/// When the payment provider is slow and fails.
pub(crate) const PROVIDER_FAULT: Window =
    Window { every: 20 * MINUTE, from: 7 * MINUTE, to: 13 * MINUTE };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_opens_again_and_tells_how_far_it_is() {
        let window = Window { every: 10, from: 2, to: 6 };
        assert!(!window.is_open(1) && window.is_open(2) && !window.is_open(6));
        assert_eq!(window.progress(14), Some(0.5));
        assert_eq!(window.progress(19), None);
        assert_eq!((window.open_nanos(0, 10), window.open_nanos(4, 13)), (4, 3));
    }

    #[test]
    fn a_wave_begins_and_ends_at_zero() {
        assert!(wave(0, 100, 0.0) < 1e-9 && (wave(50, 100, 0.0) - 1.0).abs() < 1e-9);
        assert!((wave(30, 100, 0.0) - wave(130, 100, 0.0)).abs() < 1e-9);
    }

    #[test]
    fn a_wave_summed_up_is_what_its_parts_are() {
        let (period, step) = (60 * SECOND, SECOND / 10);
        let parts: f64 = (130..1_730).map(|nth| wave(nth * step, period, 0.3) * 0.1).sum();
        let whole = summed(130 * step, 1_730 * step, period, 0.3);
        assert!((parts - whole).abs() < 0.1, "{parts} {whole}");
    }
}
