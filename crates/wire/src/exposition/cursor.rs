//! The pieces of a line of text: names, quoted strings, labels, numbers.
//!
//! One cursor reads both text formats. They differ in blanks: the older format allows any number
//! of them between two pieces, OpenMetrics allows exactly the one that is written in its grammar.

use std::borrow::Cow;

use super::number::{format_open_metrics_float, parse_float, seconds_to_millis};
use super::{ExpositionError, Label, MetricKind};

/// How much of what was found an error shows, in characters.
const SHOWN_CHARS: usize = 40;

/// A place in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    pub(super) text: &'a str,
    pub(super) at: usize,
    pub(super) open_metrics: bool,
}

/// What follows the labels of a sample.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suffix {
    pub(super) value: f64,
    pub(super) timestamp_millis: Option<i64>,
    /// Value and time of the exemplar.
    pub(super) exemplar: Option<(f64, Option<i64>)>,
}

impl<'a> Cursor<'a> {
    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn rest(&self) -> &'a [u8] {
        // `at` never passes the end: it moves over bytes that were looked at.
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    #[inline]
    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// Steps over `text` if it stands here.
    pub(super) fn eat_text(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text.as_bytes());
        if found {
            self.at += text.len();
        }
        found
    }

    /// Steps over blanks, where the format allows them.
    #[inline]
    pub(super) fn blanks(&mut self) {
        if !self.open_metrics {
            while matches!(self.peek(), Some(b' ' | b'\t')) {
                self.at += 1;
            }
        }
    }

    /// Everything up to the first byte that `ends` names.
    #[inline]
    fn until(&mut self, ends: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        let length = self.rest().iter().position(|byte| ends(*byte));
        self.at = length.map_or(self.text.len(), |length| start + length);
        // Both ends lie beside ASCII bytes or at the ends of the text.
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// The rest of the line, without its end.
    pub(super) fn line(&mut self) -> &'a str {
        self.until(|byte| byte == b'\n')
    }

    /// An error at the current place.
    #[cold]
    pub(super) fn expected(&self, what: &str) -> ExpositionError {
        let found: String = self.text.get(self.at..).unwrap_or_default().chars().collect_shown();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("{found:?}") };
        self.error(format!("expected {what}, found {found}"))
    }

    /// An error in the current line.
    #[cold]
    pub(super) fn error(&self, problem: String) -> ExpositionError {
        let before = self.text.as_bytes().get(..self.at).unwrap_or_default();
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        ExpositionError::Line { line, problem }
    }

    /// A name of letters, digits and underscores; colons too, if it is a metric's.
    #[inline]
    pub(super) fn plain_name(&mut self, with_colons: bool) -> Option<&'a str> {
        let is_start =
            |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || with_colons && byte == b':';
        if !self.peek().is_some_and(is_start) {
            return None;
        }
        Some(self.until(|byte| !is_start(byte) && !byte.is_ascii_digit()))
    }

    /// The name of a family, quoted or not.
    pub(super) fn family_name(&mut self) -> Result<Cow<'a, str>, ExpositionError> {
        if self.peek() == Some(b'"') {
            return self.quoted();
        }
        let name = self.plain_name(true).map(Cow::Borrowed);
        name.ok_or_else(|| self.expected("the name of a metric"))
    }

    /// A quoted string, its escapes resolved: `\n`, `\"` and `\\`; others stay as they are.
    fn quoted(&mut self) -> Result<Cow<'a, str>, ExpositionError> {
        let opening = *self;
        if !self.eat(b'"') {
            return Err(self.expected("a quoted string"));
        }
        let start = self.at;
        let mut is_escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    is_escaped = true;
                    // What is escaped is never the end, be it a quote.
                    self.at += 2;
                }
                Some(b'\n') if self.open_metrics => {
                    return Err(opening.expected("a closing quote before the end of the line"));
                }
                Some(_) => self.at += 1,
                None => return Err(opening.expected("a string with a closing quote")),
            }
        }
        // An escape may have stepped into a longer character; its end is not the quote's place,
        // which is why both ends are at ASCII bytes here, too.
        let raw = self.text.get(start..self.at).unwrap_or_default();
        self.at += 1;
        Ok(if is_escaped { Cow::Owned(unescape(raw, true)) } else { Cow::Borrowed(raw) })
    }

    /// The labels between braces, the first of which is next. A quoted string without a value is
    /// the metric's name.
    pub(super) fn labels(
        &mut self,
        kind: MetricKind,
        mut name: Option<&mut Option<Cow<'a, str>>>,
        labels: &mut Vec<Label<'a>>,
    ) -> Result<(), ExpositionError> {
        self.at += 1;
        loop {
            self.blanks();
            let place = *self;
            let label = match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'"') => {
                    let text = self.quoted()?;
                    self.blanks();
                    if matches!(self.peek(), Some(b',' | b'}')) {
                        match &mut name {
                            Some(name) if name.is_none() => **name = Some(text),
                            Some(_) => return Err(place.expected("one name of the metric")),
                            None => return Err(self.expected("`=` and a value")),
                        }
                        self.eat(b',');
                        continue;
                    }
                    text
                }
                _ => match self.plain_name(false) {
                    Some(label) => Cow::Borrowed(label),
                    None => return Err(self.expected("the name of a label or `}`")),
                },
            };
            self.blanks();
            if !self.eat(b'=') {
                return Err(self.expected("`=`"));
            }
            self.blanks();
            let value = normal_bound(kind, &label, self.quoted()?);
            labels.push(Label { name: label, value });
            self.blanks();
            // The older format's reference parser does without the comma.
            if !self.eat(b',') && self.open_metrics && self.peek() != Some(b'}') {
                return Err(self.expected("`,` or `}`"));
            }
        }
    }

    /// Value, time and exemplar: all that follows the labels, with the end of the line.
    pub(super) fn suffix(
        &mut self,
        exemplar_labels: &mut Vec<Label<'a>>,
    ) -> Result<Suffix, ExpositionError> {
        let value = self.value()?;
        let mut suffix = Suffix { value, timestamp_millis: None, exemplar: None };
        if !self.open_metrics {
            self.blanks();
            if !matches!(self.peek(), None | Some(b'\n')) {
                suffix.timestamp_millis = Some(self.millis()?);
                self.blanks();
            }
            if self.peek().is_some() && !self.eat(b'\n') {
                return Err(self.expected("the end of the line"));
            }
            return Ok(suffix);
        }
        if self.peek() == Some(b' ') && !self.rest().starts_with(b" # {") {
            suffix.timestamp_millis = Some(self.seconds()?);
        }
        if self.eat_text(" # ") {
            if self.peek() != Some(b'{') {
                return Err(self.expected("`{` and the labels of an exemplar"));
            }
            self.labels(MetricKind::Unknown, None, exemplar_labels)?;
            let value = self.value()?;
            let has_time = self.peek() == Some(b' ');
            let millis = if has_time { Some(self.seconds()?) } else { None };
            suffix.exemplar = Some((value, millis));
        }
        if !self.eat(b'\n') {
            return Err(self.expected("the end of the line"));
        }
        Ok(suffix)
    }

    fn value(&mut self) -> Result<f64, ExpositionError> {
        let word = self.word("a value")?;
        parse_float(word).ok_or_else(|| self.error(format!("expected a number, found {word:?}")))
    }

    /// A time in milliseconds.
    fn millis(&mut self) -> Result<i64, ExpositionError> {
        let word = self.word("a time in milliseconds or the end of the line")?;
        let wrong = || self.error(format!("expected a time in milliseconds, found {word:?}"));
        word.parse().map_err(|_| wrong())
    }

    /// A time in seconds, as milliseconds.
    fn seconds(&mut self) -> Result<i64, ExpositionError> {
        let word = self.word("a time in seconds")?;
        let millis = parse_float(word).and_then(seconds_to_millis);
        millis.ok_or_else(|| self.error(format!("expected a time in seconds, found {word:?}")))
    }

    /// What stands between blanks.
    fn word(&mut self, what: &str) -> Result<&'a str, ExpositionError> {
        if self.open_metrics && !self.eat(b' ') {
            return Err(self.expected(&format!("a space and {what}")));
        }
        self.blanks();
        let open_metrics = self.open_metrics;
        let ends =
            |byte| matches!(byte, b' ' | b'\n') || !open_metrics && matches!(byte, b'\t' | b'{');
        let word = self.until(ends);
        if word.is_empty() { Err(self.expected(what)) } else { Ok(word) }
    }
}

