//! A cursor over JSON text that reads no more than it must.
//!
//! Objects are walked key by key; what nobody asked for is skipped by its brackets and quotes, so
//! that text within a skipped value is not checked. Numbers are taken as they are written: a
//! line that says `007` means it. Strings are unescaped only when somebody wants them.

use std::borrow::Cow;

use super::ExtractError;
use super::name::{PLAIN, is};

/// Reads from the start of a text to its end.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// What stands at some place of a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// `{` was read; its keys come next.
    ObjectStart,
    /// `[` was read; its elements come next.
    ArrayStart,
    /// A string, as written between its quotes.
    Text(&'a str),
    /// A number, `true` or `false`, as written.
    Plain(&'a str),
    Null,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Where the next byte is read.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The text from a place before up to here.
    pub(super) fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The next byte that is not blank, without reading it.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while let Some(byte) = bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Reads a byte if it comes next.
    #[inline]
    pub(super) fn take(&mut self, byte: u8) -> bool {
        let comes = self.peek() == Some(byte);
        self.at += usize::from(comes);
        comes
    }

    pub(super) fn error<T>(&self, expected: &'static str) -> Result<T, ExtractError> {
        Err(ExtractError::Json { expected })
    }

    /// The key that comes next in an object, with its colon; none at the object's end. `first`
    /// tells whether a comma has to come before it.
    pub(super) fn key(&mut self, first: bool) -> Result<Option<&'a str>, ExtractError> {
        let next = match self.peek() {
            Some(b'}') => {
                self.at += 1;
                return Ok(None);
            }
            Some(b',') if !first => {
                self.at += 1;
                self.peek()
            }
            _ if !first => return self.error("`,` or `}`"),
            next => next,
        };
        if next != Some(b'"') {
            return self.error("a name in quotes");
        }
        self.at += 1;
        let key = self.string()?;
        if !self.take(b':') {
            return self.error("`:`");
        }
        Ok(Some(key))
    }

    /// Whether another element comes in an array.
    pub(super) fn element(&mut self, first: bool) -> Result<bool, ExtractError> {
        if self.take(b']') {
            return Ok(false);
        }
        if !first && !self.take(b',') {
            return self.error("`,` or `]`");
        }
        Ok(true)
    }

    /// Reads a value, or the opening bracket of one.
    pub(super) fn value(&mut self) -> Result<Token<'a>, ExtractError> {
        let start = match self.peek() {
            Some(b'"') => {
                self.at += 1;
                return Ok(Token::Text(self.string()?));
            }
            Some(b'{') => {
                self.at += 1;
                return Ok(Token::ObjectStart);
            }
            Some(b'[') => {
                self.at += 1;
                return Ok(Token::ArrayStart);
            }
            _ => self.at,
        };
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(|b| is(*b, PLAIN)) {
            self.at += 1;
        }
        let word = self.since(start);
        match word.as_bytes() {
            [b'0'..=b'9' | b'-', ..] | b"true" | b"false" => Ok(Token::Plain(word)),
            b"null" => Ok(Token::Null),
            _ => {
                self.at = start;
                self.error("a value")
            }
        }
    }

    /// Reads the rest of an object or array whose opening bracket was read. Only brackets and
    /// strings are looked at.
    pub(super) fn skip_container(&mut self) -> Result<(), ExtractError> {
        let mut depth = 1_usize;
        while depth > 0 {
            let bytes = self.text.as_bytes();
            let Some(byte) = bytes.get(self.at) else { return self.error("a closing bracket") };
            self.at += 1;
            match byte {
                b'"' => drop(self.string()?),
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads up to and with the closing quote; gives what is between.
    #[inline]
    fn string(&mut self) -> Result<&'a str, ExtractError> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start;
        loop {
            at = quote_or_backslash(bytes, at);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    // Quotes are ASCII, so both ends are on the edge of a character.
                    return Ok(self.text.get(start..at).unwrap_or_default());
                }
                Some(_) => at += 2,
                None => {
                    self.at = bytes.len();
                    return self.error("a closing quote");
                }
            }
        }
    }
}

