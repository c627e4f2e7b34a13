//! Text to trees.
//!
//! The parser goes down the text once, without going back, and stops at the first thing that is
//! wrong. What it says then, and about which place, is what Prometheus says. A tree that comes out
//! is complete and has been checked: arguments have the types that functions want, and `matching`
//! is there exactly where series meet series.
//!
//! Trees are not simplified, except that a sign before a number becomes part of the number.
//!
//! Three things are refused that Prometheus reads: texts, nestings and trees beyond
//! [`limits`](crate::limits).

mod bracket;
mod call;
mod check;
mod duration;
mod expression;
mod matching;
mod selector;
mod shift;

use crate::ast::{Expr, Node, Span};
use crate::error::ParseError;
use crate::labels::Labels;
use crate::lexer::{self, Token, TokenKind, Tokens};
use crate::limits::{MAX_HEIGHT, MAX_NESTING, MAX_QUERY_BYTES};
use crate::matcher::LabelMatcher;

/// Which parts of the language that are not settled yet may be used. By default all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseOptions {
    /// Functions and aggregations such as `info` and `limitk`.
    pub experimental_functions: bool,
    /// Durations that are computed: `[1m + step()]`.
    pub duration_expressions: bool,
    /// `anchored` and `smoothed`.
    pub extended_ranges: bool,
    /// `fill`, `fill_left` and `fill_right`.
    pub fill_modifiers: bool,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self {
            experimental_functions: true,
            duration_expressions: true,
            extended_ranges: true,
            fill_modifiers: true,
        }
    }
}

/// Reads a query.
pub fn parse(text: &str) -> Result<Expr, ParseError> {
    parse_with(text, &ParseOptions::default())
}

/// Reads a query in which parts of the language may not be used.
pub fn parse_with(text: &str, options: &ParseOptions) -> Result<Expr, ParseError> {
    let mut parser = Parser::new(text, *options)?;
    if parser.peek().kind == TokenKind::End {
        return Err(parser.error(Span::default(), "no expression found in input"));
    }
    let mut expr = parser.expression()?.expr;
    parser.end()?;
    check::check(text, &mut expr)?;
    Ok(expr)
}

/// Reads a selector without `offset` and the like: what `match[]` of the API holds. The selector
/// may match everything; who does not want that looks at the matchers.
pub fn parse_selector(text: &str) -> Result<Vec<LabelMatcher>, ParseError> {
    let mut parser = Parser::new(text, ParseOptions::default())?;
    let (selector, _) = parser.selector()?;
    parser.end()?;
    Ok(selector.matchers)
}

/// Reads the name and labels of one series: `up{job="a"}`.
pub fn parse_metric(text: &str) -> Result<Labels, ParseError> {
    let mut parser = Parser::new(text, ParseOptions::default())?;
    let labels = parser.metric()?;
    parser.end()?;
    Ok(labels)
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

/// An expression and the height of its tree.
struct Tree {
    expr: Expr,
    height: usize,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Tokens,
    /// The token that is read next.
    at: usize,
    options: ParseOptions,
    /// How many expressions the current one is part of.
    nesting: usize,
    /// Whether the current expression is part of an aggregation: errors say so.
    is_in_aggregation: bool,
    /// How many operators the current duration has so far.
    duration_parts: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, options: ParseOptions) -> Result<Self> {
        if text.len() > MAX_QUERY_BYTES {
            let message = format!("query is too long: at most {MAX_QUERY_BYTES} bytes are read");
            return Err(ParseError::new(text, Span::default(), message));
        }
        let tokens = lexer::tokens(text);
        Ok(Self {
            text,
            tokens,
            at: 0,
            options,
            nesting: 0,
            is_in_aggregation: false,
            duration_parts: 0,
        })
    }

    /// The next token, which stays where it is.
    fn peek(&self) -> Token {
        self.peek_behind(0)
    }

    /// The token that stands so many behind the next one.
    fn peek_behind(&self, count: usize) -> Token {
        let list = &self.tokens.list;
        let end = Span { start: self.text.len(), end: self.text.len() };
        // The last token is the end, or what ended the lexing.
        let last = list.last().copied().unwrap_or(Token { kind: TokenKind::End, span: end });
        list.get(self.at + count).copied().unwrap_or(last)
    }

    /// The next token.
    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    /// The next token if it is of that kind.
    fn accept(&mut self, kind: TokenKind) -> Option<Token> {
        (self.peek().kind == kind).then(|| self.next())
    }

    /// The next token, which must be of that kind.
    fn expect(&mut self, kind: TokenKind, expected: Expected) -> Result<Token> {
        self.accept(kind).ok_or_else(|| self.unexpected(expected))
    }

    /// Makes sure that what follows is a token: Prometheus looks at it before it checks some
    /// things that stand before it.
    fn check_next(&self) -> Result<()> {
        match self.peek().kind {
            TokenKind::Bad => Err(self.unexpected_here()),
            _ => Ok(()),
        }
    }

    /// Makes sure that nothing follows.
    fn end(&mut self) -> Result<()> {
        self.expect(TokenKind::End, Expected::NOTHING).map(drop)
    }

    /// Reads something that is part of what is being read.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting >= MAX_NESTING {
            let message = format!("expression is nested too deeply: {MAX_NESTING} levels are read");
            return Err(self.error(self.peek().span, message));
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    /// A tree above others, of which the highest is given.
    fn tree(&self, node: Node, span: Span, height_below: usize) -> Result<Tree> {
        if height_below >= MAX_HEIGHT {
            let message =
                format!("expression is too complex: {MAX_HEIGHT} operators in each other are read");
            return Err(self.error(span, message));
        }
        Ok(Tree { expr: Expr { node, span }, height: height_below + 1 })
    }

    fn text_of(&self, token: Token) -> &'a str {
        token.span.of(self.text)
    }

    fn error(&self, span: Span, message: impl Into<String>) -> ParseError {
        ParseError::new(self.text, span, message)
    }

    /// Complains about the next token.
    fn unexpected(&self, expected: Expected) -> ParseError {
        let token = self.peek();
        if token.kind == TokenKind::Bad {
            return self.error(token.span, self.tokens.error.clone().unwrap_or_default());
        }
        let mut message = format!("unexpected {}", token.description(self.text));
        if !expected.context.is_empty() {
            message = format!("{message} in {}", expected.context);
        }
        if !expected.what.is_empty() {
            message = format!("{message}, expected {}", expected.what);
        }
        self.error(token.span, message)
    }

    /// Complains about the next token, which cannot be part of an expression.
    fn unexpected_here(&self) -> ParseError {
        self.unexpected(self.here())
    }

    /// What an error between expressions says.
    fn here(&self) -> Expected {
        let context = if self.is_in_aggregation { "aggregation" } else { "" };
        Expected { context, what: "" }
    }
}

/// What an error says about what should have been there.
#[derive(Debug, Clone, Copy)]
struct Expected {
    /// Where it should have been.
    context: &'static str,
    /// What it should have been.
    what: &'static str,
}

impl Expected {
    const NOTHING: Expected = Expected { context: "", what: "" };
}

#[cfg(test)]
mod tests;
