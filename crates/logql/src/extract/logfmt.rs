//! `| logfmt`: pairs of names and values, `level=info msg="order placed"`.
//!
//! A pair that cannot be read is left out, and reading goes on at the next blank; or, if strict,
//! reading ends there with an error. A name without a value, or with an empty one, is left out
//! unless they are kept.

use std::borrow::Cow;

use super::ExtractError;
use super::name::{LOGFMT_END, is, is_clean, push_sanitised};
use crate::limits::MAX_LABEL_NAME_BYTES;

/// How to read logfmt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Logfmt {
    /// Whether the first pair that cannot be read is an error and ends the reading.
    pub strict: bool,
    /// Whether names without a value are given, with an empty one.
    pub keep_empty: bool,
}

impl Logfmt {
    /// Gives every pair of a line that is wanted to the sink, in the line's order. Pairs before an
    /// error have been given by then.
    pub fn extract(
        self,
        line: &str,
        wanted: &dyn Fn(&str) -> bool,
        sink: &mut dyn FnMut(&str, &str),
    ) -> Result<(), ExtractError> {
        let mut pairs = Pairs { line, at: 0 };
        let mut sanitised = String::new();
        while let Some(pair) = pairs.next_pair() {
            let (name, value) = match pair {
                Ok(pair) => pair,
                Err(error) if self.strict => return Err(error),
                Err(_) => continue,
            };
            let name = if is_clean(name.as_bytes()) {
                name
            } else {
                sanitised.clear();
                push_sanitised(&mut sanitised, name);
                sanitised.as_str()
            };
            if name.is_empty() || name.len() > MAX_LABEL_NAME_BYTES {
                continue;
            }
            let is_given = (!value.is_empty() || self.keep_empty) && wanted(name);
            // Whoever is strict wants to hear of values too that nobody asked for.
            if !is_given && !self.strict {
                continue;
            }
            match value.unquoted() {
                Some(value) if is_given => sink(name, &value),
                Some(_) => {}
                None if self.strict => return Err(pairs.error("a quoted value has a wrong escape")),
                None => {}
            }
        }
        Ok(())
    }
}

/// A value as written.
#[derive(Debug, Clone, Copy)]
enum Value<'a> {
    Plain(&'a str),
    /// What is between the quotes, with escapes in it.
    Escaped(&'a str),
}

impl<'a> Value<'a> {
    fn is_empty(self) -> bool {
        let (Self::Plain(text) | Self::Escaped(text)) = self;
        text.is_empty()
    }

    /// What it means; none if an escape means nothing.
    fn unquoted(self) -> Option<Cow<'a, str>> {
        let text = match self {
            Self::Plain(text) => Cow::Borrowed(text),
            Self::Escaped(raw) => Cow::Owned(unescape(raw)?),
        };
        // The replacement character starts with 0xEF; other characters that do are seldom.
        if text.bytes().any(|b| b == 0xEF) && text.contains(char::REPLACEMENT_CHARACTER) {
            return Some(Cow::Owned(text.replace(char::REPLACEMENT_CHARACTER, " ")));
        }
        Some(text)
    }
}

struct Pairs<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Pairs<'a> {
    /// The next pair, if there is one more.
    fn next_pair(&mut self) -> Option<Result<(&'a str, Value<'a>), ExtractError>> {
        let bytes = self.line.as_bytes();
        self.at += bytes.get(self.at..)?.iter().position(|b| *b > b' ')?;
        let start = self.at;
        self.at = self.end_of(|b| is(b, LOGFMT_END));
        let name = self.line.get(start..self.at).unwrap_or_default();
        match bytes.get(self.at) {
            Some(b'"') => return Some(self.bad("a quote within a name")),
            Some(b'=') if name.is_empty() => return Some(self.bad("`=` without a name")),
            _ if !is_clean(name.as_bytes()) && name.contains(char::REPLACEMENT_CHARACTER) => {
                return Some(self.bad("a name that is not text"));
            }
            Some(b'=') => self.at += 1,
            _ => return Some(Ok((name, Value::Plain("")))),
        }
        if bytes.get(self.at) == Some(&b'"') {
            return Some(self.quoted().map(|value| (name, value)));
        }
        let start = self.at;
        self.at = self.end_of(|b| is(b, LOGFMT_END));
        if matches!(bytes.get(self.at), Some(b'=' | b'"')) {
            return Some(self.bad("`=` or a quote within a value that is not quoted"));
        }
        Some(Ok((name, Value::Plain(self.line.get(start..self.at).unwrap_or_default()))))
    }

    fn quoted(&mut self) -> Result<Value<'a>, ExtractError> {
        let bytes = self.line.as_bytes();
        let start = self.at + 1;
        let mut end = start;
        let mut has_escapes = false;
        loop {
            match bytes.get(end) {
                Some(b'"') => break,
                Some(b'\\') => {
                    has_escapes = true;
                    end += 2;
                }
                Some(_) => end += 1,
                None => {
                    let error = self.error("a quoted value is not closed");
                    self.at = bytes.len();
                    return Err(error);
                }
            }
        }
        self.at = end + 1;
        let raw = self.line.get(start..end).unwrap_or_default();
        Ok(if has_escapes { Value::Escaped(raw) } else { Value::Plain(raw) })
    }

    fn end_of(&self, ends: impl Fn(u8) -> bool) -> usize {
        let rest = self.line.as_bytes().get(self.at..).unwrap_or_default();
        self.at + rest.iter().position(|b| ends(*b)).unwrap_or(rest.len())
    }

    /// An error here; reading goes on at the next blank.
    fn bad<T>(&mut self, reason: &'static str) -> Result<T, ExtractError> {
        let error = self.error(reason);
        self.at = self.end_of(|b| b <= b' ');
        Err(error)
    }

    fn error(&self, reason: &'static str) -> ExtractError {
        ExtractError::Logfmt { at: self.at, reason }
    }
}

