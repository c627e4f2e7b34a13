//! Times on the command line.

use std::ops::Range;
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, NaiveDate};

use crate::failure::Failure;
use kymo_yaml::amounts;

const SECOND: i64 = 1_000_000_000;
/// What series and groups are about unless told otherwise.
const DEFAULT_SINCE: i64 = 3600 * SECOND;
/// Points of a series, about, if no step is chosen: as many as a line of a terminal can draw.
const POINTS: i64 = 60;
/// Steps that people find round.
const STEPS: [i64; 14] = [1, 2, 5, 10, 15, 30, 60, 120, 300, 900, 1800, 3600, 6 * 3600, 24 * 3600];

/// Arguments that say when.
#[derive(Debug, clap::Args)]
pub(crate) struct TimeArgs {
    /// Look back so far: 90s, 15m, 6h, 30d, 2w
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "start")]
    since: Option<i64>,
    /// From this time: 2026-01-02T03:04:05Z, 2026-01-02, or seconds since 1970
    #[arg(long, value_name = "TIME", value_parser = moment)]
    start: Option<i64>,
    /// Until this time [default: now]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    end: Option<i64>,
    /// Time between the points of a series: 15s, 1m, 1h
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    step: Option<i64>,
}

impl TimeArgs {
    /// The time of a search, in whole seconds around what was asked for, since a server can be asked
    /// for no less; `None` for all.
    pub(crate) fn range(&self) -> Result<Option<Range<i64>>, Failure> {
        if self.since.is_none() && self.start.is_none() && self.end.is_none() {
            return Ok(None);
        }
        let end = self.end();
        let start = match (self.start, self.since) {
            (Some(start), _) => start,
            (None, Some(since)) => end.saturating_sub(since),
            (None, None) => 0,
        };
        let Range { start, end } = checked(start..end)?;
        let seconds = |nanos: i64| nanos.saturating_mul(SECOND);
        let last = end.div_euclid(SECOND) + i64::from(end.rem_euclid(SECOND) > 0);
        Ok(Some(seconds(start.div_euclid(SECOND))..seconds(last)))
    }

    /// Whether a time is given.
    pub(crate) fn is_any(&self) -> bool {
        self.since.is_some() || self.start.is_some() || self.end.is_some()
    }

    /// The time of series.
    pub(crate) fn series_range(&self) -> Result<Range<i64>, Failure> {
        let end = self.end();
        let since = self.since.unwrap_or(DEFAULT_SINCE);
        checked(self.start.unwrap_or(end.saturating_sub(since))..end)
    }

    /// Time between points.
    pub(crate) fn step(&self, range: &Range<i64>) -> i64 {
        self.step.unwrap_or_else(|| round_step(range.end - range.start))
    }

    /// The end, now unless given.
    pub(crate) fn end(&self) -> i64 {
        self.end.unwrap_or_else(now)
    }

    /// Whether a beginning was chosen.
    pub(crate) fn has_start(&self) -> bool {
        self.since.is_some() || self.start.is_some()
    }

    /// Whether a step was chosen.
    pub(crate) fn has_step(&self) -> bool {
        self.step.is_some()
    }
}

fn checked(range: Range<i64>) -> Result<Range<i64>, Failure> {
    if range.start >= range.end {
        return Err(Failure::Usage(
            "the time is empty: --start must be before --end, which is now unless given".into(),
        ));
    }
    Ok(range)
}

/// Nanoseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A moment as APIs have it: so long that it is taken for nanoseconds.
pub(crate) fn nanos(nanos: i64) -> String {
    format!("{:019}", nanos.max(0))
}

/// The smallest round step that makes few enough points.
fn round_step(range_nanos: i64) -> i64 {
    let steps = STEPS.iter().map(|seconds| seconds * SECOND);
    let needed = range_nanos / POINTS;
    let largest = 24 * 3600 * SECOND;
    steps.into_iter().find(|step| *step >= needed).unwrap_or_else(|| {
        let days = (needed / largest).saturating_add(1);
        days.saturating_mul(largest)
    })
}

fn duration(text: &str) -> Result<i64, String> {
    let nanos = amounts::duration(text).and_then(|d| i64::try_from(d.as_nanos()).ok());
    nanos
        .filter(|nanos| *nanos > 0)
        .ok_or_else(|| "expected a number and a unit, as in 90s, 15m, 6h, 30d or 2w".to_owned())
}

