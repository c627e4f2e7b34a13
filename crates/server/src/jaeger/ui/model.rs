//! The JSON of Jaeger UI, member by member.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A trace.
#[derive(Debug, Default, Serialize)]
pub(in crate::jaeger) struct Trace<'a> {
    #[serde(rename = "traceID")]
    pub(super) trace_id: String,
    pub(super) spans: Vec<Span<'a>>,
    pub(super) processes: Processes<'a>,
    pub(super) warnings: Option<Vec<String>>,
}

/// A span.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span<'a> {
    #[serde(rename = "traceID")]
    pub(super) trace_id: String,
    #[serde(rename = "spanID")]
    pub(super) span_id: String,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) flags: u32,
    pub(super) operation_name: Cow<'a, str>,
    pub(super) references: Vec<Reference>,
    /// Microseconds since 1970.
    pub(super) start_time: u64,
    /// Microseconds.
    pub(super) duration: u64,
    pub(super) tags: Vec<Tag<'a>>,
    pub(super) logs: Vec<Log<'a>>,
    #[serde(rename = "processID")]
    pub(super) process_id: String,
    pub(super) warnings: Option<Vec<&'static str>>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A span that another one refers to.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    pub(super) ref_type: RefType,
    #[serde(rename = "traceID")]
    pub(super) trace_id: String,
    #[serde(rename = "spanID")]
    pub(super) span_id: String,
}

/// How.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum RefType {
    ChildOf,
    FollowsFrom,
}

/// Something that happened during a span.
#[derive(Debug, Serialize)]
pub(super) struct Log<'a> {
    /// Microseconds since 1970.
    pub(super) timestamp: u64,
    pub(super) fields: Vec<Tag<'a>>,
}

/// What made spans.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Process<'a> {
    pub(super) service_name: Cow<'a, str>,
    pub(super) tags: Vec<Tag<'a>>,
}

/// Processes by name, in their order: `p1`, `p2` and so on.
#[derive(Debug, Default)]
pub(super) struct Processes<'a>(pub(super) Vec<Process<'a>>);

/// The name of a process.
pub(super) fn process_id(nth: usize) -> String {
    format!("p{}", nth + 1)
}

impl Serialize for Processes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (nth, process) in self.0.iter().enumerate() {
            map.serialize_entry(&process_id(nth), process)?;
        }
        map.end()
    }
}

/// A key with its value: `{"key": …, "type": …, "value": …}`.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Tag<'a> {
    pub(super) key: Cow<'a, str>,
    #[serde(flatten)]
    pub(super) value: Value<'a>,
}

/// A value with its type.
#[derive(Debug, PartialEq, Serialize)]
#[serde(tag = "type", content = "value", rename_all = "lowercase")]
pub(super) enum Value<'a> {
    String(Cow<'a, str>),
    Bool(bool),
    Int64(Integer),
    Float64(f64),
    /// In base64.
    Binary(String),
}

/// A whole number; beyond what JavaScript can hold exactly it is written as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Integer(pub(super) i64);

impl Serialize for Integer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const MAX_SAFE: u64 = (1 << 53) - 1;
        match self.0.unsigned_abs() <= MAX_SAFE {
            true => serializer.serialize_i64(self.0),
            false => serializer.collect_str(&self.0),
        }
    }
}
