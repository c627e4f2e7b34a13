//! Lines of a time range: `{…} | json | unwrap a [5m] offset 1h`.

use super::stage::Place;
use super::{Parser, Result};
use crate::ast::{Conversion, LogExpr, LogRange, Unwrap};
use crate::lexer::{TokenKind, Word};

/// What was read of a range so far.
struct Partial {
    log: LogExpr,
    unwrap: Option<Unwrap>,
    /// Range and offset.
    range: Option<(i64, i64)>,
}

impl Parser<'_> {
    pub(super) fn log_range(&mut self) -> Result<LogRange> {
        let Partial { log, unwrap, range } = self.partial_range()?;
        let Some((range_nanos, offset_nanos)) = range else {
            return Err(self.unexpected("a range such as [5m]"));
        };
        Ok(LogRange { log, unwrap, range_nanos, offset_nanos })
    }

    /// The range may stand behind the selector, behind the stages, or behind parentheses around
    /// either.
    fn partial_range(&mut self) -> Result<Partial> {
        if self.accept(&TokenKind::LeftParen) {
            let mut partial = self.nested(Self::partial_range)?;
            self.expect(&TokenKind::RightParen, "a range such as [5m], a stage or )")?;
            if partial.range.is_none() {
                partial.range = self.range_and_offset()?;
                if partial.unwrap.is_none() {
                    partial.unwrap = self.unwrap()?;
                }
            }
            return Ok(partial);
        }
        let matchers = self.selector()?;
        let mut range = self.range_and_offset()?;
        let stages = self.stages(Place::Range)?;
        let unwrap = self.unwrap()?;
        if range.is_none() {
            range = self.range_and_offset()?;
        }
        Ok(Partial { log: LogExpr { matchers, stages }, unwrap, range })
    }

    fn range_and_offset(&mut self) -> Result<Option<(i64, i64)>> {
        let TokenKind::Range(range_nanos) = *self.peek() else { return Ok(None) };
        self.skip();
        if !self.accept_word(Word::Offset) {
            return Ok(Some((range_nanos, 0)));
        }
        match *self.peek() {
            TokenKind::Duration(offset_nanos) => {
                self.skip();
                Ok(Some((range_nanos, offset_nanos)))
            }
            _ => Err(self.unexpected("a duration such as 1h")),
        }
    }

    fn unwrap(&mut self) -> Result<Option<Unwrap>> {
        let is_there = self.peek() == &TokenKind::Pipe
            && self.peek_behind(1) == &TokenKind::Word(Word::Unwrap);
        if !is_there {
            return Ok(None);
        }
        self.skip();
        self.skip();
        let (conversion, name) = match *self.peek() {
            TokenKind::Conversion(conversion) => {
                self.skip();
                self.expect(&TokenKind::LeftParen, "(")?;
                let name = self.name("the name of a label")?;
                self.expect(&TokenKind::RightParen, ")")?;
                (conversion, name)
            }
            _ => (Conversion::Number, self.name("the name of a label, or bytes(), duration()")?),
        };
        let mut filters = Vec::new();
        while self.accept(&TokenKind::Pipe) {
            if !matches!(self.peek(), TokenKind::Identifier | TokenKind::LeftParen) {
                return Err(
                    self.unexpected("a condition on labels: behind unwrap stands no other stage")
                );
            }
            filters.push(self.checked_label_filter()?);
        }
        Ok(Some(Unwrap { name, conversion, filters }))
    }
}
