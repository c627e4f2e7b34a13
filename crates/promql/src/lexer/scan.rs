//! Where numbers, durations and texts end.
//!
//! What is scanned as a number or duration need not be one: the parser finds out when it needs
//! the value. Escapes in texts are checked here, so that a text that is accepted has a meaning.

use super::token::is_printable;
use super::{Lexer, Result, TokenKind, is_word};
use crate::names::quoted;

impl Lexer<'_> {
    /// A number or duration that begins where the token does.
    pub(super) fn number_or_duration(&mut self) -> Result<TokenKind> {
        self.at = self.start;
        if self.scan_number() {
            return Ok(TokenKind::Number);
        }
        if self.scan_units() {
            return Ok(TokenKind::Duration);
        }
        let found = quoted(&self.text[self.start..self.at]);
        Err(format!("bad number or duration syntax: {found}"))
    }

    /// Goes behind what looks like a number; false if it goes on in a way that numbers do not.
    fn scan_number(&mut self) -> bool {
        let is_hex = self.accept("0") && self.accept("xX");
        let digits = if is_hex { "0123456789abcdefABCDEF" } else { "0123456789" };
        if is_hex {
            self.accept("_");
        }
        self.accept(".");
        self.accept(digits);
        let (mut has_dot, mut has_exponent) = (false, false);
        loop {
            if self.accept(".") {
                if has_dot || self.accept("_.") || is_hex {
                    return false;
                }
                has_dot = true;
            } else if self.accept("eE") {
                if has_exponent {
                    return false;
                }
                has_exponent = true;
                self.accept("+-");
                if self.accept("._eE") || self.peek().is_none() {
                    return false;
                }
            } else if self.accept("_") {
                if self.accept("._eE") || self.peek().is_none() {
                    return false;
                }
            } else if self.accept(digits) {
                while self.accept(digits) {}
            } else {
                return !self.peek().is_some_and(is_word);
            }
        }
    }

    /// Goes behind the units of a duration whose first number was scanned.
    fn scan_units(&mut self) -> bool {
        if !self.accept("smhdwy") {
            return false;
        }
        self.accept("s");
        while self.accept("0123456789") {
            while self.accept("0123456789") {}
            if !self.accept("smhdw") {
                return false;
            }
            self.accept("s");
        }
        if self.peek().is_some_and(is_word) {
            self.next();
            return false;
        }
        true
    }

    fn accept(&mut self, any_of: &str) -> bool {
        let is_one = self.peek().is_some_and(|letter| any_of.contains(letter));
        if is_one {
            self.next();
        }
        is_one
    }

    /// A text of which the opening quote was read.
    pub(super) fn quoted(&mut self, quote: char) -> Result<TokenKind> {
        loop {
            match self.next() {
                None if quote == '`' => return Err("unterminated raw string".to_owned()),
                Some(letter) if letter == quote => return Ok(TokenKind::Text),
                Some(_) if quote == '`' => {}
                Some('\\') => self.escape(quote)?,
                None | Some('\n') => return Err("unterminated quoted string".to_owned()),
                Some(_) => {}
            }
        }
    }

    /// An escape sequence of which the backslash was read.
    fn escape(&mut self, quote: char) -> Result<()> {
        let Some(kind) = self.next() else {
            return Err("escape sequence not terminated".to_owned());
        };
        let (digits, base) = match kind {
            'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '\\' => return Ok(()),
            kind if kind == quote => return Ok(()),
            '0'..='7' => {
                self.at -= 1;
                (3, 8)
            }
            'x' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            kind => return Err(format!("unknown escape sequence {}", code_point(kind))),
        };
        let mut code = 0u64;
        for _ in 0..digits {
            let Some(letter) = self.next() else {
                return Err("escape sequence not terminated".to_owned());
            };
            let Some(digit) = letter.to_digit(base) else {
                let found = code_point(letter);
                return Err(format!("illegal character {found} in escape sequence"));
            };
            code = code * u64::from(base) + u64::from(digit);
        }
        let is_byte = matches!(kind, '0'..='7' | 'x');
        let is_valid = if is_byte {
            code <= 255
        } else {
            u32::try_from(code).ok().and_then(char::from_u32).is_some()
        };
        if is_valid {
            return Ok(());
        }
        Err("escape sequence is an invalid Unicode code point".to_owned())
    }
}

fn code_point(letter: char) -> String {
    let code = format!("U+{:04X}", letter as u32);
    if is_printable(letter) { format!("{code} '{letter}'") } else { code }
}
