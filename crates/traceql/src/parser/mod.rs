//! Tokens to a checked query.
//!
//! A recursive descent with one function per kind of thing, and precedence climbing for operators.
//! Types are checked while trees are built, since only then it is known where in the text a piece
//! came from. Regular expressions are compiled at the end, when it is known how many there are.
//!
//! | module | what it reads |
//! |---|---|
//! | `field` | expressions over one span: what is between braces, and in `by(…)`, `max(…)` |
//! | `types` | … and which of them have a meaning |
//! | `pipeline` | spansets, scalars and stages |
//! | `combine`, `fold` | … and what operators between them mean |
//! | `metrics` | functions over time, and stages of series |
//! | `lenient` | what can be understood of an unfinished query |

mod combine;
mod field;
mod fold;
mod lenient;
mod metrics;
mod pipeline;
mod types;

use crate::ast::{Attribute, Body, Hint, Intrinsic, Literal, Name, Query};
use crate::construct::balanced;
use crate::error::{Position, QueryError};
use crate::lexer::{self, Token, TokenKind};
use crate::limits::{
    LONG_RUN, MAX_HEIGHT, MAX_NESTING, MAX_PATTERN_BYTES, MAX_PATTERNS_BYTES, MAX_QUERY_BYTES,
    MAX_QUOTED_CHARS,
};

pub use lenient::parse_filter_leniently;

type Result<T> = std::result::Result<T, QueryError>;

/// Reads a query and checks it.
pub fn parse(text: &str) -> Result<Query> {
    let mut parser = Parser::new(text)?;
    let start = parser.token().start;
    let body = match parser.piped()? {
        pipeline::Piped::Pipeline { pipeline, .. } => Body::Spans(pipeline),
        pipeline::Piped::Metrics { metrics, .. } => Body::Metrics(metrics),
        pipeline::Piped::Scalar { .. } if *parser.peek() == TokenKind::End => {
            let message = "a number alone is no query: compare it, as in { } | count() > 2";
            return Err(parser.syntax(start, message));
        }
        pipeline::Piped::Scalar { .. } => {
            return Err(parser.unexpected("a comparison with a number"));
        }
    };
    let mut hints = Vec::new();
    while parser.accept_word("with") {
        parser.hints(&mut hints)?;
    }
    if *parser.peek() != TokenKind::End {
        return Err(parser.unexpected("an operator, \"|\" or the end of the query"));
    }
    parser.check_patterns_from(0)?;
    Ok(Query { body, hints })
}

