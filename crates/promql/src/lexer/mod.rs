//! Text to tokens.
//!
//! What may follow depends on where the lexer is: between braces all words are names of labels,
//! between brackets only durations are understood, and elsewhere words may be keywords. Lexing
//! ends with the first thing that is no token; the parser complains when it gets there, unless
//! something before it is wrong too.

mod literals;
mod scan;
mod token;

pub(crate) use literals::{duration, duration_text, number, unquoted};
pub(crate) use token::{Keyword, Preprocessor, Token, TokenKind, go_char};

use crate::ast::{BinaryOp, Span};

/// The tokens of a text.
#[derive(Debug)]
pub(crate) struct Tokens {
    /// The last is [`TokenKind::End`] or [`TokenKind::Bad`].
    pub(crate) list: Vec<Token>,
    /// Why the last one is bad.
    pub(crate) error: Option<String>,
}

/// All tokens of a text, up to the first that is none.
pub(crate) fn tokens(text: &str) -> Tokens {
    let mut lexer = Lexer {
        text,
        start: 0,
        at: 0,
        list: Vec::new(),
        open_parens: 0,
        place: Place::Outside,
        has_duration: false,
        has_colon: false,
    };
    let error = lexer.run().err();
    if error.is_some() {
        let span = Span { start: lexer.start, end: text.len() };
        lexer.list.push(Token { kind: TokenKind::Bad, span });
    }
    Tokens { list: lexer.list, error }
}

/// Where the lexer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// Between braces.
    Matchers,
    /// Between brackets, before the first number.
    Duration,
    /// Between brackets, behind a number: operators and what else may follow.
    BehindNumber,
}

struct Lexer<'a> {
    text: &'a str,
    /// Where the token begins.
    start: usize,
    /// What is read next.
    at: usize,
    list: Vec<Token>,
    open_parens: usize,
    place: Place,
    /// Whether there was a duration in these brackets or in others before. A colon without one
    /// is left to the parser if there was.
    has_duration: bool,
    /// Between brackets: whether there was a colon.
    has_colon: bool,
}

type Result<T> = std::result::Result<T, String>;

