//! Tasks and spans as the worker knows them.

use std::borrow::Cow;
use std::sync::Arc;

use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry::{KeyValue, Value};

use crate::event::{Event, EventName};
use crate::limits::{MAX_ANNOTATIONS, MAX_ATTRIBUTES};
use crate::summary::{FinishedSpan, SpanStatus};

/// How far a task has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskState {
    Open,
    Completed,
    Failed,
    Canceled,
    /// Still open when the session ended.
    Unfinished,
}

impl TaskState {
    /// The attribute `status`.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Open | Self::Unfinished => "unfinished",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Canceled => "canceled",
        }
    }
}

/// Something that happened in a span.
#[derive(Debug, Clone)]
pub(crate) struct Annotation {
    pub(crate) name: String,
    pub(crate) time_nanos: u64,
    pub(crate) attributes: Vec<KeyValue>,
}

/// A task. Times are nanoseconds since 1970, 0 where something did not happen.
#[derive(Debug, Clone)]
pub(crate) struct TaskRecord {
    pub(crate) id: Arc<str>,
    pub(crate) name: Cow<'static, str>,
    pub(crate) span_id: SpanId,
    pub(crate) parent: SpanId,
    pub(crate) backend: Option<Arc<str>>,
    pub(crate) node_id: Option<Arc<str>>,
    pub(crate) attributes: Vec<KeyValue>,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) begin: u64,
    pub(crate) submitted: u64,
    pub(crate) queued: u64,
    pub(crate) started: u64,
    pub(crate) end: u64,
    pub(crate) state: TaskState,
    pub(crate) error_type: Option<String>,
    pub(crate) is_incomplete: bool,
    /// Where it is counted, once something was.
    pub(crate) sums: Option<usize>,
    /// Whether somebody holds it who knows by himself when it has ended.
    pub(crate) is_held: bool,
}

impl TaskRecord {
    /// A task that begins with an event.
    pub(crate) fn new(
        id: Arc<str>,
        name: Cow<'static, str>,
        event: &Event,
        parent: SpanId,
        span_id: SpanId,
    ) -> Self {
        Self {
            id,
            name,
            span_id,
            parent,
            backend: None,
            node_id: None,
            attributes: Vec::new(),
            annotations: Vec::new(),
            begin: event.time_nanos,
            submitted: 0,
            queued: 0,
            started: 0,
            end: 0,
            state: TaskState::Open,
            error_type: None,
            is_incomplete: false,
            sums: None,
            is_held: event.span_id.is_some(),
        }
    }

    /// Takes over what an event says, which has every key once ([`keep_once`]); how many attributes
    /// did not fit.
    pub(crate) fn learn(&mut self, event: &mut Event) -> u64 {
        let is_named = |text: &Option<Arc<str>>| text.as_ref().is_some_and(|text| !text.is_empty());
        if is_named(&event.backend) && event.backend != self.backend {
            self.backend = event.backend.take();
            // What runs is counted where it was counted first, or the two would not even out.
            if self.started == 0 {
                self.sums = None;
            }
        }
        if is_named(&event.node_id) {
            self.node_id = event.node_id.take();
        }
        let time = event.time_nanos;
        match event.name {
            EventName::TaskSubmitted => self.submitted = time,
            EventName::TaskQueued => self.queued = time,
            EventName::TaskStarted => self.started = time,
            _ => {}
        }
        if self.attributes.is_empty() && !event.name.ends_task() {
            self.attributes = std::mem::take(&mut event.attributes);
        } else {
            for attribute in event.attributes.drain(..) {
                let is_of_the_end = event.name.ends_task() && is_of_the_end(attribute.key.as_str());
                if !is_of_the_end && !self.attributes.iter().any(|known| known.key == attribute.key)
                {
                    self.attributes.push(attribute);
                }
            }
        }
        let dropped = self.attributes.len().saturating_sub(MAX_ATTRIBUTES);
        self.attributes.truncate(MAX_ATTRIBUTES);
        dropped as u64
    }

