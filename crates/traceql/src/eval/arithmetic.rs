//! Arithmetic of values: see the rules in the documentation of `eval`.

use crate::ast::BinaryOp;
use crate::value::Value;

/// `left op right`, or nothing if that has no value.
pub(super) fn compute(op: BinaryOp, left: Value<'_>, right: Value<'_>) -> Value<'static> {
    if let (Value::Int(left), Value::Int(right)) = (left, right) {
        return of_integers(op, left, right);
    }
    match (as_float(left), as_float(right)) {
        (Some(left), Some(right)) => of_floats(op, left, right),
        _ => Value::Nil,
    }
}

/// `-value`.
pub(super) fn negate(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Int(value) => value.checked_neg().map_or(Value::Float(-(value as f64)), Value::Int),
        Value::Float(value) => Value::Float(-value),
        Value::Duration(nanos) => {
            nanos.checked_neg().map_or(Value::Float(-(nanos as f64)), Value::Duration)
        }
        _ => Value::Nil,
    }
}

/// A number as a float; durations in nanoseconds.
pub(super) fn as_float(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Int(value) | Value::Duration(value) => Some(value as f64),
        Value::Float(value) => Some(value),
        _ => None,
    }
}

fn of_integers(op: BinaryOp, left: i64, right: i64) -> Value<'static> {
    let exact = match op {
        BinaryOp::Divide | BinaryOp::Remainder if right == 0 => return Value::Nil,
        BinaryOp::Add => left.checked_add(right),
        BinaryOp::Subtract => left.checked_sub(right),
        BinaryOp::Multiply => left.checked_mul(right),
        BinaryOp::Divide => left.checked_div(right),
        BinaryOp::Remainder => Some(left.wrapping_rem(right)),
        BinaryOp::Power => u32::try_from(right).ok().and_then(|right| left.checked_pow(right)),
        _ => return Value::Nil,
    };
    exact.map_or_else(|| of_floats(op, left as f64, right as f64), Value::Int)
}

fn of_floats(op: BinaryOp, left: f64, right: f64) -> Value<'static> {
    Value::Float(match op {
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide => left / right,
        BinaryOp::Remainder => left % right,
        BinaryOp::Power => left.powf(right),
        _ => return Value::Nil,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use BinaryOp::{Add, Divide, Multiply, Power, Remainder, Subtract};
    use Value::{Duration, Float, Int, Nil, Text};

    #[test]
    fn integers_stay_integers_while_they_fit() {
        assert_eq!(compute(Divide, Int(7), Int(2)), Int(3));
        assert_eq!(compute(Divide, Int(-7), Int(2)), Int(-3));
        assert_eq!(compute(Remainder, Int(-7), Int(2)), Int(-1));
        assert_eq!(compute(Power, Int(2), Int(3)), Int(8));
        assert_eq!(compute(Power, Int(2), Int(-1)), Float(0.5));
        assert_eq!(compute(Power, Int(10), Int(30)), Float(1e30));
        assert_eq!(compute(Add, Int(i64::MAX), Int(1)), Float(9_223_372_036_854_775_808.0));
        assert_eq!(compute(Divide, Int(i64::MIN), Int(-1)), Float(9_223_372_036_854_775_808.0));
        assert_eq!(compute(Remainder, Int(i64::MIN), Int(-1)), Int(0));
        assert_eq!(compute(Multiply, Int(6), Int(7)), Int(42));
        assert_eq!(negate(Int(5)), Int(-5));
        assert_eq!(negate(Int(i64::MIN)), Float(9_223_372_036_854_775_808.0));
    }

    #[test]
    fn nothing_is_divided_by_the_integer_zero() {
        assert_eq!(compute(Divide, Int(1), Int(0)), Nil);
        assert_eq!(compute(Remainder, Int(1), Int(0)), Nil);
        assert_eq!(compute(Divide, Float(1.0), Int(0)), Float(f64::INFINITY));
    }

    #[test]
    fn other_numbers_are_floats_and_all_else_has_no_value() {
        assert_eq!(compute(Add, Int(10), Float(0.5)), Float(10.5));
        assert_eq!(compute(Multiply, Int(2), Duration(5)), Float(10.0));
        assert_eq!(compute(Subtract, Duration(7), Duration(5)), Float(2.0));
        assert_eq!(negate(Duration(5)), Duration(-5));
        assert_eq!(compute(Add, Text("1"), Int(1)), Nil);
        assert_eq!(compute(Add, Nil, Int(1)), Nil);
        assert_eq!(negate(Text("a")), Nil);
    }
}
