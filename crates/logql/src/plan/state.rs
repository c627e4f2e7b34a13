//! What a range aggregation remembers of lines.
//!
//! States take values in any order and go together in any order, so that threads can work apart.
//! All but two kinds have one size however many lines they saw; quantiles and counters need every
//! value.

use crate::ast::RangeOp;

/// A value with what puts it in order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Timed {
    /// As windows see it.
    pub(crate) time: i64,
    pub(crate) sequence: u64,
    pub(crate) value: f64,
}

impl Timed {
    fn is_before(&self, other: &Self) -> bool {
        (self.time, self.sequence) < (other.time, other.sequence)
    }
}

/// Which state a function needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateKind {
    Count,
    Sum,
    Min,
    Max,
    Mean,
    Moments,
    First,
    Last,
    Samples,
}

impl StateKind {
    pub(crate) fn of(op: RangeOp, is_unwrapped: bool) -> Self {
        match op {
            RangeOp::Rate if is_unwrapped => Self::Sum,
            RangeOp::Rate
            | RangeOp::CountOverTime
            | RangeOp::BytesRate
            | RangeOp::BytesOverTime
            | RangeOp::AbsentOverTime => Self::Count,
            RangeOp::SumOverTime => Self::Sum,
            RangeOp::AvgOverTime => Self::Mean,
            RangeOp::MinOverTime => Self::Min,
            RangeOp::MaxOverTime => Self::Max,
            RangeOp::StdvarOverTime | RangeOp::StddevOverTime => Self::Moments,
            RangeOp::QuantileOverTime | RangeOp::RateCounter => Self::Samples,
            RangeOp::FirstOverTime => Self::First,
            RangeOp::LastOverTime => Self::Last,
        }
    }
}

/// What is remembered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    /// How many, or how many bytes.
    Count(u64),
    /// A sum and what rounding took from it.
    Sum(Sum),
    Min(f64),
    Max(f64),
    Mean(Sum, u64),
    /// Count, mean, and the sum of squared distances to it.
    Moments(f64, f64, f64),
    First(Timed),
    Last(Timed),
    Samples(Vec<Timed>),
}

impl State {
    pub(crate) fn new(kind: StateKind, first: Timed) -> Self {
        match kind {
            StateKind::Count => Self::Count(first.value as u64),
            StateKind::Sum => Self::Sum(Sum::new(first.value)),
            StateKind::Min => Self::Min(first.value),
            StateKind::Max => Self::Max(first.value),
            StateKind::Mean => Self::Mean(Sum::new(first.value), 1),
            StateKind::Moments => Self::Moments(1.0, first.value, 0.0),
            StateKind::First => Self::First(first),
            StateKind::Last => Self::Last(first),
            StateKind::Samples => Self::Samples(vec![first]),
        }
    }

    /// Takes one more value.
    #[inline]
    pub(crate) fn add(&mut self, sample: Timed) {
        match self {
            Self::Count(count) => *count = count.saturating_add(sample.value as u64),
            Self::Sum(sum) => sum.add(sample.value),
            Self::Min(min) => *min = lesser(*min, sample.value),
            Self::Max(max) => *max = greater(*max, sample.value),
            Self::Mean(sum, count) => {
                sum.add(sample.value);
                *count += 1;
            }
            Self::Moments(..) => self.merge(&Self::Moments(1.0, sample.value, 0.0)),
            Self::First(first) if sample.is_before(first) => *first = sample,
            Self::Last(last) if last.is_before(&sample) => *last = sample,
            Self::First(_) | Self::Last(_) => {}
            Self::Samples(samples) => samples.push(sample),
        }
    }