/// A moment in one of its forms, in nanoseconds since 1970.
pub(crate) fn moment(text: &str) -> Result<i64, String> {
    let nanos = match text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        true => unix(text),
        false => rfc3339(text),
    };
    nanos.filter(|nanos| *nanos >= 0).ok_or_else(|| {
        "expected a time, as in 2026-01-02T03:04:05Z or 2026-01-02, or seconds since 1970"
            .to_owned()
    })
}

/// Seconds since 1970, or what has so many digits that it must be milli-, micro- or nanoseconds.
fn unix(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let number: i64 = whole.parse().ok()?;
    let unit = match whole.len() {
        ..=11 => SECOND,
        12..=14 => SECOND / 1_000,
        15..=17 => SECOND / 1_000_000,
        _ => 1,
    };
    let parts: i64 = match fraction {
        "" => 0,
        _ if unit != SECOND || fraction.len() > 9 => return None,
        _ => format!("{fraction:0<9}").parse().ok()?,
    };
    number.checked_mul(unit)?.checked_add(parts)
}

fn rfc3339(text: &str) -> Option<i64> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return time.timestamp_nanos_opt();
    }
    let day: NaiveDate = text.parse().ok()?;
    day.and_hms_opt(0, 0, 0)?.and_utc().timestamp_nanos_opt()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: i64 = 1_767_323_045 * SECOND;

    #[test]
    fn moments_are_read_in_many_forms() {
        for text in [
            "2026-01-02T03:04:05Z",
            "2026-01-02T05:04:05+02:00",
            "1767323045",
            "1767323045.0",
            "1767323045000",
            "1767323045000000",
            "1767323045000000000",
        ] {
            assert_eq!(moment(text), Ok(MOMENT), "{text}");
        }
        assert_eq!(moment("1767323045.25"), Ok(MOMENT + SECOND / 4));
        assert_eq!(moment("2026-01-02"), Ok(1_767_312_000 * SECOND));
        for bad in ["", ".", "yesterday", "2026-13-01", "-5", "1.2.3", "99999999999999999999"] {
            assert!(moment(bad).is_err(), "{bad}");
        }
        assert_eq!(duration("2w"), Ok(14 * 24 * 3600 * SECOND));
        assert!(duration("0").is_err() && duration("5").is_err());
    }

    #[test]
    fn time_is_all_of_it_or_as_said() {
        let args = |since, start, end| TimeArgs { since, start, end, step: None };
        assert_eq!(args(None, None, None).range().unwrap(), None);
        let second = SECOND;
        let range = |since, start, end| args(since, start, end).range().unwrap().unwrap();
        assert_eq!(range(Some(5 * second), None, Some(10 * second)), 5 * second..10 * second);
        assert_eq!(range(None, Some(3 * second), Some(10 * second)), 3 * second..10 * second);
        assert_eq!(range(None, None, Some(10 * second)), 0..10 * second);
        assert!(args(None, Some(10), Some(10)).range().is_err());
        let hour = args(None, None, None).series_range().unwrap();
        assert_eq!(hour.end - hour.start, 3600 * SECOND);
    }

    #[test]
    fn searches_are_about_whole_seconds_around_what_was_asked() {
        let args = |start, end| TimeArgs { since: None, start, end, step: None };
        let asked = args(Some(3 * SECOND / 2), Some(2 * SECOND + 1));
        assert_eq!(asked.range().unwrap(), Some(SECOND..3 * SECOND));
        assert_eq!(asked.series_range().unwrap(), 3 * SECOND / 2..2 * SECOND + 1);
        let last = args(Some(0), Some(i64::MAX)).range().unwrap();
        assert_eq!(last, Some(0..i64::MAX));
    }

    #[test]
    fn steps_are_round_and_few() {
        for (range, step) in [(30, 1), (3600, 60), (6 * 3600, 900), (30 * 86_400, 86_400)] {
            assert_eq!(round_step(range * SECOND), step * SECOND, "{range}");
        }
        assert_eq!(round_step(365 * 86_400 * SECOND), 7 * 86_400 * SECOND);
    }
}
