//! Times and durations as they stand in parameters.

use std::ops::Range;

use chrono::DateTime;

use super::params::{Params, quoted};

const SECOND: i64 = 1_000_000_000;
/// Whole seconds have at most ten digits; what is longer is nanoseconds.
const SECONDS_DIGITS: usize = 10;

/// `start` and `end` of a search, in seconds since 1970, as nanoseconds; `None` for all times.
pub(super) fn search_range(params: &Params) -> Result<Option<Range<i64>>, String> {
    let seconds = |name| {
        let seconds: Option<u64> = params.number(name)?;
        match seconds.map(u32::try_from) {
            None => Ok(0),
            Some(Ok(seconds)) => Ok(seconds),
            Some(Err(_)) => Err(format!(
                "invalid {name}: expected seconds since 1970, not {}",
                quoted(params.get(name).unwrap_or(""))
            )),
        }
    };
    range_of(seconds("start")?, seconds("end")?)
}

/// The range between two times in seconds, where 0 is none. All of its last second's first
/// nanosecond is in.
pub(super) fn range_of(start_secs: u32, end_secs: u32) -> Result<Option<Range<i64>>, String> {
    let nanos = |secs: u32| i64::from(secs) * SECOND;
    match (start_secs, end_secs) {
        (0, 0) => Ok(None),
        (start, 0) => Ok(Some(nanos(start)..i64::MAX)),
        (start, end) if start < end => Ok(Some(nanos(start)..nanos(end) + 1)),
        (start, end) => Err(format!(
            "http parameter start must be before end. received start={start} end={end}"
        )),
    }
}

/// A time as nanoseconds since 1970: seconds, seconds with a fraction, nanoseconds, or RFC 3339.
pub(super) fn timestamp(text: &str) -> Option<i64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
    if digits {
        let number: i64 = text.parse().ok()?;
        let is_seconds = text.len() <= SECONDS_DIGITS;
        return if is_seconds { number.checked_mul(SECOND) } else { Some(number) };
    }
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        let seconds: f64 = text.parse().ok()?;
        return in_nanos(seconds);
    }
    DateTime::parse_from_rfc3339(text).ok()?.timestamp_nanos_opt().filter(|nanos| *nanos >= 0)
}

fn in_nanos(seconds: f64) -> Option<i64> {
    let nanos = seconds * SECOND as f64;
    (nanos.abs() < i64::MAX as f64).then_some(nanos.round() as i64)
}

/// A step: seconds, or a duration.
pub(super) fn step(text: &str) -> Option<i64> {
    match text.parse::<f64>() {
        Ok(seconds) => in_nanos(seconds),
        Err(_) => duration(text),
    }
}

/// A duration as Go writes it, `1h30m` or `1.5s`, or as Prometheus does, `7d`; in nanoseconds.
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
    let mut total: f64 = 0.0;
    while !rest.is_empty() {
        let number_len = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(number_len);
        let unit_len =
            behind.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(behind.len());
        let (unit, next) = behind.split_at(unit_len);
        total += number.parse::<f64>().ok()? * unit_nanos(unit)? as f64;
        rest = next;
    }
    let total = if is_negative { -total } else { total };
    (total.abs() < i64::MAX as f64).then_some(total.round() as i64)
}

fn unit_nanos(unit: &str) -> Option<i64> {
    const DAY: i64 = 86_400 * SECOND;
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => SECOND,
        "m" => 60 * SECOND,
        "h" => 3_600 * SECOND,
        "d" => DAY,
        "w" => 7 * DAY,
        "y" => 365 * DAY,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_of_go_and_prometheus_are_read() {
        for (text, nanos) in [
            ("1s", SECOND),
            ("1.5s", 1_500_000_000),
            ("1h30m", 5_400 * SECOND),
            ("100us", 100_000),
            ("100µs", 100_000),
            ("-2ms", -2_000_000),
            ("0", 0),
            ("7d", 604_800 * SECOND),
            (".5s", 500_000_000),
        ] {
            assert_eq!(duration(text), Some(nanos), "{text}");
        }
        for bad in ["", "1", "s", "1x", "1s2", "1 s", "--1s", "1.2.3s", "999999999999h"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
        assert_eq!(step("15"), Some(15 * SECOND));
        assert_eq!(step("0.5"), Some(SECOND / 2));
        assert_eq!(step("1m"), Some(60 * SECOND));
        assert_eq!(step("NaN"), None);
    }

    #[test]
    fn times_come_in_four_forms() {
        let expected = Some(1_767_323_045 * SECOND);
        assert_eq!(timestamp("1767323045"), expected);
        assert_eq!(timestamp("1767323045000000000"), expected);
        assert_eq!(timestamp("1767323045.0"), expected);
        assert_eq!(timestamp("2026-01-02T03:04:05Z"), expected);
        assert_eq!(timestamp("2026-01-02T04:04:05+01:00"), expected);
        for bad in ["", "now", "-5", "1e9", "2026-01-02", "99999999999999999999", "1.2.3"] {
            assert_eq!(timestamp(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_search_has_a_range_in_seconds_or_none() {
        let range = |text| search_range(&Params::parse(text).unwrap());
        assert_eq!(range(""), Ok(None));
        assert_eq!(range("start=0&end=0"), Ok(None));
        assert_eq!(range("start=1&end=2"), Ok(Some(SECOND..2 * SECOND + 1)));
        assert_eq!(range("start=1"), Ok(Some(SECOND..i64::MAX)));
        assert_eq!(range("end=2"), Ok(Some(0..2 * SECOND + 1)));
        for bad in
            ["start=2&end=1", "start=1&end=1", "start=-1", "end=x", "end=1767323045000000000"]
        {
            assert!(range(bad).is_err(), "{bad}");
        }
    }
}
