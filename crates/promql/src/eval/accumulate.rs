//! Sums and means that lose little and do not overflow.

use crate::histogram::{Histogram, HistogramError};
use crate::kahan::Sum;

/// The mean of floats. As long as their sum is finite it is divided at the end;
/// then the mean itself is carried on, which cannot overflow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mean {
    /// The sum; or the mean, once the sum would overflow.
    total: Sum,
    is_mean: bool,
    count: f64,
}

impl Mean {
    pub(crate) fn new(value: f64) -> Self {
        Self { total: Sum::new(value), is_mean: false, count: 1.0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        self.count += 1.0;
        if !self.is_mean {
            let mut sum = self.total;
            sum.add(value);
            if !sum.sum.is_infinite() {
                self.total = sum;
                return;
            }
            self.is_mean = true;
            self.total.sum /= self.count - 1.0;
            self.total.compensation /= self.count - 1.0;
        }
        let factor = (self.count - 1.0) / self.count;
        self.total.sum *= factor;
        self.total.compensation *= factor;
        self.total.add(value / self.count);
    }

    pub(crate) fn value(&self) -> f64 {
        match self.is_mean {
            true => self.total.total(),
            false => self.total.sum / self.count + self.total.compensation / self.count,
        }
    }
}

/// The sum or mean of histograms.
#[derive(Debug, Clone)]
pub(crate) struct HistogramSum {
    /// The sum; or the mean, once the sum would overflow.
    total: Histogram,
    compensation: Option<Histogram>,
    /// Whether the mean is asked for.
    is_mean_wanted: bool,
    is_mean: bool,
    count: f64,
    /// Bounds of custom buckets differed and were brought together.
    pub(crate) bounds_reconciled: bool,
}

impl HistogramSum {
    pub(crate) fn new(first: &Histogram, is_mean_wanted: bool) -> Self {
        Self {
            total: first.clone(),
            compensation: None,
            is_mean_wanted,
            is_mean: false,
            count: 1.0,
            bounds_reconciled: false,
        }
    }

    /// Adds a histogram; an error if its buckets are of another kind.
    pub(crate) fn add(&mut self, histogram: &Histogram) -> Result<(), HistogramError> {
        self.count += 1.0;
        if !self.is_mean_wanted {
            return self.carry(histogram);
        }
        if !self.is_mean {
            let before = (self.total.clone(), self.compensation.clone());
            self.carry(histogram)?;
            if !self.total.has_overflow() {
                return Ok(());
            }
            (self.total, self.compensation) = before;
            self.is_mean = true;
            self.divide(self.count - 1.0);
        }
        let factor = (self.count - 1.0) / self.count;
        self.total.multiply(factor);
        if let Some(compensation) = &mut self.compensation {
            compensation.multiply(factor);
        }
        let mut share = histogram.clone();
        share.divide(self.count);
        self.carry(&share)
    }

    fn carry(&mut self, histogram: &Histogram) -> Result<(), HistogramError> {
        let compensation = self.compensation.take();
        let (compensation, combined) = self.total.kahan_add(histogram, compensation)?;
        self.compensation = Some(compensation);
        self.bounds_reconciled |= combined.bounds_reconciled;
        Ok(())
    }

    fn divide(&mut self, divisor: f64) {
        self.total.divide(divisor);
        if let Some(compensation) = &mut self.compensation {
            compensation.divide(divisor);
        }
    }

    pub(crate) fn finish(mut self) -> Histogram {
        if self.is_mean_wanted && !self.is_mean {
            self.divide(self.count);
        }
        if let Some(compensation) = &self.compensation {
            // Both have the same buckets, so they go together.
            let _ = self.total.add(compensation);
        }
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_does_not_overflow() {
        let mut mean = Mean::new(f64::MAX);
        mean.add(f64::MAX);
        mean.add(f64::MAX);
        assert!((mean.value() / f64::MAX - 1.0).abs() < 1e-15);
    }

    #[test]
    fn small_terms_beside_large_ones_count() {
        let mut mean = Mean::new(1e100);
        for value in [1.0, -1e100, 3.0] {
            mean.add(value);
        }
        assert_eq!(mean.value(), 1.0);
    }
}
