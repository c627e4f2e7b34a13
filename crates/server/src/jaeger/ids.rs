//! Ids of traces and spans as Jaeger writes them, and as it reads them.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::engine::general_purpose::{GeneralPurpose, STANDARD, STANDARD_NO_PAD, URL_SAFE};

/// Digits of a trace id.
const TRACE_DIGITS: usize = 32;
/// Digits of a span id.
const SPAN_DIGITS: usize = 16;
/// Characters of a trace id in base64, with padding.
const MAX_BASE64: usize = 24;

/// The id of a trace: 1 to 32 hexadecimal digits, or its bytes in base64.
pub(super) fn parse(text: &str) -> Result<[u8; 16], String> {
    let is_hex = !text.is_empty()
        && text.len() <= TRACE_DIGITS
        && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let id = match is_hex {
        true => u128::from_str_radix(text, 16).ok(),
        false => of_base64(text),
    };
    match id {
        Some(id) if id != 0 => Ok(id.to_be_bytes()),
        _ => Err(format!(
            "{text:?} is no trace id: 1 to 32 hexadecimal digits are expected, not all of them zero"
        )),
    }
}

fn of_base64(text: &str) -> Option<u128> {
    const ALPHABETS: [&GeneralPurpose; 4] =
        [&STANDARD, &URL_SAFE, &STANDARD_NO_PAD, &URL_SAFE_NO_PAD];
    if text.len() > MAX_BASE64 {
        return None;
    }
    let bytes = ALPHABETS.iter().find_map(|alphabet| alphabet.decode(text).ok())?;
    match <[u8; 16]>::try_from(bytes.as_slice()) {
        Ok(whole) => Some(u128::from_be_bytes(whole)),
        // Ids of 64 bits, which old clients have.
        Err(_) => <[u8; 8]>::try_from(bytes).ok().map(|half| u64::from_be_bytes(half).into()),
    }
}

/// All digits of a trace's id.
pub(super) fn trace(bytes: &[u8]) -> String {
    digits(bytes, TRACE_DIGITS)
}

/// All digits of a span's id.
pub(super) fn span(bytes: &[u8]) -> String {
    digits(bytes, SPAN_DIGITS)
}

/// Whether a span names a parent: old senders write zeros for none.
pub(super) fn is_set(id: &[u8]) -> bool {
    id.iter().any(|byte| *byte != 0)
}

fn digits(bytes: &[u8], count: usize) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(count);
    text.extend(std::iter::repeat_n('0', count.saturating_sub(bytes.len() * 2)));
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_from_hexadecimal_and_base64() {
        let id = parse("5B8efff798038103d269b633813fc60c").unwrap();
        assert_eq!(trace(&id), "5b8efff798038103d269b633813fc60c");
        for encoding in [&STANDARD, &URL_SAFE, &STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
            assert_eq!(parse(&encoding.encode(id)), Ok(id));
        }
        assert_eq!(parse("1a"), Ok(0x1a_u128.to_be_bytes()));
        assert_eq!(trace(&parse("1a").unwrap()), "0000000000000000000000000000001a");
        for bad in ["", "0", "0x1", "xyz", "a b", "123456789012345678901234567890123"] {
            assert!(parse(bad).unwrap_err().contains("hexadecimal"), "{bad}");
        }
    }

    #[test]
    fn short_ids_are_padded() {
        assert_eq!(span(&[0xab]), "00000000000000ab");
        assert_eq!(span(&[]), "0000000000000000");
        assert!(!is_set(&[0; 8]) && !is_set(&[]) && is_set(&[0, 1]));
    }
}
