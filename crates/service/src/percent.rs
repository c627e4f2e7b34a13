//! Percent-encoding, of headers in variables.

/// What a percent-encoded text says. What is no escape stays as it is.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let escaped = bytes.get(at + 1..at + 3).filter(|_| byte == b'%').and_then(|digits| {
            let digit = |byte: u8| (byte as char).to_digit(16);
            u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()
        });
        decoded.push(escaped.unwrap_or(byte));
        at += if escaped.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_are_decoded_and_the_rest_stays() {
        assert_eq!(decode("Basic%20eDp5"), "Basic eDp5");
        assert_eq!(decode("100% %zz %4"), "100% %zz %4");
        assert_eq!(decode("%C3%A4%ff"), "ä\u{fffd}");
    }
}
