//! Times as dashboards write them: `now-6h`, `now-1d/d`, milliseconds, RFC 3339.

use chrono::{
    DateTime, Datelike, Days, Duration, Months, NaiveDate, NaiveTime, TimeZone, Timelike, Weekday,
};
use chrono_tz::Tz;
use kymo_dash::fields::units::date;
use kymo_dash::interpolate::TimeRange;
use kymo_dash::interpolate::interval::parse;
use serde_json::Value;

use crate::answer::Failed;

/// What is before 1970 or after 2262 is outside of what is stored: nanoseconds would overflow.
const LATEST_MILLIS: i64 = 9_223_372_036_000;

/// How days, weeks and years are counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Calendar {
    pub(super) zone: Tz,
    /// The first day of a week.
    pub(super) week_start: Weekday,
    /// The month that a fiscal year begins with: 0 is January.
    pub(super) fiscal_month0: u32,
}

impl Default for Calendar {
    fn default() -> Self {
        Self { zone: Tz::UTC, week_start: Weekday::Mon, fiscal_month0: 0 }
    }
}

/// The range that two texts name. `/d` at the end is the end of the day.
pub(super) fn range(
    from: &str,
    to: &str,
    now_millis: i64,
    calendar: Calendar,
) -> Result<TimeRange, Failed> {
    let from_millis = moment("from", from, now_millis, calendar, false)?;
    let to_millis = moment("to", to, now_millis, calendar, true)?;
    if from_millis >= to_millis {
        return Err(Failed::Invalid(format!("from ({from}) is not before to ({to})")));
    }
    Ok(TimeRange { from_millis, to_millis })
}

/// The time of a panel that has its own, before the end of the dashboard's: `1h`, `now-1d/d`, `now/d`.
/// `+1h` is what follows that end.
pub(super) fn own(time: TimeRange, from: &str, calendar: Calendar) -> Option<TimeRange> {
    let from = from.trim();
    let end = time.to_millis;
    let own = match from.strip_prefix("now").unwrap_or(from) {
        later if later.starts_with('+') => {
            let to_millis = relative(later, end, calendar, true)?;
            TimeRange { from_millis: end, to_millis }
        }
        since if since.starts_with(['-', '/']) => {
            TimeRange { from_millis: relative(since, end, calendar, false)?, to_millis: end }
        }
        length => TimeRange { from_millis: before(length, end, calendar, false)?, to_millis: end },
    };
    (own.from_millis < own.to_millis && own.to_millis <= LATEST_MILLIS).then_some(own)
}

/// A time as much earlier as a panel says: `1d`, or whole days with `1d/d`.
pub(super) fn shifted(time: TimeRange, shift: &str, calendar: Calendar) -> Option<TimeRange> {
    let shift = shift.trim();
    let shift = shift.strip_prefix("now-").unwrap_or(shift);
    let moved = |millis: i64, is_end: bool| before(shift, millis, calendar, is_end);
    let (from_millis, to_millis) = (moved(time.from_millis, false)?, moved(time.to_millis, true)?);
    (from_millis < to_millis).then_some(TimeRange { from_millis, to_millis })
}

/// The moment that is so long before another. Months and years are those of the calendar; what has
/// several units, as `1h30m`, is a plain duration.
fn before(length: &str, millis: i64, calendar: Calendar, is_end: bool) -> Option<i64> {
    let plain = || Some(millis.saturating_sub(parse(length)?).max(0));
    relative(&format!("-{length}"), millis, calendar, is_end).or_else(plain)
}

/// A text, of a text or a number.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn moment(
    name: &str,
    text: &str,
    now: i64,
    calendar: Calendar,
    is_end: bool,
) -> Result<i64, Failed> {
    let invalid = || {
        Failed::Invalid(format!(
            "{name} is {text:?}: expected now-6h, now/d, milliseconds since 1970, or RFC 3339"
        ))
    };
    let millis = match text.trim().strip_prefix("now") {
        Some(rest) => relative(rest, now, calendar, is_end),
        None => absolute(text, calendar.zone),
    };
    millis.filter(|millis| (0..=LATEST_MILLIS).contains(millis)).ok_or_else(invalid)
}

/// Milliseconds since 1970, RFC 3339, or a date without a zone, which is then the reader's.
fn absolute(text: &str, zone: Tz) -> Option<i64> {
    if let Ok(millis) = text.parse::<i64>() {
        return Some(millis);
    }
    match DateTime::parse_from_rfc3339(text) {
        Ok(moment) => Some(moment.timestamp_millis()),
        Err(_) => date::parse(text, None, zone).map(|millis| millis as i64),
    }
}