impl Lexer<'_> {
    fn run(&mut self) -> Result<()> {
        loop {
            self.start = self.at;
            if self.skip_space() || self.skip_comment() {
                continue;
            }
            let Some(letter) = self.next() else {
                return self.end();
            };
            match self.place {
                Place::Matchers => self.in_matchers(letter)?,
                Place::Duration => self.in_duration(letter)?,
                Place::Outside | Place::BehindNumber => self.outside(letter)?,
            }
        }
    }

    fn end(&mut self) -> Result<()> {
        match self.place {
            Place::Matchers => return Err("unexpected end of input inside braces".to_owned()),
            Place::Duration => {
                return Err("unexpected end of input in duration expression".to_owned());
            }
            _ if self.open_parens > 0 => return Err("unclosed left parenthesis".to_owned()),
            Place::BehindNumber => return Err("unclosed left bracket".to_owned()),
            Place::Outside => self.emit(TokenKind::End),
        }
        Ok(())
    }

    /// Outside of braces and brackets, or in brackets behind a number.
    fn outside(&mut self, letter: char) -> Result<()> {
        let kind = match letter {
            ',' => TokenKind::Comma,
            '@' => TokenKind::At,
            '=' => match self.peek() {
                Some('=') => self.with_next(TokenKind::Operator(BinaryOp::Equal)),
                Some('~') => return Err("unexpected character after '=': '~'".to_owned()),
                _ => TokenKind::Assign,
            },
            '!' => match self.next() {
                Some('=') => TokenKind::Operator(BinaryOp::NotEqual),
                other => {
                    return Err(format!("unexpected character after '!': {}", go_char(other)));
                }
            },
            '<' => match self.peek() {
                Some('=') => self.with_next(TokenKind::Operator(BinaryOp::LessOrEqual)),
                Some('/') => self.with_next(TokenKind::Operator(BinaryOp::TrimUpper)),
                _ => TokenKind::Operator(BinaryOp::Less),
            },
            '>' => match self.peek() {
                Some('=') => self.with_next(TokenKind::Operator(BinaryOp::GreaterOrEqual)),
                Some('/') => self.with_next(TokenKind::Operator(BinaryOp::TrimLower)),
                _ => TokenKind::Operator(BinaryOp::Greater),
            },
            '"' | '\'' | '`' => self.quoted(letter)?,
            '{' => {
                self.place = Place::Matchers;
                TokenKind::LeftBrace
            }
            '[' if self.place == Place::Outside => {
                self.place = Place::Duration;
                self.has_colon = false;
                TokenKind::LeftBracket
            }
            '[' => return Err("unexpected left bracket '['".to_owned()),
            ']' if self.place == Place::Outside => {
                return Err("unexpected right bracket ']'".to_owned());
            }
            ']' => self.right_bracket(),
            letter if self.is_number(letter) => self.number_or_duration()?,
            letter if !is_word_start(letter) && letter != ':' => {
                let Some(kind) = self.arithmetic(letter)? else {
                    return Err(format!("unexpected character: {}", go_char(Some(letter))));
                };
                kind
            }
            _ if self.place == Place::Outside => self.word(),
            ':' if self.has_colon => return Err("unexpected colon ':'".to_owned()),
            ':' => {
                self.has_colon = true;
                TokenKind::Colon
            }
            letter => match self.duration_word() {
                Some(kind) => kind,
                None => {
                    let found = go_char(Some(letter));
                    return Err(format!("unexpected character: {found}, expected ':'"));
                }
            },
        };
        self.emit(kind);
        Ok(())
    }

    /// Between braces: all words are names.
    fn in_matchers(&mut self, letter: char) -> Result<()> {
        let kind = match letter {
            ',' => TokenKind::Comma,
            '"' | '\'' | '`' => self.quoted(letter)?,
            '=' if self.peek() == Some('~') => self.with_next(TokenKind::Matches),
            '=' => TokenKind::Assign,
            '!' => match self.next() {
                Some('~') => TokenKind::NotMatches,
                Some('=') => TokenKind::Operator(BinaryOp::NotEqual),
                other => {
                    let found = go_char(other);
                    return Err(format!("unexpected character after '!' inside braces: {found}"));
                }
            },
            '{' => return Err("unexpected left brace '{'".to_owned()),
            '}' => {
                self.place = Place::Outside;
                TokenKind::RightBrace
            }
            letter if is_word_start(letter) => {
                self.skip_while(is_word);
                TokenKind::Identifier
            }
            letter => {
                let found = go_char(Some(letter));
                return Err(format!("unexpected character inside braces: {found}"));
            }
        };
        self.emit(kind);
        Ok(())
    }

    /// Between brackets, before the first number.
    fn in_duration(&mut self, letter: char) -> Result<()> {
        let kind = match letter {
            ']' => self.right_bracket(),
            ',' => TokenKind::Comma,
            ':' => {
                // The place of both errors is behind the colon.
                self.start = self.at;
                if !self.has_duration {
                    let error = "unexpected colon before duration in duration expression";
                    return Err(error.to_owned());
                }
                if self.has_colon {
                    let error = "unexpected repeated colon in duration expression";
                    return Err(error.to_owned());
                }
                self.start -= 1;
                self.has_colon = true;
                TokenKind::Colon
            }
            letter if self.is_number(letter) => {
                self.place = Place::BehindNumber;
                self.has_duration = true;
                self.number_or_duration()?
            }
            letter => {
                let word = if is_word_start(letter) { self.duration_word() } else { None };
                match word.map_or_else(|| self.arithmetic(letter), |word| Ok(Some(word)))? {
                    Some(kind) => kind,
                    None => {
                        let found = go_char(Some(letter));
                        return Err(format!(
                            "unexpected character in duration expression: {found}"
                        ));
                    }
                }
            }
        };
        self.emit(kind);
        Ok(())
    }

    /// What has the same meaning outside and between brackets; none if it is something else.
    fn arithmetic(&mut self, letter: char) -> Result<Option<TokenKind>> {
        Ok(Some(match letter {
            '+' => TokenKind::Operator(BinaryOp::Add),
            '-' => TokenKind::Operator(BinaryOp::Sub),
            '*' => TokenKind::Operator(BinaryOp::Mul),
            '/' => TokenKind::Operator(BinaryOp::Div),
            '%' => TokenKind::Operator(BinaryOp::Mod),
            '^' => TokenKind::Operator(BinaryOp::Pow),
            '(' => {
                self.open_parens += 1;
                TokenKind::LeftParen
            }
            ')' if self.open_parens == 0 => {
                // The place of the error is behind the parenthesis.
                self.start = self.at;
                return Err("unexpected right parenthesis ')'".to_owned());
            }
            ')' => {
                self.open_parens -= 1;
                TokenKind::RightParen
            }
            _ => return Ok(None),
        }))
    }

    fn right_bracket(&mut self) -> TokenKind {
        self.place = Place::Outside;
        TokenKind::RightBracket
    }

    /// A word of which the first letter was read.
    fn word(&mut self) -> TokenKind {
        self.skip_while(|letter| is_word(letter) || letter == ':');
        let word = &self.text[self.start..self.at];
        match TokenKind::of_word(word) {
            // These came late, and metrics may be named like that.
            Some(kind) if kind.is_fill() && !self.is_before_paren() => TokenKind::Identifier,
            Some(kind) => kind,
            None if word.contains(':') => TokenKind::MetricIdentifier,
            None => TokenKind::Identifier,
        }
    }

    /// One of the words that durations know, if it is one.
    fn duration_word(&mut self) -> Option<TokenKind> {
        self.skip_while(is_word_start);
        match TokenKind::of_word(&self.text[self.start..self.at]) {
            Some(TokenKind::Preprocessor(Preprocessor::Start | Preprocessor::End)) => None,
            Some(kind @ TokenKind::Preprocessor(_)) => {
                self.has_duration = true;
                Some(kind)
            }
            _ => None,
        }
    }

    fn is_before_paren(&self) -> bool {
        self.text[self.at..].trim_start_matches(is_space).starts_with('(')
    }

    fn is_number(&self, letter: char) -> bool {
        letter.is_ascii_digit()
            || letter == '.' && self.peek().is_some_and(|next| next.is_ascii_digit())
    }

    fn skip_space(&mut self) -> bool {
        let before = self.at;
        self.skip_while(is_space);
        self.at > before
    }

    fn skip_comment(&mut self) -> bool {
        let is_comment = self.peek() == Some('#') && self.place != Place::Duration;
        if is_comment {
            self.skip_while(|letter| letter != '\n' && letter != '\r');
        }
        is_comment
    }

    fn skip_while(&mut self, belongs: impl Fn(char) -> bool) {
        let rest = &self.text[self.at..];
        self.at += rest.find(|letter| !belongs(letter)).unwrap_or(rest.len());
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn with_next(&mut self, kind: TokenKind) -> TokenKind {
        self.next();
        kind
    }

    fn emit(&mut self, kind: TokenKind) {
        self.list.push(Token { kind, span: Span { start: self.start, end: self.at } });
        self.start = self.at;
    }
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r')
}

fn is_word_start(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_'
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests;