/// The first characters of a place, up to the end of the line.
trait Shown {
    fn collect_shown(self) -> String;
}

impl<I: Iterator<Item = char>> Shown for I {
    fn collect_shown(self) -> String {
        self.take(SHOWN_CHARS).take_while(|c| *c != '\n').collect()
    }
}

/// Resolves escapes; quotes are escaped in strings, not in help texts of the older format.
pub(super) fn unescape(raw: &str, with_quotes: bool) -> String {
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        // A backslash is one byte, so what follows it begins a character.
        rest = &rest[at + 1..];
        let resolved = match rest.bytes().next() {
            Some(b'n') => '\n',
            Some(b'\\') => '\\',
            Some(b'"') if with_quotes => '"',
            _ => {
                out.push('\\');
                continue;
            }
        };
        out.push(resolved);
        rest = &rest[1..];
    }
    out.push_str(rest);
    out
}

/// Bounds of buckets and quantiles are numbers; one number has one text, whoever wrote it.
fn normal_bound<'a>(kind: MetricKind, label: &str, value: Cow<'a, str>) -> Cow<'a, str> {
    let is_bound = match kind {
        MetricKind::Histogram => label == "le",
        MetricKind::Summary => label == "quantile",
        _ => false,
    };
    if !is_bound || is_normal_bound(&value) {
        return value;
    }
    let Some(bound) = parse_float(&value) else { return value };
    let mut normal = String::with_capacity(24);
    format_open_metrics_float(&mut normal, bound);
    if normal == *value { value } else { Cow::Owned(normal) }
}

