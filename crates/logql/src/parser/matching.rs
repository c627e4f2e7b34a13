//! What may stand behind an operator: `bool on (a) group_left (b)`.
//!
//! As in Loki, any operator takes all of it: `bool` means nothing to arithmetic, nor do groups to
//! `and`, `or` and `unless`.

use super::{Parser, Result};
use crate::ast::{GroupSide, Matching};
use crate::lexer::{TokenKind, Word};

impl Parser<'_> {
    pub(super) fn modifier(&mut self) -> Result<(bool, Matching)> {
        let returns_bool = self.accept_word(Word::Bool);
        let mut matching = Matching::default();
        matching.is_on = match self.peek() {
            TokenKind::Word(Word::On) => true,
            TokenKind::Word(Word::Ignoring) => false,
            _ => return Ok((returns_bool, matching)),
        };
        self.skip();
        matching.names = self.names_in_parens()?;
        matching.group = match self.peek() {
            TokenKind::Word(Word::GroupLeft) => Some(GroupSide::Left),
            TokenKind::Word(Word::GroupRight) => Some(GroupSide::Right),
            _ => return Ok((returns_bool, matching)),
        };
        self.skip();
        // A parenthesis may also open the right operand.
        let has_names = self.peek() == &TokenKind::LeftParen
            && matches!(self.peek_behind(1), TokenKind::Identifier | TokenKind::RightParen);
        if has_names {
            matching.include = self.names_in_parens()?;
        }
        Ok((returns_bool, matching))
    }
}
