//! Labels of a stream: from their text, checked, sorted, and as a resource. Names of metadata.

use std::borrow::Cow;

use crate::common::AnyValueView;
use crate::encode::Writer;
use crate::limits::MAX_QUOTED_LABELS_CHARS;
use crate::tags::resource;

/// Names and values as they came, and what is wrong with them, if anything is.
pub(super) type Pairs<'a> = Vec<(Cow<'a, [u8]>, Cow<'a, [u8]>)>;

/// Reads `{app="shop", pod="a-1"}`. Strings have Go's escapes, or stand between backquotes.
pub(super) fn parse(text: &[u8]) -> Result<Pairs<'_>, String> {
    let wrong = |expected: &str, rest: &[u8]| {
        let at = text.len() - rest.len();
        format!("labels {}: expected {expected} at byte {at}", quoted(text))
    };
    let mut rest = text.trim_ascii();
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let mut pairs = Vec::new();
    let Some(after) = rest.strip_prefix(b"{") else { return Err(wrong("{", rest)) };
    rest = after.trim_ascii_start();
    loop {
        if let Some(after) = rest.strip_prefix(b"}") {
            let end = after.trim_ascii_start();
            return if end.is_empty() { Ok(pairs) } else { Err(wrong("the end", end)) };
        }
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        if !is_name(name) {
            return Err(wrong("a name of letters, digits and _, or }", rest));
        }
        rest = after.trim_ascii_start();
        let Some(after) = rest.strip_prefix(b"=") else { return Err(wrong("=", rest)) };
        rest = after.trim_ascii_start();
        let Some((value, after)) = string(rest) else {
            return Err(wrong("a string in quotes", rest));
        };
        pairs.push((Cow::Borrowed(name), value));
        rest = after.trim_ascii_start();
        match rest.strip_prefix(b",") {
            Some(after) => rest = after.trim_ascii_start(),
            None if rest.starts_with(b"}") => {}
            None => return Err(wrong(", or }", rest)),
        }
    }
}

/// A string and what is behind it.
fn string(text: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    if let Some(raw) = text.strip_prefix(b"`") {
        let end = raw.iter().position(|byte| *byte == b'`')?;
        return Some((Cow::Borrowed(&raw[..end]), &raw[end + 1..]));
    }
    let inner = text.strip_prefix(b"\"")?;
    let special = inner.iter().position(|byte| matches!(byte, b'"' | b'\\' | b'\n'))?;
    if inner[special] == b'"' {
        return Some((Cow::Borrowed(&inner[..special]), &inner[special + 1..]));
    }
    let mut out = inner[..special].to_vec();
    let mut rest = &inner[special..];
    loop {
        match rest {
            [b'"', after @ ..] => return Some((Cow::Owned(out), after)),
            [b'\\', after @ ..] => rest = escape(after, &mut out)?,
            [b'\n', ..] | [] => return None,
            [byte, after @ ..] => {
                out.push(*byte);
                rest = after;
            }
        }
    }
}

/// Reads what follows a backslash, as Go does, and gives what is behind it.
fn escape<'a>(text: &'a [u8], out: &mut Vec<u8>) -> Option<&'a [u8]> {
    let (letter, rest) = text.split_first()?;
    let simple = match letter {
        b'a' => Some(0x07),
        b'b' => Some(0x08),
        b'f' => Some(0x0c),
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        b't' => Some(b'\t'),
        b'v' => Some(0x0b),
        b'\\' | b'"' => Some(*letter),
        _ => None,
    };
    if let Some(byte) = simple {
        out.push(byte);
        return Some(rest);
    }
    let (radix, digits, source) = match letter {
        b'x' => (16, 2, rest),
        b'u' => (16, 4, rest),
        b'U' => (16, 8, rest),
        b'0'..=b'7' => (8, 3, text),
        _ => return None,
    };
    let (digits, rest) = source.split_at_checked(digits)?;
    // A sign is no digit.
    let digits = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?;
    let number = u32::from_str_radix(digits, radix).ok()?;
    match letter {
        b'u' | b'U' => {
            let mut buffer = [0; 4];
            out.extend_from_slice(char::from_u32(number)?.encode_utf8(&mut buffer).as_bytes());
        }
        _ => out.push(u8::try_from(number).ok()?),
    }
    Some(rest)
}

/// A resource whose attributes are these labels, encoded; or why they cannot be labels.
pub(super) fn resource(mut pairs: Pairs<'_>, max_value_bytes: usize) -> Result<Vec<u8>, String> {
    pairs.sort_unstable();
    if let Some((name, _)) = pairs.iter().find(|(name, _)| !is_name(name)) {
        let name = quoted(name);
        return Err(format!("label {name}: expected a name of letters, digits and _"));
    }
    if let Some([(name, _), _]) = pairs.array_windows().find(|[(a, _), (b, _)]| a == b) {
        return Err(format!("label {} is there twice", quoted(name)));
    }
    if let Some((name, _)) = pairs.iter().find(|(_, value)| value.len() > max_value_bytes) {
        let name = quoted(name);
        return Err(format!("the value of label {name} is longer than {max_value_bytes} bytes"));
    }
    let mut writer = Writer::new();
    // A label without value is as good as none.
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        writer.key_value(resource::ATTRIBUTES >> 3, name, &AnyValueView::String(value));
    }
    Ok(writer.into_bytes())
}

fn is_name(name: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    name.first().is_some_and(|first| !first.is_ascii_digit()) && name.iter().all(is_part)
}

/// The name of structured metadata: what is no letter, digit or `_` becomes `_`, and a digit does not
/// stand in front (`1st key` is `key_1st_key`).
#[must_use]
pub fn metadata_name(name: &[u8]) -> Cow<'_, [u8]> {
    if is_name(name) {
        return Cow::Borrowed(name);
    }
    let mut out = Vec::with_capacity(name.len() + 4);
    if name.first().is_some_and(u8::is_ascii_digit) {
        out.extend_from_slice(b"key_");
    }
    for letter in String::from_utf8_lossy(name).chars() {
        let is_part = letter.is_ascii_alphanumeric() || letter == '_';
        out.push(if is_part { letter as u8 } else { b'_' });
    }
    if out.is_empty() {
        out.push(b'_');
    }
    Cow::Owned(out)
}

/// Some text as an error shows it: not all of it if it is long.
fn quoted(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    match text.char_indices().nth(MAX_QUOTED_LABELS_CHARS) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
