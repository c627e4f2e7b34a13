//! What a path means in a context, and what TraceQL calls it.
//!
//! Attributes of spans are `span.x`. Those of log records and data points are `.x`, which looks at
//! the resource as well if the record lacks it: TraceQL has no name for theirs alone.

use super::ast::{Key, Path};
use super::{OttlError, Result};
use crate::traceql::attribute;

/// What a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    Span,
    Metric,
    DataPoint,
    Log,
    Resource,
    Scope,
}

impl Context {
    /// The one that is written so.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "span" => Self::Span,
            "metric" => Self::Metric,
            "datapoint" => Self::DataPoint,
            "log" | "log_record" => Self::Log,
            "resource" => Self::Resource,
            "scope" | "instrumentation_scope" => Self::Scope,
            _ => return None,
        })
    }

    /// Whether what belongs to `other` can be asked here.
    fn reaches(self, other: Self) -> bool {
        self == other
            || matches!(
                (self, other),
                (_, Self::Resource)
                    | (Self::Span | Self::Metric | Self::DataPoint | Self::Log, Self::Scope)
                    | (Self::DataPoint, Self::Metric)
            )
    }

    /// The scope of attributes in a condition.
    fn scope(self) -> Option<&'static str> {
        match self {
            Self::Span => Some("span"),
            Self::DataPoint | Self::Log => Some(""),
            Self::Resource => Some("resource"),
            Self::Scope => Some("instrumentation"),
            Self::Metric => None,
        }
    }
}

/// What a field may be compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldType {
    /// An attribute: anything, or nothing.
    Attribute,
    Text,
    SpanKind,
    /// The kind of a span as text: `Server`.
    SpanKindText,
    Status,
    TraceId,
    SpanId,
}

/// A field that TraceQL has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Field {
    /// What TraceQL calls it.
    pub(crate) name: String,
    pub(crate) kind: FieldType,
    /// Whether a record may be without it.
    pub(crate) may_be_missing: bool,
    /// Of an attribute: whose, and which.
    pub(crate) attribute: Option<(Context, String)>,
}

/// The field that a path means in a context.
pub(crate) fn field(path: &Path, context: Context) -> Result<Field> {
    let (owner, rest) = match path.names.split_first() {
        Some((first, rest)) if !rest.is_empty() => match Context::from_name(first) {
            Some(owner) if context.reaches(owner) => (owner, rest),
            Some(_) => return Err(unknown(path, "is not known in this context")),
            None => (context, path.names.as_slice()),
        },
        _ => (context, path.names.as_slice()),
    };
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    if rest == ["attributes"] {
        return attribute_field(path, owner);
    }
    if !path.keys.is_empty() {
        return Err(unknown(path, "with a key has no counterpart"));
    }
    let (name, kind, may_be_missing) = match (owner, rest.as_slice()) {
        (Context::Span | Context::Metric, ["name"]) => ("name", FieldType::Text, false),
        (Context::Log, ["event_name"]) => ("name", FieldType::Text, true),
        (Context::Span, ["kind"]) => ("kind", FieldType::SpanKind, false),
        (Context::Span, ["kind", "string"]) => ("kind", FieldType::SpanKindText, false),
        (Context::Span, ["status", "code"]) => ("status", FieldType::Status, false),
        (Context::Span, ["status", "message"]) => ("statusMessage", FieldType::Text, false),
        (Context::Span | Context::Log, ["trace_id"] | ["trace_id", "string"]) => {
            ("trace:id", FieldType::TraceId, owner == Context::Log)
        }
        (Context::Span | Context::Log, ["span_id"] | ["span_id", "string"]) => {
            ("span:id", FieldType::SpanId, owner == Context::Log)
        }
        (Context::Span, ["parent_span_id"] | ["parent_span_id", "string"]) => {
            ("span:parentID", FieldType::SpanId, false)
        }
        (Context::Scope, ["name"]) => ("instrumentation:name", FieldType::Text, true),
        (Context::Scope, ["version"]) => ("instrumentation:version", FieldType::Text, true),
        _ => return Err(unknown(path, "has no counterpart in TraceQL")),
    };
    Ok(Field { name: name.to_owned(), kind, may_be_missing, attribute: None })
}

fn attribute_field(path: &Path, owner: Context) -> Result<Field> {
    let key = match path.keys.as_slice() {
        [Key::Text(key)] => key.clone(),
        [] => return Err(unknown(path, "as a whole has no counterpart: name one of them")),
        _ => return Err(unknown(path, "within an attribute has no counterpart")),
    };
    let Some(scope) = owner.scope() else {
        return Err(unknown(path, "is not known of metrics, only of their data points"));
    };
    Ok(Field {
        name: attribute(scope, &key),
        kind: FieldType::Attribute,
        may_be_missing: true,
        attribute: Some((owner, key)),
    })
}

fn unknown(path: &Path, why: &str) -> OttlError {
    OttlError::new(path.at, format!("{} {why}", path.dotted()))
}
