//! Moments and spans of time as Jaeger's clients write them, in nanoseconds.

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::DateTime;

pub(super) const NANOS_PER_MICRO: i64 = 1_000;
pub(super) const NANOS_PER_MILLI: i64 = 1_000_000;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Nanoseconds since 1970.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A moment as RFC 3339 has it. Grafana does not encode the plus of a time zone, which then comes as
/// a space.
pub(super) fn rfc3339(text: &str) -> Option<i64> {
    let plus = text.trim().replace(' ', "+");
    DateTime::parse_from_rfc3339(&plus).ok()?.timestamp_nanos_opt()
}

/// Seconds and nanoseconds, as protobuf's `Timestamp` and `Duration` have them.
pub(super) fn of_parts(seconds: i64, nanos: i32) -> Option<i64> {
    seconds.checked_mul(NANOS_PER_SECOND)?.checked_add(i64::from(nanos))
}

/// A duration as Go writes it: `1h30m`, `1.5s`, `250us`.
pub(super) fn duration(text: &str) -> Option<i64> {
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: i64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(digits);
        let letters = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(letters);
        total = total.checked_add(part(number, unit_nanos(unit)?)?)?;
        rest = after;
    }
    Some(if is_negative { -total } else { total })
}

/// A number of units, in whole and decimal digits: doubles would lose nanoseconds.
fn part(number: &str, unit: i64) -> Option<i64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanos = whole.checked_mul(unit)?;
    let mut scale = unit;
    for digit in fraction.bytes() {
        let digit = char::from(digit).to_digit(10)?;
        scale /= 10;
        nanos = nanos.checked_add(scale * i64::from(digit))?;
    }
    Some(nanos)
}

fn unit_nanos(unit: &str) -> Option<i64> {
    Some(match unit {
        "ns" => 1,
        // The micro sign and the Greek letter.
        "us" | "\u{b5}s" | "\u{3bc}s" => NANOS_PER_MICRO,
        "ms" => NANOS_PER_MILLI,
        "s" => NANOS_PER_SECOND,
        "m" => 60 * NANOS_PER_SECOND,
        "h" => 3600 * NANOS_PER_SECOND,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_those_of_go() {
        for (text, nanos) in [
            ("0", 0),
            ("1ns", 1),
            ("1.5us", 1500),
            ("1\u{b5}s", 1000),
            ("250ms", 250_000_000),
            ("1h30m", 5_400_000_000_000),
            ("-2s", -2_000_000_000),
            (".5s", 500_000_000),
            ("1.000000001s", 1_000_000_001),
        ] {
            assert_eq!(duration(text), Some(nanos), "{text}");
        }
        for bad in ["", "-", "5", "s", ".s", "1x", "1 s", "1d", "9999999999h", "1s2", "1..2s"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn moments_have_zones_and_nanoseconds() {
        let moment = Some(1_767_323_045_000_000_001);
        assert_eq!(rfc3339("2026-01-02T03:04:05.000000001Z"), moment);
        assert_eq!(rfc3339("2026-01-02T05:04:05.000000001+02:00"), moment);
        assert_eq!(rfc3339("2026-01-02T05:04:05.000000001 02:00"), moment);
        assert_eq!(rfc3339("2026-01-02T03:04:05.000Z"), Some(1_767_323_045_000_000_000));
        for bad in ["", "now", "1767323045", "2026-01-02", "9999-01-01T00:00:00Z"] {
            assert_eq!(rfc3339(bad), None, "{bad}");
        }
        assert_eq!(of_parts(1, 5), Some(1_000_000_005));
        assert_eq!(of_parts(i64::MAX, 0), None);
    }
}
