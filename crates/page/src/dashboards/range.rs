//! Times as dashboards write them: `now-6h`, `now-1d/d`, milliseconds, RFC 3339.

use chrono::{DateTime, Datelike, Days, Duration, Months, NaiveTime, TimeZone, Timelike};
use chrono_tz::Tz;
use kymo_dash::interpolate::TimeRange;
use serde_json::Value;

use crate::answer::Failed;

/// The range that two texts name. `/d` at the end is the end of the day.
pub(super) fn range(from: &str, to: &str, now_millis: i64, zone: Tz) -> Result<TimeRange, Failed> {
    let from_millis = moment("from", from, now_millis, zone, false)?;
    let to_millis = moment("to", to, now_millis, zone, true)?;
    if from_millis >= to_millis {
        return Err(Failed::Invalid(format!("from ({from}) is not before to ({to})")));
    }
    Ok(TimeRange { from_millis, to_millis })
}

/// A text, of a text or a number.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn moment(name: &str, text: &str, now: i64, zone: Tz, is_end: bool) -> Result<i64, Failed> {
    let invalid = || {
        Failed::Invalid(format!(
            "{name} is {text:?}: expected now-6h, now/d, milliseconds since 1970, or RFC 3339"
        ))
    };
    if let Some(rest) = text.trim().strip_prefix("now") {
        return relative(rest, now, zone, is_end).ok_or_else(invalid);
    }
    if let Ok(millis) = text.parse::<i64>() {
        // What is before 1970 or after 2262 is outside of what is stored.
        return (0..=9_223_372_036_000).contains(&millis).then_some(millis).ok_or_else(invalid);
    }
    let moment = DateTime::parse_from_rfc3339(text).map_err(|_| invalid())?;
    Some(moment.timestamp_millis()).filter(|millis| *millis >= 0).ok_or_else(invalid)
}

/// What stands behind `now`: any number of `-6h`, `+1d`, `/d`.
fn relative(mut rest: &str, now: i64, zone: Tz, is_end: bool) -> Option<i64> {
    let mut time = DateTime::from_timestamp_millis(now)?.with_timezone(&zone);
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let count: u32 = if digits == 0 { 1 } else { rest[..digits].parse().ok()? };
        let unit = rest[digits..].chars().next()?;
        rest = &rest[digits + unit.len_utf8()..];
        time = match sign {
            '-' => moved(time, count, unit, false)?,
            '+' => moved(time, count, unit, true)?,
            '/' if digits == 0 => rounded(time, unit, is_end)?,
            _ => return None,
        };
    }
    Some(time.timestamp_millis().max(0))
}

fn moved(time: DateTime<Tz>, count: u32, unit: char, is_later: bool) -> Option<DateTime<Tz>> {
    let months = |count: u32| match is_later {
        true => time.checked_add_months(Months::new(count)),
        false => time.checked_sub_months(Months::new(count)),
    };
    let days = |count: u64| match is_later {
        true => time.checked_add_days(Days::new(count)),
        false => time.checked_sub_days(Days::new(count)),
    };
    let seconds = |count: i64| {
        let duration = Duration::try_seconds(count)?;
        if is_later { time.checked_add_signed(duration) } else { time.checked_sub_signed(duration) }
    };
    let whole = i64::from(count);
    match unit {
        's' => seconds(whole),
        'm' => seconds(whole * 60),
        'h' => seconds(whole * 3_600),
        'd' => days(u64::from(count)),
        'w' => days(u64::from(count) * 7),
        'M' => months(count),
        'Q' => months(count.checked_mul(3)?),
        'y' => months(count.checked_mul(12)?),
        _ => None,
    }
}

/// The beginning of what a time is in, or its last millisecond.
fn rounded(time: DateTime<Tz>, unit: char, is_end: bool) -> Option<DateTime<Tz>> {
    let midnight = |time: DateTime<Tz>| {
        // A day may begin after midnight where clocks are changed then.
        let naive = time.date_naive().and_time(NaiveTime::MIN);
        time.timezone().from_local_datetime(&naive).earliest().or(Some(time))
    };
    let start = match unit {
        's' => time.with_nanosecond(0)?,
        'm' => time.with_nanosecond(0)?.with_second(0)?,
        'h' => time.with_nanosecond(0)?.with_second(0)?.with_minute(0)?,
        'd' => midnight(time)?,
        'w' => {
            let into = u64::from(time.weekday().num_days_from_monday());
            midnight(time.checked_sub_days(Days::new(into))?)?
        }
        'M' => midnight(time.with_day(1)?)?,
        'Q' => midnight(time.with_day(1)?.with_month(time.month0() / 3 * 3 + 1)?)?,
        'y' => midnight(time.with_day(1)?.with_month(1)?)?,
        _ => return None,
    };
    if !is_end {
        return Some(start);
    }
    moved(start, 1, unit, true)?.checked_sub_signed(Duration::milliseconds(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, is_end: bool) -> String {
        let now = 1_594_671_549_254; // 2020-07-13T20:19:09.254Z, a Monday
        let millis = moment("from", text, now, Tz::UTC, is_end).unwrap();
        DateTime::from_timestamp_millis(millis).unwrap().to_rfc3339()
    }

    #[test]
    fn every_form_is_read() {
        for (text, is_end, expected) in [
            ("now", true, "2020-07-13T20:19:09.254+00:00"),
            ("now-6h", false, "2020-07-13T14:19:09.254+00:00"),
            ("now-1d/d", false, "2020-07-12T00:00:00+00:00"),
            ("now-1d/d", true, "2020-07-12T23:59:59.999+00:00"),
            ("now/w", false, "2020-07-13T00:00:00+00:00"),
            ("now/Q", false, "2020-07-01T00:00:00+00:00"),
            ("now-1M/M", true, "2020-06-30T23:59:59.999+00:00"),
            ("now-2y", false, "2018-07-13T20:19:09.254+00:00"),
            ("1594671549254", false, "2020-07-13T20:19:09.254+00:00"),
            ("2020-07-13T22:19:09+02:00", false, "2020-07-13T20:19:09+00:00"),
        ] {
            assert_eq!(shown(text, is_end), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_said() {
        for text in
            ["", "now-", "now-6x", "now/2d", "nowish", "-5", "yesterday", "now-99999999999d"]
        {
            let error = moment("from", text, 0, Tz::UTC, false).unwrap_err().to_string();
            assert!(error.starts_with("from is"), "{text}: {error}");
        }
        assert!(range("now", "now-1h", 1_000_000_000, Tz::UTC).is_err());
    }

    #[test]
    fn a_day_is_that_of_the_zone() {
        let zone: Tz = "America/New_York".parse().unwrap();
        let millis = moment("from", "now/d", 1_594_671_549_254, zone, false).unwrap();
        assert_eq!(millis, 1_594_612_800_000);
    }
}
