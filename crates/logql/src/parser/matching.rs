//! What may stand behind an operator: `bool on (a) group_left (b)`.

use super::{Parser, Result};
use crate::ast::{BinaryOp, GroupSide, Matching};
use crate::lexer::{TokenKind, Word};

impl Parser<'_> {
    pub(super) fn modifier(&mut self, op: BinaryOp) -> Result<(bool, Matching)> {
        let bool_span = self.span();
        let returns_bool = self.accept_word(Word::Bool);
        if returns_bool && !matches!(op, BinaryOp::Compare(_)) {
            let message = format!("bool belongs to comparisons, not to {}", op.symbol());
            return Err(self.error(bool_span, message));
        }
        let mut matching = Matching::default();
        matching.is_on = match self.peek() {
            TokenKind::Word(Word::On) => true,
            TokenKind::Word(Word::Ignoring) => false,
            _ => return Ok((returns_bool, matching)),
        };
        self.skip();
        matching.names = self.names_in_parens()?;
        let group_span = self.span();
        matching.group = match self.peek() {
            TokenKind::Word(Word::GroupLeft) => Some(GroupSide::Left),
            TokenKind::Word(Word::GroupRight) => Some(GroupSide::Right),
            _ => return Ok((returns_bool, matching)),
        };
        self.skip();
        if op.is_set() {
            let message =
                format!("{} knows no groups: leave out group_left and group_right", op.symbol());
            return Err(self.error(group_span, message));
        }
        // A parenthesis may also open the right operand.
        let has_names = self.peek() == &TokenKind::LeftParen
            && matches!(self.peek_behind(1), TokenKind::Identifier | TokenKind::RightParen);
        if has_names {
            matching.include = self.names_in_parens()?;
        }
        Ok((returns_bool, matching))
    }
}
