//! `printf` with the verbs, flags and complaints of Go.

use kymo_promql::names::quoted;
use kymo_promql::number::format_g;

use super::value::Value;
use crate::limits::MAX_PRINTF_WIDTH;

/// What stands between `%` and the verb.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    is_left: bool,
    has_plus: bool,
    has_space: bool,
    has_sharp: bool,
    has_zero: bool,
    width: usize,
    precision: Option<usize>,
}

/// Puts values into a format.
pub(super) fn sprintf(format: &str, values: &[Value]) -> String {
    let mut out = String::new();
    let mut values = values.iter();
    let mut rest = format;
    while let Some((before, behind)) = rest.split_once('%') {
        out.push_str(before);
        let (flags, behind) = flags(behind, &mut values);
        let mut letters = behind.chars();
        let Some(verb) = letters.next() else {
            out.push_str("%!(NOVERB)");
            return out;
        };
        rest = letters.as_str();
        match verb {
            '%' => out.push('%'),
            verb => match values.next() {
                Some(value) => out.push_str(&padded(&one(verb, value, flags), flags)),
                None => out.push_str(&format!("%!{verb}(MISSING)")),
            },
        }
    }
    out.push_str(rest);
    let extra: Vec<String> =
        values.map(|value| format!("{}={}", value.type_name(), value.show())).collect();
    if !extra.is_empty() {
        out.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    out
}

fn flags<'a>(text: &'a str, values: &mut std::slice::Iter<'_, Value>) -> (Flags, &'a str) {
    let mut flags = Flags::default();
    let mut rest = text;
    loop {
        match rest.as_bytes().first() {
            Some(b'-') => flags.is_left = true,
            Some(b'+') => flags.has_plus = true,
            Some(b' ') => flags.has_space = true,
            Some(b'#') => flags.has_sharp = true,
            Some(b'0') => flags.has_zero = true,
            _ => break,
        }
        rest = &rest[1..];
    }
    let mut number = |rest: &mut &'a str| -> usize {
        if let Some(behind) = rest.strip_prefix('*') {
            *rest = behind;
            return match values.next() {
                Some(Value::Int(number)) => usize::try_from(*number).unwrap_or(0),
                _ => 0,
            };
        }
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..end].parse().unwrap_or(0);
        *rest = &rest[end..];
        number
    };
    flags.width = number(&mut rest).min(MAX_PRINTF_WIDTH);
    if let Some(behind) = rest.strip_prefix('.') {
        rest = behind;
        flags.precision = Some(number(&mut rest).min(MAX_PRINTF_WIDTH));
    }
    (flags, rest)
}

fn padded(text: &str, flags: Flags) -> String {
    let missing = flags.width.saturating_sub(text.chars().count());
    if missing == 0 {
        return text.to_owned();
    }
    let is_number =
        text.trim_start_matches(['+', '-', ' ']).starts_with(|c: char| c.is_ascii_digit());
    if flags.is_left {
        return format!("{text}{}", " ".repeat(missing));
    }
    if flags.has_zero && is_number {
        let sign = text.len() - text.trim_start_matches(['+', '-', ' ']).len();
        return format!("{}{}{}", &text[..sign], "0".repeat(missing), &text[sign..]);
    }
    format!("{}{text}", if flags.has_zero { "0" } else { " " }.repeat(missing))
}

/// One value, not padded yet.
fn one(verb: char, value: &Value, flags: Flags) -> String {
    let wrong = || match value {
        Value::Nil => format!("%!{verb}(<nil>)"),
        value => format!("%!{verb}({}={})", value.type_name(), value.show()),
    };
    match (verb, value) {
        ('T', value) => value.type_name().to_owned(),
        ('v', Value::Float(number)) => signed(*number, float('g', *number, flags.precision), flags),
        ('v' | 'd', Value::Int(number)) => signed(*number as f64, number.to_string(), flags),
        ('v', Value::Text(text)) if flags.has_sharp => quoted(text),
        ('v', Value::Nil) => "<nil>".to_owned(),
        ('v', value) => value.show(),
        ('t', Value::Bool(value)) => value.to_string(),
        ('d', Value::Duration(nanos)) => nanos.to_string(),
        ('f' | 'F' | 'e' | 'E' | 'g' | 'G', Value::Float(number)) => {
            signed(*number, float(verb, *number, flags.precision), flags)
        }
        ('s' | 'q' | 'x' | 'X', Value::Text(text)) => text_verb(verb, text, flags),
        ('q', Value::Int(code)) => {
            let letter = u32::try_from(*code).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
            format!("'{letter}'")
        }
        ('c', Value::Int(code)) => {
            u32::try_from(*code).ok().and_then(char::from_u32).unwrap_or('\u{fffd}').to_string()
        }
        ('U', Value::Int(code)) => format!("U+{code:04X}"),
        ('x' | 'X' | 'o' | 'b', Value::Int(number)) => {
            let size = number.unsigned_abs();
            let digits = match verb {
                'x' => format!("{size:x}"),
                'X' => format!("{size:X}"),
                'o' => format!("{size:o}"),
                _ => format!("{size:b}"),
            };
            let prefix = match (flags.has_sharp, verb) {
                (true, 'x') => "0x",
                (true, 'X') => "0X",
                (true, 'o') => "0",
                (true, 'b') => "0b",
                _ => "",
            };
            format!("{}{prefix}{digits}", if *number < 0 { "-" } else { "" })
        }
        ('s', Value::Nil | Value::Bool(_) | Value::Int(_) | Value::Float(_)) => wrong(),
        // What is made of texts is shown as such.
        ('s', value) => value.show(),
        _ => wrong(),
    }
}

