//! Lengths of time as people write them: `5m`, `1h30m`, `15 minutes`, `1 month`.
//!
//! SQL's `INTERVAL '5 minutes'` works wherever these do. Both are here one thing: months, whose
//! length depends on the calendar, or nanoseconds.

use datafusion::arrow::datatypes::IntervalMonthDayNano;
use datafusion::common::{Result, ScalarValue};

use crate::error::Refusal;

const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 24 * 3600 * SECOND;

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Span {
    /// Months of the calendar.
    Months(i32),
    /// Nanoseconds; a day has 24 hours.
    Nanos(i64),
}

impl Span {
    /// Of text or an interval; `None` if it is NULL. It is longer than nothing.
    pub(crate) fn of_scalar(value: &ScalarValue) -> Result<Option<Self>> {
        let refuse = |shown: &str| {
            Refusal::error(format!(
                "`{shown}` is no length of time: write it as '5m', '1h30m', '1 month' or INTERVAL '5 minutes'"
            ))
        };
        let span = match value {
            ScalarValue::Utf8(text)
            | ScalarValue::LargeUtf8(text)
            | ScalarValue::Utf8View(text) => match text {
                Some(text) => parse(text).ok_or_else(|| refuse(text))?,
                None => return Ok(None),
            },
            ScalarValue::IntervalMonthDayNano(Some(interval)) => {
                of_parts(interval).ok_or_else(|| refuse(&value.to_string()))?
            }
            ScalarValue::IntervalYearMonth(Some(months)) => Self::Months(*months),
            ScalarValue::IntervalDayTime(Some(interval)) => {
                let nanos = i64::from(interval.days)
                    .checked_mul(DAY)
                    .and_then(|days| days.checked_add(i64::from(interval.milliseconds) * 1_000_000))
                    .ok_or_else(|| refuse(&value.to_string()))?;
                Self::Nanos(nanos)
            }
            other if other.is_null() => return Ok(None),
            other => return Err(refuse(&other.to_string())),
        };
        match span {
            Self::Months(1..) | Self::Nanos(1..) => Ok(Some(span)),
            _ => {
                Err(Refusal::error(format!("`{value}` is not a length of time greater than zero")))
            }
        }
    }
}

/// Months or the rest, not both.
fn of_parts(interval: &IntervalMonthDayNano) -> Option<Span> {
    let nanos = i64::from(interval.days).checked_mul(DAY)?.checked_add(interval.nanoseconds)?;
    match (interval.months, nanos) {
        (0, nanos) => Some(Span::Nanos(nanos)),
        (months, 0) => Some(Span::Months(months)),
        _ => None,
    }
}

/// Numbers with units, one behind the other; `None` if it is anything else.
fn parse(text: &str) -> Option<Span> {
    let mut left = text.trim();
    let (mut months, mut nanos) = (0i32, 0i64);
    if left.is_empty() {
        return None;
    }
    while !left.is_empty() {
        let digits = left.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, behind) = left.split_at(digits);
        let behind = behind.trim_start();
        let end = behind.find(|letter: char| !letter.is_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        match unit_of(unit)? {
            Span::Months(each) => {
                let more = number.parse::<i32>().ok()?.checked_mul(each)?;
                months = months.checked_add(more)?;
            }
            Span::Nanos(each) => nanos = nanos.checked_add(times(number, each)?)?,
        }
        left = behind.trim_start();
    }
    of_parts(&IntervalMonthDayNano::new(months, 0, nanos))
}

/// A number, perhaps with a fraction, of units.
fn times(number: &str, each: i64) -> Option<i64> {
    let Some((whole, fraction)) = number.split_once('.') else {
        return number.parse::<i64>().ok()?.checked_mul(each);
    };
    // What is beyond a billionth is nothing of the units there are.
    let is_right = !fraction.is_empty() && fraction.len() <= 9;
    let tens = 10i64.checked_pow(fraction.len() as u32).filter(|_| is_right)?;
    let part = i128::from(fraction.parse::<i64>().ok()?) * i128::from(each) / i128::from(tens);
    whole.parse::<i64>().ok()?.checked_mul(each)?.checked_add(i64::try_from(part).ok()?)
}

fn unit_of(unit: &str) -> Option<Span> {
    let nanos = |nanos| Some(Span::Nanos(nanos));
    match unit.to_lowercase().as_str() {
        "ns" | "nanosecond" | "nanoseconds" => nanos(1),
        "us" | "µs" | "μs" | "microsecond" | "microseconds" => nanos(1_000),
        "ms" | "millisecond" | "milliseconds" => nanos(1_000_000),
        "s" | "sec" | "secs" | "second" | "seconds" => nanos(SECOND),
        "m" | "min" | "mins" | "minute" | "minutes" => nanos(60 * SECOND),
        "h" | "hr" | "hrs" | "hour" | "hours" => nanos(3600 * SECOND),
        "d" | "day" | "days" => nanos(DAY),
        "w" | "week" | "weeks" => nanos(7 * DAY),
        "mo" | "mon" | "month" | "months" => Some(Span::Months(1)),
        "y" | "year" | "years" => Some(Span::Months(12)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_people_write_them() {
        for (text, expected) in [
            ("5m", Span::Nanos(300 * SECOND)),
            ("1h30m", Span::Nanos(5400 * SECOND)),
            (" 15 minutes ", Span::Nanos(900 * SECOND)),
            ("1 day 2 hours", Span::Nanos(DAY + 7200 * SECOND)),
            ("0.5s", Span::Nanos(SECOND / 2)),
            ("250ms", Span::Nanos(250_000_000)),
            ("1 month", Span::Months(1)),
            ("1y2mo", Span::Months(14)),
        ] {
            assert_eq!(parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_length_of_time_is_refused_and_nothing_overflows() {
        for text in [
            "",
            " ",
            "5",
            "m",
            "-5m",
            "5 parsecs",
            "1 month 1 day",
            "1.5mo",
            "1..5s",
            ".s",
            "99999999999999999999s",
            "9223372036854775807d",
            "1.99999999999s",
            "5m 3",
            "３m",
            "5m\0",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
        let zero = Span::of_scalar(&ScalarValue::from("0s")).unwrap_err().to_string();
        assert!(zero.contains("greater than zero"), "{zero}");
        let null = ScalarValue::Utf8(None);
        assert_eq!(Span::of_scalar(&null).unwrap(), None);
        let mixed = ScalarValue::IntervalMonthDayNano(Some(IntervalMonthDayNano::new(1, 1, 0)));
        assert!(Span::of_scalar(&mixed).is_err());
    }
}