/// What stands behind `now`: any number of `-6h`, `+1d`, `/d`. `fQ` and `fy` are those of the fiscal year.
fn relative(mut rest: &str, now: i64, calendar: Calendar, is_end: bool) -> Option<i64> {
    let mut time = DateTime::from_timestamp_millis(now)?.with_timezone(&calendar.zone);
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let count: u32 = if digits == 0 { 1 } else { rest[..digits].parse().ok()? };
        rest = &rest[digits..];
        let fiscal = rest.strip_prefix('f').filter(|rest| rest.starts_with(['Q', 'y']));
        let is_fiscal = fiscal.is_some();
        rest = fiscal.unwrap_or(rest);
        let unit = rest.chars().next()?;
        rest = &rest[unit.len_utf8()..];
        // A year has twelve months whichever it begins with.
        let month0 = if is_fiscal { calendar.fiscal_month0 } else { 0 };
        time = match sign {
            '-' => moved(time, count, unit, false)?,
            '+' => moved(time, count, unit, true)?,
            '/' if digits == 0 => {
                let start = start(time, unit, calendar.week_start, month0)?;
                if is_end { end(start, unit)? } else { start }
            }
            _ => return None,
        };
        // Further out there are moments that have no date in some zone.
        if !(-LATEST_MILLIS..=2 * LATEST_MILLIS).contains(&time.timestamp_millis()) {
            return None;
        }
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

/// The last millisecond of what begins then.
fn end(start: DateTime<Tz>, unit: char) -> Option<DateTime<Tz>> {
    moved(start, 1, unit, true)?.checked_sub_signed(Duration::milliseconds(1))
}

/// The beginning of what a time is in, where years begin with a month: 0 is January.
fn start(time: DateTime<Tz>, unit: char, week_start: Weekday, month0: u32) -> Option<DateTime<Tz>> {
    let (zone, date) = (time.timezone(), time.date_naive());
    let first = date.with_day(1)?;
    let months_into_year = (date.month0() + 12 - month0) % 12;
    let months_ago = |months: u32| begin(first.checked_sub_months(Months::new(months))?, zone);
    match unit {
        's' => time.with_nanosecond(0),
        'm' => time.with_nanosecond(0)?.with_second(0),
        'h' => time.with_nanosecond(0)?.with_second(0)?.with_minute(0),
        'd' => begin(date, zone),
        'w' => {
            let into = u64::from(date.weekday().days_since(week_start));
            begin(date.checked_sub_days(Days::new(into))?, zone)
        }
        'M' => months_ago(0),
        'Q' => months_ago(months_into_year % 3),
        'y' => months_ago(months_into_year),
        _ => None,
    }
}

/// When a day begins: after midnight where clocks are changed then.
fn begin(date: NaiveDate, zone: Tz) -> Option<DateTime<Tz>> {
    let midnight = date.and_time(NaiveTime::MIN);
    let at = |hours: i64| {
        let time = midnight.checked_add_signed(Duration::hours(hours))?;
        zone.from_local_datetime(&time).earliest()
    };
    (0..=24).find_map(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, is_end: bool) -> String {
        shown_by(Calendar::default(), text, is_end)
    }

    fn shown_by(calendar: Calendar, text: &str, is_end: bool) -> String {
        let now = 1_594_671_549_254; // 2020-07-13T20:19:09.254Z, a Monday
        let millis = moment("from", text, now, calendar, is_end).unwrap();
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
            ("2020-07-13 22:19:09", false, "2020-07-13T22:19:09+00:00"),
            ("2020-07-13", false, "2020-07-13T00:00:00+00:00"),
        ] {
            assert_eq!(shown(text, is_end), expected, "{text}");
        }
    }

    #[test]
    fn times_that_no_calendar_has_are_refused() {
        let calendar = Calendar { zone: Tz::America__New_York, ..Calendar::default() };
        for text in ["now-264169y-321d-22h/d", "now-4294967295y", "now+9999999w/w", "now-9999y/fy"]
        {
            assert!(moment("from", text, 1_795_000_000_000, calendar, false).is_err(), "{text}");
        }
    }

    #[test]
    fn a_fiscal_year_begins_with_the_month_that_is_said() {
        let begins = |fiscal_month0| {
            move |text: &str, is_end: bool| {
                shown_by(Calendar { fiscal_month0, ..Calendar::default() }, text, is_end)
            }
        };
        let (february, october, january) = (begins(1), begins(9), begins(0));
        assert_eq!(february("now/fy", false), "2020-02-01T00:00:00+00:00");
        assert_eq!(february("now/fy", true), "2021-01-31T23:59:59.999+00:00");
        assert_eq!(february("now/fQ", false), "2020-05-01T00:00:00+00:00");
        assert_eq!(february("now/fQ", true), "2020-07-31T23:59:59.999+00:00");
        assert_eq!(february("now-1fQ/fQ", false), "2020-02-01T00:00:00+00:00");
        assert_eq!(february("now/y", false), "2020-01-01T00:00:00+00:00", "a year of the calendar");
        assert_eq!(october("now/fy", false), "2019-10-01T00:00:00+00:00");
        assert_eq!(october("now-1fy/fy", true), "2019-09-30T23:59:59.999+00:00");
        assert_eq!(january("now/fQ", false), shown("now/Q", false));
    }

    #[test]
    fn a_week_begins_with_the_day_that_is_said() {
        let begins =
            |week_start| shown_by(Calendar { week_start, ..Calendar::default() }, "now/w", false);
        assert_eq!(begins(Weekday::Mon), "2020-07-13T00:00:00+00:00");
        assert_eq!(begins(Weekday::Sun), "2020-07-12T00:00:00+00:00");
        assert_eq!(begins(Weekday::Sat), "2020-07-11T00:00:00+00:00");
        assert_eq!("saturday".parse::<Weekday>().ok(), Some(Weekday::Sat), "as it is written");
    }

    #[test]
    fn a_panel_may_have_a_time_of_its_own() {
        let millis = |text: &str| DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis();
        let time = TimeRange {
            from_millis: millis("2020-07-13T14:00:00Z"),
            to_millis: millis("2020-07-13T20:00:00Z"),
        };
        let shown = |found: Option<TimeRange>| -> Option<(String, String)> {
            let text = |millis: i64| {
                DateTime::from_timestamp_millis(millis).unwrap().format("%dT%H:%M").to_string()
            };
            found.map(|time| (text(time.from_millis), text(time.to_millis)))
        };
        let pair = |from: &str, to: &str| Some((from.to_owned(), to.to_owned()));
        let calendar = Calendar::default();
        for (text, expected) in [
            ("1h", pair("13T19:00", "13T20:00")),
            ("now-1h", pair("13T19:00", "13T20:00")),
            ("1h30m", pair("13T18:30", "13T20:00")),
            ("now/d", pair("13T00:00", "13T20:00")),
            ("now-1d/d", pair("12T00:00", "13T20:00")),
            ("1d/d", pair("12T00:00", "13T20:00")),
            ("now/M", pair("01T00:00", "13T20:00")),
            ("+2h", pair("13T20:00", "13T22:00")),
            ("now", None),
            ("", None),
            ("soon", None),
        ] {
            assert_eq!(shown(own(time, text, calendar)), expected, "{text}");
        }
        for (text, expected) in [
            ("1h", pair("13T13:00", "13T19:00")),
            ("now-1h", pair("13T13:00", "13T19:00")),
            ("1h30m", pair("13T12:30", "13T18:30")),
            ("1d/d", pair("12T00:00", "12T23:59")),
            ("1w/w", pair("06T00:00", "12T23:59")),
            ("/d", None),
            ("-1d", None),
            ("", None),
        ] {
            assert_eq!(shown(shifted(time, text, calendar)), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_said() {
        for text in [
            "",
            "now-",
            "now-6x",
            "now/2d",
            "now/fd",
            "now/f",
            "now/ffy",
            "nowish",
            "-5",
            "yesterday",
            "now-99999999999d",
            "now+500y",
            "2300-01-01T00:00:00Z",
            "2300-01-01",
            "9223372036001",
        ] {
            let error = moment("from", text, 0, Calendar::default(), false);
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with("from is"), "{text}: {error}");
        }
        assert!(range("now", "now-1h", 1_000_000_000, Calendar::default()).is_err());
    }

    #[test]
    fn a_day_is_that_of_the_zone() {
        let zone: Tz = "America/New_York".parse().unwrap();
        let calendar = Calendar { zone, ..Calendar::default() };
        let millis = moment("from", "now/d", 1_594_671_549_254, calendar, false).unwrap();
        assert_eq!(millis, 1_594_612_800_000);
    }

    #[test]
    fn a_day_begins_when_its_clock_does() {
        let calendar =
            Calendar { zone: "America/Sao_Paulo".parse().unwrap(), ..Calendar::default() };
        // On 2018-11-04, one o'clock followed 23:59.
        let noon = 1_541_340_000_000; // 2018-11-04T14:00:00Z
        let millis = moment("from", "now/d", noon, calendar, false).unwrap();
        assert_eq!(millis, 1_541_300_400_000, "2018-11-04T03:00:00Z");
    }
}
