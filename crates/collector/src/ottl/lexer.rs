//! Text to tokens.

use super::{OttlError, Result};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Word(String),
    Text(String),
    /// A number as it is written, without a sign.
    Number(String),
    /// The digits behind `0x`.
    Bytes(String),
    Sign(&'static str),
    End,
}

/// Signs, longest first where one begins with another.
const SIGNS: [&str; 19] = [
    "==", "!=", "<=", ">=", "<", ">", "(", ")", "[", "]", "{", "}", ",", ".", ":", "=", "+", "-",
    "*",
];

/// All tokens with the character each begins at. The last is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<(usize, Token)>> {
    let characters: Vec<char> = text.chars().collect();
    let mut lexer = Lexer { characters: &characters, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.take_while(char::is_whitespace);
        let start = lexer.at;
        let token = lexer.token()?;
        let is_end = token == Token::End;
        tokens.push((start, token));
        if is_end {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    characters: &'a [char],
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.peek(0).filter(|c| wanted(*c)) {
            taken.push(c);
            self.at += 1;
        }
        taken
    }

    fn token(&mut self) -> Result<Token> {
        let Some(first) = self.peek(0) else { return Ok(Token::End) };
        match first {
            '"' => self.text(),
            '0' if self.peek(1) == Some('x') => {
                self.at += 2;
                Ok(Token::Bytes(self.take_while(|c| c.is_ascii_hexdigit())))
            }
            '0'..='9' => Ok(self.number()),
            '.' if self.peek(1).is_some_and(|c| c.is_ascii_digit()) => Ok(self.number()),
            _ if first.is_ascii_alphabetic() || first == '_' => {
                Ok(Token::Word(self.take_while(|c| c.is_ascii_alphanumeric() || c == '_')))
            }
            _ => self.sign(first),
        }
    }

    fn number(&mut self) -> Token {
        let mut number = self.take_while(|c| c.is_ascii_digit());
        if self.peek(0) == Some('.') && self.peek(1).is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1;
            number = format!("{number}.{}", self.take_while(|c| c.is_ascii_digit()));
        }
        if number.starts_with('.') {
            number.insert(0, '0');
        }
        Token::Number(number)
    }

    fn sign(&mut self, first: char) -> Result<Token> {
        if first == '/' {
            self.at += 1;
            return Ok(Token::Sign("/"));
        }
        let begins =
            |sign: &&&str| sign.chars().enumerate().all(|(nth, c)| self.peek(nth) == Some(c));
        match SIGNS.iter().find(begins) {
            Some(sign) => {
                self.at += sign.len();
                Ok(Token::Sign(sign))
            }
            None => {
                Err(OttlError::new(self.at, format!("{:?} is not expected", first.to_string())))
            }
        }
    }

    /// Text in double quotes, with the escapes of Go.
    fn text(&mut self) -> Result<Token> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            text.push_str(&self.take_while(|c| c != '"' && c != '\\'));
            match self.peek(0) {
                Some('"') => {
                    self.at += 1;
                    return Ok(Token::Text(text));
                }
                Some(_) => {
                    self.at += 1;
                    text.push(self.escape()?);
                }
                None => return Err(OttlError::new(start, "a text has no closing quote")),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let wrong = |at: usize| OttlError::new(at, "this escape is not known");
        let at = self.at;
        let Some(c) = self.peek(0) else { return Err(wrong(at)) };
        self.at += 1;
        Ok(match c {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '"' | '\\' | '\'' => c,
            'u' | 'U' => {
                let digits = if c == 'u' { 4 } else { 8 };
                let code: String = (0..digits).filter_map(|nth| self.peek(nth)).collect();
                self.at += code.chars().count();
                let code = u32::from_str_radix(&code, 16).ok().filter(|_| code.len() == digits);
                code.and_then(char::from_u32).ok_or_else(|| wrong(at))?
            }
            _ => return Err(wrong(at)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Token> {
        tokens(text).unwrap().into_iter().map(|(_, token)| token).collect()
    }

    #[test]
    fn texts_numbers_words_and_signs() {
        assert_eq!(
            kinds(r#"a.b["c\\?\"\u00e9"]>=-1.5 0xff"#),
            [
                Token::Word("a".into()),
                Token::Sign("."),
                Token::Word("b".into()),
                Token::Sign("["),
                Token::Text("c\\?\"é".into()),
                Token::Sign("]"),
                Token::Sign(">="),
                Token::Sign("-"),
                Token::Number("1.5".into()),
                Token::Bytes("ff".into()),
                Token::End,
            ]
        );
    }

    #[test]
    fn what_is_no_token_is_told_with_its_place() {
        assert_eq!(tokens("a == \"b").unwrap_err().at, 5);
        assert_eq!(tokens("ä").unwrap_err().at, 0);
        assert!(tokens(r#""\q""#).is_err() && tokens(r#""\u12"#).is_err());
    }
}
