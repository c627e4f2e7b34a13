//! What happens in a session.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use opentelemetry::trace::SpanId;
use opentelemetry::{KeyValue, Value};

/// The kind of an event. Names are those of RHAPSODY.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum EventName {
    /// The session has begun.
    SessionStarted,
    /// The session has ended.
    SessionEnded,
    /// A task is known.
    TaskCreated,
    /// It is handed over.
    TaskSubmitted,
    /// It waits for a place.
    TaskQueued,
    /// It runs.
    TaskStarted,
    /// It has ended well.
    TaskCompleted,
    /// It has failed.
    TaskFailed,
    /// It was called off.
    TaskCanceled,
    /// A scope has begun.
    SpanStarted,
    /// What a node or a GPU does.
    ResourceUpdate,
    /// An event of the program's own, such as `myapp.Score`.
    Custom(Arc<str>),
}

impl EventName {
    /// All but those of programs.
    pub const OWN: [Self; 11] = [
        Self::SessionStarted,
        Self::SessionEnded,
        Self::TaskCreated,
        Self::TaskSubmitted,
        Self::TaskQueued,
        Self::TaskStarted,
        Self::TaskCompleted,
        Self::TaskFailed,
        Self::TaskCanceled,
        Self::SpanStarted,
        Self::ResourceUpdate,
    ];

    /// The name as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::SessionStarted => "SessionStarted",
            Self::SessionEnded => "SessionEnded",
            Self::TaskCreated => "TaskCreated",
            Self::TaskSubmitted => "TaskSubmitted",
            Self::TaskQueued => "TaskQueued",
            Self::TaskStarted => "TaskStarted",
            Self::TaskCompleted => "TaskCompleted",
            Self::TaskFailed => "TaskFailed",
            Self::TaskCanceled => "TaskCanceled",
            Self::SpanStarted => "SpanStarted",
            Self::ResourceUpdate => "ResourceUpdate",
            Self::Custom(name) => name,
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let own = Self::OWN.iter().find(|own| own.as_str() == name);
        own.cloned().unwrap_or_else(|| Self::Custom(name.into()))
    }

    /// Whether it ends its task.
    #[must_use]
    pub fn ends_task(&self) -> bool {
        matches!(self, Self::TaskCompleted | Self::TaskFailed | Self::TaskCanceled)
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A span that begins with an event.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// The span's name.
    pub name: Cow<'static, str>,
    /// The span that it lies in; the session's unless given.
    pub parent: Option<SpanId>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// What.
    pub name: EventName,
    /// When, in nanoseconds since 1970; 0 stands for now.
    pub time_nanos: u64,
    /// When it was told; 0 stands for now.
    pub emitted_nanos: u64,
    /// The task that it is about.
    pub task_id: Option<Arc<str>>,
    /// What runs the task.
    pub backend: Option<Arc<str>>,
    /// Where.
    pub node_id: Option<Arc<str>>,
    /// The span that it belongs to. What subscribers get always has one.
    pub span_id: Option<SpanId>,
    /// The span that begins with it.
    pub opens: Option<Box<Opening>>,
    /// Everything else.
    pub attributes: Vec<KeyValue>,
}

impl Event {
    /// An event of a kind, now.
    #[must_use]
    pub fn new(name: EventName) -> Self {
        Self {
            name,
            time_nanos: 0,
            emitted_nanos: 0,
            task_id: None,
            backend: None,
            node_id: None,
            span_id: None,
            opens: None,
            attributes: Vec::new(),
        }
    }

    /// An event of a task, now.
    #[must_use]
    pub fn of_task(name: EventName, task_id: Arc<str>) -> Self {
        Self { task_id: Some(task_id), ..Self::new(name) }
    }

    /// An attribute's value.
    #[must_use]
    pub fn attribute(&self, key: &str) -> Option<&Value> {
        let found = self.attributes.iter().find(|attribute| attribute.key.as_str() == key);
        found.map(|attribute| &attribute.value)
    }

    /// An attribute's value as a number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<f64> {
        match self.attribute(key)? {
            Value::F64(number) => Some(*number),
            Value::I64(number) => Some(*number as f64),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_text() {
        for name in EventName::OWN {
            assert_eq!(EventName::of(name.as_str()), name);
        }
        assert_eq!(EventName::of("myapp.Score"), EventName::Custom("myapp.Score".into()));
    }
}
