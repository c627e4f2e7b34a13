//! Events that programs declare: a name with a namespace, and fields with types and defaults.

use std::sync::Arc;

use opentelemetry::{KeyValue, Value};

use crate::error::SessionError;
use crate::event::{Event, EventName};
use crate::limits::{MAX_ATTRIBUTES, MAX_NAME_BYTES};

/// What every event has; no field may be called so.
const TAKEN: [&str; 15] = [
    "event_id",
    "event_type",
    "event_time",
    "emit_time",
    "session_id",
    "backend",
    "task_id",
    "node_id",
    "attributes",
    "trace_id",
    "span_id",
    "span_name",
    "parent_span_id",
    "name",
    "section",
];

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A number with a fraction; 0.0 unless given.
    Float,
    /// A whole number; 0 unless given.
    Integer,
    /// Text; empty unless given.
    Text,
    /// True or false; false unless given.
    Switch,
}

impl FieldKind {
    fn default(self) -> Value {
        match self {
            Self::Float => Value::F64(0.0),
            Self::Integer => Value::I64(0),
            Self::Text => Value::String("".into()),
            Self::Switch => Value::Bool(false),
        }
    }
}

/// A declared kind of event.
#[derive(Debug, Clone)]
pub struct EventKind {
    name: Arc<str>,
    fields: Arc<[KeyValue]>,
}

impl EventKind {
    /// Declares one: `EventKind::define("myapp.Score", [("score", FieldKind::Float, None)])`. The
    /// name needs a namespace, so that events of different programs are not taken for each other.
    pub fn define<'a>(
        name: &str,
        fields: impl IntoIterator<Item = (&'a str, FieldKind, Option<Value>)>,
    ) -> Result<Self, SessionError> {
        check_event_name(name)?;
        let mut declared = Vec::new();
        for (field, kind, default) in fields {
            if TAKEN.contains(&field) {
                return Err(SessionError::Shadowed(field.to_owned()));
            }
            let value = default.unwrap_or_else(|| kind.default());
            declared.push(KeyValue::new(field.to_owned(), value));
        }
        if declared.len() > MAX_ATTRIBUTES {
            return Err(SessionError::Setting {
                what: "the number of fields",
                given: declared.len().to_string(),
                expected: format!("at most {MAX_ATTRIBUTES}"),
            });
        }
        Ok(Self { name: name.into(), fields: declared.into() })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// An event of this kind, now. Fields that are not given have their defaults.
    pub fn event(&self, given: Vec<KeyValue>) -> Result<Event, SessionError> {
        let mut attributes = self.fields.to_vec();
        for value in given {
            let Some(field) = attributes.iter_mut().find(|field| field.key == value.key) else {
                let known: Vec<&str> = self.fields.iter().map(|field| field.key.as_str()).collect();
                return Err(SessionError::UnknownField {
                    event: self.name.to_string(),
                    field: value.key.as_str().to_owned(),
                    known: known.join(", "),
                });
            };
            field.value = value.value;
        }
        Ok(Event { attributes, ..Event::new(EventName::Custom(self.name.clone())) })
    }
}

/// Whether a program may call an event so.
pub(crate) fn check_event_name(name: &str) -> Result<(), SessionError> {
    let wrong = |why| SessionError::Name { what: "event name", name: name.to_owned(), why };
    match name.split_once('.') {
        None => Err(wrong("it needs a namespace, as in myapp.Score")),
        Some(("", _) | (_, "")) => Err(wrong("both sides of the dot need a name")),
        Some(_) if name.len() > MAX_NAME_BYTES => Err(wrong("it is too long")),
        Some(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_are_not_given_have_their_defaults() {
        let fields = [
            ("score", FieldKind::Float, None),
            ("rows", FieldKind::Integer, None),
            ("label", FieldKind::Text, Some(Value::String("unknown".into()))),
        ];
        let kind = EventKind::define("myapp.Score", fields).unwrap();
        let event = kind.event(vec![KeyValue::new("score", 0.5)]).unwrap();
        assert_eq!(event.name.as_str(), "myapp.Score");
        assert_eq!(event.number("score"), Some(0.5));
        assert_eq!(event.number("rows"), Some(0.0));
        assert_eq!(event.attribute("label"), Some(&Value::String("unknown".into())));
    }

    #[test]
    fn names_need_a_namespace_and_fields_hide_nothing() {
        for name in ["Score", ".Score", "myapp.", ""] {
            assert!(EventKind::define(name, []).is_err(), "{name}");
        }
        for field in TAKEN {
            let error = EventKind::define("a.B", [(field, FieldKind::Text, None)]).unwrap_err();
            assert!(error.to_string().contains(field), "{error}");
        }
    }

    #[test]
    fn a_field_that_was_not_declared_is_an_error() {
        let kind = EventKind::define("a.B", [("score", FieldKind::Float, None)]).unwrap();
        let error = kind.event(vec![KeyValue::new("scor", 1.0)]).unwrap_err();
        assert_eq!(error.to_string(), "a.B has no field \"scor\": it has score");
    }
}
