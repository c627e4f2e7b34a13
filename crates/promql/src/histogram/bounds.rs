//! The bounds of exponential buckets.
//!
//! The bucket of index `i` ends at `2^(i · 2^-schema)`, its upper bound. For the
//! schemas in use the bounds are not computed by a power function, whose last
//! bit differs between machines, but looked up: bounds are shown to people and
//! compared by programs, and must be the same to the last bit as those of
//! Prometheus and its client libraries.

use std::f64::consts::SQRT_2;

use super::{FINEST_SCHEMA, Histogram};

/// How many buckets there are for each power of two in the finest schema.
const STEPS: usize = 256;

/// What one bound is multiplied by to reach the next, for schemas 1 to 8. The
/// first is a bit below the square root of two: so the client libraries have it.
const STEP_FACTORS: [f64; 8] = [
    SQRT_2.next_down(),
    1.189207115002721,
    1.0905077326652577,
    1.0442737824274138,
    1.0218971486541166,
    1.0108892860517005,
    1.0054299011128027,
    1.0027112750502025,
];

/// The bounds from a half to below one in the finest schema. Those of a coarser
/// one are among them.
const FRACTIONS: [f64; STEPS] = fractions();

/// Starts with one half and puts a bound between each two, schema by schema.
const fn fractions() -> [f64; STEPS] {
    let mut table = [0.5; STEPS];
    let mut level = 0;
    while level < STEP_FACTORS.len() {
        let distance = STEPS >> (level + 1);
        let mut at = distance;
        while at < STEPS {
            table[at] = table[at - distance] * STEP_FACTORS[level];
            at += 2 * distance;
        }
        level += 1;
    }
    table
}

/// The upper bound of the bucket `index`.
///
/// The bound that would be 2^1024 is the largest float instead, so that the
/// bucket after it, which ends at infinity, holds infinite observations only.
pub(super) fn exponential(index: i32, schema: i32) -> f64 {
    if schema < 0 {
        // More than 30 would leave 64 bits, and all but the bucket 0 is out of range long before.
        let power = i64::from(index) << schema.unsigned_abs().min(30);
        return if power == 1024 { f64::MAX } else { scaled(1.0, power) };
    }
    if schema > FINEST_SCHEMA {
        let power = f64::from(index) * (-f64::from(schema)).exp2();
        return if power == 1024.0 { f64::MAX } else { power.exp2() };
    }
    let power = i64::from(index >> schema) + 1;
    let step = (index & ((1 << schema) - 1)) << (FINEST_SCHEMA - schema);
    let fraction = usize::try_from(step).ok().and_then(|at| FRACTIONS.get(at)).copied();
    let fraction = fraction.unwrap_or(0.5);
    if fraction == 0.5 && power == 1025 {
        return f64::MAX;
    }
    scaled(2.0 * fraction, power - 1)
}

/// `value · 2^power` for a value from 1 to below 2, rounded once.
fn scaled(value: f64, power: i64) -> f64 {
    /// Two to a power within the range of normal floats.
    fn normal_power(power: i64) -> f64 {
        f64::from_bits(((power + 1023) as u64) << 52)
    }
    if power > 1023 {
        f64::INFINITY
    } else if power >= -1022 {
        value * normal_power(power)
    } else if power >= -1100 {
        // In two steps, of which only the second can lose bits.
        value * normal_power(-1000) * normal_power(power + 1000)
    } else {
        0.0
    }
}

impl Histogram {
    /// The upper bound of the bucket `index` on the positive side.
    pub(super) fn bound(&self, index: i32) -> f64 {
        if !self.uses_custom_buckets() {
            return exponential(index, self.schema);
        }
        match usize::try_from(index) {
            Ok(at) => self.custom_bounds.get(at).copied().unwrap_or(f64::INFINITY),
            Err(_) => f64::NEG_INFINITY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_bounds_of_every_schema() {
        for schema in 0..=FINEST_SCHEMA {
            for power in [-1074, -1022, -3, 0, 1, 10, 1023] {
                let expected = f64::from(power).exp2();
                assert_eq!(exponential(power << schema, schema), expected, "{schema} {power}");
            }
        }
        assert_eq!(exponential(3, -1), 64.0);
        assert_eq!(exponential(-2, -4), 2_f64.powi(-32));
    }

    #[test]
    fn bounds_in_between_are_those_of_the_client_libraries() {
        assert_eq!(exponential(1, 1).to_string(), "1.414213562373095");
        assert_eq!(exponential(1, 2), 1.189207115002721);
        assert_eq!(exponential(3, 2) / 2.0, 0.8408964152537144);
        assert_eq!(exponential(-1, 8), 0.9972960560854698);
        assert_eq!(exponential(7, 3) / 2.0, 0.9170040432046711);
    }

    #[test]
    fn bounds_of_all_schemas_agree_and_grow() {
        for schema in 0..FINEST_SCHEMA {
            for index in -600..600 {
                let bound = exponential(index, schema);
                assert_eq!(bound, exponential(index * 2, schema + 1));
                assert!(bound < exponential(index + 1, schema));
                let exact = (f64::from(index) / f64::from(1 << schema)).exp2();
                assert!((bound / exact - 1.0).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn the_last_finite_bucket_ends_at_the_largest_float() {
        for schema in -4..=FINEST_SCHEMA {
            let last = if schema < 0 { 1024 >> -schema } else { 1024 << schema };
            assert_eq!(exponential(last, schema), f64::MAX);
            assert!(exponential(last - 1, schema) < f64::MAX);
            assert_eq!(exponential(last + 1, schema), f64::INFINITY);
        }
    }

    #[test]
    fn indices_out_of_all_range_have_bounds_too() {
        for schema in [i32::MIN, -53, -9, -4, 0, 8, 9, 52, i32::MAX] {
            assert!(exponential(i32::MIN, schema) >= 0.0);
            assert!(exponential(i32::MAX, schema) > 0.0);
        }
    }

    #[test]
    fn custom_bounds_end_at_infinity() {
        let histogram = super::super::tests::custom(&[1.0, 5.0], &[]);
        let bounds: Vec<_> = (-2..4).map(|index| histogram.bound(index)).collect();
        let inf = f64::INFINITY;
        assert_eq!(bounds, [-inf, -inf, 1.0, 5.0, inf, inf]);
    }
}
