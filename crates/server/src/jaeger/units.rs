//! Moments as Jaeger counts them: in microseconds, in milliseconds, or in seconds and nanoseconds.

use crate::parameters::Parameters;
use crate::times::NANOS_PER_SECOND;

pub(super) const NANOS_PER_MICRO: i64 = 1_000;
const NANOS_PER_MILLI: i64 = 1_000_000;

/// A parameter in microseconds, as nanoseconds.
pub(super) fn micros(parameters: &Parameters, name: &str) -> Result<Option<i64>, String> {
    parameters.read(name, "a whole number of microseconds", |text| scaled(text, NANOS_PER_MICRO))
}

/// A parameter in milliseconds, as nanoseconds.
pub(super) fn millis(parameters: &Parameters, name: &str) -> Result<Option<i64>, String> {
    parameters.read(name, "a whole number of milliseconds", |text| scaled(text, NANOS_PER_MILLI))
}

fn scaled(text: &str, unit_nanos: i64) -> Option<i64> {
    text.parse::<i64>().ok()?.checked_mul(unit_nanos)
}

/// Seconds and nanoseconds, as protobuf's `Timestamp` and `Duration` have them.
pub(super) fn of_parts(seconds: i64, nanos: i32) -> Option<i64> {
    seconds.checked_mul(NANOS_PER_SECOND)?.checked_add(i64::from(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_of_their_unit() {
        let parameters = Parameters::parse("a=5&b=-1&c=1.5&d=9223372036854775807").unwrap();
        assert_eq!(micros(&parameters, "a"), Ok(Some(5_000)));
        assert_eq!(millis(&parameters, "a"), Ok(Some(5_000_000)));
        assert_eq!(millis(&parameters, "b"), Ok(Some(-1_000_000)));
        assert_eq!(micros(&parameters, "none"), Ok(None));
        for bad in ["c", "d"] {
            assert!(micros(&parameters, bad).unwrap_err().contains("microseconds"));
            assert!(millis(&parameters, bad).unwrap_err().contains("milliseconds"));
        }
    }

    #[test]
    fn parts_are_added_unless_they_are_too_large() {
        assert_eq!(of_parts(1, 5), Some(1_000_000_005));
        assert_eq!(of_parts(i64::MAX, 0), None);
    }
}
