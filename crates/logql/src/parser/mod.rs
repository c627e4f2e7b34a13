//! Text to trees.
//!
//! The parser goes down the tokens once and stops at the first thing that is wrong. It says where,
//! in which stage, and what it expected. A tree that comes out has been checked: everything in it
//! compiles, and every rule of the language holds.
//!
//! Texts, nestings and trees beyond [`limits`](crate::limits) are refused.

mod check;
mod expression;
mod filter;
mod matching;
mod metric;
mod range;
mod selector;
mod stage;

use crate::ast::{Expr, LogExpr, MetricExpr, Span};
use crate::error::ParseError;
use crate::lexer::{self, Token, TokenKind, Word};
use crate::limits::{
    MAX_CONDITIONS, MAX_NESTING, MAX_PATTERN_BYTES, MAX_PATTERNS_BYTES, MAX_QUERY_BYTES,
};
use crate::matcher::LabelMatcher;

/// Reads a query.
pub fn parse(text: &str) -> Result<Expr, ParseError> {
    let mut parser = Parser::new(text)?;
    if parser.peek() == &TokenKind::End {
        return Err(parser.error(Span::default(), "the query is empty: expected { or a function"));
    }
    let expr = parser.expression()?.expr;
    parser.end()?;
    Ok(expr)
}

/// Reads a log query.
pub fn parse_log(text: &str) -> Result<LogExpr, ParseError> {
    match parse(text)? {
        Expr::Log(log) => Ok(log),
        Expr::Metric(_) => {
            let span = Span { start: 0, end: text.len() };
            Err(ParseError::new(text, span, "expected a log query, found a metric query"))
        }
    }
}

/// Reads a selector alone: what `match[]` and `query` of some endpoints hold. It may match
/// everything: `{}` is read too; who does not want that looks at the matchers.
pub fn parse_selector(text: &str) -> Result<Vec<LabelMatcher>, ParseError> {
    let mut parser = Parser::new(text)?;
    let matchers = parser.matchers_in_braces()?;
    parser.end()?;
    Ok(matchers)
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

/// An expression and the height of its tree.
struct Tree {
    expr: Expr,
    span: Span,
    height: usize,
}

/// A metric expression and the height of its tree.
struct MetricTree {
    expr: MetricExpr,
    height: usize,
}

struct Parser<'a> {
    text: &'a str,
    /// Never empty: the last is the end.
    tokens: Vec<Token>,
    /// The token that is read next.
    at: usize,
    /// How many expressions the current one is part of.
    nesting: usize,
    /// Where the current stage begins.
    stage_start: Option<usize>,
    /// How many conditions were read.
    conditions: usize,
    /// What a regular expression may be compiled to.
    pattern_bytes: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        if text.len() > MAX_QUERY_BYTES {
            let message =
                format!("the query is too long: at most {MAX_QUERY_BYTES} bytes are read");
            return Err(ParseError::new("", Span::default(), message));
        }
        let tokens = lexer::tokens(text)?;
        // There are no more regular expressions than texts.
        let texts = tokens.iter().filter(|token| matches!(token.kind, TokenKind::Text(_))).count();
        let pattern_bytes = MAX_PATTERN_BYTES.min(MAX_PATTERNS_BYTES / texts.max(1));
        Ok(Self {
            text,
            tokens,
            at: 0,
            nesting: 0,
            stage_start: None,
            conditions: 0,
            pattern_bytes,
        })
    }

    /// The next token, which stays where it is.
    fn peek(&self) -> &TokenKind {
        self.peek_behind(0)
    }

    /// The token that stands so many behind the next one.
    fn peek_behind(&self, count: usize) -> &TokenKind {
        self.tokens.get(self.at + count).map_or(&TokenKind::End, |token| &token.kind)
    }

    /// Where the next token is.
    fn span(&self) -> Span {
        let end = Span { start: self.text.len(), end: self.text.len() };
        self.tokens.get(self.at).map_or(end, |token| token.span)
    }

    /// Where the token is that was read last.
    fn last_span(&self) -> Span {
        let token = self.at.checked_sub(1).and_then(|at| self.tokens.get(at));
        token.map_or(Span::default(), |token| token.span)
    }

    /// Goes behind the next token.
    fn skip(&mut self) {
        self.at += 1;
    }

    /// Goes behind the next token if it is that.
    fn accept(&mut self, kind: &TokenKind) -> bool {
        let is_there = self.peek() == kind;
        self.at += usize::from(is_there);
        is_there
    }

    fn accept_word(&mut self, word: Word) -> bool {
        self.accept(&TokenKind::Word(word))
    }

    fn expect(&mut self, kind: &TokenKind, expected: &str) -> Result<()> {
        if self.accept(kind) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// The next token, which must be a name.
    fn name(&mut self, expected: &str) -> Result<String> {
        match self.peek() {
            TokenKind::Identifier => {
                let span = self.span();
                self.skip();
                Ok(self.text_of(span).to_owned())
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// The next token, which must be a text.
    fn quoted(&mut self, expected: &str) -> Result<String> {
        match self.peek() {
            TokenKind::Text(text) => {
                let text = text.clone();
                self.skip();
                Ok(text)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// Names with commas, in parentheses; may be none.
    fn names_in_parens(&mut self) -> Result<Vec<String>> {
        self.expect(&TokenKind::LeftParen, "(")?;
        let mut names = Vec::new();
        if self.accept(&TokenKind::RightParen) {
            return Ok(names);
        }
        loop {
            names.push(self.name("the name of a label")?);
            if self.accept(&TokenKind::RightParen) {
                return Ok(names);
            }
            self.expect(&TokenKind::Comma, ", or )")?;
        }
    }

    /// Makes sure that nothing follows.
    fn end(&mut self) -> Result<()> {
        self.expect(&TokenKind::End, "an operator or the end of the query")
    }

    /// Reads something that is part of what is being read.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting >= MAX_NESTING {
            let message = format!("the query is nested too deeply: {MAX_NESTING} levels are read");
            return Err(self.error(self.span(), message));
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    /// Counts a condition; an error if there are too many.
    fn count_condition(&mut self) -> Result<()> {
        self.conditions += 1;
        if self.conditions <= MAX_CONDITIONS {
            return Ok(());
        }
        let message = format!("the query has too many conditions: {MAX_CONDITIONS} are read");
        Err(self.error(self.last_span(), message))
    }

    fn text_of(&self, span: Span) -> &'a str {
        self.text.get(span.start..span.end).unwrap_or_default()
    }

    fn error(&self, span: Span, message: impl Into<String>) -> ParseError {
        let error = ParseError::new(self.text, span, message);
        match self.stage_start {
            Some(start) => {
                error.in_stage(self.text, Span { start, end: span.end.max(self.last_span().end) })
            }
            None => error,
        }
    }

    /// Complains about the next token.
    fn unexpected(&self, expected: &str) -> ParseError {
        let span = self.span();
        let found = Token { kind: self.peek().clone(), span }.description(self.text);
        self.error(span, format!("unexpected {found}, expected {expected}"))
    }
}

#[cfg(test)]
mod tests;