    /// Takes what another of the same kind saw.
    pub(crate) fn merge(&mut self, other: &Self) {
        match (self, other) {
            (Self::Count(count), Self::Count(other)) => *count = count.saturating_add(*other),
            (Self::Sum(sum), Self::Sum(other)) => sum.merge(*other),
            (Self::Min(min), Self::Min(other)) => *min = lesser(*min, *other),
            (Self::Max(max), Self::Max(other)) => *max = greater(*max, *other),
            (Self::Mean(sum, count), Self::Mean(other, others)) => {
                sum.merge(*other);
                *count += others;
            }
            (Self::Moments(count, mean, squares), Self::Moments(others, other_mean, other)) => {
                let total = *count + others;
                let distance = other_mean - *mean;
                *squares += other + distance * distance * *count * others / total;
                *mean += distance * others / total;
                *count = total;
            }
            (Self::First(first), Self::First(other)) if other.is_before(first) => *first = *other,
            (Self::Last(last), Self::Last(other)) if last.is_before(other) => *last = *other,
            (Self::Samples(samples), Self::Samples(others)) => samples.extend_from_slice(others),
            // First and last that stay. Other kinds never meet: a leaf has one.
            _ => {}
        }
    }

    /// How many numbers are held.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Samples(samples) => samples.len(),
            _ => 1,
        }
    }
}

/// The smaller of two; a number rather than none.
pub(crate) fn lesser(left: f64, right: f64) -> f64 {
    if right < left || left.is_nan() { right } else { left }
}

/// The larger of two; a number rather than none.
pub(crate) fn greater(left: f64, right: f64) -> f64 {
    if right > left || left.is_nan() { right } else { left }
}

/// A sum that remembers what rounding took from it, so that the order of terms hardly matters.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    pub(crate) fn new(value: f64) -> Self {
        Self { sum: value, lost: 0.0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        let next = self.sum + value;
        if next.is_infinite() {
            // The difference of two infinities would turn the sum into NaN.
            self.lost = 0.0;
        } else if self.sum.abs() >= value.abs() {
            self.lost += (self.sum - next) + value;
        } else {
            self.lost += (value - next) + self.sum;
        }
        self.sum = next;
    }

    fn merge(&mut self, other: Self) {
        self.add(other.sum);
        self.lost += other.lost;
    }

    pub(crate) fn total(self) -> f64 {
        self.sum + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(time: i64, value: f64) -> Timed {
        Timed { time, sequence: 0, value }
    }

    fn of(kind: StateKind, values: &[f64]) -> State {
        let mut state = State::new(kind, sample(0, values[0]));
        for (time, value) in (1..).zip(&values[1..]) {
            state.add(sample(time, *value));
        }
        state
    }

    #[test]
    fn what_small_terms_add_is_not_lost() {
        let State::Sum(sum) = of(StateKind::Sum, &[1.0, 1e100, 1.0, -1e100]) else { panic!() };
        assert_eq!(sum.total(), 2.0);
        let State::Sum(sum) = of(StateKind::Sum, &[f64::INFINITY, 1.0]) else { panic!() };
        assert_eq!(sum.total(), f64::INFINITY);
    }

    #[test]
    fn moments_go_together_in_any_order() {
        let values = [1.0, 2.0, 4.0, 8.0, 16.0, -3.0];
        let State::Moments(count, mean, squares) = of(StateKind::Moments, &values) else {
            panic!()
        };
        let mut merged = of(StateKind::Moments, &values[4..]);
        merged.merge(&of(StateKind::Moments, &values[..4]));
        let State::Moments(count_2, mean_2, squares_2) = merged else { panic!() };
        assert_eq!(count, count_2);
        assert!((mean - mean_2).abs() < 1e-12 && (squares - squares_2).abs() < 1e-9);
    }

    #[test]
    fn first_and_last_are_by_time_and_then_by_arrival() {
        let mut state = State::new(StateKind::Last, Timed { time: 5, sequence: 7, value: 1.0 });
        state.add(Timed { time: 5, sequence: 6, value: 2.0 });
        assert_eq!(state, State::Last(Timed { time: 5, sequence: 7, value: 1.0 }));
        state.merge(&State::Last(Timed { time: 6, sequence: 0, value: 3.0 }));
        assert_eq!(state, State::Last(Timed { time: 6, sequence: 0, value: 3.0 }));
    }

    #[test]
    fn nan_gives_way_to_numbers() {
        assert_eq!(of(StateKind::Min, &[f64::NAN, 3.0, f64::NAN, 2.0]), State::Min(2.0));
        assert_eq!(of(StateKind::Max, &[f64::NAN, 3.0, f64::NAN, 2.0]), State::Max(3.0));
    }
}
