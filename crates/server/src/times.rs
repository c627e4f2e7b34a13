//! Moments and durations as they stand in requests, in nanoseconds and exact to the nanosecond.
//!
//! Durations are those of TraceQL ([`kymo_traceql::parse_duration`]), which are Go's and
//! Prometheus', and may have a sign besides.

use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat};

pub(crate) const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// What [`duration`] reads, in the words of an error.
pub(crate) const DURATION: &str = "a duration such as 1.5s, 200ms or 1h30m";
/// What [`rfc3339`] reads, in the words of an error.
pub(crate) const TIME: &str = "a time such as 2026-01-02T03:04:05Z";

/// Whole seconds have at most ten digits; what is longer is nanoseconds.
const SECONDS_DIGITS: usize = 10;
/// Bytes of a time zone such as `+02:00`.
const ZONE_BYTES: usize = 6;

/// Now, since 1970.
pub(crate) fn now_nanos() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A moment since 1970: seconds, seconds with a fraction, nanoseconds, or RFC 3339.
pub(crate) fn timestamp(text: &str) -> Option<i64> {
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit());
    if is_whole && text.len() > SECONDS_DIGITS {
        return text.parse().ok();
    }
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return kymo_traceql::parse_duration(&format!("{text}s"));
    }
    rfc3339(text).filter(|nanos| *nanos >= 0)
}

/// A moment as RFC 3339 has it. Grafana does not encode the plus of a time zone, which then comes
/// as a space.
pub(crate) fn rfc3339(text: &str) -> Option<i64> {
    let text = text.trim();
    let (moment, zone) = text.split_at_checked(text.len().checked_sub(ZONE_BYTES)?)?;
    let parsed = match zone.strip_prefix(' ') {
        Some(zone) => DateTime::parse_from_rfc3339(&format!("{moment}+{zone}")),
        None => DateTime::parse_from_rfc3339(text),
    };
    parsed.ok()?.timestamp_nanos_opt()
}

/// A moment as RFC 3339 writes it, with nanoseconds and in UTC.
pub(crate) fn rfc3339_text(nanos: i64) -> String {
    DateTime::from_timestamp_nanos(nanos).to_rfc3339_opts(SecondsFormat::Nanos, true)
}

/// A duration as Go writes it, `1h30m` or `-1.5s`, or as Prometheus does, `7d`; `0` needs no unit.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let (sign, length) = match text.strip_prefix('-') {
        Some(length) => (-1, length),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    match length {
        "0" => Some(0),
        _ => kymo_traceql::parse_duration(length).map(|nanos| sign * nanos),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = NANOS_PER_SECOND;

    #[test]
    fn durations_of_go_and_prometheus_are_read() {
        for (text, nanos) in [
            ("0", 0),
            ("-0", 0),
            ("1ns", 1),
            ("1.5us", 1_500),
            ("100us", 100_000),
            ("100\u{b5}s", 100_000),
            ("100\u{3bc}s", 100_000),
            ("250ms", 250_000_000),
            ("1s", SECOND),
            ("+1s", SECOND),
            ("-2s", -2 * SECOND),
            (".5s", SECOND / 2),
            ("1.5s", 1_500_000_000),
            ("1.000000001s", 1_000_000_001),
            // A double would be some nanoseconds off.
            ("2562047h47m16.854775807s", i64::MAX),
            ("1h30m", 5_400 * SECOND),
            ("7d", 604_800 * SECOND),
            ("1w", 604_800 * SECOND),
            ("1y", 365 * 86_400 * SECOND),
        ] {
            assert_eq!(duration(text), Some(nanos), "{text}");
        }
        for bad in [
            "",
            "-",
            "5",
            "s",
            ".s",
            "1x",
            "1s2",
            "1 s",
            "--1s",
            "1..2s",
            "1.2.3s",
            "9999999999h",
            "999999999999h",
        ] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn moments_come_in_four_forms() {
        let expected = Some(1_767_323_045 * SECOND);
        for text in [
            "1767323045",
            "1767323045000000000",
            "1767323045.0",
            "2026-01-02T03:04:05Z",
            "2026-01-02T04:04:05+01:00",
            "2026-01-02T04:04:05 01:00",
        ] {
            assert_eq!(timestamp(text), expected, "{text}");
        }
        assert_eq!(timestamp("1767323045.000000001"), expected.map(|nanos| nanos + 1));
        for bad in [
            "",
            ".",
            "now",
            "-5",
            "1e9",
            "2026-01-02",
            "1969-12-31T23:59:59Z",
            "99999999999999999999",
            "1.2.3",
        ] {
            assert_eq!(timestamp(bad), None, "{bad}");
        }
    }

    #[test]
    fn moments_of_rfc_3339_have_zones_and_nanoseconds() {
        let moment = Some(1_767_323_045_000_000_001);
        for text in [
            "2026-01-02T03:04:05.000000001Z",
            "2026-01-02 03:04:05.000000001Z",
            "2026-01-02T05:04:05.000000001+02:00",
            "2026-01-02T05:04:05.000000001 02:00",
            "2026-01-02T01:04:05.000000001-02:00",
        ] {
            assert_eq!(rfc3339(text), moment, "{text}");
        }
        assert_eq!(rfc3339("2026-01-02T03:04:05.000Z"), Some(1_767_323_045 * SECOND));
        for bad in ["", "now", "1767323045", "2026-01-02", "9999-01-01T00:00:00Z", "ééééé"] {
            assert_eq!(rfc3339(bad), None, "{bad}");
        }
    }
}
