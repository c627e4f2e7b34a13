//! Lines that grow: one of events, one of spans, and whole ones of others.

use kymo_wire::Signal;
use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanId, TraceId};

use super::json::{Attributes, hex, quoted_number, text};
use crate::event::Event;
use crate::queue::Log;
use crate::worker::record::{SpanRecord, TaskRecord};

const END: &[u8] = b"]}]}]}\n";
/// `SpanKind` internal.
const INTERNAL: &[u8] = b"\"kind\":1";
/// `SeverityNumber` of an error.
const ERROR: u8 = 17;

/// What the lines of a session have in common, and what waits to be written.
pub(crate) struct Lines {
    logs_begin: Vec<u8>,
    spans_begin: Vec<u8>,
    trace: Vec<u8>,
    logs: Vec<u8>,
    spans: Vec<u8>,
    /// Whole lines.
    whole: Vec<u8>,
}

impl Lines {
    pub(crate) fn new(resource: &[KeyValue], scope_version: &str, trace: TraceId) -> Self {
        let begin = |groups: &str, scopes: &str, items: &str| {
            let mut out = format!("{{\"{groups}\":[{{\"resource\":{{").into_bytes();
            let mut attributes = Attributes::begin(&mut out);
            attributes.all(resource);
            attributes.end();
            let scope = format!(
                "}},\"{scopes}\":[{{\"scope\":{{\"name\":\"kymograph\",\"version\":\"{scope_version}\"}},\"{items}\":["
            );
            out.extend_from_slice(scope.as_bytes());
            out
        };
        let mut shown = b"\"traceId\":".to_vec();
        hex(&mut shown, &trace.to_bytes());
        Self {
            logs_begin: begin("resourceLogs", "scopeLogs", "logRecords"),
            spans_begin: begin("resourceSpans", "scopeSpans", "spans"),
            trace: shown,
            logs: Vec::new(),
            spans: Vec::new(),
            whole: Vec::new(),
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.logs.len() + self.spans.len() + self.whole.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    pub(crate) fn clear(&mut self) {
        self.logs.clear();
        self.spans.clear();
        self.whole.clear();
    }

    /// Takes everything that waits, as buffers of whole lines; `empty` gives buffers in return.
    pub(crate) fn take(
        &mut self,
        mut empty: impl FnMut() -> Vec<u8>,
    ) -> impl Iterator<Item = Vec<u8>> {
        for growing in [&mut self.logs, &mut self.spans] {
            if !growing.is_empty() {
                growing.extend_from_slice(END);
            }
        }
        let all = [&mut self.whole, &mut self.logs, &mut self.spans].into_iter();
        let all = all.filter(|lines| !lines.is_empty());
        all.map(move |lines| std::mem::replace(lines, empty()))
    }

    /// The first line of the file.
    pub(crate) fn header(&mut self, header: &serde_json::Value) {
        // Writing into memory does not fail.
        let _ = serde_json::to_writer(&mut self.whole, header);
        self.whole.push(b'\n');
    }

    /// A request of others; false if it cannot be read.
    pub(crate) fn request(&mut self, signal: Signal, request: &[u8]) -> bool {
        let before = self.whole.len();
        let is_well = kymo_wire::json::encode(signal, request, &mut self.whole).is_ok();
        match is_well {
            true => self.whole.push(b'\n'),
            false => self.whole.truncate(before),
        }
        is_well
    }

    /// An event as a log record.
    pub(crate) fn event(&mut self, event: &Event, span: SpanId, is_error: bool) {
        let out = &mut self.logs;
        begin_record(out, &self.logs_begin, event.time_nanos);
        if event.emitted_nanos != event.time_nanos {
            out.extend_from_slice(b",\"observedTimeUnixNano\":");
            quoted_number(out, event.emitted_nanos);
        }
        out.extend_from_slice(b",\"eventName\":");
        text(out, event.name.as_str());
        if is_error {
            severity(out, ERROR);
        }
        in_span(out, &self.trace, span);
        let mut attributes = Attributes::begin(out);
        attributes.some_text("task_id", event.task_id.as_deref());
        attributes.some_text("backend", event.backend.as_deref());
        attributes.some_text("node_id", event.node_id.as_deref());
        if let Some(opens) = &event.opens {
            attributes.text("span_name", &opens.name);
            if let Some(parent) = opens.parent {
                attributes.text("parent_span_id", &parent.to_string());
            }
        }
        attributes.all(&event.attributes);
        attributes.end();
        out.push(b'}');
    }

    /// A line of somebody's log.
    pub(crate) fn log(&mut self, log: &Log) {
        let out = &mut self.logs;
        begin_record(out, &self.logs_begin, log.time_nanos);
        severity(out, log.severity);
        out.extend_from_slice(b",\"body\":{\"stringValue\":");
        text(out, &log.body);
        out.push(b'}');
        in_span(out, &self.trace, log.span);
        let mut attributes = Attributes::begin(out);
        attributes.all(&log.attributes);
        attributes.end();
        out.push(b'}');
    }

    /// A task that has ended.
    pub(crate) fn task(&mut self, task: &TaskRecord) {
        self.begin_span(&task.name, task.span_id, Some(task.parent), task.begin, task.end);
        let out = &mut self.spans;
        let mut attributes = Attributes::begin(out);
        attributes.text("task_id", &task.id);
        attributes.some_text("backend", task.backend.as_deref());
        attributes.some_text("node_id", task.node_id.as_deref());
        attributes.all(&task.attributes);
        attributes.text("status", task.state.status());
        attributes.some_text("error_type", task.error_type.as_deref());
        if task.is_incomplete {
            attributes.boolean("incomplete_lifecycle", true);
        }
        attributes.end();
        let mut are_some = false;
        // Its states are in the file already, as events.
        for note in &task.annotations {
            span_event(out, &mut are_some, &note.name, note.time_nanos, &note.attributes);
        }
        end_events(out, are_some);
        let (code, message) = task.status();
        status(out, code, message);
        out.push(b'}');
    }

    /// A scope, or the session, that has ended.
    pub(crate) fn span(&mut self, span: &SpanRecord) {
        self.begin_span(&span.name, span.span_id, span.parent, span.begin, span.end);
        let out = &mut self.spans;
        let mut attributes = Attributes::begin(out);
        attributes.all(&span.attributes);
        attributes.end();
        let mut are_some = false;
        for note in &span.annotations {
            span_event(out, &mut are_some, &note.name, note.time_nanos, &note.attributes);
        }
        end_events(out, are_some);
        status(out, if span.error.is_some() { 2 } else { 0 }, span.error.as_deref());
        out.push(b'}');
    }

    fn begin_span(
        &mut self,
        name: &str,
        span: SpanId,
        parent: Option<SpanId>,
        begin: u64,
        end: u64,
    ) {
        let out = &mut self.spans;
        next_item(out, &self.spans_begin);
        out.push(b'{');
        out.extend_from_slice(&self.trace);
        out.extend_from_slice(b",\"spanId\":");
        hex(out, &span.to_bytes());
        if let Some(parent) = parent {
            out.extend_from_slice(b",\"parentSpanId\":");
            hex(out, &parent.to_bytes());
        }
        out.extend_from_slice(b",\"name\":");
        text(out, name);
        out.push(b',');
        out.extend_from_slice(INTERNAL);
        out.extend_from_slice(b",\"startTimeUnixNano\":");
        quoted_number(out, begin);
        out.extend_from_slice(b",\"endTimeUnixNano\":");
        quoted_number(out, end);
        out.push(b',');
    }
}

/// Begins the line, or goes on with it.
fn next_item(out: &mut Vec<u8>, begin: &[u8]) {
    match out.is_empty() {
        true => out.extend_from_slice(begin),
        false => out.push(b','),
    }
}

fn begin_record(out: &mut Vec<u8>, begin: &[u8], time_nanos: u64) {
    next_item(out, begin);
    out.extend_from_slice(b"{\"timeUnixNano\":");
    quoted_number(out, time_nanos);
}

fn severity(out: &mut Vec<u8>, number: u8) {
    out.extend_from_slice(b",\"severityNumber\":");
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn in_span(out: &mut Vec<u8>, trace: &[u8], span: SpanId) {
    out.push(b',');
    out.extend_from_slice(trace);
    out.extend_from_slice(b",\"spanId\":");
    hex(out, &span.to_bytes());
    out.push(b',');
}

fn span_event(
    out: &mut Vec<u8>,
    are_some: &mut bool,
    name: &str,
    time_nanos: u64,
    attributes: &[KeyValue],
) {
    out.extend_from_slice(if *are_some { b",".as_slice() } else { b",\"events\":[" });
    *are_some = true;
    out.extend_from_slice(b"{\"timeUnixNano\":");
    quoted_number(out, time_nanos);
    out.extend_from_slice(b",\"name\":");
    text(out, name);
    if !attributes.is_empty() {
        out.push(b',');
        let mut list = Attributes::begin(out);
        list.all(attributes);
        list.end();
    }
    out.push(b'}');
}

fn end_events(out: &mut Vec<u8>, are_some: bool) {
    if are_some {
        out.push(b']');
    }
}

fn status(out: &mut Vec<u8>, code: u8, message: Option<&str>) {
    if code == 0 {
        return;
    }
    out.extend_from_slice(b",\"status\":{\"code\":");
    out.push(b'0' + code);
    if let Some(message) = message.filter(|message| !message.is_empty()) {
        out.extend_from_slice(b",\"message\":");
        text(out, message);
    }
    out.push(b'}');
}
