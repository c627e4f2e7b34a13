//! Text to tokens: what is outside of `{{ … }}` as it is, what is inside as words.
//!
//! Whitespace beside `{{-` and `-}}` is gone, and so are comments. A token knows whether a space
//! stands before it, since `.a .b` are two fields and `.a.b` is one of another.

use super::TemplateError;

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// Outside of actions.
    Text(String),
    /// `{{`.
    Open,
    /// `}}`.
    Close,
    /// A name: of a function, or a keyword.
    Word(String),
    /// `.name`.
    Field(String),
    /// `.` alone.
    Dot,
    /// `$` or `$name`.
    Variable(String),
    /// A text in quotes.
    Literal(String),
    /// A number without a fraction, or a letter in quotes.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    Pipe,
    OpenParen,
    CloseParen,
    Declare,
    Assign,
    Comma,
    End,
}

/// A token and its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) is_spaced: bool,
}

/// All tokens of a text; the last is [`Kind::End`].
pub(super) fn tokens(name: &str, text: &str) -> Result<Vec<Token>, TemplateError> {
    let mut lexer = Lexer { name, text, at: 0, tokens: Vec::new() };
    lexer.run()?;
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    name: &'a str,
    text: &'a str,
    at: usize,
    tokens: Vec<Token>,
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

fn is_name(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn fail<T>(&self, message: impl std::fmt::Display) -> Result<T, TemplateError> {
        Err(TemplateError::parsing(self.name, self.text, self.at, &message.to_string()))
    }

    fn push(&mut self, kind: Kind, start: usize, is_spaced: bool) {
        self.tokens.push(Token { kind, start, end: self.at, is_spaced });
    }

    fn run(&mut self) -> Result<(), TemplateError> {
        let mut trims_start = false;
        loop {
            let start = self.at;
            let open = self.rest().find("{{");
            let mut text = &self.rest()[..open.unwrap_or(self.rest().len())];
            self.at += text.len();
            let behind = self.rest().get(2..).unwrap_or_default();
            let trims_end =
                open.is_some() && behind.starts_with('-') && behind[1..].starts_with(is_space);
            if trims_start {
                text = text.trim_start_matches(is_space);
            }
            if trims_end {
                text = text.trim_end_matches(is_space);
            }
            if !text.is_empty() {
                self.push(Kind::Text(text.to_owned()), start, false);
            }
            if open.is_none() {
                self.push(Kind::End, self.at, false);
                return Ok(());
            }
            let start = self.at;
            self.at += if trims_end { 3 } else { 2 };
            let inner = self.rest().trim_start_matches(is_space);
            trims_start = if trims_end && inner.starts_with("/*") {
                self.at += self.rest().len() - inner.len();
                self.comment()?
            } else if self.rest().starts_with("/*") {
                self.comment()?
            } else {
                self.push(Kind::Open, start, false);
                self.action()?
            };
        }
    }

    /// Skips a comment; tells whether the text behind is trimmed.
    fn comment(&mut self) -> Result<bool, TemplateError> {
        let Some(end) = self.rest().find("*/") else { return self.fail("unclosed comment") };
        self.at += end + 2;
        let trims = self.rest().starts_with(is_space)
            && self.rest().trim_start_matches(is_space).starts_with("-}}");
        if trims {
            self.at += self.rest().find("-}}").unwrap_or(0) + 1;
        }
        if !self.rest().starts_with("}}") {
            return self.fail("comment ends before closing delimiter");
        }
        self.at += 2;
        Ok(trims)
    }

    /// Reads to the end of an action; tells whether the text behind is trimmed.
    fn action(&mut self) -> Result<bool, TemplateError> {
        loop {
            let before = self.rest();
            let rest = before.trim_start_matches(is_space);
            let is_spaced = rest.len() < before.len();
            self.at += before.len() - rest.len();
            let start = self.at;
            if rest.starts_with("}}") || (is_spaced && rest.starts_with("-}}")) {
                let trims = rest.starts_with('-');
                self.at += if trims { 3 } else { 2 };
                self.push(Kind::Close, start, is_spaced);
                return Ok(trims);
            }
            let kind = self.inner(rest)?;
            self.push(kind, start, is_spaced);
        }
    }

    fn inner(&mut self, rest: &'a str) -> Result<Kind, TemplateError> {
        let Some(first) = rest.chars().next() else { return self.fail("unclosed action") };
        let simple = match first {
            '|' => Some(Kind::Pipe),
            '(' => Some(Kind::OpenParen),
            ')' => Some(Kind::CloseParen),
            ',' => Some(Kind::Comma),
            '=' => Some(Kind::Assign),
            _ => None,
        };
        if let Some(kind) = simple {
            self.at += 1;
            return Ok(kind);
        }
        let behind = &rest[first.len_utf8()..];
        match first {
            ':' if behind.starts_with('=') => {
                self.at += 2;
                Ok(Kind::Declare)
            }
            ':' => self.fail("expected :="),
            '"' => self.quoted(rest),
            '`' => match behind.find('`') {
                Some(end) => {
                    self.at += end + 2;
                    Ok(Kind::Literal(behind[..end].to_owned()))
                }
                None => self.fail("unterminated raw quoted string"),
            },
            '\'' => self.letter(rest),
            '$' => Ok(Kind::Variable(self.name(1, behind))),
            '.' if behind.starts_with(|c: char| c.is_ascii_digit()) => self.number(rest),
            '.' if behind.starts_with(is_name) => {
                let name = self.name(1, behind);
                Ok(Kind::Field(name))
            }
            '.' => {
                self.at += 1;
                Ok(Kind::Dot)
            }
            '+' | '-' => self.number(rest),
            first if first.is_ascii_digit() => self.number(rest),
            first if is_name(first) => Ok(Kind::Word(self.name(0, rest))),
            first => {
                let code = first as u32;
                self.fail(format!("unrecognized character in action: U+{code:04X} '{first}'"))
            }
        }
    }

    /// Takes a name that stands `skip` bytes further.
    fn name(&mut self, skip: usize, from: &str) -> String {
        let end = from.find(|c| !is_name(c)).unwrap_or(from.len());
        self.at += skip + end;
        from[..end].to_owned()
    }

    fn quoted(&mut self, rest: &str) -> Result<Kind, TemplateError> {
        let mut text = String::new();
        let mut at = 1;
        loop {
            let Some(c) = rest[at..].chars().next().filter(|c| *c != '\n') else {
                return self.fail("unterminated quoted string");
            };
            at += c.len_utf8();
            match c {
                '"' => break,
                '\\' => match escape(&rest[at..], '"') {
                    Some((c, length)) => {
                        text.push(c);
                        at += length;
                    }
                    None => return self.fail("invalid syntax"),
                },
                c => text.push(c),
            }
        }
        self.at += at;
        Ok(Kind::Literal(text))
    }

    fn letter(&mut self, rest: &str) -> Result<Kind, TemplateError> {
        let inner = &rest[1..];
        let found = match inner.strip_prefix('\\') {
            Some(escaped) => escape(escaped, '\'').map(|(c, length)| (c, length + 1)),
            None => inner.chars().next().map(|c| (c, c.len_utf8())),
        };
        match found {
            Some((c, length)) if inner[length..].starts_with('\'') => {
                self.at += length + 2;
                Ok(Kind::Int(i64::from(c as u32)))
            }
            _ => self.fail("unterminated character constant"),
        }
    }

    fn number(&mut self, rest: &str) -> Result<Kind, TemplateError> {
        let is_hex = rest.trim_start_matches(['+', '-']).starts_with("0x");
        let mut end = 0;
        let mut before = ' ';
        for c in rest.chars() {
            let is_sign =
                matches!(c, '+' | '-') && (end == 0 || (!is_hex && matches!(before, 'e' | 'E')));
            if !is_sign && !c.is_alphanumeric() && c != '.' && c != '_' {
                break;
            }
            end += c.len_utf8();
            before = c;
        }
        let written = &rest[..end];
        let plain = written.replace('_', "");
        let kind = int(&plain).map(Kind::Int).or_else(|| plain.parse().ok().map(Kind::Float));
        // Words such as `inf` are numbers to Rust, not here.
        match kind.filter(|_| plain.contains(|c: char| c.is_ascii_digit())) {
            Some(kind) => {
                self.at += end;
                Ok(kind)
            }
            None => self.fail(format!("bad number syntax: \"{written}\"")),
        }
    }
}

/// A number without a fraction, in any of Go's bases.
fn int(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    i64::from_str_radix(&format!("{sign}{digits}"), base).ok()
}

/// What a backslash before a text stands for, and how much of the text belongs to it.
fn escape(text: &str, quote: char) -> Option<(char, usize)> {
    let first = text.chars().next()?;
    let code = |digits: usize, base| {
        let from = if base == 8 { 0 } else { 1 };
        let code = u32::from_str_radix(text.get(from..from + digits)?, base).ok()?;
        Some((char::from_u32(code)?, from + digits))
    };
    let simple = match first {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\x07',
        'b' => '\x08',
        'f' => '\x0c',
        'v' => '\x0b',
        '\\' => '\\',
        'x' => return code(2, 16),
        'u' => return code(4, 16),
        'U' => return code(8, 16),
        '0'..='7' => return code(3, 8),
        c if c == quote => c,
        _ => return None,
    };
    Some((simple, 1))
}
