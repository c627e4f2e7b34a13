//! The values of templates, with the types that they have in Go.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::moment::Moment;

#[derive(Debug, Clone)]
pub(super) enum Value<'a> {
    Nil,
    Bool(bool),
    Int(i64, IntKind),
    Float(f64),
    Text(Cow<'a, str>),
    List(Rc<[Value<'a>]>),
    Map(Rc<BTreeMap<String, Value<'a>>>),
    Time(Moment),
    /// All labels: what the dot is at the start.
    Labels,
}

/// Go tells apart whole numbers that differ in nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntKind {
    Int,
    Int64,
    /// A byte of a text.
    Uint8,
}

impl<'a> Value<'a> {
    pub(super) fn int(value: i64) -> Self {
        Self::Int(value, IntKind::Int)
    }

    pub(super) fn int64(value: i64) -> Self {
        Self::Int(value, IntKind::Int64)
    }

    /// A length or count.
    pub(super) fn count(value: usize) -> Self {
        Self::int(i64::try_from(value).unwrap_or(i64::MAX))
    }

    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text(text.into())
    }

    /// The name of its type in Go.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Nil => "<nil>",
            Self::Bool(_) => "bool",
            Self::Int(_, IntKind::Int) => "int",
            Self::Int(_, IntKind::Int64) => "int64",
            Self::Int(_, IntKind::Uint8) => "uint8",
            Self::Float(_) => "float64",
            Self::Text(_) => "string",
            Self::List(_) => "[]interface {}",
            Self::Map(_) => "map[string]interface {}",
            Self::Time(_) => "time.Time",
            Self::Labels => "map[string]string",
        }
    }

    /// Whether it counts as true in conditions. There are always labels.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(value) => *value,
            Self::Int(value, _) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::List(items) => !items.is_empty(),
            Self::Map(items) => !items.is_empty(),
            Self::Time(_) | Self::Labels => true,
        }
    }

    /// JSON as Go has it: all numbers are floats.
    pub(super) fn from_json(json: serde_json::Value) -> Self {
        match json {
            serde_json::Value::Null => Self::Nil,
            serde_json::Value::Bool(value) => Self::Bool(value),
            serde_json::Value::Number(number) => Self::Float(number.as_f64().unwrap_or(f64::NAN)),
            serde_json::Value::String(text) => Self::text(text),
            serde_json::Value::Array(items) => {
                Self::List(items.into_iter().map(Self::from_json).collect())
            }
            serde_json::Value::Object(fields) => Self::Map(Rc::new(
                fields.into_iter().map(|(name, value)| (name, Self::from_json(value))).collect(),
            )),
        }
    }
}
