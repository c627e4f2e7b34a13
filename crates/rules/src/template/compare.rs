//! `eq`, `ne`, `lt`, `le`, `gt` and `ge`. As in Go, a number with a fraction is not compared with
//! one without: `gt $value 5` is an error, `gt $value 5.0` is not.

use std::cmp::Ordering;

use super::value::Value;

const INCOMPATIBLE: &str = "incompatible types for comparison";

/// Compares the first argument with the others.
pub(super) fn compare(name: &str, arguments: &[Value]) -> Result<Value, String> {
    let [first, others @ ..] = arguments else {
        return Err("missing argument for comparison".to_owned());
    };
    let [second, more @ ..] = others else {
        return Err("missing argument for comparison".to_owned());
    };
    if name != "eq" && !more.is_empty() {
        let got = arguments.len();
        return Err(format!("wrong number of args for {name}: want 2 got {got}"));
    }
    let is_true = match name {
        "eq" => {
            for other in others {
                if equal(first, other)? {
                    return Ok(Value::Bool(true));
                }
            }
            false
        }
        "ne" => !equal(first, second)?,
        "lt" => less(first, second)?,
        "le" => less(first, second)? || equal(first, second)?,
        "gt" => !(less(first, second)? || equal(first, second)?),
        _ => !less(first, second)?,
    };
    Ok(Value::Bool(is_true))
}

fn equal(left: &Value, right: &Value) -> Result<bool, String> {
    match (left, right) {
        (Value::Nil, Value::Nil) => Ok(true),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (Value::Nil, _) | (_, Value::Nil) => Ok(false),
        _ => match order(left, right)? {
            Some(order) => Ok(order == Ordering::Equal),
            // NaN is equal to nothing.
            None => Ok(false),
        },
    }
}

fn less(left: &Value, right: &Value) -> Result<bool, String> {
    Ok(order(left, right)? == Some(Ordering::Less))
}

fn order(left: &Value, right: &Value) -> Result<Option<Ordering>, String> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) | (Value::Duration(left), Value::Duration(right)) => {
            Ok(Some(left.cmp(right)))
        }
        (Value::Float(left), Value::Float(right)) => Ok(left.partial_cmp(right)),
        (Value::Text(left), Value::Text(right)) => Ok(Some(left.cmp(right))),
        (Value::Int(_) | Value::Duration(_) | Value::Float(_) | Value::Text(_), _) => {
            Err(INCOMPATIBLE.to_owned())
        }
        _ => Err("invalid type for comparison".to_owned()),
    }
}
