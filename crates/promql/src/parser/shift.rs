//! `offset`, `@`, `anchored` and `smoothed`: modifiers behind a selector or subquery.

use super::{Expected, Parser, Result};
use crate::ast::{At, DurationNode, Edges, Expr, Node, TimeShift};
use crate::lexer::{Keyword, Preprocessor, TokenKind};

const OFFSET: Expected =
    Expected { context: "offset", what: "number, duration, step(), or range()" };
const AT: Expected = Expected { context: "@", what: "timestamp" };

impl Parser<'_> {
    /// `offset` and a duration.
    pub(super) fn offset(&mut self, expr: &mut Expr) -> Result<()> {
        self.next();
        let offset = self.offset_duration(OFFSET)?;
        let (span, end) = (expr.span, self.end_of_last());
        // Prometheus takes it for the longest offset into the future.
        if matches!(offset.node, DurationNode::Number(number) if number.value.is_nan()) {
            return Err(self.error(offset.span, "duration out of range"));
        }
        let Some(shift) = shift_of(&mut expr.node) else {
            let message = "offset modifier must be preceded by an instant vector selector or \
                           range vector selector or a subquery";
            return Err(self.error(span, message));
        };
        if shift.has_offset() {
            return Err(self.error(span, "offset may not be set multiple times"));
        }
        shift.offset = Some(offset);
        expr.span.end = end;
        Ok(())
    }

    /// `@` and a time.
    pub(super) fn at_time(&mut self, expr: &mut Expr) -> Result<()> {
        self.next();
        let at = match self.peek().kind {
            TokenKind::Preprocessor(Preprocessor::Start) => self.boundary(At::Start)?,
            TokenKind::Preprocessor(Preprocessor::End) => self.boundary(At::End)?,
            _ => self.timestamp(expr)?,
        };
        let (span, end) = (expr.span, self.end_of_last());
        let Some(shift) = shift_of(&mut expr.node) else {
            let message = "@ modifier must be preceded by an instant vector selector or range \
                           vector selector or a subquery";
            return Err(self.error(span, message));
        };
        if shift.at.is_some() {
            return Err(self.error(span, "@ <timestamp> may not be set multiple times"));
        }
        shift.at = Some(at);
        expr.span.end = end;
        Ok(())
    }

    /// `start()` or `end()`.
    fn boundary(&mut self, at: At) -> Result<At> {
        self.next();
        self.expect(TokenKind::LeftParen, AT)?;
        self.expect(TokenKind::RightParen, AT)?;
        Ok(at)
    }

    /// Seconds since 1970.
    fn timestamp(&mut self, expr: &Expr) -> Result<At> {
        let is_negative = self.sign().is_some_and(|(_, is_negative)| is_negative);
        if !matches!(self.peek().kind, TokenKind::Number | TokenKind::Duration) {
            return Err(self.unexpected(AT));
        }
        let value = self.number()?.value;
        let seconds = if is_negative { -value } else { value };
        if !seconds.is_finite() || seconds.abs() >= i64::MAX as f64 {
            let told = match seconds {
                f64::INFINITY => "+Inf".to_owned(),
                f64::NEG_INFINITY => "-Inf".to_owned(),
                seconds => format!("{seconds:.6}"),
            };
            let message = format!("timestamp out of bounds for @ modifier: {told}");
            return Err(self.error(expr.span, message));
        }
        Ok(At::Time((seconds * 1000.0).round() as i64))
    }

    /// `anchored` or `smoothed`, which is the next token.
    pub(super) fn edges(&mut self, expr: &mut Expr, keyword: Keyword) -> Result<()> {
        let word = self.next();
        let (name, edges) = match keyword {
            Keyword::Anchored => ("anchored", Edges::Anchored),
            _ => ("smoothed", Edges::Smoothed),
        };
        let refused =
            |reason: &str| Err(self.error(expr.span, format!("{name} modifier {reason}")));
        if !self.options.extended_ranges {
            return refused("is experimental and not enabled");
        }
        let selector = match &mut expr.node {
            Node::Selector(selector) => selector,
            Node::Range(range) => &mut range.selector,
            Node::Subquery(_) => return refused("is not supported for subqueries"),
            _ => return refused("not implemented"),
        };
        if selector.edges != Edges::Plain && selector.edges != edges {
            let message = "anchored and smoothed modifiers cannot be used together";
            return Err(self.error(expr.span, message));
        }
        selector.edges = edges;
        expr.span = expr.span.to(word.span);
        Ok(())
    }
}

/// Where `offset` and `@` of an expression are kept, if it can have them.
fn shift_of(node: &mut Node) -> Option<&mut TimeShift> {
    match node {
        Node::Selector(selector) => Some(&mut selector.shift),
        Node::Range(range) => Some(&mut range.selector.shift),
        Node::Subquery(subquery) => Some(&mut subquery.shift),
        _ => None,
    }
}

impl TimeShift {
    /// Whether there is an offset. One of nothing is none.
    pub(crate) fn has_offset(&self) -> bool {
        self.offset.as_ref().is_some_and(
            |offset| !matches!(offset.node, DurationNode::Number(number) if number.value == 0.0),
        )
    }
}
