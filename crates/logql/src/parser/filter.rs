//! Conditions on lines and labels.

use super::{Parser, Result, check};
use crate::ast::{
    BinaryOp, CompareOp, Comparison, IpFilter, LabelFilter, LineFilter, LineMatch, LineOp, Span,
};
use crate::lexer::TokenKind;

impl Parser<'_> {
    /// `|= "a" or "b"`
    pub(super) fn line_filter(&mut self) -> Result<Option<LineFilter>> {
        let op = match self.peek() {
            TokenKind::PipeContains => LineOp::Contains,
            TokenKind::NotEqual => LineOp::Lacks,
            TokenKind::PipeMatches => LineOp::Matches,
            TokenKind::NotMatches => LineOp::NotMatches,
            TokenKind::PipePattern => LineOp::Pattern,
            TokenKind::NotPattern => LineOp::NotPattern,
            _ => return Ok(None),
        };
        self.skip();
        let mut alternatives = vec![self.line_match()?];
        while self.peek() == &TokenKind::Operator(BinaryOp::Or)
            && matches!(self.peek_behind(1), TokenKind::Text(_) | TokenKind::Ip)
        {
            self.skip();
            alternatives.push(self.line_match()?);
        }
        Ok(Some(LineFilter { op, alternatives }))
    }

    fn line_match(&mut self) -> Result<LineMatch> {
        self.count_condition()?;
        if self.peek() == &TokenKind::Ip {
            return Ok(LineMatch::Ip(self.ip()?));
        }
        Ok(LineMatch::Text(self.quoted("a text between quotes or ip(...)")?))
    }

    /// `ip("…")`
    fn ip(&mut self) -> Result<String> {
        self.skip();
        self.expect(&TokenKind::LeftParen, "(")?;
        let addresses = self.quoted("a text: an address, a network or a range of addresses")?;
        self.expect(&TokenKind::RightParen, ")")?;
        Ok(addresses)
    }

    /// A condition that has been checked; for places that are no stage.
    pub(super) fn checked_label_filter(&mut self) -> Result<LabelFilter> {
        let start = self.span().start;
        let filter = self.label_filter()?;
        let span = Span { start, end: self.last_span().end };
        check::check_label_filter(&filter).map_err(|message| self.error(span, message))?;
        Ok(filter)
    }

    /// `a="b" and c > 5 or d`
    pub(super) fn label_filter(&mut self) -> Result<LabelFilter> {
        self.nested(|parser| {
            let mut left = parser.label_conjunction()?;
            while parser.accept(&TokenKind::Operator(BinaryOp::Or)) {
                let right = parser.label_conjunction()?;
                left = LabelFilter::Or(Box::new(left), Box::new(right));
            }
            Ok(left)
        })
    }

    fn label_conjunction(&mut self) -> Result<LabelFilter> {
        let mut left = self.label_condition()?;
        while self.accept(&TokenKind::Operator(BinaryOp::And)) {
            let right = self.label_condition()?;
            left = LabelFilter::And(Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    /// One condition. A comma or nothing between two is an `and` that takes all that follows, as
    /// Loki reads it.
    fn label_condition(&mut self) -> Result<LabelFilter> {
        let first = if self.accept(&TokenKind::LeftParen) {
            let inner = self.label_filter()?;
            self.expect(&TokenKind::RightParen, "and, or, , or )")?;
            inner
        } else {
            self.label_comparison()?
        };
        let has_comma = self.accept(&TokenKind::Comma);
        if has_comma || matches!(self.peek(), TokenKind::Identifier | TokenKind::LeftParen) {
            let rest = self.label_filter()?;
            return Ok(LabelFilter::And(Box::new(first), Box::new(rest)));
        }
        Ok(first)
    }

    fn label_comparison(&mut self) -> Result<LabelFilter> {
        let name = self.name("the name of a label")?;
        self.count_condition()?;
        let op = match self.peek() {
            TokenKind::Assign => CompareOp::Equal,
            TokenKind::NotEqual => CompareOp::NotEqual,
            TokenKind::Operator(BinaryOp::Compare(op)) => *op,
            TokenKind::Matches | TokenKind::NotMatches => {
                return Ok(LabelFilter::Text(self.matcher(&name)?));
            }
            _ => return Err(self.unexpected("an operator: =, !=, =~, !~, ==, >, >=, < or <=")),
        };
        let takes_text = matches!(self.peek(), TokenKind::Assign | TokenKind::NotEqual);
        if takes_text && matches!(self.peek_behind(1), TokenKind::Text(_)) {
            return Ok(LabelFilter::Text(self.matcher(&name)?));
        }
        self.skip();
        if takes_text && self.peek() == &TokenKind::Ip {
            let is_negated = op == CompareOp::NotEqual;
            return Ok(LabelFilter::Ip(IpFilter { name, is_negated, addresses: self.ip()? }));
        }
        self.comparison(name, op)
    }

    fn comparison(&mut self, name: String, op: CompareOp) -> Result<LabelFilter> {
        let start = self.span().start;
        match *self.peek() {
            TokenKind::Duration(value) => {
                self.skip();
                let written = self.written(start);
                Ok(LabelFilter::Duration(Comparison { name, op, value, written }))
            }
            TokenKind::Bytes(value) => {
                self.skip();
                let written = self.written(start);
                Ok(LabelFilter::Bytes(Comparison { name, op, value, written }))
            }
            _ => {
                let value = self.signed_number("a number, a duration or a size")?;
                let written = self.written(start);
                Ok(LabelFilter::Number(Comparison { name, op, value, written }))
            }
        }
    }

    fn written(&self, start: usize) -> String {
        self.text_of(Span { start, end: self.last_span().end }).to_owned()
    }
}
