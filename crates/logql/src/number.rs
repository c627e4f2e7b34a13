//! Numbers as Go writes them: `12`, `1_000`, `.5`, `1e3`, `0x1p-3`, `+Inf`.
//!
//! Literals of queries and templates and the values of labels are read alike. In hexadecimal
//! notation the exponent, of 2, must be there; `_` may stand between digits.

/// A number. What is written in digits and is too large is none; `inf` and `NaN` are numbers.
pub(crate) fn parse(text: &str) -> Option<f64> {
    // Few have one of these, and this is read for every line of a query.
    if text.contains(['_', 'x', 'X']) { parse_rare(text) } else { parse_decimal(text) }
}

fn parse_decimal(text: &str) -> Option<f64> {
    let value: f64 = text.parse().ok()?;
    let is_overflow = value.is_infinite() && text.contains(|letter: char| letter.is_ascii_digit());
    (!is_overflow).then_some(value)
}

/// The length of the literal that a text begins with, which may turn out to be no number.
pub(crate) fn literal_length(text: &str) -> usize {
    let run = |from: usize, belongs: fn(&u8) -> bool| {
        from + text.bytes().skip(from).take_while(belongs).count()
    };
    let is_hex = text.starts_with("0x") || text.starts_with("0X");
    let (mut end, exponents) = match is_hex {
        true => (run(2, |byte| byte.is_ascii_hexdigit() || b"_.".contains(byte)), ['p', 'P']),
        false => (run(0, is_digit), ['e', 'E']),
    };
    if !is_hex && text[end..].starts_with('.') {
        end = run(end + 1, is_digit);
    }
    if text[end..].starts_with(exponents) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = run(end + 1 + sign, is_digit);
        if exponent > end + 1 + sign {
            end = exponent;
        }
    }
    end
}

fn is_digit(byte: &u8) -> bool {
    byte.is_ascii_digit() || *byte == b'_'
}

/// A number with `_` or in hexadecimal notation.
fn parse_rare(text: &str) -> Option<f64> {
    let (is_negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let hex = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
    if !are_underscores_between_digits(hex.unwrap_or(unsigned), hex.is_some()) {
        return None;
    }
    let value = match hex {
        Some(digits) => parse_hex(&digits.replace('_', ""))?,
        // Only one sign may stand before it.
        None if unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') => {
            parse_decimal(&unsigned.replace('_', ""))?
        }
        None => return None,
    };
    Some(if is_negative { -value } else { value })
}

/// Whether each `_` stands between two digits, or between `0x` and one.
fn are_underscores_between_digits(text: &str, is_hex: bool) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (is_hex && byte.is_ascii_hexdigit());
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_').all(|(at, _)| {
        let follows = match at.checked_sub(1) {
            Some(before) => is_digit(bytes[before]),
            None => is_hex,
        };
        follows && bytes.get(at + 1).copied().is_some_and(is_digit)
    })
}

/// What follows `0x`: digits, perhaps with a dot, and the exponent.
fn parse_hex(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // An exponent beyond this is too large or too small for any text that a query may have.
    let mut exponent: i64 = exponent.parse().unwrap_or(match exponent.starts_with('-') {
        true => -MAX_EXPONENT,
        false => MAX_EXPONENT,
    });
    exponent = exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT);
    let mut value: u64 = 0;
    for (nth, digit) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(digit.to_digit(16)?);
        let is_behind_dot = nth >= whole.len();
        if value >> 60 == 0 {
            value = (value << 4) | digit;
            exponent -= if is_behind_dot { 4 } else { 0 };
        } else {
            // More digits than a float can hold only tell whether it has to be rounded up.
            value |= u64::from(digit != 0);
            exponent += if is_behind_dot { 0 } else { 4 };
        }
    }
    Some(scaled(value as f64, exponent)).filter(|value| value.is_finite())
}

const MAX_EXPONENT: i64 = 1 << 32;

/// A number times a power of 2, in steps that are floats themselves.
fn scaled(mut value: f64, mut exponent: i64) -> f64 {
    const STEP: i32 = 512;
    while exponent != 0 && value != 0.0 && value.is_finite() {
        let step = exponent.clamp(-i64::from(STEP), i64::from(STEP));
        // It lies between the steps' bounds.
        value *= 2.0_f64.powi(i32::try_from(step).unwrap_or(STEP));
        exponent -= step;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_go_reads_them() {
        for (text, value) in [
            ("0", 0.0),
            ("-12.5", -12.5),
            ("+.5", 0.5),
            ("5.", 5.0),
            ("1e3", 1000.0),
            ("1_000", 1000.0),
            ("-1_0.2_5e0_1", -102.5),
            ("0x1p3", 8.0),
            ("-0X1.8P+1", -3.0),
            ("0x_f_fp-4", 15.9375),
            ("0x.8p0", 0.5),
            ("0x1p-1074", 5e-324),
            ("0x1p-99999999999999999999", 0.0),
            ("0x1fffffffffffffp971", f64::MAX),
            ("0x10000000000000801p0", 18_446_744_073_709_555_712.0),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(parse(text), Some(value), "{text}");
        }
        assert!(parse("NaN").is_some_and(f64::is_nan));
    }

    #[test]
    fn what_is_no_number_is_not_taken_for_one() {
        for text in [
            "",
            "-",
            "x",
            "0x",
            "0x1",
            "0x1F",
            "0xp1",
            "0x1p",
            "0x1p+",
            "0x1.2.3p1",
            "0xgp1",
            "0x1p1_",
            "0x_ff_p-4",
            "00x1_0",
            "0x1p9999",
            "1e999",
            "_1",
            "1_",
            "1__0",
            "1_.5",
            "1._5",
            "-_1",
            "--1_0",
            "in_f",
            "1 ",
            "0b11",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_literal_ends_where_its_digits_end() {
        for (text, length) in [
            ("12", 2),
            ("1.5e-3s", 6),
            ("1em", 1),
            ("5m", 1),
            ("1_000 ", 5),
            ("0x1p3)", 5),
            ("0x1F", 4),
            ("0x1p-3-1", 6),
            ("1..2", 2),
            ("3é", 1),
        ] {
            assert_eq!(literal_length(text), length, "{text}");
        }
    }
}
