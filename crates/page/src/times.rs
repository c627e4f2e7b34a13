//! Moments and ranges as requests name them, in nanoseconds since 1970.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::DateTime;

use crate::answer::Failed;

/// What [`moment`] reads, in the words of an error.
const MOMENT: &str =
    "a time such as 2026-01-02T03:04:05Z, or seconds, milliseconds or nanoseconds since 1970";
/// Digits of whole seconds, and of milliseconds, until the year 2286; what is longer is nanoseconds.
const SECONDS_DIGITS: usize = 10;
const MILLIS_DIGITS: usize = 13;

/// Nanoseconds of a millisecond.
pub(crate) const NANOS_PER_MILLI: i64 = 1_000_000;

/// Now.
pub(crate) fn now_nanos() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Milliseconds since 1970. A moment of whole milliseconds is one to the last bit: nanoseconds of today
/// are more than a double holds.
pub(crate) fn millis(nanos: impl Into<i128>) -> f64 {
    let nanos = nanos.into();
    nanos.div_euclid(1_000_000) as f64 + nanos.rem_euclid(1_000_000) as f64 / 1e6
}

/// A moment: RFC 3339, or a number whose unit its digits tell.
pub(crate) fn moment(name: &str, text: &str) -> Result<i64, Failed> {
    let invalid = || Failed::Invalid(format!("{name} is {text:?}: expected {MOMENT}"));
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number {
        let moment = DateTime::parse_from_rfc3339(text).map_err(|_| invalid())?;
        return moment.timestamp_nanos_opt().filter(|nanos| *nanos >= 0).ok_or_else(invalid);
    }
    let nanos_of_unit: i64 = match text.len() {
        digits if digits <= SECONDS_DIGITS => 1_000_000_000,
        digits if digits <= MILLIS_DIGITS => 1_000_000,
        _ => 1,
    };
    let number = text.parse::<i64>().map_err(|_| invalid())?;
    number.checked_mul(nanos_of_unit).ok_or_else(invalid)
}

/// The range that `start` and `end` name. Without an end it goes until now, without a start it is as
/// long as `usual_nanos`.
pub(crate) fn range(
    start: Option<&str>,
    end: Option<&str>,
    usual_nanos: i64,
) -> Result<Range<i64>, Failed> {
    let end = end.map(|text| moment("end", text)).transpose()?.unwrap_or_else(now_nanos);
    let start = start.map(|text| moment("start", text)).transpose()?;
    let start = start.unwrap_or_else(|| end.saturating_sub(usual_nanos).max(0));
    if start >= end {
        return Err(Failed::Invalid("start is not before end: expected an earlier start".into()));
    }
    Ok(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_whole_milliseconds_stay_whole() {
        for at in [1_795_039_496_902_i64, 1_795_039_639_537, 0, -1] {
            assert_eq!(millis(at * 1_000_000), at as f64);
        }
        assert_eq!(millis(1_500_000_i64), 1.5);
    }

    #[test]
    fn moments_come_in_four_forms() {
        let expected = 1_767_323_045_000_000_000;
        for text in
            ["1767323045", "1767323045000", "1767323045000000000", "2026-01-02T04:04:05+01:00"]
        {
            assert_eq!(moment("at", text).unwrap(), expected, "{text}");
        }
        for bad in ["", "now", "-5", "1e9", "99999999999999999999", "1960-01-01T00:00:00Z"] {
            assert!(moment("at", bad).unwrap_err().to_string().starts_with("at is"), "{bad}");
        }
    }

    #[test]
    fn a_range_has_an_end_and_a_length() {
        assert_eq!(range(None, Some("20"), 5).unwrap(), 19_999_999_995..20_000_000_000);
        assert_eq!(range(Some("1"), Some("2"), 5).unwrap(), 1_000_000_000..2_000_000_000);
        assert!(range(Some("3"), Some("2"), 5).is_err());
    }
}
