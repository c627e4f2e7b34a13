//! Values of TraceQL as JSON, with their types: numbers stay numbers, and nothing that is there is
//! left out because it is zero, false or empty.

use kymo_traceql::{Element, OwnedValue};
use kymo_traceview::{double, integer};
use serde::Serialize;
use serde_json::Value;

/// A value under its key.
#[derive(Debug, Serialize)]
pub(super) struct Typed {
    pub(super) key: String,
    pub(super) r#type: &'static str,
    pub(super) value: Value,
}

impl Typed {
    pub(super) fn of(key: String, value: &OwnedValue) -> Self {
        Self { key, r#type: type_name(value), value: json_of(value) }
    }
}

/// The name of a value's type.
pub(super) fn type_name(value: &OwnedValue) -> &'static str {
    match value {
        OwnedValue::Nil => "nil",
        OwnedValue::Bool(_) => "bool",
        OwnedValue::Int(_) => "int",
        OwnedValue::Float(_) => "double",
        OwnedValue::Duration(_) => "duration",
        OwnedValue::Text(_) => "string",
        OwnedValue::Status(_) => "status",
        OwnedValue::Kind(_) => "kind",
        OwnedValue::Array(_) => "array",
    }
}

/// A value as JSON. Durations are nanoseconds.
pub(super) fn json_of(value: &OwnedValue) -> Value {
    match value {
        OwnedValue::Nil => Value::Null,
        OwnedValue::Bool(flag) => Value::Bool(*flag),
        OwnedValue::Int(number) | OwnedValue::Duration(number) => integer(*number),
        OwnedValue::Float(number) => double(*number),
        OwnedValue::Text(text) => Value::from(text.as_str()),
        OwnedValue::Status(status) => Value::from(status.name()),
        OwnedValue::Kind(kind) => Value::from(kind.name()),
        OwnedValue::Array(elements) => elements.iter().map(element).collect(),
    }
}

fn element(element: &Element) -> Value {
    match element {
        Element::Bool(flag) => Value::Bool(*flag),
        Element::Int(number) => integer(*number),
        Element::Float(number) => double(*number),
        Element::Text(text) => Value::from(&**text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn types_stay_and_zero_false_and_empty_text_are_values() {
        for (value, kind, expected) in [
            (OwnedValue::Int(0), "int", json!(0)),
            (OwnedValue::Int(i64::MAX), "int", json!("9223372036854775807")),
            (OwnedValue::Bool(false), "bool", json!(false)),
            (OwnedValue::Text(String::new()), "string", json!("")),
            (OwnedValue::Float(0.25), "double", json!(0.25)),
            (OwnedValue::Float(f64::NAN), "double", json!("NaN")),
            (OwnedValue::Float(f64::INFINITY), "double", json!("Infinity")),
            (OwnedValue::Duration(5), "duration", json!(5)),
            (OwnedValue::Nil, "nil", json!(null)),
            (OwnedValue::Array(vec![Element::Int(1)]), "array", json!([1])),
        ] {
            assert_eq!((type_name(&value), json_of(&value)), (kind, expected));
        }
    }
}
