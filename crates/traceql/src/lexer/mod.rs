//! Text to tokens.
//!
//! What is no token becomes [`TokenKind::Bad`] with the reason, and lexing goes on: the parser
//! complains when it gets there, and whoever reads unfinished queries skips it.
//!
//! The name of an attribute reaches from its dot to white space or one of [`ENDS_NAME`], so that
//! `span.a-b` is one attribute, and a difference is written with spaces.

mod literals;

use crate::ast::{Attribute, BinaryOp, Intrinsic, Mode, Name, Relation, Scope};

/// Besides white space, what ends the name of an attribute unless it is in quotes.
const ENDS_NAME: &str = "{}()=~!<>&|^,";

/// What may stand before the colon of an intrinsic.
const INTRINSIC_SCOPES: [&str; 5] = ["trace", "span", "event", "link", "instrumentation"];

/// A token, and where it is: byte offsets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: TokenKind<'a>,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TokenKind<'a> {
    Int(i64),
    Float(f64),
    Duration(i64),
    Text(String),
    /// `span.a`, `span:name`; bare names such as `duration` are words.
    Attribute(Attribute),
    Word(&'a str),
    /// Also `>`, `<` and `!~` between spansets.
    Operator(BinaryOp),
    /// What is an operator between spansets only.
    Structural(Relation, Mode),
    Not,
    OpenBrace,
    CloseBrace,
    OpenParen,
    CloseParen,
    Comma,
    Pipe,
    /// Why it is no token.
    Bad(String),
    End,
}

/// Signs, longest first where one begins with another.
static SIGNS: [(&str, TokenKind<'static>); 35] = {
    use TokenKind::{Operator, Structural};
    [
        ("!>>", Structural(Relation::Descendant, Mode::Unrelated)),
        ("!<<", Structural(Relation::Ancestor, Mode::Unrelated)),
        ("&>>", Structural(Relation::Descendant, Mode::Both)),
        ("&<<", Structural(Relation::Ancestor, Mode::Both)),
        ("!>", Structural(Relation::Child, Mode::Unrelated)),
        ("!<", Structural(Relation::Parent, Mode::Unrelated)),
        ("&>", Structural(Relation::Child, Mode::Both)),
        ("&<", Structural(Relation::Parent, Mode::Both)),
        ("&~", Structural(Relation::Sibling, Mode::Both)),
        (">>", Structural(Relation::Descendant, Mode::Related)),
        ("<<", Structural(Relation::Ancestor, Mode::Related)),
        ("~", Structural(Relation::Sibling, Mode::Related)),
        ("!~", Operator(BinaryOp::NotMatch)),
        ("!=", Operator(BinaryOp::NotEqual)),
        ("=~", Operator(BinaryOp::Match)),
        ("<=", Operator(BinaryOp::LessEqual)),
        (">=", Operator(BinaryOp::GreaterEqual)),
        ("&&", Operator(BinaryOp::And)),
        ("||", Operator(BinaryOp::Or)),
        ("=", Operator(BinaryOp::Equal)),
        ("<", Operator(BinaryOp::Less)),
        (">", Operator(BinaryOp::Greater)),
        ("+", Operator(BinaryOp::Add)),
        ("-", Operator(BinaryOp::Subtract)),
        ("*", Operator(BinaryOp::Multiply)),
        ("/", Operator(BinaryOp::Divide)),
        ("%", Operator(BinaryOp::Remainder)),
        ("^", Operator(BinaryOp::Power)),
        ("!", TokenKind::Not),
        ("|", TokenKind::Pipe),
        ("{", TokenKind::OpenBrace),
        ("}", TokenKind::CloseBrace),
        ("(", TokenKind::OpenParen),
        (")", TokenKind::CloseParen),
        (",", TokenKind::Comma),
    ]
};

/// All tokens of a text. The last is [`TokenKind::End`].
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.token();
        let is_end = token.kind == TokenKind::End;
        tokens.push(token);
        if is_end {
            return tokens;
        }
    }
}

