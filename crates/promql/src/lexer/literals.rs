//! What numbers, durations and texts mean.
//!
//! The literals are those that the lexer accepted. Not all of them have a meaning: `1m1h` looks
//! like a duration and is none.

use super::Result;
use crate::names::quoted;

/// Units of durations in the order in which they must be written.
const UNITS: [(&str, u64); 7] = [
    ("y", 365 * 24 * 3_600_000),
    ("w", 7 * 24 * 3_600_000),
    ("d", 24 * 3_600_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];

/// The longest duration: nanoseconds must fit into 63 bits.
const MAX_DURATION_MILLIS: u64 = i64::MAX as u64 / 1_000_000;

/// The text between quotes, escapes resolved. Bytes that are no UTF-8 become U+FFFD. The literal
/// is one that the lexer accepted; of others the result is as good as it gets.
pub(crate) fn unquoted(literal: &str) -> String {
    let mut letters = literal.chars();
    let quote = letters.next();
    letters.next_back();
    let inner = letters.as_str();
    if quote == Some('`') || !inner.contains('\\') {
        return inner.to_owned();
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        if letter == '\\' {
            unescape(&mut letters, &mut bytes);
        } else {
            push_char(&mut bytes, letter);
        }
    }
    String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// What the escape sequence behind a backslash stands for.
fn unescape(letters: &mut std::str::Chars<'_>, bytes: &mut Vec<u8>) {
    let rest = letters.as_str();
    let Some(kind) = letters.next() else { return };
    let mut code = |from: usize, digits: usize, base: u32| {
        letters.by_ref().take(from + digits - 1).for_each(drop);
        let digits = rest.get(from..from + digits).unwrap_or_default();
        u32::from_str_radix(digits, base).unwrap_or_default()
    };
    match kind {
        'a' => bytes.push(0x07),
        'b' => bytes.push(0x08),
        'f' => bytes.push(0x0c),
        'n' => bytes.push(b'\n'),
        'r' => bytes.push(b'\r'),
        't' => bytes.push(b'\t'),
        'v' => bytes.push(0x0b),
        // The lexer made sure that both fit into a byte.
        '0'..='7' => bytes.push(code(0, 3, 8) as u8),
        'x' => bytes.push(code(1, 2, 16) as u8),
        'u' | 'U' => {
            let letter = char::from_u32(code(1, if kind == 'u' { 4 } else { 8 }, 16));
            push_char(bytes, letter.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        letter => push_char(bytes, letter),
    }
}

fn push_char(bytes: &mut Vec<u8>, letter: char) {
    bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The value of a number: decimal, hexadecimal, octal with a leading zero, infinite or none.
pub(crate) fn number(literal: &str) -> Result<f64> {
    let failed = |reason: &str| {
        let literal = quoted(literal);
        format!("error parsing number: strconv.ParseFloat: parsing {literal}: {reason}")
    };
    match &*literal.to_ascii_lowercase() {
        "inf" => return Ok(f64::INFINITY),
        "nan" => return Ok(f64::NAN),
        _ => {}
    }
    let digits = literal.replace('_', "");
    if !has_good_underscores(literal) {
        return Err(failed("invalid syntax"));
    }
    if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        let value = i64::from_str_radix(hex, 16).map_err(|_| failed("invalid syntax"))?;
        return Ok(value as f64);
    }
    if let Some(octal) = digits.strip_prefix('0')
        && let Ok(value) = i64::from_str_radix(octal, 8)
    {
        return Ok(value as f64);
    }
    let value: f64 = digits.parse().map_err(|_| failed("invalid syntax"))?;
    if value.is_infinite() { Err(failed("value out of range")) } else { Ok(value) }
}

/// Underscores stand between digits, or between `0x` and a digit.
fn has_good_underscores(literal: &str) -> bool {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = literal.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_').all(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let is_prefix = at == 2 && matches!(before, Some(b'x' | b'X'));
        (is_digit(before) || is_prefix) && is_digit(bytes.get(at + 1))
    })
}

/// The seconds of a duration such as `1h30m`.
pub(crate) fn duration(literal: &str) -> Result<f64> {
    let invalid = || format!("not a valid duration string: {}", quoted(literal));
    let too_long = || "duration out of range".to_owned();
    let mut millis = 0u64;
    let mut units = UNITS.iter();
    let mut rest = literal;
    while !rest.is_empty() {
        let unit_at = rest.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(invalid)?;
        let (count, behind) = rest.split_at(unit_at);
        let next_at = behind.find(|letter: char| letter.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(next_at);
        // Each unit once, and the larger ones first.
        let (_, unit_millis) = units.find(|(name, _)| *name == unit).ok_or_else(invalid)?;
        if count.is_empty() {
            return Err(invalid());
        }
        let count: u64 = count.parse().map_err(|_| too_long())?;
        let part = count.checked_mul(*unit_millis).ok_or_else(too_long)?;
        millis = millis.checked_add(part).ok_or_else(too_long)?;
        rest = behind;
    }
    if millis > MAX_DURATION_MILLIS {
        return Err(too_long());
    }
    Ok((millis / 1000) as f64 + (millis % 1000) as f64 / 1e3)
}

/// A duration as Prometheus writes it: `1h30m`. Whole milliseconds; what is less is cut off. The
/// sign is left out.
pub(crate) fn duration_text(seconds: f64) -> String {
    // Seconds in binary are seldom whole milliseconds: 1.001 is a little less.
    let nanos = (seconds.abs() * 1e9).round() as u64;
    let millis = nanos / 1_000_000;
    if millis == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    let mut rest = millis;
    for (unit, unit_millis) in UNITS {
        // Years and weeks are written only if nothing is left.
        let must_be_exact = matches!(unit, "y" | "w");
        let count = rest / unit_millis;
        if count == 0 || must_be_exact && !rest.is_multiple_of(unit_millis) {
            continue;
        }
        text.push_str(&count.to_string());
        text.push_str(unit);
        rest %= unit_millis;
    }
    text
}
