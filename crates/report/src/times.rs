//! Moments as RFC 3339, in UTC.

const NANOS_PER_SECOND: u64 = 1_000_000_000;
const SECONDS_PER_DAY: u64 = 86_400;

/// Nanoseconds since 1970 as `2023-11-14T22:13:20.123456789Z`.
pub(crate) fn rfc3339(nanos: u64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_with_every_nanosecond() {
        for (nanos, text) in [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (1_700_000_000_123_456_789, "2023-11-14T22:13:20.123456789Z"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00.000000000Z"),
            (951_868_800_000_000_001, "2000-03-01T00:00:00.000000001Z"),
            (1_735_689_599_000_000_000, "2024-12-31T23:59:59.000000000Z"),
        ] {
            assert_eq!(rfc3339(nanos), text);
        }
        assert_eq!(for_people(1_700_000_000_123_456_789), "2023-11-14 22:13:20 UTC");
    }
}