/// What is written after the dot, from the beginning of a text: all of it must be the name.
pub(crate) fn whole_name(text: &str) -> Result<String, String> {
    let mut lexer = Lexer { text, at: 0 };
    let (key, _) = lexer.name("an attribute")?;
    if lexer.rest().is_empty() { Ok(key) } else { Err(format!("{text:?} is not one attribute")) }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = rest.len() - rest.trim_start_matches(wanted).len();
        self.at += taken;
        &rest[..taken]
    }

    fn accept(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    fn token(&mut self) -> Token<'a> {
        let opened = self.skip_blanks();
        let start = opened.unwrap_or(self.at);
        let kind = match opened {
            Some(_) => TokenKind::Bad("a comment is not closed: expected \"*/\"".to_owned()),
            None => self.kind().unwrap_or_else(TokenKind::Bad),
        };
        Token { kind, start, end: self.at }
    }

    /// Skips white space and comments. Gives the start of a comment that is not closed.
    fn skip_blanks(&mut self) -> Option<usize> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest().starts_with("//") {
                self.take_while(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                match self.rest()[2..].find("*/") {
                    Some(length) => self.at += length + 4,
                    None => return Some(std::mem::replace(&mut self.at, self.text.len())),
                }
            } else {
                return None;
            }
        }
    }

    fn kind(&mut self) -> Result<TokenKind<'a>, String> {
        let Some(first) = self.peek() else { return Ok(TokenKind::End) };
        let second = self.rest()[first.len_utf8()..].chars().next();
        match first {
            '"' => self.quoted_text().map(TokenKind::Text),
            '`' => self.raw_text().map(TokenKind::Text),
            '0'..='9' => self.number(),
            '.' if second.is_some_and(|c| c.is_ascii_digit()) => self.number(),
            '.' => {
                self.at += 1;
                self.keyed(Scope::Any, false)
            }
            '_' => Ok(self.word()),
            _ if first.is_alphabetic() => self.word_or_attribute(),
            _ => self.sign(first),
        }
    }

    fn sign(&mut self, first: char) -> Result<TokenKind<'a>, String> {
        if let Some((sign, kind)) = SIGNS.iter().find(|(sign, _)| self.rest().starts_with(sign)) {
            self.at += sign.len();
            return Ok(kind.clone());
        }
        self.at += first.len_utf8();
        Err(match first {
            '\'' => "unexpected \"'\": text is written in double quotes".to_owned(),
            '&' => "unexpected \"&\": did you mean \"&&\"?".to_owned(),
            _ => format!("unexpected {:?}", first.to_string()),
        })
    }

    fn word(&mut self) -> TokenKind<'a> {
        TokenKind::Word(self.take_while(|c| c.is_alphanumeric() || c == '_'))
    }

    fn word_or_attribute(&mut self) -> Result<TokenKind<'a>, String> {
        let start = self.at;
        let word = self.take_while(|c| c.is_alphanumeric() || c == '_');
        if INTRINSIC_SCOPES.contains(&word) && self.accept(":") {
            self.take_while(|c| c.is_alphanumeric() || c == '_');
            return self.scoped_intrinsic(&self.text[start..self.at], word);
        }
        if word == "parent" && self.accept(".") {
            return self.of_parent();
        }
        match Scope::from_name(word) {
            Some(scope) if self.accept(".") => self.keyed(scope, false),
            _ => Ok(TokenKind::Word(word)),
        }
    }

    fn scoped_intrinsic(&self, name: &str, scope: &str) -> Result<TokenKind<'a>, String> {
        if let Some(intrinsic) = Intrinsic::from_name(name) {
            let name = Name::Intrinsic(intrinsic);
            return Ok(TokenKind::Attribute(Attribute { of_parent: false, name }));
        }
        let scoped = Intrinsic::SCOPED.iter().map(|(name, _)| *name);
        let known: Vec<&str> = scoped
            .chain(Intrinsic::ALL.iter().map(|intrinsic| intrinsic.name()))
            .filter(|name| name.split_once(':').is_some_and(|(before, _)| before == scope))
            .collect();
        Err(format!("there is no {name:?}: expected one of {}", known.join(", ")))
    }

    /// After `parent.`: a scope, an intrinsic, or a key.
    fn of_parent(&mut self) -> Result<TokenKind<'a>, String> {
        let start = self.at;
        let word = self.take_while(char::is_alphabetic);
        if let Some(scope) = Scope::from_name(word)
            && self.accept(".")
        {
            return self.keyed(scope, true);
        }
        self.at = start;
        let (key, is_quoted) = self.name("parent.")?;
        let name = match Intrinsic::from_name(&key) {
            Some(intrinsic) if !is_quoted => Name::Intrinsic(intrinsic),
            _ => Name::Keyed { scope: Scope::Any, key },
        };
        Ok(TokenKind::Attribute(Attribute { of_parent: true, name }))
    }

    fn keyed(&mut self, scope: Scope, of_parent: bool) -> Result<TokenKind<'a>, String> {
        let (key, _) = self.name(&format!("{}.", scope.name()))?;
        let name = Name::Keyed { scope, key };
        Ok(TokenKind::Attribute(Attribute { of_parent, name }))
    }

    /// The name of an attribute, and whether some of it was in quotes.
    fn name(&mut self, before: &str) -> Result<(String, bool), String> {
        let mut key = String::new();
        let mut is_quoted = false;
        loop {
            key.push_str(self.take_while(|c| c != '"' && !ends_name(c)));
            if !self.accept("\"") {
                break;
            }
            is_quoted = true;
            self.quoted_name(&mut key)?;
        }
        if key.is_empty() && !is_quoted {
            return Err(format!("\"{before}\" needs the name of an attribute after it"));
        }
        Ok((key, is_quoted))
    }

    /// After the opening quote: up to the closing one, with `\"` and `\\` as the only escapes.
    fn quoted_name(&mut self, key: &mut String) -> Result<(), String> {
        loop {
            key.push_str(self.take_while(|c| c != '"' && c != '\\'));
            if self.accept("\"") {
                return Ok(());
            }
            if self.rest().is_empty() {
                return Err("the name of an attribute is not closed: expected '\"'".to_owned());
            }
            self.at += 1;
            match self.peek() {
                Some(escaped @ ('"' | '\\')) => {
                    key.push(escaped);
                    self.at += 1;
                }
                _ => return Err("in names of attributes only \\\" and \\\\ are escapes".to_owned()),
            }
        }
    }
}