    /// An attribute that is text, for labels.
    pub(crate) fn text(&self, key: &str) -> Option<Cow<'_, str>> {
        let found = self.attributes.iter().find(|attribute| attribute.key.as_str() == key)?;
        Some(match &found.value {
            Value::String(text) => Cow::Borrowed(text.as_str()),
            other => Cow::Owned(other.to_string()),
        })
    }

    /// States between beginning and end, in the order of their names.
    pub(crate) fn states(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let states = [
            ("TaskSubmitted", self.submitted),
            ("TaskQueued", self.queued),
            ("TaskStarted", self.started),
        ];
        states.into_iter().filter(|(_, time)| *time > 0)
    }

    /// Status code and message of OTLP.
    pub(crate) fn status(&self) -> (u8, Option<&str>) {
        match self.state {
            TaskState::Completed => (1, None),
            TaskState::Failed => (2, self.error_type.as_deref()),
            TaskState::Canceled => (2, Some("canceled")),
            TaskState::Open | TaskState::Unfinished => (0, None),
        }
    }

    /// As a span.
    pub(crate) fn to_span(&self, trace_id: TraceId) -> FinishedSpan {
        let mut attributes = Vec::with_capacity(self.attributes.len() + 6);
        attributes.push(KeyValue::new("task_id", self.id.clone()));
        let given = [("backend", &self.backend), ("node_id", &self.node_id)];
        for (key, text) in given {
            attributes.extend(text.clone().map(|text| KeyValue::new(key, text)));
        }
        attributes.extend_from_slice(&self.attributes);
        attributes.push(KeyValue::new("status", self.state.status()));
        attributes.extend(self.error_type.clone().map(|kind| KeyValue::new("error_type", kind)));
        if self.is_incomplete {
            attributes.push(KeyValue::new("incomplete_lifecycle", true));
        }
        let states = self.states().map(|(name, time)| (Cow::Borrowed(name), time, Vec::new()));
        let notes = self.annotations.iter().map(noted);
        let status = match self.status() {
            (1, _) => SpanStatus::Ok,
            (2, message) => SpanStatus::Error(message.unwrap_or_default().to_owned()),
            _ => SpanStatus::Unset,
        };
        FinishedSpan {
            name: self.name.clone(),
            trace_id,
            span_id: self.span_id,
            parent_span_id: Some(self.parent),
            start_nanos: self.begin,
            end_nanos: self.end,
            status,
            attributes,
            events: states.chain(notes).collect(),
        }
    }
}

/// What a task's span, or the record of its event, has of its own; nothing else may be called so.
fn is_own(key: &str) -> bool {
    matches!(
        key,
        "task_id"
            | "backend"
            | "node_id"
            | "span_name"
            | "parent_span_id"
            | "status"
            | "error_type"
            | "incomplete_lifecycle"
    )
}

/// Takes out what a task's event cannot have, or has twice: OTLP has every key once. How many.
pub(crate) fn keep_once(event: &mut Event) -> u64 {
    // As with most events but the first of a task.
    if event.attributes.is_empty() {
        return 0;
    }
    let ends_task = event.name.ends_task();
    let attributes = &mut event.attributes;
    let before = attributes.len();
    let mut at = 0;
    while at < attributes.len() {
        let key = attributes[at].key.as_str();
        let is_known = attributes[..at].iter().any(|known| known.key.as_str() == key);
        match is_known || (is_own(key) && !(ends_task && is_of_the_end(key))) {
            true => drop(attributes.remove(at)),
            false => at += 1,
        }
    }
    (before - attributes.len()) as u64
}

/// What the end of a task says is on its span under other rules.
fn is_of_the_end(key: &str) -> bool {
    matches!(key, "duration_seconds" | "error_type" | "error_message" | "incomplete_lifecycle")
}

/// A scope, or the session itself.
#[derive(Debug, Clone)]
pub(crate) struct SpanRecord {
    pub(crate) name: Cow<'static, str>,
    pub(crate) span_id: SpanId,
    pub(crate) parent: Option<SpanId>,
    pub(crate) attributes: Vec<KeyValue>,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) error: Option<String>,
}

impl SpanRecord {
    /// As a span.
    pub(crate) fn to_span(&self, trace_id: TraceId) -> FinishedSpan {
        FinishedSpan {
            name: self.name.clone(),
            trace_id,
            span_id: self.span_id,
            parent_span_id: self.parent,
            start_nanos: self.begin,
            end_nanos: self.end,
            status: self.error.clone().map_or(SpanStatus::Unset, SpanStatus::Error),
            attributes: self.attributes.clone(),
            events: self.annotations.iter().map(noted).collect(),
        }
    }
}

fn noted(note: &Annotation) -> (Cow<'static, str>, u64, Vec<KeyValue>) {
    (Cow::Owned(note.name.clone()), note.time_nanos, note.attributes.clone())
}

/// Adds an annotation if there is room; how many there was none for.
pub(crate) fn annotate(annotations: &mut Vec<Annotation>, mut note: Annotation) -> u64 {
    if annotations.len() >= MAX_ANNOTATIONS {
        return 1;
    }
    let dropped = note.attributes.len().saturating_sub(MAX_ATTRIBUTES);
    note.attributes.truncate(MAX_ATTRIBUTES);
    annotations.push(note);
    dropped as u64
}
