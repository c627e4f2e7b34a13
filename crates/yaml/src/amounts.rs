//! Durations, sizes and counts as people write them: `1h30m`, `128MiB`, `200_000`.

use std::time::Duration;

const DURATION_UNITS: [(&str, u64); 7] = [
    ("w", 7 * 86_400_000_000_000),
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
];

const BINARY_UNITS: [(&str, u64); 4] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

const DECIMAL_UNITS: [(&str, u64); 6] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1000),
    ("KB", 1000),
    ("B", 1),
];

/// `200000` or `200_000`.
pub fn count(text: &str) -> Option<u64> {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    if is_number { text.replace('_', "").parse().ok() } else { None }
}

/// `128MiB`, `1 GB`, or a number of bytes.
pub fn size(text: &str) -> Option<u64> {
    let (number, unit) = split_number(text)?;
    let unit = unit.trim_start();
    let factor = match unit {
        "" => 1,
        unit => BINARY_UNITS.iter().chain(&DECIMAL_UNITS).find(|(name, _)| *name == unit)?.1,
    };
    number.checked_mul(factor)
}

/// The largest unit that needs no fraction.
pub fn size_text(bytes: u64) -> String {
    let unit = BINARY_UNITS.iter().find(|(_, factor)| bytes > 0 && bytes.is_multiple_of(*factor));
    match unit {
        Some((name, factor)) => format!("{}{name}", bytes / factor),
        None => format!("{bytes}B"),
    }
}

/// `10m`, `1h30m`; `0` needs no unit.
pub fn duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut nanos = 0u64;
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let unit_end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit_end);
        let factor = DURATION_UNITS.iter().find(|(name, _)| *name == unit)?.1;
        nanos = nanos.checked_add(number.checked_mul(factor)?)?;
        rest = after;
    }
    (!text.is_empty()).then(|| Duration::from_nanos(nanos))
}

/// As [`duration`] reads it, in hours at most: `36h` says more than `1d12h`.
pub fn duration_text(duration: Duration) -> String {
    let mut nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    let whole_days = nanos > 0 && nanos.is_multiple_of(DURATION_UNITS[1].1);
    let units = if whole_days { &DURATION_UNITS[1..] } else { &DURATION_UNITS[2..] };
    let mut text = String::new();
    for (name, factor) in units {
        if nanos >= *factor {
            text.push_str(&format!("{}{name}", nanos / factor));
            nanos %= factor;
        }
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

/// The digits a text begins with, and what follows.
fn split_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((count(digits)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written() {
        for (text, millis) in [
            ("500ms", 500),
            ("10m", 600_000),
            ("1h30m", 5_400_000),
            ("30d", 2_592_000_000),
            ("0", 0),
        ] {
            assert_eq!(duration(text), Some(Duration::from_millis(millis)), "{text}");
            assert_eq!(duration_text(Duration::from_millis(millis)), text);
        }
        assert_eq!(duration("1w"), duration("7d"));
        assert_eq!(duration_text(Duration::from_secs(36 * 3600)), "36h");
        for bad in ["", "10", "m", "10 minutes", "-1s", "1.5h", "10mm", "99999999999w", "1h30"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn sizes_are_read_and_written() {
        for (text, bytes) in
            [("128MiB", 128 << 20), ("1GiB", 1 << 30), ("1TiB", 1 << 40), ("7B", 7), ("0B", 0)]
        {
            assert_eq!(size(text), Some(bytes), "{text}");
            assert_eq!(size_text(bytes), text);
        }
        assert_eq!(size("1 GB"), Some(1_000_000_000));
        assert_eq!(size("4096"), Some(4096));
        for bad in ["", "MiB", "12 parsecs", "-1", "1.5GiB", "128mib", "99999999TiB"] {
            assert_eq!(size(bad), None, "{bad}");
        }
    }

    #[test]
    fn counts_may_be_grouped() {
        assert_eq!(count("200_000"), Some(200_000));
        for bad in ["", "_1", "1k", "+1", "1.0", "99999999999999999999"] {
            assert_eq!(count(bad), None, "{bad}");
        }
    }
}