/// Whether a character ends the name of an attribute that is not in quotes.
pub(crate) fn ends_name(c: char) -> bool {
    c.is_whitespace() || ENDS_NAME.contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind<'_>> {
        let mut kinds: Vec<_> = tokens(text).into_iter().map(|token| token.kind).collect();
        assert_eq!(kinds.pop(), Some(TokenKind::End));
        kinds
    }

    fn keyed(scope: Scope, key: &str) -> TokenKind<'static> {
        let name = Name::Keyed { scope, key: key.to_owned() };
        TokenKind::Attribute(Attribute { of_parent: false, name })
    }

    #[test]
    fn names_reach_to_a_blank_or_an_operator() {
        assert_eq!(kinds("span.a-b/c:d[0]"), [keyed(Scope::Span, "a-b/c:d[0]")]);
        assert_eq!(kinds(".日本=").remove(0), keyed(Scope::Any, "日本"));
        assert_eq!(kinds(".a.\"b c\".d"), [keyed(Scope::Any, "a.b c.d")]);
        assert_eq!(kinds("span.\"q\\\"\\\\\""), [keyed(Scope::Span, "q\"\\")]);
        assert_eq!(kinds("link.\"\""), [keyed(Scope::Link, "")]);
        for text in ["span. ", ".", ".\"a", ".\"a\\n\"", "event.=", "parent."] {
            assert!(matches!(kinds(text)[0], TokenKind::Bad(_)), "{text}");
        }
    }

    #[test]
    fn values_of_the_parent_may_be_intrinsics() {
        let of_parent = |text: &'static str| match kinds(text).remove(0) {
            TokenKind::Attribute(Attribute { of_parent: true, name }) => name,
            other => panic!("{text}: {other:?}"),
        };
        let keyed = |scope, key: &str| Name::Keyed { scope, key: key.to_owned() };
        assert_eq!(of_parent("parent.duration"), Name::Intrinsic(Intrinsic::Duration));
        assert_eq!(of_parent("parent.span:kind"), Name::Intrinsic(Intrinsic::Kind));
        assert_eq!(of_parent("parent.\"duration\""), keyed(Scope::Any, "duration"));
        assert_eq!(of_parent("parent.span.x"), keyed(Scope::Span, "x"));
        assert_eq!(of_parent("parent.resource.x"), keyed(Scope::Resource, "x"));
        assert_eq!(of_parent("parent.spans"), keyed(Scope::Any, "spans"));
        assert_eq!(kinds("parent"), [TokenKind::Word("parent")]);
    }

    #[test]
    fn comments_are_blanks() {
        assert_eq!(kinds("{ // } \n /* { */ }"), [TokenKind::OpenBrace, TokenKind::CloseBrace]);
        assert!(matches!(kinds("{ /* }")[1], TokenKind::Bad(_)));
    }

    #[test]
    fn the_longest_sign_is_taken() {
        use TokenKind::{Operator, Structural};
        assert_eq!(
            kinds("!>>!>!~!=!&>>&&>=>"),
            [
                Structural(Relation::Descendant, Mode::Unrelated),
                Structural(Relation::Child, Mode::Unrelated),
                Operator(BinaryOp::NotMatch),
                Operator(BinaryOp::NotEqual),
                TokenKind::Not,
                Structural(Relation::Descendant, Mode::Both),
                Operator(BinaryOp::And),
                Operator(BinaryOp::GreaterEqual),
                Operator(BinaryOp::Greater),
            ]
        );
        for (nth, (sign, _)) in SIGNS.iter().enumerate() {
            for (later, _) in &SIGNS[nth + 1..] {
                assert!(!later.starts_with(sign), "{sign} hides {later}");
            }
        }
    }

    #[test]
    fn what_is_unknown_after_a_colon_is_told() {
        let TokenKind::Bad(reason) = kinds("trace:status").remove(0) else { panic!() };
        assert_eq!(
            reason,
            "there is no \"trace:status\": expected one of trace:duration, trace:rootName, \
             trace:rootService, trace:id"
        );
    }
}
