//! Arithmetic of constants.

use crate::ast::{BinaryOp, Literal};

const BY_ZERO: &str = "a constant is divided by zero";
const TOO_LARGE: &str = "the constant is too large";

/// Arithmetic of two constants: of integers it is an integer, so `1 / 2` is 0. Nothing if it is
/// left to evaluation, which is the case for durations.
pub(super) fn folded(
    op: BinaryOp,
    left: &Literal,
    right: &Literal,
) -> Result<Option<Literal>, &'static str> {
    if let (Literal::Int(left), Literal::Int(right)) = (left, right) {
        return of_integers(op, *left, *right);
    }
    match (number(left), number(right)) {
        (Some(left), Some(right)) => of_floats(op, left, right),
        _ => Ok(None),
    }
}

fn number(literal: &Literal) -> Option<f64> {
    match literal {
        Literal::Int(value) => Some(*value as f64),
        Literal::Float(value) => Some(*value),
        _ => None,
    }
}

fn of_integers(op: BinaryOp, left: i64, right: i64) -> Result<Option<Literal>, &'static str> {
    let result = match op {
        BinaryOp::Add => left.checked_add(right),
        BinaryOp::Subtract => left.checked_sub(right),
        BinaryOp::Multiply => left.checked_mul(right),
        BinaryOp::Divide | BinaryOp::Remainder if right == 0 => return Err(BY_ZERO),
        BinaryOp::Divide => left.checked_div(right),
        BinaryOp::Remainder => left.checked_rem(right),
        BinaryOp::Power if right < 0 => return of_floats(op, left as f64, right as f64),
        BinaryOp::Power => u32::try_from(right).ok().and_then(|right| left.checked_pow(right)),
        _ => return Ok(None),
    };
    result.map(|value| Some(Literal::Int(value))).ok_or(TOO_LARGE)
}

fn of_floats(op: BinaryOp, left: f64, right: f64) -> Result<Option<Literal>, &'static str> {
    let value = match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide | BinaryOp::Remainder if right == 0.0 => return Err(BY_ZERO),
        BinaryOp::Divide => left / right,
        BinaryOp::Remainder => left % right,
        BinaryOp::Power => left.powf(right),
        _ => return Ok(None),
    };
    if value.is_finite() { Ok(Some(Literal::Float(value))) } else { Err(TOO_LARGE) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Literal::{Duration, Float, Int};

    #[test]
    fn integers_give_integers() {
        assert_eq!(folded(BinaryOp::Divide, &Int(1), &Int(2)), Ok(Some(Int(0))));
        assert_eq!(folded(BinaryOp::Divide, &Int(1), &Float(2.0)), Ok(Some(Float(0.5))));
        assert_eq!(folded(BinaryOp::Power, &Int(2), &Int(10)), Ok(Some(Int(1024))));
        assert_eq!(folded(BinaryOp::Power, &Int(2), &Int(-1)), Ok(Some(Float(0.5))));
        assert_eq!(folded(BinaryOp::Remainder, &Int(7), &Int(4)), Ok(Some(Int(3))));
    }

    #[test]
    fn what_no_constant_can_be_is_refused() {
        assert_eq!(folded(BinaryOp::Divide, &Int(1), &Int(0)), Err(BY_ZERO));
        assert_eq!(folded(BinaryOp::Remainder, &Float(1.0), &Int(0)), Err(BY_ZERO));
        assert_eq!(folded(BinaryOp::Add, &Int(i64::MAX), &Int(1)), Err(TOO_LARGE));
        assert_eq!(folded(BinaryOp::Multiply, &Float(1e300), &Float(1e300)), Err(TOO_LARGE));
    }

    #[test]
    fn durations_are_left_alone() {
        assert_eq!(folded(BinaryOp::Add, &Duration(1), &Int(1)), Ok(None));
    }
}
