//! Operators between two numbers.

use crate::ast::BinaryOp;

/// What an operator makes of two numbers; comparisons give 1 or 0.
pub(crate) fn scalar(op: BinaryOp, left: f64, right: f64) -> f64 {
    match compare(op, left, right) {
        Some(is_true) => f64::from(u8::from(is_true)),
        None => arithmetic(op, left, right),
    }
}

/// What a comparison says; `None` if the operator does not compare.
#[inline]
pub(crate) fn compare(op: BinaryOp, left: f64, right: f64) -> Option<bool> {
    Some(match op {
        BinaryOp::Equal => left == right,
        BinaryOp::NotEqual => left != right,
        BinaryOp::Greater => left > right,
        BinaryOp::Less => left < right,
        BinaryOp::GreaterOrEqual => left >= right,
        BinaryOp::LessOrEqual => left <= right,
        _ => return None,
    })
}

/// What an arithmetic operator makes of two numbers. Others give NaN; the parser
/// lets none of them pass here.
#[inline]
pub(crate) fn arithmetic(op: BinaryOp, left: f64, right: f64) -> f64 {
    match op {
        BinaryOp::Add => left + right,
        BinaryOp::Sub => left - right,
        BinaryOp::Mul => left * right,
        BinaryOp::Div => left / right,
        BinaryOp::Mod => left % right,
        BinaryOp::Pow => left.powf(right),
        BinaryOp::Atan2 => left.atan2(right),
        _ => f64::NAN,
    }
}

/// Whether the result is another quantity, so that it has another name.
pub(crate) fn changes_meaning(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Mod
            | BinaryOp::Pow
            | BinaryOp::Atan2
    )
}
