//! Sums without rounding.
//!
//! Adding doubles rounds, and so the sum depends on the order of what is added. Here spans come in
//! any order and from any number of parts, and the answer must be the same to the bit. So sums are
//! integers until the end:
//!
//! - Whole numbers go to an `i128`. Most values are: counts, sizes, nanoseconds.
//! - Every other double is an integer of 53 bits times a power of two between 2⁻¹⁰⁷⁴ and 2⁹⁷¹.
//!   These are divided into 64 slots of 32 powers each; a slot is an `i128` in units of its least
//!   power, and takes 2⁴³ values before it could overflow. Values of one attribute are of similar
//!   size, so one or two slots exist, seldom more.
//!
//! The end rounds once: the result is the double that is nearest to the true sum.

/// Powers of two that share a slot.
const SLOT_POWERS: u32 = 32;

/// The least power of two that a double can have.
const LEAST_POWER: i32 = -1074;

/// Digits of 32 bits: 64 slots, and what they may carry.
const DIGITS: usize = 70;

/// A sum of doubles, and how many they were.
#[derive(Debug, Clone, Default)]
pub(super) struct Sum {
    whole: i128,
    /// What is not whole; most sums have nothing here.
    rest: Option<Box<Rest>>,
    count: u64,
}

#[derive(Debug, Clone, Default)]
struct Rest {
    slots: Vec<(u8, i128)>,
    has_infinity: bool,
    has_negative_infinity: bool,
}

impl Sum {
    /// Adds a value that is not NaN; gives the bytes that were allocated.
    #[inline]
    pub(super) fn add(&mut self, value: f64) -> usize {
        self.count += 1;
        let whole = value as i64;
        // What is out of range is clamped, and the greatest `i64` becomes 2⁶³ as a double.
        if whole as f64 == value && whole != i64::MAX {
            self.whole += i128::from(whole);
            return 0;
        }
        self.add_rest(value)
    }

    #[cold]
    #[inline(never)]
    fn add_rest(&mut self, value: f64) -> usize {
        let before = self.bytes();
        let rest = self.rest.get_or_insert_default();
        if value.is_infinite() {
            rest.has_infinity |= value > 0.0;
            rest.has_negative_infinity |= value < 0.0;
        } else {
            let bits = value.to_bits();
            let fraction = bits & ((1 << 52) - 1);
            let exponent = (bits >> 52) as u32 & 0x7ff;
            // Doubles below the least normal one lack the hidden bit.
            let (mantissa, power) = match exponent {
                0 => (fraction, 0),
                exponent => (fraction | 1 << 52, exponent - 1),
            };
            let magnitude = i128::from(mantissa) << (power % SLOT_POWERS);
            let part = if value < 0.0 { -magnitude } else { magnitude };
            rest.add((power / SLOT_POWERS) as u8, part);
        }
        self.bytes() - before
    }

    /// Adds all of another; gives the bytes that were allocated.
    pub(super) fn merge(&mut self, other: Self) -> usize {
        let before = self.bytes();
        self.whole += other.whole;
        self.count += other.count;
        if let Some(other) = other.rest {
            let rest = self.rest.get_or_insert_default();
            rest.has_infinity |= other.has_infinity;
            rest.has_negative_infinity |= other.has_negative_infinity;
            for (slot, part) in other.slots {
                rest.add(slot, part);
            }
        }
        self.bytes() - before
    }

    /// How many values there were.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The sum, rounded once. NaN if infinities of both signs were added.
    pub(super) fn total(&self) -> f64 {
        match &self.rest {
            None => self.whole as f64,
            Some(rest) => match (rest.has_infinity, rest.has_negative_infinity) {
                (true, true) => f64::NAN,
                (true, false) => f64::INFINITY,
                (false, true) => f64::NEG_INFINITY,
                (false, false) => rest.total(self.whole),
            },
        }
    }

    fn bytes(&self) -> usize {
        self.rest
            .as_ref()
            .map_or(0, |rest| size_of::<Rest>() + rest.slots.capacity() * size_of::<(u8, i128)>())
    }
}

impl Rest {
    fn add(&mut self, slot: u8, part: i128) {
        match self.slots.iter_mut().find(|(of, _)| *of == slot) {
            Some((_, sum)) => *sum += part,
            None => self.slots.push((slot, part)),
        }
    }

    fn total(&self, whole: i128) -> f64 {
        let mut digits = [0_i128; DIGITS];
        for (slot, sum) in &self.slots {
            digits[usize::from(*slot)] += sum;
        }
        // One is 2¹⁰⁷⁴ in the units of the least slot.
        let (slot, shift) = (LEAST_POWER.unsigned_abs() / SLOT_POWERS, 1074 % SLOT_POWERS);
        digits[slot as usize] += (whole & i128::from(u64::MAX)) << shift;
        digits[slot as usize + 2] += (whole >> 64) << shift;

        let negated = digits.map(|digit| -digit);
        if is_negative_after_carry(&mut digits) {
            digits = negated;
            is_negative_after_carry(&mut digits);
            -nearest(&digits)
        } else {
            nearest(&digits)
        }
    }
}

/// Carries, so that every digit has 32 bits; whether the number is below zero, when its digits
/// are those of its complement.
fn is_negative_after_carry(digits: &mut [i128; DIGITS]) -> bool {
    let mut carry = 0;
    for digit in digits {
        let sum = *digit + carry;
        *digit = sum & i128::from(u32::MAX);
        carry = sum >> 32;
    }
    carry < 0
}

