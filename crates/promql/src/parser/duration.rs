//! Durations, which may be computed: `1m + step()`.
//!
//! Spans are those of Prometheus, because errors at evaluation print them: parentheses do not
//! count, unless there is nothing but a number in them.

use super::{Expected, Parser, Result};
use crate::ast::{BinaryOp, Duration, DurationNode, Span};
use crate::lexer::{Preprocessor, Token, TokenKind};
use crate::limits::MAX_DURATION_PARTS;
use crate::operators::precedence;

/// The longest duration: nanoseconds must fit into 63 bits.
const MAX_DURATION_SECS: f64 = (1u64 << 63) as f64 / 1e9;

impl Parser<'_> {
    /// A duration. If something is wrong, that is `expected`.
    pub(super) fn duration(&mut self, expected: Expected) -> Result<Duration> {
        self.duration_parts = 0;
        self.duration_operators(precedence::LOWEST, expected)
    }

    /// The duration behind `offset`. Operators belong to it only if it begins with a parenthesis
    /// or two signs: `a offset 1m + 2` is a sum, `a offset (1m) + 2` is not.
    pub(super) fn offset_duration(&mut self, expected: Expected) -> Result<Duration> {
        let second = self.peek_behind(1).kind;
        match self.peek().kind {
            TokenKind::LeftParen => self.duration(expected),
            kind if is_sign(kind) && is_sign(second) => self.duration(expected),
            kind if is_sign(kind) => {
                self.duration_parts = 0;
                let Some((sign, is_negative)) = self.sign() else {
                    return Err(self.unexpected(expected));
                };
                let inner = self.duration_primary(expected)?;
                self.signed(sign, is_negative, inner)
            }
            _ => {
                self.duration_parts = 0;
                self.duration_primary(expected)
            }
        }
    }

    fn duration_operators(&mut self, lowest: u8, expected: Expected) -> Result<Duration> {
        let mut left = self.duration_operand(expected)?;
        while let TokenKind::Operator(op) = self.peek().kind
            && is_arithmetic(op)
            && op.precedence() >= lowest
        {
            let operator = self.next();
            self.count_part(operator)?;
            let right = self.duration_operators(op.right_precedence(), expected)?;
            self.check_enabled(left.span)?;
            let is_zero = matches!(right.node, DurationNode::Number(number) if number.value == 0.0);
            if is_zero && op == BinaryOp::Div {
                return Err(self.error(operator.span, "division by zero"));
            }
            if is_zero && op == BinaryOp::Mod {
                return Err(self.error(operator.span, "modulo by zero"));
            }
            let span = left.span.to(right.span);
            let node = DurationNode::Binary(op, Box::new(left), Box::new(right));
            left = Duration { node, span };
        }
        Ok(left)
    }

    fn duration_operand(&mut self, expected: Expected) -> Result<Duration> {
        let Some((sign, is_negative)) = self.sign() else {
            return self.duration_primary(expected);
        };
        self.count_part(sign)?;
        let inner = self.duration_operators(precedence::POWER, expected)?;
        self.signed(sign, is_negative, inner)
    }

    /// A number takes its sign; other durations get a node above.
    fn signed(&self, sign: Token, is_negative: bool, mut inner: Duration) -> Result<Duration> {
        let span = sign.span.to(inner.span);
        if let DurationNode::Number(number) = &mut inner.node {
            number.value = if is_negative { -number.value } else { number.value };
            inner.span = span;
            return Ok(inner);
        }
        let inner = Box::new(inner);
        let node = match is_negative {
            true => DurationNode::Negative(inner),
            false => DurationNode::Positive(inner),
        };
        Ok(Duration { node, span })
    }

    fn duration_primary(&mut self, expected: Expected) -> Result<Duration> {
        let token = self.peek();
        match token.kind {
            TokenKind::Number | TokenKind::Duration => {
                let number = self.number()?;
                if number.value.abs() > MAX_DURATION_SECS {
                    return Err(self.error(token.span, "duration out of range"));
                }
                Ok(Duration { node: DurationNode::Number(number), span: token.span })
            }
            TokenKind::LeftParen => self.duration_parentheses(expected),
            TokenKind::Preprocessor(function) => self.duration_call(function, expected),
            _ => Err(self.unexpected(expected)),
        }
    }

    fn duration_parentheses(&mut self, expected: Expected) -> Result<Duration> {
        let open = self.next();
        self.count_part(open)?;
        let inner = self.duration_operators(precedence::LOWEST, expected)?;
        let close = self.expect(TokenKind::RightParen, expected)?;
        self.check_enabled(inner.span)?;
        // Parentheses around parentheses are not kept.
        if matches!(inner.node, DurationNode::Paren(_)) {
            return Ok(inner);
        }
        let is_number = matches!(inner.node, DurationNode::Number(_));
        let span = if is_number { open.span.to(close.span) } else { inner.span };
        Ok(Duration { node: DurationNode::Paren(Box::new(inner)), span })
    }

    /// `step()`, `range()`, `min_of(a, b)` or `max_of(a, b)`; the name is the next token.
    fn duration_call(&mut self, function: Preprocessor, expected: Expected) -> Result<Duration> {
        if matches!(function, Preprocessor::Start | Preprocessor::End) {
            return Err(self.unexpected(expected));
        }
        let name = self.next();
        self.count_part(name)?;
        self.expect(TokenKind::LeftParen, expected)?;
        let node = match function {
            Preprocessor::MinOf => {
                let (left, right) = self.duration_pair(expected)?;
                DurationNode::MinOf(left, right)
            }
            Preprocessor::MaxOf => {
                let (left, right) = self.duration_pair(expected)?;
                DurationNode::MaxOf(left, right)
            }
            Preprocessor::Range => DurationNode::Range,
            _ => DurationNode::Step,
        };
        let close = self.expect(TokenKind::RightParen, expected)?;
        let span = name.span.to(close.span);
        self.check_enabled(span)?;
        Ok(Duration { node, span })
    }

    fn duration_pair(&mut self, expected: Expected) -> Result<(Box<Duration>, Box<Duration>)> {
        let left = self.duration_operators(precedence::LOWEST, expected)?;
        self.expect(TokenKind::Comma, expected)?;
        let right = self.duration_operators(precedence::LOWEST, expected)?;
        Ok((Box::new(left), Box::new(right)))
    }

    fn check_enabled(&self, span: Span) -> Result<()> {
        if self.options.duration_expressions {
            return Ok(());
        }
        Err(self.error(span, "experimental duration expression is not enabled"))
    }

    /// Whatever makes the tree higher is counted, so that its height is bounded.
    fn count_part(&mut self, token: Token) -> Result<()> {
        self.duration_parts += 1;
        if self.duration_parts > MAX_DURATION_PARTS {
            let message =
                format!("duration is too complex: {MAX_DURATION_PARTS} operators are read");
            return Err(self.error(token.span, message));
        }
        Ok(())
    }
}

fn is_sign(kind: TokenKind) -> bool {
    matches!(kind, TokenKind::Operator(BinaryOp::Add | BinaryOp::Sub))
}

fn is_arithmetic(op: BinaryOp) -> bool {
    use BinaryOp::{Add, Div, Mod, Mul, Pow, Sub};
    matches!(op, Add | Sub | Mul | Div | Mod | Pow)
}
