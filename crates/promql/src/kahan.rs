//! Sums that remember what rounding took from them.
//!
//! A running sum of many floats loses the low bits of each term. [`Sum`] keeps
//! what was lost beside the sum (Neumaier's form of Kahan's method), so that a
//! million small terms after a big one still count. Sums that overflow are
//! infinite and have lost nothing: the difference of two infinities would
//! otherwise turn them into NaN.

/// A sum and what rounding took from it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sum {
    /// The sum, rounded.
    pub sum: f64,
    /// What is missing in the sum.
    pub compensation: f64,
}

impl Sum {
    /// A sum of one term.
    pub fn new(value: f64) -> Self {
        Self { sum: value, compensation: 0.0 }
    }

    /// Adds a term.
    pub fn add(&mut self, value: f64) {
        let next = self.sum + value;
        if next.is_infinite() {
            self.compensation = 0.0;
        } else if self.sum.abs() >= value.abs() {
            self.compensation += (self.sum - next) + value;
        } else {
            self.compensation += (value - next) + self.sum;
        }
        self.sum = next;
    }

    /// The sum with what was lost put back.
    pub fn total(self) -> f64 {
        self.sum + self.compensation
    }
}

/// Adds `value` to a sum that is kept in two variables, and returns both.
pub fn increase(value: f64, sum: f64, compensation: f64) -> (f64, f64) {
    let mut running = Sum { sum, compensation };
    running.add(value);
    (running.sum, running.compensation)
}

impl FromIterator<f64> for Sum {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        let mut sum = Self::default();
        values.into_iter().for_each(|value| sum.add(value));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_big_term_swallows_comes_back() {
        let sum: Sum = [1.0, 1e100, 1.0, -1e100].into_iter().collect();
        assert_eq!(sum.total(), 2.0);
        // The plain sum has lost both ones.
        assert_eq!(1.0 + 1e100 + 1.0 - 1e100, 0.0);
    }

    #[test]
    fn an_infinite_sum_stays_infinite() {
        let sum: Sum = [1.0, f64::INFINITY, 5.0, 1.0].into_iter().collect();
        assert_eq!(sum, Sum { sum: f64::INFINITY, compensation: 0.0 });
        let overflow: Sum = [f64::MAX, f64::MAX].into_iter().collect();
        assert_eq!(overflow.total(), f64::INFINITY);
        let opposite: Sum = [f64::INFINITY, f64::NEG_INFINITY].into_iter().collect();
        assert!(opposite.total().is_nan());
    }

    #[test]
    fn a_sum_in_two_variables_is_the_same_sum() {
        let (sum, compensation) = increase(1.0, 1e16, 0.0);
        assert_eq!((sum, compensation), (1e16, 1.0));
        let (sum, compensation) = increase(-1e16, sum, compensation);
        assert_eq!(sum + compensation, 1.0);
    }
}