/// Where the next quote or backslash is, or the end. Strings of logs are short: eight bytes at a
/// time are quicker than a search that has to be set up.
#[inline]
fn quote_or_backslash(bytes: &[u8], start: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // The lowest bit that is set is that of the first byte which is zero.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGHS;
    let mut at = start;
    while let Some((eight, _)) = bytes.get(at..).and_then(|rest| rest.split_first_chunk::<8>()) {
        let word = u64::from_le_bytes(*eight);
        let found = zero(word ^ (ONES * u64::from(b'"'))) | zero(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|b| matches!(b, b'"' | b'\\')).unwrap_or(rest.len())
}

/// The text that a string means, if all its escapes mean something. Characters that replaced
/// broken text become blanks, as label values have it.
pub(super) fn unescape(raw: &str) -> Option<Cow<'_, str>> {
    // The replacement character starts with 0xEF; other characters that do are seldom.
    if !raw.bytes().any(|b| b == b'\\' || b == 0xEF) {
        return Some(Cow::Borrowed(raw));
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = push_escape(&mut out, &rest[at + 1..])?;
    }
    out.push_str(rest);
    if out.contains(char::REPLACEMENT_CHARACTER) {
        out = out.replace(char::REPLACEMENT_CHARACTER, " ");
    }
    Some(Cow::Owned(out))
}

/// Appends what an escape means; `rest` is what follows the backslash. Gives what follows it.
fn push_escape<'a>(out: &mut String, rest: &'a str) -> Option<&'a str> {
    let c = rest.chars().next()?;
    let after = &rest[c.len_utf8()..];
    out.push(match c {
        '"' | '\\' | '/' => c,
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let (high, after) = four_digits(after)?;
            if !(0xD800..0xE000).contains(&high) {
                out.push(char::from_u32(high)?);
                return Some(after);
            }
            let (low, after) = four_digits(after.strip_prefix("\\u")?)?;
            let is_pair = (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low);
            let code = is_pair.then(|| 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))?;
            out.push(char::from_u32(code)?);
            return Some(after);
        }
        _ => return None,
    });
    Some(after)
}

fn four_digits(text: &str) -> Option<(u32, &str)> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    Some((u32::from_str_radix(digits, 16).ok()?, &text[4..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_become_what_they_mean() {
        let text = |raw| unescape(raw).map(Cow::into_owned);
        assert_eq!(text("plain é").as_deref(), Some("plain é"));
        assert_eq!(text(r#"a\"b\\c\/d\n\t\r\b\f"#).as_deref(), Some("a\"b\\c/d\n\t\r\u{8}\u{c}"));
        assert_eq!(text(r"\u00e9\u65E5").as_deref(), Some("é日"));
        assert_eq!(text(r"\ud83d\ude00!").as_deref(), Some("😀!"));
        assert_eq!(text(r"\ufffd").as_deref(), Some(" "));
        assert_eq!(text("a\u{fffd}b").as_deref(), Some("a b"));
        for broken in [r"\", r"\x", r"\u12", r"\u12g4", r"\ud83d", r"\ud83dx", r"\ude00", r"\u+123"]
        {
            assert_eq!(text(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_container_is_skipped_by_brackets_and_quotes() {
        let mut cursor = Cursor::new(r#"{"a]":[1,{"b":"}\""}],"c":2} rest"#);
        assert_eq!(cursor.value(), Ok(Token::ObjectStart));
        cursor.skip_container().unwrap();
        assert_eq!(cursor.since(0), r#"{"a]":[1,{"b":"}\""}],"c":2}"#);
        let mut open = Cursor::new("[[1]");
        open.value().unwrap();
        assert!(open.skip_container().is_err());
    }

    #[test]
    fn values_are_told_by_their_first_character() {
        let value = |text| Cursor::new(text).value().ok();
        assert_eq!(value(" 12.5e3,"), Some(Token::Plain("12.5e3")));
        assert_eq!(value("-1"), Some(Token::Plain("-1")));
        assert_eq!(value("true}"), Some(Token::Plain("true")));
        assert_eq!(value("null"), Some(Token::Null));
        assert_eq!(value(r#""a\"b""#), Some(Token::Text(r#"a\"b"#)));
        for broken in ["", "nul", "NaN", "}", "\"open", "'a'", "é"] {
            assert_eq!(value(broken), None, "{broken}");
        }
    }
}
