//! Tasks: created, submitted, queued, started, and one of three ends.
//!
//! A [`Task`] may be cloned and sent to where it runs. Any state may be left out; the first end
//! counts. Nothing happens when a task is dropped: what is open when the session ends is shown as
//! unfinished.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry::trace::{SpanId, TraceId};
use opentelemetry::{Context, KeyValue};

use crate::event::{Event, EventName, Opening};
use crate::ids;
use crate::scope::{context_of, current_span};
use crate::session::Session;

/// A task that is about to be created.
#[derive(Debug)]
#[must_use = "a task is recorded when create() is called"]
pub struct TaskBuilder {
    session: Session,
    id: Option<Arc<str>>,
    opening: Opening,
    event: Event,
}

impl TaskBuilder {
    pub(crate) fn new(session: Session, name: Cow<'static, str>) -> Self {
        let event = Event::new(EventName::TaskCreated);
        Self { session, id: None, opening: Opening { name, parent: None }, event }
    }

    /// Its id, unique in the session; unless given, `task.000001` and so on.
    pub fn id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// What runs it.
    pub fn backend(mut self, backend: impl Into<Arc<str>>) -> Self {
        self.event.backend = Some(backend.into());
        self
    }

    /// Where it runs.
    pub fn node(mut self, node: impl Into<Arc<str>>) -> Self {
        self.event.node_id = Some(node.into());
        self
    }

    /// What is executed: a program, a function, a model. Few-valued.
    pub fn executable(self, executable: impl Into<opentelemetry::StringValue>) -> Self {
        self.attribute(KeyValue::new("executable", executable.into()))
    }

    /// What kind of task it is. Few-valued.
    pub fn task_type(self, task_type: impl Into<opentelemetry::StringValue>) -> Self {
        self.attribute(KeyValue::new("task_type", task_type.into()))
    }

    /// Something else that is known of it.
    pub fn attribute(mut self, attribute: KeyValue) -> Self {
        self.event.attributes.push(attribute);
        self
    }

    /// The span that it lies in; unless given, the scope around this call.
    pub fn parent(mut self, parent: SpanId) -> Self {
        self.opening.parent = Some(parent);
        self
    }

    /// When it was created, in nanoseconds since 1970; unless given, now.
    pub fn at(mut self, nanos: u64) -> Self {
        self.event.time_nanos = nanos;
        self
    }

    /// Records it.
    pub fn create(mut self) -> Task {
        let id = self.id.unwrap_or_else(|| self.session.next_task_id());
        let span_id = ids::span_id();
        if self.opening.parent.is_none() {
            self.opening.parent = current_span(self.session.trace_id());
        }
        self.event.task_id = Some(id.clone());
        self.event.span_id = Some(span_id);
        self.event.opens = Some(Box::new(self.opening));
        self.session.emit(self.event);
        Task {
            inner: Arc::new(Inner { session: self.session, id, span_id, has_ended: false.into() }),
        }
    }
}

/// A task of a session.
#[derive(Debug, Clone)]
pub struct Task {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    session: Session,
    id: Arc<str>,
    span_id: SpanId,
    has_ended: AtomicBool,
}

impl Task {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    /// The trace that it is in.
    #[must_use]
    pub fn trace_id(&self) -> TraceId {
        self.inner.session.trace_id()
    }

    /// Its span.
    #[must_use]
    pub fn span_id(&self) -> SpanId {
        self.inner.span_id
    }

    /// Its span as a W3C traceparent, for processes and messages.
    #[must_use]
    pub fn traceparent(&self) -> String {
        ids::traceparent(self.trace_id(), self.inner.span_id)
    }

    /// An OpenTelemetry context in which its span is the current one: what any tracer begins there
    /// lies below the task.
    #[must_use]
    pub fn context(&self) -> Context {
        context_of(self.trace_id(), self.inner.span_id)
    }

    /// It is handed over.
    pub fn submitted(&self) {
        self.submitted_at(0);
    }

    /// It was handed over then.
    pub fn submitted_at(&self, nanos: u64) {
        self.tell(EventName::TaskSubmitted, nanos);
    }

    /// It waits for a place.
    pub fn queued(&self) {
        self.queued_at(0);
    }

    /// It waited for a place since then.
    pub fn queued_at(&self, nanos: u64) {
        self.tell(EventName::TaskQueued, nanos);
    }

    /// It runs.
    pub fn started(&self) {
        self.started_at(0);
    }

    /// It runs since then.
    pub fn started_at(&self, nanos: u64) {
        self.tell(EventName::TaskStarted, nanos);
    }

    /// It runs on a node.
    pub fn started_on(&self, node: impl Into<Arc<str>>, nanos: u64) {
        let mut event = self.event(EventName::TaskStarted, nanos);
        event.node_id = Some(node.into());
        self.inner.session.emit(event);
    }

    /// It has ended well.
    pub fn completed(&self) {
        self.completed_at(0);
    }

    /// It ended well then.
    pub fn completed_at(&self, nanos: u64) {
        self.end(self.event(EventName::TaskCompleted, nanos));
    }

    /// It has failed: an error's type, few-valued, and what it said.
    pub fn failed(&self, error_type: impl Into<String>, message: impl Into<String>) {
        self.failed_at(error_type, message, 0);
    }

    /// It failed then.
    pub fn failed_at(&self, error_type: impl Into<String>, message: impl Into<String>, nanos: u64) {
        let mut event = self.event(EventName::TaskFailed, nanos);
        event.attributes.push(KeyValue::new("error_type", error_type.into()));
        let message = message.into();
        if !message.is_empty() {
            event.attributes.push(KeyValue::new("error_message", message));
        }
        self.end(event);
    }

    /// It was called off.
    pub fn canceled(&self) {
        self.canceled_at(0);
    }

    /// It was called off then.
    pub fn canceled_at(&self, nanos: u64) {
        self.end(self.event(EventName::TaskCanceled, nanos));
    }

    /// Something happened in it.
    pub fn annotate(&self, name: impl Into<String>, attributes: Vec<KeyValue>) {
        self.inner.session.annotate_span(self.inner.span_id, name.into(), attributes);
    }

    /// Whether it was told to have ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.inner.has_ended.load(Ordering::Relaxed)
    }

    fn event(&self, name: EventName, nanos: u64) -> Event {
        let mut event = Event::of_task(name, self.inner.id.clone());
        event.time_nanos = nanos;
        event.span_id = Some(self.inner.span_id);
        event
    }

    fn tell(&self, name: EventName, nanos: u64) {
        if self.has_ended() {
            self.inner.session.count_after_end();
            return;
        }
        self.inner.session.emit(self.event(name, nanos));
    }

    fn end(&self, event: Event) {
        if self.inner.has_ended.swap(true, Ordering::Relaxed) {
            self.inner.session.count_after_end();
            return;
        }
        self.inner.session.emit(event);
    }
}
