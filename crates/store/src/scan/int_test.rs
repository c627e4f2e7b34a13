//! Tests of integers, brought to a form that runs fast over columns and decides
//! from the bounds of a page.

use super::predicate::Op;

/// What can be said of a granule without reading its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No row passes.
    None,
    /// Some may.
    Some,
    /// Every row passes.
    All,
}

impl Verdict {
    pub(super) fn not(self) -> Self {
        match self {
            Verdict::None => Verdict::All,
            Verdict::Some => Verdict::Some,
            Verdict::All => Verdict::None,
        }
    }

    /// Of rows that pass both.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Verdict::None, _) | (_, Verdict::None) => Verdict::None,
            (Verdict::All, Verdict::All) => Verdict::All,
            _ => Verdict::Some,
        }
    }

    /// Of rows that pass either.
    pub(super) fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }
}

/// A test of integers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum IntTest {
    /// None passes.
    Never,
    /// Those from the first to the second, both included.
    Range(i64, i64),
    /// All but this one.
    Except(i64),
    /// These, ascending.
    Set(Vec<i64>),
}

/// 2^63, the first double above all integers.
const ABOVE: f64 = 9_223_372_036_854_775_808.0;

impl IntTest {
    pub(super) const ALWAYS: Self = Self::Range(i64::MIN, i64::MAX);

    /// Integers that compare so with an integer.
    pub(super) fn compare_int(op: Op, value: i64) -> Self {
        let below = |end: Option<i64>| end.map_or(Self::Never, |end| Self::Range(i64::MIN, end));
        let above =
            |start: Option<i64>| start.map_or(Self::Never, |start| Self::Range(start, i64::MAX));
        match op {
            Op::Eq => Self::Range(value, value),
            Op::Ne => Self::Except(value),
            Op::Lt => below(value.checked_sub(1)),
            Op::Le => below(Some(value)),
            Op::Gt => above(value.checked_add(1)),
            Op::Ge => above(Some(value)),
        }
    }

    /// Integers that compare so with a double, exactly.
    pub(super) fn compare_double(op: Op, value: f64) -> Self {
        if value.is_nan() {
            return if op == Op::Ne { Self::ALWAYS } else { Self::Never };
        }
        match op {
            Op::Eq => exact(value).map_or(Self::Never, |value| Self::Range(value, value)),
            Op::Ne => exact(value).map_or(Self::ALWAYS, Self::Except),
            _ if value >= ABOVE => match op {
                Op::Lt | Op::Le => Self::ALWAYS,
                _ => Self::Never,
            },
            _ if value < -ABOVE => match op {
                Op::Gt | Op::Ge => Self::ALWAYS,
                _ => Self::Never,
            },
            // In range, both roundings are exact integers.
            Op::Lt | Op::Ge => Self::compare_int(op, value.ceil() as i64),
            Op::Le | Op::Gt => Self::compare_int(op, value.floor() as i64),
        }
    }

    /// Whether `value` passes.
    pub(super) fn holds(&self, value: i64) -> bool {
        match self {
            Self::Never => false,
            Self::Range(low, high) => *low <= value && value <= *high,
            Self::Except(other) => value != *other,
            Self::Set(values) => values.binary_search(&value).is_ok(),
        }
    }

    /// What values between `low` and `high` do.
    pub(super) fn verdict(&self, low: i64, high: i64) -> Verdict {
        let (none, all) = match self {
            Self::Never => (true, false),
            Self::Range(from, to) => (high < *from || *to < low, *from <= low && high <= *to),
            Self::Except(other) => (low == *other && high == *other, *other < low || high < *other),
            Self::Set(values) => {
                let next = values.partition_point(|value| *value < low);
                let found = values.get(next).is_some_and(|value| *value <= high);
                (!found, found && low == high)
            }
        };
        match (none, all) {
            (true, _) => Verdict::None,
            (_, true) => Verdict::All,
            _ => Verdict::Some,
        }
    }
}

/// The integer that equals `value`, if there is one.
pub(super) fn exact(value: f64) -> Option<i64> {
    ((-ABOVE..ABOVE).contains(&value) && value.fract() == 0.0).then_some(value as i64)
}

/// How a double compares with an integer; `None` for NaN.
pub(super) fn compare(double: f64, int: i64) -> Option<std::cmp::Ordering> {
    use std::cmp::Ordering;
    if double.is_nan() {
        return None;
    }
    if double >= ABOVE {
        return Some(Ordering::Greater);
    }
    if double < -ABOVE {
        return Some(Ordering::Less);
    }
    let whole = (double.trunc() as i64).cmp(&int);
    Some(whole.then_with(|| double.fract().partial_cmp(&0.0).unwrap_or(Ordering::Equal)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cmp::Ordering;

    const OPS: [Op; 6] = [Op::Eq, Op::Ne, Op::Lt, Op::Le, Op::Gt, Op::Ge];

    #[test]
    fn integers_and_doubles_compare_exactly() {
        // 2^53 + 1 is no double; 2^53 is its neighbour.
        let (big, double) = ((1 << 53) + 1, (1u64 << 53) as f64);
        assert_eq!(compare(double, big), Some(Ordering::Less));
        assert_eq!(compare(1.0, 1), Some(Ordering::Equal));
        assert_eq!(compare(-1.5, -1), Some(Ordering::Less));
        assert_eq!(compare(-0.5, 0), Some(Ordering::Less));
        assert_eq!(compare(f64::INFINITY, i64::MAX), Some(Ordering::Greater));
        assert_eq!(compare(ABOVE, i64::MAX), Some(Ordering::Greater));
        assert_eq!(compare(-ABOVE, i64::MIN), Some(Ordering::Equal));
        assert_eq!(compare(f64::NAN, 0), None);
    }

    #[test]
    fn a_test_of_integers_against_a_double_agrees_with_the_comparison() {
        let ints = [i64::MIN, i64::MIN + 1, -2, -1, 0, 1, 2, 1 << 53, (1 << 53) + 1, i64::MAX];
        let doubles =
            [-ABOVE * 2.0, -ABOVE, -1.5, -1.0, -0.0, 0.5, 1.0, (1u64 << 53) as f64, ABOVE];
        for op in OPS {
            for (double, int) in doubles.iter().flat_map(|d| ints.iter().map(move |i| (*d, *i))) {
                let expected = compare(double, int).is_some_and(|o| op.holds(o.reverse()));
                let test = IntTest::compare_double(op, double);
                assert_eq!(test.holds(int), expected, "{int} {op:?} {double}");
            }
            assert_eq!(IntTest::compare_double(op, f64::NAN).holds(0), op == Op::Ne);
        }
    }

    #[test]
    fn a_verdict_agrees_with_the_values_between_the_bounds() {
        let mut tests = vec![IntTest::Never, IntTest::ALWAYS, IntTest::Set(vec![2, 5])];
        tests.extend(OPS.map(|op| IntTest::compare_int(op, 3)));
        for test in tests {
            for (low, high) in (0..8).flat_map(|low| (low..8).map(move |high| (low, high))) {
                let passing = (low..=high).filter(|value| test.holds(*value)).count() as i64;
                let expected = match passing {
                    0 => Verdict::None,
                    n if n == high - low + 1 => Verdict::All,
                    _ => Verdict::Some,
                };
                let verdict = test.verdict(low, high);
                assert!(
                    verdict == expected || verdict == Verdict::Some,
                    "{test:?} {low}..={high}: {verdict:?}"
                );
            }
        }
    }
}
