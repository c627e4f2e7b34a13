//! Numbers, durations and text, as Go writes them.

use super::{Lexer, TokenKind};
use crate::duration;

impl<'a> Lexer<'a> {
    /// An integer, a float, or a duration: what follows a number without a blank belongs to it.
    pub(super) fn number(&mut self) -> Result<TokenKind<'a>, String> {
        let start = self.at;
        self.take_while(|c| c.is_ascii_digit());
        let mut is_float = self.accept(".");
        self.take_while(|c| c.is_ascii_digit());
        is_float |= self.exponent();
        let number = &self.text[start..self.at];
        let rest = self.take_while(|c| c.is_alphanumeric() || matches!(c, '.' | '_'));
        let all = &self.text[start..self.at];
        if !rest.is_empty() {
            return duration::parse(all)
                .map(TokenKind::Duration)
                .ok_or_else(|| format!("{all:?} is neither a number nor a duration"));
        }
        let too_large = || format!("{number} is too large");
        if is_float {
            let value: f64 = number.parse().map_err(|_| format!("{number:?} is not a number"))?;
            return if value.is_finite() { Ok(TokenKind::Float(value)) } else { Err(too_large()) };
        }
        number.parse().map(TokenKind::Int).map_err(|_| too_large())
    }

    /// Takes `e10`, `E-3`; leaves what only begins so.
    fn exponent(&mut self) -> bool {
        let start = self.at;
        if self.accept("e") || self.accept("E") {
            let _has_sign = self.accept("+") || self.accept("-");
            if !self.take_while(|c| c.is_ascii_digit()).is_empty() {
                return true;
            }
        }
        self.at = start;
        false
    }

    /// Text in backquotes: as it is, but for carriage returns.
    pub(super) fn raw_text(&mut self) -> Result<String, String> {
        self.at += 1;
        let text = self.take_while(|c| c != '`');
        if self.accept("`") { Ok(text.replace('\r', "")) } else { Err(not_closed('`')) }
    }

    /// Text in double quotes, with escapes.
    pub(super) fn quoted_text(&mut self) -> Result<String, String> {
        self.at += 1;
        // Bytes, because `\xe6\x97\xa5` is three escapes but one character.
        let mut bytes = Vec::new();
        let mut fault = None;
        loop {
            let plain = self.take_while(|c| !matches!(c, '"' | '\\' | '\n'));
            bytes.extend_from_slice(plain.as_bytes());
            if self.accept("\"") {
                break;
            }
            if !self.accept("\\") {
                return Err(not_closed('"'));
            }
            // The text is read to its end in any case, so that the next token is the next.
            if let Err(reason) = self.escape(&mut bytes) {
                fault.get_or_insert(reason);
            }
        }
        match fault {
            Some(reason) => Err(reason),
            None => String::from_utf8(bytes).map_err(|_| "text must be UTF-8".to_owned()),
        }
    }

    /// What follows a backslash.
    fn escape(&mut self, bytes: &mut Vec<u8>) -> Result<(), String> {
        let Some(c) = self.peek() else { return Err(not_closed('"')) };
        let unknown = || format!("\"\\{c}\" is not an escape");
        if c.is_ascii_digit() {
            let value = self.digits(3, 8).and_then(|value| u8::try_from(value).ok());
            bytes.push(value.ok_or_else(unknown)?);
            return Ok(());
        }
        self.at += c.len_utf8();
        let byte = match c {
            'a' => 0x07,
            'b' => 0x08,
            'f' => 0x0c,
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'v' => 0x0b,
            '\\' => b'\\',
            '"' => b'"',
            'x' => self.digits(2, 16).ok_or_else(unknown)? as u8,
            'u' | 'U' => {
                let code = self.digits(if c == 'u' { 4 } else { 8 }, 16);
                let character = code.and_then(char::from_u32).ok_or_else(unknown)?;
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(());
            }
            _ => return Err(unknown()),
        };
        bytes.push(byte);
        Ok(())
    }

    /// Exactly so many digits.
    fn digits(&mut self, count: usize, radix: u32) -> Option<u32> {
        let digits = self.rest().get(..count)?;
        if !digits.chars().all(|c| c.is_digit(radix)) {
            return None;
        }
        self.at += count;
        u32::from_str_radix(digits, radix).ok()
    }
}

fn not_closed(quote: char) -> String {
    format!("text is not closed: expected {quote:?}")
}

#[cfg(test)]
mod tests {
    use super::super::tokens;
    use super::*;

    fn one(text: &str) -> TokenKind<'_> {
        let tokens = tokens(text);
        assert_eq!(tokens.len(), 2, "{tokens:?}");
        tokens[0].kind.clone()
    }

    #[test]
    fn numbers() {
        assert_eq!(one("42"), TokenKind::Int(42));
        assert_eq!(one("010"), TokenKind::Int(10));
        assert_eq!(one("9223372036854775807"), TokenKind::Int(i64::MAX));
        assert_eq!(one(".5"), TokenKind::Float(0.5));
        assert_eq!(one("1."), TokenKind::Float(1.0));
        assert_eq!(one("1e3"), TokenKind::Float(1000.0));
        assert_eq!(one("1.5E-3"), TokenKind::Float(0.0015));
        assert_eq!(one("1h30m"), TokenKind::Duration(5_400_000_000_000));
        assert_eq!(one("1.5s"), TokenKind::Duration(1_500_000_000));
        assert_eq!(one("100µs"), TokenKind::Duration(100_000));
        for text in ["9223372036854775808", "0x1f", "1_000", "5foo", "1e999", "1.2.3", "1e", "999y"]
        {
            assert!(matches!(one(text), TokenKind::Bad(_)), "{text}");
        }
    }

    #[test]
    fn text() {
        let text = |source: &str| match one(source) {
            TokenKind::Text(text) => text,
            other => panic!("{source}: {other:?}"),
        };
        assert_eq!(text(r#""a\tb\"\\\n""#), "a\tb\"\\\n");
        assert_eq!(text(r#""\xe6\x97\xa5\u672c\U0001F600\101""#), "日本😀A");
        assert_eq!(text("`a\\n\"\r\nb`"), "a\\n\"\nb");
        assert_eq!(text("\"\""), "");
        for source in ["\"a", "\"a\n\"", "`a", r#""\q""#, r#""\xff""#, r#""\ud800""#, r#""\'""#] {
            let kind = tokens(source)[0].kind.clone();
            assert!(matches!(kind, TokenKind::Bad(_)), "{source}");
        }
    }

    #[test]
    fn a_bad_escape_does_not_hide_what_follows() {
        let kinds: Vec<_> = tokens("\"\\q\" 5").into_iter().map(|token| token.kind).collect();
        assert!(matches!(kinds[0], TokenKind::Bad(_)));
        assert_eq!(kinds[1], TokenKind::Int(5));
    }
}
