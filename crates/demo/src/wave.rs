//! Values that go up and down with time, the same at the same time: a story and the machines it runs
//! on agree on them without telling each other.

use std::f64::consts::TAU;

use crate::MINUTE;

/// From 0 to 1 and back, once in a period; `phase` tells one thing from another.
pub(crate) fn wave(nanos: u64, period_nanos: u64, phase: f64) -> f64 {
    let turns = (nanos % period_nanos) as f64 / period_nanos as f64 + phase;
    (1.0 - (turns * TAU).cos()) / 2.0
}

/// A window that opens again and again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Window {
    pub(crate) every: u64,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Window {
    /// Whether it is open, so long after the beginning of the world.
    pub(crate) fn is_open(self, age_nanos: u64) -> bool {
        (self.from..self.to).contains(&(age_nanos % self.every))
    }

    /// How far it has been open, from 0 to 1; nothing while it is closed.
    pub(crate) fn progress(self, age_nanos: u64) -> Option<f64> {
        let place = age_nanos % self.every;
        let length = self.to - self.from;
        self.is_open(age_nanos).then(|| (place - self.from) as f64 / length as f64)
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
    }

    #[test]
    fn a_wave_begins_and_ends_at_zero() {
        assert!(wave(0, 100, 0.0) < 1e-9 && (wave(50, 100, 0.0) - 1.0).abs() < 1e-9);
        assert!((wave(30, 100, 0.0) - wave(130, 100, 0.0)).abs() < 1e-9);
    }
}
