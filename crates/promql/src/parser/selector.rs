//! Selectors of series, and series themselves.

use super::{Expected, Parser, Result};
use crate::ast::{BinaryOp, Edges, Selector, Span, TimeShift};
use crate::labels::{Label, Labels, NAME};
use crate::lexer::{self, TokenKind};
use crate::matcher::{LabelMatcher, MatchOp};

impl Parser<'_> {
    /// `name`, `name{label="value"}` or `{label="value"}`.
    pub(super) fn selector(&mut self) -> Result<(Selector, Span)> {
        let first = self.peek();
        let mut name = None;
        if first.kind.is_metric_name() {
            self.next();
            name = Some(self.text_of(first).to_owned());
        } else if first.kind != TokenKind::LeftBrace {
            return Err(self.unexpected_here());
        }
        let mut matchers = Vec::new();
        if self.accept(TokenKind::LeftBrace).is_some() {
            matchers = self.matchers()?;
        }
        // Behind all others, where Prometheus has it.
        matchers.extend(name.as_deref().map(|name| LabelMatcher::equal(NAME, name)));
        let span = Span { start: first.span.start, end: self.end_of_last() };
        let (shift, edges) = (TimeShift::default(), Edges::Plain);
        Ok((Selector { name, matchers, shift, edges }, span))
    }

    /// Matchers and the closing brace.
    fn matchers(&mut self) -> Result<Vec<LabelMatcher>> {
        self.in_braces("label matching", |parser| parser.matcher())
    }

    /// `label="value"` and the like, or the name of a metric in quotes.
    fn matcher(&mut self) -> Result<LabelMatcher> {
        let expected = |what| Expected { context: "label matching", what };
        let label = self.next();
        let is_quoted = label.kind == TokenKind::Text;
        let name = self.label_name(label);
        let op = match self.peek().kind {
            TokenKind::Assign => MatchOp::Equal,
            TokenKind::Operator(BinaryOp::NotEqual) => MatchOp::NotEqual,
            TokenKind::Matches => MatchOp::Matches,
            TokenKind::NotMatches => MatchOp::NotMatches,
            _ if is_quoted => return Ok(LabelMatcher::equal(NAME, &name)),
            _ => return Err(self.unexpected(expected("label matching operator"))),
        };
        self.next();
        let value = self.expect(TokenKind::Text, expected("string"))?;
        let pattern = lexer::unquoted(self.text_of(value));
        LabelMatcher::new(&name, op, &pattern)
            .map_err(|error| self.error(label.span.to(value.span), regex_error(&pattern, &error)))
    }

    /// The name and labels of a series.
    pub(super) fn metric(&mut self) -> Result<Labels> {
        let mut labels = Vec::new();
        let first = self.peek();
        if first.kind.is_metric_name() {
            self.next();
        } else if first.kind != TokenKind::LeftBrace {
            return Err(self.unexpected_here());
        }
        if self.accept(TokenKind::LeftBrace).is_some() {
            labels = self.in_braces("label set", |parser| parser.label())?;
        }
        if first.kind.is_metric_name() {
            labels.push(label(NAME, self.text_of(first)));
        }
        Ok(Labels::new(labels))
    }

    /// `label="value"`, or the name of a metric in quotes.
    fn label(&mut self) -> Result<Label> {
        let expected = |what| Expected { context: "label set", what };
        let token = self.next();
        let name = self.label_name(token);
        if self.accept(TokenKind::Assign).is_none() {
            if token.kind == TokenKind::Text {
                return Ok(label(NAME, &name));
            }
            return Err(self.unexpected(expected("\"=\"")));
        }
        let value = self.expect(TokenKind::Text, expected("string"))?;
        Ok(label(&name, &lexer::unquoted(self.text_of(value))))
    }

    /// A list of things that begin with a name, and the closing brace.
    fn in_braces<T>(
        &mut self,
        context: &'static str,
        read: impl Fn(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut list = Vec::new();
        while self.accept(TokenKind::RightBrace).is_none() {
            if !matches!(self.peek().kind, TokenKind::Identifier | TokenKind::Text) {
                return Err(self.unexpected(Expected { context, what: "identifier or \"}\"" }));
            }
            list.push(read(self)?);
            let is_end = self.peek().kind == TokenKind::RightBrace;
            if !is_end && self.accept(TokenKind::Comma).is_none() {
                return Err(self.unexpected(Expected { context, what: "\",\" or \"}\"" }));
            }
        }
        Ok(list)
    }

    fn label_name(&self, token: lexer::Token) -> String {
        match token.kind {
            TokenKind::Text => lexer::unquoted(self.text_of(token)),
            _ => self.text_of(token).to_owned(),
        }
    }
}

fn label(name: &str, value: &str) -> Label {
    Label { name: name.into(), value: value.into() }
}

/// Why a text is no regular expression; in the words of Prometheus for what happens often.
fn regex_error(pattern: &str, error: &regex::Error) -> String {
    let told = error.to_string();
    let reason = told.lines().last().unwrap_or_default();
    let reason = reason.strip_prefix("error: ").unwrap_or(reason);
    let (reason, about) = match (reason, rest_at_fault(&told)) {
        ("unclosed group", _) => ("missing closing )", pattern),
        ("unopened group", _) => ("unexpected )", pattern),
        ("unclosed character class", Some(rest)) => ("missing closing ]", rest),
        ("repetition operator missing expression", Some(rest)) => {
            let end = rest.chars().next().map_or(0, char::len_utf8);
            ("missing argument to repetition operator", &rest[..end])
        }
        (reason, _) => (reason, pattern),
    };
    format!("error parsing regexp: {reason}: `{about}`")
}

/// The pattern from where it is wrong, which an error shows with a mark on the next line. None if
/// it is not shown so: if it has several lines, or is too large.
fn rest_at_fault(told: &str) -> Option<&str> {
    let mut lines = told.lines().skip(1);
    let (pattern, mark) = (lines.next()?, lines.next()?);
    let column = mark.chars().position(|letter| letter == '^')?;
    let (at, _) = pattern.char_indices().nth(column)?;
    pattern.get(at..)
}
