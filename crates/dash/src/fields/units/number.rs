//! Digits of numbers.

use crate::frame::write_number;
use crate::limits;

/// A number with so many digits behind the point, or with two that say something.
pub(super) fn fixed(value: f64, decimals: Option<i64>) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    if value.is_nan() {
        return "NaN".to_owned();
    }
    let decimals = decimals.unwrap_or_else(|| significant(value)).clamp(0, limits::MAX_DECIMALS);
    let factor = 10f64.powi(decimals as i32);
    // Halves go up, as JavaScript rounds.
    let rounded = (value * factor + 0.5).floor();
    let rounded = if (value * factor).abs() >= 4.5e15 { value } else { rounded / factor };
    let text = write_number(rounded);
    if decimals == 0 || text.contains('e') {
        return text;
    }
    let digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let missing = (decimals as usize).saturating_sub(digits);
    let point = if digits == 0 { "." } else { "" };
    format!("{text}{point}{}", "0".repeat(missing))
}

/// How many digits behind the point show about two that differ from zero.
fn significant(value: f64) -> i64 {
    if value.fract() == 0.0 {
        return 0;
    }
    let size = value.abs();
    let power = (size.ln() / std::f64::consts::LN_10).floor() as i32;
    let decimals = 1 - power;
    let leading = size / 10f64.powi(-decimals);
    i64::from(decimals + i32::from(leading > 2.25)).max(0)
}

/// With commas between thousands, and three digits behind the point at most.
pub(super) fn thousands(value: f64, decimals: Option<i64>) -> String {
    if !value.is_finite() {
        return fixed(value, None);
    }
    let text = rounded(value.abs(), decimals.unwrap_or(3) as usize);
    let (whole, digits) = text.split_once('.').unwrap_or((&text, ""));
    let digits = digits.trim_end_matches('0');
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign = if value < 0.0 && (grouped != "0" || !digits.is_empty()) { "-" } else { "" };
    let point = if digits.is_empty() { "" } else { "." };
    format!("{sign}{grouped}{point}{digits}")
}

/// A number rounded by its decimal digits, so that 1.005 is 1.01 though its double is a bit less.
fn rounded(value: f64, decimals: usize) -> String {
    let text = format!("{value}");
    let Some((whole, digits)) = text.split_once('.').filter(|(_, d)| d.len() > decimals) else {
        return text;
    };
    let mut kept: Vec<u8> = whole.bytes().chain(digits.bytes().take(decimals)).collect();
    let mut carry = digits.as_bytes()[decimals] >= b'5';
    for digit in kept.iter_mut().rev() {
        if !carry {
            break;
        }
        carry = *digit == b'9';
        *digit = if carry { b'0' } else { *digit + 1 };
    }
    let mut text: String = kept.into_iter().map(char::from).collect();
    if carry {
        text.insert(0, '1');
    }
    text.insert(text.len() - decimals, '.');
    text
}

/// With an exponent: `1.5e+3`.
pub(super) fn scientific(value: f64, decimals: Option<i64>) -> String {
    if !value.is_finite() {
        return write_number(value);
    }
    let text = match decimals {
        Some(decimals) => format!("{:.*e}", decimals as usize, value),
        None => format!("{value:e}"),
    };
    match text.split_once('e') {
        Some((digits, power)) if !power.starts_with('-') => format!("{digits}e+{power}"),
        _ => text,
    }
}

/// In hexadecimal digits, rounded to a whole number unless digits behind the point are asked for.
pub(super) fn hexadecimal(value: f64, decimals: Option<i64>, prefix: &str) -> String {
    let Ok(rounded) = fixed(value, decimals).parse::<f64>() else {
        return fixed(value, decimals);
    };
    let sign = if rounded < 0.0 { "-" } else { "" };
    let size = rounded.abs();
    // Beyond this a number has more digits than anybody reads.
    let mut text =
        if size < 1.8e19 { format!("{:X}", size as u64) } else { "FFFFFFFFFFFFFFFF".into() };
    let mut rest = size.fract();
    if rest > 0.0 {
        text.push('.');
        // A double has at most 13 hexadecimal digits.
        for _ in 0..13 {
            rest *= 16.0;
            text.push(char::from_digit(rest as u32, 16).unwrap_or('0').to_ascii_uppercase());
            rest = rest.fract();
            if rest == 0.0 {
                break;
            }
        }
    }
    format!("{sign}{prefix}{text}")
}
