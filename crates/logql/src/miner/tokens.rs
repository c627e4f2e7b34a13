//! A line as words and what is between them, with what is surely variable marked as such.
//!
//! Numbers, times, addresses, ids, quoted names with digits in them, colours and control
//! characters are variable in any line. Words and gaps are parts of the line as it is, so that the
//! text of a pattern is made of them without loss.

use crate::decolorize::sequence_bytes;
use crate::limits::{MAX_MINED_LINE_BYTES, MAX_MINED_TOKENS};

/// A part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A word that may be of the pattern, or differ from line to line.
    Word(&'a str),
    /// Blanks or punctuation.
    Gap(&'a str),
    /// Never next to another.
    Variable,
}

/// A quoted text longer than this is looked at word by word.
const MAX_QUOTED_BYTES: usize = 256;

/// The parts of a line's start. What follows the start is variable; so is the whole of a line that
/// is no text.
pub(super) fn tokens(line: &str) -> Vec<Token<'_>> {
    let start = prefix(line);
    if is_binary(start) {
        return vec![Token::Variable];
    }
    let mut found = Tokens { list: Vec::with_capacity(start.len() / 4 + 1) };
    let mut rest = start;
    while !rest.is_empty() && found.list.len() < MAX_MINED_TOKENS {
        rest = found.next(rest);
    }
    if !rest.is_empty() || start.len() < line.len() {
        found.push(Token::Variable);
    }
    found.list
}

/// The first bytes of a line, without half a character.
fn prefix(line: &str) -> &str {
    let end =
        (0..=line.len().min(MAX_MINED_LINE_BYTES)).rev().find(|at| line.is_char_boundary(*at));
    &line[..end.unwrap_or(0)]
}

/// Whether a good part of a text cannot be shown.
fn is_binary(text: &str) -> bool {
    let hidden =
        text.bytes().filter(|b| *b < b' ' && !matches!(b, b'\t' | b'\n' | b'\r' | 0x1b)).count();
    let broken = text.matches(char::REPLACEMENT_CHARACTER).count();
    (hidden + broken) * 5 > text.len().max(1)
}

struct Tokens<'a> {
    list: Vec<Token<'a>>,
}

impl<'a> Tokens<'a> {
    fn push(&mut self, token: Token<'a>) {
        let is_doubled = token == Token::Variable && self.list.last() == Some(&Token::Variable);
        if !is_doubled {
            self.list.push(token);
        }
    }

    /// Takes what a text starts with; gives the rest.
    fn next(&mut self, text: &'a str) -> &'a str {
        let blank = text.len() - text.trim_start().len();
        if blank > 0 {
            self.push(Token::Gap(&text[..blank]));
            return &text[blank..];
        }
        let Some(first) = text.chars().next() else { return "" };
        if is_hidden(first) {
            self.push(Token::Variable);
            return &text[sequence_bytes(text).max(first.len_utf8())..];
        }
        if let Some(length) = capture_bytes(text) {
            self.push(Token::Variable);
            return &text[length..];
        }
        if matches!(first, '"' | '\'')
            && let Some(inside) = quoted_id(&text[1..], first)
        {
            self.push(Token::Gap(&text[..1]));
            self.push(Token::Variable);
            self.push(Token::Gap(&text[1 + inside..2 + inside]));
            return &text[2 + inside..];
        }
        if is_delimiter(first) {
            self.push(Token::Gap(&text[..1]));
            return &text[1..];
        }
        let end = text
            .find(|c: char| c.is_whitespace() || is_delimiter(c) || is_hidden(c))
            .unwrap_or(text.len());
        let (chunk, rest) = text.split_at(end);
        self.chunk(chunk);
        rest
    }

    /// A run without blanks. It is taken apart at colons only if it is not variable as a whole.
    fn chunk(&mut self, chunk: &'a str) {
        // A port after brackets; an address may start with two colons.
        let is_led = chunk.len() > 1 && chunk.starts_with(':') && !chunk.starts_with("::");
        let (lead, chunk) = chunk.split_at(usize::from(is_led));
        if is_led {
            self.push(Token::Gap(lead));
        }
        let word = chunk.trim_end_matches(['.', '!', '?', ':']);
        let (word, tail) = if word.is_empty() { (chunk, "") } else { chunk.split_at(word.len()) };
        if is_variable(word) {
            self.push(Token::Variable);
        } else {
            let mut rest = word;
            while let Some((before, _)) = rest.split_once(':') {
                self.part(before);
                self.push(Token::Gap(&rest[before.len()..=before.len()]));
                rest = &rest[before.len() + 1..];
            }
            self.part(rest);
        }
        if !tail.is_empty() {
            self.push(Token::Gap(tail));
        }
    }

    fn part(&mut self, word: &'a str) {
        match word {
            "" => {}
            word if is_variable(word) => self.push(Token::Variable),
            word => self.push(Token::Word(word)),
        }
    }
}

fn is_delimiter(c: char) -> bool {
    matches!(c, '=' | ',' | ';' | '(' | ')' | '[' | ']' | '{' | '}' | '"' | '\'' | '|' | '<' | '>')
}

/// Whether nobody can see a character: colours start with one.
fn is_hidden(c: char) -> bool {
    (c.is_control() && !c.is_whitespace()) || c == char::REPLACEMENT_CHARACTER
}

/// The length of what would be a capture in a pattern, if a text starts with it.
fn capture_bytes(text: &str) -> Option<usize> {
    let (name, _) = text.strip_prefix('<')?.split_once('>')?;
    crate::extract::is_label_name(name).then_some(name.len() + 2)
}

/// The length of a quoted text without blanks that has digits in it, after its first quote.
fn quoted_id(text: &str, quote: char) -> Option<usize> {
    let end = text.find(|c: char| c == quote || c.is_whitespace() || is_hidden(c))?;
    let is_id = text[end..].starts_with(quote) && end <= MAX_QUOTED_BYTES;
    (is_id && text[..end].contains(|c: char| c.is_ascii_digit())).then_some(end)
}

/// Whether a word is a number, time, address, id or the like.
fn is_variable(word: &str) -> bool {
    let bytes = word.as_bytes();
    let digits = bytes.iter().filter(|b| b.is_ascii_digit()).count();
    if digits == 0 {
        return false;
    }
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let is_number_with_unit = bytes
        .iter()
        .find(|b| !matches!(b, b'+' | b'-' | b'#' | b'$'))
        .is_some_and(u8::is_ascii_digit)
        && letters <= 3;
    let has_many_digits = digits >= letters;
    let is_hex = bytes.len() >= 8
        && bytes.iter().all(|b| b.is_ascii_hexdigit() || matches!(b, b'-' | b':' | b'x'));
    let is_address = bytes.iter().filter(|b| **b == b':').count() >= 2
        && bytes.iter().all(|b| b.is_ascii_hexdigit() || matches!(b, b':' | b'.'));
    let is_long_id = bytes.len() >= 16 && digits >= 4 && !word.contains('/');
    is_number_with_unit || has_many_digits || is_hex || is_address || is_long_id
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let parts = tokens(line).into_iter().map(|token| match token {
            Token::Word(text) | Token::Gap(text) => text,
            Token::Variable => "<_>",
        });
        parts.collect()
    }

