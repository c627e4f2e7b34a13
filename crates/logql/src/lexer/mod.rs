//! The text of a query to tokens.
//!
//! White space and comments (`#` to the end of the line) go. A word is a name, unless it is one of
//! the words of the language, in any case; names of functions are names unless they are called.
//! A number with a unit is a duration or a size. What is between brackets is a range.

mod token;

pub(crate) use token::{Token, TokenKind, Word};

use crate::ast::Span;
use crate::error::ParseError;
use crate::text::unquoted;
use crate::{number, units};

/// Splits a text. The last token is the end.
pub(crate) fn tokens(text: &str) -> std::result::Result<Vec<Token>, ParseError> {
    let mut lexer = Lexer { text, at: 0, list: Vec::new() };
    while lexer.skip_blank() {
        let start = lexer.at;
        let kind = lexer.token().map_err(|message| {
            let span = Span { start, end: lexer.at.max(start) };
            ParseError::new(text, span, message)
        })?;
        lexer.list.push(Token { kind, span: Span { start, end: lexer.at } });
    }
    let end = Span { start: text.len(), end: text.len() };
    lexer.list.push(Token { kind: TokenKind::End, span: end });
    Ok(lexer.list)
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    list: Vec<Token>,
}

type Result<T> = std::result::Result<T, String>;

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Goes to the next token; none is left if it says so.
    fn skip_blank(&mut self) -> bool {
        loop {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start().len();
            if !self.rest().starts_with('#') {
                return !self.rest().is_empty();
            }
            let rest = self.rest();
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    fn token(&mut self) -> Result<TokenKind> {
        let rest = self.rest();
        let letter = rest.chars().next().unwrap_or_default();
        match letter {
            '"' | '`' => self.quoted(letter),
            '[' => self.range(),
            '-' => self.minus(),
            '0'..='9' => self.number(),
            '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => self.number(),
            'a'..='z' | 'A'..='Z' | '_' => Ok(self.word()),
            '\'' => Err("texts are written between \" or `, not between '".to_owned()),
            _ => match TokenKind::of_sign(rest) {
                Some((kind, length)) => {
                    self.at += length;
                    Ok(kind)
                }
                None => Err(format!("unexpected character {letter:?}")),
            },
        }
    }

    fn quoted(&mut self, quote: char) -> Result<TokenKind> {
        let rest = self.rest();
        let mut is_escaped = false;
        for (at, letter) in rest.char_indices().skip(1) {
            match letter {
                _ if is_escaped => is_escaped = false,
                '\\' if quote == '"' => is_escaped = true,
                '\n' if quote == '"' => break,
                letter if letter == quote => {
                    self.at += at + 1;
                    return unquoted(&rest[..=at]).map(TokenKind::Text);
                }
                _ => {}
            }
        }
        Err(format!("the text that begins here has no closing {quote}"))
    }

    /// `[5m]`
    fn range(&mut self) -> Result<TokenKind> {
        let rest = self.rest();
        let end = rest.find(']').ok_or("the range that begins here has no closing ]")?;
        let inner = rest[1..end].trim();
        self.at += end + 1;
        let nanos = units::parse_prometheus_duration(inner).ok_or_else(|| {
            format!("{inner:?} is no duration for a range: write it like 5m or 1h30m")
        })?;
        Ok(TokenKind::Range(nanos))
    }

    /// A flag, a negative duration, or the sign alone.
    fn minus(&mut self) -> Result<TokenKind> {
        for flag in ["--strict", "--keep-empty"] {
            let Some(after) = self.rest().strip_prefix(flag) else { continue };
            if !after.starts_with(|next: char| next.is_alphabetic() || next == '-') {
                self.at += flag.len();
                return Ok(TokenKind::Flag);
            }
        }
        let length = 1 + run_length(&self.rest()[1..], is_duration_letter);
        match parse_duration(&self.rest()[..length]) {
            // Go reads `-0` as a duration; here it is a number.
            Some(nanos) if self.rest()[..length].contains(char::is_alphabetic) => {
                self.at += length;
                Ok(TokenKind::Duration(nanos))
            }
            _ => {
                self.at += 1;
                Ok(TokenKind::Operator(crate::ast::BinaryOp::Sub))
            }
        }
    }

    /// A number, or a duration or size that begins with one.
    fn number(&mut self) -> Result<TokenKind> {
        let rest = self.rest();
        let digits = number::literal_length(rest);
        let duration = digits + run_length(&rest[digits..], is_duration_letter);
        if duration > digits
            && let Some(nanos) = parse_duration(&rest[..duration])
        {
            self.at += duration;
            return Ok(TokenKind::Duration(nanos));
        }
        let size = digits + run_length(&rest[digits..], is_size_letter);
        if size > digits
            && let Some(bytes) = units::parse_bytes(&rest[..size])
        {
            self.at += size;
            return Ok(TokenKind::Bytes(bytes));
        }
        self.at += digits;
        let after = &rest[digits..];
        if after.starts_with(|next: char| next.is_ascii_alphabetic() || next == '_') {
            let unit: String = after.chars().take_while(|next| next.is_alphanumeric()).collect();
            return Err(format!("{}{unit} is no number, duration or size", &rest[..digits]));
        }
        Ok(TokenKind::Number)
    }

    fn word(&mut self) -> TokenKind {
        let rest = self.rest();
        let length = run_length(rest, |letter| letter.is_ascii_alphanumeric() || letter == '_');
        self.at += length;
        let lower = rest[..length].to_ascii_lowercase();
        match TokenKind::of_function(&lower) {
            Some(kind) if is_called(&rest[length..]) => kind,
            Some(_) => TokenKind::Identifier,
            None => TokenKind::of_word(&lower).unwrap_or(TokenKind::Identifier),
        }
    }
}

/// Whether what follows the name of a function calls it: a parenthesis, or labels and then one.
fn is_called(rest: &str) -> bool {
    let rest = rest.trim_start();
    if rest.starts_with('(') {
        return true;
    }
    let lower = rest.get(..7).unwrap_or(rest).to_ascii_lowercase();
    let length = if lower.starts_with("without") {
        7
    } else if lower.starts_with("by") {
        2
    } else {
        return false;
    };
    rest[length..].trim_start().starts_with('(')
}

/// A duration as queries have it: that of Prometheus, or else that of Go.
fn parse_duration(text: &str) -> Option<i64> {
    units::parse_prometheus_duration(text).or_else(|| units::parse_go_duration(text))
}

fn run_length(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !belongs(letter)).unwrap_or(text.len())
}

fn is_duration_letter(letter: char) -> bool {
    letter.is_ascii_digit() || "numshdwyµ.".contains(letter)
}

fn is_size_letter(letter: char) -> bool {
    letter.is_ascii_digit() || "BikKMGTP.".contains(letter)
}

#[cfg(test)]
mod tests;
