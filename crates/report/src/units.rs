//! Numbers and texts as people read them.

use serde::Serialize;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a number counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Whole things.
    Count,
    /// A number.
    Number,
    /// A time.
    Seconds,
    /// Things per second.
    PerSecond,
    /// Percent, from 0 to 100.
    Percent,
    /// A part, from 0 to 1.
    Share,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
}

/// A number with its unit.
pub(crate) fn with_unit(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Count => count(value.max(0.0).round() as u64),
        Unit::Number => number(value),
        Unit::Seconds => seconds(value),
        Unit::PerSecond => format!("{}/s", number(value)),
        Unit::Percent => percent(value),
        Unit::Share => percent(value * 100.0),
        Unit::Bytes => bytes(value),
        Unit::BytesPerSecond => format!("{}/s", bytes(value)),
    }
}

/// `1234567` as `1,234,567`.
#[must_use]
pub fn count(number: u64) -> String {
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

/// `1 task`, `2 tasks`.
pub(crate) fn plural(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// A number with three digits that say something.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return value.to_string();
    }
    let text = match size {
        0.0 => return "0".into(),
        0.0..0.001 => return format!("{value:.2e}"),
        0.001..1.0 => format!("{value:.3}"),
        1.0..99.95 => format!("{value:.2}"),
        99.95..9999.5 => format!("{value:.1}"),
        9999.5..1e15 => {
            let sign = if value < 0.0 { "-" } else { "" };
            return format!("{sign}{}", count(size.round() as u64));
        }
        _ => return format!("{value:.3e}"),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A time with three digits, in the unit that suits it.
#[must_use]
pub fn seconds(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    let size = value.abs();
    let (scaled, unit) = match size {
        0.0 => return "0 s".into(),
        0.0..0.999_5e-6 => (size * 1e9, "ns"),
        0.999_5e-6..0.999_5e-3 => (size * 1e6, "µs"),
        0.999_5e-3..0.999_5 => (size * 1e3, "ms"),
        0.999_5..120.0 => (size, "s"),
        120.0..7200.0 => (size / 60.0, "min"),
        7200.0..172_800.0 => (size / 3600.0, "h"),
        _ => (size / 86_400.0, "days"),
    };
    match scaled {
        0.0..9.995 => format!("{sign}{scaled:.2} {unit}"),
        9.995..99.95 => format!("{sign}{scaled:.1} {unit}"),
        _ => format!("{sign}{scaled:.0} {unit}"),
    }
}

/// A time beside an axis: no digits that say nothing.
pub(crate) fn axis_seconds(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        0.0 => return "0".into(),
        0.0..0.999_5e-6 => (value * 1e9, "ns"),
        0.999_5e-6..0.999_5e-3 => (value * 1e6, "µs"),
        0.999_5e-3..0.999_5 => (value * 1e3, "ms"),
        0.999_5..59.95 => (value, "s"),
        59.95..3599.5 => (value / 60.0, "min"),
        3599.5..86_399.5 => (value / 3600.0, "h"),
        _ => (value / 86_400.0, "d"),
    };
    format!("{} {unit}", number(scaled))
}

/// A number of bytes in the unit that gives it at most four digits.
#[must_use]
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if value.abs() < 1023.5 {
        return format!("{value:.0} B");
    }
    let (mut scaled, mut unit) = (value / 1024.0, 0);
    while scaled.abs() >= 1023.95 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    format!("{scaled:.1} {}", UNITS[unit])
}

/// Percent, with a digit behind the point below ten.
pub(crate) fn percent(value: f64) -> String {
    match value.abs() {
        0.0 => "0 %".into(),
        0.0..9.95 => format!("{value:.1} %"),
        _ => format!("{value:.0} %"),
    }
}

/// A difference as a part: `+12 %`.
pub(crate) fn change(part: f64) -> String {
    let percent = part * 100.0;
    match percent.abs() {
        0.0..0.05 => "±0 %".into(),
        0.05..9.95 => format!("{percent:+.1} %"),
        9.95..999.5 => format!("{percent:+.0} %"),
        _ => format!("×{}", number(part + 1.0)),
    }
}

/// Text from data, safe on a terminal and on one line: what moves the cursor, ends a line or turns
/// the direction of writing is escaped.
#[must_use]
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(
            c,
            '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        );
        match c.is_control() || turns {
            true => safe.extend(c.escape_default()),
            false => safe.push(c),
        }
    }
    safe
}

/// Columns that a text takes on a terminal.
#[must_use]
pub fn width(text: &str) -> usize {
    text.width()
}

/// Text from data, safe, in at most so many columns, with `…` where it was cut.
#[must_use]
pub fn fit(text: &str, columns: usize) -> String {
    let safe = printable(text);
    if width(&safe) <= columns {
        return safe;
    }
    let mut used = 1;
    let is_in = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= columns
    };
    let mut cut: String = safe.chars().take_while(is_in).collect();
    if columns > 0 {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_or_so() {
        let shown = [
            (0.0, "0"),
            (0.000_12, "1.20e-4"),
            (0.25, "0.25"),
            (3.0, "3"),
            (12.345, "12.35"),
            (123.45, "123.5"),
            (1_234_567.0, "1,234,567"),
            (-20_000.0, "-20,000"),
            (100.0, "100"),
        ];
        for (value, text) in shown {
            assert_eq!(number(value), text);
        }
        assert_eq!([0, 999, 1000].map(count), ["0", "999", "1,000"]);
        assert_eq!(
            (plural(1, "task"), plural(1200, "task")),
            ("1 task".into(), "1,200 tasks".into())
        );
    }

    #[test]
    fn times_bytes_and_parts_have_their_units() {
        for (value, text) in [
            (0.0, "0 s"),
            (2.5e-9, "2.50 ns"),
            (9.996e-6, "10.0 µs"),
            (0.123_456, "123 ms"),
            (1.5, "1.50 s"),
            (600.0, "10.0 min"),
            (36_000.0, "10.0 h"),
            (864_000.0, "10.0 days"),
            (-0.5, "-500 ms"),
        ] {
            assert_eq!(seconds(value), text);
        }
        let axis = [0.0, 0.02, 30.0, 60.0, 5400.0, 172_800.0].map(axis_seconds);
        assert_eq!(axis, ["0", "20 ms", "30 s", "1 min", "1.5 h", "2 d"]);
        assert_eq!((bytes(12.0), bytes(1536.0)), ("12 B".into(), "1.5 KiB".into()));
        assert_eq!(bytes(f64::from(u32::MAX)), "4.0 GiB");
        assert_eq!((percent(7.25), percent(99.6)), ("7.2 %".into(), "100 %".into()));
        assert_eq!(
            (change(0.123), change(-0.5), change(29.0)),
            ("+12 %".into(), "-50 %".into(), "×30".into())
        );
    }

    #[test]
    fn texts_are_cut_by_columns_and_cannot_move_the_cursor() {
        assert_eq!(fit("größer", 5), "größ…");
        assert_eq!(fit("日本語", 4), "日…");
        assert_eq!(fit("a\u{1b}[2J", 20), "a\\u{1b}[2J");
        assert_eq!(fit("ab", 0), "");
    }

    #[test]
    fn what_turns_the_direction_of_writing_is_escaped() {
        assert_eq!(printable("a\u{1b}[2Jb\n"), "a\\u{1b}[2Jb\\n");
        assert_eq!(printable("größe"), "größe");
        for turning in "\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}".chars() {
            let number = u32::from(turning);
            assert_eq!(printable(&format!("a{turning}b")), format!("a\\u{{{number:x}}}b"));
        }
    }
}
