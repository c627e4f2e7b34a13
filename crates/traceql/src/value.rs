//! Values of spans.

use std::fmt;

use crate::ast::{Kind, Literal, Status};
use crate::duration::Nanos;

/// A value of a span.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// There is none.
    Nil,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A double.
    Float(f64),
    /// Nanoseconds.
    Duration(i64),
    /// Text.
    Text(&'a str),
    /// A status.
    Status(Status),
    /// A kind.
    Kind(Kind),
    /// Several values, of one type or of several.
    Array(&'a [Element]),
}

/// A member of an array.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Element {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Box<str>),
}

/// A value that outlives its span.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum OwnedValue {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    /// Nanoseconds.
    Duration(i64),
    Text(String),
    Status(Status),
    Kind(Kind),
    Array(Vec<Element>),
}

impl Element {
    /// It as a value.
    pub fn as_value(&self) -> Value<'_> {
        match self {
            Element::Bool(value) => Value::Bool(*value),
            Element::Int(value) => Value::Int(*value),
            Element::Float(value) => Value::Float(*value),
            Element::Text(value) => Value::Text(value),
        }
    }
}

impl OwnedValue {
    /// It as a value.
    pub fn as_value(&self) -> Value<'_> {
        match self {
            OwnedValue::Nil => Value::Nil,
            OwnedValue::Bool(value) => Value::Bool(*value),
            OwnedValue::Int(value) => Value::Int(*value),
            OwnedValue::Float(value) => Value::Float(*value),
            OwnedValue::Duration(nanos) => Value::Duration(*nanos),
            OwnedValue::Text(value) => Value::Text(value),
            OwnedValue::Status(value) => Value::Status(*value),
            OwnedValue::Kind(value) => Value::Kind(*value),
            OwnedValue::Array(elements) => Value::Array(elements),
        }
    }
}

impl From<Value<'_>> for OwnedValue {
    fn from(value: Value<'_>) -> OwnedValue {
        match value {
            Value::Nil => OwnedValue::Nil,
            Value::Bool(value) => OwnedValue::Bool(value),
            Value::Int(value) => OwnedValue::Int(value),
            Value::Float(value) => OwnedValue::Float(value),
            Value::Duration(nanos) => OwnedValue::Duration(nanos),
            Value::Text(value) => OwnedValue::Text(value.to_owned()),
            Value::Status(value) => OwnedValue::Status(value),
            Value::Kind(value) => OwnedValue::Kind(value),
            Value::Array(elements) => OwnedValue::Array(elements.to_vec()),
        }
    }
}

impl<'a> From<&'a Literal> for Value<'a> {
    fn from(literal: &'a Literal) -> Value<'a> {
        match literal {
            Literal::Nil => Value::Nil,
            Literal::Bool(value) => Value::Bool(*value),
            Literal::Int(value) => Value::Int(*value),
            Literal::Float(value) => Value::Float(*value),
            Literal::Duration(nanos) => Value::Duration(*nanos),
            Literal::Text(value) => Value::Text(value),
            Literal::Status(value) => Value::Status(*value),
            Literal::Kind(value) => Value::Kind(*value),
        }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nil => f.write_str("nil"),
            Value::Bool(value) => write!(f, "{value}"),
            Value::Int(value) => write!(f, "{value}"),
            Value::Float(value) => write_float(f, *value),
            Value::Duration(nanos) => write!(f, "{}", Nanos(*nanos)),
            Value::Text(value) => f.write_str(value),
            Value::Status(value) => f.write_str(value.name()),
            Value::Kind(value) => f.write_str(value.name()),
            Value::Array(elements) => {
                f.write_str("[")?;
                for (nth, element) in elements.iter().enumerate() {
                    let separator = if nth == 0 { "" } else { ", " };
                    write!(f, "{separator}{}", element.as_value())?;
                }
                f.write_str("]")
            }
        }
    }
}

impl fmt::Display for OwnedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_value().fmt(f)
    }
}

/// The shortest text that means this number; with an exponent where zeros would fill it.
fn write_float(f: &mut fmt::Formatter<'_>, value: f64) -> fmt::Result {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() || (1e-5..1e21).contains(&size) {
        write!(f, "{value}")
    } else {
        write!(f, "{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_in_answers() {
        let text = |value: Value<'_>| {
            assert_eq!(OwnedValue::from(value).as_value(), value);
            OwnedValue::from(value).to_string()
        };
        assert_eq!(text(Value::Duration(304_200_000)), "304.2ms");
        assert_eq!(text(Value::Duration(60_000_000_000)), "1m0s");
        assert_eq!(text(Value::Float(38.666)), "38.666");
        assert_eq!(text(Value::Float(5.0)), "5");
        assert_eq!(text(Value::Float(1e300)), "1e300");
        assert_eq!(text(Value::Nil), "nil");
        assert_eq!(text(Value::Status(Status::Ok)), "ok");
        assert_eq!(text(Value::Kind(Kind::Server)), "server");
        let elements = [Element::Int(1), Element::Text("a".into()), Element::Bool(true)];
        assert_eq!(text(Value::Array(&elements)), "[1, a, true]");
    }
}
