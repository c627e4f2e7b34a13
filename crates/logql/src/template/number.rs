//! Numbers as templates write them, and texts as numbers.

use crate::number;

/// A number in a template: of no type until it is used.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Number {
    pub(super) text: String,
    /// As a whole number, if it is one.
    pub(super) int: Option<i64>,
    pub(super) float: f64,
    /// Whether it is a float where nothing asks for a type: it is written with `.` or an exponent.
    pub(super) is_float: bool,
}

impl Number {
    /// Reads `12`, `-0x1F`, `1_000`, `1.5e3`, `0x1p3`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(int) = parse_int(text) {
            return Some(Self {
                text: text.to_owned(),
                int: Some(int),
                float: int as f64,
                is_float: false,
            });
        }
        let float = number::parse(text)?;
        // Hexadecimal digits were read above, unless there is an exponent.
        let is_float = text.contains(['.', 'e', 'E', 'p', 'P']);
        let is_whole = float.fract() == 0.0 && float.abs() < 9.2e18;
        (is_float && float.is_finite()).then(|| Self {
            text: text.to_owned(),
            int: is_whole.then_some(float as i64),
            float,
            is_float,
        })
    }

    /// A character constant: its code.
    pub(super) fn of_char(c: char) -> Self {
        let code = u32::from(c);
        Self {
            text: format!("{c:?}"),
            int: Some(i64::from(code)),
            float: f64::from(code),
            is_float: false,
        }
    }
}

/// A whole number with the prefixes of Go: `0x`, `0b`, `0o`, and `0` for octal; `_` between digits.
pub(super) fn parse_int(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.get(..2).map(str::to_ascii_lowercase);
    let (radix, digits) = match lower.as_deref() {
        Some("0x") => (16, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some(_) if digits.starts_with('0') => (8, &digits[1..]),
        _ => (10, digits),
    };
    let is_plain = digits.bytes().all(|b| b.is_ascii_alphanumeric());
    let has_lone_underscore =
        digits.ends_with('_') || digits.contains("__") || (radix == 10 && digits.starts_with('_'));
    if !is_plain
        && (has_lone_underscore || !digits.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
    {
        return None;
    }
    let value = i128::from_str_radix(&digits.replace('_', ""), radix).ok()?;
    i64::try_from(if is_negative { -value } else { value }).ok()
}

/// A text as a whole number, as conversions of functions have it: what follows a dot does not
/// count, and what is no number is 0.
pub(super) fn text_to_int(text: &str) -> i64 {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let is_decimal = whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
    let text = if is_decimal { &text[..text.len() - unsigned.len() + whole.len()] } else { text };
    parse_int(text).unwrap_or(0)
}

/// A text as a number; what is none is 0.
pub(super) fn text_to_float(text: &str) -> f64 {
    number::parse(text).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_the_prefixes_of_go() {
        for (text, value) in [
            ("0", 0),
            ("12", 12),
            ("-3", -3),
            ("+5", 5),
            ("0x1F", 31),
            ("0b11", 3),
            ("0o17", 15),
            ("017", 15),
            ("1_000", 1000),
            ("0x_ff", 255),
            ("-9223372036854775808", i64::MIN),
        ] {
            assert_eq!(parse_int(text), Some(value), "{text}");
        }
        for wrong in [
            "",
            "-",
            "x",
            "08",
            "1__0",
            "1_",
            "_1",
            "0x",
            "1.5",
            "9223372036854775808",
            "--1",
            "1 ",
        ] {
            assert_eq!(parse_int(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn texts_become_numbers_or_nothing() {
        for (text, value) in [
            ("7.25", 7),
            ("-7.9", -7),
            ("12", 12),
            ("", 0),
            ("x", 0),
            (".5", 0),
            ("1e3", 0),
            ("0x10", 16),
            ("1.2.3", 0),
            ("5.", 5),
            ("-", 0),
        ] {
            assert_eq!(text_to_int(text), value, "{text}");
        }
        assert_eq!(text_to_float("7.25"), 7.25);
        assert_eq!(text_to_float("1e3"), 1000.0);
        assert_eq!(text_to_float("x"), 0.0);
    }

    #[test]
    fn a_number_with_a_dot_or_exponent_is_a_float() {
        let number = Number::parse("1e3").unwrap();
        assert_eq!((number.int, number.is_float), (Some(1000), true));
        let number = Number::parse("1.5").unwrap();
        assert_eq!((number.int, number.float), (None, 1.5));
        assert!(
            Number::parse("1e999").is_none()
                && Number::parse("1x").is_none()
                && Number::parse("inf").is_none()
        );
    }
}
