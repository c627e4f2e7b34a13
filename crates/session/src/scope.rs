//! Spans of the program's own: parts of a session that tasks and other scopes lie in.
//!
//! A [`Scope`] is the current span of its thread until it is dropped, for tasks of this library and
//! for any tracer of OpenTelemetry. An [`OpenSpan`] is the same without a thread: whoever has it
//! says when it ends.

use std::sync::atomic::{AtomicBool, Ordering};

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use opentelemetry::{Context, ContextGuard, KeyValue};

use crate::ids;
use crate::queue::Message;
use crate::session::Session;

/// A context in which a span is the current one.
pub(crate) fn context_of(trace: TraceId, span: SpanId) -> Context {
    let state = TraceState::default();
    let span = SpanContext::new(trace, span, TraceFlags::SAMPLED, false, state);
    Context::current().with_remote_span_context(span)
}

/// The current span of this thread, if it is one of the trace.
pub(crate) fn current_span(trace: TraceId) -> Option<SpanId> {
    Context::map_current(|context| {
        if !context.has_active_span() {
            return None;
        }
        let span = context.span().span_context().clone();
        (span.is_valid() && span.trace_id() == trace).then(|| span.span_id())
    })
}

/// A span that somebody ends.
#[derive(Debug)]
pub struct OpenSpan {
    session: Session,
    span_id: SpanId,
    has_ended: AtomicBool,
}

impl OpenSpan {
    pub(crate) fn new(session: Session, span_id: SpanId) -> Self {
        Self { session, span_id, has_ended: AtomicBool::new(false) }
    }

    /// Its id.
    #[must_use]
    pub fn span_id(&self) -> SpanId {
        self.span_id
    }

    /// As a W3C traceparent.
    #[must_use]
    pub fn traceparent(&self) -> String {
        ids::traceparent(self.session.trace_id(), self.span_id)
    }

    /// A context in which it is the current span.
    #[must_use]
    pub fn context(&self) -> Context {
        context_of(self.session.trace_id(), self.span_id)
    }

    /// Something happened in it.
    pub fn annotate(&self, name: impl Into<String>, attributes: Vec<KeyValue>) {
        self.session.annotate_span(self.span_id, name.into(), attributes);
    }

    /// More is known of it.
    pub fn set_attributes(&self, attributes: Vec<KeyValue>) {
        self.session.push(Message::SetAttributes { span: self.span_id, attributes });
    }

    /// It has ended.
    pub fn end(&self) {
        self.end_at(0, None);
    }

    /// It has ended with an error.
    pub fn fail(&self, message: impl Into<String>) {
        self.end_at(0, Some(message.into()));
    }

    /// It ended then (0: now), perhaps with an error. Only the first end counts.
    pub fn end_at(&self, nanos: u64, error: Option<String>) {
        if self.has_ended.swap(true, Ordering::Relaxed) {
            return;
        }
        let time_nanos = if nanos == 0 { self.session.now_nanos() } else { nanos };
        self.session.push(Message::EndSpan { span: self.span_id, time_nanos, error });
    }
}

/// The current span of a thread, until it is dropped.
#[derive(Debug)]
pub struct Scope {
    span: OpenSpan,
    _current: ContextGuard,
}

impl Scope {
    pub(crate) fn new(span: OpenSpan) -> Self {
        let current = span.context().attach();
        Self { span, _current: current }
    }

    /// Its id.
    #[must_use]
    pub fn span_id(&self) -> SpanId {
        self.span.span_id
    }

    /// As a W3C traceparent.
    #[must_use]
    pub fn traceparent(&self) -> String {
        self.span.traceparent()
    }

    /// Its context, for other threads and futures.
    #[must_use]
    pub fn context(&self) -> Context {
        self.span.context()
    }

    /// Something happened in it.
    pub fn annotate(&self, name: impl Into<String>, attributes: Vec<KeyValue>) {
        self.span.annotate(name, attributes);
    }

    /// It ends with an error.
    pub fn fail(self, message: impl Into<String>) {
        self.span.fail(message);
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        match std::thread::panicking() {
            true => self.span.fail("panic"),
            false => self.span.end(),
        }
    }
}
