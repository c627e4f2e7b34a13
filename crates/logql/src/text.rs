//! Texts out of their quotes, and numbers as text.

/// A text between quotes or backticks, with its escapes read as Go reads them.
pub(crate) fn unquoted(text: &str) -> Result<String, String> {
    if let Some(raw) = text.strip_prefix('`') {
        // Go leaves carriage returns out of raw texts.
        return Ok(raw.strip_suffix('`').unwrap_or(raw).replace('\r', ""));
    }
    let inner = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
    if !inner.contains('\\') {
        return Ok(inner.to_owned());
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        rest = escape(&rest[at + 1..], &mut bytes)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8(bytes).map_err(|_| "the text is not UTF-8".to_owned())
}

/// Reads what follows a backslash; gives what follows that.
fn escape<'a>(rest: &'a str, bytes: &mut Vec<u8>) -> Result<&'a str, String> {
    let Some(letter) = rest.chars().next() else {
        return Err("the text ends within an escape".to_owned());
    };
    let after = &rest[letter.len_utf8()..];
    let plain = match letter {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '"' => letter as u8,
        'x' => return digits(after, 2, 16, bytes),
        'u' => return digits(after, 4, 16, bytes),
        'U' => return digits(after, 8, 16, bytes),
        '0'..='7' => return digits(rest, 3, 8, bytes),
        other => return Err(format!("\\{other} is no escape; write \\\\ for a backslash")),
    };
    bytes.push(plain);
    Ok(after)
}

/// Reads an escape by number: two or three digits are a byte, more are a character.
fn digits<'a>(
    rest: &'a str,
    count: usize,
    radix: u32,
    bytes: &mut Vec<u8>,
) -> Result<&'a str, String> {
    let wrong = || format!("an escape wants {count} digits");
    let digits = rest.get(..count).ok_or_else(wrong)?;
    if !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(wrong());
    }
    let number = u32::from_str_radix(digits, radix).map_err(|_| wrong())?;
    if count <= 3 {
        bytes.push(u8::try_from(number).map_err(|_| format!("\\{digits} is no byte"))?);
    } else {
        let letter =
            char::from_u32(number).ok_or_else(|| format!("\\u{digits} is no character"))?;
        bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
    Ok(&rest[count..])
}

/// A number as it is written in queries: never with an exponent, unless it is too large for one.
pub(crate) fn number(value: f64) -> String {
    if value.is_nan() {
        // The language has no word for it, but this is it.
        "(0 / 0)".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "1e999" } else { "-1e999" }.to_owned()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use kymo_pattern::names::quoted;

    use super::*;

    #[test]
    fn texts_are_quoted_and_unquoted() {
        for text in ["", "a", "a\"b\\c", "tab\tline\n", "日本\u{1}\u{7f}"] {
            assert_eq!(unquoted(&quoted(text)).unwrap(), text);
        }
        assert_eq!(unquoted(r#""t\u0074y \x41\101 \U0001F600""#).unwrap(), "tty AA 😀");
        assert_eq!(unquoted(r"`C:\temp`").unwrap(), r"C:\temp");
        assert_eq!(unquoted(r#""é\\""#).unwrap(), "é\\");
    }

    #[test]
    fn escapes_that_are_none_are_refused() {
        for text in [r#""\q""#, r#""\x4""#, r#""\xé9""#, r#""\uD800""#, r#""\400""#, r#""\xff""#] {
            assert!(unquoted(text).is_err(), "{text}");
        }
    }
}
