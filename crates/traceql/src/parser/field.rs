//! Expressions over one span.

use super::types::{self, Typed};
use super::{Parser, Result, joined};
use crate::ast::{BinaryOp, Expr, Kind, Literal, Status};
use crate::lexer::TokenKind;
use crate::names::level;

/// The constant that a word means.
pub(super) fn literal_word(word: &str) -> Option<Literal> {
    Some(match word {
        "nil" => Literal::Nil,
        "true" => Literal::Bool(true),
        "false" => Literal::Bool(false),
        "minInt" => Literal::Int(i64::MIN),
        "maxInt" => Literal::Int(i64::MAX),
        _ => match Status::from_name(word) {
            Some(status) => Literal::Status(status),
            None => Literal::Kind(Kind::from_name(word)?),
        },
    })
}

/// `-x` of a constant, if that is a number that can be written.
pub(super) fn negated(literal: &Literal) -> Option<Literal> {
    Some(match literal {
        Literal::Int(value) => Literal::Int(value.checked_neg()?),
        Literal::Float(value) => Literal::Float(-value),
        Literal::Duration(nanos) => Literal::Duration(nanos.checked_neg()?),
        _ => return None,
    })
}

impl Parser<'_> {
    /// A constant, if it is next, without a sign.
    pub(super) fn accept_literal(&mut self) -> Option<Literal> {
        let literal = match self.peek() {
            TokenKind::Int(value) => Literal::Int(*value),
            TokenKind::Float(value) => Literal::Float(*value),
            TokenKind::Duration(nanos) => Literal::Duration(*nanos),
            TokenKind::Text(text) => Literal::Text(text.clone()),
            TokenKind::Word(word) => literal_word(word)?,
            _ => return None,
        };
        self.advance();
        Some(literal)
    }

    /// What is between braces: true or false of a span. Nothing is true.
    pub(super) fn filter(&mut self) -> Result<Typed> {
        let start = self.token().start;
        self.expect(&TokenKind::OpenBrace, "\"{\"")?;
        if self.accept(&TokenKind::CloseBrace) {
            return Ok(Typed::literal(Literal::Bool(true), start));
        }
        let condition = self.nested(|parser| parser.field(level::ANY))?;
        self.expect(&TokenKind::CloseBrace, "an operator or \"}\"")?;
        types::check_condition(&condition)
            .map_err(|message| self.mistyped(condition.start, message))?;
        Ok(condition)
    }

    /// An expression of operators that bind at least so tightly.
    pub(super) fn field(&mut self, loosest: u8) -> Result<Typed> {
        let mut left = self.operand()?;
        while let TokenKind::Operator(op) = *self.peek() {
            if op.level() < loosest {
                break;
            }
            if op.level() == level::LOGICAL {
                left = self.logical(left)?;
                continue;
            }
            self.advance();
            let right = match op {
                // It binds to the right, so that each is within the one before.
                BinaryOp::Power => self.nested(|parser| parser.field(level::POWER))?,
                _ => self.field(op.level() + 1)?,
            };
            left = self.combined(op, left, right)?;
        }
        Ok(left)
    }

    /// `first && … || …`: both on one level, from the left.
    fn logical(&mut self, first: Typed) -> Result<Typed> {
        let mut run = vec![first];
        let mut run_op = BinaryOp::And;
        while let TokenKind::Operator(op @ (BinaryOp::And | BinaryOp::Or)) = *self.peek() {
            if op != run_op && run.len() > 1 {
                run = vec![self.logical_run(run_op, run)?];
            }
            run_op = op;
            self.advance();
            let right = self.field(level::COMPARISON)?;
            for side in run.last().into_iter().chain([&right]) {
                types::check_logical(op, side)
                    .map_err(|message| self.mistyped(side.start, message))?;
            }
            run.push(right);
        }
        self.logical_run(run_op, run)
    }

    fn logical_run(&self, op: BinaryOp, run: Vec<Typed>) -> Result<Typed> {
        let start = run.first().map_or(0, |first| first.start);
        let tree = joined(run, &mut |left: Typed, right: Typed| {
            let height = self.height_above(left.height.max(right.height), left.start)?;
            Ok(types::joined(op, left, right, height))
        })?;
        // A run has operands.
        tree.ok_or_else(|| self.syntax(start, "expected a value"))
    }

    fn combined(&mut self, op: BinaryOp, left: Typed, right: Typed) -> Result<Typed> {
        let (start, right_start) = (left.start, right.start);
        if !self.in_stage && types::is_always_true(op, &left, &right) {
            return Ok(Typed::literal(Literal::Bool(true), start));
        }
        let height = self.height_above(left.height.max(right.height), start)?;
        let typed = types::combined(op, left, right, height)
            .map_err(|message| self.mistyped(start, message))?;
        if let Expr::Binary { op: BinaryOp::Match | BinaryOp::NotMatch, right, .. } = &typed.expr
            && let Expr::Literal(Literal::Text(pattern)) = right.as_ref()
        {
            self.patterns.push((pattern.clone(), right_start));
        }
        Ok(typed)
    }

    fn operand(&mut self) -> Result<Typed> {
        let start = self.token().start;
        match self.peek() {
            TokenKind::Not => {
                self.advance();
                let operand = self.nested(|parser| parser.field(level::PRODUCT))?;
                let height = self.height_above(operand.height, start)?;
                types::not(operand, start, height).map_err(|m| self.mistyped(start, m))
            }
            TokenKind::Operator(BinaryOp::Subtract) => {
                self.advance();
                // As in mathematics, -2 ^ 2 is -4.
                let operand = self.nested(|parser| parser.field(level::POWER))?;
                if let Expr::Literal(literal) = &operand.expr
                    && let Some(literal) = negated(literal)
                {
                    return Ok(Typed::literal(literal, start));
                }
                let height = self.height_above(operand.height, start)?;
                types::negate(operand, start, height).map_err(|m| self.mistyped(start, m))
            }
            TokenKind::OpenParen => {
                self.advance();
                let inside = self.nested(|parser| parser.field(level::ANY))?;
                self.expect(&TokenKind::CloseParen, "an operator or \")\"")?;
                Ok(Typed { start, ..inside })
            }
            _ => match self.accept_literal() {
                Some(literal) => Ok(Typed::literal(literal, start)),
                None => self.attribute_operand(start),
            },
        }
    }

    fn attribute_operand(&mut self, start: usize) -> Result<Typed> {
        let is_attribute = match self.peek() {
            TokenKind::Attribute(_) => true,
            TokenKind::Word(word) => crate::ast::Intrinsic::from_name(word).is_some(),
            _ => false,
        };
        if !is_attribute {
            return Err(self.unexpected("a value"));
        }
        self.attribute().map(|attribute| Typed::attribute(attribute, start))
    }
}