/// The text that a quoted value with escapes means. As in JSON, with `\'` too; half of a pair of
/// surrogates is a character that cannot be told.
fn unescape(raw: &str) -> Option<String> {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c < ' ' {
            return None;
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        let escape = rest.chars().next()?;
        rest = &rest[escape.len_utf8()..];
        out.push(match escape {
            '"' | '\\' | '/' | '\'' => escape,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = code_unit(rest)?;
                rest = &rest[4..];
                let low = rest.strip_prefix("\\u").and_then(code_unit);
                match (char::from_u32(unit), low) {
                    (Some(c), _) => c,
                    (None, Some(low)) => match pair(unit, low) {
                        Some(c) => {
                            rest = &rest[6..];
                            c
                        }
                        None => char::REPLACEMENT_CHARACTER,
                    },
                    (None, None) => char::REPLACEMENT_CHARACTER,
                }
            }
            _ => return None,
        });
    }
    Some(out)
}

fn code_unit(text: &str) -> Option<u32> {
    let digits = text.get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

fn pair(high: u32, low: u32) -> Option<char> {
    let is_pair = (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low);
    is_pair.then(|| char::from_u32(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)))?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(parser: Logfmt, line: &str) -> (String, Option<String>) {
        let mut found = Vec::new();
        let ended = parser
            .extract(line, &|_| true, &mut |name, value| found.push(format!("{name}={value}")));
        (found.join("|"), ended.err().map(|error| error.to_string()))
    }

    fn loose(line: &str) -> String {
        let (found, error) = read(Logfmt::default(), line);
        assert_eq!(error, None);
        found
    }

    #[test]
    fn pairs_are_read_and_quotes_taken_off() {
        assert_eq!(
            loose("level=info msg=\"order placed\" order=1001 amount=25.50 took=35ms"),
            "level=info|msg=order placed|order=1001|amount=25.50|took=35ms"
        );
        assert_eq!(loose(r#"msg="escaped \"quote\"" order=3"#), "msg=escaped \"quote\"|order=3");
        assert_eq!(loose(r#"a="x\ny\t\\\u00e9\ud83d\ude00" b=1"#), "a=x\ny\t\\é😀|b=1");
        assert_eq!(loose("user-agent=curl 1st=2 a.b=c"), "user_agent=curl|_1st=2|a_b=c");
        assert_eq!(loose("  a=1\t\tb=2  "), "a=1|b=2");
        assert_eq!(loose(r#"a="1"b=2"#), "a=1|b=2");
        assert_eq!(loose("a=1 a=2"), "a=1|a=2");
        assert_eq!(loose("a={x} b=日本 c=a:b/c?d"), "a={x}|b=日本|c=a:b/c?d");
        assert_eq!(loose(r#"a="\ud83d""#), "a= ");
        assert_eq!(loose("a=x\u{fffd}y"), "a=x y");
    }

    #[test]
    fn names_without_a_value_are_left_out_unless_kept() {
        let line = "order=1006 flag empty= quoted=\"\" last";
        assert_eq!(loose(line), "order=1006");
        let kept = read(Logfmt { keep_empty: true, strict: false }, line);
        assert_eq!(kept.0, "order=1006|flag=|empty=|quoted=|last=");
        assert_eq!(
            read(Logfmt { strict: true, keep_empty: false }, line),
            ("order=1006".into(), None)
        );
    }

    #[test]
    fn a_pair_that_cannot_be_read_is_left_out() {
        assert_eq!(loose("level=error msg=unterminated\"quote order=4"), "level=error|order=4");
        assert_eq!(loose("=x a=1"), "a=1");
        assert_eq!(loose("a=b=c d=1"), "d=1");
        assert_eq!(loose("\"a\"=1 b=2"), "b=2");
        assert_eq!(loose("a=1 b=\"open c=2"), "a=1");
        assert_eq!(loose(r#"a="bad \x" b=2"#), "b=2");
        assert_eq!(loose("\u{fffd}=1 b=2"), "b=2");
        assert_eq!(loose("just some words"), "");
        assert_eq!(loose(""), "");
    }

    #[test]
    fn strict_reading_ends_at_the_first_bad_pair() {
        let strict = |line| read(Logfmt { strict: true, keep_empty: false }, line);
        assert_eq!(
            strict("level=error msg=unterminated\"quote order=4"),
            (
                "level=error".into(),
                Some(
                    "not logfmt at byte 28: `=` or a quote within a value that is not quoted"
                        .into()
                )
            )
        );
        for bad in ["=x", "a=b=c", "\"a\"=1", "b=\"open", r#"a="\x""#, "a=1 \u{fffd}"] {
            assert!(strict(bad).1.is_some(), "{bad}");
        }
        assert_eq!(strict("just some words").1, None);
    }

    #[test]
    fn only_wanted_names_are_given() {
        let mut found = Vec::new();
        Logfmt::default()
            .extract("a=1 b-c=2 d=3", &|name| name == "b_c", &mut |n, v| {
                found.push(format!("{n}{v}"))
            })
            .unwrap();
        assert_eq!(found, ["b_c2"]);
    }
}
