//! Comparisons of values.

use std::cmp::Ordering;

use regex::Regex;

use crate::ast::BinaryOp;
use crate::value::{Element, Value};

/// Whether `left op right` holds.
pub(super) fn compare(op: BinaryOp, left: Value<'_>, right: Value<'_>) -> bool {
    match (left, right) {
        (Value::Array(left), Value::Array(right)) => over(
            op,
            right.iter().flat_map(|right| {
                left.iter().map(move |left| holds(op, left.as_value(), right.as_value()))
            }),
        ),
        (Value::Array(elements), right) => over_elements(op, elements, right),
        (left, Value::Array(elements)) => over_elements(op.mirrored(), elements, left),
        _ => holds(op, left, right).unwrap_or(false),
    }
}

fn over_elements(op: BinaryOp, elements: &[Element], right: Value<'_>) -> bool {
    over(op, elements.iter().map(|element| holds(op, element.as_value(), right)))
}

/// One member is enough, but for `!=`, which is about all of them. Those of another type do not
/// count.
fn over(op: BinaryOp, mut members: impl Iterator<Item = Option<bool>>) -> bool {
    if op != BinaryOp::NotEqual {
        return members.any(|held| held == Some(true));
    }
    let mut found = false;
    for held in members.flatten() {
        if !held {
            return false;
        }
        found = true;
    }
    found
}

/// Whether a comparison of two single values holds; nothing if they do not compare.
fn holds(op: BinaryOp, left: Value<'_>, right: Value<'_>) -> Option<bool> {
    if let (Value::Text(left), Value::Text(right)) = (left, right) {
        return in_order(op, Some(left.cmp(right)));
    }
    let is_equal = match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Status(left), Value::Status(right)) => left == right,
        (Value::Kind(left), Value::Kind(right)) => left == right,
        _ => return in_order(op, compare_numbers(left, right)?),
    };
    match op {
        BinaryOp::Equal => Some(is_equal),
        BinaryOp::NotEqual => Some(!is_equal),
        _ => None,
    }
}

/// Nothing is in order with what is not a number, so only `!=` holds.
fn in_order(op: BinaryOp, ordering: Option<Ordering>) -> Option<bool> {
    Some(match op {
        BinaryOp::Equal => ordering == Some(Ordering::Equal),
        BinaryOp::NotEqual => ordering != Some(Ordering::Equal),
        BinaryOp::Less => ordering == Some(Ordering::Less),
        BinaryOp::LessEqual => ordering.is_some_and(Ordering::is_le),
        BinaryOp::Greater => ordering == Some(Ordering::Greater),
        BinaryOp::GreaterEqual => ordering.is_some_and(Ordering::is_ge),
        _ => return None,
    })
}

/// The order of two numbers, if they are: without rounding, which would make large integers equal.
pub(super) fn compare_numbers(left: Value<'_>, right: Value<'_>) -> Option<Option<Ordering>> {
    use Value::{Duration, Float, Int};
    Some(match (left, right) {
        (Int(left) | Duration(left), Int(right) | Duration(right)) => Some(left.cmp(&right)),
        (Int(left) | Duration(left), Float(right)) => integer_to_float(left, right),
        (Float(left), Int(right) | Duration(right)) => {
            integer_to_float(right, left).map(Ordering::reverse)
        }
        (Float(left), Float(right)) => left.partial_cmp(&right),
        _ => return None,
    })
}

fn integer_to_float(left: i64, right: f64) -> Option<Ordering> {
    // Both bounds are powers of two, so they are floats exactly.
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if right.is_nan() {
        return None;
    }
    if right >= BEYOND {
        return Some(Ordering::Less);
    }
    if right < -BEYOND {
        return Some(Ordering::Greater);
    }
    let whole = right.trunc();
    let fraction = right - whole;
    Some(left.cmp(&(whole as i64)).then(0.0f64.partial_cmp(&fraction).unwrap_or(Ordering::Equal)))
}

/// Whether `value =~ regex` holds, or `value !~ regex`.
pub(super) fn matches(value: Value<'_>, regex: &Regex, is_negated: bool) -> bool {
    over_text(value, is_negated, |text| regex.is_match(text))
}