    #[test]
    fn what_is_surely_variable_is_marked() {
        for (line, pattern) in [
            ("Job 17: read 500 rows from input.csv", "Job <_>: read <_> rows from input.csv"),
            ("took 250ms, 1.5KiB, 60s, 100% ok", "took <_>, <_>, <_>, <_> ok"),
            ("id 3f2504e0-4f89-41d3-9a0c-0305e82c3301 done", "id <_> done"),
            ("commit deadbeef12 and 0xdeadbeef1 but deadbeef", "commit <_> and <_> but deadbeef"),
            ("from 10.0.0.7:8080 to [2001:db8::1]:443", "from <_> to [<_>]:<_>"),
            ("2026-11-15T10:00:05.123Z 10:00:35 15/Nov/2026:10:00:05 +0000", "<_> <_> <_> <_>"),
            (
                "level=info msg=\"order placed\" order=1001",
                "level=info msg=\"order placed\" order=<_>",
            ),
            (
                "agent \"curl/8.1\" asked 'x9' \"-\" \"a b1\"",
                "agent \"<_>\" asked '<_>' \"-\" \"a <_>\"",
            ),
            ("GET /index.html HTTP/1.1", "GET /index.html HTTP/1.1"),
            ("pod frontend-7d9f8b6c5-x2k4q is up.", "pod <_> is up."),
            ("\u{1b}[32mINFO\u{1b}[0m ready", "<_>INFO<_> ready"),
            ("tag <foo> and <_> and <a b>", "tag <_> and <_> and <a b>"),
            ("naïve café – 日本語 ✓", "naïve café – 日本語 ✓"),
            ("a\u{1}\u{2}b 5\u{1b}[0m", "a<_>b <_>"),
            ("...", "..."),
            ("", ""),
        ] {
            assert_eq!(shown(line), pattern, "{line}");
        }
    }

    #[test]
    fn long_and_binary_lines_are_bounded() {
        let long = "word ".repeat(2 << 20);
        let found = tokens(&long);
        assert!(found.len() <= MAX_MINED_TOKENS + 1);
        assert_eq!(found.last(), Some(&Token::Variable));
        assert_eq!(shown(&"x".repeat(10 << 20)).len(), MAX_MINED_LINE_BYTES + 3);
        assert_eq!(shown("\u{0}\u{1}\u{2}abc\u{fffd}"), "<_>");
        assert_eq!(shown(&"é".repeat(10 << 10)).chars().filter(|c| *c == 'é').count(), 2048);
    }
}
