//! Ranges and subqueries: what stands in brackets behind an expression.

use super::{Expected, Parser, Result, Tree};
use crate::ast::{Duration, DurationNode, Node, RangeSelector, Span, Subquery, TimeShift};
use crate::lexer::TokenKind;

const RANGE: Expected = Expected {
    context: "subquery or range selector",
    what: "number, duration, step(), or range()",
};
const BEHIND_RANGE: Expected = Expected { context: "subquery or range", what: "\":\" or \"]\"" };
const STEP: Expected =
    Expected { context: "subquery selector", what: "number, duration, step(), range(), or \"]\"" };
const BEHIND_STEP: Expected = Expected { context: "subquery selector", what: "\"]\"" };

impl Parser<'_> {
    /// A range or subquery of an expression; the bracket is the next token.
    pub(super) fn bracket(&mut self, inner: Tree) -> Result<Tree> {
        let open = self.next();
        let range = self.positive_duration(RANGE)?;
        if let Some(close) = self.accept(TokenKind::RightBracket) {
            return self.range(inner, range, open.span.to(close.span));
        }
        self.expect(TokenKind::Colon, BEHIND_RANGE)?;
        let mut close = self.accept(TokenKind::RightBracket);
        let mut step = None;
        if close.is_none() {
            step = Some(self.positive_duration(STEP)?);
            close = Some(self.expect(TokenKind::RightBracket, BEHIND_STEP)?);
        }
        let end = close.map_or(inner.expr.span, |close| close.span);
        let span = inner.expr.span.to(end);
        let shift = TimeShift::default();
        let subquery = Subquery { expr: inner.expr, range, step, shift };
        self.tree(Node::Subquery(Box::new(subquery)), span, inner.height)
    }

    fn range(&self, inner: Tree, range: Duration, brackets: Span) -> Result<Tree> {
        let selector_span = inner.expr.span;
        let Node::Selector(selector) = inner.expr.node else {
            return Err(self.error(brackets, "ranges only allowed for vector selectors"));
        };
        if selector.shift.has_offset() {
            return Err(self.error(brackets, "no offset modifiers allowed before range"));
        }
        if selector.shift.at.is_some() {
            return Err(self.error(brackets, "no @ modifiers allowed before range"));
        }
        let range = RangeSelector { selector: *selector, selector_span, range };
        self.tree(Node::Range(Box::new(range)), selector_span.to(brackets), inner.height)
    }

    fn positive_duration(&mut self, expected: Expected) -> Result<Duration> {
        let duration = self.duration(expected)?;
        self.check_next()?;
        if let DurationNode::Number(number) = &duration.node
            && (number.value <= 0.0 || number.value.is_nan())
        {
            return Err(self.error(duration.span, "duration must be greater than 0"));
        }
        Ok(duration)
    }
}
