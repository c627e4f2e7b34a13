//! Moments and durations as Loki's API has them.

use crate::times::{NANOS_PER_SECOND, rfc3339};

/// What a moment looks like, for errors.
pub(super) const TIME: &str = "nanoseconds or seconds since 1970, or a time such as \
                               2026-01-02T03:04:05Z";
/// What a duration looks like, for errors.
pub(super) const DURATION: &str = "a duration such as 1m, 60000ms or 60";

/// Whole numbers of at most so many digits are seconds, longer ones nanoseconds.
const SECONDS_DIGITS: usize = 10;
/// The farthest that a number of seconds may be from 1970 or from nothing.
const MAX_SECS: f64 = 9.2e9;

/// A moment, in nanoseconds since 1970.
pub(super) fn moment(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: i64 = text.parse().ok()?;
        return match digits.len() <= SECONDS_DIGITS {
            true => number.checked_mul(NANOS_PER_SECOND),
            false => Some(number),
        };
    }
    seconds(text).or_else(|| rfc3339(text))
}

/// A duration, in nanoseconds: with units, or seconds.
pub(super) fn duration(text: &str) -> Option<i64> {
    seconds(text)
        .or_else(|| kymo_logql::units::parse_prometheus_duration(text))
        .or_else(|| kymo_logql::units::parse_go_duration(text))
}

/// Seconds with a fraction, to the nanosecond as far as a double has it.
fn seconds(text: &str) -> Option<i64> {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    let secs: f64 = text.parse().ok().filter(|_| is_number)?;
    (secs.is_finite() && secs.abs() < MAX_SECS).then(|| {
        let whole = secs.trunc();
        let nanos = ((secs - whole) * 1e9).round();
        whole as i64 * NANOS_PER_SECOND + nanos as i64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_in_four_forms() {
        for (text, nanos) in [
            ("1767323045", 1_767_323_045_000_000_000),
            ("4000000000", 4_000_000_000_000_000_000),
            ("1767323045000000001", 1_767_323_045_000_000_001),
            ("1767323045.5", 1_767_323_045_500_000_000),
            ("2026-01-02T03:04:05Z", 1_767_323_045_000_000_000),
            ("0", 0),
        ] {
            assert_eq!(moment(text), Some(nanos), "{text}");
        }
        for bad in ["", "now", "-", "NaN", "inf", "1e300", "99999999999999999999"] {
            assert_eq!(moment(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_have_units_or_are_seconds() {
        for (text, nanos) in [
            ("60", 60_000_000_000),
            ("60.0", 60_000_000_000),
            ("0.5", 500_000_000),
            ("60000ms", 60_000_000_000),
            ("1m", 60_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1d", 86_400_000_000_000),
            ("1.5s", 1_500_000_000),
        ] {
            assert_eq!(duration(text), Some(nanos), "{text}");
        }
        for bad in ["", "m", "1x", "NaN", "1e300"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }
}
