//! The tokens of a template.
//!
//! Blanks within actions are tokens too: `.a.b` is a field of a field, `.a .b` are two fields.

use super::TemplateError;
use super::number::Number;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Text(String),
    Open,
    Close,
    Space,
    /// A function or a keyword.
    Word(String),
    /// `.name`
    Field(String),
    Dot,
    /// `$name`; of `$` the name is empty.
    Variable(String),
    Quoted(String),
    Number(Number),
    Pipe,
    Comma,
    LeftParen,
    RightParen,
    Declare,
    Assign,
}

/// A token and the line it is on.
pub(super) type Placed = (Token, usize);

/// All tokens of a template.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed>, TemplateError> {
    let mut lexer = Lexer { rest: text, line: 1, found: Vec::new() };
    let mut trims_start = false;
    loop {
        let Some((before, after)) = lexer.rest.split_once("{{") else {
            let last = lexer.rest;
            lexer.push_text(if trims_start { last.trim_start_matches(is_space) } else { last });
            return Ok(lexer.found);
        };
        let after_marker = after.strip_prefix('-').filter(|rest| rest.starts_with(is_space));
        let shown = if trims_start { before.trim_start_matches(is_space) } else { before };
        let shown = if after_marker.is_some() { shown.trim_end_matches(is_space) } else { shown };
        lexer.push_text(shown);
        lexer.line += before.matches('\n').count();
        lexer.rest = after_marker.unwrap_or(after);
        let comment = match after_marker {
            Some(rest) => rest.trim_start_matches(is_space).strip_prefix("/*"),
            None => after.strip_prefix("/*"),
        };
        trims_start = match comment {
            Some(comment) => lexer.comment(comment)?,
            None => lexer.action()?,
        };
    }
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
    found: Vec<Placed>,
}

impl<'a> Lexer<'a> {
    fn push_text(&mut self, text: &str) {
        if !text.is_empty() {
            self.push(Token::Text(text.to_owned()));
        }
    }

    fn push(&mut self, token: Token) {
        self.found.push((token, self.line));
    }

    fn error<T>(&self, message: impl Into<String>) -> Result<T, TemplateError> {
        Err(TemplateError::Syntax { line: self.line, message: message.into() })
    }

    /// Takes so many bytes; gives them.
    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// After `/*`. Gives whether text after it is trimmed.
    fn comment(&mut self, comment: &'a str) -> Result<bool, TemplateError> {
        let Some((inside, after)) = comment.split_once("*/") else {
            return self.error("a comment is not closed");
        };
        self.line += inside.matches('\n').count();
        if let Some(after) = after.strip_prefix("}}") {
            self.rest = after;
            return Ok(false);
        }
        let marked = after.starts_with(is_space).then(|| after.trim_start_matches(is_space));
        match marked.and_then(|after| after.strip_prefix("-}}")) {
            Some(after) => {
                self.rest = after;
                Ok(true)
            }
            None => self.error("a comment ends before its action does"),
        }
    }

    /// After `{{`. Gives whether text after it is trimmed.
    fn action(&mut self) -> Result<bool, TemplateError> {
        self.push(Token::Open);
        loop {
            if let Some(after) = self.rest.strip_prefix("}}") {
                self.rest = after;
                self.push(Token::Close);
                return Ok(false);
            }
            let blank = self.rest.len() - self.rest.trim_start_matches(is_space).len();
            if blank > 0 {
                self.take(blank);
                if let Some(after) = self.rest.strip_prefix("-}}") {
                    self.rest = after;
                    self.push(Token::Close);
                    return Ok(true);
                }
                self.push(Token::Space);
                continue;
            }
            self.token()?;
        }
    }

    fn token(&mut self) -> Result<(), TemplateError> {
        let Some(first) = self.rest.chars().next() else {
            return self.error("an action is not closed");
        };
        let second = self.rest[first.len_utf8()..].chars().next();
        let token = match first {
            '"' => return self.quoted(),
            '`' => return self.raw(),
            '\'' => return self.character(),
            '|' => self.simple(1, Token::Pipe),
            ',' => self.simple(1, Token::Comma),
            '(' => self.simple(1, Token::LeftParen),
            ')' => self.simple(1, Token::RightParen),
            '=' => self.simple(1, Token::Assign),
            ':' if second == Some('=') => self.simple(2, Token::Declare),
            '$' => Token::Variable(self.name_after(1)?),
            '.' if !second.is_some_and(|c| c.is_ascii_digit()) => match self.name_after(1)? {
                name if name.is_empty() => Token::Dot,
                name => Token::Field(name),
            },
            '+' | '-' | '.' | '0'..='9' => return self.number(),
            c if is_name(c) => Token::Word(self.name_after(0)?),
            c => return self.error(format!("unexpected {c:?} in an action")),
        };
        self.push(token);
        Ok(())
    }

