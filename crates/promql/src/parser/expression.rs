//! Operators, signs, and what they stand between.

use super::{Parser, Result, Tree};
use crate::ast::{Binary, BinaryOp, Node, Number, Span, Unary};
use crate::lexer::{self, Keyword, Token, TokenKind};
use crate::operators::precedence;

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expression(&mut self) -> Result<Tree> {
        self.nested(|parser| parser.operators(precedence::LOWEST))
    }

    /// Operands between operators that bind at least so tightly.
    fn operators(&mut self, lowest: u8) -> Result<Tree> {
        let mut left = self.operand()?;
        while let TokenKind::Operator(op) = self.peek().kind
            && op.precedence() >= lowest
        {
            self.next();
            left = self.binary(left, op)?;
        }
        Ok(left)
    }

    /// What follows an operator.
    fn binary(&mut self, left: Tree, op: BinaryOp) -> Result<Tree> {
        let (matching, returns_bool) = self.matching()?;
        let right = self.nested(|parser| parser.operators(op.right_precedence()))?;
        let span = left.expr.span.to(right.expr.span);
        let is_filled = matching.fill_left.is_some() || matching.fill_right.is_some();
        if is_filled && !self.options.fill_modifiers {
            return Err(self.error(span, "binop fill modifiers are experimental and not enabled"));
        }
        let height = left.height.max(right.height);
        let matching = Some(matching);
        let (left, right) = (left.expr, right.expr);
        let binary = Binary { op, left, right, matching, returns_bool };
        self.tree(Node::Binary(Box::new(binary)), span, height)
    }

    /// What stands between operators: a sign and an expression, or one with modifiers behind it.
    fn operand(&mut self) -> Result<Tree> {
        let Some((sign, is_negative)) = self.sign() else {
            let inner = self.primary()?;
            return self.modified(inner);
        };
        let mut inner = self.nested(|parser| parser.operators(precedence::POWER))?;
        let span = sign.span.to(inner.expr.span);
        if let Node::Number(number) = &mut inner.expr.node {
            number.value = if is_negative { -number.value } else { number.value };
            inner.expr.span = span;
            return Ok(inner);
        }
        let unary = Unary { is_negative, expr: inner.expr };
        self.tree(Node::Unary(Box::new(unary)), span, inner.height)
    }

    /// A sign, and whether it is a minus.
    pub(super) fn sign(&mut self) -> Option<(Token, bool)> {
        let is_negative = match self.peek().kind {
            TokenKind::Operator(BinaryOp::Add) => false,
            TokenKind::Operator(BinaryOp::Sub) => true,
            _ => return None,
        };
        Some((self.next(), is_negative))
    }

    /// An expression that is not made of others by operators.
    fn primary(&mut self) -> Result<Tree> {
        let token = self.peek();
        let next = self.peek_behind(1).kind;
        match token.kind {
            TokenKind::Number | TokenKind::Duration => {
                let number = self.number()?;
                self.tree(Node::Number(number), token.span, 0)
            }
            TokenKind::Text => {
                self.next();
                let text = lexer::unquoted(self.text_of(token));
                self.tree(Node::Text(text), token.span, 0)
            }
            TokenKind::LeftParen => self.parentheses(),
            TokenKind::Identifier | TokenKind::Preprocessor(_) if next == TokenKind::LeftParen => {
                self.call()
            }
            TokenKind::Aggregator(op) if begins_aggregation(next) => self.aggregation(op),
            TokenKind::LeftBrace => self.selection(),
            kind if kind.is_metric_name() => self.selection(),
            _ => Err(self.unexpected_here()),
        }
    }

    fn selection(&mut self) -> Result<Tree> {
        let (selector, span) = self.selector()?;
        self.tree(Node::Selector(Box::new(selector)), span, 0)
    }

    fn parentheses(&mut self) -> Result<Tree> {
        let open = self.next();
        let inner = self.expression()?;
        let close = self.expect(TokenKind::RightParen, self.here())?;
        self.tree(Node::Paren(Box::new(inner.expr)), open.span.to(close.span), inner.height)
    }

    /// A number or a duration, which is the next token. Other tokens are refused.
    pub(super) fn number(&mut self) -> Result<Number> {
        let token = self.peek();
        let literal = self.text_of(token);
        let value = match token.kind {
            TokenKind::Number => lexer::number(literal),
            TokenKind::Duration => lexer::duration(literal),
            _ => return Err(self.unexpected_here()),
        };
        self.next();
        let value = value.map_err(|reason| self.error(token.span, reason))?;
        Ok(Number { value, is_duration: token.kind == TokenKind::Duration })
    }

    /// What stands behind an expression and belongs to it: ranges, `offset`, `@` and the like.
    fn modified(&mut self, mut inner: Tree) -> Result<Tree> {
        loop {
            match self.peek().kind {
                TokenKind::LeftBracket => inner = self.bracket(inner)?,
                TokenKind::At => self.at_time(&mut inner.expr)?,
                TokenKind::Keyword(Keyword::Offset) => self.offset(&mut inner.expr)?,
                TokenKind::Keyword(keyword @ (Keyword::Anchored | Keyword::Smoothed)) => {
                    self.edges(&mut inner.expr, keyword)?;
                }
                _ => return Ok(inner),
            }
        }
    }

    /// Where the last token ended that was read.
    pub(super) fn end_of_last(&self) -> usize {
        let last = self.at.checked_sub(1).and_then(|at| self.tokens.list.get(at));
        last.map_or(Span::default().end, |token| token.span.end)
    }
}

/// Whether the name of an aggregation with this behind it is no metric's name.
fn begins_aggregation(next: TokenKind) -> bool {
    matches!(next, TokenKind::LeftParen | TokenKind::Keyword(Keyword::By | Keyword::Without))
}
