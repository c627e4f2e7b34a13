//! Operators on two numbers.

use crate::ast::BinaryOp;

/// What an operator gives; a comparison gives 0 or 1. Other than in PromQL, nothing divided by
/// zero is infinite: it is no number. Sets have no meaning for numbers; the parser refuses them.
pub(crate) fn operate(op: BinaryOp, left: f64, right: f64) -> f64 {
    match op {
        BinaryOp::Add => left + right,
        BinaryOp::Sub => left - right,
        BinaryOp::Mul => left * right,
        BinaryOp::Div if right == 0.0 => f64::NAN,
        BinaryOp::Div => left / right,
        BinaryOp::Mod if right == 0.0 => f64::NAN,
        BinaryOp::Mod => left % right,
        BinaryOp::Pow => left.powf(right),
        BinaryOp::Compare(op) => f64::from(u8::from(op.holds(&left, &right))),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Unless => f64::NAN,
    }
}
