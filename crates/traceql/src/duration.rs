//! Durations as text: `1h30m`, `1.5s`, `100µs`.
//!
//! Two notations are read, and any mix of them: years to milliseconds as Prometheus writes them,
//! hours to nanoseconds as Go does. They are written as Go does.

use std::fmt;

/// Units, longest names first where one begins with another.
const UNITS: [(&str, i128); 11] = [
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ns", 1),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("d", 24 * 3_600 * 1_000_000_000),
    ("w", 7 * 24 * 3_600 * 1_000_000_000),
    ("y", 365 * 24 * 3_600 * 1_000_000_000),
];

/// Digits after a point that count: more than a nanosecond of a year needs.
const MAX_FRACTION_DIGITS: usize = 17;

/// The nanoseconds that a text such as `1h30m` or `1.5s` means, if it is a duration of less than 292
/// years. It has no sign, and no number is without a unit.
pub fn parse(text: &str) -> Option<i64> {
    if text.is_empty() {
        return None;
    }
    let mut rest = text;
    let mut nanos: i128 = 0;
    while !rest.is_empty() {
        let number = rest.len() - rest.trim_start_matches(|c: char| is_part_of_number(c)).len();
        let (number, after) = rest.split_at(number);
        let (unit, scale) = UNITS.iter().find(|(unit, _)| after.starts_with(unit))?;
        nanos = nanos.checked_add(scaled(number, *scale)?)?;
        rest = &after[unit.len()..];
    }
    i64::try_from(nanos).ok()
}

fn is_part_of_number(c: char) -> bool {
    c.is_ascii_digit() || c == '.'
}

/// A decimal number of units in nanoseconds, rounded down.
fn scaled(number: &str, scale: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = &fraction[..fraction.len().min(MAX_FRACTION_DIGITS)];
    let parts: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let divisor = 10i128.pow(fraction.len() as u32);
    whole.checked_mul(scale)?.checked_add(parts * scale / divisor)
}

/// Nanoseconds as Go prints them: `1h0m0s`, `304.2ms`, `0s`.
#[derive(Debug, Clone, Copy)]
pub struct Nanos(pub i64);

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        let nanos = self.0.unsigned_abs();
        if nanos == 0 {
            return f.write_str("0s");
        }
        if nanos < 1_000_000_000 {
            let (scale, unit) = match nanos {
                0..1_000 => (1, "ns"),
                1_000..1_000_000 => (1_000, "µs"),
                _ => (1_000_000, "ms"),
            };
            return decimal(f, nanos, scale).and_then(|()| f.write_str(unit));
        }
        let minutes = nanos / 60_000_000_000;
        if minutes >= 60 {
            write!(f, "{}h", minutes / 60)?;
        }
        if minutes > 0 {
            write!(f, "{}m", minutes % 60)?;
        }
        decimal(f, nanos % 60_000_000_000, 1_000_000_000)?;
        f.write_str("s")
    }
}

/// `nanos / scale` without zeros at the end.
fn decimal(f: &mut fmt::Formatter<'_>, nanos: u64, scale: u64) -> fmt::Result {
    write!(f, "{}", nanos / scale)?;
    let fraction = nanos % scale;
    if fraction == 0 {
        return Ok(());
    }
    let digits = scale.ilog10() as usize;
    let text = format!("{fraction:0digits$}");
    write!(f, ".{}", text.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_notations_are_read() {
        for (text, nanos) in [
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            ("100us", 100_000),
            ("100µs", 100_000),
            ("100μs", 100_000),
            ("10ns", 10),
            ("1w", 604_800_000_000_000),
            ("1y", 31_536_000_000_000_000),
            ("1d12h", 129_600_000_000_000),
            ("1m2s3ms", 62_003_000_000),
            (".5s", 500_000_000),
            ("0.000000001s", 1),
            ("1.00000000000000000000000001s", 1_000_000_000),
            ("292y", 292 * 31_536_000_000_000_000),
        ] {
            assert_eq!(parse(text), Some(nanos), "{text}");
        }
        for text in ["", "1", "s", ".s", "1x", "1.2.3s", "1h30", "400y", "99999999999999999999y"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn they_are_written_as_go_does_and_read_again() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (304_200_000, "304.2ms"),
            (1_000_000_000, "1s"),
            (60_000_000_000, "1m0s"),
            (5_400_000_000_000, "1h30m0s"),
            (3_600_000_000_001, "1h0m0.000000001s"),
            (-1_500_000, "-1.5ms"),
            (i64::MAX, "2562047h47m16.854775807s"),
        ] {
            assert_eq!(Nanos(nanos).to_string(), text);
            if nanos >= 0 {
                assert_eq!(parse(text), Some(nanos));
            }
        }
    }
}