/// Whether a text, or one of an array, is as wanted; negated: all of an array are not.
pub(super) fn over_text(value: Value<'_>, is_negated: bool, wanted: impl Fn(&str) -> bool) -> bool {
    match value {
        Value::Text(text) => wanted(text) != is_negated,
        Value::Array(elements) => {
            let mut texts = elements.iter().filter_map(|element| match element {
                Element::Text(text) => Some(&**text),
                _ => None,
            });
            if !is_negated {
                return texts.any(wanted);
            }
            let mut found = false;
            texts.all(|text| {
                found = true;
                !wanted(text)
            }) && found
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use BinaryOp::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    use Value::{Array, Bool, Duration, Float, Int, Nil, Text};

    #[test]
    fn numbers_compare_exactly() {
        let large = (1i64 << 53) + 1;
        assert!(compare(Greater, Int(large), Float((1i64 << 53) as f64)));
        assert!(!compare(Equal, Int(large), Float((1i64 << 53) as f64)));
        assert!(compare(Equal, Int(42), Float(42.0)));
        assert!(compare(Less, Int(i64::MAX), Float(9.3e18)));
        assert!(compare(Less, Int(i64::MAX), Float(i64::MAX as f64)));
        assert!(compare(Equal, Int(i64::MIN), Float(i64::MIN as f64)));
        assert!(compare(Greater, Int(i64::MIN), Float(f64::NEG_INFINITY)));
        assert!(compare(Less, Float(9.5), Int(10)));
        assert!(compare(Greater, Int(-9), Float(-9.5)));
        assert!(compare(LessEqual, Int(1), Float(1.1)));
        assert!(compare(Less, Int(1), Duration(3_600_000_000_000)));
        for op in [Equal, Less, LessEqual, Greater, GreaterEqual] {
            assert!(!compare(op, Int(1), Float(f64::NAN)));
        }
        assert!(compare(NotEqual, Int(1), Float(f64::NAN)));
    }

    #[test]
    fn other_types_do_not_compare() {
        for (left, right) in [
            (Nil, Int(1)),
            (Int(1), Nil),
            (Nil, Nil),
            (Text("1"), Int(1)),
            (Bool(true), Int(1)),
            (Bool(true), Text("true")),
        ] {
            for op in [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual] {
                assert!(!compare(op, left, right), "{left} {op} {right}");
            }
        }
        assert!(compare(NotEqual, Bool(true), Bool(false)));
        assert!(!compare(Less, Bool(false), Bool(true)));
    }

    #[test]
    fn one_member_of_an_array_is_enough_but_for_not_equal() {
        let texts = [Element::Text("a".into()), Element::Text("b".into())];
        let array = Array(&texts);
        assert!(compare(Equal, array, Text("b")));
        assert!(compare(Equal, Text("b"), array));
        assert!(!compare(Equal, array, Text("z")));
        assert!(compare(NotEqual, array, Text("z")));
        assert!(!compare(NotEqual, array, Text("b")));
        assert!(!compare(NotEqual, array, Int(1)));
        assert!(!compare(NotEqual, Array(&[]), Text("z")));
        assert!(compare(Greater, array, Text("a")));
        assert!(compare(Less, Text("a"), array));
        assert!(!compare(Greater, Text("a"), array));
        assert!(compare(Equal, array, array));
        assert!(!compare(NotEqual, array, array));
        let mixed = [Element::Int(1), Element::Text("a".into())];
        assert!(compare(Equal, Array(&mixed), Float(1.0)));
        assert!(compare(NotEqual, Array(&mixed), Text("b")));
    }

    #[test]
    fn a_regular_expression_that_is_negated_is_about_all_members() {
        let regex = Regex::new("^a$").unwrap();
        let texts = [Element::Text("a".into()), Element::Text("b".into())];
        assert!(matches(Array(&texts), &regex, false));
        assert!(!matches(Array(&texts), &regex, true));
        assert!(matches(Array(&texts[1..]), &regex, true));
        assert!(!matches(Array(&[]), &regex, true));
        assert!(!matches(Array(&[Element::Int(1)]), &regex, true));
        assert!(!matches(Int(1), &regex, true));
        assert!(matches(Text("b"), &regex, true));
    }
}