/// The double that is nearest to a number of digits, the least first.
fn nearest(digits: &[i128; DIGITS]) -> f64 {
    let Some(top) = digits.iter().rposition(|digit| *digit != 0) else { return 0.0 };
    // Four digits have at least 97 bits. All that comes after them can only break a tie, and one
    // bit is enough for that.
    let lowest = top.saturating_sub(3);
    let high =
        digits[lowest..lowest + 4].iter().rev().fold(0, |high, digit| high << 32 | *digit as u128);
    let has_more = digits[..lowest].iter().any(|digit| *digit != 0);
    let rounded = (high | u128::from(has_more)) as f64;
    // In two steps, because the least power of two is too small for one. Both are exact: a result
    // that is too small for all bits of a double had no more of them.
    let power = lowest as i32 * SLOT_POWERS as i32 + LEAST_POWER;
    rounded * power_of_two(power / 2) * power_of_two(power - power / 2)
}

/// A power of two within the range of normal doubles.
fn power_of_two(power: i32) -> f64 {
    f64::from_bits(((power + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::testing::Random;

    fn total(values: &[f64]) -> f64 {
        let mut sum = Sum::default();
        for value in values {
            sum.add(*value);
        }
        assert_eq!(sum.count(), values.len() as u64);
        sum.total()
    }

    #[test]
    fn sums_are_exact() {
        assert_eq!(total(&[]), 0.0);
        assert_eq!(total(&[1e300, 1.0, -1e300]), 1.0);
        assert_eq!(total(&[1e16, 1.0, 1.0, 0.5, 0.5]), 1e16 + 3.0 + 1.0);
        assert_eq!(total(&[0.1; 10]), 1.0);
        assert_eq!(total(&[-0.1; 10]), -1.0);
        assert_eq!(total(&[0.5, -0.5]), 0.0);
        assert_eq!(total(&[-3.0, 0.25]), -2.75);
        assert_eq!(total(&[5e-324, 5e-324, 1.5]), 1.5);
        assert_eq!(total(&[5e-324, 5e-324]), 1e-323);
        assert_eq!(total(&[f64::MIN_POSITIVE, -5e-324]), f64::MIN_POSITIVE - 5e-324);
        assert_eq!(total(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(total(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
        let large = [i64::MAX as f64, i64::MIN as f64, 2_f64.powi(63)];
        assert_eq!(total(&large), 2_f64.powi(63));
        assert_eq!(total(&large[..2]), 0.0);
    }

    #[test]
    fn the_smallest_part_breaks_a_tie() {
        let half_a_bit = 2_f64.powi(-53);
        assert_eq!(total(&[1.0, half_a_bit]), 1.0);
        assert_eq!(total(&[1.0, half_a_bit, 2_f64.powi(-300)]), 1.0 + f64::EPSILON);
        assert_eq!(total(&[-1.0, -half_a_bit, -2_f64.powi(-300)]), -1.0 - f64::EPSILON);
    }

    #[test]
    fn infinities_stay() {
        assert_eq!(total(&[f64::INFINITY, 1.0]), f64::INFINITY);
        assert_eq!(total(&[f64::NEG_INFINITY, 1.0]), f64::NEG_INFINITY);
        assert!(total(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
    }

    #[test]
    fn single_values_come_back_as_they_were() {
        let mut random = Random::new(2);
        for _ in 0..20_000 {
            let value = f64::from_bits(random.next());
            if value.is_finite() {
                assert_eq!(total(&[value]).to_bits(), value.to_bits(), "{value:e}");
                assert_eq!(total(&[value, 1.0, -1.0]), value);
            }
        }
    }

    #[test]
    fn sums_of_two_are_rounded_as_the_processor_does() {
        let mut random = Random::new(3);
        for _ in 0..20_000 {
            let a = f64::from_bits(random.next());
            // Of a similar size, so that the sum has to be rounded.
            let exponent = (a.to_bits() >> 52 & 0x7ff).saturating_sub(random.below(60));
            let b = f64::from_bits(exponent << 52 | random.next() & !(0x7ff << 52));
            if a.is_finite() && b.is_finite() {
                assert_eq!(total(&[a, b]), a + b, "{a:e} {b:e}");
            }
        }
    }

    #[test]
    fn any_order_and_any_division_gives_the_same_bits() {
        let mut random = Random::new(4);
        for _ in 0..200 {
            let mut values: Vec<_> = (0..100)
                .map(|_| (random.unit() - 0.5) * 10_f64.powi(random.below(40) as i32 - 20))
                .collect();
            let expected = total(&values).to_bits();
            random.shuffle(&mut values);
            let mut parts = vec![Sum::default(); 1 + random.below(7) as usize];
            for value in values {
                let part = random.below(parts.len() as u64) as usize;
                parts[part].add(value);
            }
            let mut merged = Sum::default();
            for part in parts {
                merged.merge(part);
            }
            assert_eq!(merged.total().to_bits(), expected);
        }
    }

    #[test]
    fn memory_is_told_as_it_grows() {
        let mut sum = Sum::default();
        assert_eq!(sum.add(5.0), 0);
        let told = sum.add(0.5);
        assert!(told > 0);
        assert_eq!(sum.add(0.25), 0);
        let mut other = Sum::default();
        assert_eq!(other.merge(sum), told);
    }
}
