//! Durations and sizes as Prometheus writes them: `1h30m`, `100ms`, `64MB`.
//!
//! Beyond Prometheus, a number may have a fraction: `0.1s` is `100ms`.

use std::time::Duration;

/// Units of time in milliseconds, largest first, as they must follow one another.
const TIME_UNITS: [(&str, u64); 7] = [
    ("y", 365 * 24 * 3_600_000),
    ("w", 7 * 24 * 3_600_000),
    ("d", 24 * 3_600_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Reads a duration. `None` if it is none, or one of more than a thousand years.
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    const MAX_MILLIS: f64 = 1_000.0 * 365.0 * 24.0 * 3_600_000.0;
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut millis = 0.0;
    let mut units = TIME_UNITS.iter();
    let mut rest = text;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(number_end);
        let unit_end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(unit_end);
        // A unit is looked for behind the one before, so none comes twice.
        let (_, unit_millis) = units.find(|(name, _)| *name == unit)?;
        millis += number.parse::<f64>().ok()? * *unit_millis as f64;
        rest = behind;
    }
    let is_given = !text.is_empty();
    (is_given && millis <= MAX_MILLIS).then(|| Duration::from_millis(millis.round() as u64))
}

/// Writes a duration as labels and the API show it: `1m`, `1m30s`, `100ms`.
#[must_use]
pub fn format_duration(duration: Duration) -> String {
    let mut rest = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if rest == 0 {
        return "0s".to_owned();
    }
    let mut out = String::new();
    for (name, unit_millis) in TIME_UNITS {
        // Years, weeks and days are shown only where nothing is left below them.
        let is_large = unit_millis >= 24 * 3_600_000;
        if is_large && !rest.is_multiple_of(unit_millis) {
            continue;
        }
        let count = rest / unit_millis;
        if count > 0 {
            out.push_str(&format!("{count}{name}"));
            rest -= count * unit_millis;
        }
    }
    out
}

/// Reads a size in bytes, of which a thousand and twenty-four make the next unit.
pub(super) fn parse_bytes(text: &str) -> Option<u64> {
    let digits_end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits_end);
    let exponent = match unit.trim() {
        "" | "B" => 0,
        "KB" | "KiB" => 1,
        "MB" | "MiB" => 2,
        "GB" | "GiB" => 3,
        "TB" | "TiB" => 4,
        "PB" | "PiB" => 5,
        "EB" | "EiB" => 6,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1024u64.checked_pow(exponent)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_as_prometheus_does() {
        for (text, millis, written) in [
            ("15s", 15_000, "15s"),
            ("100ms", 100, "100ms"),
            ("0.1s", 100, "100ms"),
            ("1m30s", 90_000, "1m30s"),
            ("1h", 3_600_000, "1h"),
            ("1d", 86_400_000, "1d"),
            ("25h", 90_000_000, "25h"),
            ("0", 0, "0s"),
            ("0s", 0, "0s"),
        ] {
            let duration = parse_duration(text).unwrap();
            assert_eq!(duration.as_millis(), millis, "{text}");
            assert_eq!(format_duration(duration), written);
        }
        for text in ["", "15", "s", "15s1m", "1s1s", "-1s", "1x", "1 s", "1.2.3s", "9999999999y"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_have_units_of_1024() {
        assert_eq!(parse_bytes("10MB"), Some(10 << 20));
        assert_eq!(parse_bytes("512"), Some(512));
        assert_eq!(parse_bytes("1KiB"), Some(1024));
        for text in ["", "MB", "1XB", "-1", "1.5MB", "99999999EB"] {
            assert_eq!(parse_bytes(text), None, "{text}");
        }
    }
}
