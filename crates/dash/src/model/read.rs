//! Reading JSON that may be wrong: each function gives what is there, if it is what was meant.

use serde_json::{Map, Value};

/// An object's members.
pub type Object = Map<String, Value>;

static NULL: Value = Value::Null;

/// A member, or null.
pub fn member<'a>(of: &'a Object, key: &str) -> &'a Value {
    of.get(key).unwrap_or(&NULL)
}

/// The object that is a member.
pub fn object<'a>(of: &'a Object, key: &str) -> Option<&'a Object> {
    of.get(key)?.as_object()
}

/// The object that is a member; what is there instead gives way to an empty one.
pub fn object_mut<'a>(of: &'a mut Object, key: &str) -> &'a mut Object {
    made_object(of.entry(key).or_insert(Value::Null))
}

fn made_object(value: &mut Value) -> &mut Object {
    match value {
        Value::Object(members) => members,
        other => {
            *other = Value::Object(Map::new());
            made_object(other)
        }
    }
}

/// The list that is a member; empty if there is none.
pub fn list<'a>(of: &'a Object, key: &str) -> &'a [Value] {
    of.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The text that is a member, if it says anything.
pub fn text<'a>(of: &'a Object, key: &str) -> Option<&'a str> {
    of.get(key)?.as_str().filter(|text| !text.is_empty())
}

/// A member as text: numbers and booleans as they are written.
pub fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is) => Some(is.to_string()),
        _ => None,
    }
}

/// The number that is a member; also one that was written as text.
pub fn number(of: &Object, key: &str) -> Option<f64> {
    number_of(of.get(key)?)
}

/// A number, also one that was written as text.
pub fn number_of(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.filter(|number: &f64| number.is_finite())
}

/// The whole number that is a member.
pub fn integer(of: &Object, key: &str) -> Option<i64> {
    let number = number(of, key)?;
    // What is outside is no number that anybody meant.
    (number.abs() < 9e15).then_some(number as i64)
}

/// Whether a member is true.
pub fn is_true(of: &Object, key: &str) -> bool {
    of.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// A number as JSON: a whole one without a fraction.
pub fn json_number(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return Value::from(number as i64);
    }
    Value::from(number)
}
