//! Numbers, times and names as people read them: what reports have of it, and what only commands
//! need.

use std::time::Duration;

pub(crate) use kymo_report::units::{count, printable};
use kymo_store::block::meta::{day_name, day_of};

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// A number of bytes in the unit that gives it at most four digits.
pub(crate) fn bytes(number: u64) -> String {
    kymo_report::units::bytes(number as f64)
}

/// `part` of `whole`, 0 if there is nothing.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Nanoseconds since 1970 as RFC 3339.
pub(crate) fn time(nanos: i64) -> String {
    let seconds = nanos.div_euclid(NANOS_PER_SECOND);
    let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let fraction = nanos.rem_euclid(NANOS_PER_SECOND);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{fraction:09}Z", day_name(day_of(nanos)))
}

/// Seconds since 1970 as RFC 3339 has them, without fraction and zone.
pub(crate) fn date(unix_secs: u64) -> String {
    let nanos = i64::try_from(unix_secs).unwrap_or(i64::MAX).saturating_mul(1_000_000_000);
    time(nanos).split('.').next().unwrap_or_default().to_owned()
}

/// A span of time with three digits or so.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match duration.as_secs() {
        0 => format!("{:.1} ms", seconds * 1000.0),
        1..120 => format!("{seconds:.1} s"),
        120..7200 => format!("{:.1} min", seconds / 60.0),
        7200..172_800 => format!("{:.1} h", seconds / 3600.0),
        _ => format!("{:.1} days", seconds / SECONDS_PER_DAY as f64),
    }
}

/// Nanoseconds with three digits, also below a millisecond and below zero.
pub(crate) fn nanos(nanos: i128) -> String {
    match nanos.unsigned_abs() {
        0..1000 => format!("{nanos} ns"),
        _ => kymo_report::units::seconds(nanos as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_scaled() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(ratio(1, 0), 0.0);
    }

    #[test]
    fn times_before_and_after_1970_have_their_date() {
        assert_eq!(time(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(time(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(time(1_700_000_000_123_456_789), "2023-11-14T22:13:20.123456789Z");
        assert_eq!(duration(Duration::from_millis(1500)), "1.5 s");
        assert_eq!(duration(Duration::from_secs(600)), "10.0 min");
    }

    #[test]
    fn times_of_spans_have_three_digits() {
        let shown = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1000, "1.00 µs"),
            (9_996, "10.0 µs"),
            (-5_000_000, "-5.00 ms"),
            (123_456_789, "123 ms"),
            (1_240_000_000, "1.24 s"),
            (600_000_000_000, "10.0 min"),
            (36_000_000_000_000, "10.0 h"),
        ];
        for (number, text) in shown {
            assert_eq!(nanos(number), text);
        }
    }
}
