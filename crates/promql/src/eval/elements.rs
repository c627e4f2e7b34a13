//! An operator between two samples.

use std::sync::Arc;

use super::arithmetic::{arithmetic, compare};
use crate::annotations::{Annotations, Operation};
use crate::ast::{BinaryOp, Span};
use crate::histogram::{Histogram, ResetHint};
use crate::sample::Value;

/// What an operator made of two samples.
#[derive(Debug, Clone)]
pub(crate) struct Combination {
    pub(crate) value: Value,
    /// Whether a comparison holds; always, if it is none.
    pub(crate) holds: bool,
}

/// Combines two samples; `None`, with a note, if they do not go together.
pub(crate) fn combine(
    op: BinaryOp,
    left: &Value,
    right: &Value,
    span: Span,
    notes: &mut Annotations,
) -> Option<Combination> {
    let made = |histogram: Histogram| {
        let value = Value::Histogram(Arc::new(histogram));
        Some(Combination { value, holds: true })
    };
    match (left, right) {
        (Value::Float(a), Value::Float(b)) => match op {
            BinaryOp::TrimLower | BinaryOp::TrimUpper => {
                incompatible(op, ["float", "float"], span, notes)
            }
            _ => Some(match compare(op, *a, *b) {
                Some(holds) => Combination { value: Value::Float(*a), holds },
                None => Combination { value: Value::Float(arithmetic(op, *a, *b)), holds: true },
            }),
        },
        (Value::Float(factor), Value::Histogram(histogram)) => match op {
            BinaryOp::Mul => made(scaled(histogram, |h| h.multiply(*factor))),
            _ => incompatible(op, ["float", "histogram"], span, notes),
        },
        (Value::Histogram(histogram), Value::Float(number)) => match op {
            BinaryOp::Mul => made(scaled(histogram, |h| h.multiply(*number))),
            BinaryOp::Div => made(scaled(histogram, |h| h.divide(*number))),
            BinaryOp::TrimUpper => made(histogram.trim_upper(*number)),
            BinaryOp::TrimLower => made(histogram.trim_lower(*number)),
            _ => incompatible(op, ["histogram", "float"], span, notes),
        },
        (Value::Histogram(a), Value::Histogram(b)) => match op {
            BinaryOp::Add => made(added(a, b, span, notes)?),
            BinaryOp::Sub => made(subtracted(a, b, span, notes)?),
            BinaryOp::Equal => Some(Combination { value: left.clone(), holds: a.equals(b) }),
            BinaryOp::NotEqual => Some(Combination { value: left.clone(), holds: !a.equals(b) }),
            _ => incompatible(op, ["histogram", "histogram"], span, notes),
        },
    }
}

fn incompatible(
    op: BinaryOp,
    sides: [&str; 2],
    span: Span,
    notes: &mut Annotations,
) -> Option<Combination> {
    notes.incompatible_types(op.symbol(), sides, span);
    None
}

fn scaled(histogram: &Histogram, scale: impl Fn(&mut Histogram)) -> Histogram {
    let mut result = histogram.clone();
    scale(&mut result);
    result.compacted(0)
}

fn added(a: &Histogram, b: &Histogram, span: Span, notes: &mut Annotations) -> Option<Histogram> {
    let mut sum = a.clone();
    let Ok(combined) = sum.add(b) else {
        notes.incompatible_layout("+", span);
        return None;
    };
    if combined.reset_collision {
        notes.reset_collision(Operation::Addition, span);
        return None;
    }
    if combined.bounds_reconciled {
        notes.bounds_reconciled(Operation::Addition, span);
    }
    Some(sum.compacted(0))
}

fn subtracted(
    a: &Histogram,
    b: &Histogram,
    span: Span,
    notes: &mut Annotations,
) -> Option<Histogram> {
    let mut difference = a.clone();
    let Ok(combined) = difference.subtract(b) else {
        notes.incompatible_layout("-", span);
        return None;
    };
    if combined.reset_collision {
        notes.reset_collision(Operation::Subtraction, span);
        return None;
    }
    if combined.bounds_reconciled {
        notes.bounds_reconciled(Operation::Subtraction, span);
    }
    difference.hint = ResetHint::Gauge;
    Some(difference.compacted(0))
}
