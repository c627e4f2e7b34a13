//! Decimals: what people expect of 0.1 + 0.2.
//!
//! A number is taken as the shortest decimal that means it. Numbers so far apart that no whole
//! number holds both are calculated as floats.

/// `digits * 10^exponent`
#[derive(Debug, Clone, Copy)]
pub(super) struct Decimal {
    digits: i128,
    exponent: i32,
}

/// The places behind the point of a quotient.
const QUOTIENT_PLACES: i32 = 16;

impl Decimal {
    fn of(value: f64) -> Option<Self> {
        let text = format!("{value:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let places = i32::try_from(fraction.len()).ok()?;
        let digits = format!("{whole}{fraction}").parse().ok()?;
        Some(Self { digits, exponent: exponent.parse::<i32>().ok()? - places })
    }

    fn to_float(self) -> Option<f64> {
        format!("{}e{}", self.digits, self.exponent).parse().ok()
    }

    /// The digits of both with the smaller exponent.
    fn aligned(self, other: Self) -> Option<(i128, i128, i32)> {
        let exponent = self.exponent.min(other.exponent);
        Some((self.scaled(exponent)?, other.scaled(exponent)?, exponent))
    }

    fn scaled(self, exponent: i32) -> Option<i128> {
        let power = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        self.digits.checked_mul(10_i128.checked_pow(power)?)
    }

    pub(super) fn add(self, other: Self) -> Option<Self> {
        let (a, b, exponent) = self.aligned(other)?;
        Some(Self { digits: a.checked_add(b)?, exponent })
    }

    pub(super) fn sub(self, other: Self) -> Option<Self> {
        let (a, b, exponent) = self.aligned(other)?;
        Some(Self { digits: a.checked_sub(b)?, exponent })
    }

    pub(super) fn mul(self, other: Self) -> Option<Self> {
        let digits = self.digits.checked_mul(other.digits)?;
        Some(Self { digits, exponent: self.exponent.checked_add(other.exponent)? })
    }

    /// The quotient, rounded to so many places, halves away from zero.
    pub(super) fn div(self, other: Self) -> Option<Self> {
        let shift = QUOTIENT_PLACES + self.exponent - other.exponent;
        let power = 10_i128.checked_pow(shift.unsigned_abs())?;
        let (numerator, denominator) = match shift {
            0.. => (self.digits.checked_mul(power)?, other.digits),
            _ => (self.digits, other.digits.checked_mul(power)?),
        };
        let (quotient, rest) =
            (numerator.checked_div(denominator)?, numerator.checked_rem(denominator)?);
        let rounds = rest.unsigned_abs() >= denominator.unsigned_abs() - rest.unsigned_abs();
        let away = if (numerator < 0) == (denominator < 0) { 1 } else { -1 };
        let digits = if rounds { quotient.checked_add(away)? } else { quotient };
        Some(Self { digits, exponent: -QUOTIENT_PLACES })
    }
}

/// Calculates with the first number and each of the others in turn.
pub(super) fn calculate(
    values: &[f64],
    exact: impl Fn(Decimal, Decimal) -> Option<Decimal>,
    rough: impl Fn(f64, f64) -> f64,
) -> Result<f64, String> {
    if let Some(value) = values.iter().find(|value| !value.is_finite()) {
        return Err(format!("cannot calculate with {value}"));
    }
    let Some((first, others)) = values.split_first() else { return Ok(0.0) };
    let calculate = |result: Option<Decimal>, value: &f64| exact(result?, Decimal::of(*value)?);
    let result = others.iter().fold(Decimal::of(*first), calculate).and_then(Decimal::to_float);
    Ok(result.unwrap_or_else(|| others.iter().fold(*first, |result, value| rough(result, *value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        let add = |values: &[f64]| calculate(values, Decimal::add, |a, b| a + b).unwrap();
        let div = |values: &[f64]| calculate(values, Decimal::div, |a, b| a / b).unwrap();
        assert_eq!(add(&[0.1, 0.2]), 0.3);
        assert_eq!(add(&[1.0, -0.9]), 0.1);
        assert_eq!(add(&[1e300, 1e-300]), 1e300);
        assert_eq!(add(&[]), 0.0);
        assert_eq!(div(&[7.0, 2.0]), 3.5);
        assert_eq!(div(&[1.0, 3.0]), 0.333_333_333_333_333_3);
        assert_eq!(div(&[-2.0, 3.0]), -0.666_666_666_666_666_7);
        assert_eq!(div(&[0.0, 3.0]), 0.0);
        assert_eq!(calculate(&[1.1, 1.1], Decimal::mul, |a, b| a * b), Ok(1.21));
        assert_eq!(calculate(&[0.3, 0.1], Decimal::sub, |a, b| a - b), Ok(0.2));
        assert_eq!(calculate(&[1e300, 1e300], Decimal::mul, |a, b| a * b), Ok(f64::INFINITY));
        assert!(calculate(&[f64::NAN], Decimal::add, |a, b| a + b).is_err());
    }
}
