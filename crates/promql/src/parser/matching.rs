//! What may stand behind an operator: `bool`, and how series find each other.

use super::{Parser, Result};
use crate::ast::{Cardinality, Matching};
use crate::lexer::{Keyword, TokenKind};

impl Parser<'_> {
    /// The modifiers of an operator, and whether `bool` is one of them. Whether they fit the
    /// operands is checked later.
    pub(super) fn matching(&mut self) -> Result<(Matching, bool)> {
        let mut matching = Matching::default();
        let returns_bool = self.accept(TokenKind::Keyword(Keyword::Bool)).is_some();
        if let TokenKind::Keyword(keyword @ (Keyword::On | Keyword::Ignoring)) = self.peek().kind {
            self.next();
            matching.is_on = keyword == Keyword::On;
            matching.labels = self.label_names()?;
            self.group(&mut matching)?;
        }
        self.fill(&mut matching)?;
        Ok((matching, returns_bool))
    }

    /// `group_left` or `group_right`, if it is there.
    fn group(&mut self, matching: &mut Matching) -> Result<()> {
        matching.cardinality = match self.peek().kind {
            TokenKind::Keyword(Keyword::GroupLeft) => Cardinality::ManyToOne,
            TokenKind::Keyword(Keyword::GroupRight) => Cardinality::OneToMany,
            _ => return Ok(()),
        };
        self.next();
        // A parenthesis is never the beginning of the right side: it holds labels.
        let next = self.peek().kind;
        if next == TokenKind::LeftParen || !next.begins_expression() && !next.is_fill() {
            matching.include = self.label_names()?;
        }
        Ok(())
    }

    /// `fill`, or one or both of `fill_left` and `fill_right`, if they are there.
    fn fill(&mut self, matching: &mut Matching) -> Result<()> {
        if self.accept(TokenKind::Keyword(Keyword::Fill)).is_some() {
            let value = Some(self.fill_value()?);
            (matching.fill_left, matching.fill_right) = (value, value);
            return Ok(());
        }
        loop {
            let side = match self.peek().kind {
                TokenKind::Keyword(Keyword::FillLeft) => &mut matching.fill_left,
                TokenKind::Keyword(Keyword::FillRight) => &mut matching.fill_right,
                _ => return Ok(()),
            };
            if side.is_some() {
                return Err(self.unexpected_here());
            }
            self.next();
            *side = Some(self.fill_value()?);
        }
    }

    fn fill_value(&mut self) -> Result<f64> {
        self.expect(TokenKind::LeftParen, self.here())?;
        let is_negative = self.sign().is_some_and(|(_, is_negative)| is_negative);
        let value = self.number()?.value;
        self.expect(TokenKind::RightParen, self.here())?;
        Ok(if is_negative { -value } else { value })
    }
}
