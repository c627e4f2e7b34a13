//! Days and times in the Gregorian calendar, UTC.

/// A time, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Date {
    pub(crate) year: i64,
    /// 1 to 12.
    pub(crate) month: u32,
    /// 1 to 31.
    pub(crate) day: u32,
    /// 0 is Sunday.
    pub(crate) weekday: u32,
    /// 1 to 366.
    pub(crate) year_day: u32,
    pub(crate) hour: u32,
    pub(crate) minute: u32,
    pub(crate) second: u32,
}

const DAY_SECS: i64 = 86_400;

impl Date {
    /// The date of a number of seconds since 1970.
    pub(crate) fn of_unix(secs: i64) -> Self {
        let (days, in_day) = (secs.div_euclid(DAY_SECS), secs.rem_euclid(DAY_SECS));
        let (year, month, day) = civil(days);
        let first = days_of(year, 1, 1);
        Self {
            year,
            month,
            day,
            weekday: (days + 4).rem_euclid(7) as u32,
            year_day: (days - first + 1) as u32,
            hour: (in_day / 3600) as u32,
            minute: (in_day / 60 % 60) as u32,
            second: (in_day % 60) as u32,
        }
    }

    /// How many days the month has.
    pub(crate) fn days_in_month(&self) -> u32 {
        let (year, month) =
            if self.month == 12 { (self.year + 1, 1) } else { (self.year, self.month + 1) };
        (days_of(year, month, 1) - days_of(self.year, self.month, 1)) as u32
    }
}

/// `2006-01-02T15:04:05Z`.
pub(crate) fn rfc3339(secs: i64) -> String {
    let date = Date::of_unix(secs);
    let Date { year, month, day, hour, minute, second, .. } = date;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a number of days since 1970. Eras of 400 years have
/// equally many days, and years that begin in March have their leap day last.
fn civil(days: i64) -> (i64, u32, u32) {
    let shifted = days.saturating_add(719_468);
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * from_march + 2) / 5 + 1) as u32;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day)
}

/// Days from 1970 to a date.
fn days_of(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = i64::from(if month > 2 { month - 3 } else { month + 9 });
    let of_year = (153 * from_march + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        let date = Date::of_unix(1_709_251_199); // 2024-02-29T23:59:59Z, a Thursday
        assert_eq!((date.weekday, date.year_day, date.days_in_month()), (4, 60, 29));
        assert_eq!(Date::of_unix(1_735_603_200).days_in_month(), 31);
        assert_eq!((Date::of_unix(0).weekday, Date::of_unix(0).year_day), (4, 1));
    }

    #[test]
    fn every_day_is_followed_by_the_next() {
        let mut before = Date::of_unix(-800 * 366 * DAY_SECS);
        for day in -800 * 366 + 1..800 * 366 {
            let date = Date::of_unix(day * DAY_SECS);
            assert_eq!(date.weekday, (before.weekday + 1) % 7);
            let is_next = date.day == before.day + 1 && date.month == before.month;
            assert!(is_next || (date.day == 1 && before.day == before.days_in_month()), "{date:?}");
            before = date;
        }
    }

    #[test]
    fn no_time_is_too_far() {
        for secs in [i64::MIN, i64::MAX] {
            assert!(Date::of_unix(secs).days_in_month() >= 28);
        }
    }
}
