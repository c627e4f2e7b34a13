//! Times as text, and the time now. Times are nanoseconds since 1970, UTC.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECOND: i64 = 1_000_000_000;

/// What Go writes for a time that never was.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// The time now.
pub(crate) fn now_nanos() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    nanos(since)
}

/// A duration in nanoseconds.
pub(crate) fn nanos(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// A time in milliseconds, rounded down.
pub(crate) fn millis(nanos: i64) -> i64 {
    nanos.div_euclid(1_000_000)
}

/// A time, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// 1 to 12.
    pub(crate) month: i64,
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
    pub(crate) nanos: i64,
}

impl Civil {
    /// The date and time of day. Years begin in March here, so that leap days come last; 400 of
    /// them have equally many days.
    pub(crate) fn of(nanos: i64) -> Self {
        let (secs, below) = (nanos.div_euclid(SECOND), nanos.rem_euclid(SECOND));
        let (days, of_day) = (secs.div_euclid(86_400), secs.rem_euclid(86_400));
        let shifted = days + 719_468;
        let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day: of_year - (153 * month_from_march + 2) / 5 + 1,
            hour: of_day / 3_600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            nanos: below,
        }
    }

    /// The fraction of the second with its point, without zeros at the end.
    fn fraction(&self) -> String {
        match self.nanos {
            0 => String::new(),
            nanos => format!(".{nanos:09}").trim_end_matches('0').to_owned(),
        }
    }

    fn date(&self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    fn clock(&self) -> String {
        format!("{:02}:{:02}:{:02}", self.hour, self.minute, self.second)
    }
}

/// RFC 3339 with as many decimals as are needed; zero is a time that never was.
pub(crate) fn rfc3339(nanos: i64) -> String {
    if nanos == 0 {
        return NEVER.to_owned();
    }
    let civil = Civil::of(nanos);
    format!("{}T{}{}Z", civil.date(), civil.clock(), civil.fraction())
}

/// RFC 3339 with milliseconds.
pub(crate) fn rfc3339_millis(nanos: i64) -> String {
    let civil = Civil::of(nanos);
    format!("{}T{}.{:03}Z", civil.date(), civil.clock(), civil.nanos / 1_000_000)
}

/// As Go prints a time.
pub(crate) fn go_time(nanos: i64) -> String {
    let civil = Civil::of(nanos);
    format!("{} {}{} +0000 UTC", civil.date(), civil.clock(), civil.fraction())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_go_does() {
        let nanos = 1_435_065_584_128_000_000;
        assert_eq!(rfc3339(nanos), "2015-06-23T13:19:44.128Z");
        assert_eq!(rfc3339_millis(nanos + 1), "2015-06-23T13:19:44.128Z");
        assert_eq!(go_time(nanos), "2015-06-23 13:19:44.128 +0000 UTC");
        assert_eq!(rfc3339(0), "0001-01-01T00:00:00Z");
        assert_eq!(go_time(951_782_400 * SECOND), "2000-02-29 00:00:00 +0000 UTC");
        assert_eq!(go_time(-SECOND), "1969-12-31 23:59:59 +0000 UTC");
        assert_eq!(millis(-1), -1);
    }
}
