//! Durations as Loki's API has them, and what it says of moments, which are those of all APIs
//! ([`crate::times::timestamp`]).

use crate::times::NANOS_PER_SECOND;

/// What a moment looks like, for errors.
pub(super) const TIME: &str = "nanoseconds or seconds since 1970, or a time such as \
                               2026-01-02T03:04:05Z";
/// What a duration looks like, for errors.
pub(super) const DURATION: &str = "a duration such as 1m, 60000ms or 60";

/// The longest that a number of seconds may be.
const MAX_SECS: f64 = 9.2e9;

/// A duration, in nanoseconds: with units, or seconds.
pub(super) fn duration(text: &str) -> Option<i64> {
    seconds(text)
        .or_else(|| kymo_logql::units::parse_prometheus_duration(text))
        .or_else(|| kymo_logql::units::parse_go_duration(text))
}

/// Seconds with a fraction.
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