/// Reads the name of one attribute: `resource.service.name`, `.foo`, `span."a b"`, `status`,
/// `event:name`. A word without a scope that is no intrinsic is refused.
pub fn parse_attribute(text: &str) -> Result<Attribute> {
    let text = text.trim();
    let parser = Parser::new(text)?;
    let fail = |message: String| Err(parser.syntax(0, &message));
    match parser.tokens.as_slice() {
        [Token { kind: TokenKind::Attribute(attribute), .. }, _end] => {
            return Ok(attribute.clone());
        }
        [Token { kind: TokenKind::Word(word), .. }, _end] => {
            if let Some(intrinsic) = Intrinsic::from_name(word) {
                let name = Name::Intrinsic(intrinsic);
                return Ok(Attribute { of_parent: false, name });
            }
        }
        // `span.` or `trace:foo`: it has a scope, and is wrong.
        [Token { kind: TokenKind::Bad(reason), .. }, ..]
            if text.starts_with(|c: char| c.is_alphabetic() || c == '.') =>
        {
            return fail(reason.clone());
        }
        _ => {}
    }
    match lexer::whole_name(text) {
        Ok(_) => {
            fail(format!("{text:?} has no scope: expected .{text}, span.{text}, resource.{text}"))
        }
        Err(reason) => fail(reason),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token<'a>>,
    /// The next token. It never passes the last, which is the end.
    at: usize,
    nesting: usize,
    /// Whether it is in `by(…)` or an aggregate, which are about the values that spans have, and
    /// are shown as they were written.
    in_stage: bool,
    /// Regular expressions so far, and where they are.
    patterns: Vec<(String, usize)>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Parser<'a>> {
        if text.len() > MAX_QUERY_BYTES {
            let message = format!("the query is longer than {MAX_QUERY_BYTES} bytes");
            return Err(QueryError::Syntax { at: Position { line: 1, column: 1 }, message });
        }
        let tokens = lexer::tokens(text);
        Ok(Parser { text, tokens, at: 0, nesting: 0, in_stage: false, patterns: Vec::new() })
    }

    fn token(&self) -> &Token<'a> {
        &self.tokens[self.at]
    }

    fn peek(&self) -> &TokenKind<'a> {
        &self.token().kind
    }

    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn accept(&mut self, kind: &TokenKind<'_>) -> bool {
        let found = self.peek() == kind;
        if found {
            self.advance();
        }
        found
    }

    fn accept_word(&mut self, word: &str) -> bool {
        self.accept(&TokenKind::Word(word))
    }

    fn expect(&mut self, kind: &TokenKind<'_>, expected: &str) -> Result<()> {
        if self.accept(kind) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn open_paren(&mut self) -> Result<()> {
        self.expect(&TokenKind::OpenParen, "\"(\"")
    }

    fn close_paren(&mut self) -> Result<()> {
        self.expect(&TokenKind::CloseParen, "\")\"")
    }

    /// Counts parentheses and the like within each other.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == MAX_NESTING {
            let message = format!("more than {MAX_NESTING} levels are within each other");
            return Err(self.syntax(self.token().start, &message));
        }
        self.nesting += 1;
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    /// The height of a node above others, if that is not too much.
    fn height_above(&self, height: usize, start: usize) -> Result<usize> {
        if height < MAX_HEIGHT {
            return Ok(height + 1);
        }
        let message = format!("more than {MAX_HEIGHT} operators depend on each other");
        Err(self.syntax(start, &message))
    }

    fn syntax(&self, offset: usize, message: &str) -> QueryError {
        let at = Position::of(self.text, offset);
        QueryError::Syntax { at, message: message.to_owned() }
    }

    fn mistyped(&self, offset: usize, message: String) -> QueryError {
        QueryError::Type { at: Some(Position::of(self.text, offset)), message }
    }

    /// The error that says what is next, and what should be.
    fn unexpected(&self, expected: &str) -> QueryError {
        let token = self.token();
        let message = match &token.kind {
            TokenKind::Bad(reason) => reason.clone(),
            TokenKind::End => format!("unexpected end of the query, expected {expected}"),
            TokenKind::Word(word) if self.is_unknown(word) => format!(
                "unexpected \"{word}\", expected {expected}; attributes are written .{word} or \
                 span.{word}"
            ),
            _ => {
                let found = shortened(&self.text[token.start..token.end]);
                format!("unexpected {found:?}, expected {expected}")
            }
        };
        self.syntax(token.start, &message)
    }

    /// Whether a word means nothing anywhere, so that it was probably meant as an attribute.
    fn is_unknown(&self, word: &str) -> bool {
        field::literal_word(word).is_none()
            && Intrinsic::from_name(word).is_none()
            && !pipeline::is_stage_word(word)
            && !metrics::is_function_word(word)
            && !matches!(word, "with" | "topk" | "bottomk")
    }

    /// An attribute or an intrinsic.
    fn attribute(&mut self) -> Result<Attribute> {
        let start = self.token().start;
        let attribute = match self.peek() {
            TokenKind::Attribute(attribute) => attribute.clone(),
            TokenKind::Word(word) => match Intrinsic::from_name(word) {
                Some(intrinsic) => Attribute { of_parent: false, name: Name::Intrinsic(intrinsic) },
                None => return Err(self.unexpected("an attribute")),
            },
            _ => return Err(self.unexpected("an attribute")),
        };
        self.advance();
        types::check_attribute(&attribute).map_err(|message| self.mistyped(start, message))?;
        Ok(attribute)
    }

    /// Attributes with commas between them, up to a closing parenthesis.
    fn attributes(&mut self) -> Result<Vec<Attribute>> {
        let mut attributes = vec![self.attribute()?];
        while self.accept(&TokenKind::Comma) {
            attributes.push(self.attribute()?);
        }
        self.expect(&TokenKind::CloseParen, "\",\" or \")\"")?;
        Ok(attributes)
    }

    /// After `with`.
    fn hints(&mut self, hints: &mut Vec<Hint>) -> Result<()> {
        self.open_paren()?;
        loop {
            let TokenKind::Word(name) = *self.peek() else {
                return Err(self.unexpected("the name of a hint"));
            };
            self.advance();
            self.expect(&TokenKind::Operator(crate::ast::BinaryOp::Equal), "\"=\"")?;
            hints.push(Hint { name: name.to_owned(), value: self.literal()? });
            if !self.accept(&TokenKind::Comma) {
                break;
            }
        }
        self.expect(&TokenKind::CloseParen, "\",\" or \")\"")
    }

    /// A constant of any type.
    fn literal(&mut self) -> Result<Literal> {
        let start = self.token().start;
        let is_negative = self.accept(&TokenKind::Operator(crate::ast::BinaryOp::Subtract));
        let Some(literal) = self.accept_literal() else {
            return Err(self.unexpected("a value"));
        };
        if !is_negative {
            return Ok(literal);
        }
        field::negated(&literal).ok_or_else(|| self.syntax(start, "only a number has a sign"))
    }

    /// Compiles regular expressions, all but the first few.
    fn check_patterns_from(&self, first: usize) -> Result<()> {
        let share = MAX_PATTERNS_BYTES / self.patterns.len().max(1);
        for (text, start) in &self.patterns[first..] {
            kymo_pattern::compile(text, share.min(MAX_PATTERN_BYTES))
                .map_err(|message| self.mistyped(*start, message))?;
        }
        Ok(())
    }
}

/// The beginning of a piece of a query, for an error.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// One tree of a run of operands: `((a || b) || c)`, or a balanced one if they are many.
///
/// Printed, a balanced tree has parentheses, and what is between two of them is a short run: it is
/// read as the same tree.
fn joined<T>(run: Vec<T>, join: &mut impl FnMut(T, T) -> Result<T>) -> Result<Option<T>> {
    if run.len() > LONG_RUN {
        return balanced(run, join);
    }
    let mut operands = run.into_iter();
    let Some(mut tree) = operands.next() else { return Ok(None) };
    for operand in operands {
        tree = join(tree, operand)?;
    }
    Ok(Some(tree))
}

#[cfg(test)]
mod tests;
