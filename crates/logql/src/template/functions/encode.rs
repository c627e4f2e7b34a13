//! Functions between notations: escapes, base 64, JSON, sizes, durations.

use std::fmt::Write;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::print::joined;
use super::super::value::Value;
use super::Call;
use super::text::text;
use crate::units::{parse_bytes, parse_go_duration_secs};

type Values<'a> = Vec<Value<'a>>;
type Outcome<'a> = Result<Value<'a>, String>;

/// A text in which some characters are written otherwise. The work is counted by the caller's size.
fn escaped(text: &str, mut escape: impl FnMut(char, &mut String)) -> String {
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|c| escape(c, &mut out));
    out
}

pub(super) fn html<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let text = joined(&values, call.around.labels);
    call.spend(text.len())?;
    Ok(Value::text(escaped(&text, |c, out| match c {
        '"' => out.push_str("&#34;"),
        '\'' => out.push_str("&#39;"),
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '\0' => out.push(char::REPLACEMENT_CHARACTER),
        c => out.push(c),
    })))
}

pub(super) fn js<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let text = joined(&values, call.around.labels);
    call.spend(text.len())?;
    Ok(Value::text(escaped(&text, |c, out| match c {
        '\\' | '\'' | '"' => out.extend(['\\', c]),
        '<' | '>' | '&' | '=' => push_code(out, c),
        c if c.is_control() => push_code(out, c),
        c => out.push(c),
    })))
}

fn push_code(out: &mut String, c: char) {
    // Writing to a text does not fail.
    let _ = write!(out, "\\u{:04X}", u32::from(c));
}

pub(super) fn urlquery<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let text = joined(&values, call.around.labels);
    call.spend(text.len())?;
    Ok(Value::text(query_escaped(&text)))
}

pub(super) fn urlencode<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::text(query_escaped(text(&values, 0))))
}

fn query_escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b' ' => out.push('+'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(byte.into())
            }
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

pub(super) fn urldecode<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let text = text(&values, 0);
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = after;
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits =
                    after.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
                let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
                rest = after.get(2..).unwrap_or_default();
                code.and_then(|code| u8::from_str_radix(code, 16).ok())
                    .ok_or("a percent sign without two digits of a hexadecimal number")?
            }
            byte => *byte,
        });
    }
    Ok(Value::text(lossy(bytes)))
}

/// Bytes as text; what is none becomes the replacement character.
fn lossy(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

pub(super) fn base64_encode<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    Ok(Value::text(STANDARD.encode(text(&values, 0))))
}

/// What is not base 64 becomes a text that says so, as in Loki.
pub(super) fn base64_decode<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let text: String = text(&values, 0).chars().filter(|c| !matches!(c, '\r' | '\n')).collect();
    Ok(Value::text(match STANDARD.decode(&text) {
        Ok(bytes) => lossy(bytes),
        Err(
            base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _),
        ) => {
            format!("illegal base64 data at input byte {at}")
        }
        Err(_) => format!("illegal base64 data at input byte {}", text.len() / 4 * 4),
    }))
}

/// What is not JSON is nil.
pub(super) fn from_json<'a>(call: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let text = text(&values, 0);
    call.spend(text.len().saturating_mul(8))?;
    Ok(serde_json::from_str(text).map_or(Value::Nil, Value::from_json))
}

pub(super) fn bytes<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let text = text(&values, 0);
    let bytes = parse_bytes(text).ok_or_else(|| format!("{text:?} is not a size, like 1.5KiB"))?;
    Ok(Value::Float(bytes as f64))
}

pub(super) fn duration<'a>(_: &mut Call<'a, '_>, values: Values<'a>) -> Outcome<'a> {
    let text = text(&values, 0);
    let secs = parse_go_duration_secs(text);
    secs.map(Value::Float).ok_or_else(|| format!("{text:?} is not a duration, like 1h2.5s"))
}
