//! Times and durations as test reports write them.

use chrono::{DateTime, NaiveDateTime};

/// A duration in seconds, as nanoseconds; what is no duration is none.
///
/// Maven writes thousands with a comma, `1,234.567`, and some tools write the fraction with one,
/// `0,25`.
pub(super) fn nanos_of_seconds(text: &str) -> u64 {
    let text = text.trim();
    let number = match text.rsplit_once(',') {
        Some((_, fraction)) if is_grouped(text, fraction) => text.replace(',', ""),
        _ => text.replace(',', "."),
    };
    // Below zero, infinite and no number at all become 0, and what is too large the largest.
    (number.parse::<f64>().unwrap_or(0.0) * 1e9).round() as u64
}

/// Whether commas are between thousands: there is a full stop besides, or exactly three digits
/// follow a number that is not 0.
fn is_grouped(text: &str, after_comma: &str) -> bool {
    text.contains('.') || (after_comma.len() == 3 && !text.starts_with("0,"))
}

/// A moment as nanoseconds since 1970: ISO 8601, and in UTC if it does not say in which zone.
pub(super) fn moment_nanos(text: &str) -> Option<u64> {
    let text = text.trim();
    let nanos = match DateTime::parse_from_rfc3339(text) {
        Ok(moment) => moment.timestamp_nanos_opt(),
        // Zones without a colon, and then none.
        Err(_) => match DateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f%z") {
            Ok(moment) => moment.timestamp_nanos_opt(),
            Err(_) => {
                NaiveDateTime::parse_from_str(&text.replace(' ', "T"), "%Y-%m-%dT%H:%M:%S%.f")
                    .ok()?
                    .and_utc()
                    .timestamp_nanos_opt()
            }
        },
    };
    // Suites that were never started are of the year 1 or 1970.
    nanos.and_then(|nanos| u64::try_from(nanos).ok()).filter(|nanos| *nanos > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_tools_write_them() {
        for (text, nanos) in [
            ("0.25", 250_000_000),
            (" 1 ", 1_000_000_000),
            ("1,234.5", 1_234_500_000_000),
            ("1,234", 1_234_000_000_000),
            ("0,250", 250_000_000),
            ("0,25", 250_000_000),
            ("1e-3", 1_000_000),
            ("-1", 0),
            ("", 0),
            ("NaN", 0),
            ("inf", u64::MAX),
        ] {
            assert_eq!(nanos_of_seconds(text), nanos, "{text}");
        }
    }

    #[test]
    fn moments_are_in_utc_unless_they_say_otherwise() {
        let expected = Some(1_767_323_045_500_000_000);
        for text in [
            "2026-01-02T03:04:05.5",
            "2026-01-02T03:04:05.500Z",
            "2026-01-02 03:04:05.5",
            "2026-01-02T05:04:05.500+02:00",
            "2026-01-02T05:04:05.500+0200",
        ] {
            assert_eq!(moment_nanos(text), expected, "{text}");
        }
        for text in ["", "yesterday", "0001-01-01T00:00:00", "1970-01-01T00:00:00", "2026-01-02"] {
            assert_eq!(moment_nanos(text), None, "{text}");
        }
    }
}
