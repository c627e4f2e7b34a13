//! Moments and durations as Prometheus' API has them: seconds with a fraction, RFC 3339, `5m30s`.

use crate::times::rfc3339;

/// What a moment looks like, for errors.
pub(super) const TIME: &str = "a time as seconds since 1970 or as RFC 3339";
/// What a duration looks like, for errors.
pub(super) const DURATION: &str = "a duration as seconds or as 5m30s";

/// The farthest that a time may be from 1970, in seconds: beyond that sums of times overflow.
const MAX_SECS: f64 = 9e12;

/// A moment, in milliseconds since 1970.
pub(super) fn moment(text: &str) -> Option<i64> {
    if let Some(millis) = millis(text) {
        return Some(millis);
    }
    rfc3339(text).map(|nanos| nanos.div_euclid(1_000_000))
}

/// A duration, in milliseconds.
pub(super) fn duration(text: &str) -> Option<i64> {
    millis(text).or_else(|| units(text))
}

fn millis(text: &str) -> Option<i64> {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'));
    let secs: f64 = text.parse().ok().filter(|_| is_number)?;
    (secs.is_finite() && secs.abs() < MAX_SECS).then(|| (secs * 1000.0).round() as i64)
}

/// `1h30m`: numbers with units, larger ones first, each at most once.
fn units(text: &str) -> Option<i64> {
    const UNITS: [(&str, i64); 7] = [
        ("y", 31_536_000_000),
        ("w", 604_800_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
        ("ms", 1),
    ];
    let (mut rest, mut total, mut next) = (text, 0i64, 0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let letters =
            rest[digits..].find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len() - digits);
        let unit = &rest[digits..digits + letters];
        let place = UNITS[next..].iter().position(|(name, _)| *name == unit)? + next;
        let count: i64 = rest[..digits].parse().ok()?;
        total = total.checked_add(count.checked_mul(UNITS[place].1)?)?;
        next = place + 1;
        rest = &rest[digits + letters..];
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_seconds_or_rfc_3339() {
        assert_eq!(moment("1600000000.4794"), Some(1_600_000_000_479));
        assert_eq!(moment("-60.5"), Some(-60_500));
        assert_eq!(moment("1970-01-01T00:00:01.5Z"), Some(1500));
        for bad in ["", "now", "NaN", "Inf", "1e300"] {
            assert_eq!(moment(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_are_seconds_or_units_in_order() {
        assert_eq!(duration("15"), Some(15_000));
        assert_eq!(duration("0.5"), Some(500));
        assert_eq!(duration("1h30m"), Some(5_400_000));
        assert_eq!(duration("1d2h3m4s5ms"), Some(93_784_005));
        for bad in ["", "m", "5", "1m1h", "1m1m", "5x", "99999999999999999999y"] {
            assert_eq!(units(bad), None, "{bad}");
        }
    }
}