    fn simple(&mut self, bytes: usize, token: Token) -> Token {
        self.take(bytes);
        token
    }

    /// The name after so many bytes; something that ends names has to follow it.
    fn name_after(&mut self, skip: usize) -> Result<String, TemplateError> {
        let name = &self.rest[skip..];
        let length = name.find(|c| !is_name(c)).unwrap_or(name.len());
        let name = self.take(skip + length)[skip..].to_owned();
        match self.rest.chars().next() {
            None => Ok(name),
            Some(c) if is_space(c) || ".,|:=()}".contains(c) => Ok(name),
            Some(c) => self.error(format!("unexpected {c:?} after a name")),
        }
    }

    fn number(&mut self) -> Result<(), TemplateError> {
        let mut end = 0;
        let mut before = ' ';
        for c in self.rest.chars() {
            let is_sign = matches!(c, '+' | '-');
            let continues = is_name(c)
                || c == '.'
                || (is_sign && (end == 0 || matches!(before, 'e' | 'E' | 'p' | 'P')));
            if !continues {
                break;
            }
            end += c.len_utf8();
            before = c;
        }
        let text = self.take(end);
        match Number::parse(text) {
            Some(number) => {
                self.push(Token::Number(number));
                Ok(())
            }
            None => self.error(format!("{text:?} is not a number")),
        }
    }

    fn raw(&mut self) -> Result<(), TemplateError> {
        let Some(end) = self.rest[1..].find('`') else {
            return self.error("a raw string is not closed");
        };
        let text = self.take(end + 2);
        self.push(Token::Quoted(text[1..=end].to_owned()));
        Ok(())
    }

    fn quoted(&mut self) -> Result<(), TemplateError> {
        let mut escaped = false;
        let end = self.rest[1..].find(|c| {
            let ends = (c == '"' && !escaped) || c == '\n';
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(end) = end.filter(|end| self.rest[1 + end..].starts_with('"')) else {
            return self.error("a quoted string is not closed");
        };
        let text = self.take(end + 2);
        match unquote(&text[1..=end]) {
            Some(meant) => {
                self.push(Token::Quoted(meant));
                Ok(())
            }
            None => self.error(format!("the string {text} has a wrong escape")),
        }
    }

    fn character(&mut self) -> Result<(), TemplateError> {
        let mut escaped = false;
        let end = self.rest[1..].find(|c| {
            let ends = c == '\'' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let Some(end) = end else { return self.error("a character constant is not closed") };
        let text = self.take(end + 2);
        let meant = unquote(&text[1..=end]).unwrap_or_default();
        let mut chars = meant.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) => {
                self.push(Token::Number(Number::of_char(c)));
                Ok(())
            }
            _ => self.error(format!("{text} is not a character")),
        }
    }
}

/// The text that Go's escapes mean. Bytes that are no text become the replacement character.
pub(super) fn unquote(raw: &str) -> Option<String> {
    let mut bytes: Vec<u8> = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = rest[at + 1..].chars().next()?;
        rest = &rest[at + 1 + escape.len_utf8()..];
        let digits = |count: usize| {
            rest.get(..count).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))
        };
        match escape {
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'f' => bytes.push(12),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(11),
            '\\' | '"' | '\'' => bytes.push(escape as u8),
            'x' => {
                bytes.push(u8::from_str_radix(digits(2)?, 16).ok()?);
                rest = &rest[2..];
            }
            'u' | 'U' => {
                let count = if escape == 'u' { 4 } else { 8 };
                let c = char::from_u32(u32::from_str_radix(digits(count)?, 16).ok()?)?;
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = &rest[count..];
            }
            '0'..='7' => {
                let octal = rest
                    .get(..2)
                    .filter(|text| text.bytes().all(|b| (b'0'..=b'7').contains(&b)))?;
                bytes.push(u8::from_str_radix(&format!("{escape}{octal}"), 8).ok()?);
                rest = &rest[2..];
            }
            _ => return None,
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}
