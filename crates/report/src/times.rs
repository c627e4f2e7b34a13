//! Moments as RFC 3339, read and written, in UTC.

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// Nanoseconds since 1970 as `2023-11-14T22:13:20.123456789Z`.
#[must_use]
pub fn rfc3339(nanos: u64) -> String {
    let (seconds, fraction) = (nanos / NANOS_PER_SECOND, nanos % NANOS_PER_SECOND);
    format!("{}T{}.{fraction:09}Z", date(seconds), clock(seconds))
}

/// The same for people: `2023-11-14 22:13:20 UTC`.
pub(crate) fn for_people(nanos: u64) -> String {
    let seconds = nanos / NANOS_PER_SECOND;
    format!("{} {} UTC", date(seconds), clock(seconds))
}

fn clock(seconds: u64) -> String {
    let of_day = seconds % SECONDS_PER_DAY;
    format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60)
}

fn date(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / SECONDS_PER_DAY);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Days since 1970 as year, month and day: years begin in March, so that leap days are last.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Reads what [`rfc3339`] writes, with any number of digits behind the second. Other zones than
/// UTC and years before 1970 are not read: none of our answers has them.
#[must_use]
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    let text = text.strip_suffix(['Z', 'z']).or_else(|| text.strip_suffix("+00:00"))?;
    let (date, time) = text.split_once(['T', 't', ' '])?;
    let mut date = date.split('-').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.split(':').map(|part| part.parse::<u64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let is_in_range = (1970..=2500).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60
        && fraction.bytes().all(|digit| digit.is_ascii_digit());
    if !is_in_range {
        return None;
    }
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    let (shifted_year, shifted_month) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = shifted_year / 4 - shifted_year / 100 + shifted_year / 400;
    let days = 365 * shifted_year + leap_days + (153 * shifted_month + 2) / 5 + day - 1;
    let seconds = (days - 719_468) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    // Past 2554, nanoseconds would not fit; years end before.
    Some(seconds * NANOS_PER_SECOND + digits.parse::<u64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_and_read_back() {
        for (nanos, text) in [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (1_700_000_000_123_456_789, "2023-11-14T22:13:20.123456789Z"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00.000000000Z"),
            (951_868_800_000_000_001, "2000-03-01T00:00:00.000000001Z"),
            (1_735_689_599_000_000_000, "2024-12-31T23:59:59.000000000Z"),
        ] {
            assert_eq!(rfc3339(nanos), text);
            assert_eq!(parse_rfc3339(text), Some(nanos));
        }
        assert_eq!(for_people(1_700_000_000_123_456_789), "2023-11-14 22:13:20 UTC");
        assert_eq!(parse_rfc3339("1970-01-01T00:00:01.5+00:00"), Some(1_500_000_000));
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in ["", "Z", "1970-01-01", "1969-12-31T00:00:00Z", "1970-13-01T00:00:00Z"] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
        assert_eq!(parse_rfc3339("2023-11-14T22:13:20.x5Z"), None);
        assert_eq!(parse_rfc3339("2023-11-14T22:13:20+02:00"), None);
    }
}