fn signed(number: f64, text: String, flags: Flags) -> String {
    if number.is_sign_negative() || text.starts_with(['+', '-']) && !number.is_infinite() {
        return text;
    }
    let plain = text.strip_prefix('+').unwrap_or(&text);
    match (flags.has_plus, flags.has_space) {
        (true, _) => format!("+{plain}"),
        (false, true) => format!(" {plain}"),
        (false, false) => text,
    }
}

fn text_verb(verb: char, text: &str, flags: Flags) -> String {
    let cut: String = match flags.precision {
        Some(length) => text.chars().take(length).collect(),
        None => text.to_owned(),
    };
    match verb {
        's' => cut,
        'q' if flags.has_sharp && !cut.contains('`') => format!("`{cut}`"),
        'q' => quoted(&cut),
        'x' => cut.bytes().map(|byte| format!("{byte:02x}")).collect(),
        _ => cut.bytes().map(|byte| format!("{byte:02X}")).collect(),
    }
}

/// A float under one of the verbs `e`, `f` and `g`.
pub(super) fn float(verb: char, number: f64, precision: Option<usize>) -> String {
    if !number.is_finite() {
        return match number.is_nan() {
            true => "NaN".to_owned(),
            false => if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        };
    }
    let text = match (verb.to_ascii_lowercase(), precision) {
        ('f', precision) => format!("{number:.*}", precision.unwrap_or(6)),
        ('e', precision) => exponent(&format!("{number:.*e}", precision.unwrap_or(6))),
        (_, None) => format_g(number),
        (_, Some(precision)) => general(number, precision.max(1)),
    };
    if verb.is_ascii_uppercase() { text.to_uppercase() } else { text }
}

/// `1.5e2` as `1.5e+02`.
fn exponent(scientific: &str) -> String {
    let (mantissa, power) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let power: i32 = power.parse().unwrap_or(0);
    let sign = if power < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", power.unsigned_abs())
}

/// `%.4g`: so many digits, without zeros at the end.
fn general(number: f64, digits: usize) -> String {
    if number == 0.0 {
        return if number.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{number:.*e}", digits - 1);
    let (mantissa, power) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i64 = power.parse().unwrap_or(0);
    let is_plain = power >= -4 && power < i64::try_from(digits).unwrap_or(i64::MAX);
    let without_zeros = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if is_plain {
        let decimals = digits as i64 - 1 - power;
        return without_zeros(&format!("{number:.*}", usize::try_from(decimals).unwrap_or(0)));
    }
    exponent(&format!("{}e{power}", without_zeros(mantissa)))
}

/// A duration as Go prints it: `1h2m3.5s`.
pub(super) fn go_duration(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let size = nanos.unsigned_abs();
    let decimal = |whole: u64, fraction: u64, digits: usize| {
        let text = format!("{whole}.{fraction:0digits$}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match size {
        0 => "0s".to_owned(),
        1..1_000 => format!("{sign}{size}ns"),
        1_000..1_000_000 => format!("{sign}{}µs", decimal(size / 1_000, size % 1_000, 3)),
        1_000_000..1_000_000_000 => {
            format!("{sign}{}ms", decimal(size / 1_000_000, size % 1_000_000, 6))
        }
        _ => {
            let (secs, fraction) = (size / 1_000_000_000, size % 1_000_000_000);
            let (hours, minutes) = (secs / 3_600, secs / 60 % 60);
            let rest = decimal(secs % 60, fraction, 9);
            match (hours, minutes) {
                (0, 0) => format!("{sign}{rest}s"),
                (0, _) => format!("{sign}{minutes}m{rest}s"),
                _ => format!("{sign}{hours}h{minutes}m{rest}s"),
            }
        }
    }
}