/// Whether a bound is surely written as we write it, told without writing it: up to fifteen
/// digits, no needless zero, no exponent needed. What it does not know it leaves to the writer.
fn is_normal_bound(text: &str) -> bool {
    if text == "+Inf" {
        return true;
    }
    let Some((whole, fraction)) = text.split_once('.') else { return false };
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let is_short = whole.len() <= 6 && whole.len() + fraction.len() <= 15;
    let has_needless_zero = whole.len() > 1 && whole.starts_with('0')
        || fraction.len() > 1 && fraction.ends_with('0')
        || whole == "0" && fraction.starts_with("0000");
    is_short && is_number(whole) && is_number(fraction) && !has_needless_zero
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_that_are_taken_for_normal_are() {
        let texts = [
            "+Inf",
            "0.0",
            "0.5",
            "0.50",
            "00.5",
            "1",
            "1.0",
            "1.00",
            "123456.0",
            "1234567.0",
            "0.0001",
            "0.00001",
            "1e3",
            "-1.0",
            "0.1234567890123456789",
            ".5",
            "5.",
            "",
            "NaN",
            "0.10000000000000001",
            "999999.99999999",
        ];
        let mut normal = 0;
        for text in texts {
            if !is_normal_bound(text) {
                continue;
            }
            normal += 1;
            let mut written = String::new();
            format_open_metrics_float(&mut written, text.parse().unwrap());
            assert_eq!(written, text);
        }
        assert_eq!(normal, 7);
    }

    #[test]
    fn escapes_are_resolved_and_unknown_ones_stay() {
        assert_eq!(unescape(r#"a\\b"#, true), "a\\b");
        assert_eq!(unescape(r#"\"x\" \n \t \"#, true), "\"x\" \n \\t \\");
        assert_eq!(unescape(r#"\" \n"#, false), "\\\" \n");
    }
}
