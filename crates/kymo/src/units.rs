//! Numbers, times and names as people read them.

use std::time::Duration;

use kymo_store::block::meta::{day_name, day_of};

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// `1234567` as `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of bytes in the unit that gives it at most four digits.
pub(crate) fn bytes(number: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if number < 1024 {
        return format!("{number} B");
    }
    let mut value = number as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// `part` of `whole`, 0 if there is nothing.
pub(crate) fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Nanoseconds since 1970 as RFC 3339.
pub(crate) fn time(nanos: i64) -> String {
    let seconds = nanos.div_euclid(NANOS_PER_SECOND);
    let of_day = seconds.rem_euclid(SECONDS_PER_DAY);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let fraction = nanos.rem_euclid(NANOS_PER_SECOND);
    format!("{}T{hour:02}:{minute:02}:{second:02}.{fraction:09}Z", day_name(day_of(nanos)))
}

/// A span of time with three digits or so.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    match duration.as_secs() {
        0 => format!("{:.1} ms", seconds * 1000.0),
        1..120 => format!("{seconds:.1} s"),
        120..7200 => format!("{:.1} min", seconds / 60.0),
        7200..172_800 => format!("{:.1} h", seconds / 3600.0),
        _ => format!("{:.1} days", seconds / SECONDS_PER_DAY as f64),
    }
}

/// Nanoseconds with three digits, also below a millisecond and below zero.
pub(crate) fn nanos(nanos: i128) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let size = nanos.unsigned_abs();
    let (value, unit) = match size {
        0..1000 => return format!("{sign}{size} ns"),
        1000..1_000_000 => (size as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (size as f64 / 1e6, "ms"),
        1_000_000_000..120_000_000_000 => (size as f64 / 1e9, "s"),
        120_000_000_000..7_200_000_000_000 => (size as f64 / 60e9, "min"),
        _ => (size as f64 / 3600e9, "h"),
    };
    match value {
        0.0..9.995 => format!("{sign}{value:.2} {unit}"),
        9.995..99.95 => format!("{sign}{value:.1} {unit}"),
        _ => format!("{sign}{value:.0} {unit}"),
    }
}

/// Text from data, safe on a terminal: what moves the cursor, ends a line or turns the direction of
/// writing is escaped.
pub(crate) fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_control() || is_separator_or_direction(c) {
            true => safe.extend(c.escape_default()),
            false => safe.push(c),
        }
    }
    safe
}

/// Unicode's line and paragraph separators, and the marks that make text run the other way.
fn is_separator_or_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_scaled() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1000), "1,000");
        assert_eq!(count(12_345_678), "12,345,678");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
        assert_eq!(ratio(1, 0), 0.0);
    }

    #[test]
    fn times_before_and_after_1970_have_their_date() {
        assert_eq!(time(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(time(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(time(1_700_000_000_123_456_789), "2023-11-14T22:13:20.123456789Z");
        assert_eq!(duration(Duration::from_millis(1500)), "1.5 s");
        assert_eq!(duration(Duration::from_secs(600)), "10.0 min");
    }

    #[test]
    fn times_of_spans_have_three_digits() {
        let shown = [
            (0, "0 ns"),
            (999, "999 ns"),
            (1000, "1.00 µs"),
            (9_996, "10.0 µs"),
            (-5_000_000, "-5.00 ms"),
            (123_456_789, "123 ms"),
            (1_240_000_000, "1.24 s"),
            (600_000_000_000, "10.0 min"),
            (36_000_000_000_000, "10.0 h"),
        ];
        for (number, text) in shown {
            assert_eq!(nanos(number), text);
        }
    }

    #[test]
    fn text_from_data_cannot_move_the_cursor() {
        assert_eq!(printable("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(printable("größe"), "größe");
        for turning in "\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}".chars() {
            let number = u32::from(turning);
            assert_eq!(printable(&format!("a{turning}b")), format!("a\\u{{{number:x}}}b"));
        }
    }
}
